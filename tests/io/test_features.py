"""Kinds of columns: every cell is read, or a note names it with the option that changes the reading; their encoding."""

import itertools
import random
from datetime import UTC, datetime, timedelta, timezone
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
    choose_features,
    find_column,
    make_encoder,
)
from oneof.io.encoder import calendar_features
from oneof.io.formats import cells as dates
from tests.io.conftest import PATH, choose, count, found

KINDS_OF_CELLS: list[tuple[list[Any], str | None]] = [
    (["1", "-", "2.5"], "number"),
    (["1,5", "2,25", "n.a."], "number"),
    (["1,234.5", "12", "-3"], "number"),
    ([20210314, 20210332], "number"),
    ([20210314.0, 20210315.5], "number"),
    ([20210314, 1], "number"),
    ([20210314, 20210315, 0], "number"),
    ([2021, 2020], "number"),
    (["yes", "No", "?"], "yes/no"),
    (["Y", "no", "yes", "N"], "yes/no"),
    (["2020-01-31", "01.02.2021", "unknown"], "date"),
    (["2021-03", "2021-04"], "date"),
    (["3/2021", "12/2021"], "date"),
    (["Mar 2021", "Dec 2021"], "date"),
    (["March 2021", "December 2021"], "date"),
    (["2021-03", "2021-03-15"], "date"),
    (["1:30", "2 days 03:04:05", "None"], "duration"),
    (["1h 30min", "45 min", "PT2H"], "duration"),
    (["+", "-"], "category"),
    (["-", "None"], "category"),
    (["None", "drug"], "category"),
    (["007", "012"], "category"),
    (["yes", "no", "maybe"], "category"),
    (["12 cm", "13 kg", "1 t"], "category"),
    (["3.00 EUR", "4.00 USD"], "category"),
    (["12 cm", "13 mm", "14"], "category"),
    (["1 10", "1 1000"], "category"),
    (["1a", "2a", "1b"], "category"),
    (["Q1", "Q2"], "category"),
    (["5%EUR", "6%EUR"], "category"),
    (["$3$", "$4$"], "category"),
    ([f"the {i} brown foxes" for i in range(30)], "text"),
    ([f"C-{i:05d}" for i in range(30)], None),
    ([f"{i:05d}" for i in range(30)], None),
    (["NA", "?"], None),
    (["-"], None),
    (["same"], None),
]
"""Cells of a column, repeated to 30 or more, and their kind; None if the column is excluded."""


