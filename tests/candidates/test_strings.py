"""Candidate sets from text: separators, escaped labels, lists, missing labels, and warnings."""

import contextlib
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates import as_candidates
from oneof.candidates.cells import LISTS, literal_kind, parse_text
from oneof.candidates.labels import clean
from oneof.candidates.separators import detect_separator
from oneof.errors import InputError, LabelError, OneofError
from oneof.io import CellFormat, Table, find_separator, read_labels
from tests.candidates.columns import read_label_columns

label_text = st.text(st.characters(codec="utf-8"), min_size=1).map(clean).filter(bool)


def test_several_separators():
    """Signs and words with spaces between them each separate labels, and all visible signs can be escaped.

    The first one is written.
    """
    texts = ["owl|wren", "wren; finch", "owl ;finch|wren", "a\\;b|owl", "a\\|c;owl", ""]
    y = CandidateSets.from_strings(texts, separator="| ;")
    expected = [{"owl", "wren"}, {"wren", "finch"}, {"owl", "finch", "wren"}, {"a;b", "owl"}, {"a|c", "owl"}]
    assert y.to_sets()[:5] == expected
    assert y.to_strings(separator="| ;")[1] == "finch|wren"
    words = CandidateSets.from_strings(["owl or wren; orange finch"], separator=" or ; ")
    assert words.to_sets() == [{"owl", "wren", "orange finch"}]
    assert words.to_strings(separator="or ;", write_full=True) == ["orange\\ finch or owl or wren"]
    text = ["great tit / owl", "and\\/or", "owl"]
    assert CandidateSets.from_strings(text, separator=" / ").to_strings(separator=" / ") == text
    assert CandidateSets.from_strings(["-0|1", "0", "-0.0", "1.0", "01"]).classes.tolist() == ["0", "01", "1"]


@given(
    st.lists(st.sets(label_text, min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from(["|", ";", "::", " or ", " / ", ", ", "| ;", "; ||", "\n"]),
)
def test_labels_may_contain_the_separator(sets, separator):
    """Labels with separators and backslashes are equal after writing and reading."""
    classes = sorted({label for s in sets for label in s} | {"another"})
    y = CandidateSets.from_sets(sets, classes=classes)
    text = y.to_strings(separator=separator)
    assert CandidateSets.from_strings(text, separator=separator, classes=classes) == y


def test_strings():
    """Spaces are removed, an empty text is an unlabeled row, and only from_strings splits text."""
    y = CandidateSets.from_strings(["wren | finch", "", None, "  ", "owl"])
    np.testing.assert_array_equal(y.mask, [[1, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 0]])
    assert CandidateSets.from_labels(["a|b", "c"]).classes.tolist() == ["a|b", "c"]
    assert CandidateSets.from_strings([3, "4|3", ["4"], None]).to_sets() == [{"3"}, {"3", "4"}, {"4"}, {"3", "4"}]
    for separator in ("", " ", "\\", 3):
        for call in (CandidateSets.from_strings, lambda _, separator: y.to_strings(separator=separator)):
            with pytest.raises(InputError, match="must be visible text without a backslash"):
                call(["a"], separator=separator)


def test_joined_weights_have_a_warning():
    """A list with another separator is not read as a class in silence."""
    for text in ("a (0.66), b (0.2)", "a: 0.66\nb: 0.2"):
        with pytest.warns(UserWarning, match="Pass `separator` if it is a list of labels with weights"):
            CandidateSets.from_strings([text, "b:0.9|a:0.1"], weighted=True)


def test_missing_labels_are_left_out_of_text():
    """A token alone is an unlabeled row, and among other labels it is left out; without the option it has a warning."""
    texts = ["a|b", "N/A", "a|n/a", "unsure", "b"]
    plain = CandidateSets.from_strings(["a|b", "", "a", None, "b"])
    assert CandidateSets.from_strings(texts, missing=["n/a", "Unsure"]) == plain
    with pytest.warns(UserWarning, match=r"'N/A' is read as a class. .* pass missing=\['N/A'\]"):
        CandidateSets.from_strings(["a|b", "N/A", "b"])
    for wrong in ("n/a", 3, [1]):
        with pytest.raises(InputError, match="`missing` must"):
            CandidateSets.from_strings(texts, missing=wrong)


def test_spellings_of_one_class_have_a_warning_in_from_strings():
    """Labels that differ only in case are named with the remedy; not with given classes or with `fold_case=True`."""
    texts = ["Robin|owl", "robin", "ROBIN", "owl", "finch"]
    with pytest.warns(UserWarning, match="'ROBIN', 'Robin' and 'robin' differ only in case.*pass fold_case=True"):
        assert len(CandidateSets.from_strings(texts).classes) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(CandidateSets.from_strings(texts, fold_case=True).classes) == 3
        CandidateSets.from_strings(texts, classes=["Robin", "robin", "ROBIN", "owl", "finch"])


def test_classes_that_look_alike_have_a_warning():
    """Labels are compared as they are, also in predictions; text that differs in nothing visible has a warning."""
    for other in ("Cafe\u0301", "Caf\u00e9 ", "Caf\u200b\u00e9"):
        labels = ["Caf\u00e9", other]
        for read in (CandidateSets.from_labels, CandidateSets.from_sets, as_candidates):
            with pytest.warns(UserWarning, match="are two classes that look alike"):
                assert set(read(labels).classes.tolist()) == set(labels)
        assert CandidateSets.from_strings(labels).classes.tolist() == ["Caf\u00e9"]


# -- `from_strings` reads a column as the command line does: detected separators, and spellings of one class ---------


NAMES = ["Finch", "finch", "Sea_Owl", "sea owl", "wren", "F:1", "[x]"]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), min_size=2, max_size=8),
    st.sampled_from(["|", ";", ",", " / ", "lists"]),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore:.* differ only in case")  # as in the notes of a table
