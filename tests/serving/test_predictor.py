"""Predictions of rows given as mappings are those of the pipeline for a table."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline

from oneof.errors import DataError, InputError, InputTypeError
from oneof.io import CellFormat, Column, UnreadableCells, align_columns, describe_cells, saved_columns
from oneof.model_selection import get_proba
from oneof.serving import RowPredictor
from tests.serving.models import METHODS, NUMBERS, PATH, fit_birds, new_rows, to_table


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [{}, {"numbers": True}, {"binary": True}], ids=["sparse", "dense", "binary"])
def test_predictions_are_those_of_the_pipeline(method: str, form: dict[str, bool]) -> None:
    """Labels, confidences and probabilities or scores are those of the pipeline, row by row and in a batch."""
    model = fit_birds(method, **form)
    rows, pipeline = new_rows()[:20], model.pipeline
    table = to_table(model, rows)
    predictions = RowPredictor(model).predict(rows)
    assert [row["label"] for row in predictions] == pipeline.predict(table).tolist()
    result = get_proba(pipeline, table)
    np.testing.assert_allclose([row["confidence"] for row in predictions], result.proba.max(axis=1), rtol=1e-12)
    name = "probabilities" if result.calibrated else "scores"
    assert all(list(row[name]) == [str(label) for label in model.classes] for row in predictions)
    values = np.array([list(row[name].values()) for row in predictions])
    if result.calibrated:
        np.testing.assert_allclose(values, result.proba, rtol=1e-12)
    else:
        expected = pipeline.decision_function(table)
        np.testing.assert_allclose(
            values, expected if expected.ndim == 2 else np.column_stack([-expected, expected]), rtol=1e-12
        )
    for row, prediction in zip(rows[:5], predictions, strict=False):
        [alone] = RowPredictor(model).predict([row])
        assert alone["label"] == prediction["label"]
        np.testing.assert_allclose(list(alone[name].values()), list(prediction[name].values()), rtol=1e-6, atol=1e-9)


class Contrary(ClassifierMixin, BaseEstimator):
    """Classifier whose prediction is not the most probable class, as that of scikit-learn's SVC may be."""

    def fit(self, X: Any, y: Any) -> "Contrary":  # noqa: ARG002
        self.classes_ = np.array(["finch", "owl", "wren"])
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile([0.7, 0.2, 0.1], (X.shape[0], 1))

    def predict(self, X: Any) -> Any:
        return np.array(["wren"] * X.shape[0])


def test_other_classifiers_predict_by_their_own_rule() -> None:
    """The label is the one that `predict` of the classifier returns."""
    model = fit_birds("PLEM")
    pipeline = Pipeline([model.pipeline.steps[0], ("contrary", Contrary().fit(None, None))])
    [prediction] = RowPredictor(replace(model, pipeline=pipeline)).predict(new_rows()[:1])
    assert (prediction["label"], prediction["confidence"]) == ("wren", 0.7)


def test_several_threads_get_the_same_predictions() -> None:
    model = fit_birds("LOORidge")
    predictor, rows = RowPredictor(model), new_rows()
    expected = predictor.predict(rows)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(predictor.predict(rows))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
    assert predictor.predict([]) == []
    assert predictor.predict([row | {"color of the eyes": 3} for row in rows]) == expected


@pytest.mark.parametrize("method", ["PLKNN", "HarmonicField"])
@pytest.mark.parametrize("number", [1e300, "-1e300"])
def test_a_number_that_is_too_large_is_named(method: str, number: Any) -> None:
    """The error has the row, the column of the table, and the number; a table in Python has the same one."""
    model, rows = fit_birds(method), new_rows()
    rows[3] |= {"mass": number}
    message = rf"row 3: column 'mass' contains {float(number):g}, which is too large for the model".replace("+", r"\+")
    with pytest.raises(InputError, match=f"^{message}"):
        RowPredictor(model).predict(rows)
    for predict in (model.predict, model.predict_proba):
        with pytest.raises(InputError, match=f"^the table, {message}"):
            predict(rows)


def test_models_that_cannot_predict_rows() -> None:
    model = fit_birds("PLEM")
    with pytest.raises(InputTypeError, match=r"`model` must be a oneof\.persistence\.SavedModel; got Pipeline"):
        RowPredictor(model.pipeline)
    with pytest.raises(InputError, match="the model has no columns"):
        RowPredictor(replace(model, columns=[]))
    with pytest.raises(InputError, match="unknown kind of column, 'sound'"):
        RowPredictor(replace(model, columns=[("song", "sound")]))


