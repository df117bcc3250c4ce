"""Marks of a missing label, in every form of supervision: masked entries, -1 and its text; and mappings, an error."""

import types
import warnings
from collections import Counter, UserDict

import numpy as np
import pandas as pd
import polars as pl
import pytest

from oneof import PLKNN, CandidateSets, LOORidge, compare
from oneof.crowd import Answers
from oneof.errors import InputError
from oneof.metrics import covering_rate

MASKED = np.ma.masked
ROWS = [True, False, False, True]
"""The mask of the rows of a vector."""
CELLS = [[False, True], [False, False], [True, False]]
"""The mask of a table of answers."""


def vector_of(values, **options):
    return np.ma.array(values, mask=ROWS, **options)


def objects(values):
    return np.array([*values, None], dtype=object)[:-1]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (vector_of([7, 1, 2, 7]), [None, 1, 2, None]),
        (vector_of([-1, 0, 1, 0]), [None, 0, 1, None]),
        (vector_of([np.nan, 1.0, 2.0, 9.0]), [None, 1, 2, None]),
        (vector_of(["N/A", "a", "b", "a"]), [None, "a", "b", None]),
        (vector_of([True, True, False, True]), [None, True, False, None]),
        ([MASKED, 1, 2, MASKED], [None, 1, 2, None]),
        (("a", MASKED, "b"), ["a", None, "b"]),
        (pd.Series(["a", MASKED, "b"], dtype=object), ["a", None, "b"]),
        (pd.Series([1, None, 2], dtype="Int64"), [1, None, 2]),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
    ],
)
def test_a_masked_label_is_as_none(y, expected):
    """A masked label of any type is unlabeled, for the constructors of labels and sets and for an estimator."""
    reference = CandidateSets.from_labels(expected)
    assert CandidateSets.from_labels(y) == reference
    assert CandidateSets.from_sets(y) == reference
    X = np.arange(2.0 * len(expected)).reshape(-1, 2)
    model = LOORidge().fit(X, y)
    assert model.classes_.tolist() == reference.classes.tolist()
    np.testing.assert_array_equal(model.predict(X), LOORidge().fit(X, reference).predict(X))
    assert model.score(X, y) == model.score(X, reference)


WEIGHTED, TREE = {"weighted": True}, {"hierarchy": {"p": ["a", "b"]}}
TABLE = [["a", "c"], ["a", "b"], ["c", "b"]]


@pytest.mark.parametrize(
    ("name", "options", "y", "expected"),
    [
        ("sets", {}, [["a"], MASKED, ["a", "b"]], [["a"], None, ["a", "b"]]),
        ("strings", {}, vector_of(["c", "a|b", "b", "c"]), [None, "a|b", "b", None]),
        ("strings", WEIGHTED, vector_of(["c", "a:0.2|b:0.8", "b", "c"]), [None, "a:0.2|b:0.8", "b", None]),
        ("complementary", {}, vector_of(["c", "a", "b", "c"]), [None, "a", "b", None]),
        ("hierarchy", TREE, vector_of(["c", "p", "b", 3]), [None, "p", "b", None]),
        ("indicator", {}, np.ma.array([[1, 0], [7, 7]], mask=[[0, 0], [1, 1]]), [[1, 0], [1, 1]]),
        ("indicator", {}, [np.ma.array([1, 0]), np.ma.array([1, 0], mask=True)], [[1, 0], [1, 1]]),
        ("weights", {}, np.ma.array([[1, 0.5], [-7, 7]], mask=[[0, 0], [1, 1]]), [[1, 0.5], [1, 1]]),
        ("weights", {}, [np.ma.array([1, 0.5]), np.ma.array([1, 0], mask=True)], [[1, 0.5], [1, 1]]),
        ("weights", {}, [{"a": 0.7, "b": 0.3}, MASKED], [{"a": 0.7, "b": 0.3}, None]),
        ("annotations", {}, np.ma.array(TABLE, mask=CELLS), [["a", None], ["a", "b"], [None, "b"]]),
        ("annotations", {}, [["a", MASKED], [MASKED, ["a", "b"]]], [["a", None], [None, ["a", "b"]]]),
    ],
)
def test_a_masked_row_is_unlabeled(name, options, y, expected):
    """A masked text, set, row of an indicator or of weights, or answer is a missing one."""
    read = getattr(CandidateSets, f"from_{name}")
    assert read(y, **options) == read(expected, **options)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.ma.array([[1, 9], [2, 2], [9, 1]], mask=CELLS), [[1, None], [2, 2], [None, 1]]),
        (np.ma.array([["a", "c"], ["b", "b"], ["c", "a"]], mask=CELLS), [["a", None], ["b", "b"], [None, "a"]]),
        ([["a", MASKED], ["b", "b"], [MASKED, ["a", "b"]]], [["a", None], ["b", "b"], [None, ["a", "b"]]]),
        ([np.ma.array(["a", "c"], mask=[0, 1]), ["b", "a"]], [["a", None], ["b", "a"]]),
        (pd.DataFrame({0: pd.array([1, None], "Int64"), 1: pd.array([2, 1], "Int64")}), [[1, 2], [None, 1]]),
    ],
)
def test_a_masked_answer_is_no_answer(table, expected):
    """A masked cell of a table of answers, or a masked answer of a record, is a missing answer."""
    answers, reference = Answers.from_table(table), Answers.from_table(expected)
    assert answers.classes.tolist() == reference.classes.tolist()
    assert list(map(answers.of_row, range(len(answers)))) == list(map(reference.of_row, range(len(reference))))
    records = Answers.from_records([0, 0, 1], ["u", "v", "u"], np.ma.array(["a", "b", "c"], mask=[0, 0, 1]))
    assert records.n_answers == 2


