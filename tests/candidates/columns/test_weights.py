"""Columns of labels and weights: every form gives the same sets, in tables and in batches; cells that are wrong."""

import datetime
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.cells import LabelFormat, parse
from oneof.candidates.columns import match_checked_labels, match_true_labels
from oneof.candidates.labels import label_to_text
from oneof.errors import DataError, InputError, LabelError
from oneof.io import find_separator, read_labels, read_table
from oneof.io.formats.json_lines import objects_to_frame
from tests.candidates.columns import label_reader, read_label_columns, stream_classes

LABELS = ["a", "b", "c"]
WEIGHTS = CandidateSets.from_weights([[0.5, 0.25, 0], [0, 0, 1], [1, 1, 1], [0, 0.5, 1], [1, 1, 0]], LABELS)
ROWS = [[("a", 0.5), ("b", 0.25)], [("c", 1.0)], [], [("c", 1.0), ("b", 0.5)], [("a", 1.0), ("b", 1.0)]]
RECORDS = [[{"label": k, "prob": w} for k, w in row] for row in ROWS]
SETS = [["a", "b"], ["c"], [], ["c", "b"], ["a", "b"]]
WEIGHTED, SECOND = {"weighted": True}, {"weights": "w"}
FORMS = [
    ({"y": [{"a": 0.5, "b": 0.25, "c": None}, {"c": 1.0}, None, {"b": 0.5, "c": 1.0}, {"a": 2.0, "b": 2.0}]}, WEIGHTED),
    ({"y": [[[k, str(w)] for k, w in row] for row in ROWS]}, WEIGHTED),
    ({"y": RECORDS}, WEIGHTED),
    ({"a": [2, 0, None, 0, 1], "b": [1, 0, None, 1, 1], "c": [0, 1, None, 2, 0]}, WEIGHTED),
    ({"a": ["2", "0", "1", "0", "1"], "b": ["1", "0", "1", "1", "1"], "c": list("01120")}, WEIGHTED),
    ({"y": ["a|b", "c", "", "c|b", "a|b"], "w": ["0.5|0.25", "1", None, "1|0.5", ""]}, SECOND),
    ({"y": SETS, "w": [[0.5, 0.25], [2.0], None, [1.0, 0.5], None]}, SECOND),
    ({"y": SETS, "w": [[2, 1], [1], [], [2, 1], None]}, SECOND),
    ({"y": ["a|b", "c", "[]", "c|b", "a|b"], "w": ["50%|25 %", "1", "[]", "1|0.5", ""]}, SECOND),
    ({"y": ["a|b", "c", "", "c|b", "a|b"], "w": ["c(0.5, 0.25)", "[np.float64(1)]", "", "{1,0.5}", ""]}, SECOND),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "options"), FORMS)
def test_forms_of_weights(columns, options):
    """Text, lists, structs and columns of numbers give the same weights in tables and in batches."""
    frame = pl.DataFrame(columns)
    names = [name for name in frame.columns if name != "w"]
    y = read_label_columns(frame, names, **options)
    np.testing.assert_array_equal(y.weights, WEIGHTS.weights)
    assert y.classes.tolist() == LABELS
    separator = options.pop("separator", "|")
    reader = label_reader(names, separator, LABELS, **options)
    np.testing.assert_array_equal(reader.evidence(frame), WEIGHTS.weights)
    if len(names) == 1:
        assert stream_classes([frame], separator=separator, **options) == LABELS
        np.testing.assert_array_equal(reader.evidence(frame[1:3]), WEIGHTS.mask[1:3])
        assert reader.evidence(frame[1:3]).dtype == bool


