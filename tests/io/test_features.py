"""Features: the kinds of columns and their encoding."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof.errors import DataError
from oneof.io import (
    CellFormat,
    Column,
    Kind,
    Overrides,
    Table,
    UnreadableCells,
    align_columns,
    choose_columns,
    find_column,
    make_encoder,
)
from oneof.io.encoder import calendar_features

PATH = Path("t.csv")
N = 60


@pytest.fixture
def table() -> Table:
    generator = np.random.default_rng(0)
    words = ["quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "seven", "wizards", "watch"]
    frame = pl.DataFrame(
        {
            "id": range(N),
            "name": [f"row{i}" for i in range(N)],
            "size": [None if i % 7 == 0 else float(generator.normal()) for i in range(N)],
            "count": generator.integers(0, 9, N),
            "wet": [bool(i % 2) for i in range(N)],
            "color": [None if i % 5 == 0 else ["red", "green", "blue"][i % 3] for i in range(N)],
            "remark": [" ".join(generator.choice(words, 6)) for _ in range(N)],
            "constant": ["x"] * N,
            "empty": pl.Series([None] * N, dtype=pl.String),
            "day": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 1) + pl.duration(days=N - 1), eager=True),
            "sets": [["a"]] * N,
            "label": ["a"] * N,
        }
    )
    return Table(frame, PATH)


def test_kinds_of_columns(table: Table) -> None:
    """Each kind is inferred, uninformative columns are excluded, and each inferred exclusion has a note."""
    columns, findings = choose_columns(table, exclude=["label"])
    assert [(column.name, column.kind) for column in columns] == [
        ("size", "number"),
        ("count", "number"),
        ("wet", "yes/no"),
        ("color", "category"),
        ("remark", "text"),
        ("day", "date"),
    ]
    assert {(found.kind, found.column) for found in findings.findings()} == {
        ("excluded", name) for name in ("id", "name", "empty", "constant", "sets")
    }
    assert "column 'constant' is excluded: one value" in findings.sentences()[0]


def test_overrides_take_precedence(table: Table) -> None:
    overrides = Overrides(numbers=("id",), categories=("count",), texts=("color",), drop=("rem*", "size", "d?y"))
    columns, _ = choose_columns(table, exclude=["label"], overrides=overrides)
    assert columns == [
        Column("id", "number"),
        Column("count", "category"),
        Column("wet", "yes/no"),
        Column("color", "text"),
    ]
    with pytest.raises(DataError, match="column 'colr' does not exist: did you mean 'color'"):
        choose_columns(table, exclude=[], overrides=Overrides(texts=("colr",)))
    with pytest.raises(DataError, match="must have one kind; got number and text"):
        choose_columns(table, exclude=[], overrides=Overrides(numbers=("id",), texts=("id",)))
    with pytest.raises(DataError, match="no feature column remains"):
        choose_columns(Table(table.frame.select("label", "constant"), PATH), exclude=["label"])


def test_labels_of_the_format_are_not_features() -> None:
    """Columns that the format marks as labels are never features, even if they are not used as labels."""
    frame = pl.DataFrame({"x": [1.0, 2.5], "y": ["a", "b"], "candidates": [["a"], ["b"]]})
    columns, _ = choose_columns(Table(frame, PATH, ("y", "candidates")), exclude=["candidates"])
    assert columns == [Column("x", "number")]


def test_the_encoder(table: Table) -> None:
    """Numbers have mean 0 and variance 1; missing numbers are the median; a missing category is a value."""
    columns, _ = choose_columns(table, exclude=["label"])
    frame = align_columns(table.frame, columns, PATH)
    numeric = [c for c in columns if c.kind == "number"]
    numbers = make_encoder(numeric).fit_transform(frame.select([c.name for c in numeric]))
    assert numbers.shape == (N, 3)  # size, count, and whether size is missing
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    gone = table.frame["size"].is_null().to_numpy()
    assert np.unique(numbers[gone, 0]).size == 1
    assert np.array_equal(numbers[:, 2] > 0, gone)
    colors = frame.select("color")
    categories = make_encoder([Column("color", "category")]).fit(colors)
    encoded = categories.transform(colors)
    assert np.asarray(encoded.sum(axis=1)).ravel().tolist() == [1.0] * N
    assert encoded.shape[1] == 4
    assert make_encoder(columns).fit(frame).get_feature_names_out()[:9].tolist() == [
        *("size", "count", "day_elapsed", "day_year", "day_month", "day_weekday", "day_hour", "size_missing", "wet")
    ]
    assert categories.get_feature_names_out().tolist() == ["color_", "color_blue", "color_green", "color_red"]
    unseen = categories.transform(pl.DataFrame({"color": ["purple"]}))
    assert unseen.sum() == 0


@pytest.mark.parametrize("missing", ["none", "few", "some", "a column", "all but one"])
def test_the_encoder_equals_scikit_learn(missing: str) -> None:
    """Medians, indicators and scaled numbers are those of SimpleImputer and StandardScaler."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 3)) * [1.0, 1e150, 1e-150]
    if missing == "few":
        X[7, 2] = np.nan
    elif missing == "some":
        X[rng.random(X.shape) < 0.3] = np.nan
    elif missing == "a column":
        X[:, 1] = np.nan
    elif missing == "all but one":
        X[1:, 1] = np.nan
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    columns = [Column(name, "number") for name in frame.columns]
    ours = make_encoder(columns).fit(frame)
    has_indicator = missing != "few"  # a column with less than a twentieth of missing values has none
    theirs = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=has_indicator, keep_empty_features=True), StandardScaler()
    ).fit(X)
    np.testing.assert_allclose(ours.medians_, theirs[0].statistics_, rtol=1e-15)
    np.testing.assert_allclose(ours.transform(frame), theirs.transform(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.transform(frame), clone(ours).fit_transform(frame))


@pytest.mark.parametrize("kind", ["number", "date", "yes/no", "category", "text"])
def test_a_table_without_rows_is_not_encoded(kind: Kind) -> None:
    """To fit and to transform is the same error, for each kind of column."""
    frame = pl.DataFrame({"x": ["red owl", "blue owl"] if kind in ("category", "text") else [0.0, 1.0]})
    encoder = make_encoder([Column("x", kind)])
    for run in (encoder.fit, encoder.fit(frame).transform, encoder.fit_transform):
        with pytest.raises(DataError, match="the table has no rows"):
            run(frame.clear())


def test_output_is_sparse_only_if_it_is_mostly_zeros(table: Table) -> None:
    def encode(*columns: Column) -> Any:
        return make_encoder(columns).fit_transform(align_columns(frame, columns, PATH))

    many = [" ".join(f"w{j}" for j in range(i, i + 5)) for i in range(N)]
    frame = table.frame.with_columns(pl.Series("many", many))
    assert sp.issparse(encode(Column("many", "text")))
    assert not sp.issparse(encode(Column("size", "number"), Column("wet", "yes/no"), Column("color", "category")))


def test_align_columns() -> None:
    """Columns may have another order, and the types inferred from a file with few rows."""
    columns = [Column("x", "number"), Column("wet", "yes/no"), Column("code", "category"), Column("t", "text")]
    other = pl.DataFrame({"t": [None, "a b"], "more": [0, 0], "code": [1.0, None], "wet": ["TRUE", ""], "x": ["2", ""]})
    frame = align_columns(other, columns, PATH)
    assert frame.columns == ["x", "wet", "code", "t"]
    assert frame["code"].to_list() == ["1", ""]
    assert frame["t"].to_list() == ["", "a b"]
    np.testing.assert_array_equal(frame["x"].to_numpy(), [2.0, np.nan])
    np.testing.assert_array_equal(frame["wet"].to_numpy(), [1.0, np.nan])


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        ([1.0, float("inf")], "number", "row 1: column 'x' must contain finite numbers; got inf"),
        ([1.0, float("-inf")], "number", "row 1: column 'x' must contain finite numbers; got -inf"),
        (["1", "two"], "number", "row 1: column 'x' must contain numbers; got 'two'"),
        (["maybe", "true"], "yes/no", "row 0: column 'x' must contain yes/no values; got 'maybe'"),
        (["2020-01-02", "soon"], "date", "row 1: column 'x' must contain dates; got 'soon'"),
        (["1:30", "soon"], "duration", "row 1: column 'x' must contain durations or times; got 'soon'"),
        ([["a"], ["b"]], "number", "must contain numbers"),
        ([["a"], ["b"]], "text", "must contain text"),
    ],
)
def test_invalid_cells_are_errors(cells: list[Any], kind: Any, message: str) -> None:
    """The message names row and column."""
    with pytest.raises(DataError, match=message):
        align_columns(pl.DataFrame({"x": cells}), [Column("x", kind)], PATH)


