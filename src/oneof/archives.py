"""Archives of arrays, whose declared sizes are checked before anything is read.

A few kilobytes of a zip file can expand to terabytes, and a few bytes of an array's header can request as much memory.
The declared sizes of an archive's members are therefore summed and checked before any member is decompressed.
"""

import itertools
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from oneof.errors import DataError
from oneof.typing import Ints, Labels, Mask

GZIP = b"\x1f\x8b"
"""First bytes of a gzip file."""
MAX_BYTES = 2**30
"""Largest expanded size of any archive, 1 GiB, irrespective of its own size."""
MAX_COMPRESSION_RATIO = 100
"""Largest ratio of expanded to compressed size above `MAX_BYTES`; compressed zeros reach 1,000."""

_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def check_size(n_bytes: float, file_size: int, content: str) -> None:
    """Raise if a file of `file_size` bytes declares an implausible expanded size.

    Raises
    ------
    DataError
        If the size exceeds the limits; the message begins with `content`.
    """
    if n_bytes > max(MAX_BYTES, MAX_COMPRESSION_RATIO * file_size):
        raise DataError(
            f"{content} would expand to {n_bytes / 1e9:,.1f} GB, {n_bytes / max(file_size, 1):,.0f} times the size of "
            "the file. If the file is genuine, save it uncompressed."
        )


def check_members(archive: zipfile.ZipFile, file_size: int) -> None:
    """Raise if the members of an archive of `file_size` bytes expand to an implausible size in total."""
    check_size(sum(member.file_size for member in archive.infolist()), file_size, "its content")


def check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[int, ...]:
    """Return the shape of a plain array; raise unless its size matches its header and its text is valid.

    Only the header of a numeric array is read.

    Raises
    ------
    DataError
        If the array is not plain, or its content does not match its header.
    """
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in _READERS:
            raise DataError(f"{member.filename} has version {version} of the .npy format; plain arrays have 1 or 2")
        shape, _, dtype = _READERS[version](file)
        if dtype.hasobject:
            raise DataError(f"{member.filename} contains pickled objects, which are never loaded")
        n_cells = math.prod(shape)
        if min(shape, default=0) < 0 or n_cells * dtype.itemsize != member.file_size - file.tell():
            raise DataError(f"{member.filename} does not have the size that its header declares")
        if n_cells and not dtype.itemsize:
            raise DataError(f"{member.filename} contains {n_cells} zero-width elements")
        if dtype.kind == "U":  # NumPy accepts any four bytes as a character, Python only code points
            try:
                file.read().decode("utf-32-be" if dtype.str.startswith(">") else "utf-32-le")
            except UnicodeDecodeError:
                raise DataError(f"{member.filename} contains text with invalid code points") from None
        return tuple(shape)