def test_text_is_read_as_on_the_command_line(sets, separator, folds_case):
    """The detected separator, the sets and the classes, or the error, are those of the table of a file."""
    texts = [repr(row) if separator == "lists" else separator.join(row) for row in sets]
    table = Table(pl.DataFrame({"y": texts}), Path("t.csv"), cell_format=CellFormat(folds_labels=folds_case))
    try:
        expected = read_labels(table, ["y"], separator=find_separator(table, ["y"]))
    except OneofError as error:
        if "may be a set of labels or one class" not in str(error):
            return  # one class only, which is an error of the table
        with pytest.raises(LabelError, match=r"may be a set of labels or one class\. Pass separator="):
            CandidateSets.from_strings(texts, separator="auto", fold_case=folds_case)
        return
    assert CandidateSets.from_strings(texts, separator="auto", fold_case=folds_case) == expected


def test_spellings_of_weighted_labels_are_one_class():
    """Classes, the label of the rest, and weights are folded, as in a table."""
    texts = ["Finch:0.5|wren:0.25|OTHER:0.25", "finch:0.25|FINCH:0.25|Wren:0.5", "Wren|finch"]
    options = {"kind": "posterior", "prior": [1, 1, 1], "rest": "Other", "classes": ["Finch", "Wren", "Owl"]}
    with pytest.warns(UserWarning, match="rows repeat a label, whose weights are added"):
        y = CandidateSets.from_strings(texts, fold_case=True, weighted=True, **options)
    with pytest.warns(UserWarning, match="rows repeat a label"):
        assert y == read_label_columns(pl.DataFrame({"y": texts}), ["y"], weighted=True, folds_case=True, **options)
    assert y.classes.tolist() == options["classes"]
    assert y.weights.tolist() == [[1, 0.5, 0.5], [1, 1, 0], [1, 1, 0]]


def test_a_doubtful_separator_is_a_question_in_terms_of_python():
    """The error names the parameter rather than the option of the command line."""
    with pytest.raises(LabelError, match=r"Pass separator=',' if it is a set, or separator='\|' if it is one class"):
        CandidateSets.from_strings(["Oslo", "Oslo, Norway"], separator="auto")
    assert CandidateSets.from_strings(["a|b", "c;d"], separator="auto").to_sets() == [{"a", "b"}, {"c;d"}]


def test_other_classes_than_text_are_not_folded():
    """Numbers have one spelling, and their text is the class of the number."""
    for classes in (["1", "2"], [1, 2]):
        y = CandidateSets.from_strings(["1|2", "2"], classes=classes, fold_case=True)
        assert y.classes.tolist() == classes
        assert y.to_sets() == [set(classes), {classes[1]}]


