"""Copies among the annotators: found, not counted, named in notes, and not seen among independent ones."""

import numpy as np
import pytest

from oneof import LOORidge
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier
from tests.crowd.simulated import crowd

HONEST = ["honest"] * 6


def five_annotators(rng, *, n=600, n_classes=4, copied=0.0, hard=0.0):
    """Return labels and the answers of five annotators; the last copies a fraction of the answers of the first one.

    In a fraction of the rows, all of them are wrong more often, in half of the cases with the same label.
    """
    y = rng.integers(n_classes, size=n)
    wrong = (y[:, None] + rng.integers(1, n_classes, (n, 5))) % n_classes
    table = np.where(rng.random((n, 5)) < rng.uniform(0.6, 0.9, 5), y[:, None], wrong)
    rows, common = rng.random(n) < hard, (y + 1) % n_classes
    difficult = np.where(
        rng.random((n, 5)) < 0.4, y[:, None], np.where(rng.random((n, 5)) < 0.5, common[:, None], wrong)
    )
    table[rows] = difficult[rows]
    copies = rng.random(n) < copied
    table[copies, 4] = table[copies, 0]
    return y, table


@pytest.mark.long
@pytest.mark.parametrize("copied", [0.6, 0.7, 0.9])
def test_copies_among_five_annotators_are_found_and_the_intervals_hold(copied):
    """Intervals of 90 % contain at least 80 % of the realized accuracies, and the fraction of copies is estimated."""
    inside = []
    for seed in range(4):
        y, table = five_annotators(np.random.default_rng(seed), copied=copied)
        model = AnnotatorModel(classes=range(4)).fit(table)
        assert model.copies_ == [[0, 4]]
        assert model.copied_pairs_[0].copied == pytest.approx(copied, abs=0.2)
        low, high = model.accuracy_interval_.T
        realized = (table == y[:, None]).mean(axis=0)
        inside.extend((low <= realized) & (realized <= high))
    assert np.mean(inside) >= 0.8


@pytest.mark.long
@pytest.mark.parametrize("hard", [0.0, 0.25])
def test_independent_annotators_are_not_copies_also_if_rows_are_difficult(hard):
    """Errors that all annotators make in difficult rows are not errors that two of them share."""
    for seed in range(5):
        _, table = five_annotators(np.random.default_rng(seed), hard=hard)
        assert AnnotatorModel(classes=range(4)).fit(table).copies_ == []


