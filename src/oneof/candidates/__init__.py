"""Candidate sets: the only place where a label becomes a set, and where a set becomes a label again."""

from oneof.candidates.agreement import NamedValues, common_classes, named_values
from oneof.candidates.forms import align, as_candidates, over_all_labels
from oneof.candidates.labels import as_classes
from oneof.candidates.sets import CandidateSets

__all__ = [
    "CandidateSets",
    "NamedValues",
    "align",
    "as_candidates",
    "as_classes",
    "common_classes",
    "named_values",
    "over_all_labels",
]
