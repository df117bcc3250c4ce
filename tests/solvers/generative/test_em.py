"""Tests of EM: iterations equal the oracle, the objective never decreases, and the solution is stationary."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.generative.em import (
    IMPOSSIBLE,
    class_scores,
    e_step,
    initial_responsibilities,
    row_weights,
    solve_em,
)
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES, Gaussian
from oneof.solvers.generative.multinomial import Multinomial
from tests.oracles import generative as oracle
from tests.solvers.generative.problems import clouds, documents
from tests.weights import draw_weights, informative

WEIGHTS = {
    "equal weights": (1.0, 1.0),
    "small weight of unlabeled": (0.2, 0.7),
    "large weight of unlabeled": (3.0, 1.0),
}
weights = pytest.mark.parametrize(("unlabeled_weight", "partial_weight"), WEIGHTS.values(), ids=WEIGHTS)
components = pytest.mark.parametrize("C", [1, 2])
evidences = pytest.mark.parametrize("evidence_of", [np.asarray, draw_weights], ids=["sets", "weights"])
covariance_types = pytest.mark.parametrize("form", COVARIANCE_TYPES)


def row_weight(mask, unlabeled_weight=1.0, partial_weight=1.0, seed=0):
    """Return c for sample weights from 0 to 3."""
    w = np.random.default_rng(seed).integers(0, 4, len(mask)).astype(float)
    w[: mask.shape[1]] = 1.0
    return row_weights(mask, w, unlabeled_weight, partial_weight)


def start(mask, C):
    return initial_responsibilities(mask, C, np.random.default_rng(1))


def as_matrices(parameters):
    """Return covariances as (M, d, d), in the units of X."""
    values = parameters.feature_covariances()
    M, d = parameters.means.shape
    form = parameters.covariances.covariance_type
    if form == "tied":
        return np.array([values] * M)
    if form == "full":
        return values
    return np.array([np.diag(np.broadcast_to(v, d)) for v in values])


@weights
@evidences
def test_row_weights_depend_on_the_sets(unlabeled_weight, partial_weight, evidence_of):
    """Exact rows have their own weight, partial and unlabeled rows their factors, also with two classes."""
    mask = evidence_of(documents()[1])
    w = np.arange(1.0, len(mask) + 1)
    expected = [oracle.row_weight(row, w[i], unlabeled_weight, partial_weight) for i, row in enumerate(mask)]
    np.testing.assert_allclose(row_weights(mask, w, unlabeled_weight, partial_weight), expected)
    two = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(row_weights(two, np.ones(2), 0.25, 0.5), [1.0, 0.25])


@components
@evidences
def test_the_start_is_proportional_to_the_evidence(C, evidence_of):
    """Labeled rows start uniformly or by weight, for any number of components; unlabeled rows have no mass."""
    mask = evidence_of(documents()[1])
    responsibilities = start(mask, C).reshape(len(mask), 3, C).sum(axis=2)
    full = ~informative(mask)
    np.testing.assert_array_equal(responsibilities[full], 0.0)
    np.testing.assert_allclose(responsibilities[~full], (mask / mask.sum(axis=1, keepdims=True))[~full])


@weights
@components
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@evidences
def test_iterations_of_the_multinomial_equal_the_oracle(unlabeled_weight, partial_weight, C, sparse, evidence_of):
    """Start, three iterations and the objective after each agree with loops over entries."""
    X, mask = documents(sparse=sparse, n=25)
    mask = evidence_of(mask)
    rows = X.toarray() if sparse else X
    c = row_weight(mask, unlabeled_weight, partial_weight)
    solution = solve_em(Multinomial(X, 0.7), mask, c, start(mask, C), max_iter=3, tol=1e-300)
    pi, theta = oracle.multinomial_step(rows, c, start(mask, C), 0.7)
    trace = []
    for iteration in range(4):

        def density(x, m, theta=theta):
            return oracle.log_multinomial(x, theta[m])

        trace.append(oracle.log_likelihood(rows, mask, c, pi, density) + 0.7 * theta.sum())
        if iteration < 3:
            pi, theta = oracle.multinomial_step(rows, c, oracle.responsibilities(rows, mask, pi, density), 0.7)
    np.testing.assert_allclose(solution.objective_path, trace, rtol=1e-12)
    np.testing.assert_allclose(solution.parameters, theta, rtol=1e-9)
    np.testing.assert_allclose(np.exp(solution.log_weights), pi, rtol=1e-9)


@weights
@components
@covariance_types
@evidences
def test_iterations_of_the_gaussian_equal_the_oracle(unlabeled_weight, partial_weight, C, form, evidence_of):
    """Start, three iterations and the objective after each agree with loops over rows, in the units of X."""
    X, mask = clouds(n=30)
    mask = evidence_of(mask)
    c = row_weight(mask, unlabeled_weight, partial_weight)
    solution = solve_em(
        Gaussian.from_rows(X, c, covariance_type=form, shrinkage=1.5), mask, c, start(mask, C), max_iter=3, tol=1e-300
    )
    T = oracle.target(X, c, form)
    r = start(mask, C)
    trace = []
    for _ in range(4):
        pi, means, covariances = oracle.gaussian_step(X, c, r, form, 1.5)

        def density(x, m, means=means, covariances=covariances):
            return oracle.log_gaussian(x, means[m], covariances[m])

        trace.append(
            oracle.log_likelihood(X, mask, c, pi, density) + oracle.gaussian_log_prior(covariances, T, form, 1.5)
        )
        r = oracle.responsibilities(X, mask, pi, density)
    np.testing.assert_allclose(solution.objective_path, trace, rtol=1e-10)
    np.testing.assert_allclose(solution.parameters.feature_means(), means, rtol=1e-8)
    np.testing.assert_allclose(as_matrices(solution.parameters), covariances, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["counts", "tfidf", *COVARIANCE_TYPES])
def test_the_objective_never_decreases(seed, kind):
    """Up to rounding l(theta) increases in every iteration, for all weights, priors and numbers of components."""
    rng, K = np.random.default_rng(seed), 2 + seed % 3
    is_text = kind not in COVARIANCE_TYPES
    X, mask = documents(seed, kind=kind, sparse=bool(seed % 2), K=K) if is_text else clouds(seed, K=K)
    c = row_weight(mask, rng.choice([0.01, 1.0, 5.0]), rng.choice([0.1, 1.0, 2.0]), seed)
    if is_text:
        family = Multinomial(X, float(rng.choice([1e-3, 1.0, 10.0])))
    else:
        family = Gaussian.from_rows(X, c, covariance_type=kind, shrinkage=float(rng.choice([1e-2, 1.0, 20.0])))
    trace = solve_em(family, mask, c, start(mask, 1 + seed % 3), max_iter=200, tol=1e-10).objective_path
    assert np.diff(trace).min() >= (-1e-12 if is_text else -1e-11) * np.abs(trace).max()
    assert trace[-1] > trace[0]


def test_long_documents_do_not_underflow():
    """Documents of 10^5 words, with likelihoods below e^-100000, have finite responsibilities."""
    rng = np.random.default_rng(0)
    responsibilities = rng.dirichlet(np.ones(50), 2)
    X = np.array([rng.multinomial(100_000, responsibilities[i % 2]) for i in range(20)], dtype=float)
    mask = np.ones((20, 2), dtype=bool)
    mask[:2] = np.eye(2)
    solution = solve_em(Multinomial(sp.csr_array(X), 1.0), mask, np.ones(20), initial_responsibilities(mask, 1))
    assert solution.joint.max() < -1e5
    assert np.isfinite(solution.objective_path).all()
    responsibilities, evidence = e_step(solution.joint, mask)
    np.testing.assert_allclose(responsibilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(responsibilities.argmax(axis=1), np.arange(20) % 2)
    assert np.isfinite(evidence).all()


@components
@pytest.mark.parametrize("family", ["multinomial", *COVARIANCE_TYPES])
def test_a_class_without_mass_remains_without_mass(family, C):
    """A class without a labeled row has weight 0 and finite parameters, without NaN."""
    X, mask = documents() if family == "multinomial" else clouds()
    mask = np.column_stack([mask, mask.all(axis=1)])
    c = np.ones(len(mask))
    of = (
        Multinomial(X, 1.0)
        if family == "multinomial"
        else Gaussian.from_rows(X, c, covariance_type=family, shrinkage=1.0)
    )
    solution = solve_em(of, mask, c, start(mask, C))
    assert (solution.log_weights[3 * C :] == IMPOSSIBLE).all()
    assert np.isfinite(solution.joint).all()
    assert (class_scores(solution.joint, 4)[:, 3] <= 0.5 * IMPOSSIBLE).all()
    responsibilities, _ = e_step(solution.joint, np.tile([False] * 3 * C + [True] * C, (len(mask), 1)))
    np.testing.assert_allclose(responsibilities.sum(axis=1), 1.0)  # also for a set of this class alone


@covariance_types
def test_classes_do_not_degenerate_to_a_row(form):
    """Variances are at least nu / (N + nu) of the target if a class has one row; without shrinkage it is an error."""
    X = np.array([[0.0, 0.0], [5.0, 1.0], [5.2, 1.3], [4.9, 0.5], [5.1, 2.0]])
    mask = np.array([[True, False], *[[False, True]] * 4])
    c = np.ones(5)
    solution = solve_em(
        Gaussian.from_rows(X, c, covariance_type=form, shrinkage=0.5), mask, c, initial_responsibilities(mask, 1)
    )
    ratio = np.linalg.eigvals(np.linalg.inv(oracle.target(X, c, form)) @ as_matrices(solution.parameters)).real
    assert ratio.min() >= 0.5 / 5.5 - 1e-9
    if form != "tied":
        np.testing.assert_allclose(ratio[0], 0.5 / 1.5)
        with pytest.raises(InputError, match=r"component 0 .* is singular.*Increase `shrinkage`"):
            solve_em(
                Gaussian.from_rows(X, c, covariance_type=form, shrinkage=0.0),
                mask,
                c,
                initial_responsibilities(mask, 1),
            )


@pytest.mark.parametrize("fraction", [0.1, 1.0], ids=["few", "all"])
@pytest.mark.parametrize("kind", ["dense", "sparse", *COVARIANCE_TYPES])
def test_the_total_log_likelihood(kind, fraction):
    """It is the sum of the masses times the log-likelihoods, at any parameters."""
    rng = np.random.default_rng(0)
    X, mass = rng.poisson(0.5, (40, 7)).astype(float), rng.uniform(size=(40, 5)) * (rng.random((40, 5)) < fraction)
    if kind in COVARIANCE_TYPES:
        X[:, 1] = 7.0
        family = Gaussian.from_rows(X, np.ones(40), covariance_type=kind, shrinkage=None)
    else:
        family = Multinomial(X if kind == "dense" else sp.csr_array(X), 0.5)
    parameters = family.maximize(mass)
    expected = (mass * family.log_likelihoods(parameters)).sum()
    assert family.total_log_likelihood(mass, parameters) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("evidence_of", [np.asarray, np.float64], ids=["sets", "weights"])
def test_exact_rows_have_the_objective_of_their_labels(evidence_of):
    """With exact rows l is log p(theta) plus the weighted log-densities of the labels, also with an empty class."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(30, 3)), rng.integers(0, 3, 30), rng.uniform(0.5, 2.0, 30)
    weight[5] = 0.0
    mask = evidence_of(np.eye(4, dtype=bool)[y])
    family = Gaussian.from_rows(X, weight, covariance_type="full", shrinkage=2.0)
    solution = solve_em(family, mask, weight, initial_responsibilities(mask, 1))
    joint = family.log_likelihoods(solution.parameters) + solution.log_weights
    expected = weight @ joint[np.arange(30), y] + family.log_prior(solution.parameters)
    np.testing.assert_allclose(solution.objective_path, expected, rtol=1e-12)
    assert solution.converged
    assert solution.log_weights[3] == IMPOSSIBLE
