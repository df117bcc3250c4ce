"""Fuzzed calls on the answers of annotators: forms of answers, rules, agreement, annotator models and classifiers."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from oneof import PLKNN, GaussianEM, LOORidge, model_selection
from oneof.crowd import (
    AnnotatorModel,
    Answers,
    CrowdClassifier,
    apply_rules,
    krippendorff_alpha,
    krippendorff_interval,
    pairwise_agreement,
)
from oneof.errors import OneofError
from tests.fuzz.calls_on_learners import raised_by_scikit_learn
from tests.fuzz.labels import NAMES
from tests.fuzz.outcome import of_the_caller
from tests.fuzz.parameters import INVALID, NUMBERS
from tests.fuzz.rows import ODD_OBJECTS
from tests.fuzz.strategies import ROWS, SCALARS, SEEDS, Case, either, family, features, just, optional, sets, several

FORMS = (
    *("lists", "tuples", "objects", "integers", "floats", "text", "frame", "indexed frame", "polars", "categorical"),
    *("records", "polars records", "shuffled records", "answers", "answers of records", "rules"),
)
"""Forms of answers to n rows, of which the last six have names of rows."""
ODD_CELLS = (*ODD_OBJECTS, float("nan"), float("inf"), [], ["ant", None], [["ant"]], {"ant": 0.5}, 1 + 1j, 1e300, "yak")


@st.composite
def cells(draw: st.DrawFn, n: int, J: int, K: int) -> Any:
    """Draw a table of answers as an array of objects: labels, sets and missing answers."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = list(NAMES[:K]) if draw(st.booleans()) else list(range(K))
    truth, correct = random.integers(0, K, (n, 1)), draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    chosen = np.where(random.random((n, J)) < correct, truth, random.integers(0, K, (n, J)))
    table = np.empty((n, J), dtype=object)
    set_share, missing = draw(st.sampled_from([0.0, 0.4, 1.0])), draw(st.sampled_from([0.0, 0.4, 0.9]))
    for i, j in np.ndindex(n, J):
        others = [name for name in names if random.random() < 0.4 or name == names[chosen[i, j]]]
        table[i, j] = others if random.random() < set_share else names[chosen[i, j]]
        if i != j % max(n, 1) and random.random() < missing:
            table[i, j] = None
    if draw(either(st.just(False), st.just(True))) and table.size:
        table[random.integers(n), random.integers(J)] = draw(st.sampled_from(ODD_CELLS))
    return table


@st.composite
def answers(draw: st.DrawFn, n: int, K: int, forms: tuple[str, ...] = FORMS) -> Any:
    """Draw answers to n rows in one of the supported forms; in a corrupted case possibly of another one."""
    table = draw(cells(n, draw(st.integers(1, 5)), K))
    valid = just(_in_form(draw(st.sampled_from(forms)), table))
    return draw(either(valid, st.one_of(SCALARS, sets(n, K), features(n, K), just(table.ravel()))))


