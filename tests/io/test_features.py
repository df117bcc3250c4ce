"""Features: the kinds of columns and their encoding."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from oneof.errors import DataError
from oneof.io import Column, Overrides, Table, align_columns, choose_columns, make_encoder
from oneof.io.imputer import MedianImputer

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
    message = {note.split("'")[1]: note for note in findings.sentences()}
    assert message.keys() == {"id", "name", "empty", "constant", "day", "sets"}
    assert "dates" in message["day"]
    assert "one value" in message["constant"]


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
    unseen = categories.transform(pl.DataFrame({"color": ["purple"]}))
    assert unseen.sum() == 0


@pytest.mark.parametrize("missing", ["none", "some", "a column", "all but one"])
def test_the_imputer_equals_that_of_scikit_learn(missing: str) -> None:
    """Medians, indicators and imputed tables equal those of SimpleImputer fitted on all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 3)) * [1.0, 1e150, 1e-150]
    if missing == "some":
        X[rng.random(X.shape) < 0.3] = np.nan
    elif missing == "a column":
        X[:, 1] = np.nan
    elif missing == "all but one":
        X[1:, 1] = np.nan
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    ours = MedianImputer().fit(frame)
    theirs = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True).fit(frame)
    np.testing.assert_allclose(ours.statistics_, theirs.statistics_, rtol=1e-15)
    np.testing.assert_allclose(ours.transform(frame), theirs.transform(frame), rtol=1e-15)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    again = clone(ours).fit(frame[:1])
    np.testing.assert_array_equal(again.transform(frame[:1])[:, :3], np.nan_to_num(X[:1]))


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
    with pytest.raises(DataError, match="missing columns 'a', 'c', which the model was trained on"):
        align_columns(pl.DataFrame({"b": [1]}), columns, PATH)
    with pytest.raises(DataError, match=r"missing column 'c'.* trained on \(names are case-sensitive"):
        align_columns(pl.DataFrame({"a": [1], "b": [1], "C": [1]}), columns, PATH)
    with pytest.raises(DataError, match=r"missing column 'c'.* trained on\.$"):
        align_columns(pl.DataFrame({"a": [1], "b": [1]}), columns, PATH)
