"""Likelihoods, factors and modes in other array namespaces equal those in NumPy."""

import array_api_strict
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from oneof import likelihoods
from oneof.kernels.gaussian_process import covariance, variances
from oneof.solvers.laplace.mode import find_mode, find_mode_cholesky
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from tests.estimators.panel import table
from tests.solvers.laplace.problems import SHARPNESSES, problem
from tests.tensors import DEVICES, tensors_on
from tests.weights import evidences


@pytest.fixture(params=[*DEVICES, "array_api_strict"])
def form(request):
    """Return a function that converts NumPy arrays to a namespace: tensors on each device, and a strict one."""
    if request.param == "array_api_strict":
        yield array_api_strict.asarray
        return
    with tensors_on(request.param) as tensor:
        yield tensor


def same(values, expected, form, atol=1e-12):
    """Assert that values are in the namespace and equal those of NumPy."""
    assert type(values) is type(form(expected))
    values = values.cpu() if hasattr(values, "cpu") else values
    np.testing.assert_allclose(np.from_dlpack(values), expected, rtol=1e-12, atol=atol)


@evidences
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_likelihoods(form, sharpness, evidence_of):
    """Values and derivatives are equal for sets of every size, including unlabeled rows, and for weights."""
    rng = np.random.default_rng(0)
    scores, directions = rng.normal(size=(2, 30, 4))
    mask = evidence_of(table(30, K=4)[1])

    def results(scores, directions, mask):
        p, q = likelihoods.softmax(scores), likelihoods.masked_softmax(scores, mask, sharpness)
        return [
            p,
            q,
            likelihoods.uniform_within_sets(mask),
            likelihoods.log_likelihoods(scores, mask, sharpness),
            likelihoods.log_likelihood_gradient(p, q, mask),
            likelihoods.total_variation(p, q, mask),
            likelihoods.softmax_jvp(q, directions),
            likelihoods.entropy(q),
            likelihoods.entropy_gradient(q),
        ]

    arrays = scores, directions, mask
    for values, expected in zip(results(*map(form, arrays)), results(*arrays), strict=True):
        same(values, expected, form)


@evidences
@pytest.mark.parametrize("solver", [find_mode, find_mode_cholesky])
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_modes(form, sharpness, solver, evidence_of):
    """F, A and Psi equal those of NumPy, with one kernel and with one per class."""
    K, mask = problem("rbf", variance=2.0)
    mask = evidence_of(mask)
    for gram in (K, np.stack([K, 2.0 * K, K**2, np.eye(40)])):
        expected = solver(GramPrior(gram), mask, sharpness, tol=1e-10)
        mode = solver(GramPrior(form(gram)), form(mask), sharpness, tol=1e-10)
        assert mode.converged
        same(mode.latents, expected.latents, form, atol=1e-9)
        same(mode.coefficients, expected.coefficients, form, atol=1e-9)
        same(mode.derivatives.gradient, expected.derivatives.gradient, form, atol=1e-9)
        np.testing.assert_allclose(mode.objective_path[-1], expected.objective_path[-1], rtol=1e-9)


def test_kernels_and_features(form):
    """Covariances and modes of rows and of features are in the namespace of the input."""
    X, mask = table(30, K=4)
    X, mask = X[~mask.all(axis=1)], mask[~mask.all(axis=1)]

    def results(X, mask):
        gram = covariance(2.0 * RBF(), X)
        modes = [find_mode(prior, mask, 1.0, tol=1e-10) for prior in (GramPrior(gram), FeaturePrior(X))]
        return [variances(2.0 * RBF(), X), gram, *(mode.latents for mode in modes)]

    for values, expected in zip(results(form(X), form(mask)), results(X, mask), strict=True):
        same(values, expected, form, atol=1e-9)
