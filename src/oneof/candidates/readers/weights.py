"""Weights in matrices, tables and ranked lists.

Every form is read in the same steps: its cells become an (n, K) array of numbers, the mass of the classes that a row
does not list is spread over them, and posteriors are divided by their prior.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.cells import LabelFormat, Pairs, ParsedCells, as_pairs
from oneof.candidates.labels import (
    as_classes,
    check_no_mapping,
    format_classes,
    is_missing,
    pack_classes,
    unknown_label,
)
from oneof.candidates.readers.collections import as_rows, build_mask, collect_classes, encode_members, is_collection
from oneof.candidates.readers.indicator import is_table, read_table
from oneof.candidates.row_weights import WeightOptions, WeightTable, invalid_weight, to_likelihoods
from oneof.candidates.spellings import Spellings
from oneof.errors import InputError, LabelError
from oneof.typing import Evidence, Floats, Ints, Labels
from oneof.validation import unmask

_MAX_LISTED = 10
"""Maximum number of unknown labels that an error lists."""
_REQUIREMENT = "weights must be numbers"


# -- forms ------------------------------------------------------------------------------------------------------------


def read_weights(W: Any, classes: Any, options: WeightOptions) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of a matrix, a table or ranked lists."""
    if not (is_table(W) or sp.issparse(W) or (isinstance(W, np.ndarray) and W.ndim != 1)):
        if hasattr(W, "__array__") and not hasattr(W, "to_numpy") and not isinstance(W, np.ndarray):
            W = np.asarray(W)  # an array of another library
        else:
            W = _as_list(W)
            if _are_ranked_lists(W):
                return to_likelihoods(tabulate([*map(_read_row, range(len(W)), W)], None, classes, options), options)
    return to_likelihoods(_read_matrix(W, classes, options.rest), options)


def _read_matrix(W: Any, classes: Any, rest: bool | str) -> WeightTable:
    """Read an array or a table; the columns of a table are matched by name if one of them is the name of a class."""
    names: set[Any] = set()
    cells = unmask(W)
    may_be_empty = is_table(W) or cells is not W
    if is_table(W):
        cells, listed = read_table(W, _REQUIREMENT)
        names = set(listed)
        columns = pack_classes(listed) if classes is None or names & set(as_classes(classes).tolist()) else classes
    else:
        columns = classes
    weights = _as_numbers(cells)
    if weights.ndim != 2:
        raise LabelError(f"`W` must be a 2-D array with one column per class; got shape {weights.shape}.")
    is_set = np.asarray(np.isnan(weights).all(axis=1) & may_be_empty)
    weights = np.where(is_set[:, None], 1.0, weights)
    known = _name_columns(weights.shape[1], columns)
    _check_cells(weights)
    rest_mass: Floats = np.zeros(len(weights))
    if isinstance(rest, str):
        if rest not in known.tolist():
            raise InputError(f"`rest` must be the name of a column; got {rest!r}.")
        column = known.tolist().index(rest)
        rest_mass, weights, known = weights[:, column], np.delete(weights, column, axis=1), np.delete(known, column)
    if names and classes is not None and columns is not classes:
        weights, known = _align_columns(weights, known, as_classes(classes)), as_classes(classes)
        weights[is_set] = 1.0
    return WeightTable(weights, known, weights > 0, rest_mass, is_set)


def read_column(cells: ParsedCells, form: LabelFormat, classes: Any, options: WeightOptions) -> tuple[Evidence, Labels]:
    """Return the mask, or the likelihoods if the format has weights, and the classes of a column of cells."""
    distinct = cells.pairs
    if form.folds_case and classes is None:
        spellings = Spellings([options.rest])
        for pairs, count in zip(distinct, cells.counts(), strict=True):
            for label, _ in pairs or ():
                spellings.add(label, count)
        distinct = [pairs and [(spellings.name(label), weight) for label, weight in pairs] for pairs in distinct]
    if form.weighted:
        return to_likelihoods(tabulate(distinct, cells.code, classes, options), options)
    lengths = np.fromiter((len(pairs or ()) for pairs in distinct), dtype=np.int64, count=len(distinct))
    flat = [label for pairs in distinct for label, _ in pairs or ()]
    rows = np.repeat(np.arange(len(distinct)), lengths)
    known = collect_classes(flat, rows) if classes is None else as_classes(classes)
    mask = build_mask(flat, rows, (len(distinct), len(known)), known)
    mask[lengths == 0] = True
    return mask[cells.code], known


