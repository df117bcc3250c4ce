"""The evidence of Gaussian processes on candidate sets: by its definition; its gradient by differences; the search."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from oneof.errors import InputError
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors
from oneof.solvers.laplace.evidence import evidence, evidence_gradient
from oneof.solvers.laplace.hyperparameters import search_hyperparameters
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior
from tests.estimators.panel import table
from tests.oracles import laplace_evidence as oracle

SHARPNESSES = [1.0, 2.0, np.inf]
KERNELS = {
    "RBF": 2.0 * RBF(1.5),
    "RBF with a width a feature": 1.5 * RBF([1.0, 2.0, 3.0]),
    "of several parts": 1.0 * DotProduct(1.0) + 2.0 * RBF(1.0) + WhiteKernel(0.1),
    "of low rank": 0.5 * DotProduct(1.0),
    "one a class": [(k + 1.0) * RBF(1.0 + k) + WhiteKernel(0.2) for k in range(4)],
}


@pytest.fixture(scope="module")
def rows():
    """Return some 35 rows of 4 classes, exact and partial."""
    X, mask = table(40, d=3, K=4)
    told = ~mask.all(axis=1)
    return X[told], mask[told]


def with_theta(kernel, theta):
    if not isinstance(kernel, list):
        return kernel.clone_with_theta(theta)
    return [part.clone_with_theta(own) for part, own in zip(kernel, np.split(theta, len(kernel)), strict=True)]


def grams(kernel, X):
    """Return the prior and the derivatives of its Gram matrices."""
    if not isinstance(kernel, list):
        gram, gradients = kernel(X, eval_gradient=True)
        return GramPrior.from_gram(gram), gradients
    pairs = [part(X, eval_gradient=True) for part in kernel]
    return GramPrior.from_gram(np.stack([gram for gram, _ in pairs])), [gradients for _, gradients in pairs]


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_evidence_is_that_of_the_definition(rows, kernel, sharpness):
    """Psi less half the log determinant, with the nK x nK matrices written out, is the evidence."""
    X, mask = rows
    prior, _ = grams(kernel, X)
    mode = find_mode(prior, mask, sharpness)
    blocks = [prior.of_class(k) for k in range(4)]
    assert evidence(prior, mode) == pytest.approx(oracle.evidence(blocks, mask, sharpness, mode.coefficients))


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gradient_is_the_derivative_of_the_evidence(rows, kernel, sharpness):
    """It is what central differences say, where each mode is found anew from the same basin."""
    X, mask = rows

    def evaluate(theta, initial=None):
        prior, gradients = grams(with_theta(kernel, theta), X)
        mode = find_mode(prior, mask, sharpness, initial=initial, tol=1e-12)
        factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
        return evidence(prior, mode, factors), prior, mode, factors, gradients

    theta = np.concatenate([part.theta for part in kernel]) if isinstance(kernel, list) else kernel.theta
    _, prior, mode, factors, gradients = evaluate(theta)
    numerical = [
        (evaluate(theta + step, mode.coefficients)[0] - evaluate(theta - step, mode.coefficients)[0]) / 2e-4
        for step in 1e-4 * np.eye(len(theta))
    ]
    gradient = evidence_gradient(prior, mode, factors, gradients)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-7 * np.abs(numerical).max())


def test_probabilities_that_vanish_leave_the_gradient_finite(rows):
    """Where latents are so far apart that probabilities underflow to 0, those add nothing to evidence or gradient."""
    X, _ = rows
    mask = np.eye(4, dtype=bool)[np.arange(len(X)) % 2]
    prior, gradients = grams(ConstantKernel(1e8, "fixed") * RBF(0.01) + WhiteKernel(1e8), X)
    mode = find_mode(prior, mask, 1.0, initial=np.where(mask, 1e-5, -1e-5))
    mode = find_mode(prior, mask, 1.0, initial=mode.coefficients)
    factors = CholeskyFactors.from_proba(prior, mode.derivatives.proba)
    assert np.isfinite(evidence(prior, mode, factors))
    assert np.isfinite(evidence_gradient(prior, mode, factors, gradients)).all()


def value(kernel, rows, sharpness):
    prior, _ = grams(kernel, rows[0])
    return evidence(prior, find_mode(prior, rows[1], sharpness, tol=1e-8))


@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize("kernel", [2.0 * RBF(1.5), [RBF(1.0 + k) for k in range(4)]], ids=["shared", "one a class"])
def test_the_search_ends_higher_than_its_start_and_tells_the_truth(rows, kernel, sharpness):
    """The evidence rises, is that of the kernel and the mode returned, and the kernel given stays as it was."""
    before = repr(kernel)
    found = search_hyperparameters(*rows, kernel, sharpness)
    assert found.evidence > value(kernel, rows, sharpness)
    prior, _ = grams(found.kernel, rows[0])
    mode = find_mode(prior, rows[1], sharpness, initial=found.coefficients, tol=1e-8)
    assert evidence(prior, mode) == pytest.approx(found.evidence)
    assert repr(kernel) == before
    assert isinstance(found.kernel, list) == isinstance(kernel, list)


def test_further_starts_never_end_lower(rows):
    """They add tries to those from the first start, and the same Generator draws the same."""
    kernel = 1.0 * RBF(1.0, (1e-2, 1e2))
    one = search_hyperparameters(*rows, kernel, 1.0)
    several = [search_hyperparameters(*rows, kernel, 1.0, n_restarts=2, rng=np.random.default_rng(0)) for _ in range(2)]
    assert several[0].evidence >= one.evidence
    assert several[0].n_evaluations > one.n_evaluations
    assert several[0].kernel == several[1].kernel


def test_an_optimizer_of_ones_own_minimizes_the_evidence_with_a_minus(rows):
    """It sees the start, the bounds and the gradient; of all that it tries the best is kept, whatever it returns."""
    kernel, seen = 2.0 * RBF(1.5), []

    def optimizer(objective, initial_theta, bounds):
        minus, slope = objective(initial_theta)
        seen.append((minus, objective(initial_theta, eval_gradient=False), initial_theta, bounds))
        step = initial_theta - 0.1 * slope / np.abs(slope).max()
        seen.append(objective(step))
        return np.array([9.0, -9.0]), 0.0

    found = search_hyperparameters(*rows, kernel, 2.0, optimizer=optimizer)
    minus, again, theta, bounds = seen[0]
    assert minus == pytest.approx(-value(kernel, rows, 2.0))
    assert again == pytest.approx(minus)
    np.testing.assert_array_equal(theta, kernel.theta)
    np.testing.assert_array_equal(bounds, kernel.bounds)
    assert found.evidence == pytest.approx(-seen[1][0])
    assert found.evidence > -minus


class Wide(RBF):
    """A kernel that is not finite where it is wider than 2."""

    def __call__(self, X, Y=None, eval_gradient=False):
        values = super().__call__(X, Y, eval_gradient)
        if self.length_scale <= 2:
            return values
        return (values[0] * np.nan, values[1]) if eval_gradient else values * np.nan


def test_tries_that_fail_count_as_the_worst(rows):
    """A kernel that is not finite ends neither the search nor its rise; where every try fails, it says so."""
    found = search_hyperparameters(*rows, 1.0 * Wide(0.3), 1.0)
    assert found.evidence > value(1.0 * RBF(0.3), rows, 1.0) + 1
    failed = search_hyperparameters(*rows, 1.0 * Wide(3.0), 1.0)
    assert failed.evidence == -np.inf
    assert failed.coefficients is None
    np.testing.assert_allclose(failed.kernel.theta, (1.0 * Wide(3.0)).theta)


def test_nothing_to_search_returns_the_kernel(rows):
    """Without free hyper-parameters, the evidence of the kernel is all there is."""
    kernel = ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed")
    found = search_hyperparameters(*rows, kernel, 1.0, n_restarts=3)
    assert found.kernel == kernel
    assert found.evidence == pytest.approx(value(kernel, rows, 1.0))
    assert found.n_evaluations == 1


class Silent(RBF):
    """A kernel of one's own, that nobody taught its derivatives."""

    def __call__(self, X, Y=None):
        return super().__call__(X, Y)


def test_searches_that_cannot_be_are_refused(rows):
    """Unknown optimizers, starts drawn from bounds without end, and kernels without derivatives."""
    with pytest.raises(InputError, match=r"`optimizer` must be .*'newton'"):
        search_hyperparameters(*rows, RBF(), 1.0, optimizer="newton")
    with pytest.raises(InputError, match="within the kernel's bounds"):
        search_hyperparameters(*rows, RBF(1.0, (1e-5, np.inf)), 1.0, n_restarts=1)
    with pytest.raises(InputError, match="does not provide derivatives"):
        search_hyperparameters(*rows, Silent(), 1.0)


def test_a_matrix_that_is_no_covariance_has_no_mode(rows):
    """Squares below 0, which rounding makes of kernels that are nearly singular, end the ascent without an error."""
    _, mask = rows
    assert not find_mode(GramPrior.from_gram(-100.0 * np.eye(len(mask))), mask, 1.0, max_iter=3).converged