def test_numbers_are_labels():
    """One whole number and one weight in each row are read as numbers; -1 marks an unlabeled row."""
    for labels in ([3, 4, -1, None], ["3", "4", "-1", ""]):
        frame = pl.DataFrame({"y": labels, "w": [0.75, 0.5, 1.0, None]})
        y = read_label_columns(frame, ["y"], weights="w", rest=True)
        assert y.classes.tolist() == [3, 4]
        np.testing.assert_array_equal(y.weights, [[1, 1 / 3], [1, 1], [1, 1], [1, 1]])
        reader = label_reader(["y"], "|", ["3", "4"], weights="w", rest=True)
        np.testing.assert_array_equal(reader.evidence(frame), y.weights)
    lists = pl.DataFrame({"y": [[3, 4], [4]], "w": [[0.5, 1.0], [1.0]]})
    assert read_label_columns(lists, ["y"], weights="w", classes=["4", "3"]).classes.tolist() == [4, 3]


def test_numbers_in_pairs_are_labels():
    """Pairs of numbers in a column of lists have whole numbers as labels; an empty list has no rest and no prior."""
    frame = pl.DataFrame({"y": [[[3.0, 0.75], [4.0, 0.25]], [[4.0, 1.0]], [], [[3.0, 0.5]]]})
    options = {"weighted": True, "kind": "posterior", "prior": [0.5, 0.5], "rest": True}
    y = read_label_columns(frame, ["y"], **options)
    assert y.classes.tolist() == [3, 4]
    np.testing.assert_allclose(y.weights, [[1, 1 / 3], [0, 1], [1, 1], [1, 1]])
    reader = label_reader(["y"], "|", ["3", "4"], **options)
    total, n_rows = reader.posterior_sum(frame)
    np.testing.assert_allclose(total, [1.25, 1.75])
    assert n_rows == 3


def test_columns_without_weights_are_sets():
    """With `weighted`, columns without any weight give the same candidate sets as without it."""
    for cells in (["a|b", "c", None], [["a", "b"], ["c"], None], ["3", "4", ""], [3, 4, None], [True, False, None]):
        frame = pl.DataFrame({"y": cells})
        assert read_label_columns(frame, ["y"], weighted=True) == read_label_columns(frame, ["y"])


def test_options_apply_to_columns():
    """The kind, the prior and the rest have the meaning of `from_weights`."""
    frame = pl.DataFrame({"y": ["a:0.5|other:0.5", "b:1", ""]})
    options = {"kind": "posterior", "prior": [0.5, 0.25, 0.25], "rest": "other"}
    y = read_label_columns(frame, ["y"], classes=LABELS, weighted=True, **options)
    np.testing.assert_array_equal(y.weights, [[1, 1, 1], [0, 1, 0], [1, 1, 1]])
    reader = label_reader(["y"], "|", LABELS, weighted=True, **options)
    np.testing.assert_array_equal(reader.evidence(frame), y.weights)
    assert stream_classes([frame], weighted=True, **options) == ["a", "b"]
    wide = pl.DataFrame({"a": [0.5, 1.0], "b": [0.0, 0.0], "other": [0.25, 0.0]})
    expected = [[1, 0.5], [1, 0]]
    y = read_label_columns(wide, wide.columns, weighted=True, rest="other")
    np.testing.assert_array_equal(y.weights, expected)
    reader = label_reader(wide.columns, "|", ["a", "b"], weighted=True, rest="other")
    np.testing.assert_array_equal(reader.evidence(wide), expected)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"y": [[["a", "0.5"]], [["b", "x"]]]}, WEIGHTED, "row 1: the weight of 'b' must be a number"),
        ({"y": [None, None]}, WEIGHTED, "every row is unlabeled"),
        ({"y": ["a:0.5", "a:0.7"]}, WEIGHTED, "only one class occurs"),
        ({"y": ["a", "b|c"], "w": ["1", "0.5"]}, SECOND, r"row 1: .* number of labels \(2\) and weights \(1\)"),
        ({"y": ["a", None], "w": ["1", "0.5"]}, SECOND, r"row 1: .* number of labels \(0\) and weights \(1\)"),
        ({"y": ["a", "b|c"], "w": ["1", "0.5|y"]}, SECOND, "row 1: '0.5|y' must contain numbers"),
        ({"y": ["a", "b"], "w": [True, False]}, SECOND, "row 0: 'true' must contain numbers"),
        ({"y": ["a", "b"], "w": [0.5, -1.0]}, SECOND, "row 1: the weight of 'b' .* -1.0"),
        ({"y": ["a", "b"], "w": ["1", "{'b': 0.5}"]}, SECOND, "row 1: .* must contain numbers"),
        ({"y": [[{"label": "a", "score": 0.7}], []], "w": ["1", ""]}, SECOND, "row 0: the labels have weights"),
        ({"a": [1.0, 0.5], "b": [0.5, None]}, WEIGHTED, "row 1: column 'b' must contain numbers .* got an empty cell"),
        # the labels and the weights have one order, which removing a blank from one of them would shift
        ({"y": ["a|c", "|a|b"], "w": ["1|0.5", "0.1|0.5|"]}, SECOND, "row 1: .* must contain numbers"),
        ({"y": ["a|c", "a|b"], "w": ["1|0.5", '[0.5, 1, ""]']}, SECOND, "row 1: .* must contain numbers"),
    ],
)
def test_bad_columns_of_weights(columns, options, message):
    """Errors of tables and batches name the row and the cell or the column."""
    frame = pl.DataFrame(columns)
    names = [name for name in frame.columns if name != "w"]
    with pytest.raises(LabelError, match=message):
        read_label_columns(frame, names, **options)
    if "row 1" in message:
        known = names if len(names) > 1 else LABELS
        with pytest.raises(LabelError, match=message):
            label_reader(names, "|", known, **options).evidence(frame)


