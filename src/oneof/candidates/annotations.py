"""Answers of several annotators as candidate sets."""

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


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top_k: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of an (items, annotators) table of labels."""
    check_positive("min_votes", min_votes, integer=True)
    if top_k is not None:
        check_positive("top_k", top_k, integer=True, alternatives=", or None for all")
    table = answers.to_numpy() if hasattr(answers, "to_numpy") else _as_table(answers)
    if table.ndim != 2:
        raise LabelError(f"`answers` must have shape (n_samples, n_annotators); got {table.shape}.")
    n_annotators = table.shape[1]
    if n_annotators < min_votes and table.size:
        raise InputError(f"`min_votes` must be at most the number of annotators, {n_annotators}; got {min_votes}.")
    flat = label_vector(table.ravel())
    distinct_labels(flat.tolist(), np.arange(flat.size) // max(n_annotators, 1))  # raises if a value cannot be a label
    if classes is None and {v for v in flat.tolist() if not is_missing(v)} == {-1, 1}:
        raise LabelError(
            "`answers` contains only -1 and 1. Pass classes=[-1, 1] if -1 is a class, or None for no answer.",
            cause="signs",
        )
    known = encode_labels(flat)[1] if classes is None else as_classes(classes)
    _check_known(flat.tolist(), known, n_annotators)
    codes, _ = encode_labels(flat, known)
    votes = np.zeros((len(table), len(known)), dtype=np.int64)
    answered = codes != MISSING
    np.add.at(votes, (np.repeat(np.arange(len(table)), n_annotators)[answered], codes[answered]), 1)
    mask = votes >= min_votes
    if top_k is not None and top_k < len(known):
        kth_highest = -np.partition(-votes, top_k - 1, axis=1)[:, top_k - 1 : top_k]
        mask &= votes >= np.maximum(kth_highest, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known


def _as_table(answers: Any) -> np.ndarray[Any, Any]:
    """Return lists of answers as a table; NumPy would turn a NaN among strings into the string 'nan'."""
    if isinstance(answers, np.ndarray):
        return answers
    try:
        rows = [_as_row(row) for row in answers]
    except TypeError:
        raise LabelError("`answers` must be a table with one row per item and one column per annotator.") from None
    table = np.empty((len(rows), max(map(len, rows), default=0)), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != table.shape[1]:
            raise LabelError(
                f"got {len(row)} answers; other rows have {table.shape[1]}. Use None for a missing answer.",
                row=i,
            )
        table[i] = row
    return table


def _as_row(answers: Any) -> list[Any]:
    if isinstance(answers, str | bytes):
        raise TypeError("a string is not a list of answers")
    return list(answers)


def _check_known(flat: list[Any], known: Labels, n_annotators: int) -> None:
    listed = set(known.tolist())
    for i, answer in enumerate(flat):
        if not (is_missing(answer) or is_minus_one(answer)) and answer not in listed:
            raise unknown_label(i // n_annotators, answer, known)