@pytest.mark.parametrize(("cells", "kind"), KINDS_OF_CELLS)
def test_kinds_of_cells(cells: list[Any], kind: str | None) -> None:
    """Tokens of missing values do not change the kind of numbers, dates, durations and yes/no."""
    cells = cells * (30 // len(cells))
    if kind is None:
        with pytest.raises(DataError, match="no feature column remains: column 'x' is excluded: "):
            choose(x=cells)
        return
    columns, _ = choose(x=cells)
    assert [column.kind for column in columns] == [kind]
    if kind == "date" and "Mar" in str(cells) + "Mar" * ("3/2021" in cells or "2021-03" in cells):
        values = align_columns(pl.DataFrame({"x": cells[:1]}), columns, PATH)["x"].to_list()
        assert values == [(datetime(2021, 3, 1) - datetime(1970, 1, 1)).days]  # a month is its first day


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        ([*map(str, range(20)), *["<5", ">20"] * 5], "10 of 30 cells are not numbers, such as '<5' in row 20"),
        ([*map(str, range(20)), *["refused", "unclear", "maybe"] * 4], "12 of 32 cells are not numbers"),
        ([*(str(i % 3) for i in range(20)), *["refused"] * 9], "9 of 29 cells are not numbers"),
        ([*(f"2021-03-{i + 1:02d}" for i in range(20)), *["Q1", "Q2", "Q3"] * 4], "12 of 32 cells are not dates"),
        ([*(f"{i}:30" for i in range(20)), *["1st", "2nd", "3rd"] * 4], "12 of 32 cells are not durations"),
        ([*(f"{i} EUR" for i in range(20)), *["3 USD"] * 9], "9 of 29 cells are not numbers in 'EUR'"),
        ([*map(str, range(0, 600, 10)), *(f"{i}+" for i in range(20))], "20 of 80 cells are not numbers, such as '0+'"),
        ([*(f"{i},75" for i in range(30)), *["0.25"] * 4], "4 of 34 cells are not numbers, such as '0.25' in row 30"),
        ([[1.0], [2.0, 3.0]] * 15, "write a column for each number"),
        ([[1], [2]] * 15, "write a column for each number"),
    ],
)
def test_columns_that_are_half_numbers_have_a_note(cells: list[Any], remark: str) -> None:
    """Text with digits, several words and lists are not numbers; a note, also of an excluded column, has a remedy."""
    columns, findings = choose(x=cells, y=[0.5, 1.5] * (len(cells) // 2) + [2.0] * (len(cells) % 2))
    assert [column.kind for column in columns if column.name == "x"] in ([], ["category"], ["text"])
    assert any(remark in note and ("--" in note or "write" in note) for note in findings.sentences())


@pytest.mark.parametrize(
    ("cells", "values", "formats"),
    [
        (["12.5%", "-3 %", "100%"], [12.5, -3, 100], (".", "%")),
        (["3.00 EUR", "1,234.50EUR", "-2 EUR"], [3, 1234.5, -2], (",.", "EUR")),
        (["$3.00", "-$1,234.50", "$-4"], [3, -1234.5, -4], (",.", "$")),
        (["\u20ac 3", "\u20ac 4,50", "\u20ac 1.000,25"], [3, 4.5, 1000.25], (".,", "\u20ac")),
        (["R$ 3,00", "R$4,50", "R$ 0,5"], [3, 4.5, 0.5], (",", "R$")),
        (["1 100", "12 345 678.5", "3"], [1100, 12345678.5, 3], (" .",)),
        (["1\u00a0100,5", "12\u202f345", "-3"], [1100.5, 12345, -3], (" ,",)),
        (["1'100.5", "2\u2019000", "-3"], [1100.5, 2000, -3], ("'.",)),
        (["12 cm", "13cm", "1.5 cm"], [12, 13, 1.5], (".", "cm")),
        (["0,597", "1,041", "-0,143"], [0.597, 1.041, -0.143], (",",)),  # no number of groups begins with 0
    ],
)
def test_units_and_groups_of_digits(cells: list[str], values: list[float], formats: tuple[str, ...]) -> None:
    """Numbers with one unit, or with groups of digits, are read, and a note has an example and the option.

    In another table, cells without this unit, or with another one, are not read.
    """
    columns, findings = choose(x=[*cells, "-"] * 10)
    assert columns == [Column("x", "number", formats)]
    assert align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list() == values
    shown = [f"{' '.join(cell.split())!r} is {value:.12g}" for cell, value in zip(cells, values, strict=True)]
    [note] = [note for note in findings.sentences() if any(one in note for one in shown)]
    assert "--categorical x" in note or "--decimal" in note
    if formats[1:]:
        unreadable = UnreadableCells()
        others = pl.DataFrame({"x": [cells[0], "3 XYZ", "3"]})
        read = align_columns(others, columns, PATH, unreadable=unreadable)["x"].is_nan().to_list()
        assert (read, unreadable.found["x"].count) == ([False, True, True], 2)


def test_kinds_that_a_user_names_need_half_of_the_cells() -> None:
    """Nine of ten cells must be numbers without the option; the rarer decimal separator, and units, are not read."""
    for cells, n_unreadable, formats in (
        ([*map(str, range(30)), *["abc", "3+"] * 5], 10, ()),
        ([*(f"{i},75" for i in range(30)), *["0.25"] * 19], 19, (",",)),
        (["1.5m", "2 m", "-"] * 10, 0, (".", "m")),
    ):
        table = Table(pl.DataFrame({"x": cells}), PATH)
        features = choose_features(table, exclude=[], overrides=Overrides(numbers=("x",)))
        assert features.columns == [Column("x", "number", formats)]
        assert count(features.findings) == n_unreadable
        assert choose(x=cells)[0] != features.columns
    worse = Table(pl.DataFrame({"x": [*map(str, range(30)), *["abc"] * 31]}), PATH)
    with pytest.raises(DataError, match="row 30: column 'x' must contain numbers; got 'abc'"):
        choose_columns(worse, exclude=[], overrides=Overrides(numbers=("x",)))


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        ([1.0, float("inf")], "number", "row 1: column 'x' must contain finite numbers; got inf"),
        (["1", "two"], "number", "row 1: column 'x' must contain numbers; got 'two'"),
        (["maybe", "true"], "yes/no", "row 0: column 'x' must contain yes/no values; got 'maybe'"),
        ([0, 1, 7], "yes/no", "row 2: column 'x' must contain yes/no values; got 7"),
        (["0", "1", "-1"], "yes/no", "row 2: column 'x' must contain yes/no values; got '-1'"),
        (["2020-01-02", "soon"], "date", "row 1: column 'x' must contain dates; got 'soon'"),
        (["1:30", "soon"], "duration", "row 1: column 'x' must contain durations or times; got 'soon'"),
        ([["a"], ["b"]], "number", "must contain numbers"),
        ([["a"], ["b"]], "text", "must contain text"),
        ([timedelta(1), timedelta(2)], "category", "must contain categories; got values of type Duration"),
    ],
)
def test_invalid_cells_are_errors(cells: list[Any], kind: Any, message: str) -> None:
    """The message names row and column; with a counter, such cells are missing."""
    column, frame, unreadable = Column("x", kind), pl.DataFrame({"x": cells}), UnreadableCells()
    with pytest.raises(DataError, match=message):
        align_columns(frame, [column], PATH)
    if message.startswith("row"):
        values = align_columns(frame, [column], PATH, unreadable=unreadable)["x"]
        assert values.is_nan().to_list() == [f"row {i}:" in message for i in range(len(cells))]
        assert list(unreadable.found) == ["x"]


