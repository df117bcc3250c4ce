"""Features and Gram matrices as spaces of weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from tests.estimators.panel import table
from tests.solvers.plsvm.problems import SPACES, problem, random_weights


@pytest.mark.parametrize("space", SPACES)
def test_gathering_is_the_adjoint_of_scoring(space):
    """<gather(S), W> = sum S * scores(W), for any slopes and weights."""
    p = problem(space)
    weights = random_weights(p)
    slopes = np.random.default_rng(1).normal(size=p.mask.shape)
    left = p.space.dot(p.space.rmatvec(slopes), weights)
    assert left == pytest.approx(float((slopes * p.space.matvec(weights)).sum()), rel=1e-10)


def test_a_linear_kernel_is_the_feature_space():
    """Scores, norms and squares of a linear Gram matrix are those of the features."""
    p = problem("dense")
    kernel = KernelSpace(p.space.X @ p.space.X.T)
    slopes = np.random.default_rng(1).normal(size=p.mask.shape)
    a, b = p.space.rmatvec(slopes), kernel.rmatvec(slopes)
    np.testing.assert_allclose(kernel.matvec(b), p.space.matvec(a), atol=1e-10)
    assert kernel.dot(b, b) == pytest.approx(p.space.dot(a, a), rel=1e-12)
    np.testing.assert_allclose(kernel.squares, p.space.squares, rtol=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_part_and_coarse_are_the_same_rows(space):
    """A part holds the scores of its rows, and single precision those of all to its rounding."""
    p = problem(space)
    slopes = np.random.default_rng(1).normal(size=p.mask.shape)
    weights = p.space.rmatvec(slopes)
    coarse = p.space.as_float32()
    np.testing.assert_allclose(coarse.matvec(weights), p.space.matvec(weights), rtol=1e-4, atol=1e-3)
    rows = np.array([5, 2, 9])
    few = np.zeros_like(slopes)
    few[rows] = slopes[rows]
    part = p.space.subset(rows)
    expected = p.space.matvec(p.space.rmatvec(few))[rows]
    np.testing.assert_allclose(part.matvec(part.rmatvec(slopes[rows])), expected, rtol=1e-10, atol=1e-10)


def test_rows_out_of_range():
    """Squares that overflow are refused, and those out of single precision's range are kept in double."""
    X, _ = table()
    with pytest.raises(InputError, match="[Ss]cale the features"), np.errstate(over="ignore"):
        FeatureSpace(X * 1e200)
    assert FeatureSpace(X * 1e30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X * 1e-30).as_float32().X.dtype == np.float64
    assert FeatureSpace(X).as_float32().X.dtype == np.float32


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
@pytest.mark.parametrize("ridge", [1.0, 1e-6])
def test_a_system_over_the_rows_is_solved_in_either_form(constant, shape, ridge):
    """More rows or more features, in any space: (K + ridge I) times the answer is what was given."""
    random = np.random.default_rng(0)
    X, right = random.normal(size=shape), random.normal(size=(shape[0], 2))
    gram = X @ X.T + constant
    for space in (
        FeatureSpace(X, has_constant=constant),
        FeatureSpace(sp.csr_array(X), has_constant=constant),
        KernelSpace(gram),
    ):
        solved = space.solve(ridge, right)
        left = gram @ solved + ridge * solved
        np.testing.assert_allclose(left, right, atol=1e-13 * np.abs(gram).sum(axis=1).max() * np.abs(solved).max())
