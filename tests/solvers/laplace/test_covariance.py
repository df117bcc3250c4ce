"""Posterior covariances of new rows: the low-rank form against the reference form, and its bound."""

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
def _raise_limits(monkeypatch):
    """Raise the limits of the low-rank form, which few rows would otherwise exceed."""
    monkeypatch.setattr(low_rank_covariance, "MAX_KRYLOV_FRACTION", 0.5)
    monkeypatch.setattr(low_rank_covariance, "MAX_FEATURES_FRACTION", 2.0)
    monkeypatch.setattr(low_rank_covariance, "MAX_FEATURES_FRACTION_PER_CLASS", 0.5)


def problem(kernel, n=300, K=4):
    """Return the prior and the probabilities at the mode, and the covariances and variances of new rows."""
    X, mask = table(n, K=K)
    labeled = ~mask.all(axis=1)
    further = np.random.default_rng(1).normal(size=(40, X.shape[1])) * 2
    prior = GramPrior.from_gram(covariance(kernel, X[labeled]))
    mode = find_mode(prior, mask[labeled], np.inf)
    return prior, mode.derivatives.proba, covariance(kernel, further, X[labeled]), variances(kernel, further)


def is_below(lower, upper, factor=1.0):
    """Return whether lower <= factor upper for the matrices of each row, up to rounding errors."""
    gaps = np.linalg.eigvalsh(factor * upper - lower)
    return gaps.min() >= -1e-9 * np.abs(upper).max()


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("name", KERNELS)
def test_low_rank_form_satisfies_its_bounds(name, eps):
    """The relative error of the low-rank form is at most about sqrt(eps) in every direction."""
    prior, proba, cross, prior_variances = problem(KERNELS[name])
    reference = LatentCovariance.from_prior(prior, proba).covariances(cross, prior_variances)
    low_rank = LowRankCovariance.from_prior(prior, proba, np.random.default_rng(0), eps=eps).covariances(
        cross, prior_variances
    )
    assert is_below((1 - np.sqrt(eps)) * low_rank, reference)
    assert is_below(reference, low_rank, 1 + np.sqrt(eps) + eps)


@pytest.mark.parametrize("name", KERNELS)
def test_low_rank_form_is_accurate(name):
    """At the default eps, the relative error of the variances is at most 3e-3, also in single precision."""
    prior, proba, cross, prior_variances = problem(KERNELS[name])
    reference = LatentCovariance.from_prior(prior, proba).covariances(cross, prior_variances)
    low_rank = LowRankCovariance.from_prior(prior, proba, np.random.default_rng(0))
    single = to_float32_if_precise(low_rank, cross, prior_variances)
    assert single.roots[0].dtype == np.float32
    for form in (low_rank, single):
        covariances = form.covariances(cross, prior_variances)
        diagonal = np.arange(covariances.shape[1])
        np.testing.assert_allclose(covariances[:, diagonal, diagonal], reference[:, diagonal, diagonal], rtol=3e-3)


def test_low_rank_form_is_rejected_if_it_needs_many_features():
    """A kernel of short length has no low-rank approximation."""
    prior, proba, _, _ = problem(ConstantKernel(10.0) * RBF(0.05))
    assert LowRankCovariance.from_prior(prior, proba, np.random.default_rng(0)) is None


@pytest.mark.parametrize("name", KERNELS)
def test_low_rank_form_is_rejected_early_only_if_it_needs_more_features(name):
    """The early rejection counts no more features than there are eigenvalues above eps."""
    prior, proba, _, _ = problem(KERNELS[name])
    scales = np.sqrt(proba.T)
    spectra = np.linalg.eigvalsh(scales[:, :, None] * prior.gram * scales[:, None, :])
    count, classes = int((spectra > 0.01).sum()), list(range(proba.shape[1]))
    assert not low_rank_covariance._need_more_features(prior, proba, classes, 0.01, count)
    assert low_rank_covariance._need_more_features(prior, proba, classes, 0.01, len(classes) - 1)


def test_a_class_without_probability_needs_no_features():
    """The latents of a class without probability have their prior covariance."""
    prior, proba, cross, prior_variances = problem(KERNELS["smooth"], K=3)
    proba = np.stack([proba[:, 0] + proba[:, 1], proba[:, 2], 0 * proba[:, 0]], axis=1)
    form = LowRankCovariance.from_prior(prior, proba, np.random.default_rng(0))
    assert [root.shape[1] > 0 for root in form.roots] == [True, True, False]
    prior_covariances = form.covariances(cross, prior_variances)
    np.testing.assert_allclose(prior_covariances[:, 2, 2], prior_variances)
    np.testing.assert_array_equal(prior_covariances[:, 2, :2], 0.0)


