"""What all tests share."""

import gc

import hypothesis  # noqa: F401 - it looks for what refers to generators, which it would not find once all is frozen


def pytest_collection_finish() -> None:
    """Thousands of tests lie in memory: the collector, which some tests call often, need not look at them again."""
    gc.collect()
    gc.freeze()
