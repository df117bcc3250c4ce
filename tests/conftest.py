"""Fixtures of all tests."""

import gc

import hypothesis  # noqa: F401 - its import searches for objects that refer to generators, which are not found after the freeze


def pytest_collection_finish() -> None:
    """Freeze the collected tests, so that garbage collections, which some tests trigger often, skip them."""
    gc.collect()
    gc.freeze()
