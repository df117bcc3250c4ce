"""Accuracies by class, and notes on annotators."""

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from oneof.crowd import AnnotatorModel, Answers
from oneof.solvers.annotators.accuracy import count_by_class, equal_accuracy_p_values
from tests.crowd.simulated import crowd, rule_votes
from tests.oracles import annotators as oracle


def answers_of(y, accuracy, rng, n_classes, answer_rate=1.0):
    """Return a table of answers: a wrong one is equally often each other class; accuracy has a row per annotator."""
    accuracy = np.atleast_2d(accuracy)
    wrong = (y[:, None] + rng.integers(1, n_classes, (len(y), len(accuracy)))) % n_classes
    table = np.where(rng.random(wrong.shape) < accuracy[:, y].T, y[:, None], wrong)
    return np.where(rng.random(wrong.shape) < answer_rate, table, -1)


def one_specialist(seed=0, n=300):
    """Return labels and answers of five annotators, of whom the first sees class 0 seldom."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    accuracy = np.full((5, 4), 0.85)
    accuracy[0, 0] = 0.3
    return y, answers_of(y, accuracy, rng, 4, 0.8), accuracy


def test_counts_by_class_equal_the_oracle():
    """The expected numbers of answers are sums over the answers, of labels and of sets."""
    _, table, _ = crowd(["honest"] * 2 + ["doubter"] * 3, np.random.default_rng(0), n_rows=80)
    model = AnnotatorModel(classes=range(4)).fit(table)
    listed = [(i, j, np.atleast_1d(table[i, j])) for i, j in np.argwhere(np.not_equal(table, None))]
    right, totals = oracle.class_counts(listed, model.posterior_, 5)
    counted = count_by_class(model._columns, model.posterior_)
    np.testing.assert_allclose(counted, (right, totals), atol=1e-9)
    accuracies = model.class_accuracies()
    np.testing.assert_allclose(accuracies.n_answers, totals, atol=1e-9)
    np.testing.assert_allclose(totals.sum(axis=1), model.n_answers_)
    observed = right / totals
    between = (accuracies.accuracy - observed) * (accuracies.accuracy - model.accuracy_[:, None])
    assert (between <= 1e-9).all()  # the estimate is between the observed rate and the accuracy in all classes


def test_p_values_are_those_of_fisher_for_known_labels():
    """Two-sided p-values are twice the smaller one-sided p-value of Fisher's exact test."""
    y, table, _ = one_specialist(n=60)
    model = AnnotatorModel(classes=range(4)).fit(table, gold=y)
    p_values = equal_accuracy_p_values(model._columns, model.posterior_)
    for j in range(5):
        given = table[:, j] >= 0
        is_right = table[given, j] == y[given]
        for k in range(4):
            inside = y[given] == k
            cells = [[np.sum(part & right) for right in (is_right, ~is_right)] for part in (inside, ~inside)]
            sides = [fisher_exact(cells, alternative=side).pvalue for side in ("less", "greater")]
            assert p_values[j, k] == pytest.approx(min(2 * min(sides), 1.0), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("frequencies", [[0.25] * 4, [0.7, 0.1, 0.1, 0.1]])
def test_equal_accuracies_seldom_differ(frequencies):
    """Of 30 crowds with one accuracy per annotator, about 5 % or fewer have a difference between classes."""
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = rng.choice(4, 200, p=frequencies)
        table = answers_of(y, np.tile(rng.uniform(0.6, 0.95, (5, 1)), 4), rng, 4, 0.8)
        found += AnnotatorModel("one_coin", classes=range(4)).fit(table).class_accuracies().differs.any()
    assert found <= binom.ppf(0.99, 30, 0.05)


def test_a_specialist_among_annotators_is_found():
    """Only the class of the specialist differs, and nine in ten intervals contain the accuracies."""
    inside = []
    for seed in range(5):
        _, table, accuracy = one_specialist(seed)
        accuracies = AnnotatorModel(classes=range(4)).fit(table).class_accuracies()
        assert accuracies.differs[0, 0]
        assert not accuracies.differs[1:].any()
        low, high = np.moveaxis(accuracies.interval, 2, 0)
        inside.append((low <= accuracy) & (accuracy <= high))
        assert (low < accuracies.accuracy).all()
        assert (accuracies.accuracy < high).all()
    assert np.mean(inside) >= 0.85


def test_a_specialist_has_a_note_and_rules_have_no_differences():
    _, table, _ = one_specialist()
    answers = Answers.from_table(table, annotators=["Ann", "Bob", "Cem", "Dan", "Eve"])
    assert AnnotatorModel().fit(answers).notes_ == [
        "The accuracy of these annotators differs between classes beyond chance: Ann."
    ]
    others = answers_of(np.arange(200) % 3, np.full((4, 3), 0.8), np.random.default_rng(0), 3)
    assert AnnotatorModel("one_coin").fit(others).notes_ == []
    votes = Answers.from_table(rule_votes(np.random.default_rng(0))[1], select_rows=True)
    assert not AnnotatorModel().fit(votes).class_accuracies().differs.any()


def test_careless_annotators_and_those_with_few_answers_have_notes():
    """An annotator with few answers is not named as careless."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    table = answers_of(y, np.array([[0.9], [0.8], [0.8], [1 / 3], [1 / 3]]) * np.ones(3), rng, 3)
    table[9:, 4] = -1
    names = ["Ann", "Bob", "Cem", "Dan", "Eve"]
    model = AnnotatorModel().fit(Answers.from_table(table, annotators=names))
    assert model.few_answers_ == ["Eve"]
    assert "Dan" in model.no_better_than_chance_
    assert ["Dan" in model.notes_[0], "Eve" in model.notes_[1], len(model.notes_)] == [True, True, 2]
    listed = [[None if answer < 0 else answer for answer in row] for row in table.tolist()]
    listed = [[*row[:4], [0, 1, 2]] for row in listed]
    full = AnnotatorModel().fit(Answers.from_table(listed, annotators=names))
    assert full.notes_[1:] == ["200 answers of 'Eve' name all classes, and say nothing about the label."]
    table[9, 4] = y[9]
    assert AnnotatorModel().fit(Answers.from_table(table, annotators=names)).few_answers_ == []
