"""Posterior covariances of further rows: the cheap forms against the published one, and its bound."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from oneof.kernels import covariance, variances
from oneof.kernels.nystroem import NystroemFeatures
from oneof.solvers.laplace import low_rank_covariance
from oneof.solvers.laplace.low_rank_covariance import LowRankCovariance, large_eigenpairs
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from oneof.solvers.laplace.posterior import to_float32_if_precise
from oneof.solvers.laplace.posterior_covariance import LatentCovariance, WeightCovariance
from oneof.solvers.laplace.predictive import draw_normals, expected_softmax, sample_latents, symmetric_roots
from tests.estimators.panel import table

KERNELS = {
    "smooth": ConstantKernel(10.0) * RBF(6.0),
    "rough": ConstantKernel(3.0) * RBF(3.0),
    "linear": DotProduct(1.0),
}


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    """Allow as many features as there may be: with the few rows of these tests the published form would be taken."""
    monkeypatch.setattr(low_rank_covariance, "MAX_KRYLOV_FRACTION", 0.5)
    monkeypatch.setattr(low_rank_covariance, "MAX_FEATURES_FRACTION", 2.0)
    monkeypatch.setattr(low_rank_covariance, "MAX_FEATURES_FRACTION_PER_CLASS", 0.5)


def problem(kernel, n=300, K=4):
    """Return the prior and the probabilities at the mode, and further rows' covariances and variances."""
    X, mask = table(n, K=K)
    told = ~mask.all(axis=1)
    further = np.random.default_rng(1).normal(size=(40, X.shape[1])) * 2
    prior = GramPrior.from_gram(covariance(kernel, X[told]))
    mode = find_mode(prior, mask[told], np.inf)
    return prior, mode.derivatives.proba, covariance(kernel, further, X[told]), variances(kernel, further)


def in_order(lower, upper, share=1.0):
    """Return whether lower <= share upper for each row's matrices, but for rounding."""
    gaps = np.linalg.eigvalsh(share * upper - lower)
    return gaps.min() >= -1e-9 * np.abs(upper).max()


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("name", KERNELS)
def test_the_cheap_form_keeps_its_bounds(name, eps):
    """In every direction it is off by a share of about sqrt(eps) at most."""
    prior, shares, cross, own = problem(KERNELS[name])
    published = LatentCovariance.from_prior(prior, shares).covariances(cross, own)
    cheap = LowRankCovariance.from_prior(prior, shares, np.random.default_rng(0), eps=eps).covariances(cross, own)
    assert in_order((1 - np.sqrt(eps)) * cheap, published)
    assert in_order(published, cheap, 1 + np.sqrt(eps) + eps)


@pytest.mark.parametrize("name", KERNELS)
def test_the_cheap_form_is_close(name):
    """As it is used, variances are right to 3e-3 of themselves, in single precision too."""
    prior, shares, cross, own = problem(KERNELS[name])
    published = LatentCovariance.from_prior(prior, shares).covariances(cross, own)
    reduced = LowRankCovariance.from_prior(prior, shares, np.random.default_rng(0))
    single = to_float32_if_precise(reduced, cross, own)
    assert single.roots[0].dtype == np.float32
    for form in (reduced, single):
        cheap = form.covariances(cross, own)
        each = np.arange(cheap.shape[1])
        np.testing.assert_allclose(cheap[:, each, each], published[:, each, each], rtol=3e-3)


def test_the_cheap_form_is_given_up_where_it_would_not_be_cheap():
    """Where the kernel falls off at once no few features hold it."""
    prior, shares, _, _ = problem(ConstantKernel(10.0) * RBF(0.05))
    assert LowRankCovariance.from_prior(prior, shares, np.random.default_rng(0)) is None


def test_a_class_without_probability_needs_no_features():
    """Its latents keep their prior."""
    prior, shares, cross, own = problem(KERNELS["smooth"], K=3)
    shares = np.stack([shares[:, 0] + shares[:, 1], shares[:, 2], 0 * shares[:, 0]], axis=1)
    form = LowRankCovariance.from_prior(prior, shares, np.random.default_rng(0))
    assert [root.shape[1] > 0 for root in form.roots] == [True, True, False]
    found = form.covariances(cross, own)
    np.testing.assert_allclose(found[:, 2, 2], own)
    np.testing.assert_array_equal(found[:, 2, :2], 0.0)


def test_single_precision_is_declined_where_it_would_lose():
    """With prior variances 1e10 times those of the posterior, double precision is kept."""
    prior, shares, cross, own = problem(ConstantKernel(1e8) * DotProduct(1.0), n=100)
    published = LatentCovariance.from_prior(prior, shares)
    assert to_float32_if_precise(published, cross, own) is published


def spectral(spectrum):
    """Return a matrix with this spectrum, and what draws blocks of directions."""
    random = np.random.default_rng(0)
    turn, _ = np.linalg.qr(random.normal(size=(len(spectrum), len(spectrum))))
    return (turn * spectrum) @ turn.T, lambda: random.normal(size=(len(spectrum), 8))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_eigenvalues_are_found(dtype):
    """Of a matrix with a known spectrum: all above eps, and nearly their vectors."""
    spectrum = 100.0 * 0.8 ** np.arange(200)
    matrix, draw = spectral(spectrum)
    matrix = matrix.astype(dtype)
    values, vectors = large_eigenpairs(lambda V: matrix @ V, lambda: draw().astype(dtype), 0.1, 150)
    count = int((spectrum > 0.1).sum())
    np.testing.assert_allclose(values[::-1][:count], spectrum[:count], rtol=1e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-5)
    assert np.linalg.norm(matrix - (vectors * values) @ vectors.T, 2) <= 0.1
    assert large_eigenpairs(lambda V: matrix @ V, lambda: draw().astype(dtype), 0.1, 20) is None


