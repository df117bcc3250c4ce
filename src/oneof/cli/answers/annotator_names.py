"""Annotators of a file of answers: their columns, those excluded by `--exclude-annotator`, and spellings of names."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from oneof.messages import write_names

if TYPE_CHECKING:
    from oneof.io import Table

MAX_NAMED = 3
"""Number of annotators that are named in a note, or with an answer to a disputed row."""
MAX_LISTED = 10
"""Maximum number of annotators that an error lists."""
MIN_KNOWN_CELLS = 0.1
"""Fraction of the cells of an annotator that have a label of another annotator, at least."""
MIN_CELLS = 10
"""Number of cells of a column from which it can be seen that it is not an annotator's."""


def other_columns(
    table: "Table", columns: list[str], separator: str | None, classes: tuple[str, ...] | None
) -> list[str]:
    """Return columns that are not those of annotators, such as dates and comments: their cells are other labels.

    The annotators are the largest group of columns with common labels, or with `classes`, in any spelling. Another
    column of at least `MIN_CELLS` cells is excluded if fewer than `MIN_KNOWN_CELLS` of them have such a label. A column
    with one label and empty cells has the votes of a rule.
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
        is_rule = len(labels[name]) == 1 and len(cells[name]) < table.frame.height
        if not is_rule and len(cells[name]) >= MIN_CELLS and n_known < MIN_KNOWN_CELLS * len(cells[name]):
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


def check_have_answers(excluded: Iterable[str], annotators: Iterable[str], source: object) -> None:
    """Raise if an excluded annotator is not among those with answers in the source, and suggest a name."""
    from oneof.errors import InputError

    names = sorted(set(annotators))
    for name in excluded:
        if name in names:
            continue
        close = difflib.get_close_matches(name, names, n=1)
        if close:
            hint = f"did you mean {_as_value(close[0])}?"
        elif names:
            hint = f"the annotators are {_enumerate_names(names)}."
        else:
            hint = "there are no answers."
        raise InputError(f"--exclude-annotator {name!r} has no answers in {source}: {hint}")


def without_excluded(annotators: Sequence[str], excluded: Sequence[str], source: object) -> tuple[list[int], list[str]]:
    """Return the positions of the answers of other annotators, and a note on the number of excluded answers."""
    from oneof.errors import InputError

    if not excluded:
        return list(range(len(annotators))), []
    check_have_answers(excluded, annotators, source)
    kept = [i for i, name in enumerate(annotators) if name not in excluded]
    if not kept:
        raise InputError(f"--exclude-annotator excludes all annotators of {source}. Keep at least one.")
    n = len(annotators) - len(kept)
    answers = "1 answer is" if n == 1 else f"{n:,} answers are"
    return kept, [f"{answers} not used, by --exclude-annotator: {_enumerate_names(list(dict.fromkeys(excluded)))}."]


def _as_value(name: str) -> str:
    """Return a name in quotation marks; one with a comma is also in those that the option needs, for a shell."""
    value = write_names([name])
    return repr(name) if value == name else shlex.quote(value)


def _enumerate_names(names: Sequence[str]) -> str:
    """Return names as the option has them."""
    from oneof.messages import enumerate_items

    return enumerate_items([write_names([name]) for name in names], MAX_LISTED)


def note_spellings(annotators: list[str]) -> list[str]:
    """Return a note on names of annotators that are equal but for case, spaces, underscores and hyphens."""
    from oneof.candidates.spellings import group_spellings
    from oneof.messages import enumerate_items

    groups = group_spellings(annotators)
    if not groups:
        return []
    listed = "; ".join(enumerate_items([*map(repr, group)], MAX_NAMED) for group in groups[:MAX_NAMED])
    return [
        f"{listed} differ only in case, spaces, underscores or hyphens, and count as different annotators: use one "
        "spelling if they are the same."
    ]
