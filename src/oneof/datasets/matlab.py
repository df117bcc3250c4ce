"""MATLAB files of partial-label data sets.

Before SciPy reads a file, its elements are checked: the type, the length and the position of each. SciPy's compiled
reader uses the type of an element as an index without a bounds check, so that one changed byte ends the process. Its
reader of level 4 follows a negative size backwards, in an endless loop.

The layout is that of "MAT-File Format" (MathWorks), chapter 1.
"""

import io
import math
import os
import struct
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.archives import check_size
from oneof.candidates import CandidateSets
from oneof.datasets.dataset import Dataset, from_codes
from oneof.errors import DataError, InputError
from oneof.files import as_path
from oneof.messages import warn
from oneof.typing import Ints

_KEYS = ("data", "partial_target", "target")
_REMEDY = (
    "For a file of another form, read its matrices with scipy.io.loadmat, and pass the candidates, one row for each "
    "row of data and one column for each class, as `y = CandidateSets.from_indicator(partial_target.T == 1)`. True "
    "labels are not needed to fit."
)

_HEADER = 128
_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
"""Bytes per number for each element type."""
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_LEVEL_4_SIZES = {0: 8, 1: 4, 2: 4, 3: 2, 4: 2, 5: 1}
"""Bytes per number for each tens digit of the matrix type of level 4."""
_LEVEL_4_SPARSE, _LEVEL_4_MAX_TYPE = 2, 5000
_SPARSE, _NUMERIC = 5, range(6, 16)
"""Matrix classes."""
_COMPLEX = 0x800
_MAX_DIMENSIONS = 32


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
    from scipy.io import loadmat

    if not path.is_file():
        raise DataError(f"the file {path} does not exist.")
    try:
        content = path.read_bytes()
        names = check_elements(content, _KEYS)
        matrices: dict[str, Any] = loadmat(io.BytesIO(content), variable_names=_KEYS)
    except DataError as error:
        raise DataError(
            f"{path} cannot be read as a MATLAB file: it is damaged or of another format ({error})."
        ) from None
    except NotImplementedError as error:
        raise DataError(
            f"{path} is a MATLAB file of version 7.3 (HDF5), which cannot be read. "
            "Load it in MATLAB, and save it with the option '-v7'. Or read it with h5py, whose arrays are transposed: "
            f"pass `CandidateSets.from_indicator(h5py.File({path.name!r})['partial_target'][()])` as `y`, and the "
            "transpose of 'data' as `X`."
        ) from error
    except Exception as error:  # SciPy raises any error on damaged bytes
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{path} cannot be read: {error.strerror}.") from error
        raise DataError(f"{path} cannot be read as a MATLAB file: it is damaged or of another format.") from error
    missing = [key for key in _KEYS if key not in matrices]
    if missing:
        present = [repr(name[:40]) for name in names if name][:10]
        raise DataError(
            f"{path} lacks the matrix {missing[0]!r}. It must have {', '.join(_KEYS)}; it has "
            f"{', '.join(present) or 'none'}. {_REMEDY}"
        )
    for key in _KEYS:
        _check_sparse(path, key, matrices[key])
    return matrices


def _check_sparse(path: Path, key: str, matrix: Any) -> None:
    """Raise if a sparse matrix has indices outside its shape, or a shape that is far larger than the file."""
    if not sp.issparse(matrix):
        return
    try:
        if matrix.format != "coo":  # COO: level 4, checked by SciPy
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{path} is damaged: the indices of {key} do not fit its shape ({error}).") from error
    file_size = path.stat().st_size
    try:
        check_size(8 * sum(matrix.shape) if key == "data" else math.prod(matrix.shape), file_size, "the content")
    except DataError as error:
        raise DataError(f"{path}: {key} has shape {matrix.shape}: {error}") from None


def _from_matrices(name: str, data: Any, partial_target: Any, target: Any) -> Dataset:
    for key, matrix in zip(_KEYS, (data, partial_target, target), strict=True):
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise DataError(f"{key} has shape {matrix.shape} and type {matrix.dtype}, expected a numeric matrix.")
    if target.shape != partial_target.shape:
        labels = " Numbers of classes, such as 1 to K, are not read." if 1 in target.shape else ""
        raise DataError(
            f"target has shape {target.shape}, but partial_target has {partial_target.shape}: both must have 0/1 "
            f"entries, one for each row and class.{labels}"
        )
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
    rows, columns = np.nonzero((indicator != 0) & (indicator != 1))
    if len(rows):
        raise DataError(
            f"target has the value {indicator[rows[0], columns[0]].item()!r} in row {rows[0]}, expected 0 or 1."
        )
    count = np.count_nonzero(indicator, axis=1)
    several = np.flatnonzero(count > 1)
    if len(several):
        raise DataError(f"row {several[0]} has {count[several[0]]} true labels in target, expected one.")
    return np.where(count == 1, np.argmax(indicator, axis=1), -1)


# -- elements of the file ---------------------------------------------------------------------------------------------


class _Element(NamedTuple):
    kind: int
    content: memoryview
    end: int
    """Offset of the next element."""


