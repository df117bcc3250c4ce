"""Answers of several annotators as candidate sets; an answer is a label, a set of labels, or missing."""

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.candidates.encoding import MIN_STORED_WEIGHT, MISSING, as_sets, encode_labels, encode_sets
from oneof.candidates.labels import (
    as_classes,
    check_no_mapping,
    has_collections,
    is_hashable,
    is_minus_one,
    is_missing,
    label_vector,
    object_vector,
)
from oneof.errors import InputError, LabelError
from oneof.messages import warn
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_positive

MIN_KNOWN_CELLS = 0.1
"""Fraction of the cells of an annotator that have a label of another annotator, at least."""
MIN_CELLS = 10
"""Number of cells of a column from which it can be seen that it is not an annotator's."""
MIN_NAMES = 20
"""Number of cells, all different and in no other column, from which they are taken for names of rows.

Two annotators who are right in half of their answers agree in a row with a probability of at least 1/4, and in none of
20 rows with at most (3/4)^20 = 0.3 %.
"""


class EncodedAnswers(NamedTuple):
    """Answers of annotators by their codes, in the order of the rows."""

    row: Ints
    """(m,): the row of each answer."""
    annotator: Ints
    """(m,)."""
    answer: Ints
    """(m,): an index into the distinct answers."""
    sets: Mask
    """(D, K): the classes of each distinct answer."""
    classes: Labels
    shape: tuple[int, int]
    """Numbers of rows and of annotators."""


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top_k: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of answers; a set is a vote for each of its labels."""
    check_positive("min_votes", min_votes, integer=True)
    if top_k is not None:
        check_positive("top_k", top_k, integer=True, alternatives=", or None for all")
    codes = encode_answers(answers, classes)
    known = codes.classes
    (n_rows, n_annotators), n_answers = codes.shape, len(codes.row)
    if n_annotators < min_votes and n_rows * n_annotators:
        raise InputError(f"`min_votes` must be at most the number of annotators, {n_annotators}; got {min_votes}.")
    given = sp.csr_array((np.ones(n_answers, dtype=np.int64), (codes.row, codes.answer)), (n_rows, len(codes.sets)))
    votes = np.asarray(given @ codes.sets.astype(np.int64))
    mask = votes >= min_votes
    if top_k is not None and top_k < len(known):
        kth_highest = -np.partition(-votes, top_k - 1, axis=1)[:, top_k - 1 : top_k]
        mask &= votes >= np.maximum(kth_highest, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known


def read_reliable_annotations(answers: Any, classes: Any, reliabilities: Any) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of answers whose annotators have known accuracies.

    An answer of an annotator of accuracy r contains the true class with probability r, independently of all other
    annotators. All sets of its size that contain the true class, or do not, have equal probability.
    """
    codes = encode_answers(answers, classes)
    known, n_annotators = codes.classes, codes.shape[1]
    n_classes = len(known)
    accuracy = as_float_array(reliabilities, "reliabilities")
    if accuracy.shape != (n_annotators,):
        raise InputError(
            f"`reliabilities` must have one number for each of the {n_annotators} annotators; got shape "
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
    sizes = np.maximum(np.count_nonzero(codes.sets, axis=1), 1)
    others = np.log(np.maximum(n_classes - sizes, 1) / sizes)
    log_odds = (np.log(accuracy) - np.log1p(-accuracy))[codes.annotator] + others[codes.answer]
    log_odds[(sizes == n_classes)[codes.answer]] = 0.0
    given = sp.csr_array((log_odds, (codes.row, codes.answer)), (codes.shape[0], len(codes.sets)))
    log_weights = np.asarray(given @ codes.sets.astype(np.float64))
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.maximum(weights, MIN_STORED_WEIGHT), known


def check_classes(classes: Any, known: Labels) -> None:
    """Raise unless classes, if given, are those of encoded answers."""
    if classes is not None and as_classes(classes).tolist() != known.tolist():
        raise LabelError(
            f"`classes` must be the classes of the answers, {known.tolist()}; got {classes!r}. Pass them to "
            "Answers.from_table or from_records."
        )


def read_table(answers: Any) -> tuple[Any, tuple[int, int]]:
    """Return the cells of an (items, annotators) table by rows, as a vector, and the shape of the table."""
    check_no_mapping(answers)
    if hasattr(answers, "columns"):
        columns = [label_vector(answers[name]).tolist() for name in answers.columns]
        return object_vector(cell for cells in zip(*columns) for cell in cells), (len(answers), len(columns))
    cells: Any = []
    shape: tuple[int, ...] = ()
    if isinstance(answers, np.ndarray | memoryview):
        cells, shape = np.asanyarray(answers).ravel(), np.asanyarray(answers).shape
    elif rows := _list_cells(answers):
        lengths = [len(row) for row in rows]
        for i, length in enumerate(lengths):
            if length != lengths[0]:
                got = f"got {length} answers; other rows have {lengths[0]}. Use None for a missing answer."
                raise LabelError(got, row=i)
        cells, shape = [cell for row in rows for cell in row], (len(rows), lengths[0])
    if len(shape) != 2:
        raise LabelError(
            "`answers` must be a table of shape (n_rows, n_annotators), with a row for each item and a column for each "
            f"annotator; got {f'shape {shape}' if shape else type(answers).__name__}."
        )
    return label_vector(cells), shape


def _list_cells(table: Any) -> list[list[Any]]:
    """Return the cells of a sequence of rows, none if these are not sequences."""
    with contextlib.suppress(TypeError, NotImplementedError):  # the latter from some sparse formats
        rows = list(table)
        if not any(isinstance(row, str | bytes | set | Mapping) for row in rows):
            return [list(row) for row in rows]
    return []


def encode_cells(cells: Any, n_columns: int, classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the code of each cell, -1 for no answer, the distinct answers as sets, (D, K), and the classes.

    Errors name the row and, if there are several, the column of the cell. A class that consists of others separated by
    "|", as a set in a text, has a warning if `classes` are not given.
    """
    listed = cells.tolist()
    if classes is None and all(is_missing(value) or is_minus_one(value) for value in listed):
        raise LabelError("`answers` must contain at least one answer.")
    try:
        if cells.dtype.kind == "O" and has_collections(listed):
            code, sets, known = _encode_sets(listed, classes)
        else:
            code, known = encode_labels(cells, classes)
            sets = np.eye(len(known), dtype=bool)
    except LabelError as error:
        if error.cause == "types" and n_columns > 2:
            remedy = "If each line is an answer, pass the columns to Answers.from_records(rows, annotators, answers)."
            raise error.because(f"{error.reason} {remedy}") from None
        if error.row is None or n_columns == 1:
            raise
        row, column = divmod(error.row, n_columns)
        raise LabelError(error.reason, label=error.label, cause=error.cause, row=row, column=column) from None
    names = set(known.tolist())
    texts = [label for label in known.tolist() if isinstance(label, str) and "|" in label]
    for label in [text for text in texts if classes is None and names.issuperset(text.split("|"))][:1]:
        warn(f"{label!r} is read as one class. If it is a set, split the text: the answer is then {label.split('|')}.")
    return code, sets, known


def _encode_sets(cells: list[Any], classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the codes of cells of which some are sets; see `encode_cells`."""
    code = np.full(len(cells), MISSING)
    distinct: dict[frozenset[Any], int] = {}
    for i, members in enumerate(as_sets(cells, classes)):
        if members is None:
            continue
        if not len(members):
            raise LabelError("the answer is an empty set. Use None for no answer.", row=i, cause="empty set")
        if not all(map(is_hashable, members)):
            raise LabelError(f"{cells[i]!r} is not a label or a set of labels.", row=i, label=cells[i])
        code[i] = distinct.setdefault(frozenset(members), len(distinct))
    try:
        sets, known = encode_sets(list(distinct), classes)
    except LabelError as error:
        first = 0 if error.row is None else int(np.argmax(code == error.row))
        raise (error if error.row is None else error.at(first_row=first - error.row)) from None
    return code, sets, known


def encode_answers(answers: Any, classes: Any) -> EncodedAnswers:
    """Return the codes of an (items, annotators) table of labels and sets, or those of `oneof.crowd.Answers`."""
    if hasattr(answers, "to_codes"):
        codes: EncodedAnswers = answers.to_codes()
        check_classes(classes, codes.classes)
        return codes
    if hasattr(answers, "columns") and {"row", "annotator", "answer"} <= set(answers.columns):
        raise LabelError(
            "`answers` must be a table with a column for each annotator; got records. Pass "
            "oneof.crowd.Answers.from_records(answers, index=...), with the names of the rows in order."
        )
    return encode_table(answers, classes)


def encode_table(table: Any, classes: Any) -> EncodedAnswers:
    """Return the codes of an (items, annotators) table of labels and sets."""
    cells, shape = read_table(table)
    code, sets, known = encode_cells(cells, shape[1], classes)
    given = np.flatnonzero(code != MISSING)
    row, annotator = np.divmod(given, max(shape[1], 1))
    return EncodedAnswers(row, annotator, code[given], sets, known, shape)


def other_columns(codes: EncodedAnswers) -> Ints:
    """Return the columns of a table that are not those of annotators, such as names, dates and comments.

    The annotators are the largest group of columns with common labels; of equal ones that with fewer labels. Another
    column of at least `MIN_CELLS` cells is excluded if fewer than `MIN_KNOWN_CELLS` of them have such a label. If fewer
    than two columns would be left, only columns of at least `MIN_NAMES` different cells are. A column with one label
    and empty cells has the votes of a rule.
    """
    (n_rows, n_columns), sets = codes.shape, codes.sets.astype(np.int64)
    ones = np.ones(len(codes.row), dtype=np.int64)
    times = sp.csr_array((ones, (codes.annotator, codes.answer)), shape=(n_columns, len(sets)))
    labels = sp.csr_array((times @ sets > 0).astype(np.int64))  # (n_columns, n_classes)
    group_of = connected_components(labels @ labels.T, directed=False)[1]
    members = np.eye(n_columns, dtype=np.int64)[group_of][:, : group_of.max(initial=-1) + 1]
    sizes, n_labels = members.sum(axis=0), ((labels.T @ members) > 0).sum(axis=0)
    in_group = group_of == np.lexsort((n_labels, -sizes))[0]
    n_members = labels[in_group].sum(axis=0)
    n_known, n_shared = (times @ (sets @ shared > 0) for shared in (n_members > 1, n_members > 0))
    n_known = np.where(in_group, n_known, n_shared)
    n_cells, n_distinct = times.sum(axis=1), (times > 0).sum(axis=1)
    is_rule = (labels.sum(axis=1) == 1) & (n_cells < n_rows)
    is_other = ~is_rule & (n_cells >= MIN_CELLS) & (n_known < MIN_KNOWN_CELLS * n_cells)
    if n_columns - is_other.sum() >= 2:
        return np.flatnonzero(is_other)
    is_name = is_other & (n_known == 0) & (n_distinct == n_cells) & (n_cells >= MIN_NAMES)
    return np.flatnonzero(is_name)[: n_columns - 1]
