"""Fixtures of all tests."""

import gc

import hypothesis  # noqa: F401 - it looks for what refers to generators, which it would not find once all is frozen


def pytest_collection_finish() -> None:
    """Freeze the collected tests, so that garbage collections, which some tests trigger often, skip them."""
    gc.collect()
    gc.freeze()
