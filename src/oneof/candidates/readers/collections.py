"""Collections of labels as candidate sets: lists, delimited text, complements, and nodes of a hierarchy."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from oneof.candidates.labels import (
    USE_FROM_WEIGHTS,
    WEIGHT_IN_PARENTHESES,
    as_classes,
    distinct_labels,
    fold_case,
    is_minus_one,
    is_missing,
    is_token,
    is_weight_pair,
    label_vector,
    list_rows,
    pack_classes,
    sort_labels,
    unknown_label,
    without_numpy_numbers,
)
from oneof.candidates.readers.indicator import check_nonempty_rows
from oneof.candidates.readers.literals import LISTS, read_list, write_list
from oneof.candidates.spellings import Spellings
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.messages import warn
from oneof.typing import Ints, Labels, Mask

_CONTAINERS = (list, tuple, set, frozenset, np.ndarray)


def is_collection(value: Any) -> bool:
    """Return whether a value is a set of labels rather than one label."""
    return isinstance(value, _CONTAINERS) or (
        isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    )


def read_sets(sets: Any, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a sequence of collections."""
    flat, lengths, unlabeled = flatten_sets(sets, classes)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    known = collect_classes(flat, rows) if classes is None else as_classes(classes)
    mask = build_mask(flat, rows, (len(lengths), len(known)), known)
    mask[unlabeled] = True
    check_nonempty_rows(mask)
    return mask, known