def test_unknown_labels_and_bad_options_are_errors():
    """A label of a batch that is not a class is an error; posteriors in a stream require a prior."""
    reader = label_reader(["y"], "|", LABELS, weighted=True)
    with pytest.raises(LabelError, match=r"row 1: label 'z' is not one of the classes 'a', 'b', 'c'.*--classes"):
        reader.evidence(pl.DataFrame({"y": ["a:0.5", "z:0.5"]}))
    with pytest.raises(InputError, match='`prior` must be given for kind="posterior"'):
        label_reader(["y"], "|", weighted=True, kind="posterior")
    frame = pl.DataFrame({"a": [1, 0], "b": [0, 1], "w": [1, 1]})
    for options in ({"weights": "w"}, {"weighted": True, "classes": ["b", "a"]}, {"folds_case": True}):
        for read in (read_label_columns, label_reader):
            with pytest.raises(DataError, match="the names of several label columns are the classes"):
                read(*[frame] * (read is read_label_columns), ["a", "b"], **options)


# -- Lists and objects of labels under a key of an object, or written as text among other lists ----------------------


KEY_SETS = [["a", "b"], ["b", "c"], ["a"], ["c", "a", "b", "d"]]
FENCED = [f"Here it is:\n```json\n{json.dumps({'labels': row})}\n```" for row in KEY_SETS]


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


