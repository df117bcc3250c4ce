"""Constructors of CandidateSets, with errors that name the row; the sets as a sequence, and storage of weights."""

import copy
import itertools
import math
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from oneof import CandidateSets
from oneof.candidates import as_candidates
from oneof.errors import InputError, InputTypeError, LabelError
from tests.candidates.weights import EXPECTED, LABELS, W, ranked_rows

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


# -- CandidateSets as a sequence, and the conversion of any form of supervision ----------------------------------------


MASK = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]], dtype=bool)


def test_one_row_is_a_set():
    """The index of a row gives its set of labels, as iteration does; rows and columns that do not exist are errors."""
    y = CandidateSets(MASK, ["a", "b", "c"])
    assert [y[i] for i in range(4)] == list(y) == y.to_sets()
    assert y[-1] == y[np.int64(3)] == {"c"}
    assert type(y[0]) is set
    for row in (4, -5):
        with pytest.raises(InputError, match=f"4 rows cannot be indexed by {row}"):
            y[row]
    with pytest.raises(InputTypeError, match="rows only"):
        y[:, 1]


def test_an_array_of_candidate_sets_has_sets():
    """The array has the same sets and is read back; it cannot be sorted as classes, nor converted to numbers."""
    y = CandidateSets(MASK, ["a", "b", "c"])
    array = np.asarray(y)
    assert array.tolist() == y.to_sets()
    assert repr(array[0]) == "{'a'}"
    assert CandidateSets.from_sets(array, classes=y.classes) == y
    with pytest.raises(InputTypeError, match="cannot be sorted"):
        np.unique(array)
    for options in ({"dtype": float}, {"copy": False}):
        with pytest.raises(InputTypeError, match="new array of sets only"):
            np.array(y, **options)


def test_the_mask_cannot_be_changed():
    """The mask is read-only, and does not share memory with the input array."""
    source = MASK.copy()
    y = CandidateSets(source, ["a", "b", "c"])
    source[:] = True
    np.testing.assert_array_equal(y.mask, MASK)
    for sets in (y, y[1:], pickle.loads(pickle.dumps(y))):
        with pytest.raises(ValueError, match="read-only"):
            sets.mask[0, 1] = True
        with pytest.raises(ValueError, match="read-only"):
            sets.classes[0] = "z"
    classes = np.array(["a", "b", "c"])
    named = CandidateSets(MASK, classes)
    classes[0] = "z"
    assert named.classes.tolist() == ["a", "b", "c"]
    indicator = MASK.copy()
    z = CandidateSets.from_indicator(indicator)
    indicator[:] = True
    np.testing.assert_array_equal(z.mask, MASK)


def test_equality_is_by_value():
    """Sets are equal if their masks and their classes are equal."""
    y = CandidateSets(MASK, ["a", "b", "c"])
    assert y == CandidateSets(MASK, ["a", "b", "c"])
    assert y == pickle.loads(pickle.dumps(y))
    assert y != CandidateSets(MASK, ["a", "b", "d"])
    assert y != CandidateSets(MASK[::-1], ["a", "b", "c"])
    assert len(CandidateSets.from_labels(["a", "a\0"]).classes) == 2
    assert repr(y) == "<CandidateSets of 4 rows, 3 classes: 2 exact, 1 partial, 1 unlabeled>"


def test_a_column_vector_is_labels_with_a_warning():
    """(n, 1) arrays and one-column tables are read as labels, with scikit-learn's warning."""
    for y in (np.array([[2], [0]]), pd.DataFrame({"y": [2, 0]}), pl.DataFrame({"y": [2, 0]})):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            assert as_candidates(y).to_sets() == [{2}, {0}]


def test_given_classes_take_precedence():
    """With `classes`, an unlabeled row stays unlabeled and an unknown label is an error that names its row."""
    y = CandidateSets(MASK, ["a", "b", "c"])
    wider = as_candidates(y, classes=np.array(["c", "x", "b", "a"]))
    np.testing.assert_array_equal(wider.mask, [[0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 0, 0]])
    with pytest.raises(LabelError, match="row 3: label 'c'"):
        as_candidates(y, classes=np.array(["a", "b"]))
    frame = pd.DataFrame(MASK.astype(int), columns=["c", "a", "b"])
    assert as_candidates(frame, classes=np.array(["a", "b", "c"])).to_sets()[0] == {"c"}
    wider = as_candidates(frame, classes=np.array(["a", "b", "c", "d"]))
    assert [len(labels) for labels in wider.to_sets()] == [1, 2, 4, 1]  # a row of all columns is unlabeled
    with pytest.raises(LabelError, match="row 0: label 'c' is not one of the classes 'a', 'b', 'd'"):
        as_candidates(frame, classes=np.array(["a", "b", "d"]))


