"""MATLAB files of partial-label data sets.

SciPy's compiled reader uses the type of an element as an index without a bounds check, so that one changed byte ends
the process; its reader of level 4 follows a negative size backwards, in an endless loop; and a few kilobytes can expand
to gigabytes. A file is therefore read by another process first.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof import archives
from oneof.candidates import CandidateSets
from oneof.datasets.dataset import Dataset, from_codes
from oneof.datasets.npz import check_array
from oneof.errors import DataError, InputError
from oneof.files import as_path
from oneof.messages import warn
from oneof.trial import run_trial
from oneof.typing import Ints

_KEYS = ("data", "partial_target", "target")
_REMEDY = (
    "`target` must have the 0/1 form and the shape of `partial_target`. Numbers of classes, such as 1 to K, are not "
    "read. For a file of another form, read its matrices with scipy.io.loadmat, and pass the candidates, one row for "
    "each row of data and one column for each class, as `y = CandidateSets.from_indicator(partial_target.T == 1)`. "
    "True labels are not needed to fit."
)
_TRIAL = """
import contextlib, math
from scipy.io import loadmat, whosmat
n_bytes = 0
with contextlib.suppress(NotImplementedError):
    for name, shape, kind in whosmat(request["path"]):
        if name in request["keys"]:
            cells = sum(shape) if (kind, name) == ("sparse", "data") else math.prod(shape)
            n_bytes += cells if kind == "sparse" else 8 * cells
    if n_bytes > request["max_bytes"]:
        sys.exit(1)
    loadmat(request["path"], variable_names=request["keys"])
"""
_MIN_SECONDS, _BYTES_PER_SECOND = 30, 2**20
"""Time for the trial: to start Python, and a second for each MB, 50 times as much as SciPy needs."""


def load_mat(path: str | os.PathLike[str]) -> Dataset:
    """Load a MATLAB file in the common form of partial-label data sets.

    Parameters
    ----------
    path : path-like
        A file (up to version 7.2) with the matrices `data` (n, d), `partial_target` and `target`, the last two 0/1,
        (K, n) or (n, K), dense or sparse. The orientation follows from the number of rows of `data`; if K = n they are
        read as (K, n), the usual form, with a UserWarning.

    Returns
    -------
    Dataset
        Named after the file, with classes 0 to K - 1; `candidates` from `partial_target` and `y` from `target`, None in
        rows whose column of `target` is empty.

    Raises
    ------
    DataError
        If the file is absent, damaged or of version 7.3, a matrix is missing or has a wrong shape, a candidate set is
        empty (the message names the row), or a row has several true labels.

    Notes
    -----
    Files of other forms need two lines: read the matrices with ``scipy.io.loadmat(path)``, and build the candidate sets
    by ``CandidateSets.from_indicator(matrix)`` from the matrix of the candidates, (n, K). It is the transpose of
    `partial_target` in the usual form; ``matrix == 1`` converts codes of -1 and +1. For exact labels in a vector, such
    as 1 to K, pass the vector to `fit`. A file of version 7.3 is read by h5py, whose arrays are transposed:
    ``CandidateSets.from_indicator(h5py.File(path)["partial_target"][()])`` and ``h5py.File(path)["data"][()].T``.

    References
    ----------
    The form of the PALM laboratory of Southeast University: palm.seu.edu.cn/zhangml/Resources.htm.

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
        raise DataError(f"{path} is not a partial-label data set: {error} {_REMEDY}") from error


def _read(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat, whosmat

    if not path.is_file():
        raise DataError(f"the file {path} does not exist.")
    try:
        path.open("rb").close()
        size = path.stat().st_size
        limit = max(archives.MAX_BYTES, archives.MAX_COMPRESSION_RATIO * size)
        request = {"path": os.fspath(path.absolute()), "keys": _KEYS, "max_bytes": limit}
        trial = run_trial(_TRIAL, request, timeout=_MIN_SECONDS + size / _BYTES_PER_SECOND)
        if trial is not None:
            trial.check_returncode()
        matrices: dict[str, Any] = loadmat(path, variable_names=_KEYS)
        for matrix in matrices.values():
            if sp.issparse(matrix) and matrix.format != "coo":  # COO: level 4, checked by SciPy
                matrix.check_format(full_check=True)
    except NotImplementedError as error:
        raise DataError(
            f"{path} is a MATLAB file of version 7.3 (HDF5), which cannot be read. "
            "Load it in MATLAB, and save it with the option '-v7'. Or read it with h5py, whose arrays are transposed: "
            f"pass `CandidateSets.from_indicator(h5py.File({path.name!r})['partial_target'][()])` as `y`, and the "
            "transpose of 'data' as `X`."
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # SciPy raises any error on damaged bytes
        raise DataError(
            f"{path} cannot be read as a MATLAB file: it is damaged, of another format, or would expand to more than "
            f"{limit / 1e9:,.1f} GB. Save it again in MATLAB with the option '-v7'."
        ) from error
    missing = [key for key in _KEYS if key not in matrices]
    if missing:
        present = [repr(name[:40]) for name, *_ in whosmat(path) if name][:10]
        raise DataError(
            f"{path} lacks the matrix {missing[0]!r}. It must have {', '.join(_KEYS)}; it has "
            f"{', '.join(present) or 'none'}. {_REMEDY}"
        )
    return matrices


def _from_matrices(name: str, data: Any, partial_target: Any, target: Any) -> Dataset:
    check_array("data", data, "fiub", (-1, -1))
    check_array("partial_target", partial_target, "fiub", (-1, -1))
    check_array("target", target, "fiub", partial_target.shape)
    n_samples = data.shape[0]
    if n_samples not in partial_target.shape:
        raise DataError(
            f"data has {n_samples} rows, but partial_target has shape {partial_target.shape}: it must have one row or "
            "column for each row of data."
        )
    if partial_target.shape == (n_samples, n_samples):
        warn(
            f"{name}: there are as many classes as rows ({n_samples}), so the orientation of partial_target is "
            "ambiguous; it is read as (classes, rows).",
        )
    if partial_target.shape[1] == n_samples:
        partial_target, target = partial_target.T, target.T
    try:
        candidates = CandidateSets.from_indicator(partial_target)
    except InputError as error:
        raise error.at("partial_target") from None
    rows = sp.csr_array(data) if sp.issparse(data) else np.ascontiguousarray(data)
    return from_codes(name, rows, _codes(target), candidates.classes, candidates.mask)


def _codes(target: Any) -> Ints:
    indicator = target.toarray() if sp.issparse(target) else np.asarray(target)
    for row, column in np.argwhere((indicator != 0) & (indicator != 1))[:1]:
        raise DataError(f"row {row}: target has the value {indicator[row, column].item()!r}, expected 0 or 1.")
    count = np.count_nonzero(indicator, axis=1)
    for row in np.flatnonzero(count > 1)[:1]:
        raise DataError(f"row {row} has {count[row]} true labels in target, expected one.")
    return np.where(count == 1, np.argmax(indicator, axis=1), -1)
