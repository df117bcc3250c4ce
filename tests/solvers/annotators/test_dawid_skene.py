"""EM of the annotators against literal loops, crowd-kit, and the laws of the model."""

import json

import numpy as np
import pytest

from oneof.likelihoods import log_likelihoods
from oneof.solvers.annotators.accuracy import answer_information, estimate_accuracies
from oneof.solvers.annotators.dawid_skene import AnswerColumns, solve_annotators, vote_shares
from oneof.solvers.annotators.temper import MAX_POWER, MIN_POWER, answer_power, is_informative, temper
from tests.fixtures.write_annotators import FILE
from tests.oracles import annotators as oracle

PEERS = json.loads(FILE.read_text(encoding="utf-8"))
TABLE = np.array(PEERS["answers"])


def columns_of(table, n_classes):
    row, source = np.nonzero(table >= 0)
    sets = np.eye(n_classes, dtype=bool)
    return AnswerColumns.from_answers(
        row, source, table[row, source], sets, table.shape[1], np.ones((len(table), n_classes))
    )


@pytest.fixture
def columns():
    return columns_of(TABLE, 3)


def all_confusion(columns):
    return np.ones(len(columns.source), dtype=bool)


def solved(columns, *, by_confusion=True, **options):
    """Return the solution from the shares of votes, with confusion matrices or coins, after the given iterations."""
    uses = np.full(len(columns.source), by_confusion)
    return solve_annotators(columns, vote_shares(columns), uses_confusion=uses, tol=0.0, **options)


def set_answers(rng, n=25, n_sources=4, n_classes=4):
    """Return answers of random sets as triples and as columns."""
    sets = np.array([[k >> c & 1 for c in range(n_classes)] for k in range(1, 2**n_classes - 1)], dtype=bool)
    row, source = np.nonzero(rng.random((n, n_sources)) < 0.7)
    answer = rng.integers(len(sets), size=len(row))
    triples = [(i, j, set(np.flatnonzero(sets[a]).tolist())) for i, j, a in zip(row, source, answer)]
    return triples, AnswerColumns.from_answers(row, source, answer, sets, n_sources, np.ones((n, n_classes)))


def test_without_pooling_it_is_the_model_of_crowd_kit(columns):
    """Without pooling, the posterior is that of Crowd-Kit."""
    solution = solved(columns, strength=0.0, max_iter=PEERS["n_iter"])
    np.testing.assert_allclose(solution.posterior, PEERS["dawid_skene"], atol=1e-6)


@pytest.mark.parametrize("strength", [0.0, 3.0])
@pytest.mark.parametrize("prior", [None, [0.5, 0.3, 0.2]])
def test_confusion_matrices_equal_the_oracle(columns, strength, prior):
    """Posteriors of confusion matrices equal loops over answers, with and without pooling and a class prior."""
    row, source = np.nonzero(TABLE >= 0)
    options = {"strength": strength, "prior": None if prior is None else np.array(prior)}
    answers = list(zip(row, source, TABLE[row, source]))
    expected = oracle.dawid_skene(answers, 40, 6, 3, vote_shares(columns), n_iter=4, **options)
    solution = solved(columns, max_iter=4, **options)
    np.testing.assert_allclose(solution.posterior, expected, atol=1e-9)


def test_coins_of_set_answers_equal_the_oracle():
    """Posteriors and accuracies of answers that are sets equal loops over answers."""
    triples, columns = set_answers(np.random.default_rng(0))
    expected, accuracy = oracle.one_coin(triples, 4, vote_shares(columns), n_iter=5, strength=2.0)
    solution = solved(columns, by_confusion=False, strength=2.0, prior=np.full(4, 0.25), max_iter=5)
    np.testing.assert_allclose(solution.posterior, expected, atol=1e-9)
    np.testing.assert_allclose(solution.model.coin, accuracy, atol=1e-9)


