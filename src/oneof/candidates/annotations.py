"""The answers of several annotators as candidate sets."""

from typing import Any

import numpy as np

from oneof.candidates.labels import MISSING, encode_labels
from oneof.errors import InputError, LabelError
from oneof.typing import Labels, Mask


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of an (items, annotators) table of labels."""
    if min_votes < 1:
        raise InputError(f"min_votes={min_votes} is not possible: a candidate needs at least 1 vote.")
    if top is not None and top < 1:
        raise InputError(f"top={top} is not possible: keep at least 1 label, or pass None to keep all.")
    table = answers.to_numpy() if hasattr(answers, "to_numpy") else np.asarray(answers)
    if table.ndim != 2:
        raise LabelError(f"answers should have shape (n_samples, n_annotators), got {table.shape}.")
    flat = table.ravel()
    codes, known = encode_labels(flat, classes)
    if len(known) == 0:
        raise LabelError("no annotator gave an answer: answers holds only missing values.")
    votes = np.zeros((len(table), len(known)), dtype=np.int64)
    given = codes != MISSING
    np.add.at(votes, (np.repeat(np.arange(len(table)), table.shape[1])[given], codes[given]), 1)
    mask = votes >= min_votes
    if top is not None and top < len(known):
        last = -np.partition(-votes, top - 1, axis=1)[:, top - 1 : top]
        mask &= votes >= np.maximum(last, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known
