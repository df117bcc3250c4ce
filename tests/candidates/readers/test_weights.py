"""Every form in which weights are given."""

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oneof import PLKNN, CandidateSets
from oneof.candidates import as_candidates
from oneof.candidates.cells import WRAPPER_KEYS
from oneof.candidates.labels import clean
from oneof.errors import InputError, LabelError
from tests.candidates.weights import EXPECTED, LABELS, W, ranked_rows


def literal_weights(rows, labels):
    """Return the weights of mappings by a loop over rows and labels."""
    weights = np.array([[1.0 if row is None else row.get(label, 0.0) for label in labels] for row in rows])
    return weights / weights.max(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "form",
    [
        W,
        W.tolist(),
        [tuple(row) for row in W.tolist()],
        list(W),
        W.astype(object),
        np.asfortranarray(W),
        sp.csr_array(W),
        sp.csr_matrix(W),
        sp.csc_matrix(W),
        sp.coo_array(W),
        pd.DataFrame(W, columns=[0, 1, 2]),
        pd.Series(W.tolist()),
        pl.Series(W.tolist()),
        pa.array(W.tolist()),
        W * np.array([[1e300], [1e-300], [4.0], [1.0]]),
    ],
    ids=lambda form: f"{type(form).__module__}.{type(form).__name__}",
)
def test_matrices_of_every_type(form):
    """Arrays, lists, sparse matrices and tables give the weights up to a factor for each row."""
    y = CandidateSets.from_weights(form)
    np.testing.assert_allclose(y.weights, EXPECTED, rtol=1e-15)
    np.testing.assert_array_equal(y.mask, EXPECTED > 0)
    assert y.is_weighted.tolist() == [True, True, False, False]
    assert y.is_unlabeled.tolist() == [False, False, False, True]
    assert y.classes.tolist() == [0, 1, 2]
    assert y.evidence.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool])
def test_matrices_of_every_number_type(dtype):
    """Integers, booleans and small floats are converted exactly; 0 and 1 are stored as a mask alone."""
    counts = np.array([[4, 2, 0], [1, 1, 0], [0, 0, 1]], dtype=dtype)
    y = CandidateSets.from_weights(counts, classes=["a", "b", "c"])
    np.testing.assert_array_equal(y.weights[0], [1, 1, 0] if dtype is bool else [1, 0.5, 0])
    hard = y[1:]
    assert hard == CandidateSets(counts[1:] > 0, ["a", "b", "c"])
    assert hard.evidence is hard.mask


def test_tables_are_matched_by_name():
    """Columns of tables are matched with the classes by name, cells may be nullable, and an empty row is unlabeled."""
    frame = pd.DataFrame({"wren": [0.5, None], "finch": [1.0, None]})
    tables = (frame, frame.astype("Float64"), pl.from_pandas(frame))
    for table in tables:
        y = CandidateSets.from_weights(table)
        assert y.classes.tolist() == ["wren", "finch"]
        np.testing.assert_array_equal(y.weights, [[0.5, 1], [1, 1]])
        named = CandidateSets.from_weights(table, classes=["finch", "owl", "wren"])
        np.testing.assert_array_equal(named.weights, [[1, 0, 0.5], [1, 1, 1]])
    positions = pd.DataFrame([[0.5, 1.0]])
    assert CandidateSets.from_weights(positions, classes=["a", "b"]).classes.tolist() == ["a", "b"]
    with pytest.raises(LabelError, match="label 'wren' is not one of the classes 'finch', 'owl'"):
        CandidateSets.from_weights(frame, classes=["finch", "owl"])


@given(ranked_rows)
def test_ranked_lists_equal_the_literal_weights(rows):
    """Mappings and columns of tables give the weights of a literal loop."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    np.testing.assert_allclose(y.weights, literal_weights(rows, LABELS), rtol=2e-14)
    structs = [None if row is None else {label: row.get(label) for label in LABELS} for row in rows]
    for form in (pd.Series(rows), structs):
        assert CandidateSets.from_weights(form, classes=LABELS) == y


@given(ranked_rows, st.integers(-300, 300), st.permutations(LABELS))
def test_weights_are_free_up_to_a_factor_and_classes_permute(rows, exponent, order):
    """A factor of the rows and the order of the classes do not matter."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    scaled = [row and {label: math.ldexp(weight, exponent) for label, weight in row.items()} for row in rows]
    assert CandidateSets.from_weights(scaled, classes=LABELS) == y
    permuted = CandidateSets.from_weights(rows, classes=order)
    np.testing.assert_array_equal(permuted.weights, y.weights[:, [LABELS.index(label) for label in order]])


