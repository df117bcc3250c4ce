"""The mixture of copies and own answers: literal loops, probabilities that sum to one, and EM."""

from dataclasses import replace

import numpy as np
import pytest

from oneof.solvers.annotators import AnswerColumns, solve_annotators, vote_shares
from oneof.solvers.annotators.copying import CopyMixture, FollowingAnswers


def columns_of(table, n_classes):
    row, source = np.nonzero(table >= 0)
    return AnswerColumns.from_answers(row, source, table[row, source], np.eye(n_classes, dtype=bool), *table.shape)


def copied_table(rng, copied=0.6, n=400, n_classes=3):
    """Return the answers of four sources; the last copies a fraction of the answers of the first one."""
    y = rng.integers(n_classes, size=n)
    table = np.where(rng.random((n, 4)) < 0.7, y[:, None], rng.integers(n_classes, size=(n, 4)))
    copies = rng.random(n) < copied
    table[copies, 3] = table[copies, 0]
    return table


def test_preceding_answers_are_those_of_a_loop():
    """Over random groups and missing answers, f is the fraction of equal answers of preceding sources of the group."""
    rng = np.random.default_rng(0)
    table, group = rng.integers(-1, 3, size=(40, 6)), np.array([0, 1, 0, 1, 1, 5])
    columns = columns_of(table, 3)
    following = FollowingAnswers.from_groups(columns, group)
    found = {
        (int(columns.row[a]), int(columns.answer_source[a])): f
        for a, f in zip(following.answer, following.fraction, strict=True)
    }
    expected = {}
    for i, answers in enumerate(table):
        for j in range(6):
            before = [answers[h] for h in range(j) if group[h] == group[j] and answers[h] >= 0]
            if answers[j] >= 0 and before:
                expected[i, j] = np.mean([answer == answers[j] for answer in before])
    assert found == pytest.approx(expected)


def test_the_answers_of_a_copy_have_probabilities_that_sum_to_one():
    """(1 - c) p(A | k) + c f sums to 1 over the answers A, for each class."""
    total = 0.0
    rates = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])  # p(a | k), by answer and class
    rates /= rates.sum(axis=0)
    for answer in range(3):
        columns = columns_of(np.array([[1, answer]]), 3)
        mixture = CopyMixture(columns, FollowingAnswers.from_groups(columns, np.array([0, 0])))
        mixture.copied[:] = 0.3
        logs = np.log(rates[columns.label])
        total = total + np.exp(logs[1] + mixture.log_ratios(logs)[0])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_em_of_the_mixture_increases_the_likelihood_and_finds_the_fraction():
    """Without pooling, no iteration decreases the likelihood; c is near the fraction of copied answers."""
    table = copied_table(np.random.default_rng(1))
    columns = columns_of(table, 3)
    start, uses = vote_shares(columns), np.ones(len(columns.source), dtype=bool)
    copying = FollowingAnswers.from_groups(columns, np.array([0, 1, 2, 0]))

    def solve(n_iter, strength):
        return solve_annotators(
            columns, start, uses_confusion=uses, strength=strength, copying=copying, max_iter=n_iter, tol=0.0
        )

    path = [solve(t, 0.0).log_marginal for t in range(1, 12)]
    assert (np.diff(path) > -1e-9).all()
    assert solve(300, None).copied[0] == pytest.approx(0.6, abs=0.15)


def test_em_continues_from_its_solution():
    """EM of some steps, continued from its model and c, has the solution of all steps; at the end it stays there."""
    columns = columns_of(copied_table(np.random.default_rng(2)), 3)
    copying = FollowingAnswers.from_groups(columns, np.array([0, 1, 2, 0]))
    given = {"uses_confusion": np.ones(len(columns.source), dtype=bool), "prior": np.full(3, 1 / 3), "strength": 2.0}

    def solve(max_iter, tol=0.0, before=None):
        start = vote_shares(columns) if before is None else before.posterior
        model = None if before is None else before.model
        groups = copying if before is None else replace(copying, copied=before.copied)
        return solve_annotators(
            columns, start, copying=groups, initial_model=model, max_iter=max_iter, tol=tol, **given
        )

    whole, continued = solve(12), solve(5, before=solve(7))
    np.testing.assert_allclose(continued.copied, whole.copied, rtol=1e-10)
    np.testing.assert_allclose(continued.posterior, whole.posterior, atol=1e-10)
    solution = solve(2000, tol=1e-8)
    again = solve(3, before=solution)
    np.testing.assert_allclose(again.copied, solution.copied, atol=1e-5)
    np.testing.assert_allclose(again.posterior, solution.posterior, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_labels_are_those_of_the_powers_of_the_mixture(power):
    """The posterior is that of a loop: the prior times (1 - c) p(A | k) + c f, to the power, for each answer."""
    table, group = copied_table(np.random.default_rng(2), n=60), np.array([0, 1, 2, 0])
    columns, prior = columns_of(table, 3), np.array([0.5, 0.3, 0.2])
    solution = solve_annotators(
        columns, vote_shares(columns), uses_confusion=np.ones(len(columns.source), dtype=bool), prior=prior,
        strength=2.0, copying=FollowingAnswers.from_groups(columns, group), power=power, max_iter=20,
    )  # fmt: skip
    theta, c = solution.model.confusion(columns), solution.copied[0]
    expected = np.tile(prior, (60, 1))
    for i, answers in enumerate(table):
        for j, answer in enumerate(answers):
            rates = theta[j, :, answer]
            if j == 3:
                rates = (1.0 - c) * rates + c * (answers[0] == answer)
            expected[i] *= rates**power
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(solution.posterior, expected, atol=1e-8)
