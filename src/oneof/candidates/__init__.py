"""Candidate sets: the only place where a label becomes a set, and where a set becomes a label again."""

from oneof.candidates.forms import as_candidates
from oneof.candidates.sets import CandidateSets

__all__ = ["CandidateSets", "as_candidates"]