def test_ties_up_to_rounding_are_ties():
    """Weights that differ by roundings are equal, also below the largest, so that they have one level."""
    y = CandidateSets.from_weights([[0.1 + 0.2, 0.3, 0.1, 0.3 - 0.2]])
    assert len(np.unique(y.weights)) == 2
    scaled = CandidateSets.from_weights(7.0 * np.array([[0.1 + 0.2, 0.3, 0.1, 0.3 - 0.2]]))
    np.testing.assert_allclose(scaled.weights, y.weights, rtol=1e-15)
    assert len(np.unique(scaled.weights)) == 2
    assert y == CandidateSets.from_weights(y.weights)


def test_extreme_numbers_neither_overflow_nor_vanish():
    """Numbers near the limits of float64 give finite weights, and a positive one remains above 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in ([1e308, 1.7e308, 0.0], [5e-324, 1e-320, 0.0], [1e308, 1e-320, 0.0], [1.0, 1e-320, 0.0]):
            for kind in ("likelihood", "posterior"):
                weights = CandidateSets.from_weights([row, [1.0, 0.0, 1e-320]], kind=kind).weights
                assert np.isfinite(weights).all()
                assert weights.max(axis=1).tolist() == [1, 1]
                np.testing.assert_array_equal(weights > 0, [[True, True, False], [True, False, True]])
                assert np.isfinite(1.0 / weights[weights > 0]).all()
        y = CandidateSets.from_weights([[0.5, 0.5]], kind="posterior", prior=[1e-320, 1.0])
        assert np.isfinite(y.weights).all()


def test_posteriors_are_divided_by_their_prior():
    """The weights are W / prior, with the mean of the normalized rows as the default prior."""
    posterior = np.array([[0.5, 0.3, 0.2], [0.8, 0.2, 0.0], [0.1, 0.1, 0.8]])
    for prior in (None, [0.2, 0.3, 0.5], [2, 3, 5]):
        y = CandidateSets.from_weights(posterior * [[1.0], [2.0], [5.0]], kind="posterior", prior=prior)
        expected = posterior / (posterior.mean(axis=0) if prior is None else np.array(prior))
        np.testing.assert_allclose(y.weights, expected / expected.max(axis=1, keepdims=True), rtol=1e-12)
    rows = [dict(enumerate(row)) for row in posterior.tolist()]
    for sequence in ([*rows, None], [None, *rows]):
        mixed = CandidateSets.from_weights(sequence, kind="posterior")[~np.array([row is None for row in sequence])]
        assert mixed == CandidateSets.from_weights(posterior, kind="posterior")
    assert CandidateSets.from_weights([None, None], classes=["a", "b"], kind="posterior").is_unlabeled.all()


@pytest.mark.parametrize("form", [dict, pd.Series, lambda prior: pd.Series(prior).iloc[::-1]])
def test_a_prior_by_label_is_matched_by_label(form):
    """A mapping or a pandas Series gives the prior of each label in any order; further labels are ignored."""
    posterior = [[0.5, 0.3, 0.2], [0.8, 0.2, 0.0], [0.1, 0.1, 0.8]]
    expected = CandidateSets.from_weights(posterior, ["c", "a", "b"], kind="posterior", prior=[0.5, 0.2, 0.3])
    prior = form({"d": 0.9, "a": 0.2, "b": 0.3, "c": 0.5})
    assert CandidateSets.from_weights(posterior, ["c", "a", "b"], kind="posterior", prior=prior) == expected
    texts = ["c:0.5|a:0.3|b:0.2", "c:0.8|a:0.2", "c:0.1|a:0.1|b:0.8"]
    y = CandidateSets.from_strings(texts, classes=["c", "a", "b"], weighted=True, kind="posterior", prior=prior)
    assert y == expected
    by_position = pd.Series([0.5, 0.2, 0.3])  # has none of the labels
    assert CandidateSets.from_weights(posterior, ["c", "a", "b"], kind="posterior", prior=by_position) == expected


def test_a_rare_class_of_many_posteriors_causes_a_warning():
    """The default prior of a class whose posteriors sum below 1 over 100 rows is unreliable, with a warning."""
    rows = [{"a": 0.995, "b": 0.005}] * 100
    message = r"class 'b' sum to 0.5 over 100 rows \(classes below 1: 1\).* Leave the class out"
    with pytest.warns(UserWarning, match=message) as caught:
        CandidateSets.from_weights(rows, kind="posterior")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=message):
        CandidateSets.from_strings(["a:0.995|b:0.005"] * 100, weighted=True, kind="posterior")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CandidateSets.from_weights([*rows[1:], None], kind="posterior")
        CandidateSets.from_weights([{"a": 0.98, "b": 0.02}] * 100, kind="posterior")
        CandidateSets.from_weights(rows, kind="posterior", prior={"a": 0.9, "b": 0.1})
        CandidateSets.from_weights([{"a": 0.5, "b": 0.5}] * 100, classes=["a", "b", "c"], kind="posterior")


@pytest.mark.parametrize(("total", "remainder"), [(1.0099, 0.0), (1.0, 0.0), (1.0 - 1e-7, 0.0), (0.99, 0.01)])
def test_sums_near_one_have_no_rest(total, remainder):
    """Sums up to 1.01 and remainders up to 1e-6 are roundings: classes that are not listed remain ruled out."""
    rows = [{"ant": total - 0.3, "bee": 0.3}]
    y = CandidateSets.from_weights(rows, classes=LABELS, rest=True)
    weights = np.array([total - 0.3, 0.3, remainder / 2, remainder / 2])
    np.testing.assert_allclose(y.weights[0], weights / weights.max(), rtol=1e-9)
    if not remainder:
        assert y == CandidateSets.from_weights(rows, classes=LABELS)
    with pytest.warns(UserWarning, match="probabilities of some rows have a sum above 1"):
        y = CandidateSets.from_weights([*rows, {"ant": 0.711, "bee": 0.3}], classes=LABELS, rest=True)
    np.testing.assert_allclose(y.weights[1], [1, 0.3 / 0.711, 0, 0])


def test_the_rest_is_spread_over_the_classes_that_a_row_does_not_list():
    """rest=True divides the remainder to 1, and a string the mass of this label, among classes that are not listed."""
    rows = [{"ant": 0.6, "bee": 0.2}, {"ant": 0.6, "bee": 0.3, "cat": 0.0}, {"cat": 1.0}, None, {}, {"dog": 0.6}]
    expected = [
        [0.6, 0.2, 0.1, 0.1],
        [0.6, 0.3, 0.0, 0.1],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 1.0, 1.0],
        [0.4 / 3, 0.4 / 3, 0.4 / 3, 0.6],
    ]
    expected = CandidateSets.from_weights(expected, classes=LABELS).weights
    y = CandidateSets.from_weights(rows, classes=LABELS, rest=True)
    np.testing.assert_allclose(y.weights, expected, rtol=1e-12)
    named = [row if row is None else {**row, "other": 1.0 - sum(row.values())} for row in rows]
    np.testing.assert_allclose(
        CandidateSets.from_weights(named, classes=LABELS, rest="other").weights, expected, rtol=1e-12
    )
    matrix = np.array([[0.6, 0.2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    for form in (matrix, sp.csr_array(matrix), pd.DataFrame(matrix, columns=LABELS)):
        y = CandidateSets.from_weights(form, classes=LABELS, rest=True)
        np.testing.assert_allclose(y.weights, expected[[0, 2]], rtol=1e-12)
    frame = pd.DataFrame(np.column_stack([matrix, [0.2, 0.0]]), columns=[*LABELS, "other"])
    for form, classes in ((frame, None), (frame, LABELS), (frame.to_numpy(), [*LABELS, "other"])):
        y = CandidateSets.from_weights(form, classes=classes, rest="other")
        assert y.classes.tolist() == LABELS
        np.testing.assert_allclose(y.weights, expected[[0, 2]], rtol=1e-12)
    rounded = CandidateSets.from_weights([{"ant": 0.1, "bee": 0.2, "cat": 0.7}], classes=LABELS, rest=True)
    assert rounded.to_sets() == [{"ant", "bee", "cat"}]


@pytest.mark.parametrize(
    ("W", "options", "message", "fields"),
    [
        ([[1, 0], [0.5, -1]], {}, "finite number of at least 0; got -1.0", (1, 1, None)),
        ([[1, 0], [np.nan, 1]], {}, "finite number .*; got nan", (1, 0, None)),
        (sp.csr_array([[1, 0], [0, -2.0]]), {}, "got -2.0", (1, 1, None)),
        ([[1, 0], [0, 0]], {}, "all weights of the row are 0", (1, None, None)),
        ([1, 2], {}, r"2-D array .*; got shape \(2,\)", (None, None, None)),
        (np.ones((2, 0)), {}, "at least", (None, None, None)),
        ([[1, 2], [3]], {}, "equal length", (1, None, None)),
        (3.0, {}, "one entry for each row of X; got 3.0", (None, None, None)),
        (np.array([[1j]]), {}, "weights must be numbers", (None, None, None)),
        (["a:1"], {}, r"from_strings\(y, weighted=True\)", (0, None, "a:1")),
        (np.eye(2), {"classes": LABELS}, "2 columns, 4 classes", (None, None, None)),
        ([{"ant": 1}, {"elk": 1}], {"classes": LABELS}, "label 'elk'", (1, None, "elk")),
        ([{"a": 1}, {"b": -0.5}], {}, "weight of 'b' must be .*-0.5", (1, None, "b")),
        ([{"a": "x"}], {}, "weight of 'a' must be a number, .* got 'x'", (0, None, "a")),
        ([{"a": 1}, {"a": 0.0}], {}, "all weights of the row are 0", (1, None, None)),
        ([{"a": 1}, [{"label": "b"}]], {}, "must be a mapping", (1, None, None)),
        ([{"a": 1}, {None: 1}], {}, "missing value", (1, None, None)),
        ([[("a", 1, 2)]], {}, "must be a mapping", (0, None, None)),
        ([{"a": 1}, {"a": 70, "b": 20}], {"rest": True}, "sum to 90, .* Write percentages", (1, None, None)),
        ([[0.5, 0.5], [2, 0.5]], {"rest": True}, "sum to 2.5", (1, None, None)),
    ],
)
def test_bad_weights_are_errors_with_the_place(W, options, message, fields):
    """Invalid weights are one sentence, with the row, the column and the label as fields."""
    with pytest.raises(LabelError, match=message) as caught:
        CandidateSets.from_weights(W, **options)
    error = caught.value
    assert (error.row, error.column, error.label) == fields
    assert "\n" not in str(error)


BAD_PRIOR = "`prior` must have a finite number of at least 0 for each of the 2 classes 'a', 'b'"


def _posterior(prior):
    return {"kind": "posterior", "prior": prior}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "odds"}, '`kind` must be "likelihood" or "posterior"'),
        ({"prior": [0.5, 0.5]}, '`prior` requires kind="posterior"'),
        *((_posterior(prior), BAD_PRIOR) for prior in ([1, 1, 1], [1, -1], [1, np.nan], [0, 0])),
        *((_posterior(prior), BAD_PRIOR) for prior in ({"a": 0.5}, pd.Series({"a": 0.5, "c": 0.5}), {})),
        (_posterior([1, 0]), "`prior` must be above 0 .* for class 'b'"),
        (_posterior("uniform"), "`prior` must contain real numbers"),
        ({"rest": "other"}, "`rest` must be the name of a column; got 'other'"),
        ({"rest": 3}, "`rest` must be True, False, or the label"),
    ],
)
def test_bad_options_are_errors(options, message):
    """An unknown kind, an invalid prior and an invalid rest are errors."""
    with pytest.raises(InputError, match=message):
        CandidateSets.from_weights([[1.0, 0.0], [0.5, 0.5]], ["a", "b"], **options)
    if "rest" not in options:
        with pytest.raises(InputError, match=message):
            CandidateSets.from_strings(["a:1", "a:0.5|b:0.5"], weighted=True, **options)


# -- Weights and mappings where sets or labels are expected, and labels that look like weights -----------------------


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
        [["a"], [["a", 0.95], ["b", 0.03]]],
        ["a", {"a": 0.95, "b": 0.03}],
        [[0.0, 1.0], [0.75, 0.25]],
        [np.array([0.0, 1.0]), np.array([0.75, 0.25])],
        pl.Series([{"a": 0.5, "b": 0.1}, {"a": 0.95, "b": 0.03}]),
    ],
    ids=str,
)
def test_pairs_and_mappings_are_not_labels(rows):
    """Rows of (label, weight) pairs, and mappings, are errors that name from_weights."""
    for call in (as_candidates, CandidateSets.from_sets):
        with pytest.raises(LabelError, match=r'row [01]: .*from_weights\(y, kind="likelihood"\) or kind="posterior"'):
            call(rows)


def test_tuples_may_be_labels():
    """Tuples without floats, and pairs that are listed as classes, are labels."""
    rows = [[("a", "b"), ("c", "d")], [("a", "b")]]
    assert as_candidates(rows).classes.tolist() == [("a", "b"), ("c", "d")]
    assert as_candidates([[("a", 1), ("b", 2)]]).classes.tolist() == [("a", 1), ("b", 2)]
    pairs = [[("a", 0.5), ("b", 0.5)], [("a", 0.5)]]
    classes = np.array([("a", 0.5), ("b", 0.5), None], dtype=object)[:-1]
    np.testing.assert_array_equal(CandidateSets.from_sets(pairs, classes=classes).mask, [[1, 1], [1, 0]])


NUMBERED = ["finch:0.7", "wren:0.3", "owl"]


@pytest.mark.parametrize(
    ("read", "y", "message"),
    [
        (CandidateSets.from_strings, ["finch:0.7|wren:0.3", "wren"], r"'finch:0.7' is read as one.*weighted=True"),
        (CandidateSets.from_strings, ["finch (0.5)|wren (0.1)"], r"'finch \(0.5\)' is read as one.*weighted=True"),
        (as_candidates, NUMBERED, r"'finch:0.7' is read as one class: pass .*from_strings\(y, weighted=True\)"),
        (lambda y: PLKNN(n_neighbors=1).fit(np.eye(3), y), NUMBERED, r"'finch:0.7' is read as one class: pass"),
        *((as_candidates, y, r"pass .*\(y, separator='\[\]'\)") for y in (["{'a', 'b'}", "{'b'}"], ["['a', 'b']"])),
        (as_candidates, ["a", "b", "a|b"], r"'a\|b' is read as one class: pass CandidateSets.from_strings\(y\)"),
        (as_candidates, ["a|b|c", "c|d"], r"'a\|b\|c' is read as one class"),
        (as_candidates, ["a", "b", "a; b", "b; a"], r"'a; b' is read as one class: pass .*\(y, separator=';'\)"),
        (as_candidates, [[0, -1], [1, 2], [1, -1]], r"-1 is read as a class.*from_sets\(y, classes=...\)"),
        (as_candidates, [[0, 1, 1], [1, 0, 0]], r"zeros and ones.*np.asarray\(y\)"),
        *((as_candidates, ["a", text], f"the text '{text}' is read as a class") for text in ("", "nan", "None")),
    ],
)
def test_labels_that_may_be_sets_or_weights_have_a_warning(read, y, message):
    """Labels are read as they are, with a warning that has the remedy."""
    with pytest.warns(UserWarning, match=message) as caught:
        read(y)
    assert caught[0].filename == __file__


def test_usual_labels_have_no_warning():
    """Neither do labels whose classes are given, weights that are read, and texts that occur as one label."""
    usual = (
        *(["finch:0.7", "wren"], ["ratio 1:2", "ratio 1:3"], ["B (2)", "B (1)"], ["x|y", "z"], [[0, 1], [1]]),
        *(["finch:0.7", "wren:0.3", "a", "b", "c"], ["[0, 10]", "[10, 20]", "(Smith, J)"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in usual:
            as_candidates(y)
        as_candidates(NUMBERED, classes=np.array(NUMBERED))
        CandidateSets.from_strings(["finch:0.7|wren:0.3", "wren"], weighted=True)


repeated_rows = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.01, 0.3)), min_size=2, max_size=6)


@pytest.mark.filterwarnings("ignore")
@given(st.lists(repeated_rows, min_size=1, max_size=4))
def test_weights_of_a_repeated_label_are_merged(rows):
    """They are added if they are shares of one mass, and the largest one is used for likelihoods, in every form."""
    texts = ["|".join(f"{label}:{weight!r}" for label, weight in row) for row in rows]
    for options in ({}, {"kind": "posterior", "prior": [1, 1, 1]}, {"rest": "other"}):
        merge = sum if options else max
        merged = [{k: merge(w for name, w in row if name == k) for k, _ in row} for row in rows]
        expected = CandidateSets.from_weights(merged, list("abc"), **options).weights
        for y in (
            CandidateSets.from_weights(rows, list("abc"), **options),
            CandidateSets.from_strings(texts, classes=list("abc"), weighted=True, **options),
        ):
            np.testing.assert_allclose(y.weights, expected, rtol=1e-12)


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
    with pytest.warns(UserWarning, match=r"rows have a sum above 1 \(first in row 1\), .* by it") as caught:
        y = CandidateSets.from_strings(["a:0.7|b:0.3", "a:0.8|b:0.4"], weighted=True, kind="posterior", prior=[1, 1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_allclose(y.weights, [[1, 3 / 7], [1, 0.5]])


# -- Weights of candidates as text: their forms, JSON, and errors ----------------------------------------------------


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
    for separator in ("|", "auto"):
        expected = CandidateSets.from_strings(rows, weighted=True)
        assert CandidateSets.from_strings([*fenced, rows[4]], weighted=True, separator=separator) == expected
    sets = CandidateSets.from_strings([fence.replace("{}", row) for row in ("['owl']", "[]")], separator="auto")
    assert sets.to_strings(write_full=True) == ["owl", "owl"]
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
    .filter(lambda name: name and name not in {*WRAPPER_KEYS, "other"} and not re.fullmatch(r"[-+]?\d*\.0*", name))
)
"""Names that are themselves in text: 0.0 is the label 0, {"classes": 1} names a field, and "other" is the rest."""
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


@pytest.mark.parametrize("options", [{}, {"rest": True}, {"kind": "posterior", "rest": True}])
def test_empty_lists_and_mappings_are_unlabeled(options):
    """An empty list or mapping is the same as None for each kind and rest, in Python and in text of JSON."""
    rows = [{"a": 0.7, "b": 0.2}, {"b": 0.9}, {"a": 0.5, "c": 0.5}]
    y = CandidateSets.from_weights([*rows, None, None], **options)
    assert y.is_unlabeled.tolist() == [False, False, False, True, True]
    assert CandidateSets.from_weights([*rows, [], {}], **options) == y
    texts = CandidateSets.from_strings([*map(json.dumps, rows), "[ ]", " {} ", "a|b"], weighted=True, **options)
    assert texts[:5] == y
    assert texts[5:] == CandidateSets.from_sets([["a", "b"]], classes=["a", "b", "c"])  # without numbers


def test_options_of_weights_require_weighted_text():
    """`kind`, `prior` and `rest` without `weighted`, and a separator with a colon, are errors."""
    for options in ({"kind": "posterior"}, {"kind": "posterior", "prior": [1]}, {"rest": True}):
        with pytest.raises(InputError, match="Pass weighted=True"):
            CandidateSets.from_strings(["a"], **options)
    with pytest.raises(InputError, match="`rest` must not be one of the classes; got 'a'"):
        CandidateSets.from_strings(["a:0.5|b:0.5"], classes=["a", "b"], weighted=True, rest="a")
    with pytest.raises(InputError, match="must not contain a colon"):
        CandidateSets.from_strings(["a"], weighted=True, separator="::")
    with pytest.raises(InputError, match="must not contain a colon"):
        CandidateSets.from_weights([[1.0, 0.5]]).to_strings(separator=":")