def test_the_error_without_features_has_the_reasons() -> None:
    """Each reason is named with its columns, and long lists are cut; identifiers are named by their column."""
    empty = {"e": [None] * 30, "lists": pl.Series([None] * 30, dtype=pl.List(pl.Int64))}
    frame = pl.DataFrame({f"c{i}": ["x"] * 30 for i in range(9)} | {"i": range(30), **empty, "y": ["a"] * 30})
    with pytest.raises(DataError, match=r"columns 'c0', .* and 4 more are excluded: one value") as caught:
        choose_columns(Table(frame, PATH), exclude=["y"])
    assert "column 'i' is excluded: a count of the rows (add --numeric" in str(caught.value)
    assert "columns 'e' and 'lists' are excluded: no values" in str(caught.value)
    with pytest.raises(DataError, match="no feature column remains: each column has labels or is dropped"):
        choose_columns(Table(frame.select("y", "e"), PATH), exclude=["y"], overrides=Overrides(drop=("e",)))
    numbers = (np.arange(40) * 37 % 1009).tolist()
    for name in ("id", "user_id", "userId", "ID", "Order ID", "key"):
        with pytest.raises(DataError, match="a name of an identifier"):
            choose(**{name: numbers})
    for name in ("paid", "width", "monkey", "x", "n"):
        assert choose(**{name: numbers})[0] == [Column(name, "number")]


SENTINELS = CellFormat(missing=("999", "-9"))


