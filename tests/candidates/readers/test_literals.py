"""Lists and mappings written as text, by JSON, Python and NumPy."""

import contextlib
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.cells import LISTS, literal_kind
from oneof.candidates.labels import clean
from oneof.candidates.literals import parse_text
from tests.candidates.columns import label_reader, read_label_columns

LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).map(clean).filter(bool)
SETS = st.lists(st.lists(LABEL, min_size=1, max_size=4, unique=True), min_size=1, max_size=6)
NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(NESTED)
def test_the_representation_of_python_is_read_as_its_value(value):
    """Lists, dicts and scalars are those of `repr` and of `json.dumps`; tuples are lists."""
    assert parse_text(repr(value)) == value
    assert parse_text(json.dumps(value)) == value
    assert parse_text(repr((value,))) == [value]
    assert parse_text(repr((value, value))) == [value, value]


@example("{\x1f:(0.5)")
@given(st.text(alphabet="[](){}'\"\\,: \n\x1f\u202801.eNanfTrueonp_x", max_size=40))
def test_any_other_text_is_an_error(text):
    """A text is a value or a ValueError, without a warning or another error."""
    with contextlib.suppress(ValueError):
        parse_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**5,
        "[" * 10**5 + "]" * 10**5,
        "['a', " * 10**4,
        "[1" + "0" * 10**5 + "]",
        "['" + "\\" * 10**5,
        "-" * 10**5,
        "`" * 10**5,
        "```" + " " * 10**5,
    ],
)
def test_long_texts_are_errors_in_linear_time(text):
    """Many brackets, digits, backslashes and backticks neither overflow the stack nor take long."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message is that of the parser
        parse_text(text)
    assert literal_kind(text) != "list"


def test_values_of_numpy_are_those_of_their_lists():
    """Arrays have spaces between their values, and scalars name their type."""
    assert parse_text(str(np.array(["sea eagle", "it's"]))) == ["sea eagle", "it's"]
    assert parse_text(str(np.array([0.5, 1.0, 1e-20]))) == [0.5, 1.0, 1e-20]
    assert parse_text(repr({"a": np.float64(0.5), np.str_("b"): np.float32(0.25)})) == {"a": 0.5, "b": 0.25}
    for text in ("['a' 'b', 'c']", "['a''b']", "['a' 'b'", "np.float64(1", "(a, b)", "{a: 0.5}", "abc"):
        with pytest.raises(ValueError):  # noqa: PT011 - the message is that of the parser
            parse_text(text)


@example([["[]", "a"], ["[]"]])
@example([["0\n\u03010"], ["a"]])
@given(SETS)
def test_lists_written_as_text_are_their_sets(sets):
    """Every notation of the same lists gives the sets of the lists, in Python, in tables and in batches."""
    expected = CandidateSets.from_sets(
        [*sets, None], classes=sorted({name for row in sets for name in row} | {"x", "y"})
    )
    names = expected.classes.tolist()
    forms = {
        "json": [*map(json.dumps, sets), "[]"],
        "python": [*map(repr, sets), " [ ] "],
        "written": expected.to_strings(separator=LISTS),
    }
    for texts in forms.values():
        assert CandidateSets.from_strings(texts, separator=LISTS, classes=names) == expected
        frame = pl.DataFrame({"y": texts})
        read = read_label_columns(frame, ["y"], separator=LISTS, classes=names) if len(sets) else expected
        assert read == expected
        np.testing.assert_array_equal(label_reader(["y"], LISTS, names).evidence(frame), expected.mask)


def test_weights_round_trip_as_lists_and_objects():
    """Weighted rows are objects of JSON, and other rows lists, which are read back."""
    y = CandidateSets.from_weights([[1, 0.5, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]], ["[a]", 'b"', "c:d"])
    texts = y.to_strings(separator=LISTS)
    assert texts == ['{"[a]": 1.0, "b\\"": 0.5}', '["[a]", "b\\""]', "", '["c:d"]']
    assert CandidateSets.from_strings(texts, classes=y.classes, weighted=True) == y


def test_a_table_of_pandas_keeps_its_lists(tmp_path):
    """Lists that `to_csv` wrote, with single labels, numbers and empty cells, are the sets of the lists."""
    cells = [["finch", "wren"], "owl", None, [], ["it's"], np.array(["owl", "wren"]), [np.str_("finch")], [3, 7]]
    pd.DataFrame({"y": pd.Series(cells, dtype=object)}).to_csv(tmp_path / "t.csv", index=False)
    texts = pd.read_csv(tmp_path / "t.csv")["y"]
    y = CandidateSets.from_strings(texts, separator="auto")
    expected = [["finch", "wren"], "owl", None, None, ["it's"], ["owl", "wren"], ["finch"], ["3", "7"]]
    assert y == CandidateSets.from_sets(expected)
