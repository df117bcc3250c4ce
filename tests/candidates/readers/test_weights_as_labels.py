"""Weights and mappings where sets or labels are expected, and labels that look like weights."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oneof import PLKNN, CandidateSets
from oneof.candidates import as_candidates
from oneof.errors import LabelError


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame, pl.DataFrame, np.float32])
def test_a_matrix_of_weights_is_not_an_indicator(convert):
    """A float matrix that is not an indicator is an error that asks for the kind of its numbers."""
    matrix = convert(np.array([[0.0, 1.0], [0.75, 0.25]]))
    for call in (as_candidates, CandidateSets.from_indicator):
        with pytest.raises(LabelError, match=r'from_weights\(y, kind="likelihood"\) or kind="posterior"') as caught:
            call(matrix)
        assert (caught.value.row, caught.value.column) == (1, 0)


@pytest.mark.parametrize(
    "rows",
    [
        [["a"], [("a", 0.95), ("b", 0.03)]],
        [["a"], (("a", np.float32(0.95)),)],
        [[0], [(0, 0.95), (1, 0.03)]],
        [["a"], [["a", 0.95], ["b", 0.03]]],
        ["a", {"a": 0.95, "b": 0.03}],
        [[0.0, 1.0], [0.75, 0.25]],
        [np.array([0.0, 1.0]), np.array([0.75, 0.25])],
        pd.Series([["a"], [("a", 0.95)]]),
        pl.Series([{"a": 0.5, "b": 0.1}, {"a": 0.95, "b": 0.03}]),
    ],
    ids=str,
)
def test_pairs_and_mappings_are_not_labels(rows):
    """Rows of (label, weight) pairs, and mappings, are errors that name from_weights."""
    for call in (as_candidates, CandidateSets.from_sets):
        with pytest.raises(LabelError, match=r'from_weights\(y, kind="likelihood"\) or kind="posterior"') as caught:
            call(rows)
        assert caught.value.row in (0, 1)


def test_tuples_may_be_labels():
    """Tuples without floats, and pairs that are listed as classes, are labels."""
    rows = [[("a", "b"), ("c", "d")], [("a", "b")]]
    assert as_candidates(rows).classes.tolist() == [("a", "b"), ("c", "d")]
    assert as_candidates([[("a", 1), ("b", 2)]]).classes.tolist() == [("a", 1), ("b", 2)]
    pairs = [[("a", 0.5), ("b", 0.5)], [("a", 0.5)]]
    classes = np.array([("a", 0.5), ("b", 0.5), None], dtype=object)[:-1]
    np.testing.assert_array_equal(CandidateSets.from_sets(pairs, classes=classes).mask, [[1, 1], [1, 0]])


OBJECTS = ['{"finch": 0.7, "wren": 0.3}', '{"finch": 1}', "owl"]
NUMBERED = ["finch:0.7", "wren:0.3", "owl"]


@pytest.mark.parametrize(
    ("read", "y", "message"),
    [
        (
            CandidateSets.from_strings,
            ["finch:0.7|wren:0.3", "wren"],
            r"'finch:0.7' is read as one label.*weighted=True",
        ),
        (
            CandidateSets.from_strings,
            ["finch (0.5)|wren (0.1)"],
            r"'finch \(0.5\)' is read as one label.*weighted=True",
        ),
        (
            as_candidates,
            NUMBERED,
            r"'finch:0.7' is read as one class: pass CandidateSets.from_strings\(y, weighted=True",
        ),
        (lambda y: PLKNN(n_neighbors=1).fit(np.eye(3), y), NUMBERED, r"'finch:0.7' is read as one class: pass"),
        (as_candidates, ["{'a', 'b'}", "{'b'}"], "if it is a list of labels written as text"),
        (as_candidates, ["['a', 'b']", "['b']"], "if it is a list of labels written as text"),
        (as_candidates, ["frozenset({'a'})"], "if it is a list of labels written as text"),
        (as_candidates, ["a", "b", "a|b"], r"'a\|b' is read as one class: pass CandidateSets.from_strings"),
        (as_candidates, ["a|b|c", "c|d"], "a set of 3"),
        (as_candidates, [[0, 1, 1], [1, 0, 0]], r"zeros and ones.*np.asarray\(y\)"),
        *((as_candidates, ["a", text], f"the text '{text}' is read as a class") for text in ("", "nan", "None")),
    ],
)
def test_labels_that_may_be_sets_or_weights_have_a_warning(read, y, message):
    """Labels are read as they are, with a warning that has the remedy."""
    with pytest.warns(UserWarning, match=message) as caught:
        read(y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "y",
    [
        ["finch:0.7", "wren"],
        ["ratio 1:2", "ratio 1:3"],
        ["B (2)", "B (1)"],
        ["finch:0.7", "wren:0.3", "a", "b", "c"],
        ["[0, 10]", "[10, 20]", "(Smith, J)"],
        ["x|y", "z"],
        [[0, 1], [1]],
    ],
)
def test_usual_labels_have_no_warning(y):
    """Neither do labels whose classes are given, weights that are read, and texts that occur as one label."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates(y)
        as_candidates(NUMBERED, classes=np.array(NUMBERED))
        CandidateSets.from_strings(["finch:0.7|wren:0.3", "wren"], weighted=True)
    with pytest.raises(LabelError, match=r"row 0: the labels have weights, such as .*weighted=True"):
        CandidateSets.from_strings(OBJECTS)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.01, 0.3)), min_size=2, max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_weights_of_a_repeated_label_are_merged(rows):
    """They are added if they are shares of one mass, and the largest one is used for likelihoods, in every form."""
    texts = ["|".join(f"{label}:{weight!r}" for label, weight in row) for row in rows]
    for options in ({}, {"kind": "posterior", "prior": [1, 1, 1]}, {"rest": "other"}):
        merge = sum if options else max
        merged = [{k: merge(w for name, w in row if name == k) for k, _ in row} for row in rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            y = CandidateSets.from_weights(rows, list("abc"), **options)
            expected = CandidateSets.from_weights(merged, list("abc"), **options)
            read = CandidateSets.from_strings(texts, classes=list("abc"), weighted=True, **options)
        np.testing.assert_allclose(y.weights, expected.weights, rtol=1e-12)
        np.testing.assert_allclose(read.weights, expected.weights, rtol=1e-12)


def test_merged_weights_have_one_warning():
    """Repeated labels and sums above 1 have a warning each; a set may repeat a label."""
    texts = ["b|b|a", "a:0.5|b:0.2", "a:0.5|a:0.3", "a:0.1|b:0.1|b:0.1"]
    with pytest.warns(UserWarning, match="rows repeat a label, whose largest weight is used") as caught:
        y = CandidateSets.from_strings(texts, weighted=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_allclose(y.weights, [[1, 1], [1, 0.4], [1, 0], [1, 1]])
    for text in ('{"a": 0.7, "a": 0.3}', '[["a", 0.7], ["a ", 0.3]]'):
        with pytest.warns(UserWarning, match="rows repeat a label, whose weights are added"):
            y = CandidateSets.from_strings([text], classes=["a", "b"], weighted=True, kind="posterior", prior=[1, 1])
        assert y.to_sets() == [{"a"}]
    with pytest.warns(UserWarning, match=r"rows have a sum above 1, .* by it") as caught:
        y = CandidateSets.from_strings(["a:0.8|b:0.4", "a:0.7|b:0.3"], weighted=True, kind="posterior", prior=[1, 1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_allclose(y.weights, [[1, 0.5], [1, 3 / 7]])