def test_single_precision_is_rejected_if_it_is_inaccurate():
    """With prior variances 1e10 times those of the posterior, the result is in double precision."""
    prior, proba, cross, prior_variances = problem(ConstantKernel(1e8) * DotProduct(1.0), n=100)
    reference = LatentCovariance.from_prior(prior, proba)
    assert to_float32_if_precise(reference, cross, prior_variances) is reference


def spectral(spectrum):
    """Return a matrix with this spectrum, and a function that draws blocks of directions."""
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))
    return (rotation * spectrum) @ rotation.T, lambda: rng.normal(size=(len(spectrum), 8))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_eigenvalues_are_found(dtype):
    """All eigenvalues above eps of a matrix with a known spectrum are found, with accurate vectors."""
    spectrum = 100.0 * 0.8 ** np.arange(200)
    matrix, draw = spectral(spectrum)
    matrix = matrix.astype(dtype)
    values, vectors = large_eigenpairs(lambda V: matrix @ V, lambda: draw().astype(dtype), 0.1, 150)
    count = int((spectrum > 0.1).sum())
    np.testing.assert_allclose(values[::-1][:count], spectrum[:count], rtol=1e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-5)
    assert np.linalg.norm(matrix - (vectors * values) @ vectors.T, 2) <= 0.1
    assert large_eigenpairs(lambda V: matrix @ V, lambda: draw().astype(dtype), 0.1, 20) is None


@pytest.mark.parametrize("spacing", [0.0, 1e-3])
def test_repeated_eigenvalues_are_found(spacing):
    """No direction is missed if the multiplicity exceeds the block size, or eigenvalues form a cluster."""
    spectrum = np.concatenate([np.full(40, 2.0) + spacing * np.arange(40), np.zeros(160)])
    matrix, draw = spectral(spectrum)
    values, vectors = large_eigenpairs(lambda V: matrix @ V, draw, 0.1, 150)
    assert len(values) == 40
    assert np.linalg.norm(matrix - (vectors * values) @ vectors.T, 2) <= 0.1


def test_duplicated_rows_satisfy_the_bounds():
    """Groups of equal rows, for which the kernel has a repeated eigenvalue, satisfy the bounds."""
    eps = 0.01
    groups = np.kron(np.eye(20), np.ones((10, 10)))
    prior, proba = GramPrior.from_gram(groups), np.full((200, 2), 0.5)
    reference = LatentCovariance.from_prior(prior, proba).covariances(groups, np.ones(200))
    form = LowRankCovariance.from_prior(prior, proba, np.random.default_rng(0), eps=eps)
    assert form is not None
    low_rank = form.covariances(groups, np.ones(200))
    assert is_below((1 - np.sqrt(eps)) * low_rank, reference)
    assert is_below(reference, low_rank, 1 + np.sqrt(eps) + eps)


def test_features_give_the_covariances_of_their_kernel():
    """The weight space gives the same covariances, plus the variance that the features do not explain."""
    X, mask = table(200, K=3)
    labeled = ~mask.all(axis=1)
    features = np.tanh(X[labeled] @ np.random.default_rng(0).normal(size=(4, 7)))
    further = np.tanh(np.random.default_rng(1).normal(size=(20, 7)))
    exact, low_rank = GramPrior.from_gram(features @ features.T), FeaturePrior.from_features(features)
    proba = find_mode(low_rank, mask[labeled], np.inf).derivatives.proba
    prior_variances = (further**2).sum(axis=1)
    reference = LatentCovariance.from_prior(exact, proba).covariances(further @ features.T, prior_variances)
    by_weights = WeightCovariance.from_features([features] * 3, proba)
    np.testing.assert_allclose(by_weights.covariances(further, prior_variances), reference, atol=1e-9)
    more = by_weights.covariances(further, prior_variances + 2.0) - reference
    np.testing.assert_allclose(more, np.broadcast_to(2.0 * np.eye(3), more.shape), atol=1e-9)


def test_a_kernel_for_each_class():
    """Equal kernels for all classes give the covariances of a shared kernel, in both forms."""
    prior, proba, cross, prior_variances = problem(KERNELS["smooth"], K=3)
    each = GramPrior.from_gram(np.stack([prior.gram] * 3))
    stacked_cross, stacked_variances = np.stack([cross] * 3), np.stack([prior_variances] * 3)
    shared = LatentCovariance.from_prior(prior, proba).covariances(cross, prior_variances)
    np.testing.assert_allclose(
        LatentCovariance.from_prior(each, proba).covariances(stacked_cross, stacked_variances), shared, atol=1e-9
    )
    low_rank = LowRankCovariance.from_prior(each, proba, np.random.default_rng(0))
    np.testing.assert_allclose(low_rank.covariances(stacked_cross, stacked_variances), shared, atol=2e-3 * shared.max())


