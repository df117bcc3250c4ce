"""Collections of labels as candidate sets: lists, complements, and nodes of a hierarchy."""

import itertools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from oneof.candidates.labels import (
    USE_FROM_WEIGHTS,
    as_classes,
    distinct_labels,
    is_minus_one,
    is_missing,
    is_weight_pair,
    list_rows,
    pack_classes,
    sort_labels,
    unknown_label,
    without_numpy_numbers,
)
from oneof.candidates.readers.indicator import check_nonempty_rows
from oneof.errors import InputTypeError, LabelError
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