WRAPPED: dict[str, list[Any]] = {
    "text and lists": alternate(KEY_SETS, as_text(KEY_SETS)),
    "one text": [json.dumps(KEY_SETS[0]), *KEY_SETS[1:]],
    "fences and lists": alternate(KEY_SETS, FENCED),
    "objects": under("labels", KEY_SETS),
    "objects with several keys": alternate(under("candidates", KEY_SETS), under("classes", KEY_SETS)),
    "objects and lists": alternate(KEY_SETS, under("labels", KEY_SETS)),
    "objects of lists and of text": [{"label": row[0] if len(row) == 1 else row} for row in KEY_SETS],
    "text of objects": as_text(under("labels", KEY_SETS)),
    "objects and text of objects": alternate(under("labels", KEY_SETS), as_text(under("labels", KEY_SETS))),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", WRAPPED)
def test_sets_have_one_meaning_in_all_forms(tmp_path: Path, form: str, weighted: bool) -> None:
    """Lists as text, in a code fence, or as the only value of an object, are the sets of a column of lists.

    A stream reads the same names and masks in batches of any size.
    """
    expected = CandidateSets.from_sets(KEY_SETS)
    assert read(WRAPPED[form], tmp_path / "t.jsonl", weighted=weighted) == expected
    for size in (1, 2, 4):
        batches = [objects_to_frame([{"y": row} for row in WRAPPED[form][i : i + size]]) for i in range(0, 4, size)]
        assert stream_classes(batches, weighted=weighted) == list("abcd")
        reader = label_reader(["y"], "|", list("abcd"), weighted=weighted)
        assert [row.tolist() for batch in batches for row in reader.evidence(batch)] == expected.mask.tolist()


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
    """Objects of Parquet may have dates, which are not weights."""
    rows = [{"labels": ["a", "b"], "at": None}, {"labels": ["a"], "at": datetime.date(2020, 1, 1)}]
    with pytest.raises(LabelError, match="row 1: the weight of 'labels' must be a number"):
        read_label_columns(pl.DataFrame({"y": rows}), ["y"], weighted=True)


# -- Cells of checked labels, which are read as those of the label column --------------------------------------------


BIRDS = np.array(["finch", "wren"])


def test_a_checked_label_may_be_new() -> None:
    """A label that is not a class has its own name, or with `folds_case` its most frequent spelling."""
    for cells, expected in (
        (["owl:0.8", r"a\|b", "finch|?", "?"], ["owl", "a|b", "finch", None]),
        (["Finch", "Sea_Eagle"], ["finch", "Sea_Eagle"]),
        (["HERON:1", "HERON:0.9", "heron:0.8"], ["HERON"] * 3),
        (['{"HERON": 1.0}', "HERON:1"], ["HERON"] * 2),
    ):
        options = {"has_weights": True, "folds_case": True, "missing": ["?"], "adds_classes": True}
        labels, new = match_checked_labels(pl.Series("checked", [None, *cells]), BIRDS, **options)
        assert labels == [None, *expected]
        assert new == sorted({*expected} - {"finch", None})


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
        ([None, ["finch", "wren"]], BIRDS, {}, "row 1: .* has several labels"),
        (["1", "0.7", "0.7", "x"], np.array([0, 1]), {}, "row 1: label '0.7' is not one of .*3 cells.*row 3"),
        ([0.7], np.array([0, 1]), {}, "row 0: labels must not be continuous"),
        *((["finch", text], BIRDS, {}, f"row 1: label '{text}' is not one of") for text in ("NA", "n/a")),
    ],
)
def test_cells_that_are_not_one_label_are_errors(
    cells: list[Any], classes: Any, options: dict[str, Any], message: str
) -> None:
    """The error has the row, and the number of all such cells."""
    with pytest.raises(LabelError, match=message.replace("|", r"\|")):
        match_checked_labels(pl.Series("checked", cells), classes, **{"adds_classes": True} | options)


@pytest.mark.parametrize(("separator", "cell"), [("|", r"a\|b"), (";", r"a\;b"), ("| or", r"a\|b"), ("[]", '["a|b"]')])
def test_true_labels_are_read_as_cells_of_the_label_column(separator: str, cell: str) -> None:
    """Escapes and lists have the meaning that they have in the cells of labels."""
    form = LabelFormat(separator)
    [[(name, _)]] = [parse(cell, form)]
    truth, unknown = match_true_labels([cell, name, "owl"], np.array([name, "owl"]), separator=separator)
    assert (truth.tolist(), unknown) == ([name, name, "owl"], {})


# -- Cells that cannot be read: one error with their number, or unlabeled rows -----------------------------------------