@pytest.mark.parametrize("has_single", [True, False])
def test_rates_of_votes_equal_the_oracle(has_single):
    """Posteriors of rules that may abstain equal loops over answers, also if all votes are against classes.

    A row without votes, or with a vote against one of three classes alone, has no likelihood.
    """
    rng = np.random.default_rng(1)
    sets = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=bool)
    sets = sets if has_single else ~sets[:3]
    row, source = np.nonzero(rng.random((30, 5)) < 0.3)
    answer = np.where(source == 4, rng.integers(len(sets), size=len(row)), source % len(sets))
    triples = [(i, j, set(np.flatnonzero(sets[a]).tolist())) for i, j, a in zip(row, source, answer)]
    columns = AnswerColumns.from_answers(row, source, answer, sets, 5, np.ones((31, 3)))
    expected = oracle.rules(triples, vote_shares(columns), n_iter=4)
    solution = solved(columns, by_confusion=False, are_rules=True, prior=np.full(3, 1 / 3), max_iter=4)
    np.testing.assert_allclose(solution.posterior, expected, atol=1e-9)
    votes = [[s for k, _, s in triples if k == i] for i in range(31)]
    has_label = [bool(own) and (min(map(len, own)) == 1 or len(set.intersection(*own)) <= 1) for own in votes]
    np.testing.assert_array_equal(solution.log_likelihood.any(axis=1), has_label)


@pytest.mark.parametrize("n_known", [0, 10, 300])
def test_half_of_the_votes_for_the_most_probable_classes_are_expected_to_be_right(n_known):
    """One wrong rule, whose conflicts are those of chance, does not make labels uniform, unless many are known."""
    rng, names = np.random.default_rng(0), np.array([0, 1, 2, 3, 0])
    truth = rng.integers(4, size=400)
    rates = np.where(truth[:, None] == names, 0.6, 0.05)
    rates[:, 4] = np.where(truth == 0, 0.05, 0.6)
    columns = columns_of(np.where(rng.random((400, 5)) < rates, names, -1), 4)
    columns.evidence[:n_known] = np.eye(4)[truth[:n_known]]
    none = np.zeros(len(columns.source), dtype=bool)
    solution = solve_annotators(columns, uses_confusion=none, are_rules=True, prior=np.full(4, 0.25))
    votes, labels = columns.counts() @ columns.sets, solution.posterior.argmax(axis=1)
    share = (solution.posterior * votes).sum() / votes[np.arange(400), labels].sum()
    assert share > 0.6 if n_known == 300 else share == pytest.approx(0.5, abs=0.01)
    is_new = (votes.sum(axis=1) > 0) & (np.arange(400) >= n_known)
    by_vote = vote_shares(columns).argmax(axis=1)
    assert (labels == truth)[is_new].mean() > (by_vote == truth)[is_new].mean() + 0.2


def test_probabilities_of_all_answers_sum_to_one(columns):
    """Over the labels of an annotator, and over the sets of one size."""
    solution = solve_annotators(columns, vote_shares(columns), uses_confusion=all_confusion(columns))
    np.testing.assert_allclose(solution.model.confusion(columns).sum(axis=2), 1.0, rtol=1e-12)
    sets = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=bool)
    all_pairs = AnswerColumns.from_answers(np.arange(6), np.zeros(6, int), np.arange(6), sets, 1, np.ones((6, 4)))
    coins = solve_annotators(all_pairs, vote_shares(all_pairs), uses_confusion=np.zeros(6, bool))
    np.testing.assert_allclose(np.exp(coins.model.log_likelihoods).sum(axis=0), 1.0, rtol=1e-12)


def test_em_without_priors_increases_the_marginal_likelihood(columns):
    """No iteration decreases it."""
    path = [solved(columns, strength=0.0, max_iter=t).log_marginal for t in range(1, 12)]
    assert (np.diff(path) > -1e-9).all()