def check_elements(content: bytes, requested: Collection[str]) -> list[str]:
    """Raise unless SciPy can read the requested matrices of a MATLAB file within its bounds.

    Parameters
    ----------
    content : bytes
        The complete file; a file that is neither of level 4 nor 5 is not checked.
    requested : collection of str
        Names of matrices.

    Returns
    -------
    list of str
        The names of the matrices in the file, of level 4 up to the last requested one.

    Raises
    ------
    DataError
        If an element is damaged or exceeds the compression ratio, or a requested matrix is not of real numbers.
    """
    if 0 in content[:4]:
        return _check_level_4(memoryview(content), requested)
    names: list[str] = []
    if len(content) < _HEADER:
        return names
    order = "<" if content[126:128] == b"IM" else ">"
    if struct.unpack_from(f"{order}H", content, 124)[0] >> 8 != 1:
        return names
    buffer, offset = memoryview(content), _HEADER
    while offset < len(content):
        kind, length = _unpack(buffer, offset, order)
        element = _slice(buffer, offset + 8, length)
        offset += 8 + length
        if kind == _COMPRESSED:
            inflated = memoryview(_inflate(element, len(content)))
            kind, length = _unpack(inflated, 0, order)
            element = _slice(inflated, 8, length)
        if kind != _MATRIX:
            raise DataError(f"an element is of type {kind}, expected a matrix")
        if length:
            names.append(_check_matrix(element, order, requested))
    return names


def _check_level_4(buffer: memoryview, requested: Collection[str]) -> list[str]:
    """Raise unless each matrix up to the last requested one ends after its start and within the file."""
    order = "<" if 0 <= struct.unpack("<i", _slice(buffer, 0, 4))[0] <= _LEVEL_4_MAX_TYPE else ">"
    remaining, offset, names = set(requested), 0, []
    while remaining and offset < len(buffer):
        kind, n_rows, n_columns, imaginary, n_name = struct.unpack(f"{order}5i", _slice(buffer, offset, 20))
        size = _LEVEL_4_SIZES.get(kind // 10 % 10)
        if size is None or not 0 <= kind <= _LEVEL_4_MAX_TYPE or min(n_rows, n_columns, n_name) < 0:
            raise DataError("the description of a matrix is damaged")
        names.append(bytes(_slice(buffer, offset + 20, n_name)).strip(b"\0").decode("latin1"))
        remaining.discard(names[-1])
        is_complex = imaginary == 1 and kind % 10 != _LEVEL_4_SPARSE
        length = size * n_rows * n_columns * (1 + is_complex)
        offset += 20 + n_name + len(_slice(buffer, offset + 20 + n_name, length))
    return names


def _check_matrix(matrix: memoryview, order: str, requested: Collection[str]) -> str:
    """Check one matrix of level 5, and return its name."""
    flags = _element(matrix, 0, order, _UINT32)
    dimensions = _element(matrix, flags.end, order, _INT32)
    name = _element(matrix, dimensions.end, order, _INT8)
    n_dimensions = len(dimensions.content) // 4
    if len(flags.content) != 8 or not 2 <= n_dimensions <= _MAX_DIMENSIONS or len(dimensions.content) % 4:
        raise DataError("the description of a matrix is damaged")
    decoded = bytes(name.content).decode("latin1")
    if decoded not in requested:
        return decoded  # SciPy skips its content
    kind = struct.unpack(f"{order}I", flags.content[:4])[0]
    shape = struct.unpack(f"{order}{n_dimensions}i", dimensions.content)
    if kind & 0xFF not in (_SPARSE, *_NUMERIC) or kind & _COMPLEX or min(shape) < 0:
        raise DataError(f"expected a numeric matrix, got one of class {kind & 0xFF}")
    offset = name.end
    if kind & 0xFF == _SPARSE:
        rows = _element(matrix, offset, order, _INT32)
        column_ends = _element(matrix, rows.end, order, _INT32)
        if n_dimensions != 2 or len(rows.content) % 4 or len(column_ends.content) != 4 * (shape[1] + 1):
            raise DataError("the indices of a sparse matrix do not fit its shape")
        offset = column_ends.end
    numbers = _element(matrix, offset, order)
    size = _SIZES.get(numbers.kind)
    if size is None or len(numbers.content) % size:
        raise DataError(f"a matrix has numbers of type {numbers.kind}")
    if kind & 0xFF != _SPARSE and len(numbers.content) != size * math.prod(shape):
        raise DataError("the size of a matrix does not match its shape")
    return decoded


def _element(buffer: memoryview, offset: int, order: str, expected: int | None = None) -> _Element:
    kind, length = _unpack(buffer, offset, order)
    if kind >> 16:  # up to four bytes are stored in the length field
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise DataError("a small element is longer than four bytes")
        element = _Element(kind, _slice(buffer, offset + 4, length), offset + 8)
    else:
        element = _Element(kind, _slice(buffer, offset + 8, length), offset + 8 + length + -length % 8)
    if expected is not None and element.kind != expected:
        raise DataError(f"an element is of type {element.kind}, expected {expected}")
    return element


def _unpack(buffer: memoryview, offset: int, order: str) -> tuple[int, int]:
    kind, length = struct.unpack(f"{order}II", _slice(buffer, offset, 8))
    return kind, length


def _slice(buffer: memoryview, start: int, length: int) -> memoryview:
    if start + length > len(buffer):
        raise DataError("an element is longer than the file")
    return buffer[start : start + length]


def _inflate(element: memoryview, file_size: int) -> bytes:
    """Return the content of a compressed element; its size is checked during decompression."""
    decompressor, chunks, n_bytes = zlib.decompressobj(), [], 0
    remaining = bytes(element)
    try:
        while remaining and not decompressor.eof:
            chunks.append(decompressor.decompress(remaining, 2**24))
            n_bytes += len(chunks[-1])
            check_size(n_bytes, file_size, "the content")
            remaining = decompressor.unconsumed_tail
    except zlib.error as error:
        raise DataError(f"a compressed element is damaged ({error})") from None
    if not decompressor.eof:
        raise DataError("a compressed element is truncated")
    return b"".join(chunks)
