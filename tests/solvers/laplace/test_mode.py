"""Mode: a stationary point and a maximum of Psi, equal to the mode of the book; preconditioners of features."""

import itertools

import numpy as np
import pytest

from oneof.likelihoods import masked_softmax, softmax
from oneof.solvers.laplace import mode as mode_module
from oneof.solvers.laplace.covariance import curvature_matrix
from oneof.solvers.laplace.mode import RowPoint, WeightPreconditioner, find_mode, find_mode_cholesky, nystroem_prior
from oneof.solvers.laplace.model import FeaturePrior, GramPrior, Likelihood
from tests.oracles import laplace as oracle
from tests.solvers.laplace.problems import SHARPNESSES, exact, gram, problem
from tests.weights import evidences

SOLVERS = [find_mode, find_mode_cholesky]


def distance(mode, K, mask, sharpness):
    """Return max |F - K (q - pi)|, relative to the scale of the tolerance."""
    gradient = masked_softmax(mode.latents, mask, sharpness) - softmax(mode.latents)
    image = np.einsum("kij,jk->ik", np.broadcast_to(K, (mask.shape[1], *K.shape[-2:])), gradient)
    return np.abs(mode.latents - image).max() / max(1.0, np.abs(mode.latents).max())


def never_decreases(mode):
    """Return whether Psi never decreases by more than the rounding errors of Psi and of the latents."""
    slack = 1e-12 * np.abs(mode.objective_path).max() + np.finfo(float).eps * np.abs(mode.latents).max() * len(
        mode.latents
    )
    return np.diff(mode.objective_path).min(initial=0.0) >= -slack


CASES = [
    *itertools.product([find_mode], ["rbf", "exponential", "linear"], [1e-2, 1.0, 30.0, 1e3]),
    *itertools.product([find_mode_cholesky], ["rbf"], [0.1, 30.0]),
]


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize(("solver", "kernel", "variance"), CASES)
def test_mode_is_stationary_and_psi_never_decreases(solver, kernel, variance, sharpness):
    """F = K (q - pi) to the tolerance, for Gram matrices of full and of low rank and variances small and large."""
    for seed in range(3 if solver is find_mode else 1):
        K, mask = problem(kernel, variance=variance, seed=seed)
        mode = solver(GramPrior(K), mask, sharpness, **({} if solver is find_mode else {"max_iter": 3000}))
        assert mode.converged
        assert distance(mode, K, mask, sharpness) <= 2e-6
        assert never_decreases(mode)
        product = K @ mode.coefficients
        np.testing.assert_allclose(product, mode.latents, atol=1e-9 * max(1.0, np.abs(mode.latents).max()))


@evidences
@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("variance", [0.1, 10.0, 100.0])
def test_mode_is_a_maximum_of_psi(variance, sharpness, evidence_of):
    """With an explicit K^-1, Psi has the reported value, gradient 0, and a negative definite Hessian."""
    K, mask = problem("exponential", variance=variance, n=15, fraction=0.5)
    mask = evidence_of(mask)
    mode = find_mode(GramPrior(K), mask, sharpness, tol=1e-10)
    F = mode.latents
    np.testing.assert_allclose(mode.objective_path[-1], oracle.psi(F, mask, K, sharpness), rtol=1e-10)
    np.testing.assert_allclose(oracle.gradient(F, mask, K, sharpness), 0, atol=1e-7)
    _, W_true = oracle.hessians(F, mask, sharpness)
    assert np.linalg.eigvalsh(np.linalg.inv(oracle.covariance(K, 4)) + W_true).min() > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_exact_rows_give_the_mode_of_the_book(solver, sharpness):
    """For exact rows the mode equals that of Algorithm 3.3 of Rasmussen & Williams, at every sharpness."""
    y, mask = exact()
    for own in (False, True):
        K = 4.0 * problem("rbf", n=30)[0]
        K = np.stack([K, 2.0 * K, K**2]) if own else K
        mode = solver(GramPrior(K), mask, sharpness, tol=1e-9)
        np.testing.assert_allclose(mode.latents, oracle.exactly_labeled(K, y, 3).mode, atol=1e-7)