def test_without_answers_and_priors_the_classes_are_equally_frequent():
    """No answers determine no frequencies."""
    nothing = columns_of(np.full((4, 2), -1), 3)
    solution = solve_annotators(nothing, uses_confusion=np.zeros(0, bool), strength=0.0)
    np.testing.assert_allclose(solution.prior, 1 / 3)
    np.testing.assert_allclose(solution.posterior, 1 / 3)


def test_accuracies_of_known_labels_are_binomial(columns):
    """If all labels are known, no information is missing: the interval shrinks with the number of answers."""
    y = np.arange(40) % 3
    estimates = estimate_accuracies(columns, np.eye(3)[y], coverage=0.9)
    right = np.array([(TABLE[:, j] == y).sum() for j in range(6)])
    np.testing.assert_array_equal(estimates.n_answers, (TABLE >= 0).sum(axis=0))
    assert (estimates.interval[:, 0] < estimates.accuracy).all()
    assert (estimates.accuracy < estimates.interval[:, 1]).all()
    pooled = (right.sum() + 1) / (estimates.n_answers.sum() + 2)
    fraction = right / estimates.n_answers
    assert ((estimates.accuracy - fraction) * (pooled - fraction) >= 0).all()
    uncertain = estimate_accuracies(columns, vote_shares(columns), coverage=0.9)
    assert np.ptp(uncertain.interval, axis=1).mean() > np.ptp(estimates.interval, axis=1).mean()


def test_answer_information_is_bounded_by_entropy_and_zero_for_guesses():
    """A perfect annotator has the information of the entropy, and one who guesses has none."""
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.ones(3), 5)
    guess = np.tile(rng.dirichlet(np.ones(3)), (3, 1))
    information = answer_information(posterior, np.stack([np.eye(3), guess]))
    np.testing.assert_allclose(information[:, 0], -(posterior * np.log(posterior)).sum(axis=1))
    np.testing.assert_allclose(information[:, 1], 0.0, atol=1e-12)


def test_powers_recover_those_of_distorted_probabilities():
    """Labels are drawn from p; the power of p^c is 1/c, and that of w^2 with calibrated p is about 1/2."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 4000)
    y = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    accuracy = 0.7
    answer = np.where(rng.random(4000) < accuracy, y, rng.integers(3, size=4000))
    right = accuracy + (1 - accuracy) / 3
    w = np.where(np.eye(3, dtype=bool)[answer], 1.0, (1 - right) / 2 / right)
    calibrated, power = temper(4 * np.log(p), w)
    assert power == pytest.approx(0.25, rel=0.15)
    np.testing.assert_allclose(calibrated.sum(axis=1), 1.0)
    z = np.eye(3)[y]
    assert answer_power(1.8 * np.log(w), z) == pytest.approx(1 / 1.8, rel=0.1)
    assert answer_power(0.5 * np.log(w), z) == pytest.approx(1.0, rel=1e-3)
    assert answer_power(np.log(w), np.full((4000, 3), 1 / 3)) == 1.0
    uniform = np.full(3, 1 / 3)
    assert is_informative(p, uniform, w)
    assert not is_informative(p[rng.permutation(4000)], uniform, w)


@pytest.mark.parametrize("seed", [*range(20), 266])
def test_no_other_power_has_a_larger_likelihood(seed):
    """Compared with a fine grid, the likelihood of weighted sets is largest, also if wrong sets give several maxima."""
    rng = np.random.default_rng(seed)
    n, K = rng.integers(5, 60), rng.integers(2, 7)
    truth = rng.integers(0, K, n)
    scores = rng.normal(size=(n, K)) * rng.choice([0.01, 0.1, 0.3, 1, 3]) + np.eye(K)[truth] * rng.choice([0, 0.1, 1])
    evidence = rng.random((n, K)) * (rng.random((n, K)) < 0.6)
    evidence[np.arange(n), truth] = 1.0
    best = max(log_likelihoods(b * scores, evidence).mean() for b in np.geomspace(MIN_POWER, MAX_POWER, 1000))
    assert log_likelihoods(temper(scores, evidence)[1] * scores, evidence).mean() >= best - 1e-5
