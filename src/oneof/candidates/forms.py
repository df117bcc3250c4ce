"""Any form of supervision that `fit` takes, recognized and read."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.indicator import is_frame
from oneof.candidates.labels import as_classes, encode_labels, label_vector, mask_of_codes, pack_classes
from oneof.candidates.named_sets import is_collection
from oneof.candidates.sets import CandidateSets
from oneof.errors import LabelError
from oneof.typing import Labels


def as_candidates(y: Any, *, classes: Labels | None = None) -> CandidateSets:
    """Read any form of supervision.

    Parameters
    ----------
    y : array-like, sparse matrix, DataFrame or CandidateSets
        One label a row (1-D), one collection of labels a row (a list or 1-D array of them), a 0/1 indicator of shape
        (n_samples, n_classes) (2-D array, CSR, DataFrame), or candidate sets. A vector of -1 and +1 alone is read as
        two classes, with a warning.
    classes : ndarray of shape (n_classes,), optional
        The classes that the sets are over; by default those of `y`.

    Returns
    -------
    CandidateSets
        Over `classes` where they are given.

    Raises
    ------
    LabelError
        If `y` cannot be read; the message names the row.
    """
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None: pass labels or candidate sets."
        )
    if isinstance(y, CandidateSets):
        return y if classes is None else align(y, classes)
    if sp.issparse(y):
        return CandidateSets.from_indicator(y, classes=classes)
    if hasattr(y, "column_names") and hasattr(y, "to_pydict"):  # an Arrow table
        found = CandidateSets.from_indicator(y)
        return found if classes is None else _over_named(found, classes)
    if is_frame(y):
        return _read_frame(y, classes)
    if not isinstance(y, np.ndarray) and hasattr(y, "__array__") and not hasattr(y, "to_numpy"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return _read_matrix(y, classes)
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise LabelError(f"y should be a 1d array of labels or a 0/1 indicator with two dimensions, got {y.ndim}.")
    return _read_vector(y, classes)


def align(candidates: CandidateSets, classes: Labels) -> CandidateSets:
    """Return the same sets over other classes, which must include every class that a set names.

    A row that was unlabeled stays unlabeled, also where there are now more classes.
    """
    if np.array_equal(candidates.classes, classes):
        return candidates
    column = {value: k for k, value in enumerate(classes.tolist())}
    silent = candidates.is_unlabeled
    mask = np.zeros((len(candidates), len(classes)), dtype=bool)
    for k, value in enumerate(candidates.classes.tolist()):
        if value in column:
            mask[:, column[value]] = candidates.mask[:, k]
        elif (candidates.mask[:, k] & ~silent).any():
            row = int(np.flatnonzero(candidates.mask[:, k] & ~silent)[0])
            raise LabelError(f"row {row}: label {value!r} is not one of the {len(classes)} classes that were learned.")
    mask[silent] = True
    return CandidateSets._wrap(mask, classes)


def over_all_labels(y: Any, predicted: list[Any], classes: Any) -> CandidateSets:
    """Read the sets that predictions are judged by.

    They are over the given classes, and over further labels where `y` or the predictions name some: a label that was
    not learned is never covered, but no reason to refuse the judgment.
    """
    known = None if classes is None else as_classes(classes)
    if isinstance(y, CandidateSets):
        if known is not None and not set(y.classes.tolist()) & set(known.tolist()):
            raise LabelError(
                f"the candidate sets are over {y.classes.tolist()[0]!r} and others, none of which is among the classes "
                f"{known.tolist()[0]!r} and others: give fit and the metric sets over the same classes."
            )
        return y
    framed = hasattr(y, "columns")
    if not framed and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:  # an indicator, which names no labels
        return as_candidates(y, classes=known)
    try:
        if known is not None:
            return as_candidates(y, classes=known)
    except LabelError:
        pass  # `y` names further labels
    own = as_candidates(y)
    if framed and own.shape[1] == y.shape[1] > 1:
        return own
    union = list(dict.fromkeys([*own.classes.tolist(), *(predicted if known is None else known.tolist())]))
    return as_candidates(y, classes=pack_classes(union)) if len(union) > own.shape[1] else own


def _read_frame(y: Any, classes: Labels | None) -> CandidateSets:
    if y.shape[1] == 1:
        _warn_column_vector()
        name = y.columns[0]
        return _read_vector(y[name], classes)
    found = CandidateSets.from_indicator(y)
    return found if classes is None else _over_named(found, classes)


def _over_named(found: CandidateSets, classes: Labels) -> CandidateSets:
    """Return the sets of named columns over the given classes, which must include the columns."""
    unknown = [name for name in found.classes.tolist() if name not in set(classes.tolist())]
    if unknown:
        listed = ", ".join(map(repr, classes.tolist()))
        raise LabelError(f"column {unknown[0]!r} of y is not one of the classes {listed}.")
    return align(found, classes)


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
    codes, found = encode_labels(values, classes, signs="warn")
    if classes is None:
        _warn_of_joined_labels(found.tolist())
    return CandidateSets._wrap(mask_of_codes(codes, len(found)), found)


def _warn_of_joined_labels(labels: list[Any]) -> None:
    """Warn where labels are others with a bar between, as tables write sets."""
    parts = {text: text.split("|") for text in labels if isinstance(text, str) and "|" in text}
    count = Counter(part for listed in parts.values() for part in set(listed))
    count.update(labels)
    for text, listed in parts.items():
        if any(count[part] > 1 for part in listed):
            warnings.warn(
                f"{text!r} is read as one class: pass CandidateSets.from_strings(y) if it is a set of {len(listed)}.",
                UserWarning,
                stacklevel=4,
            )
            return


def _warn_of_indicator_in_lists(values: np.ndarray[Any, Any]) -> None:
    """Warn where lists of equal length that hold only 0 and 1 look like an indicator."""
    first = values[0]
    if not isinstance(first, list | tuple) or len(first) < 3:
        return
    if all(isinstance(v, list | tuple) and len(v) == len(first) and {0, 1}.issuperset(v) for v in values):
        warnings.warn(
            f"every row of y is a list of {len(first)} zeros and ones, read as sets of the labels 0 and 1: "
            "pass np.asarray(y) if it is an indicator.",
            UserWarning,
            stacklevel=3,
        )


def _warn_column_vector() -> None:
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. It is read as one label a row; "
        "pass y.ravel() to silence this.",
        DataConversionWarning,
        stacklevel=3,
    )