def read_arrays(path: Path, requested: Callable[[str], bool] = lambda _: True) -> dict[str, np.ndarray[Any, Any]]:
    """Read the plain arrays of an .npz file; pickles are never loaded.

    Parameters
    ----------
    path : Path
    requested : callable
        Predicate of the array names to read; other members are skipped.

    Raises
    ------
    DataError
        If the file is damaged, is not an .npz archive, or has an implausible size; the message does not name the path.
    OSError
        If the file cannot be read.
    """
    with _members(path, requested) as (archive, members):
        check_size(sum(member.file_size for member in members.values()), path.stat().st_size, "its content")
        arrays = {}
        for key, member in members.items():
            check_array(archive, member)
            with archive.open(member) as content:
                arrays[key] = np.lib.format.read_array(content, allow_pickle=False)
                content.read()  # the checksum is verified at the end of a member
        return arrays


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of an .npz file from their headers; errors are those of `read_arrays`."""
    with _members(path, lambda _: True) as (archive, members):
        return {key: check_array(archive, member) for key, member in members.items()}


@contextmanager
def _members(
    path: Path, requested: Callable[[str], bool]
) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            names = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
            yield archive, {key: archive.getinfo(name) for key, name in names.items() if requested(key)}
    except (DataError, OSError):
        raise
    except Exception as error:  # damaged bytes make NumPy and zipfile raise almost anything
        raise DataError(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from error


_Array = np.ndarray[Any, Any]


def unpack_texts(text: _Array, offsets: _Array) -> list[str]:
    """Return the texts of all rows from their joined UTF-8 bytes; row i is between offsets i and i + 1.

    Raises
    ------
    DataError
        If the arrays have another type, are inconsistent, or a text is not UTF-8.
    """
    if text.ndim != 1 or text.dtype != np.uint8:
        raise DataError(
            f"`text` must be the bytes of all rows, a uint8 vector; got {text.dtype} of shape {text.shape}."
        )
    ends = offsets.tolist() if offsets.ndim == 1 and offsets.dtype.kind in "iu" else []
    if ends[:1] != [0] or ends[-1] != len(text) or any(a > b for a, b in itertools.pairwise(ends)):
        raise DataError(f"`text_offsets` must increase from 0 to {len(text)}, the number of bytes of text.")
    content, texts = text.tobytes(), []
    for row, (start, end) in enumerate(itertools.pairwise(ends)):
        try:
            texts.append(content[start:end].decode())
        except UnicodeDecodeError:
            raise DataError(f"row {row}: the text is not UTF-8. Save it as UTF-8.") from None
    return texts


def unpack_masks(packed: _Array, n_rows: int, n_classes: int) -> Mask:
    """Return the (n_rows, n_classes) mask that `np.packbits(mask, axis=1)` packed.

    Raises
    ------
    DataError
        If the array has another shape or type.
    """
    expected = (n_rows, -(-n_classes // 8))
    if packed.shape != expected or packed.dtype != np.uint8:
        raise DataError(
            f"`candidates` must contain the packed bits of {n_classes} classes, uint8 of shape {expected}, as "
            f"np.packbits(mask, axis=1) returns them; got shape {packed.shape} and type {packed.dtype}."
        )
    return np.unpackbits(packed, axis=1, count=n_classes).astype(bool)


def unpack_classes(classes: _Array) -> Labels:
    """Return the class names, strings or integers.

    Raises
    ------
    DataError
        If the array has another type or is empty.
    """
    if classes.ndim != 1 or classes.dtype.kind not in "Uiu" or not len(classes):
        raise DataError(
            f"`classes` must be a vector of strings or integers; got {classes.dtype} of shape {classes.shape}."
        )
    return classes


CSR_KEYS = ("X_data", "X_indices", "X_indptr", "X_shape")
"""Names of the components of a CSR matrix in an archive."""


def unpack_csr(arrays: Mapping[str, _Array]) -> Any:
    """Return the CSR matrix of the components of an archive.

    Raises
    ------
    DataError
        If a component is missing or has another type, or the components do not fit together.
    """
    import scipy.sparse as sp

    present = [key for key in CSR_KEYS if key in arrays]
    if len(present) < len(CSR_KEYS):
        raise DataError(f"a CSR matrix must have the keys {', '.join(CSR_KEYS)}; got only {', '.join(present)}.")
    data, indices, indptr, shape = (arrays[key] for key in CSR_KEYS)
    if data.ndim != 1 or data.dtype.kind not in "fiub":
        raise DataError(f"X_data has shape {data.shape} and type {data.dtype}, expected a numeric vector.")
    n_rows, n_columns = as_integers("X_shape", shape, (2,)).tolist()
    indices = as_integers("X_indices", indices, data.shape)
    indptr = as_integers("X_indptr", indptr, (n_rows + 1,))
    try:
        X = sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
        X.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"the components of the CSR matrix do not fit together ({error}).") from error
    return X


def as_integers(key: str, array: _Array, shape: tuple[int, ...]) -> Ints:
    """Return an array of integers of a shape as int64.

    Raises
    ------
    DataError
        If it has another type or shape.
    """
    if array.shape != shape or array.dtype.kind not in "iu":
        raise DataError(f"{key} has shape {array.shape} and type {array.dtype}, expected integers of shape {shape}.")
    return array.astype(np.int64, copy=False)
