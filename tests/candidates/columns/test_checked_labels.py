"""Cells of checked labels, which are read as those of the label column."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.candidates.cells import LabelFormat, parse
from oneof.candidates.columns import match_checked_labels, match_true_labels
from oneof.errors import LabelError

BIRDS = np.array(["finch", "wren"])


@pytest.mark.parametrize(
    ("cell", "options", "label"),
    [
        ("NaN", {}, None),
        ("?", {"missing": ["?"]}, None),
        ("owl:0.8", {"has_weights": True}, "owl"),
        ('{"owl": 0.8}', {"has_weights": True}, "owl"),
        ("['owl']", {"separator": "[]"}, "owl"),
        ('{"label": "a|b"}', {}, "a|b"),
        (r"a\|b", {}, "a|b"),
        ("Finch", {"folds_case": True}, "finch"),
        ("Sea_Eagle", {"folds_case": True}, "Sea_Eagle"),
        ("finch|finch", {}, "finch"),
        ("finch|?", {"missing": ["?"]}, "finch"),
    ],
)
def test_a_cell_has_the_label_of_the_label_column(cell: str, options: dict[str, Any], label: Any) -> None:
    """Lists, weights, escapes, case and missing labels are read as in the label column."""
    cells = pl.Series("checked", [None, cell])
    labels, new = match_checked_labels(cells, BIRDS, adds_classes=True, **options)
    assert labels == [None, label]
    assert new == ([] if label in (None, "finch") else [label])


def test_columns_of_lists_and_of_other_types() -> None:
    """A list of one label, a category and a whole number are labels; an empty list and NaN are not."""
    lists = pl.Series("checked", [["finch"], [], None, ["wren"]])
    assert match_checked_labels(lists, BIRDS)[0] == ["finch", None, None, "wren"]
    categories = pl.Series("checked", ["wren", None], dtype=pl.Categorical)
    assert match_checked_labels(categories, BIRDS)[0] == ["wren", None]
    numbers = pl.Series("checked", [1.0, float("nan"), None, -1.0, 2.0])
    labels, new = match_checked_labels(numbers, np.array([0, 1]), adds_classes=True)
    assert (labels, new) == ([1, None, None, None, 2], [2])
    assert [type(label) for label in new] == [int]
    assert match_checked_labels(numbers, np.array([-1, 1, 2]))[0] == [1, None, None, -1, 2]
    digits = pl.Series("checked", ["900719925474099301", "900719925474099301.0"])  # floats have 53 bits
    assert match_checked_labels(digits, np.array([0, 1]), adds_classes=True)[0] == 2 * [900719925474099301]


@pytest.mark.parametrize(
    ("cells", "classes", "options", "message"),
    [
        ([None, "finch|wren"], BIRDS, {}, "row 1: 'finch|wren' has several labels"),
        ([None, '["a", "b"]'], BIRDS, {"separator": "[]"}, "row 1: '.*' has several labels"),
        ([None, '["a"'], BIRDS, {"separator": "[]"}, "row 1: .* is not valid JSON"),
        ([None, "a:0.5|b:0.5"], BIRDS, {"has_weights": True}, "row 1: 'a:0.5|b:0.5' has several labels"),
        ([None, ["finch", "wren"]], BIRDS, {}, "row 1: .* has several labels"),
        (["1", "0.7", "0.7", "x"], np.array([0, 1]), {}, "row 1: '0.7' is not a whole number.*3 cells.*row 3"),
        (["inf"], np.array([0, 1]), {}, "row 0: 'inf' is not a whole number"),
        ([0.7], np.array([0, 1]), {}, "row 0: labels must not be continuous"),
        (["owl"], BIRDS, {"adds_classes": False}, "row 0: label 'owl' is not one of the classes 'finch', 'wren'"),
        ([[["finch"]]], BIRDS, {}, "row 0: .*, which is not a label"),
        ([{"finch": 1.0}], BIRDS, {}, "row 0: the labels have weights"),
        *((["finch", text], BIRDS, {}, "is not a class. Leave the cells of rows without") for text in ("NA", "n/a")),
    ],
)
def test_cells_that_are_not_one_label_are_errors(
    cells: list[Any], classes: Any, options: dict[str, Any], message: str
) -> None:
    """The error has the row, and the number of all such cells."""
    with pytest.raises(LabelError, match=message.replace("|", r"\|")):
        match_checked_labels(pl.Series("checked", cells), classes, **{"adds_classes": True} | options)


def test_checked_labels_with_weights_keep_their_spelling() -> None:
    """With `folds_case`, a new class has the most frequent spelling in cells with weights as in cells without."""
    for cells in (["HERON:1", "HERON:0.9", "heron:0.8"], ["HERON", "HERON", "heron"], ['{"HERON": 1.0}', "HERON:1"]):
        labels, new = match_checked_labels(
            pl.Series("checked", cells),
            np.array(["finch", "owl"]),
            has_weights=True,
            folds_case=True,
            adds_classes=True,
        )
        assert labels == ["HERON"] * len(cells)
        assert new == ["HERON"]


@pytest.mark.parametrize(("separator", "cell"), [("|", r"a\|b"), (";", r"a\;b"), ("| or", r"a\|b"), ("[]", '["a|b"]')])
def test_true_labels_are_read_as_cells_of_the_label_column(separator: str, cell: str) -> None:
    """Escapes and lists have the meaning that they have in the cells of labels."""
    form = LabelFormat(separator)
    [[(name, _)]] = [parse(cell, form)]
    truth, unknown = match_true_labels([cell, name, "owl"], np.array([name, "owl"]), separator=separator)
    assert (truth.tolist(), unknown) == ([name, name, "owl"], {})
