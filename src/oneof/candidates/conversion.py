"""Conversion of every form of supervision that `fit` accepts into candidate sets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.candidates.cells import lists_as_text
from oneof.candidates.encoding import codes_to_mask, distinct_labels, encode_labels
from oneof.candidates.labels import (
    as_classes,
    has_collections,
    is_collection,
    is_missing,
    label_vector,
    labels_with_weights,
    pack_classes,
    without_minus_one_warning,
)
from oneof.candidates.matrices import is_arrow_table, is_frame
from oneof.candidates.sets import CandidateSets, align
from oneof.errors import LabelError
from oneof.messages import warn
from oneof.typing import Labels


def as_candidates(y: Any, *, classes: Labels | None = None) -> CandidateSets:
    """Convert labels in any form of supervision to candidate sets.

    Parameters
    ----------
    y : array-like, sparse matrix, DataFrame or CandidateSets
        One label per row (1-D), one collection of labels per row (a list or 1-D array of them), a 0/1 indicator of
        shape (n_samples, n_classes) (2-D array, CSR, DataFrame), or candidate sets, with or without weights. A vector
        of -1 and +1 alone is read as two classes, with a warning.
    classes : ndarray of shape (n_classes,), optional
        The classes of the result; by default those of `y`.

    Returns
    -------
    CandidateSets
        Over `classes`, if given.

    Raises
    ------
    LabelError
        If `y` cannot be read; the message names the row.
    """
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None. Pass labels or candidate sets."
        )
    if isinstance(y, CandidateSets):
        return y if classes is None else align(y, classes)
    if not isinstance(y, np.ndarray) and hasattr(y, "__array__") and not (hasattr(y, "to_numpy") or is_arrow_table(y)):
        y = np.asarray(y)
    if _is_indicator(y):
        if classes is None or not (is_frame(y) or is_arrow_table(y)):
            return CandidateSets.from_indicator(y, classes=classes)
        return align(CandidateSets.from_indicator(y), classes)  # by the names of the columns
    column = _as_column(y)
    if column is not y:
        _warn_column_vector()
    values = label_vector(column)
    if values.dtype.kind == "O" and has_collections(values.tolist()):
        _warn_of_indicator_in_lists(values)
        return CandidateSets.from_sets(values, classes=classes)
    codes, known = encode_labels(values, classes, signs="warn")
    if classes is None:
        _warn_of_joined_labels(known.tolist())
    return CandidateSets._from_validated(codes_to_mask(codes, len(known)), known)


def _is_indicator(y: Any) -> bool:
    """Return whether `y` is a matrix or a table with a column for each class."""
    is_matrix = is_frame(y) or (isinstance(y, np.ndarray) and y.ndim == 2)
    return sp.issparse(y) or is_arrow_table(y) or (is_matrix and y.shape[1] != 1)


def _as_column(y: Any) -> Any:
    """Return the only column of a table or matrix; any other labels are returned as they are."""
    if is_frame(y):
        return y[y.columns[0]]
    return y.ravel() if isinstance(y, np.ndarray) and y.ndim == 2 else y


def expand_to_predicted(y: Any, predicted: list[Any], classes: Any) -> CandidateSets:
    """Convert labels to the candidate sets on which predictions are evaluated.

    The classes are the given ones and any further labels of `y` or of the predictions: a label not seen in fit is never
    covered, but it is not an error.
    """
    known = None if classes is None else as_classes(classes)
    if isinstance(y, CandidateSets):
        if known is not None and not set(y.classes.tolist()) & set(known.tolist()):
            raise LabelError(
                f"the candidate sets have the class {y.classes.tolist()[0]!r} and others, none of which is among the "
                f"classes {known.tolist()[0]!r} and others. Give fit and the metric sets over the same classes."
            )
        return y
    is_table = hasattr(y, "columns")
    if not is_table and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:  # an indicator without class names
        return as_candidates(y, classes=known)
    try:
        if known is not None:
            return as_candidates(y, classes=known)
    except LabelError:
        pass  # `y` has further labels
    with without_minus_one_warning():  # a prediction of -1 makes it a class
        own = as_candidates(y)
    if is_table and own.shape[1] == y.shape[1] > 1:
        return own
    union = list(dict.fromkeys([*own.classes.tolist(), *(predicted if known is None else known.tolist())]))
    return as_candidates(y, classes=pack_classes(union)) if len(union) > own.shape[1] else own


def _warn_of_joined_labels(labels: list[Any]) -> None:
    """Warn if a label is a set written as text, or has a weight."""
    if lists := lists_as_text(labels):
        warn(
            f"{lists[0]!r} is read as one class. If it is a list of labels written as text, pass "
            "CandidateSets.from_strings(y, separator='[]').",
        )
        return
    if len(pairs := labels_with_weights(labels)) > 1:
        warn(
            f"{pairs[0]!r} is read as one class: pass CandidateSets.from_strings(y, weighted=True) if the number is a "
            "weight.",
        )
        return
    members = {text: text.split("|") for text in labels if isinstance(text, str) and "|" in text}
    count = Counter(member for listed in members.values() for member in set(listed))
    count.update(labels)
    for text, listed in members.items():
        if any(count[member] > 1 for member in listed):
            warn(
                f"{text!r} is read as one class: pass CandidateSets.from_strings(y) if it is a set of {len(listed)}.",
            )
            return


def _warn_of_indicator_in_lists(values: np.ndarray[Any, Any]) -> None:
    """Warn if all rows are lists of equal length of 0 and 1, which may be an indicator."""
    first = values[0]
    if not isinstance(first, list | tuple) or len(first) < 3:
        return
    if all(isinstance(v, list | tuple) and len(v) == len(first) and {0, 1}.issuperset(v) for v in values):
        warn(
            f"every row of y is a list of {len(first)} zeros and ones, read as sets of the labels 0 and 1: "
            "pass np.asarray(y) if it is an indicator.",
        )


def _warn_column_vector() -> None:
    from sklearn.exceptions import DataConversionWarning

    warn(
        "A column-vector y was passed when a 1d array was expected. It is read as one label per row; "
        "pass y.ravel() to silence this.",
        DataConversionWarning,
    )


# -- the classes of several blocks -------------------------------------------------------------------------------------
#
# A block may contain few classes, and the meaning of a label may depend on the other blocks. For example, -1 is a class
# if the only other label is +1, and marks a missing label if there are other numbers. Therefore the distinct values of
# all blocks are read together, as if the blocks were concatenated.


class LabelValues(NamedTuple):
    """The distinct values in one block of labels."""

    columns: Labels | None
    """The classes of an indicator or of candidate sets."""
    labels: Any
    """The distinct single labels, including the marks of a missing label."""
    members: list[Any]
    """The distinct members of collections."""


def collect_values(y: Any) -> LabelValues:
    """Return the values in a block of labels, in any form that `as_candidates` accepts."""
    if isinstance(y, CandidateSets) or _is_indicator(y):
        return LabelValues(as_candidates(y).classes, [], [])
    values = label_vector(_as_column(y))
    if values.dtype.kind in "iufb":
        return LabelValues(None, np.unique(values), [])
    listed = values.tolist()
    if any(isinstance(value, Mapping) for value in listed):
        distinct_labels(listed)  # raises, since a mapping is not a label
    members = {member for value in listed if is_collection(value) for member in value}
    labels = dict.fromkeys(None if is_missing(value) else value for value in listed if not is_collection(value))
    return LabelValues(None, list(labels), list(members))


def common_classes(blocks: Sequence[LabelValues]) -> Labels:
    """Return the union of the classes of all blocks.

    Raises
    ------
    LabelError
        If the columns of the blocks differ, or a label is invalid.
    """
    first = blocks[0].columns
    for number, block in enumerate(blocks):
        if (block.columns is None) != (first is None) or not np.array_equal(_columns(block), _columns(blocks[0])):
            raise LabelError(
                f"block {number} of y has the columns {_format_columns(block)}, block 0 {_format_columns(blocks[0])}. "
                "Give all blocks the same columns."
            )
    if first is not None:
        return first
    if all(isinstance(block.labels, np.ndarray) for block in blocks):
        with without_minus_one_warning():  # each label occurs once here
            return as_candidates(np.unique(np.concatenate([block.labels for block in blocks]))).classes
    labels = list(dict.fromkeys(label for block in blocks for label in _listed(block.labels)))
    members = dict.fromkeys(member for block in blocks for member in block.members)
    with without_minus_one_warning():
        return as_candidates([*labels, *([member] for member in members)]).classes


def _listed(labels: Any) -> list[Any]:
    return [None if is_missing(label) else label for label in np.asarray(labels, dtype=object).tolist()]


def _columns(block: LabelValues) -> list[Any]:
    return [] if block.columns is None else block.columns.tolist()


def _format_columns(block: LabelValues) -> str:
    return "(not an indicator)" if block.columns is None else ", ".join(map(repr, _columns(block)))
