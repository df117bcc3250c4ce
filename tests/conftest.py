"""Fixtures of all tests."""

import gc

# The import searches for objects that refer to generators, which are not found after the freeze.
from hypothesis import HealthCheck, settings

# No test may fail because the machine is busy.
settings.register_profile("oneof", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("oneof")


def pytest_collection_finish() -> None:
    """Freeze the collected tests, so that garbage collections, which some tests trigger often, skip them."""
    gc.collect()
    gc.freeze()
