"""Sets of labels in one text: the sign between the labels of a column, and texts that are several labels.

One judgment serves the reading of a column and the findings about its classes: a text is a set if a sign divides it
into labels that occur elsewhere.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from oneof.candidates.cells import DEFAULT_SEPARATOR, LISTS, LabelFormat, literal_kind, parse
from oneof.candidates.labels import clean, label_vector, labels_with_weights
from oneof.candidates.labels import fold_case as fold_text
from oneof.candidates.literals import parse_text, strip_fence
from oneof.errors import LabelError, OneofError
from oneof.messages import warn
from oneof.typing import Labels

_EMPTY = ("[]", "{}")
_USUAL = (";", ",", " / ")
"""Separators that are a question if cells with them may be sets; names of classes have the last two as well."""
_BETWEEN_LINES = ("\t", "\n")
_SIGN = re.compile(r"(?<=\w)\s*([^\w\s.,;:/'\u2019()\[\]{}\"&+|\\-]+)\s*(?=\w)")
"""A sign between two words that is not usual in names."""
_ANY_SIGN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
"""Any characters between two words."""


def joining_sign(text: str, labels: Collection[str]) -> str | None:
    """Return the sign or the word between the labels of a text that is several of them; None for another text."""
    signs = [sign.strip() or sign for sign in _ANY_SIGN.findall(text)]
    for sign in dict.fromkeys([*signs, *(f" {word} " for word in text.split(" ")[1:-1])]):
        parts = [part.strip() for part in text.split(sign)]
        if len(parts) > 1 and all(part in labels and part != text for part in parts):
            return sign
    return None


def divides(separator: str, text: str) -> bool:
    """Return whether a text is read as something else than one label of its name."""
    try:
        return [label for label, _ in parse(text, LabelFormat(separator)) or ()] != [text]
    except OneofError:
        return False


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
    kind_of = cache(lambda text: None if text in named else literal_kind(text))
    joined = [text for text in rows if DEFAULT_SEPARATOR in text and kind_of(text) is None]
    if joined:
        is_double = all(DEFAULT_SEPARATOR not in text.replace(2 * DEFAULT_SEPARATOR, "") for text in joined)
        return 2 * DEFAULT_SEPARATOR if is_double and len(joined) > 1 else DEFAULT_SEPARATOR
    if any(kind_of(text) == "list" for text in rows) or _are_arrays(rows, named):
        return LISTS
    cells = [text for text in rows if kind_of(text) != "empty"]
    if 2 * sum(kind_of(text) == "weights" for text in cells) > len(cells):
        return DEFAULT_SEPARATOR  # the reader refuses weights
    others = dict.fromkeys(sign for text in cells if text not in named for sign in _SIGN.findall(text))
    usual = sorted((*_USUAL, *_BETWEEN_LINES), key=lambda sign: -sum(sign in text for text in cells))
    doubtful: list[tuple[int, str, str]] = []
    for sign in (*usual, *others):
        is_plain, example = _judge(cells, sign, named, weighted=weighted)
        if is_plain:
            return sign
        if example is not None:
            doubtful.append((rows[example], example, sign))
    if doubtful:
        _ask(*min(doubtful), setting, is_error=2 * sum(map(counts.__getitem__, rows)) >= counts.total())
    return DEFAULT_SEPARATOR


def _ask(row: int, text: str, sign: str, setting: str, *, is_error: bool) -> None:
    """Raise, or warn if most cells are JSON, since a text may be a set of labels or one class."""
    if not is_error:
        warn(f"{text!r} (row {row}) is read as one class, since most cells are JSON. {setting}{sign!r} if it is a set.")
        return
    raise LabelError(
        f"{text!r} may be a set of labels or one class. {setting}{sign!r} if it is a set, or "
        f"{setting.partition(' ')[2]}{DEFAULT_SEPARATOR!r} if it is one class.",
        row=row,
        label=text,
    )


def _are_arrays(texts: Iterable[str], named: Collection[str]) -> bool:
    """Return whether there are sets such as "{finch,wren}" or "[finch, wren]", and all their members occur alone."""
    arrays = [_bare_members(text) for text in texts if text not in named and text[0] in "{[" and text not in _EMPTY]
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


def _judge(texts: Collection[str], sign: str, named: Collection[str], *, weighted: bool) -> tuple[bool, str | None]:
    """Return whether a sign plainly separates labels, and if that is in doubt a text with it.

    The text is the first one with a label that occurs alone.
    """

    def label_of(text: str) -> str:
        return (text.rpartition(":")[0] or text).strip() if weighted else text.strip()

    parts = {text: [label_of(part) for part in text.split(sign)] for text in texts if sign in text}
    alone = {*named, *(label_of(text) for text in texts if text not in parts)}
    if sign in (*_USUAL, *_BETWEEN_LINES):
        parts = {text: [label for label in labels if label] for text, labels in parts.items()}
    cells = {text: labels for text, labels in parts.items() if text not in named}
    if sign != "," and any(len(labels) > 1 for labels in cells.values()):
        alone |= {labels[0] for labels in cells.values() if len(labels) == 1}  # at an end, as in "a;"
    counts = Counter(label for labels in cells.values() for label in set(labels))
    are_classes = bool(cells) and alone.issuperset(counts)
    if sign not in _USUAL:
        return are_classes and (len(cells) > 1 or sign in _BETWEEN_LINES), None
    joins_classes = not alone.isdisjoint(counts)
    are_known = all(any(label in alone or counts[label] > 1 for label in labels) for labels in cells.values())
    sizes = {len(labels) for labels in cells.values()}
    are_lists = are_known and len(sizes) > 1 and max(sizes) > 2
    n_labels, n_cells = len(alone.union(counts)), len(alone) + len(cells)
    are_common = are_known and len(cells) > 1 and (n_labels < n_cells or are_classes)
    if are_common and (joins_classes or sign == ";" or (are_lists and 2 * n_labels <= n_cells)):
        return True, None
    if not cells or not (joins_classes or are_lists or are_common or sign == ";"):
        return False, None
    return False, next((text for text, labels in cells.items() if not alone.isdisjoint(labels)), next(iter(cells)))


def separator_of_texts(y: Any, classes: Any, *, fold_case: bool, weighted: bool) -> str:
    """Return the separator of the texts; a value that is not text is an error of the reader."""
    texts = [text if isinstance(text, str) else None for text in label_vector(y).tolist()]
    if fold_case:
        texts = [text and fold_text(text) for text in texts]
    names = None if classes is None else [name for name in label_vector(classes).tolist() if isinstance(name, str)]
    return detect_separator(texts, names, weighted=weighted, setting="Pass separator=")


def warn_of_syntax(y: Any, known: Labels, separator: str, classes: Any) -> None:
    """Warn if classes that the user has not named seem to be sets, or labels with weights."""
    if classes is not None:
        return
    try:
        other = separator_of_texts(y, None, fold_case=False, weighted=False)
    except LabelError:  # texts that may be sets or labels
        other = separator
    if separator == DEFAULT_SEPARATOR and other not in (DEFAULT_SEPARATOR, LISTS):
        warn(
            f"each text is read as one label, but {other!r} seems to separate labels. Pass separator={other!r}, or "
            "separator='auto'.",
        )
    if len(pairs := labels_with_weights(known.tolist())) > 1:
        warn(f"{pairs[0]!r} is read as one label. Pass weighted=True if the number is a weight.")
