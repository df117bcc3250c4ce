"""Lists and objects of labels under a key of an object, or written as text among other lists."""

import datetime
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneof import CandidateSets
from oneof.errors import LabelError
from oneof.io import find_separator, read_labels, read_table
from oneof.io.formats.json_lines import objects_to_frame
from tests.candidates.columns import label_reader, read_label_columns, stream_classes

SETS = [["a", "b"], ["b", "c"], ["a"], ["c", "a", "b", "d"]]
WEIGHTS = [{"a": 0.5, "b": 1.0}, {"b": 0.25, "c": 1.0}, {"a": 1.0}, {"c": 0.5, "a": 1.0, "d": 0.5}]
RECORDS = [[{"label": label, "probability": weight} for label, weight in row.items()] for row in WEIGHTS]
PAIRS = [[list(pair) for pair in row.items()] for row in WEIGHTS]
FENCED = [f"Here it is:\n```json\n{json.dumps({'labels': row})}\n```" for row in SETS]


def alternate(first: list[Any], second: list[Any]) -> list[Any]:
    return [one if i % 2 else other for i, (one, other) in enumerate(zip(first, second, strict=True))]


def under(key: str, rows: list[Any]) -> list[Any]:
    return [{key: row} for row in rows]


def as_text(rows: list[Any]) -> list[str]:
    return [json.dumps(row) for row in rows]


def read(cells: list[Any], path: Path, *, weighted: bool = False) -> CandidateSets:
    """Return the labels of a file of JSON lines, with a separator that is detected."""
    path.write_text("".join(json.dumps({"x": i, "y": cell}) + "\n" for i, cell in enumerate(cells)), encoding="utf-8")
    table = read_table(path, labels=["y"])
    separator = find_separator(table, ["y"], weighted=weighted)
    return read_labels(table, ["y"], separator=separator, weighted=weighted)


FORMS: dict[str, list[Any]] = {
    "text and lists": alternate(SETS, as_text(SETS)),
    "one text": [json.dumps(SETS[0]), *SETS[1:]],
    "text of Python": alternate(SETS, [repr(row) for row in SETS]),
    "fences and lists": alternate(SETS, FENCED),
    "objects": under("labels", SETS),
    "objects with several keys": alternate(under("candidates", SETS), under("classes", SETS)),
    "objects and lists": alternate(SETS, under("labels", SETS)),
    "objects of lists and of text": [{"label": row[0] if len(row) == 1 else row} for row in SETS],
    "text of objects": as_text(under("labels", SETS)),
    "text of objects of Python": [repr(row) for row in under("labels", SETS)],
    "objects and text of objects": alternate(under("labels", SETS), as_text(under("labels", SETS))),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_sets_have_one_meaning_in_all_forms(tmp_path: Path, form: str, weighted: bool) -> None:
    """Lists as text, in a code fence, or as the only value of an object, are the sets of a column of lists.

    A stream reads the same names and masks in batches of any size.
    """
    expected = CandidateSets.from_sets(SETS)
    assert read(FORMS[form], tmp_path / "t.jsonl", weighted=weighted) == expected
    for size in (1, 2, 4):
        batches = [objects_to_frame([{"y": row} for row in FORMS[form][i : i + size]]) for i in range(0, 4, size)]
        assert stream_classes(batches, weighted=weighted) == list("abcd")
        reader = label_reader(["y"], "|", list("abcd"), weighted=weighted)
        assert [row.tolist() for batch in batches for row in reader.evidence(batch)] == expected.mask.tolist()


@pytest.mark.parametrize(
    "cells",
    [
        alternate(WEIGHTS, as_text(WEIGHTS)),
        alternate(RECORDS, as_text(RECORDS)),
        alternate(PAIRS, as_text(PAIRS)),
        alternate(RECORDS, WEIGHTS),
        under("labels", RECORDS),
        under("labels", WEIGHTS),
        alternate(WEIGHTS, under("labels", RECORDS)),
    ],
)
def test_weights_have_one_meaning_in_all_forms(tmp_path: Path, cells: list[Any]) -> None:
    """Objects of weights, records and pairs may be text in some rows; without `weighted` the error names the option."""
    assert read(cells, tmp_path / "t.jsonl", weighted=True) == CandidateSets.from_weights(WEIGHTS)
    with pytest.raises(LabelError, match="--weighted"):
        read(cells, tmp_path / "t.jsonl")


def test_an_interval_among_lists_is_one_class(tmp_path: Path) -> None:
    """Text of two ascending numbers is a list only if the separator states it."""
    cells = [[0, 1], [1, 2], "[1, 2]", [0]]
    assert "[1, 2]" in read(cells, tmp_path / "t.jsonl").classes.tolist()
    table = read_table(tmp_path / "t.jsonl", labels=["y"])
    candidates = read_labels(table, ["y"], separator="[]")
    assert candidates.classes.tolist() == [0, 1, 2]
    assert candidates.mask[2].tolist() == [False, True, True]


def test_a_list_in_brackets_without_quotation_marks_may_be_a_label(tmp_path: Path) -> None:
    """Text that longer lists contain, and names that begin with a bracket, are classes among lists."""
    assert read([["[3]"], ["[3]", "b"], ["b"]], tmp_path / "t.jsonl").to_sets() == [{"[3]"}, {"[3]", "b"}, {"b"}]
    for name in ("[[Cat]]", "[(R)-carvone]", '["quoted" name'):
        assert read([["a", "b"], ["b"], [name]], tmp_path / "t.jsonl").to_sets()[2] == {name}


def test_values_that_json_does_not_have_are_an_error_of_the_row() -> None:
    """Objects of Parquet may have dates, which are no weights."""
    rows = [{"labels": ["a", "b"], "at": None}, {"labels": ["a"], "at": datetime.date(2020, 1, 1)}]
    with pytest.raises(LabelError, match="row 1: the weight of 'labels' must be a number"):
        read_label_columns(pl.DataFrame({"y": rows}), ["y"], weighted=True)
