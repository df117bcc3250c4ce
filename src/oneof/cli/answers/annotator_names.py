"""Annotators of a file of answers: their columns, those excluded by `--exclude-annotator`, and spellings of names."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oneof.messages import write_names

if TYPE_CHECKING:
    from oneof.io import Table

MAX_NAMED = 3
"""Number of annotators that are named in a note, or with an answer to a disputed row."""
MAX_LISTED = 10
"""Maximum number of annotators that an error lists."""


def other_columns(
    table: "Table", columns: list[str], separator: str | None, classes: tuple[str, ...] | None
) -> list[str]:
    """Return columns that are not those of annotators, such as dates and comments: their cells are other labels.

    Labels are compared in any spelling; see `oneof.candidates.readers.annotations.other_columns`.
    """
    from oneof.candidates.columns import fold_case
    from oneof.candidates.readers import annotations

    pattern = re.compile(r"[;,/|+&]" if separator is None else re.escape(separator), re.IGNORECASE)
    cells = []
    for name in columns:
        texts = [str(cell) for cell in table.frame[name].to_list() if str(cell or "").strip()]
        cells.append(Counter(frozenset(map(fold_case, (text, *pattern.split(text)))) for text in texts))
    other = annotations.other_columns(cells, table.frame.height, {fold_case(label) for label in classes or ()})
    return [columns[j] for j in other]


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
