"""The stored form of a data set: a NumPy `.npz` archive without pickles.

Keys: `classes`, names as text or numbers, where names that are all written integers become integers; `X`, or the
components of a CSR matrix (`X_data`, `X_indices`, `X_indptr`, `X_shape`); `y`, index into `classes`, -1 unknown;
`candidates`, the bits of the mask packed along the classes, or `weights`, the weights of the candidates
(n_samples, n_classes), if a row has any; `n_train`; `splits_labeledL`; `answers`, the annotations; `Y`, or `Y_top10`
and similar; `text` (the UTF-8 bytes of all rows) with `text_offsets`. Other keys are ignored. An archive without `y`,
or with neither features nor text, is not a data set.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oneof.archives import CSR_KEYS, read_arrays, read_shapes, unpack_classes, unpack_csr, unpack_masks, unpack_texts
from oneof.datasets.dataset import Dataset, from_codes
from oneof.errors import DataError, InputError
from oneof.typing import Labels

Arrays = Mapping[str, Any]

_KEY = re.compile(
    r"X|X_data|X_indices|X_indptr|X_shape|y|classes|candidates|weights|n_train|answers|text|text_offsets"
    r"|splits_labeled(0|[1-9][0-9]*)|Y|Y_top\d+"
)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_KINDS = {"f": "floats", "iu": "integers", "biu": "integers", "fiub": "numbers"}
"""Names of the kinds of NumPy types."""


def read_npz(path: Path, name: str) -> Dataset:
    """Read a data set from its archive.

    Raises
    ------
    DataError
        If the file is damaged, is not an archive of a data set, or its arrays do not have matching sizes.
    """
    try:
        arrays = read_arrays(path, lambda key: _KEY.fullmatch(key) is not None)
    except (DataError, OSError) as error:
        raise _unreadable(path, error) from error
    try:
        return from_arrays(name, arrays)
    except InputError as error:
        raise DataError(f"{path} is not a data set in oneof's form: {error}") from error


def read_shape(path: Path) -> tuple[int, int | None, int] | None:
    """Return the numbers of rows, features and classes from the headers of the arrays, without reading the arrays.

    The number of features is None for raw text. The shape is None for an archive that is not a data set: without
    labels, or with neither features nor text.

    Raises
    ------
    DataError
        If the file is damaged or is not a NumPy archive.
    """
    try:
        shapes = read_shapes(path)
        if _missing_component(shapes):
            return None
        (rows,), (classes,), columns = shapes["y"], shapes["classes"], None
        if "X" in shapes:
            columns = shapes["X"][1]
        elif "X_shape" in shapes:
            columns = int(read_arrays(path, "X_shape".__eq__)["X_shape"][1])
        return rows, columns, classes
    except (IndexError, KeyError, OSError, TypeError, ValueError) as error:  # a DataError is a ValueError
        raise _unreadable(path, error) from error


def from_arrays(name: str, arrays: Arrays) -> Dataset:
    """Build a data set from the arrays of an archive, which have names of the stored form.

    Raises
    ------
    DataError, LabelError
        If an array is missing, or its shape, its type or a value does not match.
    """

    def component(key: str, kinds: str, shape: tuple[int, ...], *limits: int) -> Any:
        return check_array(key, arrays[key], kinds, shape, *limits) if key in arrays else None

    if missing := _missing_component(arrays):
        raise DataError(missing)
    if "classes" not in arrays:
        raise DataError("the key 'classes' is missing.")
    classes = read_written_integers(unpack_classes(arrays["classes"]))
    y = component("y", "iu", (-1,), -1, len(classes) - 1).astype(np.int64)
    n, n_classes = len(y), len(classes)
    is_csr = "X" not in arrays and set(CSR_KEYS) & set(arrays)
    X = unpack_csr(arrays) if is_csr else component("X", "fiub", (-1, -1))
    if X is not None and X.shape[0] != n:
        raise DataError(f"X has {X.shape[0]} rows, but there are {n} labels.")
    evidence = component("weights", "f", (n, n_classes))
    if evidence is None and "candidates" in arrays:
        evidence = unpack_masks(arrays["candidates"], n, n_classes)
    n_train = component("n_train", "iu", (), 0, n)
    sizes = sorted(int(key.removeprefix("splits_labeled")) for key in arrays if key.startswith("splits_labeled"))
    splits = {size: component(f"splits_labeled{size}", "iu", (-1, size), 0, n - 1).astype(np.int64) for size in sizes}
    Y = component(min((key for key in arrays if key.startswith("Y")), default="Y"), "biu", (n, n_classes), 0, 1)
    annotations = component("answers", "iu", (-1, -1), -1, n_classes - 1)
    if annotations is not None and len(annotations) > n:
        raise DataError(f"answers has {len(annotations)} items, expected at most {n} items.")
    text = None
    if "text" in arrays:
        if "text_offsets" not in arrays:
            raise DataError("there is text, but the key 'text_offsets' is missing.")
        offsets = component("text_offsets", "iu", (n + 1,))
        text = np.array(unpack_texts(arrays["text"], offsets), dtype=object)
    return from_codes(
        *(name, X, y, classes, evidence),
        n_train=None if n_train is None else int(n_train),
        splits=splits or None,
        Y=Y,
        annotations=annotations,
        text=text,
    )


def check_array(key: str, array: Any, kinds: str, shape: tuple[int, ...], *limits: int) -> Any:
    """Return an array; raise unless its type, its shape (-1: any size) and its values (from, to) are as expected."""
    fits = len(shape) == array.ndim and all(n in (-1, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in kinds or not fits:
        expected = f"{_KINDS[kinds]} of shape {str(shape).replace('-1', 'any')}"
        raise DataError(f"{key} has shape {array.shape} and type {array.dtype}, expected {expected}.")
    if limits:
        for place in np.argwhere((array < limits[0]) | (array > limits[1]))[:1]:
            row = f"row {place[0]}: " if len(place) else ""
            raise DataError(f"{row}{key} has the value {array[tuple(place)]}, expected {limits[0]} to {limits[1]}.")
    return array


def read_written_integers(names: Labels) -> Labels:
    """Return names that are all written integers as integers: as text, they sort as 0, 1, 10, 2.

    Names with "-1" remain text: among integers, -1 is a missing label.
    """
    texts = names.tolist()
    if "-1" not in texts and all(isinstance(name, str) and _INTEGER.fullmatch(name) for name in texts):
        return np.array([int(name) for name in texts])
    return names


def _missing_component(keys: Collection[str]) -> str:
    """Return the reason if arrays of these names are not a data set, and an empty string if they are."""
    if "y" not in keys:
        return "the key 'y' is missing."
    if not {"X", "text", *CSR_KEYS} & set(keys):
        return "there is neither X (nor the components of a CSR matrix) nor text."
    return ""


def _unreadable(path: Path, error: BaseException) -> DataError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return DataError(
        f"{path} cannot be read as a data set ({reason.rstrip('.')}): it is damaged or not an .npz file in oneof's "
        "form. Get it again, or delete it."
    )