def test_missing_columns_are_named() -> None:
    columns = [Column(name, "number") for name in "abc"]
    with pytest.raises(DataError, match="missing columns 'a' and 'c', which the model was trained on"):
        align_columns(pl.DataFrame({"b": [1]}), columns, PATH)
    with pytest.raises(DataError, match=r"missing column 'c'.* trained on\. Did you mean 'c' for 'C'\?$"):
        align_columns(pl.DataFrame({"a": [1], "b": [1], "C": [1]}), columns, PATH)
    with pytest.raises(DataError, match=r"trained on\. Did you mean 'weight' for 'wieght'\?$"):
        align_columns(pl.DataFrame({"a": [1], "wieght": [1]}), [columns[0], Column("weight", "number")], PATH)
    with pytest.raises(DataError, match=r"missing column 'c'.* trained on\.$"):
        align_columns(pl.DataFrame({"a": [1], "b": [1]}), columns, PATH)


def _choose(cell_format: CellFormat | None = None, **columns: Any) -> Any:
    frame = pl.DataFrame({**columns, "other": range(0, 2 * len(next(iter(columns.values()))), 2)})
    return choose_columns(
        Table(frame, PATH, cell_format=cell_format or CellFormat()), exclude=["other"], overrides=None
    )


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-", "2.5"] * 10, "number"),
        (["1,5", "2,25", "n.a."] * 10, "number"),
        (["1,234.5", "12", "-3"] * 10, "number"),
        (["yes", "No", "?"] * 10, "yes/no"),
        (["2020-01-31", "01.02.2021", "unknown"] * 10, "date"),
        (["1:30", "2 days 03:04:05", "None"] * 10, "duration"),
        (["1h 30min", "45 min", "PT2H"] * 10, "duration"),
        (["+", "-"] * 15, "category"),
        (["None", "drug"] * 15, "category"),
        (["007", "012"] * 15, "category"),
        (["yes", "no", "maybe"] * 10, "category"),
        (["12 cm", "13 kg", "1 t"] * 10, "category"),
        ([f"the {i} brown foxes" for i in range(30)], "text"),
        ([f"C-{i:05d}" for i in range(30)], None),
        ([f"{i:05d}" for i in range(30)], None),
        (["-", "None"] * 15, "category"),
        (["NA", "?"] * 15, None),
        (["-"] * 30, None),
        (["same"] * 30, None),
    ],
)
def test_kinds_of_text(cells: list[str], kind: str | None) -> None:
    """Tokens of missing values do not change the kind of numbers, dates, durations and yes/no."""
    if kind is None:
        with pytest.raises(DataError, match="no feature column remains"):
            _choose(x=cells)
        return
    columns, _ = _choose(x=cells)
    assert [column.kind for column in columns] == [kind]