def _in_form(form: str, table: Any) -> Any:
    """Return a table of objects in another form; itself if the form does not allow its cells."""
    n, J = table.shape
    row, source = (part.ravel() for part in np.indices(table.shape))
    if form in ("integers", "floats", "text", "categorical"):
        labels = [cell[0] if isinstance(cell, list) and cell else cell for cell in table.ravel().tolist()]
        if form == "text":
            return np.array([str(label) for label in labels], dtype=str).reshape(n, J)
        if form == "categorical" and all(isinstance(label, str | None) for label in labels):
            return pd.DataFrame({f"a{j}": pd.Categorical(labels[j::J]) for j in range(J)})
        if all(label is None or type(label) is int for label in labels):
            known = np.array([-1 if label is None else label for label in labels]).reshape(n, J)
            return known if form == "integers" else np.where(known < 0, np.nan, known)
    if form in ("lists", "tuples"):
        return table.tolist() if form == "lists" else tuple(map(tuple, table.tolist()))
    if form in ("frame", "indexed frame"):
        index = range(100, 100 + n) if form == "indexed frame" else None
        return pd.DataFrame(table, columns=[f"a{j}" for j in range(J)], index=index)
    if form == "polars":
        return pl.DataFrame({f"a{j}": pl.Series(table[:, j].tolist(), dtype=pl.Object) for j in range(J)})
    records = {"row": row, "annotator": source, "answer": table.ravel()}
    if form == "records":
        return pd.DataFrame(records)
    if form == "shuffled records":
        return pd.DataFrame(records)[::-1].assign(time=1.0)
    if form == "polars records":
        return pl.DataFrame({**records, "answer": pl.Series(table.ravel().tolist(), dtype=pl.Object)})
    try:
        if form == "answers":
            return Answers.from_table(table)
        if form == "answers of records":
            return Answers.from_records(row, [f"a{j}" for j in source], table.ravel(), index=np.arange(n))
        if form == "rules":
            return Answers.from_table(table, select_rows=True)
    except OneofError:  # reported by another case
        pass
    return table


@st.composite
def gold(draw: st.DrawFn, n: int, K: int) -> Any:
    """Draw known labels of some rows."""
    known = [NAMES[k] if k < K else None for k in np.arange(n) % (K + 1)]
    numbers = np.where(np.arange(n) % 3 == 0, np.arange(n) % K, -1)
    mapping = {int(i): int(numbers[i]) for i in range(0, n, 3)}
    named = dict.fromkeys(range(min(n, 2)), NAMES[0])
    return draw(either(st.sampled_from([known, numbers, mapping, named, {}]), st.one_of(SCALARS, sets(n, K))))


@family(2.0, "crowd.Answers crowd.apply_rules")
@st.composite
def readings(draw: st.DrawFn) -> Case:
    """Draw a call that reads answers, or selects rows of them."""
    n, K = draw(ROWS), draw(st.integers(1, 3))
    table = draw(cells(n, draw(st.integers(1, 4)), K))
    J = table.shape[1]
    classes = either(st.sampled_from([NAMES, list(NAMES[:2]), range(3), [0, 1]]))
    named = draw(optional(classes=classes, select_rows=either(st.booleans())))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        names = either(st.sampled_from([list(NAMES[:J]), np.arange(J)]))
        return _read_table, (draw(answers(n, K, FORMS[:10])),), {**named, **draw(optional(annotators=names))}
    if kind == 1:
        rows, sources = (part.ravel() for part in np.indices(table.shape))
        rows = draw(either(st.sampled_from([rows, rows.tolist(), [f"r{i}" for i in rows], rows * 0.5])))
        sources = draw(either(st.sampled_from([sources, sources.tolist(), [NAMES[j] for j in sources]])))
        index = either(st.sampled_from([np.arange(n), range(n + 2)[::-1], [f"r{i}" for i in range(n)]]))
        flat = draw(either(just(table.ravel()), sets(n, max(K, 2))))
        return _read_records, (rows, sources, flat), {**named, **draw(optional(index=index))}
    if kind == 2:
        rows = st.sampled_from([slice(1, 3), slice(None, None, -1), [0, 1], np.arange(n) % 2 == 0, 0, -1, []])
        return _taken, (draw(answers(n, K)), draw(either(rows, st.just([0, 0])))), {}
    return _voted, (draw(rules(table)), draw(_rows_of_rules(n))), draw(optional(classes=classes))


@st.composite
def rules(draw: st.DrawFn, table: Any) -> Any:
    """Draw rules that vote as the columns of a table, or do not work."""
    calls = [_rule(column) for column in table.T]
    odd = st.sampled_from([[of_the_caller], [*calls, len], [3], [], {}, {"a": calls[0], "b": None}, calls[0], {len}])
    return draw(either(st.sampled_from([calls, tuple(calls), dict(enumerate(calls))]), st.one_of(odd, SCALARS)))


def _rule(column: Any) -> Any:
    votes = iter(column.tolist() * 3)
    return lambda _: next(votes, None)