def write_sets(mask: Mask, classes: Labels) -> list[set[Any]]:
    """Return the labels of each row's set."""
    labels = classes.tolist()
    rows, columns = np.nonzero(mask)
    flat = [labels[k] for k in columns]
    ends = np.searchsorted(rows, np.arange(len(mask)), side="right").tolist()
    return [set(flat[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []


def read_strings(
    y: Any, separator: str, classes: Any = None, *, folds_case: bool = False, missing: Collection[str] = ()
) -> tuple[Mask, Labels]:
    """Return the mask and the classes of delimited text such as "sparrow|finch"; each distinct text is split once.

    Labels in `missing`, which are in lower case, are left out. If `folds_case`, labels and `classes` are read by
    `fold_case`, and the classes are named by `Spellings`.
    """
    check_separator(separator)
    given = classes
    if folds_case and classes is not None:
        classes = [fold_case(name) if isinstance(name, str) else name for name in as_classes(classes).tolist()]
    written = separator.casefold() if folds_case else separator
    texts = label_vector(y).tolist()
    sets: dict[Any, list[str] | None] = {}
    distinct_labels(texts, range(len(texts)))
    for row, text in enumerate(texts):
        if text not in sets:
            if separator == LISTS and isinstance(text, str):
                labels = read_list(row, text)
                sets[text] = [*map(fold_case, labels)] if labels and folds_case else labels
            else:
                folded = fold_case(text) if folds_case and isinstance(text, str) else text
                sets[text] = split_text(row, folded, written)[0]
            if missing and (labels := sets[text]):
                sets[text] = [label for label in labels if not is_token(label, missing)] or None
    mask, known = read_sets([sets[text] for text in texts], classes)
    if not folds_case:
        return mask, known
    spellings = Spellings(as_classes(given).tolist() if given is not None else ())
    count_spellings(texts, separator, spellings)
    return name_classes(mask, known, spellings, is_sorted=given is None)


def count_spellings(texts: Sequence[Any], separator: str, spellings: Spellings) -> None:
    """Count the labels of delimited texts as they are written; those in a text that cannot be read are not counted."""
    for text, count in Counter(text for text in texts if isinstance(text, str)).items():
        try:
            labels = read_list(0, text) if separator == LISTS else split_text(0, text, separator)[0]
        except LabelError:
            continue
        for label in labels or ():
            spellings.add(label, count)


def name_classes(mask: Mask, folded: Labels, spellings: Spellings, *, is_sorted: bool) -> tuple[Mask, Labels]:
    """Return a mask and its classes with the names of their spellings, sorted if `is_sorted`."""
    names = pack_classes([spellings.name(label) for label in folded.tolist()])
    if not is_sorted:
        return mask, names
    order = np.argsort(names, kind="stable")
    return mask[:, order], names[order]


def write_strings(mask: Mask, classes: Labels, separator: str, *, write_full: bool = False) -> list[str]:
    """Join the labels of each row's set; a set of all classes becomes the empty text unless `write_full`."""
    check_separator(separator)
    if separator == LISTS:
        return ["" if row.all() and not write_full else write_list(classes[row].tolist()) for row in mask]
    labels = np.array(escape_labels(classes, "\\" + escaped_characters(separator)), object)
    empty = np.zeros(len(mask), dtype=bool) if write_full else np.asarray(mask.all(axis=1))
    written = separators_of(separator)[0]
    return ["" if empty[i] else written.join(labels[row]) for i, row in enumerate(mask)]


def separators_of(separator: str) -> list[str]:
    """Return the texts that separate labels: "|" and ";" for "| ;", otherwise the separator itself.

    Several separators are signs with spaces between them. The first one is written between labels. It is "|" for
    `LISTS`, in text that is not a list.
    """
    if separator == LISTS:
        return ["|"]
    parts = separator.split()
    has_words = any(map(str.isalnum, separator))
    return [separator] if len(parts) < 2 or has_words else list(dict.fromkeys(parts))


def split_labels(text: str, separator: str) -> list[str]:
    """Return the parts of a text between the separators; see `separators_of`."""
    separators = separators_of(separator)
    return text.split(separators[0]) if len(separators) == 1 else re.split(_either(separators), text)


def _either(separators: Sequence[str]) -> str:
    """Return a pattern of any of the separators, the longest one if several are at a place."""
    return "|".join(map(re.escape, sorted(separators, key=len, reverse=True)))


def escaped_characters(separator: str) -> str:
    """Return the character of each separator that is escaped in labels: "/" for " / ", otherwise the first one."""
    visible = [(part, part.strip()) for part in separators_of(separator)]
    return "".join(text if len(text) == 1 else part[0] for part, text in visible)


def escape_labels(classes: Labels, special: str) -> list[str]:
    """Return each label as text in which a backslash precedes every special character."""
    pattern = re.compile(f"[{re.escape(special)}]")
    return [pattern.sub(lambda match: "\\" + match[0], str(label)) for label in classes.tolist()]


def read_complementary(y: Any, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of complementary labels, which are the classes that are ruled out."""
    flat, lengths, _ = flatten_sets(y, classes)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    known = collect_classes(flat, rows) if classes is None else as_classes(classes)
    mask = ~build_mask(flat, rows, (len(lengths), len(known)), known)
    check_nonempty_rows(mask)
    return mask, known


def read_hierarchy(y: Any, hierarchy: Mapping[Any, Any], classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the leaves; a coarse label stands for all leaves below it."""
    if not isinstance(hierarchy, Mapping):
        raise InputTypeError(f"`hierarchy` must be a dict from a coarse label to its children; got {hierarchy!r}.")
    leaves_of: dict[Any, set[Any]] = {}
    for node in hierarchy:
        _collect_leaves(node, hierarchy, leaves_of, ())
    leaves = set().union(*leaves_of.values()) if leaves_of else set()
    known = pack_classes(sort_labels(leaves)) if classes is None else as_classes(classes)
    for leaf in known.tolist():
        if leaf in hierarchy:
            raise LabelError(f"`classes` must be leaves of the hierarchy; {leaf!r} is a coarse label.", label=leaf)
        leaves_of[leaf] = {leaf}
    flat, lengths, unlabeled = flatten_sets(y, known)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    distinct = list(distinct_labels(flat, rows))
    for label in distinct:
        if label not in leaves_of:
            row = int(rows[flat.index(label)])
            raise LabelError(
                f"label {label!r} is neither a leaf nor a coarse label of the hierarchy. Correct it, or add it.",
                row=row,
                label=label,
                cause="unknown label",
            )
    if not len(known):
        raise LabelError("`hierarchy` must have at least one leaf. Give the labels below each coarse one.")
    below = np.array([[leaf in leaves_of[label] for leaf in known.tolist()] for label in distinct], dtype=bool)
    code = {label: i for i, label in enumerate(distinct)}
    codes = np.fromiter(map(code.__getitem__, flat), dtype=np.int64, count=len(flat))
    mask = np.zeros((len(lengths), len(known)), dtype=bool)
    np.logical_or.at(mask, rows, below.reshape(-1, len(known))[codes])
    mask[unlabeled] = True
    check_nonempty_rows(mask)
    return mask, known


def flatten_sets(sets: Any, classes: Any = None) -> tuple[list[Any], Ints, Mask]:
    """Return all labels in one list, the length of each row's set, and the mask of unlabeled rows."""
    if classes is not None:
        classes = as_classes(classes)
    rows = as_rows(sets)
    if not all(kind in _CONTAINERS and kind is not np.ndarray for kind in set(map(type, rows))):
        has_minus_one = any(is_minus_one(value) for value in rows)
        rows = [_as_collection(value, classes) for value in rows]
        if has_minus_one and classes is None:
            _warn_of_minus_one(rows)
    unlabeled = np.fromiter((value is None for value in rows), dtype=bool, count=len(rows))
    if unlabeled.any():
        rows = [() if value is None else value for value in rows]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return without_numpy_numbers(list_rows(itertools.chain.from_iterable(rows))), lengths, unlabeled


def _warn_of_minus_one(rows: list[Any]) -> None:
    """Warn if -1 is a label of a set, while a row of -1 alone is unlabeled."""
    row = next((i for i, value in enumerate(rows) if value is not None and any(map(is_minus_one, value))), None)
    if row is not None:
        warn(
            f"a row of -1 is unlabeled, but -1 is a class in the set of row {row}. Write None for unlabeled rows and "
            "remove -1 from sets; or pass `classes` with -1 if it is a class.",
        )


def collect_classes(flat: list[Any], rows: Ints) -> Labels:
    """Return the sorted distinct labels; a missing value inside a set is an error that names the row."""
    distinct = distinct_labels(flat, rows)
    if any(is_missing(value) for value in distinct):
        first = next(i for i, value in enumerate(flat) if is_missing(value))
        raise LabelError("the set contains a missing value (None or NaN). Remove it.", row=int(rows[first]))
    if any(is_weight_pair(value) for value in distinct):
        first = next(i for i, value in enumerate(flat) if is_weight_pair(value))
        raise _weight_pair(int(rows[first]), flat[first])
    if any(_is_fraction(value) for value in distinct):
        first = next(i for i, value in enumerate(flat) if _is_fraction(value))
        raise LabelError(
            f"Unknown label type: {flat[first]!r} is continuous. Labels must be categories. {USE_FROM_WEIGHTS}",
            row=int(rows[first]),
            label=flat[first],
        )
    if not distinct:
        raise LabelError("`y` must name at least one class; every row is unlabeled or empty.")
    return pack_classes(sort_labels(distinct))


def build_mask(flat: list[Any], rows: Ints, shape: tuple[int, int], classes: Labels) -> Mask:
    """Return the mask that is True at (row, class of the label) for every label."""
    mask = np.zeros(shape, dtype=bool)
    mask[rows, encode_members(flat, rows, classes)] = True
    return mask


def encode_members(flat: list[Any], rows: Ints, classes: Labels) -> Ints:
    """Return the code of every label; an unknown label is an error that names the row."""
    index = {value: code for code, value in enumerate(classes.tolist())}
    try:
        return np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
    except (KeyError, TypeError):
        distinct_labels(flat, rows)
        first = next(i for i, value in enumerate(flat) if value not in index)
        if is_weight_pair(flat[first]):
            raise _weight_pair(int(rows[first]), flat[first]) from None
        raise unknown_label(int(rows[first]), flat[first], classes) from None


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float | np.floating) and not float(value).is_integer()


def _weight_pair(row: int, pair: Any) -> LabelError:
    return LabelError(f"{pair!r} is a pair of a label and a number. {USE_FROM_WEIGHTS}", row=row, label=pair)


def as_rows(sets: Any) -> list[Any]:
    """Return a sequence, or a column of a table, as a list."""
    if hasattr(sets, "to_pylist"):  # Arrow
        sets = sets.to_pylist()
    elif hasattr(sets, "to_list"):  # pandas, polars
        sets = sets.to_list()
    try:
        return list_rows(sets)
    except TypeError:
        raise LabelError(f"`y` must be one set of labels per row; got {type(sets).__name__}.") from None


def _as_collection(value: Any, classes: Any) -> Any:
    """Return a row as a collection of labels, or None if it is unlabeled."""
    if is_collection(value):
        if isinstance(value, np.ndarray):
            return value.ravel().tolist()
        return value.to_pylist() if hasattr(value, "to_pylist") else list(value)
    if is_missing(value) or (is_minus_one(value) and (classes is None or -1 not in classes.tolist())):
        return None
    return (value,)


def _collect_leaves(
    node: Any, hierarchy: Mapping[Any, Any], leaves_of: dict[Any, set[Any]], above: tuple[Any, ...]
) -> set[Any]:
    if node in above:
        raise LabelError(f"`hierarchy` must not have a cycle; {node!r} is below itself.", label=node)
    if node not in hierarchy:
        return {node}
    if node not in leaves_of:
        children = hierarchy[node]
        children = list(children) if is_collection(children) else [children]
        if not children:
            raise LabelError(f"`hierarchy` gives {node!r} no children. Remove it, or name its children.", label=node)
        below = [_collect_leaves(child, hierarchy, leaves_of, (*above, node)) for child in children]
        leaves_of[node] = set().union(*below)
    return leaves_of[node]


def check_separator(separator: Any) -> None:
    """Raise unless labels can be joined by the separator."""
    if (
        not isinstance(separator, str)
        or not separator
        or (separator.isspace() and separator != "\n")
        or "\\" in separator
    ):
        raise InputError(f"`separator` must be visible text without a backslash; got {separator!r}.")


def split_text(
    row: int, text: Any, separator: str, *, colons: bool = False, trims: bool = True
) -> tuple[list[str] | None, list[str | None]]:
    """Return the labels of a text, None if the row is unlabeled, and the text of the weight of each label.

    This is the text after the last colon, or the number in parentheses at the end. Both are part of the label, and the
    second list has no items, unless `colons`. A backslash escapes a backslash, the characters that
    `escaped_characters` returns and, if `colons`, a colon, an opening parenthesis, the brackets that begin JSON, and a
    backtick that begins a code fence. If `trims`, separators before the first and after the last label have no effect.
    """
    if is_missing(text):
        return None, []
    if not isinstance(text, str):
        raise LabelError(
            f"{text!r} is not a string. Use from_labels or from_sets for labels of other types.", row=row, label=text
        )
    if not text.strip():
        return None, []
    if "\\" in text:
        labels, ends = _split_escaped(text, separator, colons=colons)
    else:
        labels = split_labels(text, separator)
        ends = [{sign: label.rfind(sign) for sign in ":("} for label in labels] if colons else []
    numbers: list[str | None] = [None] * len(labels) if colons else []
    for i, end in enumerate(ends):
        label = labels[i]
        if end[":"] >= 0:
            labels[i], numbers[i] = label[: end[":"]], label[end[":"] + 1 :].strip()
        elif label[: max(end["("], 0)].strip() and (number := WEIGHT_IN_PARENTHESES.fullmatch(label, end["("])):
            labels[i], numbers[i] = label[: end["("]], number[1]
    labels = [label.strip() for label in labels]
    kept = _labeled(labels, numbers) if trims else slice(None)
    labels, numbers = labels[kept], numbers[kept]
    if "" in labels:
        raise LabelError(f"{text!r} contains an empty label. Remove the extra {separator!r}.", row=row, label=text)
    return labels, numbers


def _labeled(labels: list[str], numbers: list[str | None]) -> slice:
    """Return the range of labels without the empty ones at both ends, as of "a|b|", unless they have weights."""
    kept = [i for i, label in enumerate(labels) if label or (numbers and numbers[i])] or range(len(labels))
    return slice(kept[0], kept[-1] + 1)


def _split_escaped(text: str, separator: str, *, colons: bool) -> tuple[list[str], list[dict[str, int]]]:
    """Return the labels of a text with backslashes, and the last colon and parenthesis in each that are not escaped.

    Their positions are -1 without any; the list has no items unless `colons`.
    """
    separators = separators_of(separator)
    escaped = "|".join(map(re.escape, escaped_characters(separator) + ":([{`" * colons))
    token = re.compile(rf"\\\\|\\(?:{escaped})|{_either(separators)}|.", re.DOTALL)
    labels, ends = [""], [{":": -1, "(": -1}]
    for piece in token.findall(text):
        if piece in separators:
            labels.append("")
            ends.append({":": -1, "(": -1})
        else:
            if piece in (":", "("):
                ends[-1][piece] = len(labels[-1])
            labels[-1] += piece.removeprefix("\\") if len(piece) > 1 else piece
    return labels, ends if colons else []
