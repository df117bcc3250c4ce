"""Tests of the feature space and the kernel space."""

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.feature_spaces import FeatureSpace
from tests.estimators.panel import table
from tests.solvers.plsvm.problems import SPACES, problem


@pytest.mark.parametrize("space", SPACES)
def test_subset_and_float32_have_the_same_scores(space):
    """A subset has the scores of its rows, and single precision those of all rows to its rounding."""
    p = problem(space)
    coefficients = np.random.default_rng(1).normal(size=p.evidence.shape)
    weights = p.space.rmatvec(coefficients)
    single = p.space.as_float32()
    np.testing.assert_allclose(single.matvec(weights), p.space.matvec(weights), rtol=1e-4, atol=1e-3)
    rows = np.array([5, 2, 9])
    sparse_coefficients = np.zeros_like(coefficients)
    sparse_coefficients[rows] = coefficients[rows]
    subset = p.space.subset(rows)
    expected = p.space.matvec(p.space.rmatvec(sparse_coefficients))[rows]
    np.testing.assert_allclose(subset.matvec(subset.rmatvec(coefficients[rows])), expected, rtol=1e-10, atol=1e-10)


def test_rows_out_of_range():
    """Squares that overflow float64 raise, and those out of the range of float32 stay in float64."""
    X, _ = table()
    with pytest.raises(InputError, match=r"[Ss]cale the features"), np.errstate(over="ignore"):
        FeatureSpace(X * 1e200)
    assert FeatureSpace(X * 1e30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X * 1e-30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X).as_float32().X.dtype == np.float32
