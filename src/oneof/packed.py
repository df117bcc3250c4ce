"""Texts, sets and names of classes as the project's archives pack them into plain arrays, for all who read these."""

import itertools
from typing import Any

import numpy as np

from oneof.errors import DataError
from oneof.typing import Labels, Mask

_Array = np.ndarray[Any, Any]


def read_texts(text: _Array, offsets: _Array) -> list[str]:
    """Return the texts of all rows, whose UTF-8 bytes are joined in `text`; row i lies between offsets i and i + 1.

    Raises
    ------
    DataError
        If the arrays are of another kind, do not fit together, or a text is not UTF-8.
    """
    if text.ndim != 1 or text.dtype != np.uint8:
        raise DataError(f"text has shape {text.shape} and type {text.dtype}, expected the bytes of all rows.")
    sound = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 0
    ends = offsets.tolist() if sound else []
    if not sound or ends[0] != 0 or ends[-1] != len(text) or any(a > b for a, b in itertools.pairwise(ends)):
        raise DataError(f"text_offsets does not cut the {len(text)} bytes of text into rows.")
    content, texts = text.tobytes(), []
    for row, (start, end) in enumerate(itertools.pairwise(ends)):
        try:
            texts.append(content[start:end].decode())
        except UnicodeDecodeError:
            raise DataError(f"the text of row {row} is not UTF-8: save it as UTF-8.") from None
    return texts


def read_sets(packed: _Array, n_rows: int, n_classes: int) -> Mask:
    """Return the (n_rows, n_classes) mask whose bits `np.packbits(mask, axis=1)` has packed.

    Raises
    ------
    DataError
        If the array is of another kind.
    """
    expected = (n_rows, -(-n_classes // 8))
    if packed.shape != expected or packed.dtype != np.uint8:
        raise DataError(
            f"candidates has shape {packed.shape} and type {packed.dtype}, expected the packed bits of {n_classes} "
            f"classes: uint8 of {expected}, as np.packbits(mask, axis=1) makes them."
        )
    return np.unpackbits(packed, axis=1, count=n_classes).astype(bool)


def read_names(classes: _Array) -> Labels:
    """Return the names of the classes, text or whole numbers.

    Raises
    ------
    DataError
        If the array is of another kind, or names none.
    """
    if classes.ndim != 1 or classes.dtype.kind not in "Uiu" or not len(classes):
        raise DataError(f"classes has shape {classes.shape} and type {classes.dtype}, expected a vector of names.")
    return classes