def test_features_give_the_mode_of_their_gram_matrix():
    """Features Phi, shared or one per class, give the mode of Phi Phi^T."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    _, mask = problem()
    for features in (X, np.stack([X, 2.0 * X, X**2, X[:, ::-1] ** 3])):
        products = features @ np.swapaxes(features, -1, -2)
        by_features = find_mode(FeaturePrior(features), mask, 1.0, tol=1e-9)
        by_gram = find_mode(GramPrior(products), mask, 1.0, tol=1e-9)
        assert by_features.converged
        np.testing.assert_allclose(by_features.latents, by_gram.latents, atol=1e-6 * np.abs(by_features.latents).max())


def test_annealing_increases_psi():
    """For large sets and a large variance, Psi is lower on average without annealing."""
    gains = []
    for seed in range(20):
        K, mask = problem("rbf", variance=100.0, K=6, seed=seed, fraction=0.5)
        staged, sharp = (find_mode(GramPrior(K), mask, np.inf, anneal=anneal) for anneal in (True, False))
        assert staged.converged
        assert sharp.converged
        gains.append(staged.objective_path[-1] - sharp.objective_path[-1])
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(20)
    assert np.mean(np.array(gains) >= 0) > 0.7


@pytest.mark.parametrize("by_class", [False, True])
def test_stages_of_many_rows_use_landmarks(monkeypatch, by_class):
    """Stages with few landmarks end at other latents, but increase the final Psi as much as full stages do."""
    gained = []
    for seed in range(5):
        K, mask = problem("rbf", variance=10.0, n=150, seed=seed)
        prior = GramPrior(np.stack([K] * mask.shape[1]) if by_class else K)
        exactly, not_annealed = (
            find_mode(prior, mask, np.inf, anneal=anneal).objective_path[-1] for anneal in (True, False)
        )
        with monkeypatch.context() as patch:
            patch.setattr(mode_module, "N_LANDMARKS", 30)
            result = find_mode(prior, mask, np.inf)
            assert nystroem_prior(prior).features.shape[-1] == 30
        assert result.converged
        assert distance(result, K, mask, np.inf) <= 2e-6
        gained.append((result.objective_path[-1] - not_annealed, exactly - not_annealed))
    with_landmarks, with_all_rows = np.sum(gained, axis=0)
    assert with_landmarks > 0.5 * with_all_rows > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_mode_takes_no_step(solver):
    """The coefficients of a mode as the initial value converge without a step."""
    K, mask = problem("exponential", variance=2.0)
    mode = solver(GramPrior(K), mask, 3.0)
    again = solver(GramPrior(K), mask, 3.0, initial=mode.coefficients, tol=2e-6)
    assert again.converged
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.coefficients, mode.coefficients)


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_duplicated_rows_and_variances_of_any_size(kernel, scale, sharpness):
    """Duplicated rows with equal sets have equal latents, for a singular K of any scale.

    Coefficients of a linear kernel are determined only in a few directions; rounding errors in all others must not
    affect these.
    """
    K, mask = problem(kernel, n=20)
    K, mask = scale * np.tile(K, (2, 2)), np.tile(mask, (2, 1))
    mode = find_mode(GramPrior(K), mask, sharpness)
    assert mode.converged
    assert distance(mode, K, mask, sharpness) <= 2e-6
    assert never_decreases(mode)
    np.testing.assert_allclose(mode.latents[:20], mode.latents[20:], atol=1e-6 * np.abs(mode.latents).max())


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize(("kernel", "variance"), [("rbf", 0.5), ("rbf", 4.0), ("linear", 0.5)])
def test_single_precision_is_preserved_and_accurate(kernel, variance, sharpness):
    """A float32 Gram matrix gives float32 latents, which are those of float64 to about 1e-4 of the largest."""
    K, mask = problem(kernel, variance=variance)
    single = find_mode(GramPrior(K.astype(np.float32)), mask, sharpness)
    double = find_mode(GramPrior(K), mask, sharpness)
    assert single.converged
    assert single.latents.dtype == single.coefficients.dtype == single.derivatives.gradient.dtype == np.float32
    np.testing.assert_allclose(single.latents, double.latents, atol=5e-4 * np.abs(double.latents).max())


def test_stagnation_by_rounding_stops_early():
    """If rounding errors exceed the increase of Psi, the iteration stops long before the maximum of steps."""
    K, mask = problem("linear", variance=1e5, n=60)
    mode = find_mode(GramPrior(K.astype(np.float32)), mask, 1.0, tol=1e-9)
    assert not mode.converged
    assert mode.n_iter < 400
    assert np.isfinite(mode.latents).all()


def test_an_indefinite_gram_matrix_terminates():
    """With negative eigenvalues a mode need not exist; the iteration stops with finite latents."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    _, mask = problem(n=30)
    mode = find_mode(GramPrior(gram("rbf", X) - 0.5 * np.eye(30)), mask, 1.0, max_iter=200)
    assert np.isfinite(mode.latents).all()


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


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_hessian_by_blocks(sharpness):
    """Products over blocks of rows equal those of all rows at once, in both precisions."""
    features, mask = feature_rows(n=2500)
    rng = np.random.default_rng(1)
    point = RowPoint(rng.normal(size=mask.shape), Likelihood(mask, sharpness), FeaturePrior(features))
    direction = rng.normal(size=(20, 4))
    expected = features.T @ point.derivatives.hvp(features @ direction)
    np.testing.assert_allclose(point.hvp(direction), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(point.fast_hvp(direction), expected, rtol=1e-3, atol=1e-2)


def test_negative_curvature_ends_at_a_maximum():
    """Psi never decreases on sets that tie at the start, where the Hessian is not positive definite."""
    gram, mask = problem("rbf", variance=30.0, n=60, fraction=0.6)
    values, vectors = np.linalg.eigh(gram)
    prior = FeaturePrior(vectors * np.sqrt(np.maximum(values, 0.0)))
    mode = find_mode(prior, mask, 3.0, anneal=False, tol=1e-9)
    assert mode.converged
    assert np.all(np.diff(mode.objective_path) > -1e-9)
    np.testing.assert_allclose(mode.latents, prior.matvec(mode.coefficients), atol=1e-6)