HALF = np.ma.array([[1, 0], [0, 1]], mask=[[0, 0], [0, 1]])
"""A matrix of which one entry is masked."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CandidateSets.from_indicator(HALF), "row 1, column 1"),
        (lambda: CandidateSets.from_weights(HALF), "row 1, column 1"),
        (lambda: CandidateSets.from_sets([["a"], ["b", MASKED]]), "row 1: the set contains a missing value"),
        (lambda: CandidateSets.from_labels(np.ma.array([1, 2], mask=True)), "every row is unlabeled"),
        (lambda: PLKNN().fit(HALF, ["a", "b"]), "row 1, column 1: X c"),
        (lambda: PLKNN().fit(list(HALF), ["a", "b"]), "row 1, column 1: X"),
        (lambda: covering_rate(["a", "b"], ["a", "b"], sample_weight=HALF[1]), "row 1: `sample_weight` must be finite"),
        (lambda: Answers.from_records(HALF[1], ["u", "u"], ["a", "b"]), "row 1: the name"),
    ],
)
def test_a_masked_entry_that_cannot_be_unlabeled_is_an_error(call, message):
    """A masked feature or sample weight, or one masked entry of a row, is never read as the number below the mask."""
    with pytest.raises(InputError, match=message):
        call()


MAPPING = {"r1": "a", "r2": "b"}
ROWS_OF_X = [[0.0], [1.0]]


@pytest.mark.parametrize(
    "call",
    [
        *(getattr(CandidateSets, f"from_{name}") for name in ("labels", "sets", "indicator", "weights")),
        *(getattr(CandidateSets, f"from_{name}") for name in ("strings", "annotations", "complementary")),
        lambda y: CandidateSets.from_strings(y, separator="auto", weighted=True),
        lambda y: CandidateSets.from_hierarchy(y, {"p": ["a", "b"]}),
        Answers.from_table,
        lambda y: Answers.from_records([0, 1], ["u", "u"], y),
        lambda y: LOORidge().fit(ROWS_OF_X, y),
        lambda y: LOORidge().fit(ROWS_OF_X, ["a", "b"]).score(ROWS_OF_X, y),
        lambda y: compare(ROWS_OF_X, y, {"ridge": LOORidge()}),
        lambda y: covering_rate(y, ["a", "b"]),
    ],
)
def test_a_mapping_is_an_error_with_a_remedy(call):
    """Labels, sets, weights or answers in a mapping have no order of rows, whatever its type is."""
    columns = {"a": [1, 0], "b": [0, 1]}
    forms = (MAPPING, Counter(MAPPING.values()), UserDict(MAPPING), types.MappingProxyType(MAPPING), columns)
    for y in (*forms, {("a", "b"): 1, ("b", "a"): 2}):
        with pytest.raises(InputError, match=r"got a mapping.*list\(y.values\(\)\).*pandas.DataFrame\(y\)"):
            call(y)


def test_a_series_and_views_of_a_mapping_are_labels():
    """A Series, the values of a mapping and a generator have an order of rows."""
    expected = CandidateSets.from_labels(["a", "b"])
    for y in (pd.Series(MAPPING), pl.Series(["a", "b"]), MAPPING.values(), (label for label in "ab")):
        assert CandidateSets.from_labels(y) == expected


def counted(**counts):
    """Return labels with the given counts: m for -1, mm for -2, and n0, n1, n2 for 0, 1 and 2."""
    value = {"m": -1, "mm": -2, "n0": 0, "n1": 1, "n2": 2}
    return np.repeat([value[name] for name in counts], list(counts.values()))


@pytest.mark.parametrize(
    ("y", "warns"),
    [
        (counted(m=30, n0=30, n1=30), True),
        (counted(m=30, n0=30, n1=30).astype(float), True),
        (objects(counted(m=3, n0=3, n1=3).tolist()), True),
        (pd.Series([*counted(m=3, n0=3, n1=3).tolist(), None], dtype="Int64"), True),
        (counted(m=5, n0=20, n1=60), True),
        (counted(m=30, n0=30), True),
        (counted(m=80, mm=5, n0=9, n1=9, n2=5), True),
        (counted(m=31, n0=30, n1=30), False),
        (counted(m=90, n0=5, n1=5), False),
        (counted(m=30, n0=30, n1=30, n2=30), False),
        (counted(n0=30, n1=30), False),
        ([-1.0, 0.0, 1e300], False),
        (np.ma.array([-1, 0, 1], mask=[1, 0, 0]), False),
    ],
)
def test_minus_one_that_looks_like_a_class_has_a_warning(y, warns):
    """-1 is on a scale with -2, and with 0 and 1 if it is not more frequent than both; else it is a usual mark."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        candidates = CandidateSets.from_labels(y)
    assert -1 not in candidates.classes
    assert [str(one.message)[:21] for one in caught] == ["-1 is read as unlabel"] * warns
    if warns:
        names = str(caught[0].message).partition("classes=[")[2].partition("]")[0]
        known = list(map(int, names.split(", ")))
        assert known == sorted([-1, *candidates.classes.tolist()])
        marked = pd.Series(y).to_numpy(float, na_value=np.nan) == -1
        assert CandidateSets.from_labels(y, classes=known).is_exact[marked].all()  # the remedy has no warning


