"""Laplace approximation of Gaussian processes on candidate sets: modes, evidence, predictions, and array namespaces."""

import itertools

import array_api_strict
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from oneof import PLGP, likelihoods
from oneof.errors import InputError
from oneof.likelihoods import masked_softmax, softmax
from oneof.solvers.laplace import hyperparameters
from oneof.solvers.laplace import mode as mode_module
from oneof.solvers.laplace.covariance import CholeskyFactors, WeightCovariance, curvature_matrix
from oneof.solvers.laplace.hyperparameters import evidence_gradient, log_evidence, search_hyperparameters
from oneof.solvers.laplace.mode import RowPoint, WeightPreconditioner, find_mode, find_mode_cholesky, nystroem_prior
from oneof.solvers.laplace.model import FeaturePrior, GramPrior, Likelihood
from oneof.solvers.laplace.posterior import (
    apply_temperature,
    draw_normals,
    expected_softmax,
    fit_temperature,
    loo_latents,
)
from tests.estimators.panel import table
from tests.oracles import laplace as oracle
from tests.tensors import DEVICES, tensors_on
from tests.weights import evidences

SHARPNESSES = (0.5, 1.0, 3.0, np.inf)


def problem(kernel="rbf", *, variance=1.0, n=40, K=4, seed=0, fraction=None):
    """Return a Gram matrix, and the sets of exact and partial rows, without unlabeled rows.

    With a fraction, each distractor is drawn with that probability.
    """
    X, mask = table(n, K=K, seed=seed)
    rng = np.random.default_rng(seed)
    truth = mask.argmax(axis=1)
    if fraction is not None:
        mask = rng.random((n, K)) < fraction
        mask[np.arange(n), truth] = True
    full = np.flatnonzero(mask.all(axis=1))
    mask[full, (truth[full] + 1) % K] = False
    return variance * gram(kernel, X), mask


def gram(kernel, X):
    """Return the Gram matrix of an RBF, exponential or linear kernel; the last has the rank of the features."""
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return {"rbf": np.exp(-0.1 * squares), "exponential": np.exp(-0.5 * np.sqrt(squares)), "linear": X @ X.T}[kernel]


def exact(n=30, K=3, seed=0):
    """Return the classes of rows, and their exact sets."""
    y = np.arange(n) % K
    np.random.default_rng(seed).shuffle(y)
    return y, np.eye(K, dtype=bool)[y]


# -- Modes ------------------------------------------------------------------------------------------------------------


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


# -- Evidence and its optimization ------------------------------------------------------------------------------------


SOME_SHARPNESSES = [1.0, 2.0, np.inf]
KERNELS = {
    "RBF": 2.0 * RBF(1.5),
    "RBF with a length per feature": 1.5 * RBF([1.0, 2.0, 3.0]),
    "sum of kernels": 1.0 * DotProduct(1.0) + 2.0 * RBF(1.0) + WhiteKernel(0.1),
    "low rank": 0.5 * DotProduct(1.0),
    "one per class": [(k + 1.0) * RBF(1.0 + k) + WhiteKernel(0.2) for k in range(4)],
}


@pytest.fixture(scope="module")
def rows():
    """Return about 35 rows of 4 classes, exact and partial."""
    X, mask = table(40, d=3, K=4)
    labeled = ~mask.all(axis=1)
    return X[labeled], mask[labeled]


def with_theta(kernel, theta):
    if not isinstance(kernel, list):
        return kernel.clone_with_theta(theta)
    return [part.clone_with_theta(own) for part, own in zip(kernel, np.split(theta, len(kernel)), strict=True)]


def grams(kernel, X):
    """Return the prior and the derivatives of its Gram matrices."""
    if not isinstance(kernel, list):
        gram, gradients = kernel(X, eval_gradient=True)
        return GramPrior(gram), gradients
    pairs = [part(X, eval_gradient=True) for part in kernel]
    return GramPrior(np.stack([gram for gram, _ in pairs])), [gradients for _, gradients in pairs]