def test_tokens_and_other_cells_are_found() -> None:
    """A finding counts tokens, empty cells, and cells that are no values, with their rows; users add tokens."""
    cells = ["1.5"] * 40 + ["-", "-", "None", "", "x", "3x", "2"]
    _, findings = _choose(x=cells)
    unreadable, missing = findings.columns
    assert (missing.kind, missing.count, missing.examples) == ("missing", 3, ("-", "None"))
    assert (unreadable.count, unreadable.rows, unreadable.examples) == (2, (44, 45), ("x", "3x"))
    first, second = findings.sentences()
    assert first.startswith(
        "2 cells cannot be read and are missing, in column 'x', read as numbers ('x' in row 44, '3x'"
    )
    assert second == "3 cells of column 'x' are missing: '-' and 'None'. If they are values, add --categorical x."
    assert findings.to_dict()[0] | {"detail": ""} == {
        "kind": "unreadable",
        "column": "x",
        "count": 2,
        "rows": [44, 45],
        "examples": ["x", "3x"],
        "detail": "",
    }
    _, findings = _choose(CellFormat(missing=("x",)), x=cells)
    assert [one.count for one in findings.columns] == [1, 4]
    assert "x" in findings.columns[1].examples


def test_few_numbers_among_words_are_not_numbers() -> None:
    """Nine of ten cells must be numbers; if the user names the kind, half of them."""
    cells = [str(i) for i in range(30)] + ["abc", "3+"] * 5
    columns, _ = _choose(x=cells)
    assert columns[0].kind != "number"
    table = Table(pl.DataFrame({"x": cells}), PATH)
    (column,), findings = choose_columns(table, exclude=[], overrides=Overrides(numbers=("x",)))
    assert column.kind == "number"
    assert [(one.kind, one.count) for one in findings.columns] == [("unreadable", 10)]
    worse = Table(pl.DataFrame({"x": cells + ["abc"] * 21}), PATH)
    with pytest.raises(DataError, match="row 30: column 'x' must contain numbers; got 'abc'"):
        choose_columns(worse, exclude=[], overrides=Overrides(numbers=("x",)))