# -- Rows given as mappings are read as the cells of a table, alone and in a batch -----------------------------------


MODELS = {"sparse": fit_birds("AvgPerceptron"), "dense": fit_birds("AvgPerceptron", numbers=True)}
BIRD = {"span": 1.5, "mass": None, "migrates": True, "color": "red", "remark": "seen by the river"}
STRICT = RowPredictor(MODELS["sparse"], strict=True)

SCHEMA = {"span": pl.Float64, "mass": pl.Float64, "migrates": pl.Boolean, "color": pl.String, "remark": pl.String}
CELLS = {
    "span": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20),
    "mass": st.none() | st.floats(-9, 9) | st.booleans(),
    "migrates": st.none() | st.booleans(),
    "color": st.none() | st.sampled_from(["red", "gray", "Red ", "", "é"]) | st.text(max_size=5),
    "remark": st.none() | st.text(max_size=20) | st.sampled_from(["seen by the river", "the", "12 barn barn"]),
}


def values_of(predictor: RowPredictor, rows: list[dict[str, Any]]) -> Any:
    """Return the scores of the classes for rows, and the unreadable cells."""
    predictions = predictor.predict(rows)
    values = np.array([list(row[predictor.value_name].values()) for row in predictions])
    return values, [row.get("unreadable", {}) for row in predictions]


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=4))
def test_rows_have_the_scores_of_the_table(name: str, rows: list[dict[str, Any]]) -> None:
    """The scores are those of the pipeline for the table of the rows, for one row as for several."""
    model, predictor = MODELS[name], RowPredictor(MODELS[name])
    # As a table of floats, since polars has no integers above 2^64.
    floats = [row | {name: None if row[name] is None else float(row[name]) for name in NUMBERS} for row in rows]
    columns = [Column(*column) for column in model.columns]
    table = align_columns(pl.DataFrame(floats, schema=SCHEMA), columns, PATH)
    expected = model.pipeline.decision_function(table)
    values, unreadable = values_of(predictor, rows)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    alone = np.vstack([values_of(predictor, [row])[0] for row in rows])
    np.testing.assert_allclose(alone, expected, rtol=1e-6, atol=1e-9)
    assert unreadable == [{}] * len(rows)


def with_tokens(*tokens: str) -> RowPredictor:
    """Return a predictor of a model whose table had further tokens of missing values."""
    cells = {"cells": describe_cells([], CellFormat(missing=tokens))}
    return RowPredictor(replace(MODELS["sparse"], summary=cells))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"span": "1.5"}, {"span": 1.5}),
        ({"span": ""}, {"span": None}),
        ({"span": np.float32(1.5)}, {"span": 1.5}),
        ({"span": 10**30}, {"span": 1e30}),
        ({"migrates": "true"}, {"migrates": True}),
        ({"migrates": 1}, {"migrates": True}),
        ({"color": 3.0}, {"color": "3"}),
        ({"color": True}, {"color": "true"}),
        ({"color": " red"}, {"color": "red"}),
        ({"color": "?"}, {"color": None}),
        ({"remark": "+"}, {"remark": None}),
        ({"mass": 999}, {"mass": None}),
        ({"mass": "999.0"}, {"mass": None}),
        ({"mass": np.float32(999)}, {"mass": None}),
    ],
)
def test_cells_are_read_as_those_of_a_table(cells: dict[str, Any], expected: dict[str, Any]) -> None:
    """Spaces, tokens of missing values, and values of other types, alone and in a batch of other types."""
    predictor = with_tokens("+", "999")
    values, _ = values_of(predictor, [BIRD | expected])
    for rows in ([BIRD | cells], [BIRD | cells, BIRD], [BIRD | cells, BIRD | {"color": 1.5, "mass": True, "span": 2}]):
        found, unreadable = values_of(predictor, rows)
        np.testing.assert_allclose(found[0], values[0], rtol=1e-6)
        assert unreadable[0] == {}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (BIRD | {"span": "wide"}, "row 1: column 'span' must contain numbers; got 'wide'"),
        (BIRD | {"span": "\ud800"}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": [1.0]}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": 10**400}, "row 1: column 'span' must contain numbers; got '1000"),
        (BIRD | {"span": 10**9999}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"migrates": 7}, "row 1: column 'migrates' must contain yes/no values; got 7"),
        (BIRD | {"span": float("inf")}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"color": ["red"]}, "row 1: column 'color' must contain categories; got list."),
        (BIRD | {"remark": object()}, "row 1: column 'remark' must contain text"),
        (
            {"Span ": 1, "mas": 2, "xyz": 3},
            "Use null for a missing value. Did you mean 'span' for 'Span ' and 'mass' for 'mas'?",
        ),
        ({"\ud800span": 1}, "Use null for a missing value."),
        ({"span": 1.0}, "row 1: missing columns 'mass', 'migrates', 'color', 'remark'"),
    ],
)
def test_faults_of_cells(row: dict[str, Any], message: str) -> None:
    """An error names the row and the column."""
    with pytest.raises(DataError) as caught:
        STRICT.predict([BIRD, row])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_half_a_surrogate_pair_is_a_word() -> None:
    """JSON can contain it, and no table can: in a text it is another word. A row that is not a mapping is an error."""
    values, _ = values_of(RowPredictor(MODELS["sparse"]), [BIRD | {"remark": "seen \ud800 by"}])
    assert np.isfinite(values).all()
    for row in (3, None, "x", [1.0]):
        with pytest.raises(InputTypeError, match="row 0 must be an object"):
            STRICT.predict([row])  # type: ignore[list-item]


