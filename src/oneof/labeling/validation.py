"""Validation of the arguments of a session."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.errors import InputError, InputTypeError, LabelError, reraise_as_input_error
from oneof.labeling.content.table import LabelTable
from oneof.labeling.scheduler import DOUBLE_ANNOTATED, Question
from oneof.typing import FeatureMatrix, Ints, Labels
from oneof.validation import check_positive, to_native, unmask

COMBINATIONS = ("votes", "model")
"""Combinations of the answers of several annotators: candidate sets by votes, or weights by the model."""


def check_rows(X: Any) -> FeatureMatrix:
    """Return the features as a finite float array or CSR matrix."""
    with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
        rows: FeatureMatrix = check_array(unmask(X), accept_sparse="csr", dtype=[np.float64, np.float32])
    return to_native(rows)


def check_start(y: Any, classes: Any, n_rows: int) -> CandidateSets:
    """Return the initial candidate sets; without `y` every row is unlabeled.

    Raises
    ------
    InputError
        If neither `y` nor `classes` is given, if there is only one class, or if `y` has another length than `X`.
    """
    if y is None:
        if classes is None:
            raise InputError("`y` or `classes` must be given, to define the classes; got neither.")
        named = as_classes(classes)
        start = CandidateSets(np.ones((n_rows, len(named)), dtype=bool), named)
    else:
        start = as_candidates(y, classes=None if classes is None else as_classes(classes))
    if len(start) != n_rows:
        raise InputError(f"`y` must have one set per row of `X` ({n_rows}); got {len(start)} sets.")
    if start.shape[1] < 2:
        raise InputError(f"`classes` must have at least two classes; got only {start.classes.tolist()[0]!r}.")
    return start


def session_metadata(rows: FeatureMatrix, table: LabelTable | None, classes: Labels) -> dict[str, str]:
    """Return a digest of the rows and the classes, which an existing file of answers must match."""
    digest = _fingerprint(rows) if table is None else table.fingerprint()
    return {"rows": digest, "classes": json.dumps([str(name) for name in classes.tolist()])}


class NewClassesWarning(UserWarning):
    """Warning that the classes of a session include classes that its file of answers does not have."""


def describe_new_classes(names: Sequence[str]) -> str:
    """Return a sentence about classes that are added to a file of answers."""
    added, chosen = ("is a new class", "it") if len(names) == 1 else ("are new classes", "them")
    return (
        f"{', '.join(map(repr, names))} {added} of the session. All answers are kept, and none of them chose {chosen}: "
        f"open the rows again whose label may be {chosen}."
    )


def _fingerprint(rows: FeatureMatrix) -> str:
    """Return a digest of the features."""
    arrays = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,)
    digest = hashlib.sha256(repr(rows.shape).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def check_table(table: Any, n_rows: int) -> None:
    """Raise unless `table` is None or a LabelTable with one row per row of `X`."""
    if table is None:
        return
    if not isinstance(table, LabelTable):
        raise InputTypeError(f"`table` must be a oneof.labeling.LabelTable or None; got {type(table).__name__}.")
    if table.frame.height != n_rows:
        raise InputError(f"`table` must have one row per row of `X` ({n_rows}); got {table.frame.height} rows.")


def check_name(annotator: Any) -> None:
    """Raise unless `annotator` is a name of 1 to 100 characters."""
    if not isinstance(annotator, str) or not annotator.strip() or len(annotator) > 100:
        raise InputError(f"`annotator` must be a name of 1 to 100 characters; got {annotator!r}.")


def check_excluded(names: Any) -> frozenset[str]:
    """Return the names of the excluded annotators."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InputTypeError(f"`exclude_annotators` must be a collection of names; got {names!r}.")
    for name in names:
        check_name(name)
    return frozenset(names)


def check_window(annotator: Any, window: Any, excluded: Collection[str] = ()) -> None:
    """Raise unless `annotator` is a name that is not excluded, and `window` is text."""
    check_name(annotator)
    if annotator in excluded:
        raise InputError(f"`annotator` must not be excluded (`exclude_annotators`); got {annotator!r}.")
    check_text("window", window)