@evidences
@pytest.mark.parametrize("sharpness", SOME_SHARPNESSES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_evidence_equals_its_definition(rows, kernel, sharpness, evidence_of):
    """The evidence is Psi minus half the log determinant of the explicit nK x nK matrices."""
    X, mask = rows
    mask = evidence_of(mask)
    prior, _ = grams(kernel, X)
    mode = find_mode(prior, mask, sharpness)
    blocks = [prior.of_class(k) for k in range(4)]
    assert log_evidence(prior, mode) == pytest.approx(oracle.evidence(blocks, mask, sharpness, mode.coefficients))


@evidences
@pytest.mark.parametrize("sharpness", SOME_SHARPNESSES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gradient_is_the_derivative_of_the_evidence(rows, kernel, sharpness, evidence_of):
    """The gradient equals central differences, with each mode computed again in the same basin."""
    X, mask = rows
    mask = evidence_of(mask)

    def evaluate(theta, initial=None):
        prior, gradients = grams(with_theta(kernel, theta), X)
        mode = find_mode(prior, mask, sharpness, initial=initial, tol=1e-12)
        factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
        return log_evidence(prior, mode, factors), prior, mode, factors, gradients

    theta = np.concatenate([part.theta for part in kernel]) if isinstance(kernel, list) else kernel.theta
    _, prior, mode, factors, gradients = evaluate(theta)
    numerical = [
        (evaluate(theta + step, mode.coefficients)[0] - evaluate(theta - step, mode.coefficients)[0]) / 2e-4
        for step in 1e-4 * np.eye(len(theta))
    ]
    gradient = evidence_gradient(prior, mode, factors, gradients)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-7 * np.abs(numerical).max())


def test_underflowing_probabilities_keep_the_gradient_finite(rows):
    """Probabilities that underflow to 0 do not contribute to the evidence or its gradient."""
    X, _ = rows
    mask = np.eye(4, dtype=bool)[np.arange(len(X)) % 2]
    prior, gradients = grams(ConstantKernel(1e8, "fixed") * RBF(0.01) + WhiteKernel(1e8), X)
    mode = find_mode(prior, mask, 1.0, initial=np.where(mask, 1e-5, -1e-5))
    mode = find_mode(prior, mask, 1.0, initial=mode.coefficients)
    factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
    assert np.isfinite(log_evidence(prior, mode, factors))
    assert np.isfinite(evidence_gradient(prior, mode, factors, gradients)).all()


def value(kernel, rows, sharpness):
    prior, _ = grams(kernel, rows[0])
    return log_evidence(prior, find_mode(prior, rows[1], sharpness, tol=1e-8))


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize("kernel", [2.0 * RBF(1.5), [RBF(1.0 + k) for k in range(4)]], ids=["shared", "one per class"])
def test_search_increases_the_evidence_that_it_reports(rows, kernel, sharpness):
    """The evidence increases, is that of the returned kernel and mode, and the given kernel does not change."""
    before = repr(kernel)
    result = search_hyperparameters(*rows, kernel, sharpness)
    assert result.evidence > value(kernel, rows, sharpness)
    prior, _ = grams(result.kernel, rows[0])
    mode = find_mode(prior, rows[1], sharpness, initial=result.coefficients, tol=1e-8)
    assert log_evidence(prior, mode) == pytest.approx(result.evidence)
    assert repr(kernel) == before
    assert isinstance(result.kernel, list) == isinstance(kernel, list)


def test_a_search_from_a_sample_reaches_the_same_maximum(monkeypatch):
    """On exact labels, a search that starts at the optimum of a sample reaches the maximum of a search of all rows."""
    X, mask = table(150, d=3, K=4)
    mask = np.eye(4, dtype=bool)[mask.argmax(axis=1)]
    kernel = 1.0 * RBF(1.0, (1e-2, 1e2))
    plain = search_hyperparameters(X, mask, kernel, 1.0)
    monkeypatch.setattr(hyperparameters, "MIN_ROWS_OF_SAMPLE", 100)
    sampled = search_hyperparameters(X, mask, kernel, 1.0)
    assert sampled.evidence > value(kernel, (X, mask), 1.0)
    assert sampled.evidence == pytest.approx(plain.evidence, rel=1e-6)


def test_restarts_never_decrease_the_evidence(rows):
    """Restarts add evaluations to those of the first start, and equal generators give equal results."""
    kernel = 1.0 * RBF(1.0, (1e-2, 1e2))
    single = search_hyperparameters(*rows, kernel, 1.0)
    several = [search_hyperparameters(*rows, kernel, 1.0, n_restarts=2, rng=np.random.default_rng(0)) for _ in range(2)]
    assert several[0].evidence >= single.evidence
    assert several[0].n_evaluations > single.n_evaluations
    assert several[0].kernel == several[1].kernel


def test_a_custom_optimizer_minimizes_the_negative_evidence(rows):
    """A custom optimizer receives the start, the bounds and the gradient; its best evaluation is returned."""
    kernel, calls = 2.0 * RBF(1.5), []

    def optimizer(objective, initial_theta, bounds):
        loss, gradient = objective(initial_theta)
        calls.append((loss, objective(initial_theta, eval_gradient=False), initial_theta, bounds))
        step = initial_theta - 0.1 * gradient / np.abs(gradient).max()
        calls.append(objective(step))
        return np.array([9.0, -9.0]), 0.0

    result = search_hyperparameters(*rows, kernel, 2.0, optimizer=optimizer)
    loss, again, theta, bounds = calls[0]
    assert loss == pytest.approx(-value(kernel, rows, 2.0))
    assert again == pytest.approx(loss)
    np.testing.assert_array_equal(theta, kernel.theta)
    np.testing.assert_array_equal(bounds, kernel.bounds)
    assert result.evidence == pytest.approx(-calls[1][0])
    assert result.evidence > -loss


class Wide(RBF):
    """Kernel that is NaN if its length is above 2."""

    def __call__(self, X, Y=None, eval_gradient=False):
        values = super().__call__(X, Y, eval_gradient)
        if self.length_scale <= 2:
            return values
        return (values[0] * np.nan, values[1]) if eval_gradient else values * np.nan


def test_failed_evaluations_count_as_the_worst(rows):
    """An infinite kernel does not stop the search; if every evaluation fails, the evidence is -inf."""
    result = search_hyperparameters(*rows, 1.0 * Wide(0.3), 1.0)
    assert result.evidence > value(1.0 * RBF(0.3), rows, 1.0) + 1
    failed = search_hyperparameters(*rows, 1.0 * Wide(3.0), 1.0)
    assert failed.evidence == -np.inf
    assert failed.coefficients is None
    np.testing.assert_allclose(failed.kernel.theta, (1.0 * Wide(3.0)).theta)


def test_fixed_hyperparameters_return_the_kernel(rows):
    """Without free hyperparameters the search has one evaluation."""
    kernel = ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed")
    result = search_hyperparameters(*rows, kernel, 1.0, n_restarts=3)
    assert result.kernel == kernel
    assert result.evidence == pytest.approx(value(kernel, rows, 1.0))
    assert result.n_evaluations == 1


class NoGradient(RBF):
    """User-defined kernel without derivatives."""

    def __call__(self, X, Y=None):
        return super().__call__(X, Y)


def test_invalid_searches_raise(rows):
    """Unknown optimizers, restarts within infinite bounds, and kernels without derivatives raise errors."""
    with pytest.raises(InputError, match=r"`optimizer` must be .*'newton'"):
        search_hyperparameters(*rows, RBF(), 1.0, optimizer="newton")
    with pytest.raises(InputError, match="within the kernel's bounds"):
        search_hyperparameters(*rows, RBF(1.0, (1e-5, np.inf)), 1.0, n_restarts=1)
    with pytest.raises(InputError, match="does not provide derivatives"):
        search_hyperparameters(*rows, NoGradient(), 1.0)


# -- Predictive covariances, leave-one-out probabilities and the temperature ------------------------------------------


FIXED = {"optimizer": None, "random_state": 0}


def fits_without_each_row(X, mask, **options):
    """Return the latents of each row from a fit without it."""
    models = [PLGP(**options, **FIXED).fit(np.delete(X, i, 0), np.delete(mask, i, 0)) for i in range(len(X))]
    moments = [model.latent_mean_and_cov(X[[i]]) for i, model in enumerate(models)]
    return np.concatenate([mean for mean, _ in moments]), np.concatenate([cov for _, cov in moments])


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_loo_latents_are_near_fits_without_the_row(approximation):
    """The error, due to the change of the other rows' mode, is small compared with the effect on the row itself."""
    X, _ = table(24, K=3)
    mask = np.eye(3, dtype=bool)[np.arange(24) % 3]
    options = {"kernel": 0.5 * RBF(2.0), "approximation": approximation}
    model = PLGP(**options, **FIXED).fit(X, mask)
    moments = list(model._posterior.loo_latents(model._covariance()))
    means, covariances = (np.concatenate(values) for values in zip(*moments, strict=True))
    exact_means, exact_covariances = fits_without_each_row(X, mask, **options)
    with_it = model.latent_mean_and_cov(X)
    for approximate, exact, before in zip((means, covariances), (exact_means, exact_covariances), with_it, strict=True):
        assert np.abs(approximate - exact).max() < 0.15 * np.abs(exact - before).max()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (2.0 * RBF(1.0) + WhiteKernel(3.0), {}),
        (10.0 * RBF(1.0), {"approximation": "nystroem", "n_components": 20}),
        ([RBF(1.0), RBF(2.0), 3.0 * RBF(1.0)], {}),
    ],
)
def test_loo_covariances_are_positive_definite(kernel, options):
    """Covariances include the noise of `fit` and the residual variance of landmarks; no eigenvalue is negative."""
    X, _ = table(120, K=3)
    model = PLGP(kernel, **options, **FIXED).fit(X, np.eye(3, dtype=bool)[np.arange(120) % 3])
    for _, covariances in model._posterior.loo_latents(model._covariance()):
        assert np.linalg.eigvalsh(covariances).min() > 0
    proba = model._expected_softmax(model._posterior.loo_latents(model._covariance()))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_cavity_of_a_gaussian_likelihood_is_exact():
    """Adding the precision and the gradient of the likelihood gives the posterior again."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 4, 4))
    covariances, means = 0.2 * root @ root.mT, rng.normal(size=(6, 4))
    proba = rng.dirichlet(np.ones(4), 6)
    gradient = np.eye(4)[:1] - proba
    m, V = loo_latents(means, covariances, proba, gradient)
    W = np.eye(4) * proba[:, None] - proba[:, :, None] * proba[:, None, :]
    np.testing.assert_allclose(np.linalg.inv(np.linalg.inv(V) + W), covariances, atol=1e-10)
    np.testing.assert_allclose(m + (V @ gradient[:, :, None])[:, :, 0], means, atol=1e-10)


def test_the_temperature_inverts_an_applied_one():
    """The temperature of calibrated probabilities is 1, divided by an applied one, which keeps the order of classes."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(5), 4000)
    label = (proba.cumsum(axis=1) < rng.uniform(size=(4000, 1))).sum(axis=1)
    mask = np.eye(5, dtype=bool)[label]
    assert fit_temperature(proba, mask) == pytest.approx(1.0, abs=0.1)
    flat = apply_temperature(proba, 3.0)
    assert fit_temperature(flat, mask) == pytest.approx(fit_temperature(proba, mask) / 3.0, rel=1e-3)
    np.testing.assert_array_equal(flat.argmax(axis=1), proba.argmax(axis=1))
    np.testing.assert_allclose(flat.sum(axis=1), 1.0)


