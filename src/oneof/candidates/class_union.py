"""The classes of labels that come in several blocks, as if the blocks were concatenated.

A block may contain few classes, and the meaning of a label may depend on the other blocks. For example, -1 is a class
if the only other label is +1, and marks a missing label if there are other numbers. Therefore the distinct values of
all blocks are read together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.candidates.conversion import as_candidates
from oneof.candidates.labels import distinct_labels, is_missing, label_vector, without_minus_one_warning
from oneof.candidates.readers.collections import is_collection
from oneof.candidates.readers.indicator import is_frame
from oneof.candidates.sets import CandidateSets
from oneof.errors import LabelError
from oneof.typing import Labels


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
    wide = (is_frame(y) or getattr(y, "ndim", 1) == 2) and y.shape[1] != 1
    if isinstance(y, CandidateSets) or sp.issparse(y) or wide:
        return LabelValues(as_candidates(y).classes, [], [])
    if is_frame(y):
        y = y[y.columns[0]]
    values = label_vector(y.ravel() if isinstance(y, np.ndarray) else y)
    if values.dtype.kind in "iufb":
        return LabelValues(None, np.unique(values), [])
    listed = values.tolist()
    if any(isinstance(value, Mapping) for value in listed):
        distinct_labels(listed, range(len(listed)))  # raises, since a mapping is not a label
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
