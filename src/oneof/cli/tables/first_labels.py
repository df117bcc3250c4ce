"""First labels of rows with weights, and the labels that a row names, both by `PreparedTable.written_weights`."""

import numpy as np

from oneof.audit.label_issues import widen
from oneof.cli.tables.inputs import PreparedTable
from oneof.comparison.folds import columns_of
from oneof.report import FirstLabelRate
from oneof.typing import Floats, Ints, Mask

UNKNOWN = -1
"""Code of an unknown true label."""


def named_classes(prepared: PreparedTable) -> Mask | None:
    """Return the classes that rows name, (n, K), if the others have the weight of a rest; None without rest.

    A row that names no class has all its candidates.
    """
    if not prepared.has_rest:
        return None
    candidates, named = prepared.candidates, _names(prepared)
    nameless = ~named.any(axis=1)
    named[nameless] = candidates.mask[nameless]
    return named


def nameless_rows(prepared: PreparedTable) -> Mask:
    """Return the mask of the rows with weights that name no class, (n,), such as those of a rest alone."""
    if not prepared.has_rest:
        return np.zeros(len(prepared.candidates), dtype=bool)
    return prepared.candidates.is_weighted & ~_names(prepared).any(axis=1)


def _names(prepared: PreparedTable) -> Mask:
    """Return the candidates with a weight in the table, (n, K)."""
    return (prepared.written_weights > 0) & prepared.candidates.mask


def excluded_rows(prepared: PreparedTable) -> Mask | None:
    """Return the mask of the rows that are not audited, which are checked or name no class; None without such rows."""
    nameless = nameless_rows(prepared)
    excluded = nameless if prepared.is_checked is None else nameless | prepared.is_checked
    return excluded if excluded.any() or prepared.is_checked is not None else None


def first_labels(weights: Floats) -> Ints:
    """Return the code of the largest weight of each row, (n,); -1 if several are equal, as those of a row of zeros."""
    is_tied = (weights == weights.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(is_tied, -1, weights.argmax(axis=1))


def describe_first_label(prepared: PreparedTable) -> str:
    """Return the meaning of the first label of a row."""
    if prepared.is_posterior:
        return "that of the largest probability in the table"
    return "that of the largest weight in the table"


def measure_first_labels(prepared: PreparedTable) -> FirstLabelRate | None:
    """Return the accuracy of the first labels by the true or checked labels; None without such a row.

    Rows with several labels of the largest weight have no first label.
    """
    candidates = prepared.candidates
    if prepared.answers is not None or not candidates.is_weighted.any():
        return None
    if prepared.truth is None and prepared.is_checked is None:
        return None
    true = np.full(len(candidates), UNKNOWN) if prepared.truth is None else columns_of(prepared.truth, candidates)
    if prepared.is_checked is not None:
        checked = prepared.is_checked & (true == UNKNOWN)
        true[checked] = candidates.mask[checked].argmax(axis=1)
    first = first_labels(prepared.written_weights)
    rows = (first >= 0) & (true != UNKNOWN)
    if not rows.any():
        return None
    accuracy, n_rows = float(np.mean(first[rows] == true[rows])), int(rows.sum())
    return FirstLabelRate(accuracy, widen([accuracy], n_rows), n_rows, describe_first_label(prepared))


def describe_first_labels(rate: FirstLabelRate | None) -> list[str]:
    """Return a sentence with the accuracy of the first labels; none if it is unknown."""
    if rate is None:
        return []
    low, high = (100 * end for end in rate.interval)
    rows = "1 labeled row" if rate.n_rows == 1 else f"{rate.n_rows:,} labeled rows"
    return [
        f"the first label, {rate.meaning}, is the true one in {100 * rate.accuracy:.1f} % of {rows} with a known true "
        f"label (95 % interval {low:.1f} to {high:.1f} %)."
    ]