def test_dates_that_are_tokens_are_missing() -> None:
    """A date is a token in the types of binary tables as well as in text."""
    text = ["2020-01-31", "9999-12-31", "2021-01-31"] * 10
    for cells in (text, [datetime.fromisoformat(cell) for cell in text]):
        columns, findings = choose(CellFormat(missing=("9999-12-31",)), x=cells)
        assert (columns[0].kind, count(findings, "missing")) == ("date", 10)


@pytest.mark.parametrize("cells", [[1, 999, 3, -9], [1.5, 999.0, 3.0, -9.0], ["1", "999.0", "3", "-9"]])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_numbers_that_are_tokens_are_missing(cells: list[Any], kind: Any) -> None:
    """A token such as 999 is missing in columns of any type, as a number and as a category; numbers are counted."""
    frame = pl.DataFrame({"x": cells * 10})
    overrides = Overrides(categories=("x",)) if kind == "category" else Overrides()
    table = Table(frame, PATH, cell_format=SENTINELS)
    columns, findings = choose_columns(table, exclude=[], overrides=overrides)
    aligned = align_columns(frame, columns, PATH, cell_format=SENTINELS)["x"]
    assert columns == [Column("x", kind)]
    is_missing = (aligned == "" if kind == "category" else aligned.is_nan()).to_list()
    assert (
        is_missing == [False, kind == "number" or "999.0" not in cells, False, True] * 10
    )  # as text, 999.0 is another
    counted = [(one.count, sorted(map(float, one.examples))) for one in findings.columns]
    assert counted == [(20, [-9.0, 999.0])] * (kind == "number")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["refused"], [str(i / 2) for i in range(20)]),
        (["refused", "n/k"], [str(i % 5 + 1) for i in range(20)]),
        (["Refused", "refused"], [f"{i},5" for i in range(20)]),
        (["ongoing"], [f"2021-03-{i + 1:02d}" for i in range(20)]),
        (["did not finish"], [f"{i}:30" for i in range(20)]),
    ],
)
def test_one_or_two_words_among_values_are_missing(words: list[str], values: list[str]) -> None:
    """Values in half of the cells are read if the others are one or two words; a note has a cell of each."""
    cells = [*values, *words * (16 // len(words))]
    expected, _ = choose(x=values)
    columns, findings = choose(x=cells)
    (unreadable,) = found(findings, "unreadable")
    assert columns == expected
    assert (unreadable.count, unreadable.rows[0], unreadable.examples[0]) == (16, 20, words[0])
    (note,) = [note for note in findings.sentences() if "16 cells cannot be read and are missing" in note]
    assert f"{words[0]!r} in row 20" in note
    assert "--categorical x" in note
    assert "--strict" in note


def test_groups_that_may_be_decimals_have_a_note() -> None:
    """'1,234' may be 1.234, unless another cell has both signs; the remedy is tested with `oneof inspect`."""
    for cells, is_doubtful in ((["1,234", "2,500"], True), (["1,234", "2,500", "1,234.5"], False)):
        columns, findings = choose(x=cells * 10)
        assert (columns[0].formats, bool(found(findings, "digit groups"))) == ((",.",), is_doubtful)


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        (["1.5m", "2.5m"], "durations or times in hours ('1.5m' is 0.025). To change this, add --numeric x, "),
        (["y", "n"], "yes/no values ('n' is 0 and 'y' is 1). To change this, add --numeric x, "),
        (["oui", None], "yes/no values ('oui' is 1)"),
        (["true", "FALSE"], None),
    ],
)
def test_durations_and_yes_no_have_a_note(cells: list[str | None], part: str | None) -> None:
    """A note has the unit of durations and the words of yes and no, with the option; true and false need none."""
    sentences = choose(x=cells * 15)[1].sentences()
    assert [f"column 'x' is read as {part}" in sentence for sentence in sentences] == [True] * (part is not None)


