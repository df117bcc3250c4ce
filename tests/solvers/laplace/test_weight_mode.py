"""Tests of the mode over the weights of features, its preconditioner and its products."""

import numpy as np
import pytest

from oneof.solvers.laplace import mode as mode_module
from oneof.solvers.laplace.covariance import curvature_matrix
from oneof.solvers.laplace.mode import RowPoint, WeightPreconditioner, find_mode
from oneof.solvers.laplace.model import FeaturePrior, Likelihood
from tests.solvers.laplace.problems import SHARPNESSES, problem


def feature_rows(n=300, m=20, K=4, *, by_class=False, seed=0):
    """Return features with quickly decreasing sizes, and candidate sets."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(K, n, m) if by_class else (n, m)) * np.logspace(1, -3, m)
    mask = rng.random((n, K)) < 0.3
    mask[np.arange(n), rng.integers(K, size=n)] = True
    mask[mask.all(axis=1), 0] = False
    return features, mask


@pytest.mark.parametrize("by_class", [False, True])
def test_every_row_and_feature_give_the_inverse(by_class):
    """With all rows and a dense block of all features, the preconditioner is the inverse of I + Phi^T W Phi."""
    features, mask = feature_rows(by_class=by_class)
    rng = np.random.default_rng(1)
    derivatives = Likelihood(mask, np.inf).derivatives(rng.normal(size=mask.shape))
    pi = derivatives.proba
    by_class = list(features) if features.ndim == 3 else [features] * 4
    H = curvature_matrix(by_class, lambda k, j: pi[:, k] * ((k == j) - pi[:, j])) + np.eye(80)
    residual = rng.normal(size=(20, 4))
    expected = np.linalg.solve(H, residual.T.ravel()).reshape(4, 20).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mode_module, "MIN_DIAGONAL", -1.0)
        patch.setattr(mode_module, "MAX_COST", 1e9)
        solution = WeightPreconditioner.from_rows(features, derivatives).solve(residual)
    np.testing.assert_allclose(solution, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("max_dense_size", [4, 20, 2000])
def test_preconditioner_is_symmetric_and_positive_definite(max_dense_size, monkeypatch):
    """Conjugate gradients need this, whatever rows are drawn and however small the dense block is."""
    monkeypatch.setattr(mode_module, "MAX_DENSE_SIZE", max_dense_size)
    monkeypatch.setattr(mode_module, "MAX_SAMPLED_ROWS", 50)
    features, mask = feature_rows()
    derivatives = Likelihood(mask, 1.0).derivatives(np.random.default_rng(1).normal(size=mask.shape))
    preconditioner = WeightPreconditioner.from_rows(features.astype(np.float32), derivatives)
    columns = np.stack([preconditioner.solve(row.reshape(20, 4)).ravel() for row in np.eye(80)])
    np.testing.assert_allclose(columns, columns.T, atol=1e-12)
    assert np.linalg.eigvalsh(columns).min() > 0


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_hessian_by_blocks(sharpness):
    """Products over blocks of rows equal those of all rows at once, in both precisions."""
    features, mask = feature_rows(n=2500)
    rng = np.random.default_rng(1)
    derivatives = RowPoint(FeaturePrior(features), rng.normal(size=mask.shape), Likelihood(mask, sharpness))
    direction = rng.normal(size=(20, 4))
    expected = features.T @ derivatives.rows.hvp(features @ direction)
    np.testing.assert_allclose(derivatives.hvp(direction), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(derivatives.fast_hvp(direction), expected, rtol=1e-3, atol=1e-2)


def test_negative_curvature_ends_at_a_maximum():
    """Psi never decreases on sets that tie at the start, where the Hessian is not positive definite."""
    gram, mask = problem("rbf", variance=30.0, n=60, fraction=0.6)
    values, vectors = np.linalg.eigh(gram)
    prior = FeaturePrior(vectors * np.sqrt(np.maximum(values, 0.0)))
    mode = find_mode(prior, mask, 3.0, anneal=False, tol=1e-9)
    assert mode.converged
    assert np.all(np.diff(mode.objective_path) > -1e-9)
    np.testing.assert_allclose(mode.latents, prior.matvec(mode.coefficients), atol=1e-6)
