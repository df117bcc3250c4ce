"""The model of the annotators: simulated crowds, invariances, copies, questions and errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, fisher_exact
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from oneof.crowd import AnnotatorModel, Answers, apply_rules
from oneof.errors import InputError, InputTypeError
from oneof.solvers.annotators.accuracy import count_by_class, equal_accuracy_p_values
from tests.crowd.simulated import crowd, rule_votes
from tests.oracles import annotators as oracle

HONEST = ["honest"] * 6
KINDS = {
    "spammers": [*HONEST, *["spammer"] * 4],
    "adversaries": [*HONEST, *["adversary"] * 3],
    "some classes": [*HONEST, *["some classes"] * 4],
    "doubters": [*HONEST, *["doubter"] * 4],
}


def votes(table, n_classes):
    shares = np.zeros((len(table), n_classes))
    for i, row in enumerate(table):
        for answer in row:
            if answer is not None:
                members = np.atleast_1d(answer)
                shares[i, members] += 1 / len(members)
    return shares.argmax(axis=1)


def gain(y, table, n_classes, select_rows="auto"):
    """Return the accuracy of the labels minus that of votes, in the rows with answers."""
    answers = Answers.from_table(table, classes=range(n_classes), select_rows=select_rows)
    model = AnnotatorModel().fit(answers)
    is_better = (model.transduction_ == y).astype(int) - (votes(table, n_classes) == y)
    return is_better[~model.candidates_.is_unlabeled].mean()


def test_labels_of_rules_are_no_worse_than_votes():
    """Rules that are better than chance on average, with few common rows; an EM of accuracies alone fails."""
    gains = [
        gain(*rule_votes(np.random.default_rng(seed), **options), options.get("n_classes", 3), select_rows=True)
        for seed in range(4)
        for options in (
            {},
            {"n_classes": 2, "precision": (0.5, 0.95)},
            {"n_classes": 6, "n_rules": 12, "max_size": 3},
            {"n_rules": 10, "precision": (0.1, 0.95), "coverage": (0.2, 0.5)},
        )
    ]
    assert np.mean(gains) >= 0
    assert np.mean(np.less(gains, -0.05)) <= 0.1


def test_votes_against_a_class_leave_labels_as_good_and_label_no_row_alone():
    """Otherwise, rows without another vote would have the class of the rule with the fewest votes, which is rare."""
    rng = np.random.default_rng(0)
    y = rng.choice(5, 3000, p=[0.3, 0.25, 0.2, 0.2, 0.05])
    table = np.full((3000, 6), None, dtype=object)
    for k in range(5):
        table[rng.random(3000) < np.where(y == k, 0.5, 0.03), k] = k
    without = Answers.from_table(table[:, :5], classes=range(5))
    for i in np.flatnonzero(rng.random(3000) < np.where(y == 3, 0.15, 0.7)):
        table[i, 5] = [0, 1, 2, 4]
    labels, others = (AnnotatorModel().fit(each) for each in (Answers.from_table(table, classes=range(5)), without))
    np.testing.assert_array_equal(labels.candidates_.is_unlabeled, others.candidates_.is_unlabeled)
    voted = ~others.candidates_.is_unlabeled
    assert (labels.transduction_ == y)[voted].mean() > (others.transduction_ == y)[voted].mean()


def test_labels_of_votes_against_classes_are_no_worse_than_votes():
    """All rules exclude one class each, whose frequencies differ."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, 1500, p=[0.1, 0.5, 0.4])
        table = np.full((1500, 3), None, dtype=object)
        for i, k in zip(*np.nonzero(rng.random((1500, 3)) < np.where(y[:, None] == range(3), 0.06, 0.5))):
            table[i, k] = [c for c in range(3) if c != k]
        assert gain(y, table, 3) >= 0


