"""Detection of the text between two labels of a cell."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache, partial
from typing import Any

from oneof.candidates.cells import (
    DEFAULT_SEPARATOR,
    LISTS,
    literal_kind,
)
from oneof.candidates.labels import clean, label_vector, labels_with_weights
from oneof.candidates.labels import fold_case as fold_text
from oneof.candidates.literals import parse_text, strip_fence
from oneof.errors import LabelError
from oneof.messages import warn
from oneof.typing import Labels

_SEPARATORS = (";", "\t", ",", " / ", "\n")
_IN_NAMES = (",", " / ", "\n")
"""Separators that also occur in names of classes."""
_SIGN = re.compile(r"(?<=\w)\s*([^\w\s.,;:/'\u2019()\[\]{}\"&+|\\-]+)\s*(?=\w)")
"""A sign between two words that is not usual in names."""


def detect_separator(
    texts: Iterable[str | None],
    classes: Sequence[str] | None = None,
    *,
    weighted: bool = False,
    setting: str = "Add --separator ",
) -> str:
    """Return the text that plainly separates the labels of a column; "|" if it occurs or no other does.

    A separator is plain if two different cells or more contain it, each has a label that also occurs in another cell,
    and there are fewer labels than different cells. A comma must, moreover, join labels that occur alone, or lists of
    several lengths with at most half as many labels as there are different cells: names of classes have commas too.

    A sign at an end of a cell, such as "a;", is a separator only if it also separates two labels in another cell. A
    comma at an end never is: it occurs in names and numbers.

    Line ends and tabulators separate labels that all occur alone, also in one cell only; in other cells line ends are a
    part of a class. Any other sign, such as "#", is a separator if two different cells contain it and all their labels
    occur alone.

    The result is `LISTS` if a cell is a list written as text, such as '["finch", "wren"]', "['finch', 'wren']" or
    'c("finch", "wren")', or if all cells in braces or brackets, such as "{finch,wren}", have members that occur alone.
    Cells such as "[0, 10]" alone are classes, since they may be intervals.

    Parameters
    ----------
    texts : iterable of str or None
        The cells.
    classes : sequence of str, optional
        The classes named by the user.
    weighted : bool
        Whether a label may be followed by a colon and a weight. Cells of JSON are then ignored. If they are most
        cells, the other ones are comments rather than sets, and a warning replaces the error.
    setting : str
        The text before a separator in an error that asks for it.

    Raises
    ------
    LabelError
        If a cell may be a set of labels or one class, so that the user must name the separator.
    """
    named = {clean(name) for name in classes or ()}
    counts: Counter[str] = Counter()
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is not None and (content := clean(text)):
            counts[content] += 1
            rows.setdefault(content, row)
    if weighted:
        rows = {text: row for text, row in rows.items() if strip_fence(text)[:1] not in ("{", "[")}
    n_objects = counts.total() - sum(map(counts.__getitem__, rows))
    kind_of = cache(lambda text: None if text in named else literal_kind(text))
    has_lists = any(kind_of(text) == "list" for text in rows)
    joined = [text for text in rows if DEFAULT_SEPARATOR in text and kind_of(text) is None]
    if joined:
        is_double = all(DEFAULT_SEPARATOR not in text.replace(2 * DEFAULT_SEPARATOR, "") for text in joined)
        return 2 * DEFAULT_SEPARATOR if is_double and len(joined) > 1 else DEFAULT_SEPARATOR
    if has_lists or _are_arrays(rows, named):
        return LISTS
    rows = {text: row for text, row in rows.items() if kind_of(text) != "empty"}
    if 2 * sum(kind_of(text) == "weights" for text in rows) > len(rows):
        return DEFAULT_SEPARATOR  # the reader refuses weights
    doubtful: list[tuple[int, str, str]] = []
    for separator in sorted(_SEPARATORS, key=lambda other: -sum(other in text for text in rows)):
        is_plain, example = _judge(rows, separator, named, weighted=weighted)
        if is_plain:
            return separator
        if example is not None:
            doubtful.append((*example, separator))
    if sign := _find_sign(rows, named, weighted=weighted):
        return sign
    if doubtful:
        row, text, separator = min(doubtful)
        if 2 * n_objects <= counts.total():
            raise LabelError(
                f"{text!r} may be a set of labels or one class. {setting}{separator!r} if it is a set, or "
                f"{setting.partition(' ')[2]}{DEFAULT_SEPARATOR!r} if it is one class.",
                row=row,
                label=text,
            )
        warn(
            f"{text!r} (row {row}) is read as one class, since most cells are JSON. {setting}{separator!r} if it is a "
            "set."
        )
    return DEFAULT_SEPARATOR


def _find_sign(texts: Collection[str], named: Collection[str], *, weighted: bool) -> str | None:
    """Return a sign that two cells or more contain, and whose labels all occur alone; None without one."""
    cells: dict[str, list[str]] = {}
    for text in texts:
        for sign in set(_SIGN.findall(text)) if text not in named else ():
            cells.setdefault(sign, []).append(text)
    alone = {*named, *(_label_of(text, weighted=weighted) for text in texts)}
    for sign, joined in cells.items():
        members = (_label_of(part, weighted=weighted) for text in joined for part in text.split(sign))
        if len(joined) > 1 and alone.issuperset(members) and not any(text.endswith(sign) for text in texts):
            return sign
    return None


def _label_of(text: str, *, weighted: bool) -> str:
    return (text.rpartition(":")[0] or text).strip() if weighted else text.strip()


def _are_arrays(texts: Iterable[str], named: Collection[str]) -> bool:
    """Return whether there are sets such as "{finch,wren}" or "[finch, wren]", and all their members occur alone."""
    arrays = [_bare_members(text) for text in texts if text not in named and text[0] in "{["]
    members = [array for array in arrays if array]
    alone = {array[0] for array in members if len(array) == 1}.union(texts, named)
    return (
        len(arrays) == len(members)
        and any(len(array) > 1 for array in members)
        and alone.issuperset(member for array in members for member in array)
    )


def _bare_members(text: str) -> list[str]:
    """Return the members of a list without quotation marks, none for any other text."""
    try:
        value = parse_text(text)
    except ValueError:
        return []
    is_list = isinstance(value, list) and all(isinstance(member, str | int | float) for member in value)
    return list(map(str, value)) if is_list else []


def _judge(
    rows: dict[str, int], separator: str, named: Collection[str], *, weighted: bool
) -> tuple[bool, tuple[int, str] | None]:
    """Return whether a sign plainly separates labels, and if that is in doubt the row and the text of a cell with it.

    The cell is the first one with a label that occurs alone.
    """
    label_of = partial(_label_of, weighted=weighted)
    parts = {text: text.split(separator) for text in rows if separator in text and text not in named}
    members = {text: [label for part in listed if (label := label_of(part))] for text, listed in parts.items()}
    if not members:
        return False, None
    alone = {*named, *(label_of(text) for text in rows if separator not in text)}
    if separator != "," and any(len(labels) > 1 for labels in members.values()):
        alone |= {labels[0] for labels in members.values() if len(labels) == 1}  # at an end, as in "a;"
    counts = Counter(label for labels in members.values() for label in set(labels))
    are_classes = alone.issuperset(counts)
    if separator.isspace():
        return are_classes, None
    joins_classes = not alone.isdisjoint(counts)
    are_known = all(any(label in alone or counts[label] > 1 for label in labels) for labels in members.values())
    sizes = {len(labels) for labels in members.values()}
    are_lists = are_known and len(sizes) > 1 and max(sizes) > 2
    n_labels, n_cells = len(alone.union(counts)), len(alone) + len(members)
    are_common = are_known and len(members) > 1 and (n_labels < n_cells or are_classes)
    usual = separator not in _IN_NAMES
    if are_common and (joins_classes or usual or (are_lists and 2 * n_labels <= n_cells)):
        return True, None
    if not (joins_classes or are_lists or are_common or usual):
        return False, None
    text = next((text for text, labels in members.items() if not alone.isdisjoint(labels)), next(iter(members)))
    return False, (rows[text], text)


def separator_of_texts(y: Any, classes: Any, *, fold_case: bool, weighted: bool) -> str:
    """Return the separator of the texts; a value that is not text is an error of the reader."""
    texts = [text if isinstance(text, str) else None for text in label_vector(y).tolist()]
    if fold_case:
        texts = [text and fold_text(text) for text in texts]
    names = None if classes is None else [name for name in label_vector(classes).tolist() if isinstance(name, str)]
    return detect_separator(texts, names, weighted=weighted, setting="Pass separator=")


def _other_separator(y: Any, separator: str) -> str | None:
    """Return a sign that plainly separates labels in texts without the default one; None otherwise."""
    if separator != DEFAULT_SEPARATOR:
        return None
    try:
        detected = separator_of_texts(y, None, fold_case=False, weighted=False)
    except LabelError:  # texts that may be sets or labels
        return None
    return None if detected in (DEFAULT_SEPARATOR, LISTS) else detected


def warn_of_syntax(y: Any, known: Labels, separator: str, classes: Any) -> None:
    """Warn if classes that the user has not named seem to be sets, lists, or labels with weights."""
    if classes is not None:
        return
    if other := _other_separator(y, separator):
        warn(
            f"each text is read as one label, but {other!r} seems to separate labels. Pass separator={other!r}, or "
            "separator='auto'.",
        )
    if len(pairs := labels_with_weights(known.tolist())) > 1:
        warn(
            f"{pairs[0]!r} is read as one label. Pass weighted=True if the number is a weight.",
        )
