"""Cells of labels that cannot be read: one error with their number, or unlabeled rows."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.labels import label_to_text
from oneof.errors import LabelError
from tests.candidates.columns import label_reader, read_label_columns, stream_classes

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


def read(cells: list[str | None], **options: Any) -> tuple[CandidateSets, dict[int, LabelError]]:
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
    sets, errors = read(cells, classes=CLASSES, rest=rest)
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
    table, errors = read(cells, rest=rest)
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
    sets, errors = read(cells, rest=True, classes=["finch", "owl"])
    assert sorted(errors) == [0]
    assert sets.weights[2].tolist() == [0, 1]
    with pytest.raises(LabelError, match="row 0: all weights of the row are 0"):
        read(cells, rest=True)


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
