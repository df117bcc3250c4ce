"""The field's MATLAB files."""

import io
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates import CandidateSets
from oneof.datasets.dataset import Dataset, from_codes
from oneof.datasets.mat_elements import check_elements
from oneof.errors import DataError, InputError
from oneof.files import as_path, check_size
from oneof.typing import Ints

_KEYS = ("data", "partial_target", "target")


def load_mat(path: str | os.PathLike[str]) -> Dataset:
    """Load a MATLAB file in the form in which partial-label data sets are handed round.

    Parameters
    ----------
    path : path-like
        A file (up to version 7.2) with the matrices `data` (n, d), `partial_target` and `target`, the last two 0/1,
        (K, n) or (n, K), dense or sparse. Which way they lie is told by the number of rows of `data`; where K = n
        they are read as (K, n), the usual form, with a UserWarning.

    Returns
    -------
    Dataset
        Named after the file, with classes 0 to K - 1; `candidates` from `partial_target` and `y` from `target`, None
        in rows whose column of `target` is empty.

    Raises
    ------
    DataError
        If the file is absent, damaged or of version 7.3, a matrix is missing or does not fit, a candidate set is empty
        (the message names the row), or a row has several true labels.

    References
    ----------
    The form is that of the PALM laboratory of Southeast University: palm.seu.edu.cn/zhangml/Resources.htm.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from scipy.io import savemat
    >>> from oneof.datasets import load_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "birds.mat")
    ...     partial, true = np.array([[1, 1], [1, 0], [0, 1]]), np.array([[1, 0], [1, 0], [0, 1]])
    ...     savemat(path, {"data": np.eye(3, 4), "partial_target": partial, "target": true})
    ...     birds = load_mat(path)
    >>> birds
    <Dataset 'birds': 3 rows, 4 features, 2 classes>
    >>> birds.candidates.sizes.tolist()
    [2, 1, 1]
    """
    path = as_path(path)
    matrices = _read(path)
    try:
        return _from_matrices(path.stem, *(matrices[key] for key in _KEYS))
    except InputError as error:
        raise DataError(f"{path} is not a partial-label data set: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    if not path.is_file():
        raise DataError(f"there is no file {path}.")
    try:
        content = path.read_bytes()
        check_elements(content, _KEYS)
        matrices: dict[str, Any] = loadmat(io.BytesIO(content), variable_names=_KEYS)
    except DataError as error:
        raise DataError(
            f"{path} cannot be read as a MATLAB file: it is damaged, or something else ({error})."
        ) from None
    except NotImplementedError as error:
        raise DataError(
            f"{path} is a MATLAB file of version 7.3 (HDF5), which cannot be read: "
            "in MATLAB load it and save it with the option '-v7'."
        ) from error
    except Exception as error:  # scipy raises whatever the damaged bytes lead it to
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{path} cannot be read: {error.strerror}.") from error
        raise DataError(f"{path} cannot be read as a MATLAB file: it is damaged, or something else.") from error
    missing = [key for key in _KEYS if key not in matrices]
    if missing:
        raise DataError(f"{path} lacks the matrix {missing[0]!r}: it should hold {', '.join(_KEYS)}.")
    for key in _KEYS:
        _check_sparse(path, key, matrices[key])
    return matrices


def _check_sparse(path: Path, key: str, matrix: Any) -> None:
    """Raise if a sparse matrix has indices outside its shape, which compiled code follows, or is but a huge shape."""
    if not sp.issparse(matrix):
        return
    try:
        if matrix.format != "coo":  # as of level 4, which SciPy checks as it makes them
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{path} is damaged: the indices of {key} do not fit its shape ({error}).") from error
    held = path.stat().st_size
    try:
        check_size(8 * sum(matrix.shape) if key == "data" else math.prod(matrix.shape), held, "what it holds")
    except DataError as error:
        raise DataError(f"{path}: {key} has shape {matrix.shape}: {error}") from None


def _from_matrices(name: str, data: Any, partial_target: Any, target: Any) -> Dataset:
    for key, matrix in zip(_KEYS, (data, partial_target, target), strict=True):
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise DataError(f"{key} has shape {matrix.shape} and type {matrix.dtype}, expected a numeric matrix.")
    if target.shape != partial_target.shape:
        raise DataError(f"target has shape {target.shape}, but partial_target has {partial_target.shape}.")
    n_samples = data.shape[0]
    if n_samples not in partial_target.shape:
        raise DataError(f"data has {n_samples} rows, but partial_target has shape {partial_target.shape}.")
    if partial_target.shape == (n_samples, n_samples):
        warnings.warn(
            f"{name}: there are as many classes as rows ({n_samples}), so partial_target may lie either way: "
            "it is read as (classes, rows).",
            UserWarning,
            stacklevel=3,
        )
    if partial_target.shape[1] == n_samples:
        partial_target, target = partial_target.T, target.T
    candidates = CandidateSets.from_indicator(partial_target)
    rows = sp.csr_array(data) if sp.issparse(data) else np.ascontiguousarray(data)
    return from_codes(name, rows, _codes(target), candidates.classes, candidates.mask)


def _codes(target: Any) -> Ints:
    marks = target.toarray() if sp.issparse(target) else np.asarray(target)
    rows, columns = np.nonzero((marks != 0) & (marks != 1))
    if len(rows):
        raise DataError(f"target holds {marks[rows[0], columns[0]].item()!r} for row {rows[0]}: expected 0 or 1.")
    count = np.count_nonzero(marks, axis=1)
    several = np.flatnonzero(count > 1)
    if len(several):
        raise DataError(f"row {several[0]} has {count[several[0]]} true labels in target, expected one.")
    return np.where(count == 1, np.argmax(marks, axis=1), -1)
