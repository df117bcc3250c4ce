"""Messy tables: the columns are those of the clean file, or a sentence names file, row and column."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.survey import N_QUESTIONS, N_TOKENS, make_survey
from oneof.errors import DataError, LabelError
from oneof.io import (
    CellFormat,
    Column,
    Table,
    UnreadableCells,
    align_columns,
    choose_columns,
    describe_cells,
    find_separator,
    read_labels,
    read_table,
    saved_columns,
)
from oneof.io.batches import iterate_batches
from oneof.io.features import BatchSpec
from oneof.io.findings import MAX_CELLS
from oneof.io.formats.delimited import DelimitedReader
from oneof.stream import open_source
from tests.io.sheets import CITIES, Sheet
from tests.io.spreadsheets import WRITERS
from tests.io.zoo import FAULTS, FORMS, N_RANDOM_PAIRS, REFUSED, make_zoo

ZOO = make_zoo()
N_SLOW = N_RANDOM_PAIRS - 12
"""Number of the last random pairs of faults, which are tested by `make test-slow`."""
SHEETS = [*list(ZOO)[:-N_SLOW], *(pytest.param(name, marks=pytest.mark.slow) for name in list(ZOO)[-N_SLOW:])]


def _check(sheet: Sheet, table: Table) -> list[str]:
    """Check columns and labels of a file, and return the notes."""
    path = table.path
    columns, findings = choose_columns(table, exclude=["city"])
    notes = findings.sentences()
    frame = align_columns(table.frame, columns, path, cell_format=table.cell_format, unreadable=UnreadableCells())
    kinds = {column.name: column.kind for column in columns}
    for name, (kind, values) in sheet.expected.items():
        assert kinds[name] == kind, (name, notes)
        if kind in ("category", "text"):
            assert frame[name].to_list() == ([str(v).lower() for v in values] if kind == "category" else values), name
        else:
            np.testing.assert_allclose(frame[name].to_numpy(), np.array(values, dtype=float), rtol=1e-12, err_msg=name)
    for name in set(kinds) - set(sheet.expected):
        assert any(repr(name) in note for note in notes), (name, notes)
    unreadable = {found.column: [*found.rows] for found in findings.columns if found.kind == "unreadable"}
    assert unreadable == {name: rows[:MAX_CELLS] for name, rows in sheet.unreadable.items()}
    for name, rows in sheet.unreadable.items():
        index = [other.strip() for other in sheet.names].index(name)
        first = {sheet.rows[row][index]: row for row in reversed(rows)}  # a note names the first row of each text
        assert all(any(repr(name) in note and f"row {row}" in note for note in notes) for row in first.values()), notes
        named = [column for column in columns if column.name == name]
        with pytest.raises(DataError) as caught:
            align_columns(table.frame, named, path, cell_format=table.cell_format)
        assert all(part in str(caught.value) for part in (str(path), repr(name), f"row {rows[0]}"))
    for name, text in sheet.notes.items():
        assert any(repr(name) in note and text in note for note in notes), (name, notes)
    separator = find_separator(table, ["city"])
    assert read_labels(table, ["city"], separator=separator, classes=CITIES).to_sets() == sheet.labels
    return notes


@pytest.mark.parametrize("name", SHEETS)
def test_columns_are_those_of_the_clean_file(tmp_path: Path, name: str) -> None:
    """Kinds, values, missing cells and labels do not depend on the form of the file; unreadable cells are named.

    The same applies, with the same notes, if the file is larger than the rows from which types are inferred.
    """
    path = ZOO[name].write(tmp_path / "table.csv")
    table = read_table(path, labels=["city"], cell_format=CellFormat(missing=ZOO[name].missing))
    notes = _check(ZOO[name], table)
    assert all(note.endswith(".") and "\n" not in note for note in notes)
    reader = DelimitedReader(path, BatchSpec(("city",)), part_bytes=800)
    frame = reader.read_file()
    filled = [each.with_columns(pl.col(pl.String).fill_null("")) for each in (frame, table.frame)]
    assert filled[0].equals(filled[1])
    assert (frame.schema, reader.dialect, tuple(reader.remarks)) == (table.frame.schema, table.dialect, table.remarks)


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv.gz", "-", ".jsonl", ".parquet", ".xlsx", ".ods"])
@pytest.mark.parametrize("part", range(4))
def test_other_formats_have_the_columns_of_the_clean_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, part: int
) -> None:
    """The faults of names and cells are read from other formats too, and all faults from other text."""
    if suffix in WRITERS:
        pytest.importorskip("fastexcel", reason="fastexcel is in the extra `excel`")
    is_text = suffix in (".csv.gz", "-")
    names = [name for name in FAULTS if is_text or (name not in FORMS and ZOO[name].is_plain)]
    first = 4 if suffix in (".csv.gz", ".parquet", ".ods") else 0  # two formats that are alike have all faults together
    for name in names[first + part :: 8]:
        cell_format = CellFormat(missing=ZOO[name].missing)
        if suffix == "-":
            path = ZOO[name].write(tmp_path / "table.csv")
            with path.open() as file:
                monkeypatch.setattr(sys, "stdin", file)
                table = read_table("-", format="csv", labels=["city"], cell_format=cell_format)
        else:
            table = read_table(ZOO[name].write(tmp_path / f"table{suffix}"), labels=["city"], cell_format=cell_format)
        _check(ZOO[name], table)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_labels_that_cannot_be_read_are_errors(tmp_path: Path, name: str, suffix: str) -> None:
    """The error names the file, the column, and the rows or the cell."""
    fault, parts = REFUSED[name]
    path = fault(ZOO["clean"]).write(tmp_path / f"table{suffix}")
    table = read_table(path, labels=["city"])
    with pytest.raises(LabelError) as caught:
        read_labels(table, ["city"], separator=find_separator(table, ["city"]))
    assert all(part in str(caught.value) for part in (str(path), *parts)), str(caught.value)


def test_a_messy_survey_has_the_features_of_the_clean_one(tmp_path: Path) -> None:
    """Encoding, delimiter, decimal comma, tokens, formats of dates and names are repaired, with notes."""
    survey = make_survey()
    frames, notes = [], []
    for name in ("clean", "messy"):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(getattr(survey, name))
        table = read_table(path, labels=["city"])
        columns, findings = choose_columns(table, exclude=["city"])
        frames.append(align_columns(table.frame, columns, path, cell_format=table.cell_format))
        separator = find_separator(table, ["city"])
        notes.append((findings.sentences(), read_labels(table, ["city"], separator=separator).mask))
    clean, messy = frames
    assert len(clean.columns) == N_QUESTIONS + 3  # without the code and the wave
    assert clean.equals(messy)
    np.testing.assert_array_equal(notes[0][1], notes[1][1])
    missing = f"and {N_TOKENS - 5} more are missing: "
    assert any("columns 'q1', " in note and missing in note and "'None'" in note for note in notes[1][0])


def test_the_zoo_is_read_in_batches_too(tmp_path: Path) -> None:
    """The form of the file does not change the batches of a stream."""
    spec = BatchSpec(("city",), tuple(Column(name, "number") for name in ("span", "mass", "count")))
    clean = list(iterate_batches(open_source(ZOO["clean"].write(tmp_path / "clean.csv")), 25, spec))
    for name in FORMS:
        path = ZOO[name].write(tmp_path / "table.csv")
        batches = list(iterate_batches(open_source(path), 25, spec))
        assert len(batches) == len(clean)
        for batch, other in zip(batches, clean, strict=True):
            labels = batch.frame["city"].fill_null("").to_list()
            assert labels == other.frame["city"].fill_null("").to_list(), name
            frame, expected = (
                align_columns(b.frame, spec.features or (), path, cell_format=b.cell_format) for b in (batch, other)
            )
            assert frame.equals(expected, null_equal=True), name
        after = list(iterate_batches(open_source(path), 25, spec, batches[0].after))
        assert [b.frame["city"].to_list() for b in after] == [b.frame["city"].to_list() for b in batches[1:]], name


def test_predictions_read_other_forms_than_the_training(tmp_path: Path) -> None:
    """Columns and formats of the clean file apply to each form of it: the dialect of a table is detected anew."""
    path = ZOO["clean"].write(tmp_path / "clean.csv")
    table = read_table(path, labels=["city"])
    columns, _ = choose_columns(table, exclude=["city"])
    columns, cell_format = saved_columns(
        [column[:2] for column in columns], {"cells": describe_cells(columns, table.cell_format)}
    )
    as_text = [column.name for column in columns if column.kind != "number"]
    expected = align_columns(table.frame, columns, path)
    for name in FORMS:
        other = read_table(
            ZOO[name].write(tmp_path / "other.csv"), as_text=as_text, labels=["city"], cell_format=cell_format
        )
        assert align_columns(other.frame, columns, path, cell_format=other.cell_format).equals(expected), name
