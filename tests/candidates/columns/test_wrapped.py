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
from tests.candidates.columns import label_reader, read_label_columns

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
    """Lists as text, in a code fence, or as the only value of an object, are the sets of a column of lists."""
    expected = CandidateSets.from_sets(SETS)
    candidates = read(FORMS[form], tmp_path / "t.jsonl", weighted=weighted)
    assert candidates.classes.tolist() == expected.classes.tolist()
    assert (candidates.mask == expected.mask).all()
    assert not candidates.is_weighted.any()


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
    expected = CandidateSets.from_weights(WEIGHTS)
    candidates = read(cells, tmp_path / "t.jsonl", weighted=True)
    assert candidates.classes.tolist() == expected.classes.tolist()
    assert (candidates.weights == expected.weights).all()
    with pytest.raises(LabelError, match="--weighted"):
        read(cells, tmp_path / "t.jsonl")


def test_sets_and_weights_as_text_are_read_by_their_own_form(tmp_path: Path) -> None:
    """With `weighted`, a list among texts of objects is a set; otherwise the text is an error that names its row."""
    cells = [SETS[0], *as_text(WEIGHTS)[1:]]
    candidates = read(cells, tmp_path / "t.jsonl", weighted=True)
    assert candidates.weights[0].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert (candidates.weights[1:] == CandidateSets.from_weights(WEIGHTS).weights[1:]).all()
    with pytest.raises(LabelError, match=r"labels 'y' of .*, row 3: the labels have weights.*--weighted"):
        read([*SETS[:3], json.dumps(WEIGHTS[3])], tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('["a", "b', "row 1: .* is not valid JSON"),
        ('["a", ""]', "row 1: .* contains an empty label"),
        (
            '{"labels": ["a"], "reason": "small"}',
            "row 1: the weight of .* must be a number.* whose only key",
        ),
    ],
)
def test_text_that_cannot_be_read_is_an_error_with_its_row(tmp_path: Path, cell: str, message: str) -> None:
    """A broken list among lists is an error, or an unlabeled row of a stream, rather than a class of its own."""
    cells = [SETS[0], cell, *SETS[1:]]
    with pytest.raises(LabelError, match=message):
        read(cells, tmp_path / "t.jsonl")
    frame = objects_to_frame([{"y": row} for row in cells])
    unreadable: list[int] = []
    reader = label_reader(["y"], "|", list("abcd"), on_unreadable=unreadable.extend)
    assert reader.evidence(frame)[1].all()
    assert unreadable == [1]


@pytest.mark.parametrize(
    "form", ["text and lists", "one text", "fences and lists", "objects", "objects with several keys"]
)
def test_streams_read_the_same_sets(form: str) -> None:
    """The names and the masks of batches are those of lists, in batches of any size."""
    expected = CandidateSets.from_sets(SETS).mask
    for size in (1, 2, 4):
        batches = [objects_to_frame([{"y": row} for row in FORMS[form][i : i + size]]) for i in range(0, 4, size)]
        names = label_reader(["y"], "|")
        assert set().union(*map(names.names, batches)) == set("abcd")
        reader = label_reader(["y"], "|", list("abcd"))
        assert [row.tolist() for batch in batches for row in reader.evidence(batch)] == expected.tolist()


@pytest.mark.parametrize("cell", [{"label": 3}, {"labels": ["a"], "reason": "small"}])
def test_other_objects_are_an_error_that_states_the_form(tmp_path: Path, cell: dict[str, Any]) -> None:
    """An object of a number may have a weight, and one of several keys is not a set of labels."""
    for cells in ([cell] * 3, as_text([cell] * 3)):
        with pytest.raises(LabelError, match=r"row 0: .* Write \[\"finch\", \"wren\"\], or"):
            read(cells, tmp_path / "t.jsonl")


def test_null_under_the_key_is_an_unlabeled_row(tmp_path: Path) -> None:
    """An object without labels is an unlabeled row, as null is."""
    for cells in (under("labels", [*SETS, None]), as_text(under("labels", [*SETS, None]))):
        for weighted in (False, True):
            assert (
                read(cells, tmp_path / "t.jsonl", weighted=weighted).is_unlabeled.tolist() == [False] * 3 + [True] * 2
            )


def test_a_record_without_a_weight_is_a_label(tmp_path: Path) -> None:
    """Records of one label may lack the weight in some rows."""
    cells = [{"label": "a", "score": 0.5}, {"label": "b", "score": None}, {"label": "c"}]
    candidates = read(cells, tmp_path / "t.jsonl", weighted=True)
    assert candidates.to_sets() == [{"a"}, {"b"}, {"c"}]


