"""Rows given as mappings have the features of the same rows in a table."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer

from oneof.errors import DataError, InputTypeError
from oneof.io import CellFormat, Column, align_columns, make_encoder
from oneof.io.imputer import MedianImputer
from oneof.io.row_encoder import RowEncoder
from oneof.stream.encoder import StreamEncoder
from tests.serving.models import NUMBERS, PATH, fit_birds, new_rows, to_table

MODELS = {"sparse": fit_birds("AvgPerceptron"), "dense": fit_birds("AvgPerceptron", numbers=True)}
ENCODERS = {
    name: RowEncoder([Column(*column) for column in model.columns], model.pipeline[0]) for name, model in MODELS.items()
}
BIRD = {"span": 1.5, "mass": None, "migrates": True, "color": "red", "remark": "seen by the river"}

SCHEMA = {"span": pl.Float64, "mass": pl.Float64, "migrates": pl.Boolean, "color": pl.String, "remark": pl.String}
CELLS = {
    "span": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20),
    "mass": st.none() | st.floats(-9, 9) | st.booleans(),
    "migrates": st.none() | st.booleans(),
    "color": st.none() | st.sampled_from(["red", "gray", "Red ", "", "é"]) | st.text(max_size=5),
    "remark": st.none() | st.text(max_size=20) | st.sampled_from(["seen by the river", "the", "12 barn barn"]),
}


def assert_same(encoded: Any, expected: Any) -> None:
    """Assert that two arrays, or two CSR matrices, are equal to the last bit."""
    assert sp.issparse(encoded) == sp.issparse(expected)
    assert encoded.dtype == expected.dtype
    a, b = (X.toarray() if sp.issparse(X) else X for X in (encoded, expected))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ENCODERS)
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=4))
def test_rows_have_the_features_of_the_table(kind: str, rows: list[dict[str, Any]]) -> None:
    """The features are those of the transformer of tables, to the last bit, for one row as for several."""
    model, encoder = MODELS[kind], ENCODERS[kind]
    assert encoder._blocks is not None
    # As a table of floats, since polars has no integers above 2^64.
    floats = [row | {name: None if row[name] is None else float(row[name]) for name in NUMBERS} for row in rows]
    columns = [Column(*column) for column in model.columns]
    table = align_columns(pl.DataFrame(floats, schema=SCHEMA), columns, PATH)
    assert_same(encoder.transform(rows), model.pipeline[0].transform(table))


def test_other_transformers_get_a_table() -> None:
    """The rows of a hashing encoder, which is not compiled, become a table with the same features."""
    model = MODELS["sparse"]
    rows = new_rows()
    table = to_table(model, rows)
    columns = [Column(*column) for column in model.columns]
    hashing = StreamEncoder(columns, hash_bits=8)
    hashing, _ = hashing.partial_fit_transform(table)
    encoder = RowEncoder(columns, hashing)
    assert encoder._blocks is None
    assert_same(encoder.transform(rows), hashing.transform(table))


def test_an_unknown_part_gets_a_table_of_its_columns() -> None:
    """A part of another kind, such as a scaler alone, transforms its own columns only."""
    model = MODELS["sparse"]
    columns = [Column(*column) for column in model.columns]
    table = to_table(model, new_rows())
    parts = [(name, part, selected) for name, part, selected in model.pipeline[0].transformers if name != "booleans"]
    transformer = ColumnTransformer([*parts, ("ranks", MedianImputer(), [0, 2])]).fit(table)
    encoder = RowEncoder(columns, transformer)
    assert encoder._blocks is not None
    assert_same(encoder.transform(new_rows(2)), transformer.transform(to_table(model, new_rows(2))))


def test_texts_are_read_as_those_of_a_table() -> None:
    """Texts that are not known values are read by the given function: spaces, tokens of missing values, other kinds."""

    def align(frame: pl.DataFrame, columns: list[Column]) -> pl.DataFrame:
        texts = pl.col(pl.String).str.strip_chars().replace("?", "")
        return align_columns(frame.with_columns(texts), columns, PATH)

    encoder = RowEncoder(ENCODERS["sparse"].columns, MODELS["sparse"].pipeline[0], align)
    rows = [BIRD | {"color": " red", "remark": "?"}, BIRD | {"color": "?", "span": " 1.5 "}, BIRD | {"color": "red"}]
    plain = [BIRD | {"remark": None}, BIRD | {"color": None}, BIRD]
    assert_same(encoder.transform(rows), ENCODERS["sparse"].transform(plain))
    for row, other in zip(rows, plain, strict=True):
        assert_same(encoder.transform([row]), ENCODERS["sparse"].transform([other]))


def test_a_part_with_other_numbers_is_not_compiled() -> None:
    """If the arrays of a part do not give its features, as in another version of it, the rows become a table."""
    model = fit_birds("AvgPerceptron", numbers=True)
    columns = [Column(*column) for column in model.columns]
    transformer = make_encoder(columns).fit(to_table(model, new_rows()))
    scaler = transformer.named_transformers_["numbers"][-1]
    scaler.transform = lambda X: X * 2.0
    encoder = RowEncoder(columns, transformer)
    assert encoder._blocks is None
    assert_same(encoder.transform(new_rows()), transformer.transform(to_table(model, new_rows())))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"span": "1.5"}, {"span": 1.5}),
        ({"span": ""}, {"span": None}),
        ({"span": np.float32(1.5)}, {"span": 1.5}),
        ({"migrates": "true"}, {"migrates": True}),
        ({"migrates": 1}, {"migrates": True}),
        ({"color": 3}, {"color": "3"}),
        ({"color": 3.0}, {"color": "3"}),
        ({"color": True}, {"color": "true"}),
    ],
)
def test_unusual_cells_are_read_as_those_of_a_table(cells: dict[str, Any], expected: dict[str, Any]) -> None:
    encoder = ENCODERS["sparse"]
    assert_same(encoder.transform([BIRD | cells]), encoder.transform([BIRD | expected]))


@pytest.mark.parametrize("value", [999, 999.0, "999", "999.0", np.float32(999)])
@pytest.mark.parametrize("name", ["span", "mass"])
def test_numbers_that_are_tokens_are_missing(name: str, value: Any) -> None:
    """A token that is a number is missing in a row of any type, as in a table."""
    model = MODELS["sparse"]
    columns = [Column(*column) for column in model.columns]
    encoder = RowEncoder(columns, model.pipeline[0], cell_format=CellFormat(missing=("999",)))
    assert_same(encoder.transform([BIRD | {name: value}]), encoder.transform([BIRD | {name: None}]))
    assert_same(encoder.transform([BIRD | {name: value}] * 2), encoder.transform([BIRD | {name: None}] * 2))
    assert_same(encoder.transform([BIRD]), ENCODERS["sparse"].transform([BIRD]))


def test_the_arrays_of_categories_are_compared_with_the_transformer() -> None:
    """If the codes of a known category do not give its features, the rows become a table."""
    model = fit_birds("AvgPerceptron")
    columns = [Column(*column) for column in model.columns]
    transformer = make_encoder(columns).fit(to_table(model, new_rows()))
    categories = transformer.named_transformers_["categories"]
    transform = categories.transform
    categories.transform = lambda X: transform(X) * 2.0
    encoder = RowEncoder(columns, transformer)
    assert encoder._blocks is None
    assert_same(encoder.transform(new_rows()), transformer.transform(to_table(model, new_rows())))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (BIRD | {"span": "wide"}, "row 1: column 'span' must contain numbers; got 'wide'"),
        (BIRD | {"span": "\ud800"}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": [1.0]}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": {"a": 1}}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": 10**400}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"span": float("inf")}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"migrates": 7}, "row 1: column 'migrates' must contain yes/no values; got 7"),
        (BIRD | {"migrates": -1.0}, "row 1: column 'migrates' must contain yes/no values; got -1.0"),
        (BIRD | {"color": ["red"]}, "row 1: column 'color' must contain text"),
        (BIRD | {"remark": object()}, "row 1: column 'remark' must contain text"),
        ({"span": 1.0}, "row 1: missing columns 'mass', 'migrates', 'color', 'remark'"),
    ],
)
def test_faults_of_cells(row: dict[str, Any], message: str) -> None:
    """An error names the row and the column."""
    with pytest.raises(DataError) as caught:
        ENCODERS["sparse"].transform([BIRD, row])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_that_are_not_mappings() -> None:
    for row in (3, None, "x", [1.0]):
        with pytest.raises(InputTypeError, match="row 0 must be an object"), warnings.catch_warnings():
            ENCODERS["sparse"].transform([row])  # type: ignore[list-item]
