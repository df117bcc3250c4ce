"""Sets of labels in one text: the sign between the labels of a column, and texts that are several labels.

One judgment serves the reading of a column and the findings about its classes: a text is a set if a sign divides it
into labels that occur elsewhere.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from oneof.candidates.cells import DEFAULT_SEPARATOR, LISTS, LabelFormat, literal_kind, parse, strip_fence
from oneof.candidates.labels import clean, describe_spellings, fold_case, labels_with_weights, warn_of_texts
from oneof.errors import LabelError, OneofError
from oneof.messages import warn
from oneof.typing import Labels

_USUAL = (";", ",", " / ")
"""Separators that are a question if cells with them may be sets; names of classes have the last two as well."""
_BETWEEN_LINES = ("\t", "\n")
_SIGN = re.compile(r"(?<=\w)\s*([^\w\s.,;:/'\u2019()\[\]{}\"&+|\\-]+)\s*(?=\w)")
"""A sign between two words that is not usual in names."""
_ANY_SIGN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
"""Any characters between two words."""
_JOINED_WEIGHTS = re.compile(r"(\(\s*\d*\.?\d+\s*%?\s*\)|:\s*\d*\.?\d+\s*%?)\s*[,;/\n]\s*\S", re.ASCII)
"""A weight, with another label after a separator."""


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
    return _labels_of(text, separator) != [text]


def _labels_of(text: str, separator: str) -> list[str]:
    """Return the labels of a cell, and of one that cannot be read its text."""
    try:
        return [label for label, _ in parse(text, LabelFormat(separator)) or ()]
    except OneofError:
        return [text]


def detect_separator(
    texts: Iterable[str | None],
    classes: Sequence[object] | None = None,
    *,
    weighted: bool = False,
    folds_case: bool = False,
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
    classes : sequence, optional
        The classes named by the user.
    weighted : bool
        Whether a label may be followed by a colon and a weight. Cells of JSON are then ignored.
    folds_case : bool
        Whether labels that are equal by `fold_case` are one.
    setting : str
        The text before a separator in an error that asks for it.

    Raises
    ------
    LabelError
        If a cell may be a set of labels or one class, so that the user must name the separator.
    """
    key = fold_case if folds_case else str
    named = {key(clean(name)) for name in classes or () if isinstance(name, str)}
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is not None and (content := key(clean(text))):
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
        row, text, sign = min(doubtful)
        raise LabelError(
            f"{text!r} may be a set of labels or one class. {setting}{sign!r} if it is a set, or "
            f"{setting.partition(' ')[2]}{DEFAULT_SEPARATOR!r} if it is one class.",
            row=row,
            label=text,
        )
    return DEFAULT_SEPARATOR


def _are_arrays(texts: Iterable[str], named: Collection[str]) -> bool:
    """Return whether there are sets such as "{finch,wren}" or "[finch, wren]", and all their members occur alone."""
    cells = {text: _labels_of(text, LISTS) for text in texts if text not in named and text[0] in "{["}
    alone = {labels[0] for labels in cells.values() if len(labels) == 1}.union(texts, named)
    return any(len(labels) > 1 for labels in cells.values()) and all(
        labels != [text] and alone.issuperset(labels) for text, labels in cells.items()
    )


def _judge(texts: Collection[str], sign: str, named: Collection[str], *, weighted: bool) -> tuple[bool, str | None]:
    """Return whether a sign plainly separates labels, and if that is in doubt a text with it.

    The text is the first one with a label that occurs alone.
    """

    def label_of(text: str) -> str:
        return (text.rpartition(":")[0] or text).strip() if weighted else text.strip()

    cells = {text: [label_of(part) for part in text.split(sign)] for text in texts if sign in text}
    alone = {*named, *(label_of(text) for text in texts if text not in cells)}
    cells = {text: labels for text, labels in cells.items() if text not in named}
    if sign in (*_USUAL, *_BETWEEN_LINES):
        cells = {text: list(filter(None, labels)) for text, labels in cells.items()}
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


def warn_of_syntax(texts: Sequence[str | None], known: Labels, form: LabelFormat) -> None:
    """Warn if classes that the user has not named seem to be missing labels, sets, or labels with weights."""
    names, other = known.tolist(), form.separator
    warn_of_texts(known)
    if not form.folds_case:
        for sentence in describe_spellings(names, "pass fold_case=True, or use one spelling", 3):
            warn(sentence)
    if form.weighted:
        for name in [name for name in names if _JOINED_WEIGHTS.search(str(name))][:1]:
            warn(f"{name!r} is read as one label. Pass `separator` if it is a list of labels with weights.")
        return
    with contextlib.suppress(LabelError):  # texts that may be sets or labels
        other = detect_separator(texts)
    if form.separator == DEFAULT_SEPARATOR and other not in (DEFAULT_SEPARATOR, LISTS):
        warn(
            f"each text is read as one label, but {other!r} seems to separate labels. Pass separator={other!r}, or "
            "separator='auto'."
        )
    if len(pairs := labels_with_weights(names)) > 1:
        warn(f"{pairs[0]!r} is read as one label. Pass weighted=True if the number is a weight.")
