"""Weights of candidates as text: their forms, JSON, and errors."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.cells import WRAPPER_KEYS
from oneof.candidates.labels import clean
from oneof.errors import InputError, LabelError

label_text = st.text(st.one_of(st.sampled_from("|:\\;a ("), st.characters(codec="utf-8")), min_size=1)
label_text = st.builds(str.__add__, label_text, st.sampled_from(["", "", "(0.5)", " (1)", " (66 %)", "(2)"]))
label_text = st.builds(str.__add__, st.sampled_from(["", "", "```{", "```json\n["]), label_text)
label_text = label_text.map(clean).filter(bool)


@given(
    st.lists(
        st.one_of(st.none(), st.dictionaries(label_text, st.floats(5e-324, 1e308), min_size=1, max_size=4)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["|", ";", "||", " or ", "| ;", "("]),
)
def test_weighted_text_round_trip(rows, separator):
    """Sets with weights are equal after writing and reading, also if labels contain colons and separators."""
    classes = sorted({label for row in rows for label in row or ()} | {"another"})
    y = CandidateSets.from_weights(rows, classes=classes)
    text = y.to_strings(separator=separator)
    weighted = bool(y.is_weighted.any())
    assert CandidateSets.from_strings(text, separator=separator, classes=classes, weighted=weighted) == y


@pytest.mark.parametrize(
    "fence",
    [
        "```json\n{}\n```", "```\n{}\n```", " ```JSON {} ``` ", "````json\r\n{}\r\n````", "```json\n{}",
        "I see a bird: small, brown|gray.\n\n```json\n{}\n```\nThe `wren` is (0.3) less likely.", "Answer: ```{}",
    ],
)  # fmt: skip
def test_a_code_fence_around_json_is_removed(fence):
    """A row in a code fence between other text is that without it; broken JSON and several fences are errors."""
    rows = ['{"finch": 0.7, "wren": 0.3}', '[["owl", 0.5], ["wren", 1]]', '["finch", "owl"]', "{}", "finch:1|owl:0.5"]
    fenced = [fence.replace("{}", row) for row in rows[:4]]
    expected = CandidateSets.from_strings(rows, weighted=True)
    assert CandidateSets.from_strings([*fenced, rows[4]], weighted=True) == expected
    assert CandidateSets.from_strings([*fenced, rows[4]], weighted=True, separator="auto") == expected
    lists = ['["finch", "wren"]', "['owl']", "[]"]
    expected = CandidateSets.from_strings(lists, separator="[]")
    for separator in ("[]", "auto"):
        assert CandidateSets.from_strings([fence.replace("{}", row) for row in lists], separator=separator) == expected
    for broken in ('{"finch": 0.7,', "{finch: 0.7}", '{"finch": 1}\n```\nor\n```json\n{"owl": 1}'):
        with pytest.raises(LabelError, match="is not valid JSON"):
            CandidateSets.from_strings([*fenced, fence.replace("{}", broken)], weighted=True)


@pytest.mark.parametrize("separator", ["|", "[]", "auto"])
def test_a_code_fence_in_a_label_is_a_part_of_it(separator):
    """A list, an object and text with weights are read as written if a label contains the beginning of a fence."""
    labels = ["```json {x}", "use ```[a]``` now", "wren"]
    sets = CandidateSets.from_sets([labels[:2], labels[:1], labels[1:2], labels[2:]])
    form = "|" if separator == "auto" else separator
    assert CandidateSets.from_strings(sets.to_strings(separator=form), separator=separator) == sets
    weights = CandidateSets.from_weights([[0.7, 0.3, 0], [1, 0, 0], [0, 0.5, 1]], labels)
    assert CandidateSets.from_strings(weights.to_strings(separator=form), weighted=True, separator=separator) == weights


def test_weights_may_be_in_parentheses():
    """Fractions, percentages, 0 and 1 at the end of a label are weights; other numbers belong to the name."""
    texts = ["finch (0.5)|wren (1)", "finch(50%)|wren(100 %)|owl (0)", "B (2)|owl", r"owl \(0.5)", "(0.5)|wren: .5", ""]
    y = CandidateSets.from_strings(texts, weighted=True)
    assert y.classes.tolist() == ["(0.5)", "B (2)", "finch", "owl", "owl (0.5)", "wren"]
    expected = [[0, 0, 0.5, 0, 0, 1], [0, 0, 0.5, 0, 0, 1], [0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]
    np.testing.assert_array_equal(y.weights[:4], expected)
    assert y[4] == {"(0.5)", "wren"}


names = (
    st.text(min_size=1)
    .map(clean)
    .filter(lambda name: name and name not in WRAPPER_KEYS and not re.fullmatch(r"[-+]?\d*\.0*", name))
)
"""Names that are themselves in text: the whole number 0.0 is the label 0, and {"classes": 1} names a field."""
json_weights = st.dictionaries(names, st.floats(1e-300, 1e300), min_size=1)


@pytest.mark.filterwarnings("ignore:.* is read as a class")  # such as "-" and "?"
@pytest.mark.filterwarnings("ignore:.* differ only in case")
@pytest.mark.filterwarnings("ignore:.* is read as one label")  # names such as ":0;0"
@given(
    st.lists(json_weights, min_size=1, max_size=5),
    st.sampled_from(["|", ",", '"', "{"]),
    st.sampled_from(["label", "name", "class"]),
    st.sampled_from(["probability", "prob", "score", "weight", "confidence"]),
)
def test_pairs_records_and_json_give_the_weights_of_their_mappings(rows, separator, label_key, weight_key):
    """Objects, pairs and records, as text of JSON or as values, are the mapping of the same labels and weights.

    Labels may have separators, colons and quotes.
    """
    y = CandidateSets.from_weights(rows)
    pairs = [[[label, weight] for label, weight in row.items()] for row in rows]
    records = [[{label_key: label, "why": "x", weight_key: weight} for label, weight in row] for row in pairs]
    for form in (pairs, records, pd.Series(records), [np.array(row, dtype=object) for row in records]):
        assert CandidateSets.from_weights(form) == y
    for form in (rows, pairs, records):
        texts = [json.dumps(row, ensure_ascii=bool(i % 2)) for i, row in enumerate(form)]
        assert CandidateSets.from_strings(texts, weighted=True, separator=separator) == y
    single = [row[0] for row in records]
    assert CandidateSets.from_weights(single) == CandidateSets.from_weights([[pair] for pair in single])
    options = {"kind": "posterior", "prior": np.ones(len(y.classes)), "rest": "other"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sums above 1
        read = CandidateSets.from_strings([*map(json.dumps, rows)], weighted=True, **options)
        assert read == CandidateSets.from_weights(rows, **options)


def test_empty_lists_and_mappings_are_unlabeled():
    """An empty list or mapping is the same as None for each kind and rest, in Python and in text of JSON."""
    rows = [{"a": 0.7, "b": 0.2}, {"b": 0.9}, {"a": 0.5, "c": 0.5}]
    for options in ({}, {"rest": True}, {"kind": "posterior", "rest": True}, {"kind": "posterior", "rest": "other"}):
        y = CandidateSets.from_weights([*rows, None], **options)
        assert y.is_unlabeled.tolist() == [False, False, False, True]
        for empty in ([], {}, ()):
            assert CandidateSets.from_weights([*rows, empty], **options) == y
        for empty in ("[]", " {} ", "[ ]", ""):
            assert CandidateSets.from_strings([*map(json.dumps, rows), empty], weighted=True, **options) == y


def test_kind_and_rest_apply_to_weighted_text():
    """Text with `kind`, `prior` and `rest` gives the weights of the same mappings; rows without numbers are sets."""
    texts = ["a:0.6|b:0.3", "b:0.8", "a:0.25|b:0.25|c:0.5"]
    rows = [{"a": 0.6, "b": 0.3}, {"b": 0.8}, {"a": 0.25, "b": 0.25, "c": 0.5}]
    for options in (
        {"rest": True},
        {"kind": "posterior"},
        {"kind": "posterior", "prior": [0.2, 0.3, 0.5], "rest": True},
    ):
        y = CandidateSets.from_strings([*texts, "a|b", ""], weighted=True, **options)
        assert y[:3] == CandidateSets.from_weights(rows, **options)
        assert y[3:] == CandidateSets.from_sets([["a", "b"], None], classes=["a", "b", "c"])
    y = CandidateSets.from_strings(["a:0.5|other:0.5"], classes=["a", "b", "c"], weighted=True, rest="other")
    np.testing.assert_array_equal(y.weights, [[1, 0.5, 0.5]])
    with pytest.raises(InputError, match="`rest` must not be one of the classes; got 'a'"):
        CandidateSets.from_strings(["a:0.5|b:0.5"], classes=["a", "b"], weighted=True, rest="a")


def test_options_of_weights_require_weighted_text():
    """`kind`, `prior` and `rest` without `weighted`, and a separator with a colon, are errors."""
    for options in ({"kind": "posterior"}, {"kind": "posterior", "prior": [1]}, {"rest": True}):
        with pytest.raises(InputError, match="Pass weighted=True"):
            CandidateSets.from_strings(["a"], **options)
    weighted = CandidateSets.from_weights([[1.0, 0.5]])
    for call in (
        lambda: CandidateSets.from_strings(["a"], weighted=True, separator="::"),
        lambda: weighted.to_strings(separator=":"),
    ):
        with pytest.raises(InputError, match="must not contain a colon"):
            call()
