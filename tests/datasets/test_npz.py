import numpy as np
import pytest
import scipy.sparse as sp

from oneof import CandidateSets
from oneof.datasets import load
from oneof.errors import DataError

MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)


def components(**changes):
    """Return the arrays of four rows and three classes with every component; None removes a component."""
    text = [b"one", "zw\u00f6lf".encode(), b"", b"four"]
    arrays = {
        "X": np.arange(8, dtype=np.float32).reshape(4, 2),
        "y": np.array([0, 1, -1, 2]),
        "classes": np.array(["a", "b", "c"]),
        "candidates": np.packbits(MASK, axis=1),
        "n_train": np.asarray(3),
        "splits_labeled2": np.array([[0, 1], [1, 3]], dtype=np.int32),
        "splits_labeled1": np.array([[0], [1], [3]]),
        "answers": np.array([[0, -1], [1, 1]], dtype=np.int8),
        "Y_top3": MASK.astype(np.uint8),
        "text": np.frombuffer(b"".join(text), dtype=np.uint8),
        "text_offsets": np.cumsum([0, *map(len, text)]),
        "features": np.array(["not", "ours"]),
    }
    return {key: array for key, array in (arrays | changes).items() if array is not None}


def csr_components(**changes):
    X = sp.csr_array(components()["X"])
    shape = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": np.array(X.shape)}
    return components(X=None, **(shape | changes))


@pytest.fixture
def save(tmp_path):
    def write(arrays, name="small"):
        np.savez_compressed(tmp_path / f"{name}.npz", **arrays)
        return tmp_path / f"{name}.npz"

    return write


def test_every_component_is_read_back(save, tmp_path):
    save(components())
    data = load("small", tmp_path)
    assert data.name == "small"
    np.testing.assert_array_equal(data.X, components()["X"])
    assert data.y.tolist() == ["a", "b", None, "c"]
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.candidates == CandidateSets(MASK, ["a", "b", "c"])
    assert data.n_train == 3
    assert list(data.splits) == [1, 2]
    assert data.splits[2].tolist() == [[0, 1], [1, 3]]
    assert data.annotations.tolist() == [[0, -1], [1, 1]]
    np.testing.assert_array_equal(data.Y, MASK)
    assert data.text.tolist() == ["one", "zw\u00f6lf", "", "four"]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["9", "10", "-2"], [9, 10, -2]),
        (["9", "10", "b"], ["9", "10", "b"]),
        (["1", "01", "2"], ["1", "01", "2"]),
        (["0", "-0", "1"], ["0", "-0", "1"]),
        (["-1", "0", "1"], ["-1", "0", "1"]),
        (["1", "2", "9" * 19], ["1", "2", "9" * 19]),
        (["1", "2", "\u0663"], ["1", "2", "\u0663"]),
    ],
)
def test_class_names_that_are_all_written_integers_are_integers(save, tmp_path, names, classes):
    """As text, 10 is sorted before 9; names of which one would change its spelling remain."""
    save(components(classes=np.array(names)))
    data = load("small", tmp_path)
    assert data.classes.tolist() == data.candidates.classes.tolist() == classes
    assert data.y.tolist() == [classes[0], classes[1], None, classes[2]]


@pytest.mark.parametrize("classes", [np.array(["x", "y", "z"]), np.array([5, 7, 9])])
def test_known_labels_have_the_type_of_the_classes(save, tmp_path, classes):
    save(components(y=np.array([2, 0, 1, 1]), classes=classes))
    data = load("small", tmp_path)
    assert data.y.dtype == classes.dtype
    np.testing.assert_array_equal(data.y, classes[[2, 0, 1, 1]])


def test_sparse_rows_equal_dense_rows(save, tmp_path):
    save(csr_components())
    X = load("small", tmp_path).X
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), components()["X"])


def test_raw_text_has_no_features(save, tmp_path):
    save(components(X=None))
    data = load("small", tmp_path)
    assert data.X is None
    assert "raw text" in repr(data)


