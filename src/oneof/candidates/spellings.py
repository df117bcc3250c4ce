"""Spellings of labels that differ only in case, spaces, underscores or hyphens, and the name of their class."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from oneof.candidates.labels import fold_case
from oneof.messages import enumerate_items


def group_spellings(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of names that differ only in case, spaces, underscores or hyphens."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(fold_case(name), []).append(name)
    return [group for group in spellings.values() if len(group) > 1]


def describe_spellings(names: Iterable[Any], remedy: str, limit: int = 6) -> list[str]:
    """Return a sentence on the texts that differ only in spelling, with at most `limit` of them; empty without any."""
    texts = [name for name in names if isinstance(name, str)]
    groups = [enumerate_items([*map(repr, group)], limit) for group in group_spellings(texts)]
    if not groups:
        return []
    listed = groups if len(groups) <= limit else [*groups[:limit], f"and {len(groups) - limit} more"]
    return [
        f"{'; '.join(listed)} differ only in case, spaces, underscores or hyphens, and are read as different classes: "
        f"{remedy}, if they are the same class."
    ]


class Spellings:
    """Names of the classes of labels that are equal by `fold_case`.

    A class has the name that is given, or else its most frequent spelling; of several, the first one that occurred.

    Parameters
    ----------
    names : iterable, optional
        Names of classes, which take precedence over the spellings that occur.
    """

    def __init__(self, names: Iterable[Any] = ()) -> None:
        self._given = {fold_case(name): name for name in names if isinstance(name, str)}
        self._counts: dict[str, Counter[str]] = {}

    def add(self, label: Any, count: int = 1) -> None:
        """Count a label as it is written; labels that are not text have one spelling."""
        if isinstance(label, str):
            self._counts.setdefault(fold_case(label), Counter())[label.strip()] += count

    def name(self, label: Any) -> Any:
        """Return the name of the class of a label; a label without spellings is its own name."""
        if not isinstance(label, str):
            return label
        folded = fold_case(label)
        if folded in self._given:
            return self._given[folded]
        counts = self._counts.get(folded)
        return label if counts is None else max(counts, key=counts.__getitem__)
