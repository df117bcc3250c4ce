"""Evidence of Gaussian processes on candidate sets: its definition, its gradient, and its optimization."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from oneof.errors import InputError
from oneof.solvers.laplace import hyperparameters
from oneof.solvers.laplace.covariance import CholeskyFactors
from oneof.solvers.laplace.hyperparameters import evidence_gradient, log_evidence, search_hyperparameters
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior
from tests.estimators.panel import table
from tests.oracles import laplace as oracle
from tests.weights import evidences

SHARPNESSES = [1.0, 2.0, np.inf]
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
@pytest.mark.parametrize("sharpness", SHARPNESSES)
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
@pytest.mark.parametrize("sharpness", SHARPNESSES)
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