def test_notes_name_columns_as_the_command_line_does() -> None:
    """Names with spaces are quoted for a shell, and names with commas for the lists of options."""
    for name, quoted in (("a b", "'a b'"), ("size, m", """'"size, m"'""")):
        assert choose(**{name: ["1", "2", "-"] * 10})[1].sentences()[0].endswith(f"add --categorical {quoted}.")


def test_words_that_differ_in_case_are_one_category() -> None:
    """The spelling changes neither the categories of training nor those of a new table."""
    cells = ["Red", "red ", "RED", "blue", "Blue", None] * 10
    columns, findings = choose(x=cells)
    assert columns == [Column("x", "category")]
    assert findings.sentences() == []
    table = Table(pl.DataFrame({"x": cells}), PATH)
    for overrides in (Overrides(), Overrides(categories=("x",))):
        features = choose_features(table, exclude=[], overrides=overrides)
        assert (features.columns, features.findings) == (columns, findings)
        assert features.frame["x"].to_list() == ["red", "red", "red", "blue", "blue", ""] * 10
    assert align_columns(pl.DataFrame({"x": ["rEd"]}), columns, PATH)["x"].to_list() == ["red"]
    texts = choose_features(table, exclude=[], overrides=Overrides(texts=("x",)))
    assert texts.frame["x"].to_list()[:2] == ["Red", "red"]
    with pytest.raises(DataError, match="no feature column remains: column 'x' is excluded: one value"):
        choose(x=["Red", "red"] * 10)


@pytest.mark.parametrize("n_days", [26, 400])
def test_formats_of_sorted_dates_are_those_of_all_cells(n_days: int) -> None:
    """In a sorted log the first cells do not show the order of day and month, nor a format that begins later."""
    moments = [datetime(2021, 2, 1) + timedelta(minutes=15 * i) for i in range(96 * n_days)]
    columns, findings = choose(x=[f"{moment:%d/%m/%Y %H:%M}" for moment in moments])
    assert columns == [Column("x", "date", ("%d/%m/%Y %H:%M",))]
    assert count(findings) == 0
    # One cell of 2,000 shows the order, and five have another format.
    cells = [f"{1 + i % 12:02d}/{1 + i // 12 % 12:02d}/{1900 + i // 144}" for i in range(2000)]
    cells[1500:1506] = ["13/02/2021", "2021-02-01", "2021-02-02", "2021-02-03", "2021-02-04", "2021-02-05"]
    columns, findings = choose(x=cells)
    assert columns == [Column("x", "date", ("%d/%m/%Y", "%Y-%m-%d"))]
    assert not found(findings, "unreadable") + found(findings, "date order")


@pytest.mark.parametrize("convert", [int, float, str])
def test_whole_numbers_that_are_dates(convert: Any) -> None:
    """Numbers such as 20210314 are dates if all are, apart from the tokens of the user."""
    numbers = [20210314, 20210315, 20191231, None, 99991231]
    cells = [None if number is None else convert(number) for number in numbers]
    columns, findings = choose(CellFormat(missing=("99991231",)), x=cells * 10)
    assert columns == [Column("x", "date", ("%Y%m%d",))]
    frame = pl.DataFrame({"x": cells})
    days = align_columns(frame, columns, PATH, unreadable=UnreadableCells())["x"].to_list()
    assert days[0] == (datetime(2021, 3, 14) - datetime(1970, 1, 1)).days
    assert np.isnan(days[3])
    assert count(findings) == 0
    assert any("'20210314' is 2021-03-14" in note and "--numeric x" in note for note in findings.sentences())
    named, _ = choose_columns(Table(frame, PATH), exclude=[], overrides=Overrides(numbers=("x",)))
    assert named == [Column("x", "number")]