def _read_row(row: int, pairs: Any) -> Pairs | None:
    try:
        return as_pairs(pairs)
    except LabelError as error:
        raise LabelError(error.reason, row=row, label=error.label) from None


def tabulate(distinct: Sequence[Pairs | None], code: Ints | None, classes: Any, options: WeightOptions) -> WeightTable:
    """Return the weights of rows of (label, weight) pairs.

    Parameters
    ----------
    distinct : sequence of length D
        Pairs, None or empty for an unlabeled row; the weights of a set are None.
    code : ndarray of shape (n,), optional
        The index into `distinct` of each row; by default there is a row for each.
    classes : array-like, optional
        By default the sorted labels that occur.
    options : WeightOptions
    """
    n, rest = len(distinct), options.rest
    is_set = np.fromiter((not pairs or pairs[0][1] is None for pairs in distinct), dtype=bool, count=n)
    lengths = np.fromiter((len(pairs or ()) for pairs in distinct), dtype=np.int64, count=n)
    row = np.repeat(np.arange(n), lengths)
    labels = [label for pairs in distinct for label, _ in pairs or ()]
    weights_of = (1.0 if weight is None else weight for pairs in distinct for _, weight in pairs or ())
    values = np.fromiter(weights_of, dtype=np.float64, count=len(labels))
    _check_pairs(row, labels, values)
    rest_mass = np.zeros(n)
    if isinstance(rest, str):
        is_rest = np.fromiter((label == rest for label in labels), dtype=bool, count=len(labels))
        _add(rest_mass, row[is_rest], values[is_rest])
        labels = [label for label, skipped in zip(labels, is_rest.tolist()) if not skipped]
        row, values = row[~is_rest], values[~is_rest]
    known = collect_classes(labels, row) if classes is None else as_classes(classes)
    if isinstance(rest, str) and rest in known.tolist():
        raise InputError(f"`rest` must not be one of the classes; got {rest!r}.")
    if classes is not None:
        _check_known(labels, row, known)
    columns = encode_members(labels, row, known)
    weights = np.zeros((n, len(known)))
    listed = np.zeros((n, len(known)), dtype=bool)
    listed[row, columns] = True
    if options.are_probabilities:
        _add(weights, (row, columns), values)
    else:  # probabilities of one and the same evidence
        np.maximum.at(weights, (row, columns), values)
    weights[is_set] = np.where(lengths[is_set, None] == 0, 1.0, listed[is_set])  # a set may repeat a label
    is_repeated = np.bincount(row, minlength=n) > np.count_nonzero(listed, axis=1)
    table = WeightTable(weights, known, listed, rest_mass, is_set, is_repeated & ~is_set, is_ranked=True)
    return table if code is None else table.select(code)


def _add(totals: Floats, places: Any, values: Floats) -> None:
    """Add values at some places; a sum that overflows is the largest number."""
    with np.errstate(over="ignore"):
        np.add.at(totals, places, values)
    np.minimum(totals, np.finfo(np.float64).max, out=totals)


# -- validation -------------------------------------------------------------------------------------------------------


def _as_list(W: Any) -> list[Any]:
    if isinstance(W, str | bytes):
        raise LabelError(f"`W` must have one row of weights per sample; got the text {W!r}.")
    check_no_mapping(W)
    try:
        return as_rows(W)
    except LabelError:
        raise LabelError(f"`W` must have one row of weights per sample; got {W!r}.") from None