def test_texts_of_another_separator_have_a_warning():
    """With the default separator, texts that another sign plainly separates are single labels, with a warning."""
    texts = ["Parus major; Turdus merula", "Parus major", "Turdus merula; Strix aluco", "Strix aluco"]
    with pytest.warns(UserWarning, match="'; ' seems to separate labels|';' seems to separate labels"):
        assert len(CandidateSets.from_strings(texts).classes) == 4
    assert len(CandidateSets.from_strings(texts, separator="auto").classes) == 3
    CandidateSets.from_strings(["Oslo, Norway", "Rome, Italy"])  # no part is a label elsewhere


QUESTION = r"may be a set of labels or one class"
ALONE = ["finch", "owl", "wren"]


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        # a cell of several lines is a set if each line is a cell of its own elsewhere
        (["a", "b", "c", "a\nb"], "\n"),
        (["a", "b", "c", "a\r\nb", "b\nc"], "\n"),
        (["a", "b", "a\nd"], "|"),
        (["a", "b", "I think\nit is a\nThanks", "No idea\nThanks"], "|"),
        (["a", "b", "a\nb", "a|b"], "|"),
        # a comma at an end belongs to names and numbers; other signs there are a question unless they join labels
        (["Acme Inc.,", "Bolt Ltd.,", "Core"], "|"),
        (["0,5", "1,", "1,5", "2,"], "|"),
        (["Inc.,", "Ltd.", "Co"], "|"),
        (["Berlin, Germany", "Berlin,", "Germany,"], QUESTION),
        (["a, b,", "b,", "c,", "a, c,"], QUESTION),
        (["a;", "b;"], QUESTION),
        (["a; b;", "a;", "b;", "c;"], ";"),
        # a sign that joins classes only separates them; one that is usual in names is a part of the class
        (["owl#wren", "wren#finch", *ALONE], "#"),
        (["C#", "F#", "C", "F"], "|"),
        (["owl => wren", "wren => finch", *ALONE], "=>"),
        (["a-b", "b-a", "a", "b"], "|"),
        (["owl\uff1bwren", "wren\uff1bfinch", *ALONE], "\uff1b"),
        (["x.y", "y.x", "x", "y"], "|"),
        (["owl||wren", "wren||finch", *ALONE], "||"),
        (["a#b", "a#c", "a", "d"], "|"),
        (["owl\twren", "wren\tfinch", *ALONE], "\t"),
        # lists are not classes, but two ascending numbers may be an interval
        (["[owl, wren]", "[wren, finch]", "[finch]", "[owl]", "[wren]"], LISTS),
        (['{"choices": ["owl", "wren"]}', *ALONE], LISTS),
        (['["a", "b"]', "c"], LISTS),
        (["['a|b']", "c"], LISTS),
        (["a", "b", "['a']", None, ""], LISTS),
        (["{a,b}", "{a}", "{}", "{b}"], LISTS),
        (["[3]", "[3, 7]"], LISTS),
        (["[7, 3]", "[3, 7]"], LISTS),
        (["[0, 10]", "[10, 20]"], "|"),
        (["[0, 10]", "[]"], "|"),
        (["[0.5, 1.5, 2.5]"], "|"),
        (["[sic]", "[note 1]", "a"], "|"),
        (["(0, 10]", "[0, 10)", "[10, 20)"], "|"),
        (["['a', 'b']", "a|b"], "|"),
    ],
)
def test_the_detected_separator(texts, separator):
    """A sign separates labels if these occur elsewhere, a doubtful sign is noted, and a given class is not a set."""
    assert detect_separator(texts, [text for text in texts if text]) in ("|", "||")
    if separator == QUESTION:
        with pytest.raises(LabelError, match=QUESTION):
            detect_separator(texts)
        return
    assert detect_separator(texts) == separator
    if set(ALONE) <= set(texts):
        assert CandidateSets.from_strings(texts, separator="auto").classes.tolist() == ALONE


# -- Lists and mappings written as text, by JSON, Python and NumPy ---------------------------------------------------


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
    """Every notation of the same lists gives the sets of the lists; columns and batches are those of `test_cells`."""
    expected = CandidateSets.from_sets(
        [*sets, None], classes=sorted({name for row in sets for name in row} | {"x", "y"})
    )
    names = expected.classes.tolist()
    written = expected.to_strings(separator=LISTS)
    for texts in ([*map(json.dumps, sets), "[]"], [*map(repr, sets), " [ ] "], written):
        assert CandidateSets.from_strings(texts, separator=LISTS, classes=names) == expected


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
