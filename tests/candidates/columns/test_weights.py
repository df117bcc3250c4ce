"""Columns of weights: every form, in tables and in batches, gives the same candidate sets."""

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.errors import DataError, InputError, LabelError
from tests.candidates.columns import label_reader, read_label_columns, stream_classes

LABELS = ["a", "b", "c"]
WEIGHTS = CandidateSets.from_weights([[0.5, 0.25, 0], [0, 0, 1], [1, 1, 1], [0, 0.5, 1], [1, 1, 0]], LABELS)
ROWS = [[("a", 0.5), ("b", 0.25)], [("c", 1.0)], [], [("c", 1.0), ("b", 0.5)], [("a", 1.0), ("b", 1.0)]]
RECORDS = [[{"label": k, "prob": w} for k, w in row] for row in ROWS]
SETS = [["a", "b"], ["c"], [], ["c", "b"], ["a", "b"]]
WEIGHTED, SECOND = {"weighted": True}, {"weights": "w"}
FORMS = [
    ({"y": ["a:0.5|b:0.25", "c", None, "c:1e0|b:.5", "a|b"]}, WEIGHTED),
    ({"y": ['{"a": 0.5, "b": 0.25}', '{"c": 1}', None, '{"c": 1e0, "b": 0.5, "a": null}', "a|b"]}, WEIGHTED),
    ({"y": ['[["a", 2], ["b", 1]]', '[{"label": "c", "score": 1}]', "[]", '{"c": "100%", "b": 0.5}', "a|b"]}, WEIGHTED),
    ({"y": [{"a": 0.5, "b": 0.25, "c": None}, {"c": 1.0}, None, {"b": 0.5, "c": 1.0}, {"a": 2.0, "b": 2.0}]}, WEIGHTED),
    ({"y": [[[k, str(w)] for k, w in row] for row in ROWS]}, WEIGHTED),
    ({"y": RECORDS}, WEIGHTED),
    ({"a": [2, 0, None, 0, 1], "b": [1, 0, None, 1, 1], "c": [0, 1, None, 2, 0]}, WEIGHTED),
    ({"a": ["2", "0", "1", "0", "1"], "b": ["1", "0", "1", "1", "1"], "c": list("01120")}, WEIGHTED),
    ({"y": ["a|b", "c", "", "c|b", "a|b"], "w": ["0.5|0.25", "1", None, "1|0.5", ""]}, SECOND),
    ({"y": SETS, "w": [[0.5, 0.25], [2.0], None, [1.0, 0.5], None]}, SECOND),
    ({"y": SETS, "w": [[2, 1], [1], [], [2, 1], None]}, SECOND),
    ({"y": ["a|b", "c", "[]", "c|b", "a|b"], "w": ["50%|25 %", "1", "[]", "1|0.5", ""]}, SECOND),
    ({"y": ["a|b", "c", "", "c|b", "a|b"], "w": ["c(0.5, 0.25)", "[np.float64(1)]", "", "{1,0.5}", ""]}, SECOND),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "options"), FORMS)
def test_forms_of_weights(columns, options):
    """Text, lists, structs and columns of numbers give the same weights in tables and in batches."""
    frame = pl.DataFrame(columns)
    names = [name for name in frame.columns if name != "w"]
    y = read_label_columns(frame, names, **options)
    np.testing.assert_array_equal(y.weights, WEIGHTS.weights)
    assert y.classes.tolist() == LABELS
    separator = options.pop("separator", "|")
    reader = label_reader(names, separator, LABELS, **options)
    np.testing.assert_array_equal(reader.evidence(frame), WEIGHTS.weights)
    if len(names) == 1:
        assert stream_classes([frame], separator=separator, **options) == LABELS
        np.testing.assert_array_equal(reader.evidence(frame[1:3]), WEIGHTS.mask[1:3])
        assert reader.evidence(frame[1:3]).dtype == bool


def test_numbers_are_labels():
    """One whole number and one weight in each row are read as numbers; -1 marks an unlabeled row."""
    for labels in ([3, 4, -1, None], ["3", "4", "-1", ""]):
        frame = pl.DataFrame({"y": labels, "w": [0.75, 0.5, 1.0, None]})
        y = read_label_columns(frame, ["y"], weights="w", rest=True)
        assert y.classes.tolist() == [3, 4]
        np.testing.assert_array_equal(y.weights, [[1, 1 / 3], [1, 1], [1, 1], [1, 1]])
        reader = label_reader(["y"], "|", ["3", "4"], weights="w", rest=True)
        np.testing.assert_array_equal(reader.evidence(frame), y.weights)
    lists = pl.DataFrame({"y": [[3, 4], [4]], "w": [[0.5, 1.0], [1.0]]})
    assert read_label_columns(lists, ["y"], weights="w", classes=["4", "3"]).classes.tolist() == [4, 3]


def test_numbers_in_pairs_are_labels():
    """Pairs of numbers in a column of lists have whole numbers as labels; an empty list has no rest and no prior."""
    frame = pl.DataFrame({"y": [[[3.0, 0.75], [4.0, 0.25]], [[4.0, 1.0]], [], [[3.0, 0.5]]]})
    options = {"weighted": True, "kind": "posterior", "prior": [0.5, 0.5], "rest": True}
    y = read_label_columns(frame, ["y"], **options)
    assert y.classes.tolist() == [3, 4]
    np.testing.assert_allclose(y.weights, [[1, 1 / 3], [0, 1], [1, 1], [1, 1]])
    reader = label_reader(["y"], "|", ["3", "4"], **options)
    np.testing.assert_array_equal(reader.evidence(frame), y.weights)
    assert reader.posterior_sum(frame)[1] == 3


