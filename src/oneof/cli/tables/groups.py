"""Groups of rows, such as recordings or patients: the column of `--groups`, and a note about a column that names some.

Rows of a group are similar, so that the rates of held-out rows of the same groups are too high for rows of new groups.
"""

import re
import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from oneof.errors import DataError
from oneof.io import find_column
from oneof.messages import enumerate_items, write_names

if TYPE_CHECKING:
    import polars as pl

    from oneof.candidates import CandidateSets
    from oneof.io import Table

_GROUP = re.compile(
    "(account|animal|article|author|batch|camera|client|clinic|cluster|colony|customer|device|doc|document|experiment|"
    "farm|field|file|filename|group|hospital|household|image|individual|location|nest|participant|patient|person|photo|"
    "picture|plate|plot|recorder|recording|scene|school|sensor|session|site|source|speaker|station|subject|transect|"
    "user|video)s?"
)
"""Words in the names of columns whose values are usually groups."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MIN_GROUPS = 3
_MIN_ROWS_PER_GROUP = 2.0
"""Number of values of a column of groups, and the mean number of rows of a value."""
_MAX_LISTED = 3


def read_groups(table: "Table", name: str) -> list[str]:
    """Return the group of each row; an empty cell is an error."""
    column = find_column(name, table.frame.columns, table.path)
    cells = [None if cell is None else str(cell).strip() for cell in table.frame[column].to_list()]
    missing = [row for row, cell in enumerate(cells) if not cell]
    if missing:
        raise DataError(
            f"column {name!r} of --groups has empty cells (such rows: {len(missing):,}). Name the group of each row; a "
            "row without a group has a group of its own.",
            source=str(table.path),
            row=missing[0],
        )
    return [str(cell) for cell in cells]


def count_groups(groups: Sequence[str] | None, candidates: "CandidateSets") -> int | None:
    """Return the number of groups that have labeled rows; None without groups."""
    if groups is None:
        return None
    is_unlabeled = candidates.is_unlabeled.tolist()
    return len({group for group, skipped in zip(groups, is_unlabeled, strict=True) if not skipped})


def group_notes(
    frame: "pl.DataFrame", exclude: Collection[str], dropped: Collection[str] = (), *, given: str | None = None
) -> list[str]:
    """Return a note about columns that probably name groups of rows, with the option that keeps groups together.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read, with columns that are not features.
    exclude : collection of str
        Columns of labels and of true labels.
    dropped : collection of str
        Columns of the file that were not read; one that is dropped may still name the groups of the folds.
    given : str, optional
        The column of groups, among the excluded ones. The note is then about further groups that are features.
    """
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    columns = [cells for cells in frame.iter_columns() if cells.name.strip() not in stripped]
    found = {cells.name: _count_values(cells) for cells in columns if _may_name_groups(cells)}
    names = [name for name, n_values in found.items() if _recurs(frame[name], n_values)]
    unread = [name for name in dropped if _has_name_of_groups(name)]
    if not names and unread and given is None:
        listed = enumerate_items([*map(repr, unread[:_MAX_LISTED])])
        return [
            f"the rates are those of new rows of the same groups, if {listed} name{'s' * (len(unread) == 1)} groups of "
            f"rows, and are too high for new groups: add --groups {shlex.quote(write_names(unread[:1]))} instead of "
            "dropping it. The column is then not a feature."
        ]
    if not names:
        return []
    listed = enumerate_items([f"{name!r} ({found[name]:,} values)" for name in names[:_MAX_LISTED]])
    is_plural = len(names[:_MAX_LISTED]) > 1
    subject = f"columns {listed} seem" if is_plural else f"column {listed} seems"
    if given is not None:
        use, drop = ("are features", "these names") if is_plural else ("is a feature", "this name")
        return [
            f"{subject} to name groups of rows as well, and {use}. A model that learns {drop} is worse on new ones: "
            f"add --drop {shlex.quote(write_names(names))}. For the rates of new groups of a coarser column, name that "
            "one by --groups."
        ]
    empty = {name: n for name in names if (n := _count_empty(frame[name]))}
    complete = [name for name in names if name not in empty] or names
    finest = max(complete, key=lambda name: found[name])
    option = f"--groups {shlex.quote(write_names([finest]))}"
    if len(names) == 1:
        use = f"add {option} to estimate these"
    else:
        use = f"add --groups with the column whose values are new in use, such as {option}, which has the most values"
        use += " of those without empty cells" * (len(complete) < len(names))
    note = (
        f"{subject} to name groups of rows. The rates are those of new rows of the same groups, and are too high "
        f"for new groups: {use}."
    )
    if empty:
        counts = enumerate_items([f"{name!r} ({n:,})" for name, n in empty.items()], _MAX_LISTED)
        note += f" Fill in the empty cells of {counts} first: --groups needs the group of each row."
    return [note]


def _may_name_groups(cells: "pl.Series") -> bool:
    """Return whether a column of texts or whole numbers has the name of groups."""
    import polars as pl

    if not (cells.dtype in (pl.String, pl.Categorical, pl.Enum) or cells.dtype.is_integer()):
        return False
    return _has_name_of_groups(cells.name)


def _has_name_of_groups(name: str) -> bool:
    return any(_GROUP.fullmatch(word.lower()) for word in _WORD.findall(name))


def _is_filled(cells: "pl.Series") -> "pl.Series":
    """Return whether each cell is neither null nor blank text."""
    import polars as pl

    if cells.dtype.is_integer():
        return cells.is_not_null()
    return (cells.cast(pl.String).str.strip_chars() != "").fill_null(value=False)


def _count_values(cells: "pl.Series") -> int:
    return int(cells.filter(_is_filled(cells)).n_unique())


def _count_empty(cells: "pl.Series") -> int:
    return len(cells) - int(_is_filled(cells).sum())


def _recurs(cells: "pl.Series", n_values: int) -> bool:
    return n_values >= _MIN_GROUPS and len(cells) - _count_empty(cells) >= _MIN_ROWS_PER_GROUP * n_values
