"""`from_strings` reads a column as the command line does: detected separators, and spellings of one class."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.cells import LISTS
from oneof.candidates.separators import detect_separator
from oneof.errors import LabelError, OneofError
from oneof.io import CellFormat, Table, find_separator, read_labels
from tests.candidates.columns import read_label_columns

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
    """Classes, the label of the rest, and weights are folded as in a table."""
    texts = ["Finch:0.5|wren:0.25|OTHER:0.25", "finch:0.25|FINCH:0.25|Wren:0.5", "Wren|finch"]
    options = {"kind": "posterior", "prior": [1, 1, 1], "rest": "Other"}
    merged = "rows repeat a label, whose weights are added"
    with pytest.warns(UserWarning, match=merged):
        y = CandidateSets.from_strings(
            texts, classes=["Finch", "Wren", "Owl"], fold_case=True, weighted=True, **options
        )
    assert y.classes.tolist() == ["Finch", "Wren", "Owl"]
    frame = pl.DataFrame({"y": texts})
    names = ["Finch", "Wren", "Owl"]
    with pytest.warns(UserWarning, match=merged):
        assert y == read_label_columns(frame, ["y"], classes=names, weighted=True, folds_case=True, **options)
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


def test_comments_among_objects_have_no_separator():
    """If most cells are objects, a comment with commas is one class rather than an error; otherwise it is the error."""
    objects = ['{"finch": 0.7, "owl": 0.3}', '```json\n{"owl": 1}\n```', '{"finch": 1}']
    texts = ["finch", "finch, probably"]
    classes = ["finch", "finch, probably", "owl"]
    with pytest.warns(
        UserWarning, match=r"'finch, probably' \(row 4\) is read as one class, since most cells are JSON"
    ):
        y = CandidateSets.from_strings([*objects, *texts], separator="auto", weighted=True)
    assert y.classes.tolist() == classes
    with pytest.raises(LabelError, match="may be a set of labels or one class"):
        CandidateSets.from_strings([*objects[:1], *texts], separator="auto", weighted=True)


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
    """A sign separates labels if these occur elsewhere, a doubtful one is a question, and given classes are no sets."""
    assert detect_separator(texts, [text for text in texts if text]) in ("|", "||")
    if separator == QUESTION:
        with pytest.raises(LabelError, match=QUESTION):
            detect_separator(texts)
        return
    assert detect_separator(texts) == separator
    if set(ALONE) <= set(texts):
        assert CandidateSets.from_strings(texts, separator="auto").classes.tolist() == ALONE
