"""Names of columns: unique names of a header, the columns of a name or a pattern such as "q*", and similar names."""

import difflib
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from oneof.errors import DataError
from oneof.io.findings import Finding, describe
from oneof.messages import enumerate_items

_PATTERN = re.compile(r"[*?\[]")
_UNNAMED = re.compile(r"column \d+")
"""Name of a column whose cell in the header is empty."""
_MAX_NAMES = 5
"""Maximum number of names in a sentence."""
_MAX_SUGGESTED, _MAX_COMPARED, _MAX_LENGTH = 3, 100, 100
"""Number of suggested names of columns, number of names that are compared, and their number of characters."""


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
    return [column for column in columns if fnmatchcase(column, name)] if patterns and _PATTERN.search(name) else []


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
    suffixes: dict[str, Iterable[int]] = defaultdict(lambda: itertools.count(2))
    renamed: list[str] = []
    unnamed: list[str] = []
    for number, name in enumerate(names):
        if name in seen:
            tried, prefix = (suffixes[name], f"{name}_") if name else (itertools.count(number), "column ")
            names[number] = next(new for k in tried if (new := f"{prefix}{k}") not in taken)
            taken.add(names[number])
            (renamed if name else unnamed).append(names[number])
        seen.add(name)
    changes = [f"columns with the name of another column are renamed: {format_names(renamed)}."] * bool(renamed)
    inner = [name for name in unnamed if name in {*names[:n_named]}]
    return names, changes + [unnamed_columns(inner)] * bool(inner)


def unnamed_columns(names: Sequence[str]) -> str:
    """Return a sentence about columns whose cells in the header are empty."""
    return (
        f"columns without a name are named by their position, from 0: {format_names(names)}. If their names are in the "
        "row below, as after merged cells, write all names in one row."
    )


def format_names(names: Sequence[str]) -> str:
    """Return the first 5 names in quotation marks, and the number of the others."""
    return enumerate_items([repr(name) for name in names], _MAX_NAMES, conjunction=False)


def misspelled_column(absent: Collection[str], others: Collection[str]) -> tuple[str, str] | None:
    """Return an absent column and another name that differs from it only in case, spaces or punctuation, or None."""
    by_letters = {_letters(other): other for other in others}
    return next(((name, by_letters[_letters(name)]) for name in absent if _letters(name) in by_letters), None)


def suggest_columns(absent: Collection[str], others: Collection[str]) -> str:
    """Return a question, after a space, about other names that are close to absent columns; empty without any."""
    short = [other for other in others if len(other) <= _MAX_LENGTH][:_MAX_COMPARED]
    pairs = []
    for name in list(absent)[:_MAX_COMPARED]:
        if close := closest_column(name, short):
            pairs.append(f"{name!r} for {close!r}")
            short.remove(close)
    return f" Did you mean {enumerate_items(pairs, _MAX_SUGGESTED)}?" if pairs else ""


def closest_column(name: str, columns: Iterable[str]) -> str | None:
    """Return the column whose name is most similar to a name, in any case; None if no name is similar."""
    lower = {column.lower(): column for column in columns}
    return next((lower[close] for close in difflib.get_close_matches(name.lower(), lower, n=1)), None)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold() or name


def absent_columns(names: Sequence[str], source: str) -> str:
    """Return a note about columns that no object of JSON has."""
    return describe(Finding("absent", name, detail=source) for name in names)[0]


def find_column(name: str, columns: Sequence[str], path: Path, remedy: str = "") -> str:
    """Return `name` if the table has such a column, possibly with other spaces around it.

    Otherwise raise an error that names the closest column, and ends with the remedy.
    """
    if same := matching(name, columns, patterns=False):
        return same[0]
    if close := closest_column(name, columns):
        hint = f"did you mean {close!r}?"
        if "," in close and "," not in name:
            hint += f""" Quote a name with a comma twice: '"{close}"'."""
    else:
        hint = f"the columns are {enumerate_items(columns, 10, conjunction=False) or 'none'}."
        if any(map(_UNNAMED.fullmatch, columns)):
            hint += " Some cells of the header are empty: if the names are in the row below, delete the rows above it."
    raise DataError(f"column {name!r} does not exist: {hint} {remedy}".rstrip(), source=str(path))


def select_column(
    given: str | None, defaults: Sequence[str], columns: Sequence[str], path: Path, remedy: str = ""
) -> str:
    """Return the given column, or the first default that the table has; otherwise raise as `find_column`."""
    present = [name for name in defaults if name in columns]
    return present[0] if given is None and present else find_column(given or defaults[0], columns, path, remedy)


def match_columns(patterns: Sequence[str], columns: Sequence[str], path: Path) -> list[str]:
    """Return the columns that have one of the names, or match one of the patterns such as "q*".

    Raises
    ------
    DataError
        If no column has a name or matches a pattern.
    """
    found = [matching(pattern, columns) or [find_column(pattern, columns, path)] for pattern in patterns]
    return list(dict.fromkeys(name for names in found for name in names))