def test_labels_without_information_are_errors():
    """`y=None` and a `y` of missing labels only are errors."""
    with pytest.raises(LabelError, match="requires y to be passed"):
        as_candidates(None)
    with pytest.raises(LabelError, match="every row is unlabeled"):
        as_candidates([-1, -1])


def test_import_is_light():
    """`import oneof` and dir(oneof) load only the standard library and oneof itself."""
    code = (
        "import sys; before = set(sys.modules); import oneof; dir(oneof); "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["oneof"]


def test_every_public_name_can_be_imported():
    """Each name of dir(oneof) can be imported; any other name raises an error."""
    import oneof

    for name in dir(oneof):
        assert getattr(oneof, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        oneof.Nope  # noqa: B018 - the access is what is tested


# -- Storage of weights, and weights of noisy sets ---------------------------------------------------------------------


# -- storage ------------------------------------------------------------------------------------------------------


def test_storage_keeps_weights():
    """Indexing, pickling and copying keep the weights; sets without weighted rows are stored as a mask."""
    y = CandidateSets.from_weights(W)
    for rows in (slice(1, 3), slice(None, None, -1), [3, 0, 0], np.array([3, 0]), np.array([True, False, True, True])):
        np.testing.assert_array_equal(y[rows].weights, y.weights[rows])
        assert y[rows] == CandidateSets.from_weights(W[rows])
        assert CandidateSets(y.mask, y.classes)[rows] == CandidateSets(y.mask[rows], y.classes)
    for other in (pickle.loads(pickle.dumps(y)), copy.copy(y), copy.deepcopy(y), y[:]):
        assert other == y
    assert y != CandidateSets(y.mask, y.classes)
    assert y != CandidateSets.from_weights(W**2)
    assert y[2:].evidence.dtype == bool
    assert repr(y) == "<CandidateSets of 4 rows, 3 classes: 0 exact, 3 partial (2 weighted), 1 unlabeled>"
    np.testing.assert_array_equal(y.to_indicator(), EXPECTED > 0)
    np.testing.assert_array_equal(y.to_indicator(sparse=True).toarray(), EXPECTED > 0)
    assert y.to_sets() == [{0, 1}, {0, 1, 2}, {1, 2}, {0, 1, 2}]


def test_alignment_keeps_weights():
    """Weights of other classes are 0, and an unlabeled row remains unlabeled among more classes."""
    y = as_candidates(CandidateSets.from_weights(W, classes=["a", "b", "c"]), classes=np.array(["c", "x", "a", "b"]))
    np.testing.assert_allclose(y.weights[:3], np.insert(EXPECTED[:3, [2, 0, 1]], 1, 0.0, axis=1), rtol=1e-15)
    assert y.is_unlabeled.tolist() == [False, False, False, True]


# -- concatenation ------------------------------------------------------------------------------------------------


@given(ranked_rows, st.lists(st.integers(0, 6), max_size=3))
def test_concatenation_inverts_slicing(rows, cuts):
    """Blocks of rows, empty ones included, are joined to the same sets with the same weights."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    bounds = [0, *sorted(min(cut, len(y)) for cut in cuts), len(y)]
    blocks = [y[start:stop] for start, stop in itertools.pairwise(bounds)]
    assert CandidateSets.concatenate(blocks) == y
    assert CandidateSets.concatenate(iter(blocks)) == y
    sets = CandidateSets(y.mask, LABELS)
    joined = CandidateSets.concatenate([sets[:1], sets])
    assert joined.evidence is joined.mask
    np.testing.assert_array_equal(joined.mask, y.mask[[0, *range(len(y))]])


def literal_union(blocks):
    """Return the classes and the weights of joined blocks by a loop over blocks, rows and labels."""
    first = blocks[0].classes.tolist()
    labels = sorted({label for block in blocks for label in block.classes.tolist()})
    labels = first if set(labels) == set(first) else labels
    weights = [
        [1.0 if unlabeled else dict(zip(block.classes.tolist(), row)).get(label, 0.0) for label in labels]
        for block in blocks
        for row, unlabeled in zip(block.weights.tolist(), block.is_unlabeled.tolist())
    ]
    return labels, np.array(weights)


@given(
    st.lists(st.tuples(st.permutations(LABELS), st.integers(2, 4)), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_concatenation_by_label_equals_a_loop(parts, random):
    """Blocks over other classes, or in another order, are matched by label; unlabeled rows remain unlabeled."""
    blocks = []
    for order, n_classes in parts:
        W = [random.choices([0.0, 0.25, 1.0], k=n_classes) for _ in range(3)]
        blocks.append(
            CandidateSets.from_weights([row if any(row) else [1.0] * n_classes for row in W], order[:n_classes])
        )
    y = CandidateSets.concatenate(blocks)
    labels, weights = literal_union(blocks)
    assert y.classes.tolist() == labels
    np.testing.assert_array_equal(y.weights, weights)
    np.testing.assert_array_equal(y.is_weighted, np.concatenate([block.is_weighted for block in blocks]))
    np.testing.assert_array_equal(y.is_unlabeled, np.concatenate([block.is_unlabeled for block in blocks]))


def test_bad_blocks_are_errors():
    """Other objects, no block, classes of two types, and a single class that could mean "unlabeled" are errors."""
    y = CandidateSets.from_labels(["ant", "bee"])
    for blocks, message in ((y, "got {'ant'}"), (3, "got 3"), ([y, ["ant"]], r"got \['ant'\]")):
        with pytest.raises(InputTypeError, match=f"`blocks` must be a list of CandidateSets; {message}"):
            CandidateSets.concatenate(blocks)
    with pytest.raises(InputError, match="`blocks` must have at least one CandidateSets"):
        CandidateSets.concatenate([])
    with pytest.raises(LabelError, match="labels must have one type"):
        CandidateSets.concatenate([y, CandidateSets.from_labels([0, 1])])
    single = CandidateSets.from_labels(["ant", "ant"])
    with pytest.raises(InputError, match=r"block 1 has the class 'ant' only, .* Pass all classes"):
        CandidateSets.concatenate([y, single])
    assert len(CandidateSets.concatenate([single, single])) == 4


# -- noise --------------------------------------------------------------------------------------------------------


@given(ranked_rows, st.floats(0, 0.999), st.integers(0, 2**32 - 1))
def test_softened_weights_equal_the_literal_likelihood(rows, noise_rate, seed):
    """A softened row is the sum over its level sets of the binomial likelihoods of noisy sets."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    rates = np.random.default_rng(seed).uniform(0, 0.999, len(y))
    for rate in (noise_rate, rates):
        expected = np.zeros(y.shape)
        for i, row in enumerate(y.weights):
            e = np.broadcast_to(rate, len(y))[i]
            levels = sorted({*row.tolist(), 0.0}, reverse=True)
            for above, below in itertools.pairwise(levels):
                inside = row >= above
                s, K = int(inside.sum()), len(LABELS)
                odds = 0.0 if s == K else (e / math.comb(K - 1, s)) / ((1 - e) / math.comb(K - 1, s - 1))
                expected[i] += (above - below) * np.where(inside, 1.0, odds)
        np.testing.assert_allclose(
            y.soften(rate).weights, expected / expected.max(axis=1, keepdims=True), rtol=1e-9, atol=1e-300
        )
    assert y.soften(0.0) == y
    with pytest.raises(InputError, match=r"row 1: `noise_rate` must be at least 0 and below 1; got 1\.0"):
        CandidateSets.from_labels(["a", "b"]).soften([0.1, 1.0])
    np.testing.assert_array_equal(y.soften(noise_rate).is_unlabeled[y.is_unlabeled], True)


@pytest.mark.parametrize("rate", [-0.1, 1.0, np.nan, [0.1, 2.0], [0.1], [[0.1], [0.1]], "a"])
def test_bad_noise_rates_are_errors(rate):
    """A noise rate is at least 0 and below 1, for all rows or for each of them."""
    with pytest.raises(InputError):
        CandidateSets.from_labels(["a", "b"]).soften(rate)
