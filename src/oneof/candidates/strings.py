"""Text such as "sparrow|finch" as candidate sets, and back."""

import re
from typing import Any

import numpy as np

from oneof.candidates.labels import distinct_labels, is_missing, label_vector
from oneof.candidates.named_sets import read_sets
from oneof.errors import InputError, LabelError
from oneof.typing import Labels, Mask


def read_strings(y: Any, separator: str, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of separated text; each distinct text is split once."""
    _check(separator)
    texts = label_vector(y).tolist()
    split: dict[Any, list[str] | None] = {}
    distinct_labels(texts, range(len(texts)))
    for row, text in enumerate(texts):
        if text not in split:
            split[text] = _split(row, text, separator)
    return read_sets([split[text] for text in texts], classes)


def write_strings(mask: Mask, classes: Labels, separator: str) -> list[str]:
    """Join the labels of each row's set; an unlabeled row becomes empty text."""
    _check(separator)
    escape = re.compile("|".join((re.escape("\\"), re.escape(separator[0]))))
    labels = np.array([escape.sub(lambda found: "\\" + found[0], str(label)) for label in classes.tolist()], object)
    full = np.asarray(mask.all(axis=1))
    return ["" if full[i] else separator.join(labels[row]) for i, row in enumerate(mask)]


def _check(separator: Any) -> None:
    if not isinstance(separator, str) or not separator or separator.isspace() or "\\" in separator:
        raise InputError(f"separator {separator!r} cannot be used: give visible text without a backslash.")


def _split(row: int, text: Any, separator: str) -> list[str] | None:
    if is_missing(text):
        return None
    if not isinstance(text, str):
        raise LabelError(f"row {row}: {text!r} is not text; use from_labels or from_sets for labels of other types.")
    if not text.strip():
        return None
    # A backslash takes the first character of the separator, or another backslash, as part of the label.
    token = re.compile(rf"\\\\|\\{re.escape(separator[0])}|{re.escape(separator)}|.", re.DOTALL)
    parts = [""]
    for piece in token.findall(text):
        if piece == separator:
            parts.append("")
        else:
            parts[-1] += piece.removeprefix("\\") if len(piece) > 1 else piece
    labels = [part.strip() for part in parts]
    if "" in labels:
        raise LabelError(f"row {row}: {text!r} names an empty label; remove the extra {separator!r}.")
    return labels