def test_probabilities_of_0():
    """Probabilities of 0 stay 0 at any temperature."""
    proba = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(apply_temperature(proba, 0.5), proba)
    assert np.isfinite(fit_temperature(proba, np.array([[True, False], [True, False]])))


def test_models_with_fitted_temperature():
    """The temperature is that of the sets, does not change `predict`, and is computed again after another `fit`."""
    X, mask = table(80)
    reference, model = (PLGP(temperature=temperature, **FIXED).fit(X, mask) for temperature in (1.0, "loo"))
    np.testing.assert_array_equal(reference.predict(X), model.predict(X))
    assert reference.temperature_ == 1.0
    np.testing.assert_allclose(
        model.predict_proba(X), apply_temperature(reference.predict_proba(X), model.temperature_), atol=1e-12
    )
    first = model.temperature_
    assert first != 1.0
    assert model.fit(X[:40], mask[:40]).temperature_ != first


def test_features_give_the_covariances_of_their_kernel():
    """The weight space gives the same covariances, plus the variance that the features do not explain."""
    X, mask = table(200, K=3)
    labeled = ~mask.all(axis=1)
    features = np.tanh(X[labeled] @ np.random.default_rng(0).normal(size=(4, 7)))
    further = np.tanh(np.random.default_rng(1).normal(size=(20, 7)))
    exact, by_features = GramPrior(features @ features.T), FeaturePrior(features)
    proba = find_mode(by_features, mask[labeled], np.inf).derivatives.proba
    prior_variances = (further**2).sum(axis=1)
    reference = CholeskyFactors.from_proba(exact, proba).covariances(further @ features.T, prior_variances)
    by_weights = WeightCovariance.from_features([features] * 3, proba)
    np.testing.assert_allclose(by_weights.covariances(further, prior_variances), reference, atol=1e-9)
    more = by_weights.covariances(further, prior_variances + 2.0) - reference
    np.testing.assert_allclose(more, np.broadcast_to(2.0 * np.eye(3), more.shape), atol=1e-9)


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


# -- Other array namespaces -------------------------------------------------------------------------------------------


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
    """F, A and Psi equal those of NumPy, with one kernel, with one per class, and with features."""
    K, mask = problem("rbf", variance=2.0)
    mask = evidence_of(mask)
    priors = [(GramPrior, K), (GramPrior, np.stack([K, 2.0 * K, K**2, np.eye(40)]))]
    priors += [(FeaturePrior, table(40)[0])] * (solver is find_mode)
    for prior, values in priors:
        expected = solver(prior(values), mask, sharpness, tol=1e-10)
        mode = solver(prior(form(values)), form(mask), sharpness, tol=1e-10)
        assert mode.converged
        same(mode.latents, expected.latents, form, atol=1e-9)
        same(mode.coefficients, expected.coefficients, form, atol=1e-9)
        same(mode.derivatives.gradient, expected.derivatives.gradient, form, atol=1e-9)
        np.testing.assert_allclose(mode.objective_path[-1], expected.objective_path[-1], rtol=1e-9)