def test_the_warning_of_minus_one_in_other_forms():
    """Annotators' answers and estimators have the same warning; a metric of predictions of -1 has none."""
    table = [[-1, 0], [0, 1], [1, -1]]
    X = np.arange(9.0).reshape(-1, 1)
    for call in (
        lambda: Answers.from_table(table),
        lambda: CandidateSets.from_annotations(table),
        lambda: LOORidge().fit(X, [-1, 0, 1] * 3),
    ):
        with pytest.warns(UserWarning, match=r"-1 is read as unlabeled.*--classes=-1,0,1 .*classes=\[-1, 0, 1\]"):
            call()
    assert Answers.from_table(table, classes=[-1, 0, 1]).n_answers == 6
    assert covering_rate([-1, 0, 1], [-1, 0, 0]) == pytest.approx(2 / 3)
    named = CandidateSets.from_labels([-1, 0, 1] * 3, classes=[-1, 0, 1])
    assert LOORidge().fit(X, named).score(X, [-1, 0, 1] * 3) <= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: CandidateSets.from_labels(["a", -1, "b"]),
        lambda: CandidateSets.from_annotations([["a", -1], ["b", "a"]]),
        lambda: Answers.from_table([["a", -1, "a"], ["b", "a", "b"]]),
        lambda: Answers.from_records([0, 1, 2], ["u", "u", "u"], ["a", -1, "b"]),
    ],
)
def test_minus_one_beside_text_is_an_error_that_names_none(call):
    """Labels of text and the number -1 are an error with one remedy."""
    with pytest.raises(InputError, match=r"one type.*Write None in its place if the row has no label\.(?! If each)"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: CandidateSets.from_labels(np.array(["a", -1, "b"])),
        lambda: CandidateSets.from_labels(["a", "-1.0", "b"]),
        lambda: CandidateSets.from_sets([["a", "b"], "-1"]),
        lambda: CandidateSets.from_annotations(np.array([["a", -1], ["b", "a"]])),
        lambda: Answers.from_table(np.array([["a", np.nan], ["b", "a"]])),
        lambda: LOORidge().fit([[0.0], [1.0], [2.0]], np.array(["a", -1, "b"])),
    ],
)
def test_the_text_of_a_missing_label_has_a_warning(call):
    """The text '-1' or 'nan', which NumPy makes of a mark of a missing label, is a class with a warning."""
    with pytest.warns(UserWarning, match=r"'(-1|-1\.0|nan)' is read as a class.*None"):
        call()
    assert CandidateSets.from_labels(["a", "-1"], classes=["-1", "a"]).is_exact.all()  # the remedy has none