def test_dropped_columns_are_not_read() -> None:
    """A column that cannot be a feature raises nothing if it is dropped."""
    table = Table(pl.DataFrame({"x": ["1", "2"], "bad": [[1], [2]], "when": ["2020-13-45", "soon"]}), PATH)
    columns, findings = choose_columns(table, exclude=[], overrides=Overrides(drop=("bad", "wh*")))
    assert columns == [Column("x", "number")]
    assert not findings.columns


@pytest.mark.parametrize(
    ("cells", "decimal", "first"),
    [
        (["03/04/2020", "05/06/2020"], ".", (2020, 3)),
        (["03/04/2020", "05/06/2020"], ",", (2020, 4)),
        (["03/04/2020", "25/06/2020"], ".", (2020, 4)),
        (["03/04/2020", "05/26/2020"], ",", (2020, 3)),
    ],
)
def test_the_order_of_day_and_month(cells: list[str], decimal: str, first: tuple[int, int]) -> None:
    """A day above 12 decides; otherwise the decimal separator does, with a note that names the option."""
    columns, findings = _choose(CellFormat(decimal=decimal), x=cells * 10)
    days = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_numpy()
    assert tuple(calendar_features(days)[0, 1:3]) == first
    is_ambiguous = all(int(part) <= 12 for cell in cells for part in cell.split("/")[:2])
    assert any("no cell shows the order" in note for note in findings.sentences()) == is_ambiguous
    given, _ = _choose(CellFormat(decimal=decimal, dates=("%d/%m/%Y",)), x=["03/04/2020"] * 9 + ["05/04/2020"])
    assert given[0].formats == ("%d/%m/%Y",)


def test_calendar_features_are_those_of_the_standard_library() -> None:
    """Year, month, weekday and hour of random dates equal those of datetime; a missing date is the median."""
    rng = np.random.default_rng(0)
    days = np.round(rng.uniform(-30_000, 40_000, 200) * 24) / 24
    for value, row in zip(days, calendar_features(days), strict=True):
        moment = datetime(1970, 1, 1) + timedelta(hours=round(value * 24))
        assert row[:4].tolist() == [value, moment.year, moment.month, moment.weekday()]
        assert row[4] == pytest.approx(moment.hour, abs=1e-6)
    frame = pl.DataFrame({"a": [*days[:5].tolist(), float("nan")], "b": days[:6]})
    encoder = make_encoder([Column("a", "date"), Column("b", "date")]).fit(frame)
    features = encoder.transform(frame) * encoder.scale_ + encoder.mean_
    assert features.shape == (6, 11)
    assert features[5, 0] == pytest.approx(np.median(days[:5]))
    np.testing.assert_allclose(features[:5, :5], calendar_features(days[:5]), atol=1e-9)
    np.testing.assert_allclose(features[:, 10], [0, 0, 0, 0, 0, 1], atol=1e-12)


