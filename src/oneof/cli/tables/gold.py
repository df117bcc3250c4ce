"""Checked labels of some rows, `--gold`: their use in training, and the note about rows that have a true label too."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oneof.errors import InputError

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.cli.answers.files import TableAnswers
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.io import Table
    from oneof.typing import Mask


def use_gold(
    table: "Table",
    read_options: "ReadOptions",
    candidates: "CandidateSets",
    answers: "TableAnswers | None",
    separator: str,
    read_again: "Callable[[Sequence[str]], CandidateSets] | None",
) -> "tuple[CandidateSets, Mask | None, tuple[str, ...]]":
    """Return the candidate sets with the checked labels, the mask of their rows (None without --gold), and notes.

    The labels of answers have been estimated with the checked ones. `read_again` reads one column of labels with other
    classes, and is None for several columns of 0 and 1 or of weights, whose names are the classes. Checked labels add
    classes to one column, unless all classes are named.
    """
    import numpy as np

    from oneof.io import use_checked_labels

    if read_options.gold is None:
        return candidates, None, ()
    if answers is not None:
        checked = answers.gold or []
        return candidates, np.fromiter((label is not None for label in checked), dtype=bool, count=len(checked)), ()
    if read_options.gold in (*read_options.labels, *read_options.weight_columns):
        raise InputError(f"--gold and --labels must name different columns; got {read_options.gold!r} for both.")
    weighting = read_options.weights
    return use_checked_labels(
        table,
        read_options.gold,
        candidates,
        read_again if read_options.classes is None else None,
        separator=separator,
        has_weights=weighting.weighted and weighting.weights is None and read_again is not None,
        remedy="Correct it, or leave the cell empty." if read_again is None else "Correct it, or add it to --classes.",
    )


def check_unchecked_rows(candidates: "CandidateSets", is_checked: "Mask | None", remedy: str) -> None:
    """Raise if every labeled row is checked, so that none is left to audit."""
    if is_checked is not None and (is_checked | candidates.is_unlabeled).all():
        raise InputError(f"all labeled rows have a checked label (--gold), and none remains to audit: {remedy}.")
