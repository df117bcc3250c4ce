"""Answers of annotators: votes, sets of labels, `Answers`, and annotators with known accuracies."""

from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.crowd import Answers
from oneof.errors import InputError, LabelError


def draw_sets(rng, n_classes, n_annotators, n_rows=8):
    """Return a table of missing answers, labels and sets as an array of objects."""
    table = np.empty((n_rows, n_annotators), dtype=object)
    for i, j in np.ndindex(*table.shape):
        members = np.flatnonzero(rng.random(n_classes) < 0.5).tolist()
        table[i, j] = (members[0] if len(members) == 1 and rng.random() < 0.5 else members) if members else None
    return table


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_sets_of_reliable_annotators_have_their_likelihood(n_classes, n_annotators, seed):
    """An answer contains the true class with the accuracy; all sets of its size that do, or do not, are as likely."""
    rng = np.random.default_rng(seed)
    table, accuracy = draw_sets(rng, n_classes, n_annotators), rng.uniform(1 / n_classes + 0.01, 0.99, n_annotators)
    y = CandidateSets.from_annotations(table, classes=range(n_classes), reliabilities=accuracy)
    expected = np.ones((8, n_classes))
    for (i, j), answer in np.ndenumerate(table):
        members = [] if answer is None else np.atleast_1d(answer)
        for k in range(n_classes if 0 < len(members) < n_classes else 0):
            n_sets = comb(n_classes - 1, len(members) - 1) if k in members else comb(n_classes - 1, len(members))
            expected[i, k] *= (accuracy[j] if k in members else 1 - accuracy[j]) / n_sets
    np.testing.assert_allclose(y.weights, expected / expected.max(axis=1, keepdims=True), rtol=1e-9)


@given(st.integers(2, 4), st.integers(1, 4), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_a_set_is_a_vote_for_each_of_its_labels(n_classes, n_annotators, min_votes, seed):
    """Every form of the answers has the candidates of a count of votes: lists, a DataFrame, and `Answers`."""
    rng = np.random.default_rng(seed)
    table = draw_sets(rng, n_classes, n_annotators)
    table[:, 0] = rng.integers(0, n_classes, 8).tolist()  # no annotator without answers
    min_votes = min(min_votes, n_annotators)
    votes = np.zeros((8, n_classes))
    for (i, _), answer in np.ndenumerate(table):
        votes[i, [] if answer is None else np.atleast_1d(answer)] += 1
    expected = np.where((votes >= min_votes).any(axis=1, keepdims=True), votes >= min_votes, True)
    has_answer = [any(answer is not None for answer in column) for column in table.T]
    given_answers = Answers.from_table(table[:, has_answer], classes=range(n_classes))
    frame = pd.DataFrame(table, index=[f"b{i}" for i in range(8)])
    for answers in (table, table.tolist(), frame, given_answers):
        if answers is not given_answers or min_votes <= sum(has_answer):
            y = CandidateSets.from_annotations(answers, classes=range(n_classes), min_votes=min_votes)
            np.testing.assert_array_equal(y.mask, expected)
            assert y.classes.tolist() == list(range(n_classes))


def test_columns_of_lists_are_read():
    """Cells may be lists of a column of polars, tuples, arrays, and lists of equal lengths."""
    columns = {"Ann": [["a"], ["b"], None], "Bob": [["a", "b"], None, ["c"]]}
    for table in (
        pl.DataFrame(columns),
        pd.DataFrame(columns),
        pd.DataFrame({"Ann": [("a",), {"b"}, None], "Bob": [np.array(["a", "b"]), None, "c"]}),
    ):
        assert CandidateSets.from_annotations(table).to_sets() == [{"a", "b"}, {"b"}, {"c"}]
    equal = [[["a", "b"], ["a", "c"]], [["b"], ["c"]]]
    assert CandidateSets.from_annotations(equal, min_votes=2).to_strings() == ["a", ""]


def test_sets_records_and_classes_that_cannot_be_read_are_errors():
    """Errors name the row and the column; records have no order of rows, which `Answers` has."""
    with pytest.raises(LabelError, match="row 1, column 0: the answer is an empty set"):
        CandidateSets.from_annotations([["a", "b"], [[], "a"]])
    with pytest.raises(LabelError, match=r"row 0, column 1: .*'c'"):
        CandidateSets.from_annotations([["a", ["a", "c"]]], classes=["a", "b"])
    records = pd.DataFrame({"row": [1, 2], "annotator": ["A", "A"], "answer": ["a", "b"]})
    with pytest.raises(LabelError, match=r"got records. Pass oneof.crowd.Answers.from_records\(answers, index="):
        CandidateSets.from_annotations(records)
    answers = Answers.from_records(records, index=[2, 1])
    assert CandidateSets.from_annotations(answers).to_strings() == ["b", "a"]
    with pytest.raises(LabelError, match="`classes` must be the classes of the answers"):
        CandidateSets.from_annotations(answers, classes=["b", "a"])


def test_many_reliable_annotators_do_not_underflow():
    """The weights of thousands of answers are finite and above 0; a row without answers is unlabeled."""
    answers = np.vstack([np.zeros((1, 5000), dtype=int), np.full((1, 5000), -1), [np.arange(5000) % 2]])
    y = CandidateSets.from_annotations(answers, classes=[0, 1], reliabilities=np.full(5000, 0.999))
    assert y.weights[0, 0] == 1
    assert 0 < y.weights[0, 1] < 1e-300
    assert y.is_unlabeled.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reliabilities": [0.9]}, r"one number for each of the 2 annotators; got shape \(1,\)"),
        ({"reliabilities": [0.9, 0.5]}, "column 1: `reliabilities` must be above 1/2.*; got 0.5"),
        ({"reliabilities": [1.0, 0.9]}, "column 0: .*below 1; got 1.0"),
        ({"reliabilities": [np.nan, 0.9]}, "column 0: .*got nan"),
        ({"reliabilities": [0.9, 0.9], "min_votes": 2}, "pass only one of them"),
        ({"reliabilities": [0.9, 0.9], "top_k": 1}, "pass only one of them"),
    ],
)
def test_bad_reliabilities_are_errors(options, message):
    """Accuracies are above those of guesses and below 1, one for each annotator."""
    with pytest.raises(InputError, match=message):
        CandidateSets.from_annotations([["a", "b"], ["b", "b"]], **options)
