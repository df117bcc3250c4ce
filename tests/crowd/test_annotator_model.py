"""The model of the annotators: simulated crowds, invariances, copies, questions and errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from oneof.crowd import AnnotatorModel, Answers
from oneof.errors import InputError
from tests.crowd.simulated import crowd

HONEST = ["honest"] * 6
KINDS = {
    "spammers": [*HONEST, *["spammer"] * 4],
    "adversaries": [*HONEST, *["adversary"] * 3],
    "copies": [*HONEST, "honest", "copy", "copy"],
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
        assert model.copies_ == ([[6, 7, 8]] if kind == "copies" else [])
        if kind in ("spammers", "adversaries"):
            assert set(model.no_better_than_chance_) == set(range(6, len(accuracy)))
    assert np.mean(inside) >= 0.8
    assert np.mean(right) >= np.mean(voted)


def test_order_of_rows_annotators_and_classes_does_not_matter():
    _, table, _ = crowd(KINDS["doubters"], np.random.default_rng(0), n_rows=80)
    model = AnnotatorModel("confusion", "uniform", classes=[0, 1, 2, 3]).fit(table)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(80), rng.permutation(10)
    other = AnnotatorModel("confusion", "uniform", classes=[2, 0, 3, 1]).fit(table[rows][:, columns])
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


def test_frequencies_are_fitted_if_they_predict_held_out_answers_better():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.1).astype(int)
    table = np.array([[abs(label - (rng.random() < 0.25)) for _ in range(4)] for label in y])
    assert AnnotatorModel().fit(table).class_prior_[0] > 0.75


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


def test_records_with_names_are_reported_by_name():
    records = Answers.from_records(["r2", "r1", "r1"], ["Ann", "Bob", "Ann"], ["b", "a", "a"])
    model = AnnotatorModel().fit(records)
    assert model.annotators_.tolist() == ["Ann", "Bob"]
    assert dict(zip(model.rows_.tolist(), model.transduction_.tolist())) == {"r1": "a", "r2": "b"}


def test_parameters_are_checked_and_the_model_is_cloned():
    model = AnnotatorModel("one_coin", strength=2.0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.disputed_rows()
    for params, message in (
        ({"model": "coin"}, "`model` must be"),
        ({"class_prior": "flat"}, "`class_prior` must be"),
        ({"class_prior": [1.0]}, "`class_prior` must have 2 numbers"),
        ({"strength": -1}, "`strength` must be"),
        ({"coverage": 1.0}, "`coverage` must be"),
        ({"tol": 0}, "`tol` must be"),
    ):
        with pytest.raises(InputError, match=message):
            AnnotatorModel(**params).fit([["a", "b"]])
