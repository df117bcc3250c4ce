"""The classes of labels that come in parts, read as if they stood in one place.

A part by itself may name few classes, and its labels may mean something else than all of them do: -1 beside +1 alone is
a class, beside other numbers it marks a missing label. So the distinct values of all parts are read together.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.candidates.forms import as_candidates
from oneof.candidates.indicator import is_frame
from oneof.candidates.labels import is_missing, label_vector
from oneof.candidates.named_sets import is_collection
from oneof.candidates.sets import CandidateSets
from oneof.errors import LabelError
from oneof.typing import Labels


class NamedValues(NamedTuple):
    """The values that a part holds."""

    columns: Labels | None
    """The classes of an indicator or of candidate sets."""
    labels: Any
    """What stands by itself: the distinct labels, and what marks a missing one."""
    members: list[Any]
    """Labels that stand in collections."""


def named_values(y: Any) -> NamedValues:
    """Return the values that a part of the labels holds, in any form that `as_candidates` takes."""
    wide = (is_frame(y) or getattr(y, "ndim", 1) == 2) and y.shape[1] != 1
    if isinstance(y, CandidateSets) or sp.issparse(y) or wide:
        return NamedValues(as_candidates(y).classes, [], [])
    if is_frame(y):
        y = y[y.columns[0]]
    values = label_vector(y.ravel() if isinstance(y, np.ndarray) else y)
    if values.dtype.kind in "iufb":
        return NamedValues(None, np.unique(values), [])
    listed = values.tolist()
    members = {member for value in listed if is_collection(value) for member in value}
    labels = dict.fromkeys(None if is_missing(value) else value for value in listed if not is_collection(value))
    return NamedValues(None, list(labels), list(members))


def common_classes(parts: Sequence[NamedValues]) -> Labels:
    """Return the classes that all parts together name.

    Raises
    ------
    LabelError
        If their columns differ, or the labels cannot be read.
    """
    first = parts[0].columns
    for number, part in enumerate(parts):
        if (part.columns is None) != (first is None) or not np.array_equal(_columns(part), _columns(parts[0])):
            raise LabelError(
                f"block {number} of y names the columns {_shown(part)}, block 0 {_shown(parts[0])}: give all blocks "
                "the same columns."
            )
    if first is not None:
        return first
    if all(isinstance(part.labels, np.ndarray) for part in parts):
        return as_candidates(np.unique(np.concatenate([part.labels for part in parts]))).classes
    labels = list(dict.fromkeys(label for part in parts for label in _listed(part.labels)))
    members = dict.fromkeys(member for part in parts for member in part.members)
    return as_candidates([*labels, *([member] for member in members)]).classes


def _listed(labels: Any) -> list[Any]:
    return [None if is_missing(label) else label for label in np.asarray(labels, dtype=object).tolist()]


def _columns(part: NamedValues) -> list[Any]:
    return [] if part.columns is None else part.columns.tolist()


def _shown(part: NamedValues) -> str:
    return "of no indicator" if part.columns is None else ", ".join(map(repr, _columns(part)))
