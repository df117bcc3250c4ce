"""Spellings of labels that differ only in case, spaces, underscores or hyphens, and the name of their class."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from oneof.candidates.labels import fold_case


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
