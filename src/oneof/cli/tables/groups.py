"""Groups of rows, such as recordings or patients: the column of `--groups`, and findings about columns that name some.

Rows of a group are similar, so that the rates of held-out rows of the same groups are too high for rows of new groups.
"""

import re
from collections.abc import Collection, Sequence

import polars as pl

from oneof.candidates import CandidateSets
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import DataError, InputError
from oneof.io import Finding, Table, find_column

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


def read_groups(table: Table, read_options: ReadOptions) -> list[str] | None:
    """Return the group of each row, from a column without labels and empty cells; None without groups."""
    name = read_options.groups
    if name is None:
        return None
    given = (("--labels", read_options.labels), ("--truth", (read_options.truth,)), ("--gold", (read_options.gold,)))
    for option, names in given:
        if name in names:
            raise InputError(f"--groups and {option} must name different columns; got {name!r} for both.")
    column = find_column(name, table.frame.columns, table.path)
    groups = ["" if cell is None else str(cell).strip() for cell in table.frame[column].to_list()]
    if n_missing := groups.count(""):
        raise DataError(
            f"column {name!r} of --groups has empty cells (such rows: {n_missing:,}). Name the group of each row; a "
            "row without a group has a group of its own.",
            source=str(table.path),
            row=groups.index(""),
        )
    if len(set(groups)) == 1:
        raise InputError(f"column {name!r} of --groups has one value. Name another column, or remove --groups.")
    return groups


def count_groups(groups: Sequence[str] | None, candidates: CandidateSets) -> int | None:
    """Return the number of groups that have labeled rows; None without groups."""
    if groups is None:
        return None
    is_unlabeled = candidates.is_unlabeled.tolist()
    return len({group for group, skipped in zip(groups, is_unlabeled, strict=True) if not skipped})


def find_groups(
    frame: pl.DataFrame,
    exclude: Collection[str],
    dropped: Collection[str] = (),
    *,
    identifiers: Collection[str] = (),
    given: str | None = None,
) -> list[Finding]:
    """Return findings about columns that probably name groups of rows.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read, with columns that are not features.
    exclude : collection of str
        Columns of labels and of true labels.
    dropped : collection of str
        Columns of the file that were not read; one that is dropped may still name the groups of the folds.
    identifiers : collection of str
        Columns that are not features, since nearly all their values differ. One with the name of groups, such as a
        patient, may have a group of several rows, whether or not most groups have one.
    given : str, optional
        The column of groups, among the excluded ones. The findings are then about further groups that are features.
    """
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    few = set(identifiers) if given is None else set()
    sizes = {
        cells.name: _count_groups(cells, 1.0 if cells.name in few else _MIN_ROWS_PER_GROUP)
        for cells in frame.iter_columns()
        if cells.name.strip() not in stripped
    }
    names = sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])
    if given is not None:
        return [Finding("further groups", name) for name in names]
    return [Finding("groups", name) for name in names or filter(_has_name_of_groups, dropped)]


def _has_name_of_groups(name: str) -> bool:
    return any(_GROUP.fullmatch(word.lower()) for word in _WORD.findall(name))


def _count_groups(cells: pl.Series, rows_per_group: float) -> int:
    """Return the number of values of a column of texts or whole numbers with the name of groups, 0 for another one."""
    if not (cells.dtype in (pl.String, pl.Categorical, pl.Enum) or cells.dtype.is_integer()):
        return 0
    values = cells.cast(pl.String).str.strip_chars().replace("", None).drop_nulls()
    n_values = values.n_unique()
    recurs = n_values >= _MIN_GROUPS and len(values) >= rows_per_group * n_values and len(values) > n_values
    return n_values if recurs and _has_name_of_groups(cells.name) else 0
