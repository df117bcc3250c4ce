"""Warnings of `ConformalClassifier` about the calibration rows: too few groups, too few rows, too many partial rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.messages import warn
from oneof.model_selection.folds import encode_groups
from oneof.solvers.conformal import Calibration, exceeds, min_calibration_rows, never_excluded, p_values
from oneof.typing import Evidence, Floats

MIN_GROUPS = 20
"""Number of groups below which the coverage of rows of new groups is uncertain."""


def warn_of_few_groups(groups: Any, candidates: CandidateSets) -> None:
    """Warn if the labeled rows are of few groups."""
    n_groups = len(np.unique(encode_groups(groups, len(candidates))[~candidates.is_unlabeled]))
    if n_groups < MIN_GROUPS:
        warn(
            f"{n_groups} groups calibrate the sets. The coverage of rows of new groups may be far from the nominal one "
            f"with fewer than {MIN_GROUPS}."
        )


def warn_of_few_rows(calibrations: Sequence[Calibration], n_classes: int, coverage: float, n_rows: int | None) -> None:
    """Warn if classes cannot be excluded because of the number of calibration rows.

    `n_rows` is their number, or None if each class has a calibration of its own.
    """
    n_full = int(never_excluded(calibrations, n_classes, coverage).sum())
    if not n_full:
        return
    least = min_calibration_rows(coverage)
    if n_rows is None:
        problem = f"{n_full} of {n_classes} classes are in every prediction set"
        remedy = f"at least {least} rows of each class, or class_conditional=False"
    else:
        problem = f"{n_rows} calibration rows are too few: every prediction set has all classes"
        remedy = f"at least {least} rows"
    warn(f"{problem}. A coverage of {coverage:g} requires {remedy}.")


def warn_of_full_sets(calibration: Calibration, scores: Floats, evidence: Evidence, coverage: float) -> None:
    """Warn if most sets of the calibration rows have all classes under the rule "conservative"."""
    n_partial = int((np.count_nonzero(evidence, axis=1) > 1).sum())
    if n_partial and exceeds(p_values([calibration], [scores]), coverage).all(axis=1).mean() > 0.5:
        warn(
            f"Most prediction sets have all classes, since {n_partial} of {len(scores)} calibration rows have several "
            'candidates and calibration="conservative" assumes the worst of them. Use calibration="sampled", or more '
            "exact rows."
        )