def test_an_interval_among_lists_is_one_class(tmp_path: Path) -> None:
    """Text of two ascending numbers is a list only if the separator states it."""
    cells = [[0, 1], [1, 2], "[1, 2]", [0]]
    assert "[1, 2]" in read(cells, tmp_path / "t.jsonl").classes.tolist()
    table = read_table(tmp_path / "t.jsonl", labels=["y"])
    candidates = read_labels(table, ["y"], separator="[]")
    assert candidates.classes.tolist() == [0, 1, 2]
    assert candidates.mask[2].tolist() == [False, True, True]


def test_an_object_with_a_repeated_key_is_an_error() -> None:
    """An object is not read by the last value of a repeated key."""
    with pytest.raises(LabelError):
        CandidateSets.from_strings(['{"labels": ["a"], "labels": ["b"]}', '["a"]', '["b"]'], separator="[]")
    sets = CandidateSets.from_strings(['{"labels": ["a", "b"]}', '["c"]'], separator="auto")
    assert sets.to_sets() == [{"a", "b"}, {"c"}]


def test_a_list_in_brackets_without_quotation_marks_may_be_a_label(tmp_path: Path) -> None:
    """Text that longer lists contain, and names that begin with a bracket, are classes among lists."""
    assert read([["[3]"], ["[3]", "b"], ["b"]], tmp_path / "t.jsonl").to_sets() == [{"[3]"}, {"[3]", "b"}, {"b"}]
    for name in ("[[Cat]]", "[(R)-carvone]", '["quoted" name'):
        assert read([["a", "b"], ["b"], [name]], tmp_path / "t.jsonl").to_sets()[2] == {name}


def test_batches_of_text_and_of_lists_have_the_classes_of_a_table(tmp_path: Path) -> None:
    """A batch of a stream that contains only the text of lists is read as in a column of lists."""
    cells = [*SETS * 10, *as_text([["a", "b|c"], *SETS]) * 10]
    expected = read(cells, tmp_path / "t.jsonl")
    for size in (7, len(cells)):
        batches = [objects_to_frame([{"y": row} for row in cells[i : i + size]]) for i in range(0, len(cells), size)]
        names = label_reader(["y"], "|")
        assert set().union(*map(names.names, batches)) == set(expected.classes.tolist())
        reader = label_reader(["y"], "|", expected.classes.tolist())
        assert [row.tolist() for batch in batches for row in reader.evidence(batch)] == expected.mask.tolist()


@pytest.mark.parametrize("as_cells", [list, as_text])
def test_a_number_under_the_key_of_other_labels_is_an_error(tmp_path: Path, as_cells: Any) -> None:
    """With weights, an object of a number alone under the key of labels may be a label or a weight."""
    for number in ("3", 3, 0.7):
        cells = as_cells(under("label", ["finch", "wren", number]))
        with pytest.raises(LabelError, match=r"row 2: .* has a number under the only key.*\{\"labels\": \[\"3\"\]\}"):
            read(cells, tmp_path / "t.jsonl", weighted=True)
    cells = as_cells([{"label": "finch"}, {"label": "wren"}, {"label": ["3"]}])
    assert read(cells, tmp_path / "t.jsonl", weighted=True).to_sets() == [{"finch"}, {"wren"}, {"3"}]
    weights = as_cells([{"label": 0.7, "other": 0.3}, {"other": 1.0}])
    assert read(weights, tmp_path / "t.jsonl", weighted=True).classes.tolist() == ["label", "other"]


VALUES: list[tuple[Any, set[str]]] = [
    ({"label": "a|b"}, {"a|b"}),
    ({"label": " a "}, {"a"}),
    ({"label": ["a", "b"]}, {"a", "b"}),
    ({"label": ""}, set()),
    ({"label": " "}, set()),
    ({"labels": []}, set()),
    ({"label": None}, set()),
    ({}, set()),
]


@pytest.mark.parametrize(("cell", "expected"), VALUES)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_object_and_its_text_have_one_value(tmp_path: Path, cell: Any, expected: set[str], weighted: bool) -> None:
    """Text under the key is one label; empty text, an empty list, null and no key make an unlabeled row."""
    cells = [cell, *under("label", ["a", "b", "c"])]
    as_objects = read(cells, tmp_path / "t.jsonl", weighted=weighted)
    assert as_objects == read(as_text(cells), tmp_path / "t.jsonl", weighted=weighted)
    assert as_objects.to_sets()[0] == (expected or set("abc"))
    assert as_objects.is_unlabeled[0] == (not expected)


def test_values_that_json_does_not_have_are_an_error_of_the_row() -> None:
    """Objects of Parquet may have dates, which are no weights."""
    rows = [{"labels": ["a", "b"], "at": None}, {"labels": ["a"], "at": datetime.date(2020, 1, 1)}]
    with pytest.raises(LabelError, match="row 1: the weight of 'labels' must be a number"):
        read_label_columns(pl.DataFrame({"y": rows}), ["y"], weighted=True)