CLASSES = ["finch", "owl", "wren"]
READABLE = [
    '{"finch": 0.7, "wren": 0.3}',
    "owl:1.0",
    "wren|finch",
    '[["owl", 0.25], ["finch", 0.75]]',
    "finch:0.25|owl:0.5",
]
BROKEN = ['{"finch": 0.7,', "finch:nan|wren:1", "wren:-1", "the label is: owl", "owl:0", '{"owl": NaN}', "owl||wren:1"]
CELLS = st.lists(st.sampled_from([*READABLE, *BROKEN, None]), min_size=1, max_size=12)


def read_text_column(cells: list[str | None], **options: Any) -> tuple[CandidateSets, dict[int, LabelError]]:
    """Return the sets of a column of weighted text, and the errors of its rows."""
    errors: dict[int, LabelError] = {}
    frame = pl.DataFrame({"y": pl.Series(cells, dtype=pl.String)})
    return read_label_columns(frame, ["y"], weighted=True, on_unreadable=errors.update, **options), errors


@settings(deadline=None, max_examples=40)
@given(CELLS, st.integers(1, 5), st.sampled_from([False, True]))
def test_unreadable_rows_are_those_of_empty_cells(cells: list[str | None], size: int, rest: bool) -> None:
    """The sets of a table, of text and of a stream in batches of any size are those of a column with empty cells."""
    broken = [cell for cell in BROKEN if not (rest and cell == "owl:0")]  # leaves all to the rest
    blank = [None if cell in broken else cell for cell in cells]
    wrong = [row for row, cell in enumerate(cells) if cell in broken]
    assume(any(cell is not None for cell in blank))
    expected = CandidateSets.from_strings(blank, weighted=True, classes=CLASSES, rest=rest)
    assume(not expected.is_unlabeled.all())
    sets, errors = read_text_column(cells, classes=CLASSES, rest=rest)
    assert sets == expected
    assert sorted(errors) == wrong
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = CandidateSets.from_strings(cells, weighted=True, classes=CLASSES, rest=rest, errors="unlabeled")
    assert text == expected
    assert len(caught) == bool(wrong)
    found: list[int] = []
    batches, names = [], set()
    for start in range(0, len(cells), size):
        reader = label_reader(
            ["y"],
            "|",
            CLASSES,
            weighted=True,
            rest=rest,
            on_unreadable=lambda batch, first=start: found.extend(first + row for row in batch),
        )
        frame = pl.DataFrame({"y": pl.Series(cells[start : start + size], dtype=pl.String)})
        batches.append(np.asarray(reader.evidence(frame), dtype=float))
        names |= {label for label, _ in reader.count(frame).counts}
    np.testing.assert_array_equal(np.concatenate(batches), expected.weights)
    assert found == wrong
    assert names == {name for cell in blank for name in CLASSES if name in (cell or "")}


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([*READABLE, *BROKEN, "-1", "3.0", "wren:0|finch:0", None]), max_size=8),
    st.sampled_from([False, True]),
)
def test_forms_infer_the_same_classes(cells: list[str | None], rest: bool) -> None:
    """Without classes, a table and text have the same sets, and a stream the same classes for batches of any size."""
    cells = [*cells, "wren|finch", "owl"]  # all classes occur in text
    table, errors = read_text_column(cells, rest=rest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert CandidateSets.from_strings(cells, weighted=True, rest=rest, errors="unlabeled") == table
    if errors:
        with pytest.raises(LabelError, match=f"row {min(errors)}: .*Pass errors=.unlabeled. to read such") as caught:
            CandidateSets.from_strings(cells, weighted=True, rest=rest)
        assert caught.value.rows == tuple(sorted(errors))
        assert (f"In all, {len(errors)} cells" in str(caught.value)) == (len(errors) > 1)
    frame = pl.DataFrame({"y": pl.Series(cells, dtype=pl.String)})
    for size in (1, 3, len(cells)):
        batches = [frame[i : i + size] for i in range(0, len(cells), size)]
        classes = stream_classes(batches, weighted=True, rest=rest, on_unreadable=lambda _: None)
        assert classes == [label_to_text(label) for label in table.classes.tolist()]
    assert table.is_unlabeled[list(errors)].all()


@pytest.mark.parametrize(
    ("frame", "options", "wrong"),
    [
        ({"y": ["a|b", "a||b", "b", "|"]}, {}, [1, 3]),
        ({"y": ["a|b", "a|c", "b", "a"]}, {"classes": ["a", "b"]}, [1]),
        ({"y": ['["a", "b"]', '["a"', '["b"]', "a"]}, {"separator": "[]"}, [1]),
        ({"y": [["a", "b"], [], ["b"], [None]]}, {}, [1, 3]),
        ({"y": [{"a": 0.7, "b": 0.3}, {"a": -0.7, "b": 0.3}, {"a": None, "b": 1.0}]}, {"weighted": True}, [1]),
        ({"y": ["a|b", "a|b", "b"], "w": ["0.7|0.3", "0.7", "x"]}, {"weights": "w"}, [1, 2]),
        ({"y": [["a", "b"], ["a", "b"]], "w": [[0.7, 0.3], [0.7, float("nan")]]}, {"weights": "w"}, [1]),
        ({"a": ["1", "x", "0", None], "b": ["0", "1", "0", None]}, {}, [1, 2]),
        ({"a": [0.5, -1.0, 0.0, None, 1.0], "b": [0.25, 1.0, 0.0, None, None]}, {"weighted": True}, [1, 2, 4]),
    ],
)
def test_every_form_has_unreadable_rows(frame: dict[str, Any], options: dict[str, Any], wrong: list[int]) -> None:
    """Text, lists, objects, two columns and columns of numbers have unlabeled rows in place of the wrong ones."""
    table = pl.DataFrame(frame)
    names = [name for name in table.columns if name != options.get("weights")]
    errors: dict[int, LabelError] = {}
    sets = read_label_columns(table, names, on_unreadable=errors.update, **options)
    assert sorted(errors) == wrong
    assert sets.is_unlabeled[wrong].all()
    kept = [row for row in range(len(table)) if row not in wrong]
    alone = read_label_columns(table[kept], names, **options | {"classes": None if len(names) > 1 else ["a", "b"]})
    np.testing.assert_array_equal(sets.weights[kept], alone.weights)
    with pytest.raises(LabelError) as caught:
        read_label_columns(table, names, **options)
    assert caught.value.rows == tuple(wrong)


def test_a_row_that_rules_out_all_classes_is_an_error() -> None:
    """With a rest, weights of 0 are valid unless the row lists all classes; given classes make it unreadable."""
    cells = ['{"finch": 0, "owl": 0}', "finch:0.5|owl:0.5", '{"finch": 0}', "owl:1"]
    sets, errors = read_text_column(cells, rest=True, classes=["finch", "owl"])
    assert sorted(errors) == [0]
    assert sets.weights[2].tolist() == [0, 1]
    with pytest.raises(LabelError, match="row 0: all weights of the row are 0"):
        read_text_column(cells, rest=True)


def test_the_error_of_too_few_classes_has_the_number_of_unreadable_cells():
    """If the rows that can be read have one class only, this is the cause, or the cells that are most rows."""
    frame = pl.DataFrame({"y": ["a||b"] * 15 + ["a"] * 45})
    with pytest.raises(LabelError, match=r"^only one class occurs \('a'\).* 15 cells of labels cannot be read: row 0"):
        read_label_columns(frame, ["y"], on_unreadable=list)
    frame = pl.DataFrame({"y": ["a||b"] * 45 + ["a"] * 15})
    with pytest.raises(LabelError, match=r"'a\|\|b' contains an empty label.* In all, 45 cells cannot be read"):
        read_label_columns(frame, ["y"], on_unreadable=list)
    frame = pl.DataFrame({"y": [["a", "b"], ["a", ""], ['["a", "b'], ["b"]]})
    rows: list[int] = []
    read_label_columns(frame, ["y"], on_unreadable=rows.extend)
    assert rows == [1, 2]