def test_a_rule_below_chance_is_found_by_known_labels():
    """The votes alone do not determine the class frequencies, and so no precision."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    table = np.full((900, 7), None, dtype=object)
    for j in range(7):
        k = j % 3
        rate = np.where(y == k, 0.05, 0.4) if j == 6 else np.where(y == k, 0.6, 0.05)
        table[rng.random(900) < rate, j] = k
    assert np.isnan(AnnotatorModel().fit(table).accuracy_).all()
    model = AnnotatorModel().fit(table, gold=dict(enumerate(y[:300].tolist())))
    assert model.are_rules_
    assert model.no_better_than_chance_ == [6]
    assert model.accuracy_[:6].min() > 0.7


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_labels_of_balanced_and_unbalanced_classes_are_no_worse_than_votes(share):
    """On average over crowds of 60 annotators who confuse neighboring classes, with 30 answers each."""
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.choice(5, 500, p=[share, *[(1 - share) / 4] * 4])
        table = np.full((500, 60), None, dtype=object)
        for j in range(60):
            answered = rng.random(500) < 0.06
            theta = np.exp(-np.abs(np.subtract.outer(range(5), range(5))) / rng.uniform(0.3, 2.0))
            cumulative = (theta / theta.sum(axis=1, keepdims=True)).cumsum(axis=1)
            table[answered, j] = (cumulative[y] > rng.random((500, 1))).argmax(axis=1)[answered]
        gains.append(gain(y, table, 5))
    assert np.mean(gains) > 0


@pytest.mark.parametrize("are_rules", [False, True])
def test_rows_without_answers_do_not_change_the_labels_of_other_rows(are_rules):
    rng = np.random.default_rng(0)
    y = rng.choice(3, 100, p=[0.7, 0.2, 0.1])
    table = np.where(rng.random((100, 4)) < 0.6, y[:, None], rng.integers(0, 3, (100, 4))).astype(object)
    table = rule_votes(rng, n_rows=200)[1] if are_rules else table
    more = np.concatenate([table, np.full((2000, table.shape[1]), None)])
    model = AnnotatorModel(classes=range(3), strength=3.0, tol=1e-7, max_iter=5000)
    alone, both = (clone(model).fit(answers) for answers in (table, more))
    assert alone.are_rules_ == both.are_rules_ == are_rules
    np.testing.assert_allclose(both.posterior_[: len(table)], alone.posterior_, atol=1e-6)


def test_order_of_rows_annotators_and_classes_does_not_matter():
    _, table, _ = crowd(KINDS["doubters"], np.random.default_rng(0), n_rows=80)
    model = AnnotatorModel(class_prior="uniform", classes=[0, 1, 2, 3]).fit(table)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(80), rng.permutation(10)
    other = AnnotatorModel(class_prior="uniform", classes=[2, 0, 3, 1]).fit(table[rows][:, columns])
    np.testing.assert_allclose(other.posterior_, model.posterior_[rows][:, [2, 0, 3, 1]], atol=1e-8)
    np.testing.assert_allclose(other.accuracy_, model.accuracy_[columns], atol=1e-8)


def test_candidates_are_the_likelihood_without_the_prior():
    _, table, _ = crowd(HONEST, np.random.default_rng(0), n_rows=60)
    table[5] = None
    model = AnnotatorModel(class_prior=[4, 1, 2, 3]).fit(table)
    joint = model.candidates_.weights * model.class_prior_
    np.testing.assert_allclose(model.posterior_, joint / joint.sum(axis=1, keepdims=True), atol=1e-8)
    np.testing.assert_allclose(model.class_prior_, [0.4, 0.1, 0.2, 0.3])
    assert model.candidates_.is_unlabeled.tolist() == [all(a is None for a in row) for row in table]
    assert model.confusion_.shape == (6, 4, 4)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1.0)


def test_gold_labels_are_exact_and_improve_the_others():
    y, table, _ = crowd([*HONEST[:2], *["adversary"] * 3], np.random.default_rng(3))
    known = {int(i): int(y[i]) for i in range(0, 300, 4)}
    model, without = AnnotatorModel().fit(table, known), AnnotatorModel().fit(table)
    rows = np.array(sorted(known))
    assert model.candidates_.is_exact[rows].all()
    np.testing.assert_array_equal(model.transduction_[rows], y[rows])
    rest = np.setdiff1d(np.arange(300), rows)
    assert (model.transduction_ == y)[rest].mean() >= (without.transduction_ == y)[rest].mean()
    listed = AnnotatorModel().fit(table, [known.get(i) for i in range(300)])
    np.testing.assert_array_equal(listed.posterior_, model.posterior_)
    sets = [[known[i]] if i in known else [0, 1] if i == 1 else None for i in range(300)]
    assert AnnotatorModel().fit(table, sets).posterior_[1, 2:].tolist() == [0, 0]


def test_disputed_rows_and_questions():
    _, table, _ = crowd([*HONEST, "spammer"], np.random.default_rng(0))
    model = AnnotatorModel().fit(table)
    disputed = model.disputed_rows(5)
    assert (np.diff(disputed.entropy) <= 0).all()
    assert (disputed.labels != disputed.runner_up).all()
    assert all(sum(answer is not None for answer in table[i]) >= 2 for i in disputed.rows)
    questions = model.next_questions(20)
    assert (np.diff(questions.information) <= 0).all()
    assert len(set(questions.rows.tolist())) == 20
    assert 6 not in questions.annotators
    assert all(table[i, j] is None for i, j in zip(questions.rows, questions.annotators))
    assert set(model.next_questions(5, annotators=[2]).annotators.tolist()) == {2}
    with pytest.raises(InputError, match="names of annotators; got 99"):
        model.next_questions(annotators=[99])


def test_parameters_are_checked_and_the_model_is_cloned():
    model = AnnotatorModel("one_coin", strength=2.0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.disputed_rows()
    with pytest.raises(InputError, match="`class_prior` must have 2 numbers"):
        AnnotatorModel(class_prior=[1.0]).fit([["a", "b"]])
    with pytest.raises(InputError, match="`coverage` must be"):
        AnnotatorModel(coverage=1.0).fit([["a", "b"]])


def test_gold_labels_of_a_series_are_those_of_a_mapping():
    """A Series of pandas with some rows, in any order, is a mapping; so is one with all rows and missing labels."""
    y, table, _ = crowd([*HONEST[:3], *["adversary"] * 3], np.random.default_rng(3))
    frame = pd.DataFrame(table, index=[f"r{i}" for i in range(300)])
    known = {f"r{i}": int(y[i]) for i in range(296, 0, -4)}
    expected = AnnotatorModel().fit(frame, known).posterior_
    series = pd.Series(known)
    for gold in (series, series.reindex(frame.index[::-1]), series.reindex(frame.index).reset_index(drop=True)):
        np.testing.assert_array_equal(AnnotatorModel().fit(frame, gold).posterior_, expected)
    numbered = series.rename(lambda name: int(name[1:]))
    np.testing.assert_array_equal(AnnotatorModel().fit(table, numbered).posterior_, expected)
    listed = series.reindex(frame.index)
    np.testing.assert_array_equal(AnnotatorModel().fit(table, listed).posterior_, expected)
    with pytest.raises(InputError, match=r"`gold` names the row 'x', which the answers do not have"):
        AnnotatorModel().fit(frame, pd.Series({"x": 0}))
    with pytest.raises(InputError, match="`gold` must contain different rows; 'r4' is repeated"):
        AnnotatorModel().fit(frame, pd.concat([series, series[["r4"]]]))


@pytest.mark.parametrize(
    ("blocks", "identified"),
    [
        ([(0,)], [False]),
        ([(0,), (1,)], [False] * 2),
        ([(0, 1)], [False] * 2),
        ([(0, 1), (1, 2)], [False] * 3),
        ([(0, 1), (1, 2), (0, 2)], [True] * 3),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], [False] * 4),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], [True] * 5),
        ([(0, 1, 2), (0, 1, 2), (3,)], [True, True, True, False]),
    ],
)
def test_accuracies_need_an_odd_cycle_of_common_rows_or_known_labels(blocks, identified):
    """The agreement of each pair is one equation for two accuracies; an even cycle has a free factor."""
    rng, identified = np.random.default_rng(0), np.array(identified)
    y = rng.integers(3, size=100 * len(blocks))
    table = np.full((len(y), len(identified)), None, dtype=object)
    for block, annotators in enumerate(blocks):
        rows = slice(100 * block, 100 * block + 100)
        for j in annotators:
            table[rows, j] = np.where(rng.random(100) < 0.8, y[rows], (y[rows] + 1) % 3)
    model = AnnotatorModel().fit(table)
    np.testing.assert_array_equal(~np.isnan(model.accuracy_), identified)
    np.testing.assert_array_equal(~np.isnan(model.accuracy_interval_), identified[:, None].repeat(2, axis=1))
    assert (~np.isnan(model.class_accuracies().accuracy) == identified[:, None]).all()
    unknown = [note for note in model.notes_ if "do not identify" in note or "too few of their rows" in note]
    assert bool(unknown) == (not identified.all())
    assert model.no_better_than_chance_ == []
    known = AnnotatorModel().fit(table, gold=y)
    np.testing.assert_allclose(known.accuracy_, 0.8, atol=0.1)
    assert not any("do not identify" in note for note in known.notes_)


def test_one_class_that_explains_all_answers_identifies_no_accuracy():
    rng = np.random.default_rng(0)
    table = np.where(rng.random((200, 5)) < 0.02, 1, 0)
    model = AnnotatorModel().fit(table)
    assert (model.transduction_ == 0).all()
    assert np.isnan(model.accuracy_).all()
    assert "one class, 0, explains all answers" in model.notes_[0]


def _answers_of(kind, n_rows, rng):
    """Return labels of three classes, the answers of six sources, and their accuracies."""
    y = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2] if kind == "labels" else None)
    accuracy, table = np.empty(6), np.full((n_rows, 6), None, dtype=object)
    for j in range(6):
        if kind == "rules":
            fires = rng.random(n_rows) < np.where(y == j % 3, 0.2 + 0.1 * j, 0.1)
            table[fires, j], accuracy[j] = j % 3, (y[fires] == j % 3).mean()
            continue
        accuracy[j] = 0.5 + 0.08 * j
        is_right, wrong = rng.random(n_rows) < accuracy[j], (y + rng.integers(1, 3, n_rows)) % 3
        for i in np.flatnonzero(rng.random(n_rows) < 0.6):
            pair = [y[i], wrong[i]] if is_right[i] else [wrong[i], 3 - y[i] - wrong[i]]
            table[i, j] = int(pair[0]) if kind == "labels" else [int(k) for k in pair]
    return y, table, accuracy


@pytest.mark.parametrize("n_labels", [0, 3, 100])
def test_a_set_that_cannot_be_compared_is_no_evidence_against_its_classes(n_labels):
    """The answer "not 0" of the only annotator makes 0 the least probable class, beside any number of labels."""
    answers = [[1, 2, 3]] * 5 + [[i % 4] for i in range(n_labels)]
    model = AnnotatorModel().fit(
        Answers.from_records(range(len(answers)), ["Kim"] * len(answers), answers, classes=range(4))
    )
    likelihood = model.candidates_.weights[0]
    assert likelihood.argmin() == 0
    assert likelihood[0] < 0.9
    assert np.isnan(model.accuracy_).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["labels", "sets", "rules"])
def test_errors_of_the_parameters_fall_as_rows_grow(kind):
    """All priors have a fixed strength; rules have known labels of a third of the rows."""
    errors = []
    for n_rows in (300, 3000, 30_000):
        y, table, accuracy = _answers_of(kind, n_rows, np.random.default_rng(1))
        gold = dict(enumerate(y[: n_rows // 3].tolist())) if kind == "rules" else None
        model = AnnotatorModel(tol=1e-6, max_iter=5000).fit(table, gold)
        assert model.are_rules_ == (kind == "rules")
        errors.append(np.abs(model.accuracy_ - accuracy).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_sources_of_one_label_are_read_as_rules():
    """Among rules, all sources are; a careless annotator among others is none; and an option says otherwise."""
    y, votes = rule_votes(np.random.default_rng(0), n_rules=9)
    model = AnnotatorModel().fit(votes)
    assert model.are_rules_
    assert "are read as rules" in model.notes_[0]
    assert not AnnotatorModel().fit(Answers.from_table(votes, select_rows=False)).are_rules_
    people = np.where(np.random.default_rng(1).random((600, 5)) < 0.8, y[:, None], (y[:, None] + 1) % 3)
    assert not AnnotatorModel().fit(people).are_rules_
    answers = Answers.from_table(np.concatenate([people, votes[:, :3]], axis=1), classes=range(3))
    assert answers.are_rules
    assert answers[:3].are_rules
    careless = people.copy()
    careless[:, 0], careless[:, 1] = 0, 1
    assert not Answers.from_table(careless).are_rules
    assert not Answers.from_table([["a", "b"], ["a", None]]).are_rules
    with pytest.raises(InputError, match='`select_rows` must be "auto", True or False'):
        Answers.from_table(votes, select_rows="yes")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_true_accuracies_are_in_their_intervals_nine_times_in_ten(kind):
    """80 % at least, of intervals of 90 %, over three crowds; the labels are at least as good as those of votes."""
    inside, right, voted = [], [], []
    for seed in range(3):
        y, table, accuracy = crowd(KINDS[kind], np.random.default_rng(seed))
        model = AnnotatorModel(classes=range(4)).fit(table)
        low, high = model.accuracy_interval_.T
        inside.append((low <= accuracy) & (accuracy <= high))
        right.append(np.mean(model.transduction_ == y))
        voted.append(np.mean(votes(table, 4) == y))
        assert model.copied_pairs_ == []
        if kind in ("spammers", "adversaries"):
            assert set(model.no_better_than_chance_) == set(range(6, len(accuracy)))
    assert np.mean(inside) >= 0.8
    assert np.mean(right) >= np.mean(voted)


# -- Accuracies by class, and notes on annotators --------------------------------------------------------------------


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


# -- Rules vote for labels or sets, and their votes have rates instead of confusion matrices -------------------------


def votes_spam(text):
    return "spam" if "free" in text else None


def votes_two(text):
    return {"ham", "question"} if len(text) < 8 else None


TEXTS = ["free money now", "lunch?", "free one", "hello you all"]


def test_votes_are_answers_of_annotators_who_select_rows():
    answers = apply_rules([votes_spam, votes_two], TEXTS)
    assert answers.annotators.tolist() == ["votes_spam", "votes_two"]
    assert answers.select_rows
    assert len(answers) == 4
    assert answers.n_answers == 3
    frame = pd.DataFrame({"text": TEXTS})
    assert apply_rules({"a": lambda row: votes_spam(row["text"])}, frame, classes=["ham", "spam"]).n_answers == 2


def test_repeated_names_are_numbered_and_rules_without_votes_are_omitted():
    with pytest.warns(UserWarning, match="annotators without informative answers are omitted: '<lambda>'"):
        answers = apply_rules([votes_spam, votes_spam, lambda _: None], TEXTS, classes=["ham", "spam"])
    assert answers.annotators.tolist() == ["votes_spam", "votes_spam_2"]


def test_invalid_rules_are_errors():
    def broken(row):
        return row["missing"]

    with pytest.raises(InputError, match="row 0: rule 'broken' raised TypeError"):
        apply_rules([broken], TEXTS)
    with pytest.raises(InputError, match="no rule votes on any row"):
        apply_rules([lambda _: None], TEXTS)
    with pytest.raises(InputError, match="at least one rule"):
        apply_rules([], TEXTS)
    with pytest.raises(InputTypeError, match="must be functions of a row"):
        apply_rules(["spam"], TEXTS)


# -- Copied answers: the pairs that are reported, and no effect on the labels -----------------------------------------


def with_copies(seed, n_annotators=8, n_rows=300, copied=0.0, n_classes=4):
    """Return answers of annotators, of whom the last one copies a fraction of the answers of the first one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    wrong = (y[:, None] + rng.integers(1, n_classes, (n_rows, n_annotators))) % n_classes
    table = np.where(rng.random((n_rows, n_annotators)) < rng.uniform(0.6, 0.85, n_annotators), y[:, None], wrong)
    table[:, -1] = np.where(rng.random(n_rows) < copied, table[:, 0], table[:, -1])
    return np.where(rng.random(table.shape) < 0.7, table, -1)


