"""Labels that look as if something else had been meant by them."""

from collections.abc import Iterable, Sequence
from typing import Any

_PLACEHOLDERS = {"na", "n/a", "nan", "none", "null", "?", "-", "unknown", "missing"}
_SEPARATORS = (";", ",", "/", "|", "+", "&")
_MOST_SHOWN = 6
"""Labels in a note; of more it says how many."""


def odd_labels(classes: Iterable[Any], separator: str) -> list[str]:
    """Return a sentence for each kind of class that is perhaps a set, no label at all, or another class misspelled."""
    labels = [label for label in classes if isinstance(label, str)]
    notes = [_as_class(["-1"])] if "-1" in labels else []
    if empty := [label for label in labels if label.strip().lower() in _PLACEHOLDERS]:
        notes.append(_as_class(empty))
    if written := [label for label in labels if label[:1] in tuple("[({") and label[-1:] in tuple("])}")]:
        notes.append(_as_set(written, "write sets of labels as 'a|b', or use a list column (Parquet, JSON lines)"))
    for other in _SEPARATORS if not written else ():
        parts = {label for label in labels if other not in label}
        joined = [label for label in labels if other in label and all(p.strip() in parts for p in label.split(other))]
        if joined and other != separator:
            condition = "if they are sets" if len(joined) > 1 else "if it is a set"
            notes.append(_as_set(joined, f"{condition} of labels, add --separator '{other}'"))
    return notes + _misspelled(labels)


def _as_class(labels: Sequence[str]) -> str:
    read = "are read as classes" if len(labels) > 1 else "is read as a class"
    return f"{_listed([*map(repr, labels)])} {read}: leave the cells of rows without a label empty."


def _as_set(labels: Sequence[str], advice: str) -> str:
    read = "are each read as one class" if len(labels) > 1 else "is read as one class"
    return f"{_listed([*map(repr, labels)])} {read}: {advice}."


def _misspelled(labels: Sequence[str]) -> list[str]:
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(label.strip().casefold(), []).append(label)
    groups = [_listed([*map(repr, group)]) for group in alike.values() if len(group) > 1]
    if not groups:
        return []
    shown = groups if len(groups) <= _MOST_SHOWN else [*groups[:_MOST_SHOWN], f"and {len(groups) - _MOST_SHOWN} more"]
    return [
        f"{'; '.join(shown)} differ only in the case of letters or in spaces around them, and are read as different "
        "classes: write them alike if they mean the same."
    ]


def _listed(names: Sequence[str]) -> str:
    """Return names as one says them, those that are too many as their number."""
    shown = list(names)
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[:_MOST_SHOWN], f"{len(names) - _MOST_SHOWN} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
