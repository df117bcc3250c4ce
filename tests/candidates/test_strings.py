"""Candidate sets from text: separators, escaped labels, lists, missing labels, and warnings."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates import as_candidates
from oneof.candidates.labels import clean
from oneof.errors import InputError, LabelError

label_text = st.text(st.characters(codec="utf-8"), min_size=1).map(clean).filter(bool)


def test_spaces_are_not_escaped():
    """Only the visible character of a separator such as " / " is escaped."""
    text = ["great tit / owl", "and\\/or", "owl"]
    y = CandidateSets.from_strings(text, separator=" / ")
    assert y.to_sets() == [{"great tit", "owl"}, {"and/or"}, {"owl"}]
    assert y.to_strings(separator=" / ") == text


def test_numbers_that_are_equal_are_one_label():
    """The sign of zero, and decimals that are zero, do not distinguish labels."""
    assert CandidateSets.from_strings(["-0|1", "0", "-0.0", "1.0", "01"]).classes.tolist() == ["0", "01", "1"]


def test_several_separators():
    """Signs and words with spaces between them each separate labels, and all signs can be escaped.

    The first one is written.
    """
    texts = ["owl|wren", "wren; finch", "owl ;finch|wren", "a\\;b|owl", "a\\|c;owl", ""]
    y = CandidateSets.from_strings(texts, separator="| ;")
    assert y.to_sets()[:5] == [
        {"owl", "wren"},
        {"wren", "finch"},
        {"owl", "finch", "wren"},
        {"a;b", "owl"},
        {"a|c", "owl"},
    ]
    assert y.to_strings(separator="| ;")[1] == "finch|wren"
    assert CandidateSets.from_strings(["owl:0.5;wren:1|finch:0"], separator="| ;", weighted=True).weights.max() == 1
    words = CandidateSets.from_strings(["owl or wren; orange finch"], separator=" or ; ")
    assert words.to_sets() == [{"owl", "wren", "orange finch"}]
    assert words.to_strings(separator="or ;", write_full=True) == ["orange\\ finch or owl or wren"]


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["a|b|", "|b", "c||", "|a|c|"], "|"),
        (["a; b;", ";b", "c;", "a; c ; "], "auto"),
        (["a;", "b;", "c;", "a;"], ";"),
        (["a, b,", "b,", "c,", "a, c,"], ","),
        (["a\nb\n", "b\n", "c\n", "a\nc"], "\n"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_separators_at_the_ends_of_a_text_have_no_effect(texts, separator, weighted):
    """A separator before the first label or after the last one does not make an empty label."""
    expected = [[label.strip() for label in re.split(r"[|;,\n]", text) if label.strip()] for text in texts]
    sets = CandidateSets.from_strings(texts, separator=separator, weighted=weighted)
    assert sets.to_sets() == [set(labels) for labels in expected]


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
    with pytest.raises(LabelError, match=r"row 1: 'a\|\|b' contains an empty label"):
        CandidateSets.from_strings(["a", "a||b"])
    with pytest.raises(LabelError, match="row 0: 3 is not a string"):
        CandidateSets.from_strings([3])
    for separator in ("", " ", "\\", 3):
        for call in (CandidateSets.from_strings, lambda _, separator: y.to_strings(separator=separator)):
            with pytest.raises(InputError, match="must be visible text without a backslash"):
                call(["a"], separator=separator)


def test_joined_weights_have_a_warning():
    """A list with another separator is not read as a class in silence."""
    for text in ("a (0.66), b (0.2)", "a: 0.66\nb: 0.2"):
        with pytest.warns(UserWarning, match="Pass `separator` if it is a list of labels with weights"):
            CandidateSets.from_strings([text, "b:0.9|a:0.1"], weighted=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_missing_labels_are_left_out_of_text(weighted):
    """A token alone is an unlabeled row, and among other labels it is left out; upper and lower case are equal."""
    texts = ["a|b", "N/A", "a|n/a", "unsure", "b"]
    plain = CandidateSets.from_strings(["a|b", "", "a", None, "b"], weighted=weighted)
    assert CandidateSets.from_strings(texts, missing=["n/a", "Unsure"], weighted=weighted) == plain
    with pytest.warns(UserWarning, match=r"'N/A' is read as a class. .* pass missing=\['N/A'\]"):
        CandidateSets.from_strings(["a|b", "N/A", "b"], weighted=weighted)
    for wrong in ("n/a", 3, [1]):
        with pytest.raises(InputError, match="`missing` must"):
            CandidateSets.from_strings(texts, missing=wrong, weighted=weighted)


def test_spellings_of_one_class_have_a_warning_in_from_strings():
    """Labels that differ only in case are named with the remedy; not with given classes or with `fold_case=True`."""
    texts = ["Robin|owl", "robin", "ROBIN", "owl", "finch"]
    with pytest.warns(UserWarning, match="'ROBIN', 'Robin' and 'robin' differ only in case.*pass fold_case=True"):
        assert len(CandidateSets.from_strings(texts).classes) == 5
    with pytest.warns(UserWarning, match="'OWL' and 'owl' differ only in case"):
        CandidateSets.from_strings(["OWL:0.7|wren:0.3", "owl"], weighted=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(CandidateSets.from_strings(texts, fold_case=True).classes) == 3
        CandidateSets.from_strings(texts, classes=["Robin", "robin", "ROBIN", "owl", "finch"])
        CandidateSets.from_strings(["owl", "wren", "wren 2"])


def test_classes_that_look_alike_have_a_warning():
    """Labels are compared as they are, also in predictions; text that differs in nothing visible has a warning."""
    for other in ("Cafe\u0301", "Caf\u00e9 ", "Caf\u200b\u00e9"):
        labels = ["Caf\u00e9", other]
        for read in (CandidateSets.from_labels, CandidateSets.from_sets, as_candidates):
            with pytest.warns(UserWarning, match="are two classes that look alike"):
                assert set(read(labels).classes.tolist()) == set(labels)
        assert CandidateSets.from_strings(labels).classes.tolist() == ["Caf\u00e9"]