NUMBER_TEXTS = [
    "1.5", "-2", "1,5", "1,234.5", "1.234,5", "1,234", " 7 ", "1e3", "-", "n.a.", "?", "", "+", "999", "wide", "inf",
]  # fmt: skip
TEXTS = {
    "number": st.sampled_from(NUMBER_TEXTS),
    "yes/no": st.sampled_from(["yes", "No", "TRUE", "0", "1", "7", "perhaps", "-", "+", ""]),
    "category": st.sampled_from(["red", " red", "Red", "new", "NA", "-", "+", "", "3", "3.0"]),
    "date": st.sampled_from(["2021-03-04", "04.03.2021", "3/4/2021", "2021-03-04 10:30", "31.12.", "-", "+", ""]),
    "duration": st.sampled_from(["1:30", "2h 30min", "90", "2 days 03:04:05", "soon", "none", "+", ""]),
    "text": st.sampled_from(["the river", "NA", "+", "", "a hedge by the river, and then another hedge by the barn"]),
}
MESSY = [
    Column("plain", "number"), Column("comma", "number", (",",)), Column("grouped", "number", (",.",)),
    Column("other", "number"), Column("migrates", "yes/no"), Column("color", "category"), Column("shape", "category"),
    Column("day", "date", ("%Y-%m-%d", "%d.%m.%Y")), Column("time", "duration"), Column("remark", "text"),
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.fixed_dictionaries({c.name: TEXTS[c.kind] for c in MESSY}), min_size=1, max_size=5),
    decimal=st.sampled_from([".", ","]),
)
def test_columns_that_are_read_together_are_those_of_each_alone(rows: list[dict[str, str]], decimal: str) -> None:
    """Short columns of the same kind have the values and the unreadable cells of each column, in any format."""
    summary = {"cells": describe_cells(MESSY, CellFormat(decimal, missing=("+", "999")))}
    columns, cell_format = saved_columns([(column.name, column.kind) for column in MESSY], summary)
    found, counts = [], []
    for groups in ([columns], [[column] for column in columns]):
        counts.append(UnreadableCells())
        options = {"cell_format": cell_format, "unreadable": counts[-1]}
        parts = [align_columns(pl.DataFrame(rows), group, PATH, **options) for group in groups]
        found.append(pl.concat(parts, how="horizontal"))
    assert found[0].equals(found[1])
    assert counts[0].to_dict() == counts[1].to_dict()


def test_numbers_of_a_row_have_the_format_of_training() -> None:
    """A column whose decimal separator is not that of its table keeps it: 1.234 is not 1234."""
    columns = [Column("x", "number", (".",)), Column("y", "number", (",",))]
    columns, cell_format = saved_columns(
        [("x", "number"), ("y", "number")], {"cells": describe_cells(columns, CellFormat(","))}
    )
    row = pl.DataFrame({"x": ["1.234"], "y": ["1,234"]})
    assert align_columns(row, columns, PATH, cell_format=cell_format).row(0) == (1.234, 1.234)
    other = replace(cell_format, decimal=".")
    assert align_columns(row, columns, PATH, cell_format=other).row(0) == (1.234, 1234.0)
