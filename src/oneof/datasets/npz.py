"""The stored form of a data set: a NumPy `.npz` archive without pickles.

Keys: `classes`, names as text or numbers, where names that are all written integers become integers; `X`, or the
components of a CSR matrix (`X_data`, `X_indices`, `X_indptr`, `X_shape`); `y`, index into `classes`, -1 unknown;
`candidates`, the bits of the mask packed along the classes, or `weights`, the weights of the candidates
(n_samples, n_classes), if a row has any; `n_train`; `splits_labeledL`; `answers`, the annotations; `Y`, or `Y_top10`
and similar; `text` (the UTF-8 bytes of all rows) with `text_offsets`. Other keys are ignored. An archive without `y`,
or with neither features nor text, is not a data set.
"""

import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from oneof.archives import (
    CSR_KEYS,
    as_integers,
    read_arrays,
    read_shapes,
    unpack_classes,
    unpack_csr,
    unpack_masks,
    unpack_texts,
)
from oneof.datasets.dataset import Dataset, from_codes
from oneof.errors import DataError, InputError
from oneof.typing import Evidence, Ints, Labels

Arrays = Mapping[str, np.ndarray[Any, Any]]

_KEY = re.compile(r"X|X_data|X_indices|X_indptr|X_shape|y|classes|candidates|weights|n_train|answers|text|text_offsets")
_SPLITS = re.compile(r"splits_labeled(\d+)")
_MULTI = re.compile(r"Y|Y_top\d+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


class DatasetShape(NamedTuple):
    """Size of a data set; `n_features` is None for raw text without features."""

    n_samples: int
    n_features: int | None
    n_classes: int


def read_npz(path: Path, name: str) -> Dataset:
    """Read a data set from its archive.

    Raises
    ------
    DataError
        If the file is damaged, is not an archive of a data set, or its arrays do not have matching sizes.
    """
    try:
        arrays = read_arrays(path, _is_oneof_key)
    except (DataError, OSError) as error:
        raise _unreadable(path, error) from error
    try:
        return from_arrays(name, arrays)
    except InputError as error:
        raise DataError(f"{path} is not a data set in oneof's form: {error}") from error


def read_shape(path: Path) -> DatasetShape | None:
    """Return the size of a data set from the headers of its arrays, without reading the arrays.

    It is None for an archive that is not a data set: without labels, or with neither features nor text.

    Raises
    ------
    DataError
        If the file is damaged or is not a NumPy archive.
    """
    try:
        shapes = read_shapes(path)
        if _missing_component(shapes):
            return None
        (rows,), (classes,) = shapes["y"], shapes["classes"]
        if "X" in shapes:
            return DatasetShape(rows, shapes["X"][1], classes)
        if "X_shape" in shapes:
            return DatasetShape(rows, int(read_arrays(path, "X_shape".__eq__)["X_shape"][1]), classes)
        return DatasetShape(rows, None, classes)
    except (IndexError, KeyError, OSError, TypeError, ValueError) as error:  # a DataError is a ValueError
        raise _unreadable(path, error) from error


def write_npz(file: IO[bytes], arrays: Arrays) -> None:
    """Write the arrays of a data set, compressed; the same arrays give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def from_arrays(name: str, arrays: Arrays) -> Dataset:
    """Build a data set from the arrays of an archive.

    Raises
    ------
    DataError, LabelError
        If an array is missing or its shape or type does not match.
    """
    if missing := _missing_component(arrays):
        raise DataError(missing)
    if "classes" not in arrays:
        raise DataError("the key 'classes' is missing.")
    codes, classes = arrays["y"], _numbers(unpack_classes(arrays["classes"]))
    codes = as_integers("y", codes, (len(codes) if codes.ndim else 0,))
    X, text = _features(arrays), _text(arrays, len(codes))
    return from_codes(
        name,
        X,
        codes,
        classes,
        _evidence(arrays, len(codes), len(classes)),
        n_train=_n_train(arrays, len(codes)),
        splits=_splits(arrays, len(codes)),
        Y=_multi_label(arrays, (len(codes), len(classes))),
        annotations=_annotations(arrays, len(codes), len(classes)),
        text=text,
    )


def _numbers(classes: Labels) -> Labels:
    """Return names that are all written integers as integers: as text, they sort as 0, 1, 10, 2.

    Names with "-1" remain text: among integers, -1 is a missing label.
    """
    names = classes.tolist()
    if "-1" not in names and all(isinstance(name, str) and _INTEGER.fullmatch(name) for name in names):
        return np.array([int(name) for name in names])
    return classes


def _missing_component(keys: Collection[str]) -> str:
    """Return the reason if arrays of these names are not a data set, and an empty string if they are."""
    if "y" not in keys:
        return "the key 'y' is missing."
    if not {"X", "text", *CSR_KEYS} & set(keys):
        return "there is neither X (nor the components of a CSR matrix) nor text."
    return ""


def _is_oneof_key(key: str) -> bool:
    return any(pattern.fullmatch(key) for pattern in (_KEY, _SPLITS, _MULTI))


def _unreadable(path: Path, error: BaseException) -> DataError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return DataError(
        f"{path} cannot be read as a data set ({reason.rstrip('.')}): it is damaged or not an .npz file in oneof's "
        "form. Get it again, or delete it."
    )


# -- one function for each component ----------------------------------------------------------------------------------


def _features(arrays: Arrays) -> Any:
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise DataError(f"X has shape {X.shape} and type {X.dtype}, expected a numeric matrix.")
        return X
    return unpack_csr(arrays) if set(CSR_KEYS) & set(arrays) else None


def _evidence(arrays: Arrays, n_samples: int, n_classes: int) -> Evidence | None:
    """Return the weights or, without them, the mask of the candidate sets."""
    if "weights" in arrays:
        weights = arrays["weights"]
        if weights.shape != (n_samples, n_classes) or weights.dtype.kind != "f":
            raise DataError(
                f"weights has shape {weights.shape} and type {weights.dtype}, expected floats of shape "
                f"({n_samples}, {n_classes})."
            )
        return weights
    return unpack_masks(arrays["candidates"], n_samples, n_classes) if "candidates" in arrays else None


def _n_train(arrays: Arrays, n_samples: int) -> int | None:
    if "n_train" not in arrays:
        return None
    n_train = int(as_integers("n_train", arrays["n_train"], ()))
    if not 0 <= n_train <= n_samples:
        raise DataError(f"n_train is {n_train}, but there are {n_samples} rows.")
    return n_train


def _splits(arrays: Arrays, n_samples: int) -> dict[int, Ints] | None:
    splits = {}
    for key, rows in arrays.items():
        if match := _SPLITS.fullmatch(key):
            n_labeled = int(match[1])
            split = as_integers(key, rows, (len(rows) if rows.ndim else 0, n_labeled))
            if split.size and not 0 <= split.min() <= split.max() < n_samples:
                raise DataError(f"{key} contains a row index outside 0 to {n_samples - 1}.")
            splits[n_labeled] = split
    return dict(sorted(splits.items())) or None


def _multi_label(arrays: Arrays, shape: tuple[int, int]) -> np.ndarray[Any, Any] | None:
    keys = sorted(key for key in arrays if _MULTI.fullmatch(key))
    if not keys:
        return None
    Y = arrays[keys[0]]
    if Y.shape != shape or Y.dtype.kind not in "biu" or (Y.size and not 0 <= Y.min() <= Y.max() <= 1):
        raise DataError(f"{keys[0]} has shape {Y.shape} and type {Y.dtype}, expected 0 and 1 of shape {shape}.")
    return Y


def _annotations(arrays: Arrays, n_samples: int, n_classes: int) -> np.ndarray[Any, Any] | None:
    if "answers" not in arrays:
        return None
    answers = arrays["answers"]
    if answers.ndim != 2 or answers.dtype.kind not in "iu" or len(answers) > n_samples:
        raise DataError(
            f"answers has shape {answers.shape} and type {answers.dtype}, expected codes of (items, annotators) "
            f"with at most {n_samples} items."
        )
    if answers.size and not -1 <= int(answers.min()) <= int(answers.max()) < n_classes:
        raise DataError(f"answers has a code outside -1 (none) to {n_classes - 1}.")
    return answers


def _text(arrays: Arrays, n_samples: int) -> np.ndarray[Any, Any] | None:
    if "text" not in arrays:
        return None
    if "text_offsets" not in arrays:
        raise DataError("there is text, but the key 'text_offsets' is missing.")
    ends = as_integers("text_offsets", arrays["text_offsets"], (n_samples + 1,))
    return np.array(unpack_texts(arrays["text"], ends), dtype=object)
