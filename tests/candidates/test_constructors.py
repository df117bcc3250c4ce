"""Constructors of CandidateSets: valid input, and errors that name the row."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.errors import InputError, LabelError

LABELS = ["ant", "bee", "cat", "dog"]
some_sets = st.lists(st.sets(st.sampled_from(LABELS), min_size=1), min_size=1, max_size=30)


def literal_mask(sets, classes):
    return np.array([[label in s for label in classes] for s in sets])


@given(some_sets, st.randoms())
def test_sets_equal_the_literal_mask(sets, random):
    """Every container of labels, also with repeated ones, gives the mask of a literal loop."""
    expected = literal_mask(sets, LABELS)
    shuffled = [[*random.sample(sorted(s), len(s)), min(s)] for s in sets]
    for form in (sets, shuffled, [tuple(s) for s in shuffled], [frozenset(s) for s in sets]):
        np.testing.assert_array_equal(CandidateSets.from_sets(form, classes=LABELS).mask, expected)
    arrays = np.array([*(np.array(s) for s in shuffled), None], dtype=object)[:-1]
    np.testing.assert_array_equal(CandidateSets.from_sets(arrays, classes=LABELS).mask, expected)


@given(some_sets)
def test_round_trips(sets):
    """Conversion to sets, indicators (dense, sparse) and text, and back, gives the same candidate sets."""
    y = CandidateSets.from_sets(sets, classes=LABELS)
    assert y.to_sets() == sets
    assert list(y) == sets
    assert CandidateSets.from_indicator(y.to_indicator(), classes=LABELS) == y
    assert CandidateSets.from_indicator(y.to_indicator(sparse=True), classes=LABELS) == y
    assert CandidateSets.from_strings(y.to_strings(), classes=LABELS) == y
    frame = pd.DataFrame(y.to_indicator(), columns=LABELS)
    assert CandidateSets.from_indicator(frame) == y
    assert CandidateSets.from_indicator(pl.from_pandas(frame)) == y


@given(st.lists(st.one_of(st.none(), st.sampled_from(LABELS)), min_size=1, max_size=30))
def test_labels_are_singletons_and_missing_ones_full_sets(labels):
    """The set of a label is its singleton, that of a missing label contains all classes."""
    y = CandidateSets.from_labels(labels, classes=LABELS)
    np.testing.assert_array_equal(y.mask, literal_mask([{v} if v else LABELS for v in labels], LABELS))
    np.testing.assert_array_equal(y.is_exact, [v is not None for v in labels])
    np.testing.assert_array_equal(y.is_unlabeled, [v is None for v in labels])
    np.testing.assert_array_equal(y.sizes, y.mask.sum(axis=1))


OF_TEXT = np.array(["b", "a", None], dtype=object)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 2, -1],
        np.array([0, 2, -1], dtype=np.int8),
        [0, 2, None],
        [0.0, 2.0, float("nan")],
        np.array([0.0, 2.0, -1.0]),
        np.array([0, 2, None], dtype=object),
        np.array([0, 2, -1], dtype=object),
        pd.Series([0, 2, None]),
        pd.Series([0, 2, pd.NA], dtype="Int64"),
        pd.Series([0, 2, None], dtype="category"),
        pl.Series([0, 2, None]),
        pa.array([0, 2, None]),
        pa.chunked_array([[0], [2, None]]),
        OF_TEXT.tolist(),
        OF_TEXT,
        np.where(OF_TEXT == None, np.nan, OF_TEXT),  # noqa: E711 - of each element
        *(pd.Series(OF_TEXT, dtype=kind) for kind in (object, "string", "category")),
        pd.Categorical(OF_TEXT),
        *(pl.Series(OF_TEXT.tolist(), dtype=kind) for kind in (pl.String, pl.Categorical)),
        pa.array(OF_TEXT),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}",
)
def test_missing_labels(labels):
    """-1 among integers, None, NaN and the NA of every library mark an unlabeled row; labels are sorted."""
    y = CandidateSets.from_labels(labels)
    is_text = y.classes.dtype.kind == "U"
    assert y.classes.tolist() == (["a", "b"] if is_text else [0, 2])
    np.testing.assert_array_equal(y.mask[:, ::-1] if is_text else y.mask, [[1, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize(
    "column",
    [
        [["b", "a"], ["c"], None],
        pd.Series([["b", "a"], ["c"], None]),
        pl.Series([["b", "a"], ["c"], None]),
        pa.array([["b", "a"], ["c"], None]),
        np.array([["b", "a"], ["c"], None], dtype=object),
        [np.array(["b", "a"]), "c", None],
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}",
)
def test_list_columns(column):
    """Ragged list columns of every library are sets; a missing list is unlabeled, a bare label its singleton."""
    y = CandidateSets.from_sets(column)
    np.testing.assert_array_equal(y.mask, [[1, 1, 0], [0, 0, 1], [1, 1, 1]])


def test_minus_one_is_a_class_if_it_is_listed():
    """-1 is a class if `classes` lists it, and marks an unlabeled row if not, for any other labels."""
    y = CandidateSets.from_labels([-1, 1, None], classes=[-1, 1])
    np.testing.assert_array_equal(y.mask, [[1, 0], [0, 1], [1, 1]])
    y = CandidateSets.from_labels([-1, 1, -1], classes=[0, 1])
    np.testing.assert_array_equal(y.mask, [[1, 1], [0, 1], [1, 1]])
    for signs in ([-1, 1], [-1.0, 1.0, np.nan], [-1, 1, None], np.array([1, -1], dtype=object)):
        with pytest.raises(LabelError, match=r"only -1 and 1.*classes=\[-1, 1\]\), it is one of them"):
            CandidateSets.from_labels(signs)
    assert CandidateSets.from_labels([-1, 1, 1, 2]).classes.tolist() == [1, 2]


def test_indicator_columns_keep_their_names_and_order():
    """A DataFrame's columns are the classes in their order, also one that never occurs; all-NaN rows are unlabeled."""
    frame = pd.DataFrame({"wren": [1, 0, np.nan], "finch": [1, 1, np.nan], "owl": [0, 0, np.nan]})
    for table in (frame, pl.from_pandas(frame), frame.astype("Float64")):
        y = CandidateSets.from_indicator(table)
        assert y.classes.tolist() == ["wren", "finch", "owl"]
        np.testing.assert_array_equal(y.mask, [[1, 1, 0], [0, 1, 0], [1, 1, 1]])
    stored_zero = sp.csr_matrix((np.array([1, 0, 1]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(CandidateSets.from_indicator(stored_zero).mask, [[1, 0], [0, 1]])


def test_annotations_count_votes():
    """`top_k` retains the labels with most votes and all ties; rows without a label of `min_votes` are unlabeled."""
    answers = np.array([[0, 0, 1, -1], [2, 1, 0, 0], [-1, -1, -1, -1], [1, 2, 2, 1]])
    every = CandidateSets.from_annotations(answers)
    np.testing.assert_array_equal(every.mask, [[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 1, 1]])
    for options in ({"min_votes": 2}, {"top_k": 1}):
        y = CandidateSets.from_annotations(answers, **options)
        np.testing.assert_array_equal(y.mask, [[1, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]])


@given(some_sets.filter(lambda sets: all(len(s) < len(LABELS) for s in sets)))
def test_complementary_sets(sets):
    """The candidates are the classes that are not ruled out, by a set, by one label, or by none."""
    y = CandidateSets.from_complementary([*sets, "ant", None], classes=LABELS)
    np.testing.assert_array_equal(y.mask, ~literal_mask([*sets, {"ant"}, set()], LABELS))


def test_a_coarse_label_has_its_leaves_as_candidates():
    """The candidates of a coarse label are all leaves below it, at any depth; those of a leaf are the leaf."""
    tree = {"animal": ["bird", "mammal"], "bird": ["wren", "finch"], "mammal": ["fox"]}
    y = CandidateSets.from_hierarchy(["bird", "fox", "animal", None, ["wren", "mammal"]], tree)
    assert y.classes.tolist() == ["finch", "fox", "wren"]
    np.testing.assert_array_equal(y.mask, [[1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1], [0, 1, 1]])


NAMED = {"classes": LABELS}
FRAME = {"y": ["ant", "bee", "cat"]}


@pytest.mark.parametrize(
    ("name", "y", "options", "message"),
    [
        ("labels", ["ant", "elk"], NAMED, "row 1: label 'elk' is not one of"),
        ("labels", [0, 7], {"classes": [0, 1]}, "row 1: label 7 is not one of the classes 0, 1"),
        ("labels", "finch", {}, "one entry for each row of X; got 'finch'"),
        ("labels", [0, np.inf], {}, "row 1: the label is infinite"),
        ("labels", [0, 1.5], {}, "continuous"),
        ("labels", [[1, 2], [3]], {}, "not a label"),
        ("labels", np.zeros((2, 2, 2)), {}, "1d array"),
        ("labels", pd.DataFrame(FRAME), {}, r"1d array .* shape \(3, 1\)"),
        ("labels", sp.csr_array([[0, 1]]), {}, "one label or one set of labels per row of X; got a sparse matrix"),
        ("labels", ["a"], {"classes": ["a", "a"]}, "'a' twice"),
        ("labels", ["a"], {"classes": ["a", None]}, "must be strings or numbers, none of them missing; got None"),
        ("labels", ["a"], {"classes": ["a", 1]}, "labels must have one type"),
        ("labels", ["a"], {"classes": [["a"]]}, r"must be strings or numbers, none of them missing; got \['a'\]"),
        ("labels", [None], {}, "at least one class"),
        ("sets", [["ant"], ["ant", "elk"]], NAMED, "row 1: label 'elk'"),
        ("sets", [["ant"], []], {}, "row 1: the candidate set is empty"),
        ("sets", [["ant"], ["bee", None]], {}, "row 1: the set contains a missing value"),
        ("sets", [["ant"], [["bee"]]], {}, r"row 1: \['bee'\] is not a label"),
        ("sets", [["ant"], [3]], {}, "labels must have one type"),
        ("sets", 3, {}, "one entry for each row of X"),
        ("sets", [None], {}, "at least one class"),
        ("complementary", [["ant"], LABELS], NAMED, "row 1: the candidate set is empty"),
        ("hierarchy", [[["a"]]], {"hierarchy": {"b": ["a"]}}, r"label \['a'\] is not one of the classes 'b', 'a'"),
        ("hierarchy", ["a"], {"hierarchy": {"b": ["a"]}, "classes": ["a", "b"]}, "'b' is a coarse label"),
        ("hierarchy", ["bird", "fish"], {"hierarchy": {"bird": ["wren"]}}, "row 1: label 'fish'"),
        ("hierarchy", ["a"], {"hierarchy": {"a": ["b"], "b": ["a"]}}, "cycle"),
        ("hierarchy", ["a"], {"hierarchy": {"b": [], "c": ["a", "d"]}}, "gives 'b' no children"),
        ("annotations", [["a", "b"], ["a", "x"]], {"classes": ["a", "b"]}, "row 1, column 1: label 'x'"),
        ("annotations", [["a", "b"], ["a"]], {}, "row 1: got 1 answers"),
        ("annotations", [[1, -1], [1, 1]], {}, "only -1 and 1"),
        ("annotations", ["wren", "owl"], {}, "`answers` must be a table"),
        ("annotations", np.full((3, 2), -1), {}, "at least one answer"),
        (
            "annotations",
            [["a", "b"]],
            {"min_votes": 3},
            "`min_votes` must be at most the number of annotators, 2; got 3",
        ),
        ("annotations", [["a", "b"]], {"min_votes": 0}, r"`min_votes` must be .*; got 0"),
        ("annotations", [["a", "b"]], {"top_k": 0}, r"`top_k` must be .*, or None for all; got 0"),
        ("indicator", [[0, 1], [0, 0]], {}, "row 1: the candidate set is empty"),
        ("indicator", [[0, 1], [2, 0]], {}, "row 1, column 0: an indicator must contain 0 and 1 only; got 2"),
        ("indicator", sp.csr_array([[0, 1], [3, 0]]), {}, "row 1, column 0"),
        ("indicator", [["a", "b"]], {}, "0 and 1"),
        ("indicator", [1, 0], {}, "2-D array"),
        ("indicator", np.eye(2), {"classes": ["a"]}, "2 columns, 1 classes"),
    ],
)
def test_errors_name_the_place(name, y, options, message):
    """The error is one sentence that names row and label."""
    with pytest.raises(InputError, match=message) as caught:
        getattr(CandidateSets, f"from_{name}")(y, **options)
    assert str(caught.value).count("\n") == 0


def test_a_bad_mask_is_an_error():
    """The mask has 0 and 1, a column for each class, and a candidate in each row, as an indicator."""
    with pytest.raises(LabelError, match="row 0, column 1: an indicator must contain 0 and 1 only; got 7"):
        CandidateSets([[1, 7]], ["a", "b"])


def test_numpy_integers_are_the_decimal_classes_that_they_equal():
    """Labels and sets may mix `decimal.Decimal` and integers of NumPy."""
    y = CandidateSets.from_sets([[np.int64(1)], [Decimal(2), 1]], classes=[Decimal(1), Decimal(2)])
    assert y.mask.tolist() == [[True, False], [True, True]]
    assert CandidateSets.from_labels(np.array([np.int64(1), Decimal(2)], dtype=object)).classes.tolist() == [1, 2]


def test_minus_one_as_a_row_and_in_a_set_has_a_warning():
    """A row of -1 is unlabeled, so that -1 in a set is hardly a class; with `classes` it is one in both."""
    with pytest.warns(UserWarning, match="-1 is a class in the set of row 2"):
        y = CandidateSets.from_sets([[0, 1], -1, [-1], [1]])
    assert y.to_sets() == [{0, 1}, {-1, 0, 1}, {-1}, {1}]
    y = CandidateSets.from_sets([[0, 1], -1, [-1], [1]], classes=[-1, 0, 1])
    assert y.to_sets() == [{0, 1}, {-1}, {-1}, {1}]