def _are_ranked_lists(rows: list[Any]) -> bool:
    """Return whether rows are mappings, lists of pairs or None, judged by the first row that is not empty."""
    for i, row in enumerate(rows):
        if isinstance(row, str):
            raise LabelError(
                f"{row!r} is text. Use CandidateSets.from_strings(y, weighted=True) for weights in text.",
                row=i,
                label=row,
            )
        if isinstance(row, Mapping):
            return True
        if not is_missing(row):
            if not is_collection(row) or (isinstance(row, np.ndarray) and row.dtype != object):
                return False
            if len(row):
                return isinstance(next(iter(row)), list | tuple | Mapping | np.ndarray)
    return bool(rows)


def _as_numbers(W: Any) -> Floats:
    try:
        weights = np.asarray(W.toarray() if sp.issparse(W) else W)
    except ValueError:
        raise _unequal_rows(W) from None
    if weights.dtype.kind not in "biufO":
        raise LabelError(f"{_REQUIREMENT}; got values of type {weights.dtype}.")
    try:
        with np.errstate(over="ignore"):
            return weights.astype(np.float64)
    except (TypeError, ValueError):
        raise LabelError(f"{_REQUIREMENT}; got values of another type.") from None


def _unequal_rows(W: Any) -> LabelError:
    """Return the error for the first row that differs in its form or length from the first one."""
    requirement = "rows of equal length, one number for each class; or mappings or (label, weight) pairs"
    lengths = [len(row) if hasattr(row, "__len__") else None for row in W]
    different = [i for i, length in enumerate(lengths) if length != lengths[0]]
    if not different:
        return LabelError(f"`W` must have {requirement}; got lists within the rows.")
    i = different[0]
    got = f"{W[i]!r}" if lengths[i] is None else f"{lengths[i]} values"
    return LabelError(f"`W` must have {requirement}; got {got}, but row 0 has {lengths[0]}.", row=i)


def _name_columns(n_columns: int, classes: Any) -> Labels:
    """Return the classes of the columns of an array, by default 0, 1, ..."""
    known = np.arange(n_columns) if classes is None else as_classes(classes)
    if len(known) != n_columns:
        raise LabelError(f"`W` must have one column per class; got {n_columns} columns, {len(known)} classes.")
    return known


def _align_columns(weights: Floats, names: Labels, classes: Labels) -> Floats:
    """Return the named columns of a table in the order of the classes."""
    column = {label: k for k, label in enumerate(classes.tolist())}
    aligned = np.zeros((len(weights), len(classes)))
    for k, name in enumerate(names.tolist()):
        if name not in column:
            listed = format_classes([repr(label) for label in column])
            raise LabelError(f"column {name!r} is not one of the classes {listed}.", label=name, cause="unknown label")
        aligned[:, column[name]] = weights[:, k]
    return aligned


def _check_cells(weights: Floats) -> None:
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        raise LabelError(
            f"a weight must be a finite number of at least 0; got {weights[row, column].item()!r}. "
            "Give an unlabeled row the same weight for all classes.",
            row=row,
            column=column,
        )


def _check_pairs(row: Ints, labels: list[Any], values: Floats) -> None:
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        first = int(wrong[0])
        raise invalid_weight(int(row[first]), labels[first], values[first].item())


def _check_known(labels: list[Any], row: Ints, classes: Labels) -> None:
    """Raise one error for all labels that are not classes, with the numbers of their rows."""
    try:
        counts = Counter(labels)
    except TypeError:  # a label that cannot be a member of a set has an error of its own
        return
    known = set(classes.tolist())
    others = [(label, n) for label, n in counts.most_common() if label not in known]
    if len(others) < 2:
        return
    first = next(i for i, label in enumerate(labels) if label not in known)
    listed = ", ".join(f"{label!r} ({n:,})" for label, n in others[:_MAX_LISTED])
    more = f", ... ({len(others):,} labels in all)" if len(others) > _MAX_LISTED else ""
    error = unknown_label(int(row[first]), labels[first], classes)
    raise error.because(f"{error.reason} These labels are not classes either: {listed}{more}.")
