"""Rows given as mappings have the features of the same rows in a table."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer

from oneof.errors import DataError, InputTypeError
from oneof.io import CellFormat, Column, Table, UnreadableCells, align_columns, choose_columns, make_encoder
from oneof.io.imputer import MedianImputer
from oneof.io.row_encoder import RowEncoder, UnreadableCell
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
    """Spaces and tokens of missing values, the known and the given ones, are read as in the cells of a table."""
    encoder = RowEncoder(ENCODERS["sparse"].columns, MODELS["sparse"].pipeline[0], CellFormat(missing=("+",)))
    rows = [BIRD | {"color": " red", "remark": "+"}, BIRD | {"color": "?", "span": " 1.5 "}, BIRD | {"color": "red"}]
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
    encoder = RowEncoder(columns, model.pipeline[0], CellFormat(missing=("999",)))
    assert_same(encoder.transform([BIRD | {name: value}]), encoder.transform([BIRD | {name: None}]))
    assert_same(encoder.transform([BIRD | {name: value}] * 2), encoder.transform([BIRD | {name: None}] * 2))
    assert_same(encoder.transform([BIRD]), ENCODERS["sparse"].transform([BIRD]))


@pytest.mark.parametrize("value", [7, -1.0, "7", 0.5])
def test_other_numbers_are_not_yes_or_no(value: Any) -> None:
    """A number other than 0 and 1 is an error, or a missing value that is reported."""
    encoder = ENCODERS["sparse"]
    with pytest.raises(DataError, match="row 1: column 'migrates' must contain yes/no values; got"):
        encoder.transform([BIRD, BIRD | {"migrates": value}])
    unreadable: list[UnreadableCell] = []
    encoded = encoder.transform([BIRD | {"migrates": value}], unreadable)
    assert unreadable == [UnreadableCell(0, "migrates", value)]
    assert_same(encoded, encoder.transform([BIRD | {"migrates": None}]))


def test_units_and_dates_of_rows_are_read_as_those_of_a_table() -> None:
    """Prices with a unit, and dates of eight digits, have the features of the same cells of a table."""
    table = pl.DataFrame({"price": ["1,234.50 EUR", "2 EUR", "3 EUR"] * 7, "day": [20210314, 20210401, 20191231] * 7})
    columns, _ = choose_columns(Table(table, PATH), exclude=[])
    assert [column.kind for column in columns] == ["number", "date"]
    frame = align_columns(table, columns, PATH)
    transformer = make_encoder(columns).fit(frame)
    encoder = RowEncoder(columns, transformer)
    expected = transformer.transform(frame[:3])
    assert_same(encoder.transform(table[:3].to_dicts()), expected)
    assert_same(encoder.transform(table[1:2].with_columns(pl.col("day").cast(float)).to_dicts()), expected[1:2])
    unreadable: list[UnreadableCell] = []
    encoder.transform([{"price": "2 USD", "day": "2021-03-14"}], unreadable)
    assert [cell.column for cell in unreadable] == ["price"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (BIRD | {"span": "wide"}, "row 1: column 'span' must contain numbers; got 'wide'"),
        (BIRD | {"span": "\ud800"}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": [1.0]}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": {"a": 1}}, "row 1: column 'span' must contain numbers"),
        (BIRD | {"span": 10**400}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"remark": "\ud800"}, "row 1: column 'remark' must contain text"),
        (BIRD | {"span": float("inf")}, "row 1: column 'span' must contain finite numbers"),
        (BIRD | {"color": ["red"]}, "row 1: column 'color' must contain text"),
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
        ENCODERS["sparse"].transform([BIRD, row])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


TEXTS = {
    "number": st.sampled_from(
        [
            "1.5",
            "-2",
            "1,5",
            "1,234.5",
            "1.234,5",
            "1,234",
            " 7 ",
            "1e3",
            "-",
            "n.a.",
            "?",
            "",
            "+",
            "999",
            "wide",
            "inf",
        ]
    ),
    "yes/no": st.sampled_from(["yes", "No", "TRUE", "0", "1", "7", "perhaps", "-", "+", ""]),
    "category": st.sampled_from(["red", " red", "Red", "new", "NA", "-", "+", "", "3", "3.0"]),
    "date": st.sampled_from(["2021-03-04", "04.03.2021", "3/4/2021", "2021-03-04 10:30", "31.12.", "-", "+", ""]),
    "duration": st.sampled_from(["1:30", "2h 30min", "90", "2 days 03:04:05", "soon", "none", "+", ""]),
    "text": st.sampled_from(["the river", "NA", "+", "", "a hedge by the river, and then another hedge by the barn"]),
}
MESSY = [
    Column("plain", "number"), Column("comma", "number", (",",)), Column("grouped", "number", (",.",)),
    Column("other", "number"), Column("migrates", "yes/no"), Column("color", "category"),
    Column("day", "date", ("%Y-%m-%d", "%d.%m.%Y")), Column("time", "duration"), Column("remark", "text"),
]  # fmt: skip


def fit_messy() -> Any:
    """Return the encoder of a table with columns of every kind."""
    numbers = {column.name: [1.0, None, 3.5, 2.0] for column in MESSY if column.kind in ("number", "duration")}
    frame = pl.DataFrame(
        numbers
        | {"migrates": [1.0, 0.0, None, 1.0], "color": ["red", "", "gray", "red"]}
        | {"day": [18_000.25, 18_400.5, None, 18_800.0], "remark": ["the river", "a barn", "", "the hedge"]}
    )
    frame = frame.select(column.name for column in MESSY).with_columns(pl.col(pl.Float64).fill_null(float("nan")))
    return make_encoder(MESSY).fit(frame)


MESSY_TRANSFORMER = fit_messy()


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.fixed_dictionaries({c.name: TEXTS[c.kind] for c in MESSY}), min_size=1, max_size=5),
    decimal=st.sampled_from([".", ","]),
)
def test_texts_have_the_features_of_a_table_of_texts(rows: list[dict[str, str]], decimal: str) -> None:
    """The features, and the row, column and text of each unreadable cell, are those of the table of the same cells."""
    cell_format = CellFormat(decimal, missing=("+", "999"))
    encoder = RowEncoder(MESSY, MESSY_TRANSFORMER, cell_format)
    assert encoder._blocks is not None
    frame, expected, features = pl.DataFrame(rows), [], []
    for column in encoder.columns:
        own = replace(cell_format, decimal=column.formats[0][-1]) if column.kind == "number" else cell_format
        counted = UnreadableCells()
        features.append(align_columns(frame, [column], PATH, cell_format=own, unreadable=counted))
        expected += [(row, column.name, rows[row][column.name]) for row, _ in counted.examples.get(column.name, [])]
    unreadable: list[UnreadableCell] = []
    encoded = encoder.transform(rows, unreadable)
    assert_same(encoded, MESSY_TRANSFORMER.transform(pl.concat(features, how="horizontal")))
    assert sorted(unreadable) == sorted(expected)
    if expected:
        with pytest.raises(DataError, match="must contain"):
            encoder.transform(rows)
    again: list[UnreadableCell] = []
    assert_same(encoder.transform(rows, again), encoded)
    assert again == unreadable


@pytest.mark.parametrize("part", ["numbers", "dates", "booleans", "categories"])
def test_each_part_is_compared(part: str) -> None:
    """If the compiled form of any part differs from the fitted part, rows become a table."""
    transformer = fit_messy()
    fitted = transformer.named_transformers_[part]
    transform = fitted.transform
    object.__setattr__(fitted, "transform", lambda X: transform(X) * 2)
    encoder = RowEncoder(MESSY, transformer)
    assert (encoder._blocks is None) == (part != "dates")  # the part of dates is called, not compiled
    row = {"plain": 1.0, "comma": 2.0, "grouped": 3.0, "other": 4.0, "migrates": True, "color": "red"}
    row |= {"day": "2021-03-04", "time": "1:30", "remark": "the river"}
    table = align_columns(pl.DataFrame([row]), MESSY, PATH)
    assert_same(encoder.transform([row]), transformer.transform(table))


def test_permuted_categories_are_noticed() -> None:
    """The codes of all categories are compared, not only those of missing and unseen values."""
    transformer = fit_messy()
    fitted = transformer.named_transformers_["categories"]
    transform = fitted.transform
    object.__setattr__(fitted, "transform", lambda X: transform(X)[:, [0, 2, 1]])
    assert RowEncoder(MESSY, transformer)._blocks is None


def test_rows_that_are_not_mappings() -> None:
    for row in (3, None, "x", [1.0]):
        with pytest.raises(InputTypeError, match="row 0 must be an object"), warnings.catch_warnings():
            ENCODERS["sparse"].transform([row])  # type: ignore[list-item]