def test_dates_and_durations_of_binary_tables() -> None:
    """Native dates and durations equal the same values as text, and are features of the encoder."""
    moments = [datetime(2020, 1, 1 + i, 6 * (i % 4)) for i in range(20)]
    spans = [timedelta(minutes=7 * i) for i in range(20)]
    native = pl.DataFrame({"d": moments, "t": spans})
    text = pl.DataFrame({"d": [str(m) for m in moments], "t": [str(s) for s in spans]})
    columns, _ = choose_columns(Table(native, PATH), exclude=[])
    from_text, _ = choose_columns(Table(text, PATH), exclude=[])
    assert [c.kind for c in columns] == [c.kind for c in from_text] == ["date", "duration"]
    first, second = align_columns(native, columns, PATH), align_columns(text, from_text, PATH)
    np.testing.assert_allclose(first.to_numpy(), second.to_numpy(), rtol=1e-12)
    assert make_encoder(columns).fit_transform(first).shape == (20, 6)
    zoned = native.with_columns(pl.col("d").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"))
    assert align_columns(zoned, columns, PATH).equals(first)
    offsets = pl.DataFrame({"d": [f"{m + timedelta(hours=9)}+09:00" for m in moments], "t": spans})
    assert align_columns(offsets, choose_columns(Table(offsets, PATH), exclude=[])[0], PATH).equals(first)


def test_identifiers_by_name() -> None:
    """Different whole numbers in a column that is named like an identifier are excluded; others are numbers."""
    numbers = (np.arange(40) * 37 % 1009).tolist()
    for name in ("id", "user_id", "userId", "ID", "Order ID", "key"):
        with pytest.raises(DataError, match="no feature column"):
            _choose(**{name: numbers})
    for name in ("paid", "width", "monkey", "x"):
        assert _choose(**{name: numbers})[0] == [Column(name, "number")]


def test_the_category_of_a_number_does_not_depend_on_other_rows() -> None:
    """A float that is a whole number is the same category in a part of a table as in the whole table."""
    frame = pl.DataFrame({"x": [1.0, 2.5, None, 3.0, float("nan"), -0.0, 2.0**53]})
    columns = [Column("x", "category")]
    whole = align_columns(frame, columns, PATH)
    assert whole["x"].to_list() == ["1", "2.5", "", "3", "", "0", str(2**53)]
    parts = [align_columns(frame[row : row + 1], columns, PATH) for row in range(len(frame))]
    assert pl.concat(parts).equals(whole)


def test_cells_that_cannot_be_read_are_missing_and_counted() -> None:
    """With a counter, unreadable cells are missing; a column without any value of its kind is an error."""
    unreadable = UnreadableCells()
    columns = [Column("x", "number"), Column("d", "date", ("%d.%m.%Y",))]
    frame = pl.DataFrame({"x": ["1", "two", "-"], "d": ["01.02.2020", "2020-02-03", "soon"]})
    aligned = align_columns(frame, columns, PATH, unreadable=unreadable, first_row=100)
    assert np.isnan(aligned["x"].to_numpy()).tolist() == [False, True, True]
    assert np.isnan(aligned["d"].to_numpy()).tolist() == [False, False, True]
    assert unreadable.to_dict() == {
        "x": {"count": 1, "cells": [[101, "two"]]},
        "d": {"count": 1, "cells": [[102, "soon"]]},
    }
    assert UnreadableCells.from_dict(unreadable.to_dict()).to_dict() == unreadable.to_dict()
    (sentence,) = unreadable.merge(unreadable).sentences()
    assert sentence.startswith("4 cells cannot be read and are missing, in columns 'x' ('two' in row 101 and 1 more)")
    with pytest.raises(DataError, match="row 0: column 'x' must contain numbers; got 'wide'"):
        align_columns(pl.DataFrame({"x": ["wide"] * 10}), columns[:1], PATH, unreadable=unreadable)


def test_patterns_of_names() -> None:
    """Patterns name several columns, exact names take precedence, and names may differ in surrounding spaces."""
    frame = pl.DataFrame({"q1": ["1", "2"], "q2": ["3", "4"], "q*": ["5", "6"], "ID ": ["u", "v"]})
    table = Table(frame, PATH)
    columns, _ = choose_columns(
        table, exclude=[], overrides=Overrides(numbers=("q*",), categories=("q?",), drop=("ID",))
    )
    assert columns == [Column("q1", "category"), Column("q2", "category"), Column("q*", "number")]
    assert find_column("ID", frame.columns, PATH) == "ID "
    with pytest.raises(DataError, match=r"column 'z\*'"):
        choose_columns(table, exclude=[], overrides=Overrides(drop=("z*",)))
    with pytest.raises(DataError, match="column 'q1' must have one kind; got number and text"):
        choose_columns(table, exclude=[], overrides=Overrides(numbers=("q[12]",), texts=("q1*",)))


def test_a_column_named_like_a_count() -> None:
    """A column may be named n, as the counts of its tokens are."""
    frame = pl.DataFrame({"n": ["1", "2", "-", "4"]})
    _, findings = choose_columns(Table(frame, Path("t.csv")), exclude=[])
    assert findings.columns[0].examples == ("-",)