@st.composite
def _rows_of_rules(draw: st.DrawFn, n: int) -> Any:
    texts = st.sampled_from([["a text"] * n, np.array(["text"] * n), pd.Series(["text"] * n)])
    return draw(st.one_of(either(texts), features(n, 2)))


def _read_table(table: Any, **named: Any) -> Any:
    return _content(Answers.from_table(table, **named))


def _read_records(*columns: Any, **named: Any) -> Any:
    return _content(Answers.from_records(*columns, **named))


def _voted(functions: Any, rows: Any, **named: Any) -> Any:
    return _content(apply_rules(functions, rows, **named))


def _taken(given_: Any, rows: Any) -> Any:
    read = given_ if isinstance(given_, Answers) else Answers.from_table(given_)
    return _content(read[rows]), _content(read.align(read.rows))


def _content(read: Answers) -> Any:
    assert sum(len(read.of_row(i)) for i in range(len(read))) == read.n_answers
    assert len(read) == len(read.rows)
    assert "annotators about" in repr(read)
    return len(read.annotators), len(read.classes), read.n_answers


@family(1.0, "crowd.krippendorff_alpha crowd.krippendorff_interval crowd.pairwise_agreement")
@st.composite
def agreements(draw: st.DrawFn) -> Case:
    """Draw a call of Krippendorff's alpha, of its interval, or of the agreement of pairs."""
    n, K = draw(ROWS), draw(st.integers(1, 3))
    named = draw(
        optional(
            distance=either(st.sampled_from(["nominal", "masi"])),
            classes=either(st.sampled_from([NAMES, range(4)])),
        )
    )
    function = draw(st.sampled_from([krippendorff_alpha, pairwise_agreement, krippendorff_interval]))
    if function is not krippendorff_interval:
        return function, (draw(answers(n, K)),), named
    named |= draw(optional(coverage=either(st.sampled_from([0.5, 0.95, 1e-9, 1 - 1e-12])), random_state=SEEDS))
    return krippendorff_interval, (draw(answers(n, K)),), {**named, "n_samples": draw(several(1, 20))}


@st.composite
def annotator_settings(draw: st.DrawFn, K: int) -> dict[str, Any]:
    """Draw parameters of an annotator model, valid or not."""
    priors = [*("auto", "uniform", "fitted"), np.full(K, 1 / K), [1e-300, *[1.0] * (K - 1)], [1e300] * K]
    return draw(
        optional(
            model=either(st.sampled_from(["confusion", "one_coin"])),
            class_prior=either(st.sampled_from(priors), st.sampled_from([*INVALID, [0.0] * K, [[0.5] * K]])),
            strength=either(st.sampled_from([0, *NUMBERS])),
            classes=either(st.sampled_from([NAMES, list(NAMES[:K]), range(K)])),
            coverage=either(st.sampled_from([0.5, 0.9, 1e-12, 1 - 1e-15])),
            max_iter=several(1, 30),
            tol=either(st.sampled_from(NUMBERS)),
        )
    )


@family(2.0, "crowd.AnnotatorModel")
@st.composite
def annotators(draw: st.DrawFn) -> Case:
    """Draw a fit of an annotator model, with questions to it."""
    n, K = draw(ROWS), draw(st.integers(2, 4))
    named = draw(annotator_settings(K))
    who = either(st.sampled_from([[0], [0, 1], ["a0"], "a0"]))
    asked = draw(optional(n_rows=several(1, 5), n_questions=several(1, 5), annotators=who))
    known = draw(gold(n, K)) if draw(st.booleans()) else None
    return _annotators, (draw(answers(n, K)), known, asked), named


def _annotators(given_: Any, known: Any, asked: dict[str, Any], **named: Any) -> Any:
    model = AnnotatorModel(**named).fit(given_, known)
    fitted = _attributes(model)
    questions = {name: value for name, value in asked.items() if name != "n_rows"}
    return fitted, model.disputed_rows(asked.get("n_rows", 10)), model.next_questions(**questions)


