"""EM: iterations equal the oracle, the objective never decreases, and the selection of the weight of unlabeled rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.generative.em import (
    IMPOSSIBLE,
    class_scores,
    e_step,
    initial_responsibilities,
    one_standard_error_rule,
    row_weights,
    select_weight,
    solve_em,
)
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES, Gaussian
from oneof.solvers.generative.multinomial import Multinomial
from tests.oracles import generative as oracle
from tests.solvers.generative.problems import clouds, documents
from tests.weights import evidences, informative

WEIGHTS = {
    "equal weights": (1.0, 1.0),
    "small weight of unlabeled": (0.2, 0.7),
    "large weight of unlabeled": (3.0, 1.0),
}
weights = pytest.mark.parametrize(("unlabeled_weight", "partial_weight"), WEIGHTS.values(), ids=WEIGHTS)
components = pytest.mark.parametrize("C", [1, 2])
covariance_types = pytest.mark.parametrize("form", COVARIANCE_TYPES)


def row_weight(mask, unlabeled_weight=1.0, partial_weight=1.0, seed=0):
    """Return c for sample weights from 0 to 3."""
    w = np.random.default_rng(seed).integers(0, 4, len(mask)).astype(float)
    w[: mask.shape[1]] = 1.0
    return row_weights(mask, w, unlabeled_weight, partial_weight)


def start(mask, C):
    return initial_responsibilities(mask, C, np.random.default_rng(1))


def family_of(kind, X, c, strength):
    """Return the family of Gaussian covariances, or of dense or sparse counts, with a prior of some strength."""
    if kind in COVARIANCE_TYPES:
        return Gaussian.from_rows(X, c, covariance_type=kind, shrinkage=strength)
    return Multinomial(sp.csr_array(X) if kind == "sparse" else X, strength)


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
@pytest.mark.parametrize("kind", ["dense", "sparse", *COVARIANCE_TYPES])
@evidences
def test_iterations_equal_the_oracle(unlabeled_weight, partial_weight, C, kind, evidence_of):
    """Start, three iterations and the objective after each agree with the definition, in the units of X."""
    is_text = kind not in COVARIANCE_TYPES
    X, mask = documents(n=25) if is_text else clouds(n=30)
    mask = evidence_of(mask)
    c = row_weight(mask, unlabeled_weight, partial_weight)
    family = family_of(kind, X, c, 0.7)
    solution = solve_em(family, mask, c, start(mask, C), max_iter=3, tol=1e-300)
    r, trace = start(mask, C), []
    for _ in range(4):
        if is_text:
            pi, theta = oracle.multinomial_step(X, c, r, 0.7)
            logs, prior = X @ theta.T, 0.7 * theta.sum()
        else:
            pi, means, covariances = oracle.gaussian_step(X, c, r, kind, 0.7)
            logs = oracle.log_gaussian(X, means, covariances)
            prior = oracle.gaussian_log_prior(covariances, oracle.target(X, c, kind), kind, 0.7)
        r, log_likelihood = oracle.e_step(mask, pi, logs)
        trace.append(c @ log_likelihood + prior)
    np.testing.assert_allclose(solution.objective_path, trace, rtol=1e-10)
    np.testing.assert_allclose(np.exp(solution.log_weights), pi, rtol=1e-9)
    if is_text:
        np.testing.assert_allclose(solution.parameters, theta, rtol=1e-9)
    else:
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
    strength = float(rng.choice([1e-3, 1.0, 10.0] if is_text else [1e-2, 1.0, 20.0]))
    trace = solve_em(
        family_of(kind, X, c, strength), mask, c, start(mask, 1 + seed % 3), max_iter=200, tol=1e-10
    ).objective_path
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
    solution = solve_em(family_of(family, X, c, 1.0), mask, c, start(mask, C))
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
    solution = solve_em(family_of(form, X, c, 0.5), mask, c, initial_responsibilities(mask, 1))
    ratio = np.linalg.eigvals(np.linalg.inv(oracle.target(X, c, form)) @ as_matrices(solution.parameters)).real
    assert ratio.min() >= 0.5 / 5.5 - 1e-9
    if form != "tied":
        np.testing.assert_allclose(ratio[0], 0.5 / 1.5)
        with pytest.raises(InputError, match=r"component 0 .* is singular.*Increase `shrinkage`"):
            solve_em(family_of(form, X, c, 0.0), mask, c, initial_responsibilities(mask, 1))


@pytest.mark.parametrize("fraction", [0.1, 1.0], ids=["few", "all"])
@pytest.mark.parametrize("kind", ["dense", "sparse", *COVARIANCE_TYPES])
def test_the_total_log_likelihood(kind, fraction):
    """It is the sum of the masses times the log-likelihoods, at any parameters."""
    rng = np.random.default_rng(0)
    X, mass = rng.poisson(0.5, (40, 7)).astype(float), rng.uniform(size=(40, 5)) * (rng.random((40, 5)) < fraction)
    X[:, 1] = 7.0  # a constant feature
    family = family_of(kind, X, np.ones(40), None if kind in COVARIANCE_TYPES else 0.5)
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
    family = family_of("full", X, weight, 2.0)
    solution = solve_em(family, mask, weight, initial_responsibilities(mask, 1))
    joint = family.log_likelihoods(solution.parameters) + solution.log_weights
    expected = weight @ joint[np.arange(30), y] + family.log_prior(solution.parameters)
    np.testing.assert_allclose(solution.objective_path, expected, rtol=1e-12)
    assert solution.converged
    assert solution.log_weights[3] == IMPOSSIBLE


# -- Selection of the weight of unlabeled rows ------------------------------------------------------------------------


CHOICES = [0.0, 0.1, 1.0]


def test_ties_go_to_the_smaller_weight():
    """If weights cover the same rows, or none, the smallest is selected."""
    for covered in (np.ones((3, 8), dtype=bool), np.zeros((3, 8), dtype=bool)):
        assert one_standard_error_rule(covered, np.ones(8), CHOICES).weight == 0.0


@pytest.mark.parametrize(("won", "lost", "expected"), [(1, 0, 0.0), (2, 0, 1.0), (3, 1, 0.0), (5, 1, 1.0), (9, 7, 0.0)])
def test_a_larger_weight_must_win_by_a_standard_error(won, lost, expected):
    """The rows won minus the rows lost must exceed the root of their sum."""
    small = np.array([False] * won + [True] * lost + [True] * 10)
    large = np.array([True] * won + [False] * lost + [True] * 10)
    assert one_standard_error_rule(np.array([small, large]), np.ones(len(small)), [0.0, 1.0]).weight == expected
    halves = one_standard_error_rule(
        np.array([small, large]).repeat(2, axis=1), np.full(2 * len(small), 0.5), [0.0, 1.0]
    )
    np.testing.assert_allclose(halves.covering_rates, [small.mean(), large.mean()])


def test_a_weight_of_two_is_the_row_twice():
    """The selection is the same for a weighted and a repeated row."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        covered = rng.random((3, 12)) < [[0.4], [0.5], [0.7]]
        w = rng.integers(1, 4, 12)
        once, repeated = (
            one_standard_error_rule(covered, w, CHOICES),
            one_standard_error_rule(covered.repeat(w, axis=1), np.ones(w.sum()), CHOICES),
        )
        assert once.weight == repeated.weight
        np.testing.assert_allclose(once.covering_rates, repeated.covering_rates)


