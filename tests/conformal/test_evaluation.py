"""Coverage and mean size of prediction sets."""

import math

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.conformal import evaluate_sets
from oneof.errors import InputError


def test_numbers_of_a_small_table():
    """Coverage, bounds and sizes are those counted by hand."""
    sets = CandidateSets.from_sets([["a"], ["a", "b"], ["c"], ["a", "b", "c"], ["b"]], classes=["a", "b", "c"])
    result = evaluate_sets(sets, [["a"], ["c"], ["c"], ["a", "c"], None])
    assert (result.n_exact, result.n_labeled, result.n_rows) == (3, 4, 5)
    assert result.coverage == pytest.approx(2 / 3)
    assert result.coverage_bounds == (0.75, 0.75)
    assert result.mean_size == pytest.approx(8 / 5)
    assert [(g.key, g.n_rows, g.coverage, g.mean_size) for g in result.by_class] == [("a", 1, 1, 1), ("c", 2, 0.5, 1.5)]
    assert [(g.key, g.n_rows, g.coverage) for g in result.by_size] == [(1, 2, 1.0), (2, 1, 0.0)]


def test_bounds_hold_the_true_coverage():
    """Whatever candidate is the true class, the coverage is between the bounds."""
    rng = np.random.default_rng(0)
    masks = rng.random((2, 50, 4)) < 0.5
    masks[:, :, 0] |= ~masks.any(axis=2)
    sets, y = (CandidateSets(mask, list("abcd")) for mask in masks)
    low, high = evaluate_sets(sets, y).coverage_bounds
    for _ in range(20):
        labels = [sorted(members)[rng.integers(len(members))] for members in y.to_sets()]
        labels = [label if size < 4 else None for label, size in zip(labels, y.sizes, strict=True)]
        assert low <= evaluate_sets(sets, labels).coverage <= high


def test_rows_without_a_true_class():
    """The coverage of partial rows alone is NaN with bounds; unlabeled rows alone and other lengths are errors."""
    assert math.isnan(evaluate_sets([["a"], ["b"], ["c"]], [["a", "b"], ["b", "c"], ["a", "b"]]).coverage)
    with pytest.raises(InputError, match="every row is unlabeled"):
        evaluate_sets([["a"], ["b"]], CandidateSets([[True, True]] * 2, ["a", "b"]))
    with pytest.raises(InputError, match="same length"):
        evaluate_sets([["a"], ["b"]], ["a"])