def _attributes(model: AnnotatorModel) -> Any:
    """Return the numbers of a fitted model, after checks of their shapes and ranges."""
    n, J, K = len(model.rows_), len(model.annotators_), len(model.classes_)
    assert model.posterior_.shape == model.candidates_.shape == (n, K)
    np.testing.assert_allclose(model.posterior_.sum(axis=1), 1, rtol=1e-9)
    assert model.confusion_.shape == (J, K, K)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1, rtol=1e-9)
    low, high = model.accuracy_interval_.T
    unknown = np.isnan(model.accuracy_)  # if the answers do not identify it
    assert ((low >= 0) & (low <= high) & (high <= 1) | unknown).all()
    assert ((model.accuracy_ >= 0) & (model.accuracy_ <= 1) | unknown).all()
    accuracies = (np.where(unknown, 0.0, values) for values in (model.accuracy_, low, high))
    numbers = (model.candidates_, model.candidates_.weights, model.posterior_, *accuracies)
    by_class = model.class_accuracies()
    assert by_class.accuracy.shape == by_class.differs.shape == (J, K)
    assert ((by_class.interval >= 0) & (by_class.interval <= 1) | unknown[:, None, None]).all()
    of_classes = np.nan_to_num(by_class.accuracy), np.nan_to_num(by_class.interval)
    numbers = (*numbers, *of_classes, by_class.n_answers, tuple(model.notes_))
    return *numbers, model.confusion_, model.class_prior_, model.n_answers_, model.copied_pairs_, model.are_rules_


@family(1.0, "crowd.CrowdClassifier")
@st.composite
def crowds(draw: st.DrawFn) -> Case:
    """Draw a fit of a classifier to answers."""
    n, K = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3))
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    estimators = [None, LOORidge(kernel="rbf"), PLKNN(n_neighbors=2), GaussianEM(max_iter=20), LogisticRegression()]
    estimators.append(make_pipeline(StandardScaler(), LOORidge(max_iter=3)))
    odd_estimators = st.sampled_from([LinearSVC(), StandardScaler(), PLKNN, LogisticRegression(C=-1), "x", 3])
    named = draw(
        optional(
            estimator=either(st.sampled_from(estimators), odd_estimators),
            cv=either(st.sampled_from([2, 3, model_selection.CandidateKFold(2), splits])),
            annotator_model=either(just(AnnotatorModel(**draw(annotator_settings(K))))),
            max_iter=several(1, 3),
            tol=either(st.sampled_from(NUMBERS)),
            n_jobs=several(1, 1),
            random_state=SEEDS,
        )
    )
    named.setdefault("cv", 2)
    known = draw(gold(n, K)) if draw(st.integers(0, 2)) == 0 else None
    return _crowds, (draw(features(n, 2)), draw(answers(n, K)), known, draw(features(3, 2))), named


def _crowds(*given_: Any, **named: Any) -> Any:
    """Fit a classifier and predict; errors of scikit-learn's own transformers are raised unchanged."""
    if not isinstance(named.get("estimator"), Pipeline):
        return _fit_and_predict(*given_, **named)
    try:
        return _fit_and_predict(*given_, **named)
    except (ValueError, TypeError, RuntimeWarning) as error:
        if not raised_by_scikit_learn(error):
            raise
        return None


def _fit_and_predict(X: Any, given_: Any, known: Any, new: Any, **named: Any) -> Any:
    model = CrowdClassifier(**named).fit(X, given_, known)
    n, K = model.label_distributions_.shape
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, rtol=1e-9)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    assert model.held_out_proba_.shape == (n, K)
    fitted = (model.label_distributions_, model.held_out_proba_, model.classifier_power_, model.answer_power_)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert set(model.predict(new).tolist()) <= set(model.classes_.tolist())
    return _attributes(model.annotator_model_), fitted, model.label_changes_, proba, model.predict(new)
