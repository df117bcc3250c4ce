"""Names of annotators: those whose answers are not used (`--exclude-annotator`), and names of one spelling."""

import difflib
from collections.abc import Iterable, Sequence

MAX_NAMED = 3
"""Number of annotators that are named in a note, or with an answer to a disputed row."""
MAX_LISTED = 10
"""Maximum number of annotators that an error lists."""


def check_excluded(excluded: Iterable[str], annotators: Iterable[str], source: object) -> None:
    """Raise if an excluded annotator has no answer in the source, or if no annotator remains."""
    from oneof.errors import InputError
    from oneof.messages import enumerate_items

    names = sorted(set(annotators))
    for name in excluded:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            listed = enumerate_items(names, MAX_LISTED)
            hint = f"did you mean {close[0]!r}?" if close else f"the annotators are {listed}." if names else ""
            raise InputError(f"--exclude-annotator {name!r} has no answers in {source}: {hint or 'it is empty.'}")
    if names and set(names) <= set(excluded):
        raise InputError(f"--exclude-annotator excludes all annotators of {source}. Keep at least one.")


def without_excluded(annotators: Sequence[str], excluded: Sequence[str], source: object) -> tuple[list[int], list[str]]:
    """Return the positions of the answers of other annotators, and a note on the number of excluded answers."""
    from oneof.messages import enumerate_items

    if not excluded:
        return list(range(len(annotators))), []
    check_excluded(excluded, annotators, source)
    kept = [i for i, name in enumerate(annotators) if name not in excluded]
    n = len(annotators) - len(kept)
    names = enumerate_items(list(dict.fromkeys(excluded)), MAX_LISTED)
    answers = "1 answer is" if n == 1 else f"{n:,} answers are"
    return kept, [f"{answers} not used, by --exclude-annotator: {names}."]


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
