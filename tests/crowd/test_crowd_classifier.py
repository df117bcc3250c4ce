"""A classifier and the annotators, fitted in turn."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from oneof import CLPL, PLEM, AvgPerceptron, GaussianEM, LOORidge
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier
from oneof.errors import InputError, InputTypeError
from oneof.text import make_vectorizer
from tests.crowd.simulated import crowd

KINDS = [*["honest"] * 3, *["spammer"] * 2]
ESTIMATORS = [
    LOORidge(kernel="rbf", features="standard"),
    make_pipeline(StandardScaler(), LOORidge(kernel="rbf", features="standard")),
    GaussianEM(covariance="tied"),
    CLPL(),
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    AvgPerceptron(average=True),
    KNeighborsClassifier(n_neighbors=100),  # ten copies of each row
]


@pytest.fixture(scope="module")
def data():
    y, table, _ = crowd(KINDS, np.random.default_rng(0), n_rows=150, n_classes=3)
    X = 2.5 * np.eye(3)[y] + np.random.default_rng(1).normal(size=(150, 3))
    return X, y, table


@pytest.mark.long
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e[-1] if hasattr(e, "steps") else e).__name__)
def test_labels_are_better_than_those_of_the_answers_alone(data, estimator):
    X, y, table = data
    model = CrowdClassifier(estimator, cv=3, random_state=0).fit(X, table)
    answers_alone = AnnotatorModel().fit(table)
    assert (model.transduction_ == y).mean() > (answers_alone.transduction_ == y).mean()
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    assert model.n_iter_ == len(model.label_changes_)
    # The rounds also end at the best one, if later predictions make the answers less likely.
    assert model.label_changes_[-1] <= model.tol or model.n_iter_ < model.max_iter
    again = clone(model).fit(X, table)
    np.testing.assert_array_equal(again.label_distributions_, model.label_distributions_)


def test_probabilities_are_those_of_the_estimator_over_all_classes(data):
    X, _, table = data
    classes = ["0", "1", "2", "never"]
    named = [[None if a is None else str(a) for a in row] for row in table]
    for estimator in (LogisticRegression(), LOORidge(kernel="rbf", features="standard")):
        annotators = AnnotatorModel(classes=classes)
        model = CrowdClassifier(estimator, cv=3, random_state=0, annotator_model=annotators)
        proba = model.fit(X, named).predict_proba(X)
        assert proba.shape == (150, 4)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert "never" not in model.predict(X)


def test_records_of_some_rows_and_the_index_of_a_data_frame(data):
    X, y, table = data
    row, source = np.nonzero(table[:100] != None)  # noqa: E711 - elementwise
    records = Answers.from_records(row, source, [table[i, j] for i, j in zip(row, source)])
    model = CrowdClassifier(LogisticRegression(), cv=3, random_state=0).fit(X, records)
    assert model.label_distributions_.shape == (150, 3)
    assert (model.transduction_ == y)[100:].mean() > 0.7
    np.testing.assert_allclose(model.label_distributions_[100:], model.held_out_proba_[100:])
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(150)])
    named = Answers.from_records([f"row {i}" for i in row], source, [table[i, j] for i, j in zip(row, source)])
    other = CrowdClassifier(LogisticRegression(), cv=3, random_state=0).fit(frame, named)
    np.testing.assert_allclose(other.label_distributions_, model.label_distributions_, atol=1e-6)


def test_rows_without_an_index_are_in_the_order_of_the_answers(data):
    """Names given by `index` are in the order of X; sorted names, and those of a data frame, must be those of X."""
    X, _, table = data
    row, source = np.nonzero(table != None)  # noqa: E711 - elementwise
    values = [table[i, j] for i, j in zip(row, source)]
    names = [f"row {i}" for i in range(150)]  # not sorted
    records = [names[i] for i in row], source, values
    model = CrowdClassifier(LogisticRegression(), cv=3, random_state=0)
    expected = model.fit(X, table).label_distributions_
    given = Answers.from_records(*records, index=names)
    for rows in (X, pl.DataFrame(X), X.tolist()):
        np.testing.assert_allclose(model.fit(rows, given).label_distributions_, expected, atol=1e-6)
    assert given[::-1].rows[0] == "row 149"
    permuted = Answers.from_records(row, source, values, index=np.arange(150)[::-1])  # numbers of rows are their names
    np.testing.assert_allclose(model.fit(X, permuted).label_distributions_, expected, atol=1e-6)
    with pytest.raises(InputError, match=r"`X`, which has no names of rows\..*pass index= to Answers"):
        model.fit(X, Answers.from_records(*records))
    with pytest.raises(InputError, match=r"which has other names.*such as X\.set_index"):
        model.fit(pd.DataFrame(X), given)


def test_tables_of_pandas_are_joined_by_the_index(data):
    """The order of the rows of a table does not matter; names that leave the order open are errors."""
    X, _, table = data
    names = [f"row {i}" for i in range(150)]
    order = np.random.default_rng(0).permutation(150)
    frame, answers = pd.DataFrame(X, index=names), pd.DataFrame(table, index=names)
    model = CrowdClassifier(LogisticRegression(), cv=3, random_state=0)
    expected = model.fit(X, table).label_distributions_
    same_order = pd.DataFrame(table)  # numbered rows are in the order of X
    for given in (answers, answers.iloc[order], same_order):
        np.testing.assert_allclose(model.fit(frame, given).label_distributions_, expected, atol=1e-6)
    few = model.fit(frame, answers.iloc[order[:100]]).label_distributions_
    np.testing.assert_allclose(few, model.fit(frame, answers.iloc[np.sort(order[:100])]).label_distributions_)
    with pytest.raises(InputError, match="the same numbers in another order"):
        model.fit(pd.DataFrame(X).iloc[order], same_order)
    with pytest.raises(InputError, match="such as 'x0', cannot be found in `X`, which has other names"):
        model.fit(frame, answers.set_axis([f"x{i}" for i in range(150)]))
    with pytest.raises(InputError, match="rows of `answers`, such as 'row 0', cannot be found in `X`"):
        model.fit(pd.DataFrame(X), answers)
    for rows in (X, pl.DataFrame(X)):
        with pytest.raises(InputError, match=r"'row 149', cannot .* has no names of rows.*pass answers\.to_numpy"):
            model.fit(rows, answers[::-1])
        np.testing.assert_allclose(model.fit(rows, answers.to_numpy()).label_distributions_, expected, atol=1e-6)
    np.testing.assert_allclose(model.fit(pd.DataFrame(X), answers.to_numpy()).label_distributions_, expected, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("estimator", [LogisticRegression(), LOORidge(kernel="rbf"), GaussianEM(covariance="tied")])
def test_features_without_information_leave_the_labels_of_the_answers(data, estimator):
    _, _, table = data
    X = np.random.default_rng(2).normal(size=(150, 3))
    with pytest.warns(UserWarning, match="features do not predict the answers"):
        model = CrowdClassifier(estimator, cv=3, random_state=0).fit(X, table)
    np.testing.assert_array_equal(model.label_distributions_, AnnotatorModel().fit(table).posterior_)
    assert model.classifier_power_ == 0


def test_gold_labels_are_kept(data):
    X, y, table = data
    gold = [int(label) if i % 5 == 0 else None for i, label in enumerate(y)]
    for estimator in (LogisticRegression(), LOORidge(kernel="rbf", features="standard")):
        model = CrowdClassifier(estimator, cv=3, random_state=0).fit(X, table, gold)
        np.testing.assert_array_equal(model.label_distributions_[::5], np.eye(3)[y[::5]])


def test_a_splitter_predicts_each_row_once(data):
    X, _, table = data
    model = CrowdClassifier(PLEM(), cv=KFold(2)).fit(X, table)
    assert np.isfinite(model.held_out_proba_).all()
    overlapping = [(np.arange(75, 150), np.arange(75)), (np.arange(75), np.arange(70, 150))]
    with pytest.raises(InputError, match="exactly one test subset; row 70 is in 2"):
        CrowdClassifier(PLEM(), cv=overlapping).fit(X, table)


def test_progress_is_reported_after_each_round(data, caplog):
    """The function and the logger have the number of the round and the change of the labels."""
    X, _, table = data
    calls = []
    with caplog.at_level("INFO", logger="oneof"):
        model = CrowdClassifier(CLPL(), cv=2, random_state=0)
        model.fit(X, table, progress=lambda *values: calls.append(values))
    logged = [record.getMessage() for record in caplog.records if record.name == "oneof"]
    assert logged == [f"CrowdClassifier: {name}" for _, _, name, _ in calls]
    assert [done for done, _, _, _ in calls] == list(range(1, model.n_iter_ + 1))
    assert all(f"{change:.3f}" in name for (_, _, name, _), change in zip(calls, model.label_changes_, strict=True))
    with pytest.raises(InputTypeError, match="`progress` must be a function or None; got 3"):
        model.fit(X, table, progress=3)


def test_invalid_arguments_are_errors(data):
    X, _, table = data
    with pytest.raises(InputError, match="`estimator` must have predict_proba"):
        CrowdClassifier(LinearSVC()).fit(X, table)
    with pytest.raises(InputTypeError, match="`annotator_model` must be an instance of AnnotatorModel"):
        CrowdClassifier(annotator_model=LOORidge()).fit(X, table)
    with pytest.raises(InputError, match="about 150 rows, but `X` has 100"):
        CrowdClassifier().fit(X[:100], table)
    with pytest.raises(InputError, match="about 140 rows, but `X` has 150"):
        CrowdClassifier().fit(X, table[:140])
    with pytest.raises(InputError, match="about the row 200, which the table does not have"):
        CrowdClassifier().fit(X, Answers.from_records([0, 200], [0, 1], ["a", "b"]))
    with pytest.raises(InputError, match="must have predict_proba; CLPL"):
        CrowdClassifier(CLPL(), cv=3, random_state=0).fit(X, table).predict_proba(X)


@pytest.mark.parametrize("estimator", [LOORidge(), LogisticRegression()], ids=["LOORidge", "LogisticRegression"])
def test_labels_of_rules_are_those_of_their_votes_alone(data, estimator):
    """Rules are functions of the features: their votes are not independent of the predictions, given the class."""
    X, _, table = data
    rules = Answers.from_table(table, select_rows=True)
    model = CrowdClassifier(estimator, cv=3, random_state=0).fit(X, rules)
    alone = AnnotatorModel().fit(rules)
    np.testing.assert_array_equal(model.label_distributions_, alone.posterior_)
    np.testing.assert_array_equal(model.annotator_model_.accuracy_, alone.accuracy_)
    assert model.classifier_power_ == 0
    assert model.answer_power_ == 1
    assert model.n_iter_ == 0


def test_raw_texts_are_accepted_by_a_pipeline_with_a_vectorizer():
    """A list, an array and a Series of texts have the same labels, which are better than those of the answers alone."""
    rng = np.random.default_rng(0)
    words = np.array(
        [["invoice", "pay", "bank", "due"], ["send", "order", "size", "ship"], ["late", "bad", "worn", "no"]]
    )
    y = rng.integers(3, size=150)
    texts = [" ".join([*rng.choice(words[k], 2), *rng.choice(["the", "a", "we", "you", "my"], 4)]) for k in y]
    table = np.where(rng.random((150, 3)) < 0.6, y[:, None], rng.integers(0, 3, (150, 3)))
    pipeline = make_pipeline(make_vectorizer(), LogisticRegression())
    fits = [
        CrowdClassifier(pipeline, random_state=0).fit(X, table)
        for X in (texts, np.array(texts, dtype=object), pd.Series(texts))
    ]
    for model in fits:
        np.testing.assert_array_equal(model.label_distributions_, fits[0].label_distributions_)
        assert model.predict(["pay the invoice", "late, bad, worn"]).tolist() == [0, 2]
    assert np.mean(fits[0].transduction_ == y) > np.mean(AnnotatorModel().fit(table).transduction_ == y) + 0.1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_rounds_that_confirm_errors_are_not_kept(seed):
    """The rounds end before the held-out predictions make the answers less likely: features do not lower accuracy."""
    rng = np.random.default_rng(seed)
    y = rng.choice(6, 400, p=[0.26, 0.02, 0.2, 0.2, 0.16, 0.16])
    words, identity = np.where(rng.random(400) < 0.6, y, rng.integers(0, 6, 400)), np.eye(18)
    words = identity[3 * words + rng.integers(0, 3, 400)] + identity[3 * words + rng.integers(0, 3, 400)]
    X = np.hstack([rng.normal(0, 0.8, (6, 20))[y] + rng.normal(0, 1.3, (400, 20)), words])
    right = rng.random((400, 4)) < [0.88, 0.78, 0.35, 0.55]
    table = np.where(right, y[:, None], rng.integers(0, 6, (400, 4)))
    table[rng.random((400, 4)) < 0.5] = -1
    answered = (table >= 0).any(axis=1)
    alone = (AnnotatorModel().fit(table).transduction_ == y)[answered].mean()
    model = CrowdClassifier(random_state=0).fit(X, table)
    assert model.n_iter_ < model.max_iter
    assert (model.transduction_ == y)[answered].mean() > alone


def _contradiction(alone, accuracy, interval):
    """Return the note of a model with other accuracies than those of the answers alone."""
    model = copy.copy(alone)
    model._alone, model.accuracy_, model.accuracy_interval_ = alone, accuracy, interval
    [note] = [note for note in model.notes_ if "contradict" in note]
    return note


def test_features_that_contradict_the_answers_have_a_note():
    """The annotator whose accuracy changes most is named if its interval and that by the answers alone are disjoint."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    table = np.where(rng.random((200, 3)) < 0.9, y[:, None], rng.integers(0, 3, (200, 3)))
    crowd = CrowdClassifier(LogisticRegression(), random_state=0)
    model, alone = crowd.fit(np.eye(3)[y], table).annotator_model_, AnnotatorModel().fit(table)
    assert not [note for note in (*alone.notes_, *model.notes_) if "contradict" in note]
    shift = np.array([0.0, -1.1, -1.2]) * np.ptp(alone.accuracy_interval_, axis=1)
    shifted = alone.accuracy_ + shift, alone.accuracy_interval_ + shift[:, None]
    note = _contradiction(alone, *shifted)
    before, after = alone.accuracy_[2], shifted[0][2]
    assert "contradict each other about 2 of 3 annotators: 2 is right" in note
    assert f"right in {before:.0%} by the answers alone, and in {after:.0%} with the predictions." in note
    assert "Give the true labels of at least 50 rows (`gold`, or --gold on the command line)" in note
    known = AnnotatorModel().fit(table, dict(enumerate(y[:60])))
    shift = np.array([0.0, -1.1, -1.2]) * np.ptp(known.accuracy_interval_, axis=1)
    shifted = known.accuracy_ + shift, known.accuracy_interval_ + shift[:, None]
    note = _contradiction(known, *shifted)
    assert "Compare the answers with the 60 known labels" in note
    assert "at least 50" not in note


@pytest.mark.long
@pytest.mark.parametrize("estimator", [PLEM(), LogisticRegression(), LOORidge(kernel="rbf", features="l2")])
def test_sparse_rows_are_equal_to_dense_rows(data, estimator):
    X, _, table = data
    dense, sparse = (CrowdClassifier(estimator, cv=2, tol=0.05, random_state=0).fit(form(X), table)
                     for form in (np.asarray, sp.csr_array))  # fmt: skip
    np.testing.assert_allclose(sparse.label_distributions_, dense.label_distributions_, atol=1e-4)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))


def test_columns_of_a_data_frame_reach_a_pipeline(data):
    X, y, table = data
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    columns = make_column_transformer((StandardScaler(), ["x", "y", "z"]))
    model = CrowdClassifier(make_pipeline(columns, LogisticRegression()), cv=2, tol=0.05, random_state=0)
    assert model.fit(frame, table).score(frame, y) > 0.8