@pytest.mark.long
def test_the_closest_pair_of_few_annotators_is_named():
    """Two of five annotators agree in 97 % of their rows: they are copies, or the closest pair; honest ones are not."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        _, table, _ = crowd(["honest", "copy", *["honest"] * 3], rng, n_rows=300)
        table[rng.random(300) < 0.03, 1] = 0
        model = AnnotatorModel().fit(table)
        assert model.copies_ == [[0, 1]] if model.copies_ else model.closest_pair_ == (0, 1)
        assert AnnotatorModel().fit(table[:, 1:]).closest_pair_ is None
        many = np.hstack([table, table[::-1][:, [4, 3, 2]]])
        assert AnnotatorModel().fit(many).closest_pair_ is None


@pytest.mark.long
@pytest.mark.parametrize(("n_classes", "n", "accuracies"), [(3, 300, [0.85, 0.9, 0.5]), (5, 150, [0.9, 0.9, 0.6])])
def test_two_accurate_annotators_among_three_are_not_copies(n_classes, n, accuracies):
    """Three agreements do not distinguish copies from accuracy: copies have to be more likely at level .01."""
    found, errors = 0, []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        y = rng.integers(n_classes, size=n)
        wrong = (y[:, None] + rng.integers(1, n_classes, (n, 3))) % n_classes
        table = np.where(rng.random((n, 3)) < accuracies, y[:, None], wrong)
        model = AnnotatorModel(classes=range(n_classes)).fit(table)
        found += bool(model.copies_)
        errors.append(model.accuracy_ - (table == y[:, None]).mean(axis=0))
    assert found <= 1
    assert np.abs(np.mean(errors, axis=0)).max() < 0.015


def answers_of_five(rng):
    """Return labels and answers of five annotators: 0 and 2 are the best, 1 names sets in doubt, 4 is careless."""
    y = rng.choice(6, 800, p=[0.25, 0.2, 0.2, 0.15, 0.12, 0.08])
    is_hard = rng.random(800) < 0.25
    table = np.full((800, 5), None, dtype=object)
    for j, accuracy in enumerate((0.95, 0.93, 0.9, 0.92, 0.46)):
        for i in np.flatnonzero(rng.random(800) < 0.43):
            rate = 0.65 if j == 1 and is_hard[i] else accuracy
            label = int(y[i]) if rng.random() < rate else int(rng.integers(6))
            table[i, j] = label
            if j == 1 and rng.random() < (0.7 if is_hard[i] else 0.1):
                table[i, j] = [label, (label + int(rng.integers(1, 6))) % 6]
            if j == 3 and y[i] == 4 and rng.random() < 0.6:
                table[i, j] = 3
    return y, table


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_accurate_annotators_with_sets_are_not_copies(seed):
    """The two best of five annotators agree most often, but as often as independent ones of their accuracies."""
    y, table = answers_of_five(np.random.default_rng(seed))
    model = AnnotatorModel().fit(table)
    assert model.copies_ == model.copied_pairs_ == []
    truth = [np.mean([y[i] in np.atleast_1d(a) for i, a in enumerate(column) if a is not None]) for column in table.T]
    np.testing.assert_allclose(model.accuracy_, truth, atol=0.08)


@pytest.mark.long
@pytest.mark.parametrize("n", [8, 12])
@pytest.mark.parametrize("kind", ["honest", "doubter"])
def test_copies_of_most_answers_are_found(kind, n):
    """An annotator who repeats 80 % of the answers of another one is a copy of it, also if answers are sets."""
    rng = np.random.default_rng(1)
    _, table, _ = crowd([kind] * n, rng)
    for i in np.flatnonzero(rng.random(300) < 0.8):
        table[i, 1] = table[i, 0] if table[i, 0] is not None else table[i, 1]
    model = AnnotatorModel().fit(table)
    assert model.copies_ == [[0, 1]]
    assert 0.6 < model.copied_pairs_[0].copied <= 1.0
    assert AnnotatorModel().fit(table[:, 1:]).copies_ == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_accuracies_and_labels_with_a_copy(seed):
    """A copy of 90 % of the answers of the best annotator: the intervals hold, and own answers count in full.

    The best annotator differs from another one in rows that the copy did not answer.
    """
    rng = np.random.default_rng(seed)
    n = 1500
    y = rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.12, 0.08])

    def answers_of(accuracy):
        return np.where(rng.random(n) < accuracy, y, (y + rng.integers(1, 5, n)) % 5)

    best = answers_of(0.92)
    others = [answers_of(accuracy) for accuracy in (0.83, 0.74, 0.3)]
    copy = np.where(rng.random(n) < 0.9, best, answers_of(0.7))
    table = np.column_stack([best, copy, *others])
    table[rng.random(table.shape) < 0.2] = -1
    realized = np.array([(column[column >= 0] == y[column >= 0]).mean() for column in table.T])
    model = AnnotatorModel().fit(np.where(table >= 0, table, None))
    assert model.copies_ == [[0, 1]]
    np.testing.assert_allclose(model.accuracy_, realized, atol=0.04)
    alone = (table[:, 0] >= 0) & (table[:, 1] < 0) & (table[:, 2] < 0) & (table[:, 3] >= 0)
    rows = np.flatnonzero(alone & (table[:, 0] != table[:, 3]))
    assert model.posterior_[rows, table[rows, 0]].mean() > 0.5


def test_copies_are_named_in_the_notes():
    """The groups of copies are named, with their effect; so is the closest pair of few annotators."""
    _, table, _ = crowd([*HONEST, "honest", "copy"], np.random.default_rng(0))
    for merged, effect in ((True, "copied answers do not count"), (False, "count as independent")):
        model = AnnotatorModel(merge_copies=merged).fit(table)
        assert any("6 and 7 are copies of one another" in note and effect in note for note in model.notes_)


def two_annotators(rng, *, n=600, n_classes=4, copied=0.8, others=()):
    """Return labels and the answers of two annotators of accuracies .85 and .8, and of others; 1 copies 0."""
    y = rng.integers(n_classes, size=n)
    accuracies = np.array([0.85, 0.8, *others])
    wrong = (y[:, None] + rng.integers(1, n_classes, (n, len(accuracies)))) % n_classes
    table = np.where(rng.random((n, len(accuracies))) < accuracies, y[:, None], wrong)
    copies = rng.random(n) < copied
    table[copies, 1] = table[copies, 0]
    return y, table


@pytest.mark.long
@pytest.mark.parametrize("others", [(), (0.75,)])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_known_labels_determine_the_accuracies_of_copies(n_classes, others):
    """With 60 known labels, the accuracies of two annotators who copy have no bias, also with a third one.

    Equal answers of copies are more often correct than those in which they differ.
    """
    errors, inside, right = [], [], []
    for seed in range(5):
        y, table = two_annotators(np.random.default_rng(seed), n_classes=n_classes, others=others)
        model = AnnotatorModel(classes=range(n_classes)).fit(table, gold=np.where(np.arange(600) < 60, y, -1))
        realized = (table == y[:, None]).mean(axis=0)
        errors.append(model.accuracy_ - realized)
        inside.append((model.accuracy_interval_[:, 0] <= realized) & (realized <= model.accuracy_interval_[:, 1]))
        right.append((model.transduction_ == y)[60:].mean() - (table[60:, 0] == y[60:]).mean())
        assert model.copies_ == [[0, 1]]
    np.testing.assert_allclose(np.mean(errors, axis=0), 0.0, atol=0.05)
    assert np.max(np.abs(errors)) < 0.12
    assert np.mean(inside) >= 0.8
    assert np.mean(right) > -0.01  # the copy and the third annotator do not outweigh the first one


def test_with_known_labels_the_order_of_rows_and_annotators_does_not_matter():
    """Two annotators of whom one copies, and who gave each label equally often, differ by their known rows only."""
    rng = np.random.default_rng(37)
    truth = rng.integers(2, size=400)
    answers = np.where(rng.random((400, 2)) < 0.8, truth[:, None], 1 - truth[:, None])
    is_copied = rng.random(400) < 0.8
    answers[is_copied, 1] = answers[is_copied, 0]
    assert answers.sum(axis=0)[0] == answers.sum(axis=0)[1]
    gold = np.array([label if row < 60 else None for row, label in enumerate(truth.tolist())], dtype=object)
    order = rng.permutation(400)
    one = AnnotatorModel(classes=[0, 1]).fit(answers, gold=gold)
    other = AnnotatorModel(classes=[0, 1]).fit(answers[order][:, ::-1], gold=gold[order])
    np.testing.assert_allclose(other.posterior_, one.posterior_[order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.accuracy_[::-1], one.accuracy_, rtol=0, atol=1e-9)


def test_the_order_of_copies_does_not_matter():
    """Accuracies and labels follow the names of the annotators, although a copy follows another answer."""
    y, table = two_annotators(np.random.default_rng(0), others=(0.75, 0.7))
    gold = np.where(np.arange(600) < 60, y, -1)
    model = AnnotatorModel(classes=range(4)).fit(table, gold)
    order = [3, 1, 2, 0]
    other = AnnotatorModel(classes=range(4)).fit(table[:, order], gold)
    assert model.copies_ == [[0, 1]]
    assert other.copies_ == [[1, 3]]
    np.testing.assert_allclose(other.accuracy_, model.accuracy_[order], atol=1e-6)
    np.testing.assert_allclose(other.posterior_, model.posterior_, atol=1e-6)


@pytest.mark.parametrize("n_steps", [1, 5])
def test_an_update_with_the_same_prior_changes_nothing(n_steps):
    """EM of a round starts at the labels, the accuracies and the fraction of copies of the last fit."""
    _, table = five_annotators(np.random.default_rng(0), copied=0.8)
    answers = Answers.from_table(table, classes=range(4))
    model = AnnotatorModel("one_coin", "uniform", strength=2.0, tol=1e-8, max_iter=2000).fit(answers)
    assert model.copies_ == [[0, 4]]
    labels, accuracy, copied = model.posterior_, model.accuracy_, model._copying.copied
    for _ in range(2):
        model._update(answers, np.full(labels.shape, 0.25), None, power=1.0, max_iter=n_steps)
    np.testing.assert_allclose(model.posterior_, labels, atol=1e-5)
    np.testing.assert_allclose(model.accuracy_, accuracy, atol=1e-5)
    np.testing.assert_allclose(model._copying.copied, copied, atol=1e-5)


def test_accuracies_that_rest_on_the_agreement_of_two_have_a_note():
    """Known labels of 50 rows, or of half of them, or a third annotator with ten comparable answers remove the note."""
    y, table = two_annotators(np.random.default_rng(0), n=200, others=(0.75,))
    note = "The accuracies of Ann and Bob rest on their agreement, as if"
    cases = [(0, 0, True), (8, 0, True), (0, 8, True), (0, 10, True), (200, 0, False), (0, 60, False)]
    for n_third, n_gold, has_note in cases:
        given = np.where((np.arange(200) < n_third)[:, None] | (np.arange(3) < 2), table, -1)[:, : 2 + (n_third > 0)]
        answers = Answers.from_table(given, classes=range(4), annotators=["Ann", "Bob", "Cem"][: given.shape[1]])
        gold = np.where(np.arange(200) < n_gold, y, -1) if n_gold else None
        notes = AnnotatorModel().fit(answers, gold).notes_
        assert any(text.startswith(note) for text in notes) == has_note, (n_third, n_gold, notes)
    for n_gold, has_note in ((10, True), (30, False)):
        gold = np.where(np.arange(40) < n_gold, y[:40], -1)
        notes = AnnotatorModel(classes=range(4)).fit(table[:40, :2], gold).notes_
        assert any("rest on their agreement" in text for text in notes) == has_note, (n_gold, notes)
    features = np.eye(4)[y] + np.random.default_rng(1).normal(scale=0.3, size=(200, 4))
    model = CrowdClassifier(LOORidge(), random_state=0).fit(features, table[:, :2]).annotator_model_
    assert model.accuracy_.min() > (table[:, :2] == y[:, None]).mean() + 0.05  # features do not show copying
    assert any("0 and 1 rest on their agreement" in text for text in model.notes_)


@pytest.mark.long
def test_copies_among_three_have_a_note_that_accuracies_may_be_too_high():
    """They are merged, or the closest pair. Known labels of 50 rows, or a fourth annotator, show that they are copies.

    Independent annotators have no note.
    """
    note = "Ann and Bob agree far more often than every other pair. One copies the other, or both are more accurate"
    for seed in range(4):
        y, table = two_annotators(np.random.default_rng(seed), others=(0.75, 0.7))
        answers = Answers.from_table(table[:, :3], classes=range(4), annotators=["Ann", "Bob", "Cem"])
        model = AnnotatorModel().fit(answers)
        assert model.copies_ == [["Ann", "Bob"]] or model.notes_[-1].startswith(note)
        known = AnnotatorModel().fit(answers, np.where(np.arange(600) < 50, y, -1))
        four = AnnotatorModel(classes=range(4)).fit(table)
        assert (known.copies_, four.copies_) == ([["Ann", "Bob"]], [[0, 1]])
        _, independent = two_annotators(np.random.default_rng(seed), copied=0.0, others=(0.75,))
        assert AnnotatorModel(classes=range(4)).fit(independent).notes_ == []