WRONG = {
    "no y": (components(y=None), "'y' is missing"),
    "no classes": (components(classes=None), "'classes' is missing"),
    "neither rows nor text": (components(X=None, text=None), "neither X"),
    "labels as floats": (components(y=np.zeros(4)), "y has shape"),
    "a matrix of labels": (components(y=np.zeros((4, 1), int)), "y has shape"),
    "a number for labels": (components(y=np.asarray(3)), "y has shape"),
    "labels of more rows": (components(y=np.zeros(5, int), candidates=None, text=None, Y_top3=None), "X has 4 rows"),
    "a code beyond the classes": (components(y=np.array([0, 1, 3, 0])), "row 2: y has the value 3, expected -1 to 2"),
    "a code below unknown": (components(y=np.array([0, -2, 1, 0])), "row 1: y has the value -2, expected -1 to 2"),
    "classes twice": (components(classes=np.array(["a", "b", "a"])), "'a' twice"),
    "no class": (components(classes=np.array([], dtype=str)), "`classes` must be"),
    "a vector for rows": (components(X=np.arange(4.0)), "X has shape"),
    "rows of text": (components(X=np.full((4, 2), "a")), "X has shape .* expected numbers"),
    "sets of other width": (components(candidates=np.zeros((4, 2), np.uint8)), "`candidates` must contain"),
    "sets not packed": (components(candidates=MASK), "`candidates` must contain"),
    "an empty set": (
        components(candidates=np.packbits(MASK & [[1], [1], [0], [1]], axis=1)),
        "row 2: the candidate set is empty",
    ),
    "training beyond the rows": (components(n_train=np.asarray(5)), "n_train has the value 5, expected 0 to 4"),
    "two training parts": (components(n_train=np.array([1, 2])), "n_train has shape"),
    "a split of other width": (components(splits_labeled2=np.zeros((2, 3), int)), "splits_labeled2 has shape"),
    "a split beyond the rows": (components(splits_labeled2=np.array([[0, 4]])), "value 4, expected 0 to 3"),
    "answers of more items": (components(answers=np.zeros((5, 2), int)), "at most 4 items"),
    "an answer beyond the classes": (components(answers=np.full((2, 2), 3)), "value 3, expected -1 to 2"),
    "a label matrix of other shape": (components(Y_top3=np.zeros((4, 2), int)), "Y_top3 has shape"),
    "a label matrix of counts": (components(Y_top3=np.full((4, 3), 2)), "value 2, expected 0 to 1"),
    "text without cuts": (components(text_offsets=None), "'text_offsets' is missing"),
    "cuts beyond the text": (components(text_offsets=np.array([0, 1, 2, 3, 99])), "`text_offsets` must increase"),
    "cuts that go back": (components(text_offsets=np.array([0, 5, 2, 8, 12])), "`text_offsets` must increase"),
    "text of numbers": (components(text=np.zeros(12)), "`text` must be the bytes"),
    "half a letter": (components(text_offsets=np.array([0, 6, 9, 9, 13])), "row 0: the text is not UTF-8"),
    "half a matrix": (csr_components(X_indptr=None), "only X_data, X_indices, X_shape"),
    "columns beyond the shape": (csr_components(X_shape=np.array([4, 1])), "do not fit together"),
    "fewer columns than values": (csr_components(X_indices=np.zeros(2, int)), "X_indices has shape"),
    "values of text": (csr_components(X_data=np.full(7, "a")), "X_data has shape"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mismatched_arrays_are_rejected_with_the_reason(save, tmp_path, case):
    arrays, reason = WRONG[case]
    save(arrays)
    with pytest.raises(DataError, match=reason) as caught:
        load("small", tmp_path)
    assert "small.npz" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3, 0.7, 0.95, 0.999])
def test_a_truncated_file_is_rejected(save, tmp_path, fraction):
    path = save(components())
    content = path.read_bytes()
    path.write_bytes(content[: int(fraction * len(content))])
    with pytest.raises(DataError, match="cannot be read as a data set"):
        load("small", tmp_path)


def test_a_changed_byte_is_detected(save, tmp_path):
    """A flipped byte in the compressed data of an array is always detected."""
    path = save({key: components()[key] for key in ("y", "X", "classes")})
    content = bytearray(path.read_bytes())
    start = content.index(b"y.npy") + 30
    content[start : start + 8] = bytes(255 - byte for byte in content[start : start + 8])
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a data set"):
        load("small", tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"not an archive", b"PK\x03\x04 nor this", b"\x93NUMPY\x01\x00", b"\x80\x04N."], ids=repr
)
def test_a_foreign_file_is_rejected(tmp_path, content):
    (tmp_path / "small.npz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a data set"):
        load("small", tmp_path)


def test_nothing_is_unpickled(save, tmp_path):
    """An archive with pickled labels is rejected, and the pickle is not executed."""
    trap = tmp_path / "sprung"

    class Trap:
        def __reduce__(self):
            return trap.touch, ()

    save(components(y=np.array([Trap()] * 4, dtype=object)))
    with pytest.raises(DataError, match="pickled objects, which are never loaded"):
        load("small", tmp_path)
    assert not trap.exists()


def test_weights_are_read_back(save, tmp_path):
    """The key `weights` replaces the sets; another shape or type, and an invalid weight, are errors."""
    weights = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.25, 1.0]])
    for dtype in (np.float64, np.float32):
        save(components(candidates=None, weights=weights.astype(dtype)))
        assert load("small", tmp_path).candidates == CandidateSets.from_weights(weights, ["a", "b", "c"])
    for invalid, message in (
        (weights[:3], r"expected floats of shape \(4, 3\)"),
        (weights.astype(int), "expected floats"),
        (-weights, "row 0, column 0: a weight must be"),
    ):
        save(components(weights=invalid))
        with pytest.raises(DataError, match=message):
            load("small", tmp_path)
