"""The columns of annotators in a table with a column for each annotator, which may have dates and comments as well."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneof.io import Table

MIN_KNOWN_CELLS = 0.1
"""Fraction of the cells of an annotator that have a label of another annotator, at least."""
MIN_CELLS = 10
"""Number of cells of a column from which it can be seen that it is not an annotator's."""


def other_columns(
    table: "Table", columns: list[str], separator: str | None, classes: tuple[str, ...] | None
) -> list[str]:
    """Return columns that are not those of annotators, such as dates and comments: their cells are other labels.

    The annotators are the largest group of columns with common labels, or with `classes`, in any spelling. Another
    column of at least `MIN_CELLS` cells is excluded if fewer than `MIN_KNOWN_CELLS` of them have such a label.
    """
    from oneof.candidates.columns import fold_case

    pattern = re.compile(r"[;,/|+&]" if separator is None else re.escape(separator), re.IGNORECASE)
    cells: dict[str, list[set[str]]] = {}
    for name in columns:
        texts = [str(cell) for cell in table.frame[name].to_list() if str(cell or "").strip()]
        cells[name] = [{fold_case(part) for part in (text, *pattern.split(text))} for text in texts]
    labels = {name: set().union(*sets) for name, sets in cells.items()}
    known = {fold_case(label) for label in classes or ()}
    group = [name for name in columns if labels[name] & known] if known else _largest_group(labels)
    times = Counter(label for name in group for label in labels[name])
    times.update(dict.fromkeys(known, 1))
    other = []
    for name in columns:
        own = 1 if name in group else 0
        n_known = sum(any(label in known or times[label] > own for label in cell) for cell in cells[name])
        if len(cells[name]) >= MIN_CELLS and n_known < MIN_KNOWN_CELLS * len(cells[name]):
            other.append(name)
    return [] if len(other) > len(columns) - 2 else other


def _largest_group(labels: Mapping[str, set[str]]) -> list[str]:
    """Return the largest group of columns connected by common labels; of equal ones that with fewer labels."""
    groups: list[tuple[list[str], set[str]]] = []
    for name, own in labels.items():
        joined = [group for group in groups if group[1] & own]
        groups = [group for group in groups if not group[1] & own]
        members = [member for group in joined for member in group[0]]
        groups.append(([*members, name], own.union(*(group[1] for group in joined))))
    return max(groups, key=lambda group: (len(group[0]), -len(group[1])))[0]
