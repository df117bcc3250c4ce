"""Detection of the text between two labels of a cell."""

from collections.abc import Iterable, Sequence
from typing import Any

from oneof.candidates.labels import fold_case as fold_text
from oneof.candidates.labels import label_vector, labels_with_weights, lists_as_text
from oneof.candidates.readers.literals import LISTS, is_plainly_list, is_record, unwrap
from oneof.errors import LabelError
from oneof.messages import shorten, warn
from oneof.typing import Labels

DEFAULT_SEPARATOR = "|"
_SEPARATORS = (";", ",", " / ", "\n")
_IN_NAMES = (",", " / ", "\n")
"""Separators that also occur in names of classes."""


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

    Line ends separate labels that all occur alone, also in one cell only; in other cells they are part of a class.

    The result is `LISTS` if a cell is a list written as text, such as '["finch", "wren"]' or "['finch', 'wren']". Cells
    such as "[0, 10]" alone are classes, since they may be intervals.

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
    rows: dict[str, int] = {}
    n_objects = n_others = 0
    for row, text in enumerate(texts):
        stripped = "" if text is None else unwrap(text).strip()
        if weighted and stripped[:1] in ("{", "["):
            n_objects += 1
        elif stripped:
            rows.setdefault(stripped, row)
            n_others += 1
    named = {name.strip() for name in classes or ()}
    has_lists = any(text not in named and is_plainly_list(text) for text in rows)
    if any(DEFAULT_SEPARATOR in text and not (has_lists and text.startswith("[")) for text in rows):
        return DEFAULT_SEPARATOR
    if has_lists:
        return LISTS
    if not weighted and 2 * sum(text.startswith("{") and is_record(text) for text in rows) > len(rows):
        return DEFAULT_SEPARATOR  # the reader refuses objects, which have weights
    if (lists := lists_as_text(rows)) and not set(lists) <= named:
        if is_record(lists[0]):
            raise LabelError(
                f"{shorten(lists[0])!r} has labels with weights. Add --weighted (in Python, weighted=True).",
                row=rows[lists[0]],
                label=lists[0],
            )
        raise LabelError(
            f"{lists[0]!r} seems to be a set written as text. Write sets as 'a|b' or as a list, ['a', 'b'], or use a "
            f"list column (Parquet, JSON lines). {setting}{DEFAULT_SEPARATOR!r} if it is one class.",
            row=rows[lists[0]],
            label=lists[0],
        )
    doubtful: list[tuple[int, str, str]] = []
    for separator in sorted(_SEPARATORS, key=lambda other: -sum(other in text for text in rows)):
        joined = [text for text in rows if separator in text and text not in named]
        if not joined:
            continue
        members = {text: _members(text, separator, weighted=weighted) for text in joined}
        alone = named | {_label(text, weighted=weighted) for text in rows if separator not in text}
        if separator != "," and any(len(labels) > 1 for labels in members.values()):
            alone |= {labels[0] for labels in members.values() if len(labels) == 1}  # a sign at an end, as in "a;"
        counts: dict[str, int] = {}
        for labels in members.values():
            for label in set(labels):
                counts[label] = counts.get(label, 0) + 1
        is_known = {text: any(m in alone or counts[m] > 1 for m in labels) for text, labels in members.items()}
        is_fewer = len(alone | set(counts)) < len(alone) + len(joined)
        joins_classes = any(label in alone for labels in members.values() for label in labels)
        is_plain = len(joined) > 1 and all(is_known.values()) and (is_fewer or set(counts) <= alone)
        sizes = {len(labels) for labels in members.values()}
        is_list = len(sizes) > 1 and max(sizes) > 2 and all(is_known.values())
        is_long_list = is_list and 2 * len(alone | set(counts)) <= len(alone) + len(joined)
        if separator == "\n" and set(counts) <= alone:
            return separator
        if is_plain and (joins_classes or is_long_list or separator not in _IN_NAMES):
            return separator
        if separator != "\n" and (joins_classes or is_list or is_plain or separator not in _IN_NAMES):
            text = next((text for text in joined if any(m in alone for m in members[text])), joined[0])
            doubtful.append((rows[text], text, separator))
    if doubtful:
        row, text, separator = min(doubtful)
        if n_objects <= n_others:
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


def _members(text: str, separator: str, *, weighted: bool) -> list[str]:
    members = [_label(member, weighted=weighted) for member in text.split(separator)]
    return [member for member in members if member]


def _label(text: str, *, weighted: bool) -> str:
    return (text.rpartition(":")[0] or text).strip() if weighted else text.strip()


def other_separator(y: Any, separator: str) -> str | None:
    """Return a sign that plainly separates labels in texts without the default one; None otherwise."""
    if separator != DEFAULT_SEPARATOR:
        return None
    try:
        detected = separator_of_texts(y, None, fold_case=False, weighted=False)
    except LabelError:  # texts that may be sets or labels
        return None
    return None if detected in (DEFAULT_SEPARATOR, LISTS) else detected


def separator_of_texts(y: Any, classes: Any, *, fold_case: bool, weighted: bool) -> str:
    """Return the separator of the texts; a value that is not text is an error of the reader."""
    texts = [text if isinstance(text, str) else None for text in label_vector(y).tolist()]
    if fold_case:
        texts = [text and fold_text(text) for text in texts]
    names = None if classes is None else [name for name in label_vector(classes).tolist() if isinstance(name, str)]
    return detect_separator(texts, names, weighted=weighted, setting="Pass separator=")


def warn_of_syntax(y: Any, known: Labels, separator: str, classes: Any) -> None:
    """Warn if classes that the user has not named seem to be sets, lists, or labels with weights."""
    if classes is not None:
        return
    if other := other_separator(y, separator):
        warn(
            f"each text is read as one label, but {other!r} seems to separate labels. Pass separator={other!r}, or "
            "separator='auto'.",
        )
    if lists := lists_as_text(unwrap(label) if isinstance(label, str) else label for label in known.tolist()):
        warn(
            f"{lists[0]!r} is read as one label. If it is a list written as text, pass separator='[]'; if it is a "
            "set or a tuple, use CandidateSets.from_sets on [ast.literal_eval(text) for text in y].",
        )
    if len(pairs := labels_with_weights(known.tolist())) > 1:
        warn(
            f"{pairs[0]!r} is read as one label. Pass weighted=True if the number is a weight.",
        )
