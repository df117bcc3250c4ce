"""Candidate sets: conversion of every form of labels to sets of classes, and back.

Reading order: `labels` (values, text and names of classes), `cells` (every form of a cell, by one function),
`separators` (their detection), `encoding` (labels, sets, weights, matrices and answers as masks and likelihoods),
`sets` (the class, and the conversion of any form), `class_weights`, `columns` (columns of tables and streams),
`stratification` (folds).
"""

from oneof.candidates.encoding import LevelSets
from oneof.candidates.labels import as_classes
from oneof.candidates.sets import (
    CandidateSets,
    align,
    as_candidates,
    collect_values,
    common_classes,
    expand_to_predicted,
)

__all__ = [
    "CandidateSets",
    "LevelSets",
    "align",
    "as_candidates",
    "as_classes",
    "collect_values",
    "common_classes",
    "expand_to_predicted",
]
