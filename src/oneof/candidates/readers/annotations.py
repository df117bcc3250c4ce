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
from oneof.candidates.row_weights import MIN_STORED_WEIGHT
from oneof.errors import InputError, LabelError
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_positive


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top_k: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of an (items, annotators) table of labels."""
    check_positive("min_votes", min_votes, integer=True)
    if top_k is not None:
        check_positive("top_k", top_k, integer=True, alternatives=", or None for all")
    codes, known = _encode_answers(answers, classes)
    n_annotators = codes.shape[1]
    if n_annotators < min_votes and codes.size:
        raise InputError(f"`min_votes` must be at most the number of annotators, {n_annotators}; got {min_votes}.")
    votes = np.zeros((len(codes), len(known)), dtype=np.int64)
    rows, annotators = np.nonzero(codes != MISSING)
    np.add.at(votes, (rows, codes[rows, annotators]), 1)
    mask = votes >= min_votes
    if top_k is not None and top_k < len(known):
        kth_highest = -np.partition(-votes, top_k - 1, axis=1)[:, top_k - 1 : top_k]
        mask &= votes >= np.maximum(kth_highest, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known


def read_reliable_annotations(answers: Any, classes: Any, reliabilities: Any) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of answers whose annotators have known accuracies.

    An annotator of accuracy r answers with the true class with probability r, and with each of the K - 1 other classes
    with probability (1 - r) / (K - 1), independently of all other annotators.
    """
    codes, known = _encode_answers(answers, classes)
    n_classes = len(known)
    accuracy = as_float_array(reliabilities, "reliabilities")
    if accuracy.shape != codes.shape[1:]:
        raise InputError(
            f"`reliabilities` must have one number for each of the {codes.shape[1]} annotators; got shape "
            f"{accuracy.shape}."
        )
    wrong = np.flatnonzero(~((accuracy * n_classes > 1) & (accuracy < 1)))
    if len(wrong):
        raise InputError(
            f"`reliabilities` must be above 1/{n_classes}, the accuracy of guesses over {n_classes} classes, and below "
            f"1; got {accuracy[wrong[0]].item()!r}.",
            column=int(wrong[0]),
        )
    # The product of the answers' likelihoods, divided by what all classes have in common.
    log_odds = np.log(accuracy) - np.log1p(-accuracy) + np.log(max(n_classes - 1, 1))
    log_weights = np.zeros((len(codes), n_classes))
    rows, annotators = np.nonzero(codes != MISSING)
    np.add.at(log_weights, (rows, codes[rows, annotators]), log_odds[annotators])
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.maximum(weights, MIN_STORED_WEIGHT), known


def _encode_answers(answers: Any, classes: Any) -> tuple[Ints, Labels]:
    """Return the (items, annotators) codes of a table of labels, and the classes."""
    table = answers.to_numpy() if hasattr(answers, "to_numpy") else _as_table(answers)
    if table.ndim != 2:
        raise LabelError(f"`answers` must have shape (n_samples, n_annotators); got {table.shape}.")
    n_annotators = table.shape[1]
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
    return codes.reshape(table.shape), known


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
