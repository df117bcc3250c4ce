"""CandidateSets as a sequence, and the conversion of any form of supervision."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from oneof import CandidateSets
from oneof.candidates import as_candidates
from oneof.errors import InputError, InputTypeError, LabelError

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
