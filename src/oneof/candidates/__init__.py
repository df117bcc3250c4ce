"""Candidate sets: the only place where a label becomes a set, and where a set becomes a label again."""

from oneof.candidates.forms import align, as_candidates, over_all_labels
from oneof.candidates.labels import as_classes
from oneof.candidates.sets import CandidateSets

__all__ = ["CandidateSets", "align", "as_candidates", "as_classes", "over_all_labels"]
