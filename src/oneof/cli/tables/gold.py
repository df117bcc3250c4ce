"""Checked labels of some rows, `--gold`: their use in training, and the note about rows that have a true label too."""

from dataclasses import replace
from typing import TYPE_CHECKING

from oneof.errors import InputError

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import TableLabels
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.io import Table
    from oneof.typing import Mask


def use_gold(table: "Table", read_options: "ReadOptions", labels: "TableLabels") -> "TableLabels":
    """Return the labels with the checked ones.

    The labels of answers have been estimated with the checked ones. Checked labels add classes to one column, unless
    all classes are named; several columns of 0 and 1 or of weights have the names of the classes.
    """
    import numpy as np

    from oneof.io import notes, use_checked_labels

    if read_options.gold is None:
        return labels
    if labels.answers is not None:
        return replace(labels, is_checked=np.array([label is not None for label in labels.answers.gold or []]))
    if read_options.gold in (*read_options.labels, *read_options.weight_columns):
        raise InputError(f"--gold and --labels must name different columns; got {read_options.gold!r} for both.")
    checked = use_checked_labels(
        table,
        read_options.gold,
        labels.candidates,
        labels.read_again if read_options.classes is None else None,
        separator=labels.separator,
        has_weights=labels.label_column is not None and read_options.weights.weighted,
        remedy=f"Correct it, or {'leave the cell empty' if read_options.classes is None else 'add it to --classes'}.",
    )
    found = (*labels.label_findings, *notes("labels", checked.notes))
    return replace(labels, candidates=checked.candidates, is_checked=checked.is_checked, label_findings=found)


def check_unchecked_rows(candidates: "CandidateSets", is_checked: "Mask | None", remedy: str) -> None:
    """Raise if every labeled row is checked, so that none is left to audit."""
    if is_checked is not None and (is_checked | candidates.is_unlabeled).all():
        raise InputError(f"all labeled rows have a checked label (--gold), and none remains to audit: {remedy}.")
