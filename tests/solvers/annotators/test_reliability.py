"""Reliability of answers and distances of class means: equality with literal oracles, and intervals."""

import numpy as np
import pytest
from scipy.stats import beta

from oneof.candidates import CandidateSets
from oneof.solvers.annotators.dawid_skene import AnswerColumns
from oneof.solvers.annotators.reliability import answer_likelihoods, estimate_reliability
from oneof.solvers.annotators.temper import mean_distances
from tests.oracles import reliability as oracle


def columns_of(answers, n_rows, n_groups, n_classes, evidence=None):
    sets = np.zeros((len(answers), n_classes), dtype=bool)
    for line, (_, _, members) in zip(sets, answers):
        line[list(members)] = True
    distinct, code = np.unique(sets, axis=0, return_inverse=True)
    row, group = (np.array([one[j] for one in answers], dtype=np.int64) for j in (0, 1))
    known = np.ones((n_rows, n_classes)) if evidence is None else evidence
    return AnswerColumns.from_answers(row, group, code.ravel(), distinct, n_groups, known)


def simulate(rng, q, *, n_rows, n_classes, per_row=2, sizes=(1, 1, 2)):
    """Return the true classes, and answers of random groups with random sizes."""
    truth, answers = rng.integers(n_classes, size=n_rows), []
    for row in range(n_rows):
        for group in rng.choice(len(q), per_row, replace=False).tolist():
            size = rng.choice(sizes)
            if rng.random() < q[group]:
                others = rng.choice(np.delete(np.arange(n_classes), truth[row]), size - 1, replace=False)
                members = {int(truth[row]), *others.tolist()}
            else:
                members = set(rng.choice(n_classes, size, replace=False).tolist())
            answers.append((row, group, members))
    return truth, answers


@pytest.mark.parametrize("q", [1e-6, 0.3, 0.95])
@pytest.mark.parametrize("members", [{0}, {1, 3}, {0, 2, 3, 4}])
def test_the_likelihood_is_that_of_sets_drawn_literally(q, members):
    """The weights are proportional to p(A | k), and equal those of `soften` with 1 - q - (1 - q) |A| / K."""
    K = 5
    sets = np.isin(np.arange(K), list(members))[None]
    weights = answer_likelihoods(sets, np.array([q]))[0]
    expected = np.array([oracle.answer_probability(members, k, K, q) for k in range(K)])
    np.testing.assert_allclose(weights / weights.max(), expected / expected.max(), rtol=1e-12)
    softened = CandidateSets(sets, np.arange(K)).soften((1 - q) * (1 - len(members) / K))
    np.testing.assert_allclose(softened.weights[0], expected / expected.max(), rtol=1e-9)


def test_the_maximum_and_its_intervals_equal_the_oracle():
    """EM ends at the maximum of the posterior, and the intervals are those of its numerical second derivatives."""
    rng = np.random.default_rng(0)
    truth, answers = simulate(rng, [0.9, 0.6, 0.3], n_rows=14, n_classes=4)
    known = {0: int(truth[0]), 5: int(truth[5])}
    answers += [(14, 0, {1}), (14, 0, {1}), (14, 0, {2})]  # several answers of one group
    mean, strength = [0.8, 0.7, 0.5], [4.0, 5.0, 3.0]
    expected, deviation = oracle.reliability(answers, known, 4, mean, strength)
    evidence = np.ones((15, 4))
    for row, k in known.items():
        evidence[row] = np.arange(4) == k
    columns = columns_of(answers, 15, 3, 4, evidence)
    solution = estimate_reliability(columns, np.array(mean), np.array(strength), tol=1e-10)
    np.testing.assert_allclose(solution.reliability, expected, atol=1e-5)
    size = 1 / (expected * (1 - expected) * deviation**2) - 1
    low = beta.ppf(0.05, size * expected, size * (1 - expected))
    np.testing.assert_allclose(solution.interval[:, 0], low, atol=1e-3)


def test_a_single_answer_to_a_row_has_no_information():
    """Rows with one answer leave the estimates as they are."""
    rng = np.random.default_rng(1)
    _, answers = simulate(rng, [0.9, 0.5], n_rows=30, n_classes=3)
    mean, strength = np.array([0.8, 0.5]), np.array([5.0, 5.0])
    before = estimate_reliability(columns_of(answers, 40, 2, 3), mean, strength)
    more = [*answers, *((row, 0, {row % 3}) for row in range(30, 40))]
    after = estimate_reliability(columns_of(more, 40, 2, 3), mean, strength)
    np.testing.assert_allclose(before.reliability, after.reliability, atol=1e-12)
    np.testing.assert_allclose(before.interval, after.interval, atol=1e-12)
    assert np.array_equal(before.n_informative, after.n_informative)


def test_no_answers_have_the_prior():
    """Without answers the estimate is the prior mean, and its interval that of the prior."""
    solution = estimate_reliability(columns_of([], 0, 2, 3), np.array([0.8, 0.5]), np.array([9.0, 4.0]))
    assert solution.reliability.tolist() == [0.8, 0.5]
    np.testing.assert_allclose(solution.interval[1], beta.ppf([0.05, 0.95], 1.5, 1.5), atol=1e-9)


def test_each_mean_is_that_of_the_other_rows_and_one_correct_row():
    """The closed form is equal to a loop that leaves out each row."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(12, 3)), rng.dirichlet(np.ones(3), size=12)
    labels[3] = 0.0
    squares = np.empty((12, 3))
    for i in range(12):
        for k in range(3):
            weights = np.append(np.delete(labels[:, k], i), 1.0)
            rows = np.vstack([np.delete(scores, i, axis=0), np.eye(3)[k]])
            squares[i, k] = ((scores[i] - weights @ rows / weights.sum()) ** 2).sum()
    variance = (labels * squares).sum() / (labels.sum() * 2)
    np.testing.assert_allclose(mean_distances(scores, labels), -0.5 * squares / variance, atol=1e-10)


def test_a_class_without_rows_is_finite():
    """A class that no label has is the class of a row with the score 1, and equal scores give finite distances."""
    labels = np.eye(3)[[0, 0, 1]]
    distances = mean_distances(np.eye(3)[[0, 2, 1]], labels)
    assert distances[1].argmax() == 2
    assert np.isfinite(mean_distances(np.zeros((3, 3)), labels)).all()
    assert np.isfinite(mean_distances(np.ones((2, 1)), np.ones((2, 1)))).all()
