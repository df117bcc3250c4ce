"""Conversion of every form of supervision that `fit` accepts into candidate sets."""

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.cells import lists_as_text
from oneof.candidates.labels import (
    as_classes,
    codes_to_mask,
    encode_labels,
    label_vector,
    labels_with_weights,
    pack_classes,
    without_minus_one_warning,
)
from oneof.candidates.readers.collections import is_collection
from oneof.candidates.readers.indicator import is_frame
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
    if sp.issparse(y):
        return CandidateSets.from_indicator(y, classes=classes)
    if hasattr(y, "column_names") and hasattr(y, "to_pydict"):  # an Arrow table
        candidates = CandidateSets.from_indicator(y)
        return candidates if classes is None else _align_columns(candidates, classes)
    if is_frame(y):
        return _read_frame(y, classes)
    if not isinstance(y, np.ndarray) and hasattr(y, "__array__") and not hasattr(y, "to_numpy"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return _read_matrix(y, classes)
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise LabelError(f"y should be a 1d array of labels or a 2-D 0/1 indicator; got {y.ndim} dimensions.")
    return _read_vector(y, classes)


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


def _read_frame(y: Any, classes: Labels | None) -> CandidateSets:
    if y.shape[1] == 1:
        _warn_column_vector()
        name = y.columns[0]
        return _read_vector(y[name], classes)
    candidates = CandidateSets.from_indicator(y)
    return candidates if classes is None else _align_columns(candidates, classes)


def _align_columns(candidates: CandidateSets, classes: Labels) -> CandidateSets:
    """Return the sets of a table over the given classes, which must include its columns."""
    unknown = [name for name in candidates.classes.tolist() if name not in set(classes.tolist())]
    if unknown:
        names = ", ".join(map(repr, classes.tolist()))
        raise LabelError(
            f"column {unknown[0]!r} of y is not one of the classes {names}.", label=unknown[0], cause="unknown label"
        )
    return align(candidates, classes)


def _read_matrix(y: np.ndarray[Any, Any], classes: Labels | None) -> CandidateSets:
    if y.shape[1] == 1:
        _warn_column_vector()
        return _read_vector(y.ravel(), classes)
    return CandidateSets.from_indicator(y, classes=classes)


def _read_vector(y: Any, classes: Labels | None) -> CandidateSets:
    values = label_vector(y)
    if values.dtype.kind == "O" and any(is_collection(value) for value in values):
        _warn_of_indicator_in_lists(values)
        return CandidateSets.from_sets(values, classes=classes)
    codes, known = encode_labels(values, classes, signs="warn")
    if classes is None:
        _warn_of_joined_labels(known.tolist())
    return CandidateSets._from_validated(codes_to_mask(codes, len(known)), known)


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
