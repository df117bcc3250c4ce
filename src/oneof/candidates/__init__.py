"""Candidate sets: conversion of every form of labels to sets of classes, and back.

Reading order: `labels` (values, classes and text), `spellings` (labels that differ only in case or separators),
`levels` and `row_weights` (weights of the candidates: their level sets and storage), `literals` and `cells` (every form
of a cell, by one function), `separators` (their detection), `encoding` (labels, sets and weights of rows as masks and
likelihoods, by one function), `matrices` and `annotations` (other forms), `sets` (the class), `conversion` (any form),
`checked_labels` (labels in place of sets), `columns` (columns of tables and streams), `stratification` (folds),
`class_weights` (weights of the rows by their classes).
"""

from oneof.candidates.conversion import LabelValues, as_candidates, collect_values, common_classes, expand_to_predicted
from oneof.candidates.labels import as_classes
from oneof.candidates.levels import LevelSets
from oneof.candidates.sets import CandidateSets, align

__all__ = [
    "CandidateSets",
    "LabelValues",
    "LevelSets",
    "align",
    "as_candidates",
    "as_classes",
    "collect_values",
    "common_classes",
    "expand_to_predicted",
]