def test_columns_without_weights_are_sets():
    """With `weighted`, columns without any weight give the same candidate sets as without it."""
    for cells in (["a|b", "c", None], [["a", "b"], ["c"], None], ["3", "4", ""], [3, 4, None], [True, False, None]):
        frame = pl.DataFrame({"y": cells})
        assert read_label_columns(frame, ["y"], weighted=True) == read_label_columns(frame, ["y"])


def test_options_apply_to_columns():
    """The kind, the prior and the rest have the meaning of `from_weights`."""
    frame = pl.DataFrame({"y": ["a:0.5|other:0.5", "b:1", ""]})
    options = {"kind": "posterior", "prior": [0.5, 0.25, 0.25], "rest": "other"}
    y = read_label_columns(frame, ["y"], classes=LABELS, weighted=True, **options)
    np.testing.assert_array_equal(y.weights, [[1, 1, 1], [0, 1, 0], [1, 1, 1]])
    reader = label_reader(["y"], "|", LABELS, weighted=True, **options)
    np.testing.assert_array_equal(reader.evidence(frame), y.weights)
    assert stream_classes([frame], weighted=True, **options) == ["a", "b"]
    wide = pl.DataFrame({"a": [0.5, 1.0], "b": [0.0, 0.0], "other": [0.25, 0.0]})
    expected = [[1, 0.5], [1, 0]]
    y = read_label_columns(wide, wide.columns, weighted=True, rest="other")
    np.testing.assert_array_equal(y.weights, expected)
    reader = label_reader(wide.columns, "|", ["a", "b"], weighted=True, rest="other")
    np.testing.assert_array_equal(reader.evidence(wide), expected)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"y": [[["a", "0.5"]], [["b", "x"]]]}, WEIGHTED, "row 1: the weight of 'b' must be a number"),
        ({"y": [None, None]}, WEIGHTED, "every row is unlabeled"),
        ({"y": ["a:0.5", "a:0.7"]}, WEIGHTED, "only one class occurs"),
        ({"y": ["a:0.5|b:0.5", ""]}, WEIGHTED, "every row is unlabeled"),
        ({"y": ["a", "b|c"], "w": ["1", "0.5"]}, SECOND, "row 1: the row has 2 labels and 1 weights"),
        ({"y": ["a", None], "w": ["1", "0.5"]}, SECOND, "row 1: the row has weights, but no labels"),
        ({"y": ["a", "b|c"], "w": ["1", "0.5|y"]}, SECOND, "row 1: '0.5|y' must contain numbers"),
        ({"y": ["a", "b"], "w": [True, False]}, SECOND, "column 'w' has type Boolean"),
        ({"y": ["a", "b"], "w": [0.5, -1.0]}, SECOND, "row 1: the weight of 'b' .* -1.0"),
        ({"y": ["a", "b"], "w": ["1", "{'b': 0.5}"]}, SECOND, "row 1: .* must contain numbers"),
        ({"y": ["a", '{"b": 0.7}'], "w": ["1", "0.5"]}, SECOND, "row 1: the labels have weights"),
        ({"y": [[{"label": "a", "score": 0.7}], []], "w": ["1", ""]}, SECOND, "row 0: the labels have weights"),
        ({"a": [1.0, 0.5], "b": ["x", "y"]}, WEIGHTED, "column 'b' must contain numbers"),
        ({"a": [1.0, 0.5], "b": [0.5, None]}, WEIGHTED, "row 1: column 'b' must contain numbers .* got an empty cell"),
        # the labels and the weights have one order, which removing a blank from one of them would shift
        ({"y": ["a|c", "|a|b"], "w": ["1|0.5", "0.1|0.5|"]}, SECOND, "row 1: .* contains an empty label"),
        ({"y": ["a|c", "a|b|"], "w": ["1|0.5", "0.1|0.5|"]}, SECOND, "row 1: .* contains an empty label"),
        ({"y": ["a|c", "a|b"], "w": ["1|0.5", "0.1|0.5|"]}, SECOND, "row 1: .* must contain numbers"),
        ({"y": ["a|c", "a|b"], "w": ["1|0.5", '[0.5, 1, ""]']}, SECOND, "row 1: .* must contain numbers"),
    ],
)
def test_bad_columns_of_weights(columns, options, message):
    """Errors of tables and batches name the row and the cell or the column."""
    frame = pl.DataFrame(columns)
    names = [name for name in frame.columns if name != "w"]
    with pytest.raises(LabelError, match=message):
        read_label_columns(frame, names, **options)
    if "row 1" in message:
        known = names if len(names) > 1 else LABELS
        with pytest.raises(LabelError, match=message):
            label_reader(names, "|", known, **options).evidence(frame)


def test_unknown_labels_and_bad_options_are_errors():
    """A label of a batch that is not a class is an error; posteriors in a stream require a prior."""
    reader = label_reader(["y"], "|", LABELS, weighted=True)
    with pytest.raises(LabelError, match=r"row 1: label 'z' is not one of the classes 'a', 'b', 'c'.*--classes"):
        reader.evidence(pl.DataFrame({"y": ["a:0.5", "z:0.5"]}))
    with pytest.raises(InputError, match='`prior` must be given for kind="posterior"'):
        label_reader(["y"], "|", weighted=True, kind="posterior")
    frame = pl.DataFrame({"a": [1, 0], "b": [0, 1], "w": [1, 1]})
    with pytest.raises(DataError, match="requires one label column"):
        read_label_columns(frame, ["a", "b"], weights="w")
    with pytest.raises(DataError, match="classes cannot be given"):
        read_label_columns(frame, ["a", "b"], weighted=True, classes=["b", "a"])
