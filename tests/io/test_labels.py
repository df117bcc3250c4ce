"""Columns of labels: all forms of the same supervision give equal sets, and other cells are errors."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.errors import DataError, LabelError, OneofError
from oneof.io import CellFormat, Table, UnreadableCells, find_separator, read_labels, read_truth

SETS = [{"a", "b"}, {"b"}, {"a", "b", "c"}, {"c"}]


def _table(cell_format: CellFormat | None = None, **columns: Any) -> Table:
    return Table(pl.DataFrame(columns), Path("t.csv"), cell_format=cell_format or CellFormat())


@pytest.mark.parametrize("values", [(0, 1), ("0", "1"), (False, True)])
def test_one_column_per_class(values: tuple[Any, Any]) -> None:
    """Several columns of 0 and 1 are an indicator, also as text or booleans; their names are the classes."""
    cells = {name: [values[name in labels] for labels in SETS] for name in "abc"}
    assert read_labels(_table(**cells), [*cells]).to_sets() == SETS


@pytest.mark.parametrize(
    ("cells", "missing", "sets"),
    [
        ([3, 1, -1, 3], (), [{3}, {1}, {1, 3}, {3}]),
        (["3", "1", "", "3"], (), [{3}, {1}, {1, 3}, {3}]),
        ([3.0, 1.0, None, 3.0], (), [{3}, {1}, {1, 3}, {3}]),
        (["3", "1", "-1", "3.0"], (), [{3}, {1}, {1, 3}, {3}]),
        (["07|8", "8", None], (), [{"07", "8"}, {"8"}, {"07", "8"}]),
        (["07", "8", "07"], (), [{"07"}, {"8"}, {"07"}]),
        (["10|9", "9", None, "-1", "9|-1"], (), [{9, 10}, {9}, {-1, 9, 10}, {-1}, {-1, 9}]),
        ([1, 999, 2], ("999",), [{1}, {1, 2}, {2}]),
        ([1.0, 999.0, 2.0], ("999",), [{1}, {1, 2}, {2}]),
        (["1", "999", "2"], ("999",), [{1}, {1, 2}, {2}]),
    ],
)
def test_labels_are_numbers_if_all_are_whole_numbers(cells: list[Any], missing: Any, sets: list[Any]) -> None:
    """-1, empty cells and tokens are unlabeled; codes with leading zeros are names, and a label has one type."""
    table = _table(CellFormat(missing=missing), y=cells)
    candidates = read_labels(table, ["y"])
    assert candidates.to_sets() == sets
    assert candidates.classes.tolist() == sorted(set().union(*sets))
    if missing:
        assert read_truth(table, "y", np.array([1, 2])).tolist() == [1, None, 2]


@pytest.mark.parametrize(
    ("table", "columns", "options", "message"),
    [
        (_table(y=["a", "a"]), ["y"], {}, "only one class occurs"),
        (_table(y=["a", None]), ["y"], {}, "only one class occurs"),
        (_table(y=["", None]), ["y"], {}, "every row is unlabeled"),
        (_table(y=[-1, -1]), ["y"], {}, "every row is unlabeled"),
        (_table(y=["a|b", "b|a"]), ["y"], {}, "every row is unlabeled"),
        (_table(y=["a", "[]", "b"]), ["y"], {}, "row 1: the candidate set is empty"),
        (_table(y=["a", "b||a", "b"]), ["y"], {}, "row 1: 'b||a' contains an empty label"),
        (_table(y=[["a"], ["b"], []]), ["y"], {}, "row 2: the candidate set is empty"),
        (_table(a=[1, 0], b=[0, 0]), ["a", "b"], {}, "row 1: the candidate set is empty"),
        (_table(a=[1, 0], b=[0, 2]), ["a", "b"], {}, "row 1: column 'b' must contain 0 and 1.* got 2"),
        (_table(a=["x", "y"], b=[0, 1]), ["a", "b"], {}, "column 'a' must contain 0 and 1"),
        (_table(a=["yes", "no"], b=["no", "yes"]), ["a", "b"], {}, "column 'a' must contain 0 and 1"),
        (_table(a=[1, 0], b=[0, 1]), ["a", "a"], {}, "'a' twice"),
        (_table(y=["1.5", "2.25"]), ["y"], {}, "row 0: labels must not be continuous; got '1.5'"),
        (_table(y=[1.5, 2.25]), ["y"], {}, "continuous"),
        (_table(y=["a", "b"]), ["y"], {"classes": ["a", "c"]}, "row 1: label 'b' is not one of the classes"),
        (_table(y=["a", "b"]), ["x"], {}, "column 'x' does not exist"),
        (_table(y=[1, 2]), ["y"], {"classes": ["a", "b"]}, "'1' is not one of the classes"),
    ],
)
def test_invalid_labels_are_errors(table: Table, columns: list[str], options: Any, message: str) -> None:
    with pytest.raises(OneofError, match=message.replace("|", r"\|")) as caught:
        read_labels(table, columns, **options)
    assert "\n" not in str(caught.value)


CITIES = ["Oslo", "Lyon", "S\u00e3o Paulo", "Z\u00fcrich"]
LISTS = [",".join(labels) for n in (2, 3) for labels in itertools.combinations("abcd", n)]


@pytest.mark.parametrize(
    ("cells", "row", "separator"),
    [
        ([*CITIES, "S\u00e3o Paulo;Z\u00fcrich"], 4, ";"),
        ([*CITIES, "Oslo, Norway"], 4, ","),
        ([*CITIES, "Oslo / Lyon"], 4, " / "),
        (LISTS[:1] + LISTS[-2:], 0, ","),
        ([f"{size}, {color}" for size in "sml" for color in "rgb"], 0, ","),
    ],
)
def test_doubtful_separators_are_questions(cells: list[str], row: int, separator: str) -> None:
    """Cells that may be sets or classes, such as few lists, are an error that names the row and both options."""
    message = f"row {row}: '.*' may be a set .* Add --separator '{separator}'.* --separator '.'"
    with pytest.raises(LabelError, match=message):
        find_separator(_table(y=cells), ["y"])
    assert find_separator(_table(y=cells), ["y"], classes=cells) == "|"


def test_all_bad_cells_are_in_one_error() -> None:
    """The error has the first cell with its reason, and the rows of the next nine."""
    cells = ["a", "b||a", "[]", "b", *(f"b||{i}" for i in range(12)), "b||a"]
    with pytest.raises(LabelError) as caught:
        read_labels(_table(y=cells), ["y"])
    message = str(caught.value)
    assert "row 1: 'b||a' contains an empty label" in message
    assert "In all, 15 cells cannot be read: also row 2 ('[]'), row 4 ('b||0')" in message
    assert ("row 11" in message, "row 12" in message, caught.value.row) == (True, False, 1)
    with pytest.raises(LabelError, match=r"row 1: label 'c' .* In all, 2 cells .*: also row 2 \('d'\)") as caught:
        read_labels(_table(y=["a", "c|b", "d"]), ["y"], classes=["a", "b"])
    assert caught.value.cause == "unknown label"
    with pytest.raises(DataError, match=r"row 0: .* contains 'x', .* In all, 3 cells .*: also row 2 \('z'\)"):
        read_truth(_table(t=["x", "a", "z", "x"]), "t", np.array(["a", "b"]))


def test_truth_is_read_over_the_classes() -> None:
    """A label is the same as a number or as text; a missing true label is allowed, an unknown label is not."""
    table = _table(y=["1|2", "2", "3"], t=[1, 2, 3], u=["3", None, "1"], w=["1", "2", "9"], e=[None, None, None])
    classes = read_labels(table, ["y"]).classes
    assert read_truth(table, "t", classes).tolist() == [1, 2, 3]
    assert read_truth(table, "u", classes).tolist() == [3, None, 1]
    with pytest.raises(
        DataError, match="row 2: the truth column 'w' contains '9', which is not a class of the candidate sets"
    ):
        read_truth(table, "w", classes)
    with pytest.raises(DataError, match=r"the truth column 'e' has no labels"):
        read_truth(table, "e", classes)


RANKED = {
    "first": ["owl", "owl", "wren", None, " "],
    "second": ["wren", "n/a", None, None, None],
    "p": [0.75, 0.5, 1.0, None, None],
    "q": [0.25, 0.5, None, None, 0.5],
}


def test_ranked_columns_are_the_weights_of_their_labels() -> None:
    """Columns of labels and of their weights give the weights of the text; empty labels are left out."""
    y = read_labels(_table(**RANKED), ["first", "second"], weights=["p", "q"])
    texts, classes = ["owl:.75|wren:.25", "owl:.5|n/a:.5", "wren:1", "", ""], ["n/a", "owl", "wren"]
    assert y == CandidateSets.from_strings(texts, classes=classes, weighted=True)
    with pytest.raises(DataError, match="--labels and --weights must name as many columns; got 2 and 1"):
        read_labels(_table(**RANKED), ["first", "second"], weights="p")
    with pytest.raises(LabelError, match=r"row 2: the weight of 'wren' must be a number.*got None"):
        read_labels(_table(**RANKED | {"p": [0.75, 0.5, None, None, None]}), ["first", "second"], weights=["p", "q"])


@pytest.mark.parametrize(
    "further", [["['wren', 'robin']", "[]", "[]"], [["wren", "robin"], None, None], ["wren|robin", "", None]]
)
def test_a_primary_label_and_further_ones_are_one_set(further: list[Any]) -> None:
    """Columns of labels, of which one may have lists, give their union; a separator is that of all, or of each."""
    names = ["first", "more"]
    y = read_labels(_table(first=["owl", "wren", None], more=further), names, separator=None)
    assert y.to_sets() == [{"owl", "robin", "wren"}, {"wren"}, {"owl", "robin", "wren"}]
    with pytest.raises(LabelError, match=r"labels 'more' of t.csv, row 1: .* contains an empty label"):
        read_labels(_table(first=["owl", "wren"], more=["owl", "a||b"]), names)
    y = read_labels(_table(first=["owl", "wren"], more=["wren+robin", None]), names, separator="+")
    assert y.to_sets() == [{"owl", "robin", "wren"}, {"wren"}]
    unreadable = UnreadableCells()
    tolerant = _table(CellFormat(label_errors="unlabeled"), first=["owl", "wren"], more=["wren", "a||b"])
    y = read_labels(tolerant, names, classes=["owl", "robin", "wren"], unreadable=unreadable)
    assert y.is_unlabeled.tolist() == [False, True]
    assert [finding.rows for finding in unreadable.findings("unreadable labels")] == [(1,)]


def test_names_of_rows_are_refused_as_labels() -> None:
    """More than 1,000 labels that are more than half as many as the rows are an error, unless they are named."""
    names = [f"clip {i}" for i in range(1_001)]
    for cells in (names, list(range(1_001))):
        with pytest.raises(LabelError, match=r"1,001 cells have 1,001 different labels"):
            read_labels(_table(y=cells), ["y"])
        assert read_labels(_table(y=cells[:1_000]), ["y"]).shape == (1_000, 1_000)
        assert read_labels(_table(y=cells), ["y"], classes=list(map(str, cells))).shape == (1_001, 1_001)
    with pytest.raises(LabelError, match=r"different labels"):  # also if a few cells have several
        read_labels(_table(y=[*names, "clip 1|clip 2"]), ["y"])
    pairs = [f"{a}|{b}" for a, b in zip(names[:40] * 60, names[1:61] * 40, strict=True)]
    assert read_labels(_table(y=pairs), ["y"]).shape[1] == 61


@pytest.mark.parametrize("folds_case", [False, True])
def test_an_unknown_class_does_not_recommend_an_option_that_is_given(folds_case: bool) -> None:
    """The error names --fold-case only if case is not folded already."""
    table = _table(CellFormat(folds_labels=folds_case), y=["Owl", "crow"])
    with pytest.raises(LabelError, match="--missing leaves out labels that are not classes") as caught:
        read_labels(table, ["y"], classes=["owl" if folds_case else "Owl", "wren"])
    assert ("--fold-case" in str(caught.value)) != folds_case