def test_two_orders_that_a_user_names_are_both_read() -> None:
    """Each cell is read in the first of the named formats that reads it."""
    cells = ["02/15/2021", "15/02/2021", "03/04/2021"] * 8
    for formats, month in ((("%m/%d/%Y", "%d/%m/%Y"), 3), (("%d/%m/%Y", "%m/%d/%Y"), 4)):
        columns, findings = choose(CellFormat(dates=formats), x=cells)
        assert columns[0].formats == formats
        assert count(findings) == 0
        values = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list()
        days = [(datetime(2021, m, d) - datetime(1970, 1, 1)).days for m, d in ((2, 15), (2, 15), (month, 7 - month))]
        assert values == days * 8


KNOWN = [*map("".join, itertools.product(dates._DAYS, dates._TIMES)), *dates._MONTHS]


def write_dates(rng: random.Random, n: int = 30) -> list[str]:
    """Return dates in one to three known formats, some with missing separators, other spaces, or in lower case."""
    formats = rng.choices(KNOWN, k=rng.choice([1, 1, 2, 3]))
    cells = []
    for _ in range(n):
        zone = timezone(timedelta(hours=rng.choice([0, 1, -5])))
        moment = datetime(1950, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(50_000_000))
        cell = moment.astimezone(zone).strftime(rng.choice(formats).replace("%.f", ""))
        changes = [cell, cell, cell, cell.replace(" ", "  "), cell.replace("-", ""), cell.lower(), "unknown", "12:30"]
        cells.append(rng.choice(changes))
    return cells


@pytest.mark.parametrize("seed", range(6))
def test_formats_without_their_characters_read_no_cell(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The formats of a column are those that are detected if all known formats are tried."""
    rng = random.Random(seed)
    columns = [(pl.Series("day", write_dates(rng)), CellFormat(decimal)) for decimal in (".", ",")]
    detected = [dates.detect_date_formats(*column) for column in columns]
    assert any(detected)
    monkeypatch.setattr(dates, "_can_read", lambda *_: True)
    assert [dates.detect_date_formats(*column) for column in columns] == detected


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
    return Table(frame, PATH, ("label",))


def test_kinds_of_columns(table: Table) -> None:
    """Each kind is inferred, uninformative columns are excluded with a note, and labels of the format without one."""
    columns, findings = choose_columns(table, exclude=[])
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


def test_the_encoder(table: Table) -> None:
    """A missing category is a value; an unseen one has none; the names of features are those of columns and values."""
    features = choose_features(table, exclude=["label"])
    columns, frame = features.columns, features.frame
    assert frame.equals(align_columns(table.frame, columns, PATH), null_equal=True)  # read once, in training
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


def test_tokens_and_other_cells_are_found() -> None:
    """A finding counts tokens, empty cells, and cells that are no values, with their rows; users add tokens."""
    cells = ["1.5"] * 40 + ["-", "-", "None", "", "x", "3x", "2"]
    _, findings = choose(x=cells)
    unreadable, missing = findings.columns
    assert (missing.kind, missing.count, missing.examples) == ("missing", 3, ("-", "None"))
    assert (unreadable.count, unreadable.rows, unreadable.examples) == (2, (44, 45), ("x", "3x"))
    first, second = findings.sentences()
    assert first.startswith(
        "2 cells cannot be read and are missing, in column 'x', read as numbers ('x' in row 44, '3x'"
    )
    assert second == "3 cells of column 'x' are missing: '-' and 'None'. If they are values, add --categorical x."
    _, findings = choose(CellFormat(missing=("x",)), x=cells)
    assert [one.count for one in findings.columns] == [1, 4]
    assert "x" in findings.columns[1].examples


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
    columns, findings = choose(CellFormat(decimal=decimal), x=cells * 10)
    days = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_numpy()
    assert tuple(calendar_features(days)[0, 1:3]) == first
    is_ambiguous = all(int(part) <= 12 for cell in cells for part in cell.split("/")[:2])
    assert any("no cell shows the order" in note for note in findings.sentences()) == is_ambiguous


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
    with pytest.raises(DataError, match="column 'q1' must have one kind; got number and text"):
        choose_columns(table, exclude=[], overrides=Overrides(numbers=("q[12]",), texts=("q1*",)))
