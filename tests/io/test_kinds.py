"""Kinds of columns: every cell is read, or a note names it with the option that changes the reading."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError
from oneof.io import (
    CellFormat,
    Column,
    Overrides,
    Table,
    UnreadableCells,
    align_columns,
    choose_columns,
    choose_features,
)
from tests.io.conftest import PATH, choose, count, found

SENTINELS = CellFormat(missing=("999", "-9"))


@pytest.mark.parametrize("cells", [[1, 999, 3, -9], [1.5, 999.0, 3.0, -9.0], ["1", "999.0", "3", "-9"]])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_numbers_that_are_tokens_are_missing(cells: list[Any], kind: Any) -> None:
    """A token such as 999 is missing in columns of any type, as a number and as a category, and is counted."""
    frame = pl.DataFrame({"x": cells * 10})
    overrides = Overrides(categories=("x",)) if kind == "category" else Overrides()
    table = Table(frame, PATH, cell_format=SENTINELS)
    columns, findings = choose_columns(table, exclude=[], overrides=overrides)
    aligned = align_columns(frame, columns, PATH, cell_format=SENTINELS)["x"]
    (missing,) = findings.columns
    if kind == "category" and "999.0" in cells:  # as text, it is another category
        assert (missing.count, missing.examples) == (10, ("-9",))
        return
    assert columns == [Column("x", kind)]
    is_missing = (aligned == "" if kind == "category" else aligned.is_nan()).to_list()
    assert is_missing == [False, True, False, True] * 10
    assert (missing.count, sorted(map(float, missing.examples))) == (20, [-9.0, 999.0])


def test_a_column_of_tokens_has_no_values() -> None:
    with pytest.raises(DataError, match="column 'x' is excluded: no values"):
        choose(SENTINELS, x=[999, -9, -9] * 10)


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


@pytest.mark.parametrize(
    ("cells", "count"),
    [
        ([str(i) for i in range(20)] + ["<5", ">20"] * 5, "10 of 30 cells are not numbers, such as '<5' in row 20"),
        ([str(i) for i in range(20)] + ["refused", "unclear", "maybe"] * 4, "12 of 32 cells are not numbers"),
        ([str(i % 3) for i in range(20)] + ["refused"] * 9, "9 of 29 cells are not numbers"),
        ([f"2021-03-{i + 1:02d}" for i in range(20)] + ["Q1", "Q2", "Q3"] * 4, "12 of 32 cells are not dates"),
        ([f"{i}:30" for i in range(20)] + ["1st", "2nd", "3rd"] * 4, "12 of 32 cells are not durations"),
        ([f"{i} EUR" for i in range(20)] + ["3 USD"] * 9, "9 of 29 cells are not numbers in 'EUR'"),
    ],
)
def test_text_that_is_half_numbers_has_a_note(cells: list[str], count: str) -> None:
    """A column of words with digits, or of several words, is not read as numbers; a note names a cell and an option."""
    columns, findings = choose(x=cells)
    assert columns[0].kind in ("category", "text")
    (note,) = findings.sentences()
    assert count in note
    assert "--" in note


def test_excluded_text_that_is_half_numbers_has_a_note() -> None:
    """A column with a different word in each row is excluded, but the note says that most words are numbers."""
    cells = [*map(str, range(0, 600, 10)), *(f"{i}+" for i in range(20))]
    _, findings = choose_columns(
        Table(pl.DataFrame({"x": cells, "y": cells[::-1], "z": [1, 2] * 40}), PATH), exclude=[]
    )
    assert findings.columns[0].kind == "excluded"
    assert "20 of 80 cells are not numbers, such as '0+' in row 60 (write one" in findings.sentences()[0]


@pytest.mark.parametrize("n_other", [1, 4, 19])
@pytest.mark.parametrize("decimal", [".", ","])
def test_cells_with_the_other_decimal_separator_are_counted(decimal: str, n_other: int) -> None:
    """Whatever the separator of the table is, the fewer cells of a column are missing, and a note has the first one."""
    cells = [f"{i},75" for i in range(30)] + [f"{i}.25" for i in range(n_other)]
    frame = pl.DataFrame({"x": cells, "y": [i**2 % 7 for i in range(len(cells))]})
    table = Table(frame, PATH, cell_format=CellFormat(decimal=decimal))
    for overrides in (Overrides(), Overrides(numbers=("x",))):
        columns, findings = choose_columns(table, exclude=[], overrides=overrides)
        assert any("'0.25' in row 30" in note for note in findings.sentences())
    assert columns[0] == Column("x", "number", (",",))
    assert count(findings) == n_other


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
    """Numbers with one unit, or with groups of digits, are read, and a note has an example and the option."""
    columns, findings = choose(x=[*cells, "-"] * 10)
    assert columns == [Column("x", "number", formats)]
    aligned = align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list()
    assert aligned == values
    shown = [f"{' '.join(cell.split())!r} is {value:.12g}" for cell, value in zip(cells, values, strict=True)]
    [note] = [note for note in findings.sentences() if any(one in note for one in shown)]
    assert "--categorical x" in note or "--decimal" in note


@pytest.mark.parametrize(
    "cells",
    [
        ["3.00 EUR", "4.00 USD"],
        ["12 cm", "13 mm", "14"],
        ["1 10", "1 1000"],
        ["1a", "2a", "1b"],
        ["Q1", "Q2"],
        ["5%EUR", "6%EUR"],
        ["$3$", "$4$"],
    ],
)
def test_other_texts_with_digits_are_not_numbers(cells: list[str]) -> None:
    columns, _ = choose(x=cells * 10)
    assert columns == [Column("x", "category")]


def test_another_unit_in_another_table_is_not_read() -> None:
    """A price in dollars is not a price in euros, and numbers without a unit are not read as prices."""
    columns, _ = choose(x=["3 EUR", "4.5 EUR"] * 10)
    unreadable = UnreadableCells()
    frame = pl.DataFrame({"x": ["3 EUR", "3 USD", "3"]})
    assert align_columns(frame, columns, PATH, unreadable=unreadable)["x"].is_nan().to_list() == [False, True, True]
    assert unreadable.counts["x"] == 2


def test_groups_that_may_be_decimals_have_a_note() -> None:
    """'1,234' may be 1.234: the note has the option, with which it is read so and the note ends."""
    cells = ["1,234", "2,500", "12,000"] * 10
    columns, findings = choose(x=cells)
    assert columns[0].formats == (",.",)
    assert any(note.endswith(": if ',' is the decimal separator, add --decimal ','.") for note in findings.sentences())
    columns, findings = choose(CellFormat(decimal=","), x=cells)
    assert columns[0].formats == (",",)
    assert not found(findings, "digit groups")
    _, findings = choose(x=[*cells, "1,234.5"])
    assert not found(findings, "digit groups")


@pytest.mark.parametrize("cells", [[0, 1, 7], [0.0, 1.0, 7.0], ["0", "1", "7"], [0, 1, -1]])
def test_yes_no_has_two_values(cells: list[Any]) -> None:
    """A number other than 0 and 1 is not yes or no, whatever the type of the column."""
    unreadable = UnreadableCells()
    columns = [Column("x", "yes/no")]
    frame = pl.DataFrame({"x": cells})
    aligned = align_columns(frame, columns, PATH, unreadable=unreadable)["x"].to_list()
    assert aligned[:2] == [0.0, 1.0]
    assert np.isnan(aligned[2])
    assert unreadable.examples["x"] == [(2, str(cells[2]))]
    with pytest.raises(DataError, match="row 2: column 'x' must contain yes/no values; got"):
        align_columns(frame, columns, PATH)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            ["1.5m", "2.5m"],
            "column 'x' is read as durations or times in hours ('1.5m' is 0.025). To change this, add --numeric x, ",
        ),
        (
            ["y", "n"],
            "column 'x' is read as yes/no values ('n' is 0 and 'y' is 1). To change this, add --numeric x, ",
        ),
        (["oui", None], None),
        (["true", "FALSE"], None),
    ],
)
def test_durations_and_yes_no_have_a_note(cells: list[str | None], sentence: str | None) -> None:
    """A note has the unit of durations and the words of yes and no, with the option; true and false need none."""
    _, findings = choose(x=cells * 15)
    notes = [note for note in findings.sentences() if "hours" in note or "yes/no values" in note]
    expected = "as yes/no values ('oui' is 1)" if "oui" in cells else sentence
    assert len(notes) == (expected is not None)
    assert all(str(expected) in note for note in notes)


def test_notes_name_columns_as_the_command_line_does() -> None:
    """Names with spaces are quoted for a shell, and names with commas for the lists of options."""
    frame = pl.DataFrame({name: ["1", "2", "-"] * 10 for name in ("a b",)})
    _, findings = choose_columns(Table(frame, PATH), exclude=[])
    assert findings.sentences()[0].endswith("add --categorical 'a b'.")
    _, findings = choose_columns(Table(frame.rename({"a b": "size, m"}), PATH), exclude=[])
    assert findings.sentences()[0].endswith("""add --categorical '"size, m"'.""")


def test_the_error_without_features_has_the_reasons() -> None:
    """Each reason is named with its columns, and long lists are cut."""
    frame = pl.DataFrame({f"c{i}": ["x"] * 30 for i in range(9)} | {"i": range(30), "e": [None] * 30, "y": ["a"] * 30})
    with pytest.raises(DataError, match=r"columns 'c0', .* and 4 more are excluded: one value") as caught:
        choose_columns(Table(frame, PATH), exclude=["y"])
    assert "column 'i' is excluded: a count of the rows (add --numeric" in str(caught.value)
    assert "column 'e' is excluded: no values" in str(caught.value)
    with pytest.raises(DataError, match="no feature column remains: each column has labels or is dropped"):
        choose_columns(Table(frame.select("y", "e"), PATH), exclude=["y"], overrides=Overrides(drop=("e",)))


def test_features_are_read_once_as_they_are_aligned() -> None:
    """The features have the columns, the findings and the cells of the two steps; strict errors are the same."""
    frame = pl.DataFrame(
        {
            "x": ["1", "-", "999"] * 20,
            "d": ["2021-03-14", "ongoing", "2020-01-31"] * 20,
            "c": ["a", "NA", None] * 20,
            "n": [1, 2, 999] * 20,
            "y": ["a", "b", "a"] * 20,
        }
    )
    table = Table(frame, PATH, cell_format=SENTINELS)
    features = choose_features(table, exclude=["y"])
    columns, findings = choose_columns(table, exclude=["y"])
    assert (features.columns, features.findings) == (columns, findings)
    unreadable = UnreadableCells()
    aligned = align_columns(frame, columns, PATH, cell_format=SENTINELS, unreadable=unreadable)
    assert features.frame.equals(aligned, null_equal=True)
    assert {one.column: one.count for one in found(findings, "unreadable")} == dict(unreadable.counts)


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


def test_words_and_letters_of_yes_and_no_are_one_column() -> None:
    """Y and yes are yes, N and no are no; further words make categories."""
    cells = ["Y", "no", "yes", "N"] * 10
    columns, _ = choose(x=cells)
    assert columns == [Column("x", "yes/no")]
    assert align_columns(pl.DataFrame({"x": cells}), columns, PATH)["x"].to_list() == [1.0, 0.0] * 20
    assert choose(x=[*cells, "maybe"])[0] == [Column("x", "category")]
    assert choose(CellFormat(missing=("maybe",)), x=[*cells, "maybe"])[0] == columns


@pytest.mark.parametrize("cells", [[[1.0], [2.0, 3.0]], [[1], [2]]])
def test_lists_of_numbers_have_a_remedy(cells: list[Any]) -> None:
    """Vectors of one length are read by `read_table`; those of a stream, or of several lengths, are excluded."""
    columns, findings = choose(x=cells, y=[1.0, 2.0])
    assert [column.name for column in columns] == ["y"]
    assert any("write a column for each number" in note for note in findings.sentences())
