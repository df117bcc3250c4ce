"""Families of fuzzed calls, except those of the estimators, by name."""

from tests.fuzz import (  # noqa: F401 - these modules register their families
    calls_on_blocks,
    calls_on_crowds,
    calls_on_files,
    calls_on_graphs,
    calls_on_learners,
    calls_on_sets,
)
from tests.fuzz.strategies import FAMILIES

__all__ = ["FAMILIES"]