@pytest.mark.parametrize("wide", [0.0, 1e-3])
def test_eigenvalues_that_recur_are_found(wide):
    """More often than a block is wide, or in a cluster: no direction of them is missed."""
    spectrum = np.concatenate([np.full(40, 2.0) + wide * np.arange(40), np.zeros(160)])
    matrix, draw = spectral(spectrum)
    values, vectors = large_eigenpairs(lambda V: matrix @ V, draw, 0.1, 150)
    assert len(values) == 40
    assert np.linalg.norm(matrix - (vectors * values) @ vectors.T, 2) <= 0.1


def test_rows_that_recur_keep_the_bounds():
    """Groups of equal rows, whose kernel has the same eigenvalue for all of them."""
    eps = 0.01
    groups = np.kron(np.eye(20), np.ones((10, 10)))
    prior, shares = GramPrior.from_gram(groups), np.full((200, 2), 0.5)
    published = LatentCovariance.from_prior(prior, shares).covariances(groups, np.ones(200))
    found = LowRankCovariance.from_prior(prior, shares, np.random.default_rng(0), eps=eps)
    assert found is not None
    cheap = found.covariances(groups, np.ones(200))
    assert in_order((1 - np.sqrt(eps)) * cheap, published)
    assert in_order(published, cheap, 1 + np.sqrt(eps) + eps)


def test_features_give_the_covariances_of_their_kernel():
    """In the space of weights the same covariances come out, to which is added what the features miss."""
    X, mask = table(200, K=3)
    told = ~mask.all(axis=1)
    features = np.tanh(X[told] @ np.random.default_rng(0).normal(size=(4, 7)))
    further = np.tanh(np.random.default_rng(1).normal(size=(20, 7)))
    exact, low_rank = GramPrior.from_gram(features @ features.T), FeaturePrior.from_features(features)
    shares = find_mode(low_rank, mask[told], np.inf).derivatives.proba
    own = (further**2).sum(axis=1)
    published = LatentCovariance.from_prior(exact, shares).covariances(further @ features.T, own)
    by_weights = WeightCovariance.from_features([features] * 3, shares)
    np.testing.assert_allclose(by_weights.covariances(further, own), published, atol=1e-9)
    more = by_weights.covariances(further, own + 2.0) - published
    np.testing.assert_allclose(more, np.broadcast_to(2.0 * np.eye(3), more.shape), atol=1e-9)


def test_a_kernel_for_each_class():
    """Equal kernels for all classes give the covariances of a shared one, in both forms."""
    prior, shares, cross, own = problem(KERNELS["smooth"], K=3)
    each = GramPrior.from_gram(np.stack([prior.gram] * 3))
    crosses, owns = np.stack([cross] * 3), np.stack([own] * 3)
    shared = LatentCovariance.from_prior(prior, shares).covariances(cross, own)
    np.testing.assert_allclose(LatentCovariance.from_prior(each, shares).covariances(crosses, owns), shared, atol=1e-9)
    cheap = LowRankCovariance.from_prior(each, shares, np.random.default_rng(0))
    np.testing.assert_allclose(cheap.covariances(crosses, owns), shared, atol=2e-3 * shared.max())


@pytest.mark.parametrize("name", KERNELS)
def test_as_many_landmarks_as_rows_give_the_kernel(name):
    """Inner products of the features of all rows are their kernel; those of some never exceed its diagonal."""
    X, _ = table(60)
    kernel = KERNELS[name]
    features = NystroemFeatures.fit(kernel, X).transform(X)
    np.testing.assert_allclose(features @ features.T, covariance(kernel, X), atol=1e-6 * variances(kernel, X).max())
    some = NystroemFeatures.fit(kernel, X[:20]).transform(X)
    gap = covariance(kernel, X) - some @ some.T
    assert np.linalg.eigvalsh(gap).min() >= -1e-6 * variances(kernel, X).max()


def test_draws_have_the_moments_they_should():
    """Sampled latents have the means exactly, by pairs of opposite sign, and the covariances in the limit."""
    random = np.random.default_rng(0)
    root = random.normal(size=(5, 3, 3))
    means, covariances = random.normal(size=(5, 3)), root @ root.mT
    np.testing.assert_allclose(symmetric_roots(covariances) @ symmetric_roots(covariances), covariances, atol=1e-12)
    drawn = sample_latents(means, covariances, draw_normals(200_000, 3, random))
    np.testing.assert_allclose(drawn.mean(axis=1), means, atol=1e-12)
    centered = drawn - means[:, None]
    found = np.einsum("tsk,tsj->tkj", centered, centered) / drawn.shape[1]
    np.testing.assert_allclose(found, covariances, atol=0.05 * np.abs(covariances).max())


def test_expected_shares_are_the_mean_of_the_softmax():
    """For two classes they are the mean of the logistic function of a normal; without spread, the softmax."""
    means, covariances = np.array([[0.3, -0.4]]), np.array([[[1.5, 0.2], [0.2, 0.8]]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(1.5 + 0.8 - 2 * 0.2)
    exact = (weights / (1 + np.exp(-(0.7 + spread * nodes)))).sum() / weights.sum()
    normals = draw_normals(100_001, 2, np.random.default_rng(0))
    np.testing.assert_allclose(expected_softmax(means, covariances, normals)[0], [exact, 1 - exact], atol=2e-3)
    certain = expected_softmax(means, 0 * covariances, normals)
    np.testing.assert_allclose(certain[0, 0], 1 / (1 + np.exp(-0.7)))