def check_text(name: str, value: Any) -> None:
    """Raise unless a parameter is text."""
    if not isinstance(value, str):
        raise InputTypeError(f"`{name}` must be text; got {value!r}.")


def _is_row(row: Any, n_rows: int) -> bool:
    return isinstance(row, int | np.integer) and not isinstance(row, bool) and bool(0 <= row < n_rows)


def check_row(row: Any, n_rows: int) -> None:
    """Raise unless `row` is a valid row index."""
    if not _is_row(row, n_rows):
        raise InputError(f"`row` must be an integer from 0 to {n_rows - 1}; got {row!r}.")


def check_queue(queue: Any, n_rows: int) -> Ints | None:
    """Return distinct row indices, or None."""
    if queue is None:
        return None
    rows = np.asarray(queue)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InputError(f"`queue` must be a list of row indices; got {queue!r}.")
    for row in rows.tolist():
        if not 0 <= row < n_rows:
            raise InputError(f"`queue` must contain row indices from 0 to {n_rows - 1}; got {row!r}.")
    if len(np.unique(rows)) < len(rows):
        raise InputError("`queue` must contain each row once.")
    return rows.astype(np.int64)


def check_question(question: Any, n_rows: int) -> None:
    """Raise unless `question` is a Question with a valid row; it may come from another session."""
    if not isinstance(question, Question):
        raise InputTypeError(f"`question` must be a result of `ask` or `question_for`; got {question!r}.")
    check_row(question.row, n_rows)


def check_gold(gold: Any, classes: Labels, n_rows: int) -> dict[int, int]:
    """Return the code of the known label of each gold row.

    Parameters
    ----------
    gold : dict of int to label, or None
    classes : ndarray of shape (n_classes,)
    n_rows : int

    Raises
    ------
    InputError, InputTypeError, LabelError
        If `gold` is not a mapping, has a row out of range, or a label that is not one class.
    """
    if gold is None:
        return {}
    if not isinstance(gold, Mapping):
        raise InputTypeError(f"`gold` must be a dict of row to label, or None; got {type(gold).__name__}.")
    codes = {str(name): k for k, name in enumerate(as_classes(classes).tolist())}
    known = {}
    for row, label in gold.items():
        if not _is_row(row, n_rows):
            raise InputError(f"`gold` must have row indices from 0 to {n_rows - 1} as keys; got {row!r}.")
        if str(label) not in codes:
            listed = ", ".join(list(codes)[:8])
            raise LabelError(f"`gold` must have one of the classes {listed} for row {row}; got {label!r}.")
        known[int(row)] = codes[str(label)]
    return known


def check_assignment(annotations_per_item: Any, max_annotations: Any, double_annotated: Any) -> dict[str, Any]:
    """Return the numbers of answers of a row, and the fraction of double-annotated rows, as arguments of `Assignment`.

    Parameters
    ----------
    annotations_per_item : int
    max_annotations : int or None
        None is `annotations_per_item`.
    double_annotated : float or None
        None is 0.2 if the number of answers is adaptive, otherwise 0.

    Raises
    ------
    InputError
        If `max_annotations` is below `annotations_per_item`, or `double_annotated` is not in [0, 1].
    """
    check_positive("annotations_per_item", annotations_per_item, integer=True)
    maximum = annotations_per_item if max_annotations is None else max_annotations
    check_positive("max_annotations", maximum, integer=True)
    if maximum < annotations_per_item:
        raise InputError(
            f"`max_annotations` must be at least `annotations_per_item` ({annotations_per_item}); got {maximum}."
        )
    if double_annotated is None:
        double_annotated = DOUBLE_ANNOTATED if maximum > annotations_per_item else 0.0
    check_positive("double_annotated", double_annotated, allow_zero=True)
    if double_annotated > 1:
        raise InputError(f"`double_annotated` must be a fraction from 0 to 1; got {double_annotated!r}.")
    return {"minimum": int(annotations_per_item), "maximum": int(maximum), "double_annotated": float(double_annotated)}
