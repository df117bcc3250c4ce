"""The answers of several annotators as candidate sets."""

from typing import Any

import numpy as np

from oneof.candidates.labels import (
    MISSING,
    as_classes,
    distinct_labels,
    encode_labels,
    is_minus_one,
    is_missing,
    label_vector,
    unknown_label,
)
from oneof.errors import InputError, LabelError
from oneof.typing import Labels, Mask
from oneof.validation import check_positive


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of an (items, annotators) table of labels."""
    check_positive("min_votes", min_votes, integer=True)
    if top is not None:
        check_positive("top", top, integer=True, others=", or None for all")
    table = answers.to_numpy() if hasattr(answers, "to_numpy") else _as_table(answers)
    if table.ndim != 2:
        raise LabelError(f"answers should have shape (n_samples, n_annotators), got {table.shape}.")
    n_annotators = table.shape[1]
    if n_annotators < min_votes and table.size:
        raise InputError(f"min_votes={min_votes} is not possible: a row has {n_annotators} answers at most.")
    flat = label_vector(table.ravel())
    distinct_labels(flat.tolist(), np.arange(flat.size) // max(n_annotators, 1))  # raises for what is no label
    if classes is None and {v for v in flat.tolist() if not is_missing(v)} == {-1, 1}:
        raise LabelError("answers holds only -1 and 1: pass classes=[-1, 1] if -1 is a class, and None for no answer.")
    known = encode_labels(flat)[1] if classes is None else as_classes(classes)
    _reject_unknown(flat.tolist(), known, n_annotators)
    codes, _ = encode_labels(flat, known)
    votes = np.zeros((len(table), len(known)), dtype=np.int64)
    given = codes != MISSING
    np.add.at(votes, (np.repeat(np.arange(len(table)), n_annotators)[given], codes[given]), 1)
    mask = votes >= min_votes
    if top is not None and top < len(known):
        last = -np.partition(-votes, top - 1, axis=1)[:, top - 1 : top]
        mask &= votes >= np.maximum(last, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known


def _as_table(answers: Any) -> np.ndarray[Any, Any]:
    """Return lists of answers as a table; beside text, NumPy would turn a NaN into the text 'nan'."""
    if isinstance(answers, np.ndarray):
        return answers
    try:
        rows = [_as_row(row) for row in answers]
    except TypeError:
        raise LabelError("answers should be a table: a row an item, with the label of each annotator.") from None
    table = np.empty((len(rows), max(map(len, rows), default=0)), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != table.shape[1]:
            raise LabelError(f"row {i} has {len(row)} answers, others {table.shape[1]}: put None where there is none.")
        table[i] = row
    return table


def _as_row(answers: Any) -> list[Any]:
    if isinstance(answers, str | bytes):
        raise TypeError("the letters of a text are no answers")
    return list(answers)


def _reject_unknown(flat: list[Any], known: Labels, n_annotators: int) -> None:
    listed = set(known.tolist())
    for i, answer in enumerate(flat):
        if not (is_missing(answer) or is_minus_one(answer)) and answer not in listed:
            raise unknown_label(i // n_annotators, answer, known)