@pytest.mark.parametrize("copied", [0.8, 1.0])
def test_a_copy_among_independent_annotators_is_reported(copied):
    """It is the first pair, with about the fraction of copied answers, and a note names it."""
    for seed in range(4):
        model = AnnotatorModel(classes=range(4)).fit(with_copies(seed, copied=copied))
        [pair, *others] = model.copied_pairs_
        assert pair.annotators == (0, 7)
        assert others == []
        assert pair.agreement > pair.expected_agreement
        assert pair.copied == pytest.approx(copied, abs=0.3)
        assert model.notes_[-1].startswith("0 and 7 agree on")


def test_errors_that_honest_annotators_share_are_not_reported():
    """With the same wrong answer on a fifth of the rows, and many rows, no pair is reported."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y, decoy = rng.integers(4, size=(2, 4000))
        accuracy = np.where(rng.random(4000) < 0.2, 0.35, 0.85)[:, None]
        table = np.where(rng.random((4000, 10)) < accuracy, y[:, None], decoy[:, None])
        assert AnnotatorModel(classes=range(4)).fit(table).copied_pairs_ == []


def test_independent_annotators_are_seldom_reported():
    """The level of the test of all pairs is 0.01: in 40 crowds, at most one pair."""
    pairs = [AnnotatorModel(classes=range(4)).fit(with_copies(seed)).copied_pairs_ for seed in range(40)]
    assert sum(map(len, pairs)) <= 1
