import struct

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from oneof.datasets import load, load_mat
from oneof.errors import DataError

X = np.arange(12.0).reshape(4, 3)
SETS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]][:4])
TRUTH = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])


def write(path, level="5", **changes):
    matrices = {"data": X, "partial_target": SETS.T, "target": TRUTH.T} | changes
    savemat(path, {key: matrix for key, matrix in matrices.items() if matrix is not None}, format=level)
    return path


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix, lambda a: sp.csc_matrix(a.astype(bool)), np.float64])
@pytest.mark.parametrize("turn", [np.transpose, np.asarray])
@pytest.mark.parametrize("level", "45")
def test_either_orientation_and_storage_gives_the_same_sets(tmp_path, form, turn, level):
    path = write(tmp_path / "four.mat", level, partial_target=form(turn(SETS)), target=form(turn(TRUTH)))
    data = load_mat(path)
    assert data.name == "four"
    assert data.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.candidates.mask, SETS.astype(bool))
    assert data.y.tolist() == [0, 1, None, 2]


@pytest.mark.parametrize("name", ["four", "four.mat"])
def test_load_names_the_function_for_matlab_files(tmp_path, name):
    """A MATLAB file in a data folder, or a name that ends as one, is read by load_mat."""
    write(tmp_path / "four.mat")
    with pytest.raises(DataError, match=rf"'{name}' is a MATLAB file. Read it by `oneof.datasets.load_mat"):
        load(name, data_home=tmp_path)


def test_sparse_features_remain_sparse(tmp_path):
    data = load_mat(write(tmp_path / "four.mat", data=sp.csc_matrix(X)))
    assert data.X.format == "csr"
    np.testing.assert_array_equal(data.X.toarray(), X)


def test_a_square_matrix_is_read_as_classes_by_rows_with_a_warning(tmp_path):
    square = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
    path = write(tmp_path / "square.mat", data=X[:3], partial_target=square, target=np.eye(3))
    with pytest.warns(UserWarning, match=r"read as \(classes, rows\)"):
        data = load_mat(path)
    np.testing.assert_array_equal(data.candidates.mask, square.T.astype(bool))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target": None}, r"lacks the matrix 'target'.* it has 'data', 'partial_target'\."),
        ({"partial_target": None, "Y": SETS}, r"lacks the matrix 'partial_target'.* it has .*'Y'"),
        ({"target": np.array([[1, 2, 3, 3]])}, r"target has shape \(1, 4\).*Numbers of classes, such as 1 to K"),
        ({"partial_target": 2.0 * SETS.T - 1}, r"partial_target.*row 0.*0 and 1 only"),
        ({"target": 2 * TRUTH.T - 1}, r"row 0: target has the value -1"),
    ],
)
@pytest.mark.parametrize("level", "45")
def test_errors_of_other_forms_name_the_matrix_and_the_constructor(tmp_path, level, changes, reason):
    """A file of another form is an error that names the matrix at fault, and the expression that builds the sets."""
    if level == "4":
        changes = {key: None if matrix is None else np.asarray(matrix, float) for key, matrix in changes.items()}
        reason = reason.replace("-1", r"-1(\.0)?")
    with pytest.raises(DataError, match=reason + r".*CandidateSets\.from_indicator\(partial_target\.T == 1\)"):
        load_mat(write(tmp_path / "four.mat", level, **changes))


@pytest.mark.parametrize("n_bytes", [0, 50, 140, 300])
def test_a_truncated_file_is_rejected(tmp_path, n_bytes):
    path = write(tmp_path / "four.mat")
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(DataError, match=r"cannot be read as a MATLAB file|lacks the matrix"):
        load_mat(path)


def test_other_files_are_rejected(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        load_mat(tmp_path / "absent.mat")
    (tmp_path / "text.mat").write_text("x, y\n1, 2\n" * 50)
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_mat(tmp_path / "text.mat")


def test_the_error_for_version_7_3_has_a_remedy(tmp_path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02" + b"IM"
    (tmp_path / "new.mat").write_bytes(header.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match=r"version 7\.3.*'-v7'.*h5py.*CandidateSets\.from_indicator"):
        load_mat(tmp_path / "new.mat")


def test_indices_outside_a_sparse_matrix_of_level_4_are_rejected(tmp_path):
    path = write(tmp_path / "four.mat", "4", data=sp.csc_array(7.0 * np.eye(4)))
    content = path.read_bytes()
    offset = content.index(struct.pack("<d", 7.0)) - 8 * 6  # after the row indices, before the column indices
    assert struct.unpack_from("<d", content, offset) == (4.0,)
    path.write_bytes(content[:offset] + struct.pack("<d", 3.0) + content[offset + 8 :])
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        load_mat(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data": None}, "lacks the matrix 'data'"),
        ({"partial_target": SETS.T[:, :3], "target": TRUTH.T[:, :3][:2].repeat(2, 0)[:3]}, "data has 4 rows"),
        ({"partial_target": (SETS * [[1], [0], [1], [1]]).T}, "row 1: the candidate set is empty"),
        ({"target": SETS.T}, "row 0 has 2 true labels"),
        ({"target": TRUTH.T * 0.5}, "row 0: target has the value 0.5"),
        ({"data": np.array([["a"], ["b"], ["c"], ["d"]], dtype=object)}, "expected numbers of shape"),
    ],
)
def test_mismatched_matrices_are_rejected_with_the_reason(tmp_path, changes, reason):
    path = write(tmp_path / "four.mat", **changes)
    with pytest.raises(DataError, match=reason) as caught:
        load_mat(path)
    assert "four.mat" in str(caught.value)
