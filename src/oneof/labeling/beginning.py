"""What a session begins with: rows, classes, what is known of the rows, and how both are recognized later."""

import hashlib
import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.errors import InputError, reraise_as_input_error
from oneof.labeling.table import LabelTable
from oneof.typing import FeatureMatrix, Labels


def read_rows(X: Any) -> FeatureMatrix:
    """Return what the model sees of the rows; all of it is finite."""
    with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
        rows: FeatureMatrix = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    return rows


def read_start(y: Any, classes: Any, n_rows: int) -> CandidateSets:
    """Return what is known of the rows beforehand; without `y` nothing is.

    Raises
    ------
    InputError
        If neither names the classes, there is but one, or `y` is not as long as there are rows.
    """
    if y is None:
        if classes is None:
            raise InputError("nothing says which classes there are: give y, or classes.")
        named = as_classes(classes)
        start = CandidateSets(np.ones((n_rows, len(named)), dtype=bool), named)
    else:
        start = as_candidates(y, classes=None if classes is None else as_classes(classes))
    if len(start) != n_rows:
        raise InputError(f"X has {n_rows} rows, but y has {len(start)} sets: give one for each row.")
    if start.shape[1] < 2:
        raise InputError(f"there is but one class, {start.classes.tolist()[0]!r}: name at least two.")
    return start


def describe(rows: FeatureMatrix, table: LabelTable | None, classes: Labels) -> dict[str, str]:
    """Return what a file of answers must have been begun with: a digest of the rows, and the classes."""
    digest = _fingerprint(rows) if table is None else table.fingerprint()
    return {"rows": digest, "classes": json.dumps([str(name) for name in classes.tolist()])}


def _fingerprint(rows: FeatureMatrix) -> str:
    parts = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,)
    digest = hashlib.sha256(repr(rows.shape).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