@pytest.mark.parametrize("outside", [None, 0.0, 0.25], ids=["sets", "weights of 0 and 1", "weights"])
def test_each_labeled_row_is_held_out_once_and_counts_by_the_weight_of_its_prediction(outside):
    """Training weights are 0 only for the fold, and never for unlabeled rows; rates are those of held-out rows."""
    mask = np.ones((20, 3), dtype=bool)
    mask[:12] = np.eye(3, dtype=bool)[np.arange(12) % 3]
    mask[9:12, 0] = True
    evidence = mask if outside is None else np.where(mask, 1.0, outside)
    held_out = []

    def scores(weight, training):
        if weight == 0:
            held_out.append(np.flatnonzero(training == 0))
        return np.eye(3)[np.arange(20) % 3] if weight == 1 else np.tile([1.0, 0.0, 0.0], (20, 1))

    solution = select_weight(scores, evidence, np.ones(20), weights=[0.0, 1.0], n_folds=4)
    np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(12))
    assert [len(rows) for rows in held_out] == [3, 3, 3, 3]
    np.testing.assert_allclose(solution.covering_rates, [evidence[:12, 0].mean(), 1.0])
    assert solution.weight == 1.0


@pytest.mark.parametrize("labeled", [1, 6])
def test_without_a_choice_the_smallest_weight_is_selected(labeled):
    """One labeled row cannot be held out, and without unlabeled rows nothing depends on their weight."""
    mask = np.ones((6, 2), dtype=bool)
    mask[:labeled, 0] = False
    solution = select_weight(lambda *_: pytest.fail("must not be called"), mask, np.ones(6), weights=CHOICES, n_folds=5)
    assert solution.weight == 0.0
    assert np.isnan(solution.covering_rates).all()
