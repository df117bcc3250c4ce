"""From kernels to a model, without an estimator."""

from dataclasses import dataclass

import numpy as np
import pytest

from oneof.solvers.loo_ridge import CandidateGroups, solve_loo_ridge
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


@dataclass(frozen=True)
class Scaled:
    """An RBF kernel of rows times a number."""

    factor: float

    def mapped(self, X):
        return self.factor * X

    def gram(self, mapped, others=None):
        return gram_of(mapped, others)

    def kept(self, mapped):
        return mapped


def problem():
    """Return rows, kernels with the rows in their forms, and sets."""
    X, truth = blobs(40, 4)
    kernels = [(Scaled(factor), factor * X) for factor in (0.5, 1.0, 3.0)]
    return X, kernels, CandidateGroups.of(sets_of(truth))


def test_left_out_scores_are_those_of_fits_without_the_row():
    """They are the weighted mean of n fits of each kernel to the labels that were settled, to 1e-8."""
    _, kernels, sets = problem()
    found = solve_loo_ridge(kernels, sets, lam=0.05, max_iter=25)
    P = found.judgment.shares
    expected = sum(
        weight * oracle.left_out(kernel.gram(mapped), P, 0.05)
        for (kernel, mapped), weight in zip(kernels, found.weights, strict=True)
    )
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-8)


def test_landmarks_of_all_rows_change_nothing():
    """With every row a landmark, and all rows or as many drawn to weigh the kernels, the model is the exact one."""
    X, kernels, sets = problem()
    exact = solve_loo_ridge(kernels, sets, lam=0.05, max_iter=25)
    for weighed in (None, np.arange(40)):
        found = solve_loo_ridge(kernels, sets, lam=0.05, max_iter=25, landmarks=np.arange(40), weighed=weighed)
        np.testing.assert_allclose(found.weights, exact.weights, atol=1e-9)
        np.testing.assert_allclose(found.model.scores(X), exact.model.scores(X), atol=1e-5)
        assert found.vouchers is None


def test_a_kernel_without_weight_is_not_kept():
    """The model holds the kernels that count, and no others."""
    X, kernels, sets = problem()
    noise = np.random.default_rng(0).normal(size=X.shape)
    found = solve_loo_ridge([*kernels[:1], (Scaled(1.0), noise)], sets, lam=0.05, max_iter=25)
    assert len(found.model.models) == np.count_nonzero(found.weights)
    assert found.weights.sum() == pytest.approx(1)