@pytest.mark.parametrize("name", KERNELS)
def test_all_rows_as_landmarks_give_the_kernel(name):
    """Inner products of features with all rows as landmarks equal the kernel; with some they are at most the kernel."""
    X, _ = table(60)
    kernel = KERNELS[name]
    features = NystroemFeatures.fit(kernel, X).transform(X)
    np.testing.assert_allclose(features @ features.T, covariance(kernel, X), atol=1e-6 * variances(kernel, X).max())
    some = NystroemFeatures.fit(kernel, X[:20]).transform(X)
    gap = covariance(kernel, X) - some @ some.T
    assert np.linalg.eigvalsh(gap).min() >= -1e-6 * variances(kernel, X).max()


def test_samples_have_the_posterior_moments():
    """Sampled latents have the means exactly, by pairs of opposite sign, and the covariances in the limit."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 3, 3))
    means, covariances = rng.normal(size=(5, 3)), root @ root.mT
    np.testing.assert_allclose(symmetric_roots(covariances) @ symmetric_roots(covariances), covariances, atol=1e-12)
    drawn = sample_latents(means, covariances, draw_normals(200_000, 3, rng))
    np.testing.assert_allclose(drawn.mean(axis=1), means, atol=1e-12)
    centered = drawn - means[:, None]
    sample_covariances = np.einsum("tsk,tsj->tkj", centered, centered) / drawn.shape[1]
    np.testing.assert_allclose(sample_covariances, covariances, atol=0.05 * np.abs(covariances).max())


def test_expected_softmax_is_the_mean_of_the_softmax():
    """For two classes it is the mean of the logistic function of a normal; with covariance 0 it is the softmax."""
    means, covariances = np.array([[0.3, -0.4]]), np.array([[[1.5, 0.2], [0.2, 0.8]]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    std = np.sqrt(1.5 + 0.8 - 2 * 0.2)
    exact = (weights / (1 + np.exp(-(0.7 + std * nodes)))).sum() / weights.sum()
    normals = draw_normals(100_001, 2, np.random.default_rng(0))
    np.testing.assert_allclose(expected_softmax(means, covariances, normals)[0], [exact, 1 - exact], atol=2e-3)
    exact_softmax = expected_softmax(means, 0 * covariances, normals)
    np.testing.assert_allclose(exact_softmax[0, 0], 1 / (1 + np.exp(-0.7)))


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_refined_variances_equal_those_in_double_precision(name, by_class):
    """One step of refinement of factors in single precision has the variances of factors in double precision."""
    prior, proba, cross, prior_variances = problem(KERNELS[name])
    if by_class:
        factors = np.array([1.0, 0.5, 2.0, 1.0])
        prior = GramPrior.from_gram(factors[:, None, None] * prior.gram)
        cross, prior_variances = factors[:, None, None] * cross, factors[:, None] * prior_variances
    exact = LatentCovariance.from_prior(prior, proba).covariances(cross, prior_variances)
    exact = np.diagonal(exact, axis1=1, axis2=2)
    single = LatentCovariance.from_prior_float32(prior, proba)
    assert single.dtype == np.float32
    refined = single.refined_variances(prior, proba, cross, prior_variances)
    # A variance is the prior variance minus a reduction of nearly its size, so its rounding error is some units of
    # single precision of the largest prior variance; the digits beyond that differ between processors.
    unit = np.finfo(np.float32).eps / 2
    error = np.abs(refined - exact)
    assert error.max() <= 32 * unit * prior_variances.max()
    rough = np.diagonal(single.covariances(cross, prior_variances), axis1=1, axis2=2)
    assert error.max() <= np.abs(rough - exact).max() / 10
    if name != "linear":  # its variances are far smaller than those of the prior
        np.testing.assert_allclose(refined, exact, rtol=1e-5)
        np.testing.assert_allclose(rough, exact, rtol=1e-3)


def test_single_precision_is_not_tried_with_large_variances():
    """Factors in single precision are not computed if rounding errors would dominate them."""
    prior, proba, *_ = problem(KERNELS["smooth"])
    assert LatentCovariance.from_prior_float32(GramPrior.from_gram(1e6 * prior.gram), proba) is None
