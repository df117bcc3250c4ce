"""Names of columns: unique names of a header, and the columns that a name or a pattern such as "q*" selects."""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from oneof.messages import enumerate_items

_PATTERN = re.compile(r"[*?\[]")
_MAX_NAMES = 5
"""Maximum number of names in a sentence."""


def matching(name: str, columns: Collection[str], *, patterns: bool = True) -> list[str]:
    """Return the columns of a name, or of a pattern such as "q*".

    A name takes precedence over a pattern. A name that does not exist selects the column whose name differs from it
    only in surrounding spaces, if there is one.

    Parameters
    ----------
    name : str
    columns : collection of str
    patterns : bool
        Whether `name` may be a pattern.
    """
    if name in columns:
        return [name]
    stripped = [column for column in columns if column.strip() == name.strip()]
    if len(stripped) == 1:
        return stripped
    if not patterns or not _PATTERN.search(name):
        return []
    return [column for column in columns if fnmatchcase(column, name)]


def match_all(names: Iterable[str], columns: Collection[str]) -> set[str]:
    """Return the columns of several names or patterns; see `matching`."""
    return {column for name in names for column in matching(name, columns)}


def make_unique(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return unique names of columns without surrounding spaces, and a sentence about each kind of change.

    Parameters
    ----------
    cells : sequence of str
        The cells of the header, at least one of which is not blank.
    """
    names = [cell.strip() for cell in cells]
    n_named = max(number for number, name in enumerate(names, 1) if name)
    taken, seen = set(names), {""}
    next_suffix: dict[str, int] = {}
    renamed: list[str] = []
    unnamed: list[str] = []
    for number, name in enumerate(names):
        if name not in seen:
            seen.add(name)
            continue
        base = f"{name}_" if name else "column "
        suffix = next_suffix.get(name, 2) if name else number
        while f"{base}{suffix}" in taken:
            suffix += 1
        names[number] = f"{base}{suffix}"
        taken.add(names[number])
        next_suffix[name] = suffix + 1
        (renamed if name else unnamed).append(names[number])
    remarks = []
    if renamed:
        remarks.append(f"columns with the name of another column are renamed: {format_names(renamed)}.")
    before_last = {*names[:n_named]}
    if inner := [name for name in unnamed if name in before_last]:
        remarks.append(unnamed_columns(inner))
    return names, remarks


def unnamed_columns(names: Sequence[str]) -> str:
    """Return a sentence about columns whose cells in the header are empty."""
    return (
        f"columns without a name are named by their position, from 0: {format_names(names)}. If their names are in the "
        "row below, as after merged cells, write all names in one row."
    )


def format_names(names: Sequence[str]) -> str:
    """Return the first 5 names in quotation marks, and the number of the others."""
    return enumerate_items([repr(name) for name in names], _MAX_NAMES, conjunction=False)
