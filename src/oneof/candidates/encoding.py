"""The encoder of rows of labels: classes, codes, masks and likelihoods.

A row is one label, a set of labels, or (label, weight) pairs. `encode` finds the classes and the code of each label of
any form, and all errors of labels are raised there. Weights are then merged, the mass of the classes that a row does
not list is spread over them, and posteriors are divided by their prior. The answers of several annotators to a row are
votes, or have likelihoods.
"""

import contextlib
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.candidates.cells import (
    MAX_PLAUSIBLE_SUM,
    LabelFormat,
    Pairs,
    ParsedCells,
    as_pairs,
    at_row,
    empty_set,
    no_rest,
    zero_weights,
)
from oneof.candidates.labels import (
    AMBIGUOUS_SIGNS,
    USE_FROM_WEIGHTS,
    as_classes,
    check_no_mapping,
    format_classes,
    has_collections,
    is_collection,
    is_hashable,
    is_minus_one,
    is_missing,
    is_weight_pair,
    label_vector,
    list_rows,
    most_frequent_spellings,
    object_vector,
    pack_classes,
    sort_labels,
    unknown_label,
    warn_of_minus_one,
    warn_of_texts,
)
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.messages import shorten, warn
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_choice, check_positive, unmask

SignPolicy = Literal["error", "warn"]
"""Treatment of a vector whose only values are -1 and +1: an error, or two classes with a warning."""
MISSING = -1
"""The code of a row without a label."""

_TIE_RTOL = 1e-14
"""Relative difference of two weights of a row, a few roundings, up to which they are equal."""
MIN_STORED_WEIGHT = float(np.finfo(np.float64).tiny)
"""The smallest weight above 0, relative to the largest of its row; its inverse and its logarithm are finite."""
_MAX_SUM = 1.01
"""Maximum sum of probabilities that were rounded to a few decimals."""
_MIN_ROWS_WARNING = 100
"""Rows from which their mean is an estimate of the class frequencies, so that a class of less than one row is rare."""
_SUM_TOL = 1e-6
"""Difference of a sum of probabilities from 1, in float32 for instance, that is a rounding error."""
MIN_KNOWN_CELLS = 0.1
"""Fraction of the cells of an annotator that have a label of another annotator, at least."""
MIN_CELLS = 10
"""Number of cells of a column from which it can be seen that it is not an annotator's."""
MIN_NAMES = 20
"""Number of cells, all different and in no other column, from which they are taken for names of rows.

Two annotators who are right in half of their answers agree in a row with a probability of at least 1/4, and in none of
20 rows with at most (3/4)^20 = 0.3 %.
"""


# -- classes and codes -------------------------------------------------------------------------------------------------


def encode(
    labels: Any, classes: Any = None, *, row: Ints | None = None, is_single: bool = False, signs: SignPolicy = "error"
) -> tuple[Ints, Labels]:
    """Return the code of each label, and the classes.

    Parameters
    ----------
    labels : list, or ndarray of shape (m,)
    classes : array-like of shape (K,), optional
        By default the sorted labels that occur.
    row : ndarray of shape (m,), optional
        The row of each label, by default 0, 1, ...; errors name it.
    is_single : bool, default=False
        Whether each row is one label. None, NaN, and -1 unless it is a class, then have the code -1. In a set, None is
        an error, and -1 a label.
    signs : {"error", "warn"}
        Treatment of single labels of -1 and +1 alone if `classes` is not given.

    Raises
    ------
    LabelError
        If a value is not a label, is continuous, infinite or not in `classes`, or the labels have several types.
    """
    distinct, number = _number_distinct(labels, row)
    known = None if classes is None else as_classes(classes)
    named = {} if known is None else {value: code for code, value in enumerate(known.tolist())}
    occurring = [value for value in distinct if not (is_single and is_missing(value))]
    others = [value for value in occurring if value not in named]
    is_new = [known is not None and not (is_single and is_minus_one(value)) for value in others]
    wrong = {v for v, new in zip(others, is_new, strict=True) if new or _reason(v, is_single=is_single) is not None}
    if wrong:
        place = int(np.argmax(np.array([value in wrong for value in distinct])[number]))
        value, at = distinct[number[place]], place if row is None else int(row[place])
        reason = _reason(value, is_single=is_single)
        raise LabelError(reason, row=at, label=value) if reason else unknown_label(at, value, as_classes(classes))
    if known is None:
        known = pack_classes(sort_labels(_without_mark(occurring, signs) if is_single else occurring))
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iuf":
            known = known.astype(labels.dtype)
        named = {value: code for code, value in enumerate(known.tolist())}
    if not len(known):
        raise LabelError("`y` must name at least one class; every row is unlabeled.")
    return np.array([named.get(value, MISSING) for value in distinct], dtype=np.int64)[number], known


def _number_distinct(labels: Any, row: Ints | None) -> tuple[list[Any], Ints]:
    """Return the distinct values, and the number of the value at each place."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iufb":
        distinct = np.unique(labels)
        return distinct.tolist(), np.searchsorted(distinct, labels)
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    if any(issubclass(kind, np.number) for kind in set(map(type, values))):
        # The lookup of a NumPy integer among `decimal.Decimal` raises a TypeError, though the two compare as equal.
        values = [value.item() if isinstance(value, np.number) else value for value in values]
    number = {value: k for k, value in enumerate(distinct_labels(values, row))}
    return list(number), np.fromiter(map(number.__getitem__, values), dtype=np.int64, count=len(values))


def distinct_labels(values: Sequence[Any], row: Ints | None = None) -> dict[Any, None]:
    """Return the distinct values in order; a value that cannot be a label is an error that names its row."""
    try:
        return dict.fromkeys(values)
    except TypeError:
        first = next(i for i, value in enumerate(values) if not is_hashable(value))
        value = values[first]
        remedy = f" {USE_FROM_WEIGHTS}" if isinstance(value, Mapping) or is_weight_pair(value) else ""
        place = first if row is None else int(row[first])
        raise LabelError(f"{value!r} is not a label.{remedy}", row=place, label=value) from None


def _reason(value: Any, *, is_single: bool) -> str | None:
    """Return why a value cannot be a label, None if it can."""
    if is_missing(value):
        return "the set contains a missing value (None or NaN). Remove it."
    if is_weight_pair(value):
        return f"{value!r} is a pair of a label and a number. {USE_FROM_WEIGHTS}"
    if not isinstance(value, float) or value.is_integer():
        return None
    if np.isinf(value):
        return "the label is infinite. Use a finite label, or NaN for a missing one."
    reason = f"Unknown label type: {value!r} is continuous. Labels must be categories."
    return reason if is_single else f"{reason} {USE_FROM_WEIGHTS}"


def _without_mark(labels: list[Any], signs: SignPolicy) -> list[Any]:
    """Return single labels without -1, which marks a missing label unless the only other label is +1."""
    others = [value for value in labels if not is_minus_one(value)]
    if len(others) == len(labels) or any(isinstance(value, str) for value in others):
        return labels  # a mixture of -1 and strings is an error of `sort_labels`
    if others != [1] or isinstance(others[0], bool):
        return others
    if signs == "error":
        raise LabelError(AMBIGUOUS_SIGNS, cause="signs")
    warn(f"{AMBIGUOUS_SIGNS} They are read as two classes.")
    return labels


def encode_labels(y: Any, classes: Any = None, *, signs: SignPolicy = "error") -> tuple[Ints, Labels]:
    """Return the code of each label of a vector, -1 for a missing one, and the classes; see `encode`."""
    values = label_vector(y)
    codes, known = encode(values, classes, is_single=True, signs=signs)
    if classes is None:
        warn_of_texts(known)
        if known.dtype.kind in "if":
            missing = values[codes == MISSING]
            is_mark = list(map(is_minus_one, missing.tolist())) if missing.dtype.kind == "O" else missing == -1
            n_largest = int(np.bincount(codes[codes != MISSING]).max())
            warn_of_minus_one(list(map(int, known.tolist())), int(np.count_nonzero(is_mark)), n_largest)
    return codes, known


def codes_to_mask(codes: Ints, n_classes: int) -> Mask:
    """Return the mask of single labels given as codes; the candidates of a row without a label are all classes."""
    mask = np.zeros((len(codes), n_classes), dtype=bool)
    mask[np.arange(len(codes)), codes] = True
    mask[codes == MISSING] = True
    return mask


# -- sets --------------------------------------------------------------------------------------------------------------


def encode_sets(sets: Any, classes: Any = None, *, excluded: bool = False) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a sequence of sets of labels, or of sets of labels that are excluded."""
    rows = as_sets(sets, classes)
    is_unlabeled = np.fromiter((labels is None for labels in rows), dtype=bool, count=len(rows))
    if is_unlabeled.any():
        rows = [() if labels is None else labels for labels in rows]
    row = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)))
    codes, known = encode(list_rows(itertools.chain.from_iterable(rows)), classes, row=row)
    mask = np.zeros((len(rows), len(known)), dtype=bool)
    mask[row, codes] = True
    mask[is_unlabeled] = not excluded
    mask = ~mask if excluded else mask
    check_nonempty_rows(mask)
    return mask, known


def encode_hierarchy(y: Any, hierarchy: Mapping[Any, Any], classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the leaves; a coarse label stands for all leaves below it."""
    if not isinstance(hierarchy, Mapping):
        raise InputTypeError(f"`hierarchy` must be a dict from a coarse label to its children; got {hierarchy!r}.")
    below = {node: _leaves_below(node, hierarchy, ()) for node in hierarchy}
    known = as_classes(sort_labels(set().union(*below.values())) if classes is None else classes)
    if coarse := [leaf for leaf in known.tolist() if leaf in hierarchy]:
        raise LabelError(
            f"`classes` must be leaves of the hierarchy; {coarse[0]!r} is a coarse label.", label=coarse[0]
        )
    leaves = set(known.tolist())
    below = {node: own & leaves for node, own in below.items()} | {leaf: {leaf} for leaf in leaves}
    expanded: list[Any] = []
    for row, labels in enumerate(as_sets(y, known)):
        for label in labels or ():
            if not is_hashable(label) or label not in below:
                raise unknown_label(row, label, object_vector(below))
        expanded.append(labels if labels is None else set().union(*map(below.__getitem__, labels)))
    return encode_sets(expanded, known)


def _leaves_below(node: Any, hierarchy: Mapping[Any, Any], above: tuple[Any, ...]) -> set[Any]:
    if node in above:
        raise LabelError(f"`hierarchy` must not have a cycle; {node!r} is below itself.", label=node)
    if node not in hierarchy:
        return {node}
    children = hierarchy[node] if is_collection(hierarchy[node]) else [hierarchy[node]]
    if not len(children):
        raise LabelError(f"`hierarchy` gives {node!r} no children. Remove it, or name its children.", label=node)
    return set().union(*(_leaves_below(child, hierarchy, (*above, node)) for child in children))


def as_sets(sets: Any, classes: Any = None) -> list[Any]:
    """Return the collection of labels of each row, None if it is unlabeled.

    A row that is not a collection is one label, and unlabeled if it is None, NaN, or -1, unless -1 is a class.
    """
    rows = list_rows(sets)
    if set(map(type, rows)) <= {list, tuple, set, frozenset, type(None)}:
        return rows
    is_mark = is_minus_one if classes is None or -1 not in as_classes(classes).tolist() else is_missing
    found: list[Any] = []
    for value in rows:
        if is_collection(value):
            found.append(value.ravel().tolist() if isinstance(value, np.ndarray) else list_rows(value))
        else:
            found.append(None if is_missing(value) or is_mark(value) else (value,))
    if classes is None and any(map(is_minus_one, rows)):
        i = next((i for i, labels in enumerate(found) if labels and any(map(is_minus_one, labels))), None)
        if i is not None:
            warn(
                f"a row of -1 is unlabeled, but -1 is a class in the set of row {i}. Write None for unlabeled rows and "
                "remove -1 from sets; or pass `classes` with -1 if it is a class."
            )
    return found


def check_nonempty_rows(mask: Mask) -> None:
    """Raise if a row has no candidate; the error names the first such row."""
    is_empty = ~mask.any(axis=1)
    if is_empty.any():
        raise empty_set("the candidate set is empty", row=int(np.argmax(is_empty)))


# -- weights -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightOptions:
    """Meaning of weights: the parameters `kind`, `prior` and `rest` of the constructors."""

    kind: str = "likelihood"
    prior: Any = None
    rest: bool | str = False

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("likelihood", "posterior"))
        if self.prior is not None and self.kind == "likelihood":
            raise InputError('`prior` requires kind="posterior"; got kind="likelihood". Likelihoods contain no prior.')
        if not isinstance(self.rest, bool | np.bool_ | str):
            raise InputError(f"`rest` must be True, False, or the label of the other classes; got {self.rest!r}.")

    @property
    def are_probabilities(self) -> bool:
        """True if the weights of a row are shares of one mass, so that those of a repeated label are added."""
        return self.kind == "posterior" or bool(self.rest)


@dataclass(frozen=True)
class WeightTable:
    """Weights as they are given, before the steps that make likelihoods of them."""

    classes: Labels
    weights: Floats
    """(n, K): finite, at least 0; 0 for a class that the row does not list."""
    listed: Mask
    """(n, K): True if the row lists the class."""
    rest: Floats
    """(n,): the mass that the row gives to the classes that it does not list."""
    is_set: Mask
    """(n,): True for unlabeled rows, and for sets without numbers, which have neither a rest nor a prior."""
    is_ranked: bool = False
    """True for rows that list labels, which a person or a language model wrote, False for a matrix."""


def encode_weights(
    distinct: Sequence[Pairs | None], classes: Any, options: WeightOptions, code: Ints | None = None
) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of rows of (label, weight) pairs.

    Parameters
    ----------
    distinct : sequence of length D
        Pairs, None or empty for an unlabeled row; the weights of a set are None.
    classes : array-like, optional
        By default the sorted labels that occur.
    options : WeightOptions
    code : ndarray of shape (n,), optional
        The index into `distinct` of each row; by default there is a row for each.
    """
    n, rest = len(distinct), options.rest
    is_set = np.fromiter((not pairs or pairs[0][1] is None for pairs in distinct), dtype=bool, count=n)
    lengths = np.fromiter((len(pairs or ()) for pairs in distinct), dtype=np.int64, count=n)
    row = np.repeat(np.arange(n), lengths)
    pairs = [pair for pairs in distinct for pair in pairs or ()]
    values = np.array([1.0 if weight is None else weight for _, weight in pairs], dtype=np.float64)
    is_rest = np.array([isinstance(rest, str) and label == rest for label, _ in pairs], dtype=bool)
    rest_mass = _sum_at(np.zeros(n), row[is_rest], values[is_rest])
    labels = [label for (label, _), skipped in zip(pairs, is_rest.tolist(), strict=True) if not skipped]
    row, values = row[~is_rest], values[~is_rest]
    columns, known = encode(labels, classes, row=row)
    weights = np.zeros((n, len(known)))
    listed = np.zeros((n, len(known)), dtype=bool)
    listed[row, columns] = True
    if options.are_probabilities:
        _sum_at(weights, (row, columns), values)
    else:  # probabilities of one and the same evidence
        np.maximum.at(weights, (row, columns), values)
    weights[is_set] = listed[is_set]  # a set may repeat a label
    weights[lengths == 0] = 1.0
    is_repeated = np.bincount(row, minlength=n) > np.count_nonzero(listed, axis=1)
    if (is_repeated & ~is_set).any():
        merged = "weights are added" if options.are_probabilities else "largest weight is used"
        warn(f"some rows repeat a label, whose {merged}.")
    code = np.arange(n) if code is None else code
    table = WeightTable(known, weights[code], listed[code], rest_mass[code], is_set[code], is_ranked=True)
    return to_likelihoods(table, options), known


def _sum_at(totals: Floats, places: Any, values: Floats) -> Floats:
    """Add values at some places; a sum that overflows is the largest number."""
    with np.errstate(over="ignore"):
        np.add.at(totals, places, values)
    return np.minimum(totals, np.finfo(np.float64).max, out=totals)


def to_likelihoods(table: WeightTable, options: WeightOptions) -> Floats:
    """Return the likelihoods of the classes, up to a factor for each row."""
    weights = table.weights
    if not len(table.classes):
        raise LabelError("`W` must have at least one column.")
    if isinstance(options.rest, str) and options.rest in table.classes.tolist():
        raise InputError(f"`rest` must not be one of the classes; got {options.rest!r}.")
    with np.errstate(over="ignore"):
        total = np.where(table.is_set, 0.0, weights.sum(axis=1))
    if options.rest:
        rest = _remainder(total) if options.rest is True else table.rest
        n_others = np.count_nonzero(~table.listed, axis=1)
        share = np.divide(rest, n_others, out=np.zeros(len(rest)), where=(n_others > 0) & ~table.is_set)
        weights = np.where(table.listed | table.is_set[:, None], weights, share[:, None])
    above = np.flatnonzero(total > _MAX_SUM)
    if len(above) and (options.rest is True or (options.kind == "posterior" and table.is_ranked)):
        effect = ", so that nothing remains for the classes that these rows do not list" * (options.rest is True)
        warn(
            f"the probabilities of some rows have a sum above 1 (first in row {above[0]}), and are divided by "
            f"it{effect}."
        )
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise zero_weights(int(empty[0]))
    rows = np.flatnonzero(~table.is_set)
    if options.kind == "posterior" and len(rows):
        weights = weights.copy()
        weights[rows] = _divide_by_prior(weights[rows], table.classes, options.prior)
    return weights


def _remainder(total: Floats) -> Floats:
    """Return the mass that probabilities of these sums leave to 1, 0 if a sum is larger."""
    above = np.flatnonzero(total > MAX_PLAUSIBLE_SUM)
    if len(above):
        raise no_rest(int(above[0]), total[above[0]].item())
    rest = 1.0 - total
    return np.where(rest > _SUM_TOL, rest, 0.0)


def _read_prior(prior: Any, classes: Labels) -> Floats:
    """Return the prior of each class, from numbers in their order, or from a mapping or a Series by label."""
    if isinstance(prior, Mapping) or (hasattr(prior, "keys") and set(classes.tolist()) & set(prior.keys())):
        prior = [prior.get(label, np.nan) for label in classes.tolist()]
    rates = as_float_array(prior, "prior")
    if rates.shape != (len(classes),) or not (np.isfinite(rates) & (rates >= 0)).all() or not rates.any():
        names = format_classes([repr(label) for label in classes.tolist()])
        raise InputError(
            f"`prior` must have a finite number of at least 0 for each of the {len(classes)} classes {names}, and not "
            f"0 for all; got {shorten(repr(prior))}."
        )
    return rates


def _divide_by_prior(weights: Floats, classes: Labels, prior: Any) -> Floats:
    """Return posteriors divided by their prior, by default their mean."""
    posterior = scale_rows(weights)
    posterior /= posterior.sum(axis=1, keepdims=True)
    rates = posterior.mean(axis=0) if prior is None else _read_prior(prior, classes)
    names = classes.tolist()
    impossible = np.flatnonzero((rates == 0) & (posterior > 0).any(axis=0))
    if len(impossible) and prior is not None:
        raise InputError(
            f"`prior` must be above 0 for a class whose posterior is above 0; got 0 for class {names[impossible[0]]!r}."
        )
    n = len(posterior)
    rare = np.flatnonzero((rates > 0) & (rates * n < 1.0))
    if len(rare) and prior is None and n >= _MIN_ROWS_WARNING:
        warn(
            f"the posteriors of class {names[rare[0]]!r} sum to {rates[rare[0]] * n:.2g} over {n} rows "
            f"(classes below 1: {len(rare)}). Divided by so small a prior, any posterior of the class becomes a large "
            "weight. Leave the class out, or pass the frequencies of the classes as `prior` in Python.",
        )
    # A prior below the smallest normal number would make the quotient overflow.
    return np.asarray(posterior / np.maximum(rates / rates.max(), MIN_STORED_WEIGHT))


# -- cells -------------------------------------------------------------------------------------------------------------


def encode_cells(
    cells: ParsedCells, form: LabelFormat, classes: Any, options: WeightOptions
) -> tuple[Evidence, Labels]:
    """Return the mask, or the likelihoods if the format has weights, and the classes of a column of cells."""
    distinct = cells.pairs
    if form.folds_case:
        names = form.known
        if names is None:
            spellings = Counter[Any]()
            for pairs, count in cells.counted():
                spellings.update({label: count for label, _ in pairs or ()})
            names = most_frequent_spellings(spellings) | {form.rest_key: options.rest}
        distinct = [pairs and [(names[form.key(label)], weight) for label, weight in pairs] for pairs in distinct]
    if form.weighted:
        return encode_weights(distinct, classes, options, cells.code)
    mask, known = encode_sets([[label for label, _ in pairs] if pairs else None for pairs in distinct], classes)
    return mask[cells.code], known


# -- matrices and tables with a column for each class ------------------------------------------------------------------


def is_frame(y: Any) -> bool:
    """Return whether `y` is a table with named columns (pandas, polars)."""
    return hasattr(y, "columns") and hasattr(y, "shape") and len(y.shape) == 2 and hasattr(y, "to_numpy")


def read_indicator(Y: Any, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a 0/1 matrix; a row of NaN or masked entries is unlabeled."""
    check_no_mapping(Y)
    if sp.issparse(Y) and np.isin(sp.coo_array(Y).data, (0, 1)).all():
        Y = sp.csr_array(Y, dtype=bool)  # a dense matrix of floats has eight times its size
    values, names, is_unlabeled = _read_matrix(Y, "an indicator", is_indicator=True)
    mask = values.astype(bool)
    is_unlabeled |= mask.all(axis=1) & (mask.shape[1] > 1)  # also if there are more classes than columns
    mask, known = _place_columns(mask, names, classes, "the indicator")
    mask[is_unlabeled] = True
    check_nonempty_rows(mask)
    return mask, known


def read_weights(W: Any, classes: Any, options: WeightOptions) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of a matrix, a table, or rows of labels with weights."""
    if not (is_frame(W) or sp.issparse(W) or (isinstance(W, np.ndarray) and W.ndim != 1)):
        if hasattr(W, "__array__") and not hasattr(W, "to_numpy") and not isinstance(W, np.ndarray):
            W = np.asarray(W)  # an array of another library
        elif _are_ranked_lists(W := list_rows(W)):
            pairs = []
            for row, value in enumerate(W):
                try:
                    pairs.append(as_pairs(value))
                except LabelError as error:
                    raise LabelError(error.reason, row=row, label=error.label) from None
            return encode_weights(pairs, classes, options)
    weights, names, is_set = _read_matrix(W, "`W`", is_indicator=False)
    rest, rest_mass = options.rest, np.zeros(len(weights))
    if isinstance(rest, str):
        given = [] if classes is None else as_classes(classes).tolist()
        listed = given if names is None else names
        if rest not in listed or len(listed) != weights.shape[1]:
            raise InputError(f"`rest` must be the name of a column; got {rest!r}.")
        rest_mass, weights = weights[:, listed.index(rest)], np.delete(weights, listed.index(rest), axis=1)
        others = [name for name in listed if name != rest]
        names, classes = (others, classes) if names is not None else (None, others)
    weights, known = _place_columns(weights, names, classes, "`W`")
    weights[is_set] = 1.0
    return to_likelihoods(WeightTable(known, weights, weights > 0, rest_mass, is_set), options), known


def _are_ranked_lists(rows: list[Any]) -> bool:
    """Return whether rows are mappings, lists of pairs or None, judged by the first row that is not empty."""
    for row in rows:
        if is_missing(row) or (is_collection(row) and not len(row)):
            continue
        if not is_collection(row) or (isinstance(row, np.ndarray) and row.dtype.kind != "O"):
            return isinstance(row, str | Mapping)
        return isinstance(next(iter(row)), list | tuple | Mapping | np.ndarray)
    return bool(rows)


def _read_matrix(M: Any, name: str, *, is_indicator: bool) -> tuple[np.ndarray[Any, Any], list[Any] | None, Mask]:
    """Return 0 and 1, or weights, with the names of the columns and the mask of empty rows, whose values are 1.

    Only indicators, tables and masked arrays may have rows of missing numbers.
    """
    may_be_empty = is_indicator or is_frame(M) or unmask(M) is not M
    requirement = f"{name} must contain 0 and 1 only" if is_indicator else "weights must be numbers"
    names = list(M.columns) if is_frame(M) else None
    values = _as_numbers(M.toarray() if sp.issparse(M) else M if names is None else M.to_numpy(), requirement)
    if values.ndim != 2:
        raise LabelError(f"{name} must be a 2-D array with one column per class; got shape {values.shape}.")
    with np.errstate(over="ignore"):
        values = values if is_indicator else values.astype(np.float64)
    is_empty = np.zeros(len(values), dtype=bool)
    if may_be_empty and values.dtype.kind == "f":
        is_empty = np.asarray(np.isnan(values).all(axis=1))
    if is_empty.any():
        values = np.where(is_empty[:, None], 1, values)
    if values.dtype.kind == "b":
        return values, names, is_empty
    is_wrong = (values != 0) & (values != 1) if is_indicator else ~(np.isfinite(values) & (values >= 0))
    if is_wrong.any():
        row, column = np.argwhere(is_wrong)[0].tolist()
        value = values[row, column].item()
        if is_indicator:
            reason = f"{requirement}; got {value!r}." + f" {USE_FROM_WEIGHTS}" * bool(np.isfinite(value) and value > 0)
        else:
            reason = (
                f"a weight must be a finite number of at least 0; got {value!r}. Give an unlabeled row the same weight "
                "for all classes."
            )
        raise LabelError(reason, row=row, column=column)
    return values, names, is_empty


def _as_numbers(M: Any, requirement: str) -> np.ndarray[Any, Any]:
    """Return the numbers of a matrix, missing ones as NaN."""
    try:
        array = np.asarray(unmask(M))
    except (ValueError, TypeError):
        lengths = [len(row) if hasattr(row, "__len__") else 0 for row in M]
        raise LabelError(
            "a matrix must have rows of equal length, one number for each class; or mappings or (label, weight) pairs.",
            row=next((i for i, length in enumerate(lengths) if length != lengths[0]), 0),
        ) from None
    if array.dtype.kind == "O" and array.ndim == 2:
        numbers = [[np.nan if is_missing(value) else value for value in row] for row in array]
        with contextlib.suppress(TypeError, ValueError):
            array = np.array(numbers, float).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise LabelError(f"{requirement}; got values of type {array.dtype}.")
    return array


def _place_columns(
    values: np.ndarray[Any, Any], names: list[Any] | None, classes: Any, name: str
) -> tuple[np.ndarray[Any, Any], Labels]:
    """Return the columns in the order of the classes, and the classes.

    Columns of a table are matched by name. The names are the classes if none are given, and 0, 1, ... without names, as
    those of a table without a header, which are the numbers of its columns.
    """
    known = None if classes is None else as_classes(classes)
    is_named = names is not None and names != [*range(values.shape[1])]
    if names is not None and (known is None or is_named or set(names) & set(known.tolist())):
        own = as_classes(names)
        known = own if known is None else known
        column = {label: k for k, label in enumerate(known.tolist())}
        if unknown := [label for label in own.tolist() if label not in column]:
            raise unknown_label(None, unknown[0], known)
        placed = np.zeros((len(values), len(known)), dtype=values.dtype)
        placed[:, [column[label] for label in own.tolist()]] = values
        return placed, known
    known = np.arange(values.shape[1]) if known is None else known
    if len(known) != values.shape[1]:
        raise LabelError(f"{name} must have one column per class; got {values.shape[1]} columns, {len(known)} classes.")
    return values, known


# -- answers of several annotators, each a label, a set of labels, or missing ------------------------------------------


class EncodedAnswers(NamedTuple):
    """Answers of annotators by their codes, in the order of the rows."""

    row: Ints
    """(m,): the row of each answer."""
    annotator: Ints
    """(m,)."""
    answer: Ints
    """(m,): an index into the distinct answers."""
    sets: Mask
    """(D, K): the classes of each distinct answer."""
    classes: Labels
    shape: tuple[int, int]
    """Numbers of rows and of annotators."""


def read_annotations(answers: Any, classes: Any, *, min_votes: int, top_k: int | None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of answers; a set is a vote for each of its labels."""
    check_positive("min_votes", min_votes, integer=True)
    if top_k is not None:
        check_positive("top_k", top_k, integer=True, alternatives=", or None for all")
    codes = encode_answers(answers, classes)
    known = codes.classes
    (n_rows, n_annotators), n_answers = codes.shape, len(codes.row)
    if n_annotators < min_votes and n_rows * n_annotators:
        raise InputError(f"`min_votes` must be at most the number of annotators, {n_annotators}; got {min_votes}.")
    given = sp.csr_array((np.ones(n_answers, dtype=np.int64), (codes.row, codes.answer)), (n_rows, len(codes.sets)))
    votes = np.asarray(given @ codes.sets.astype(np.int64))
    mask = votes >= min_votes
    if top_k is not None and top_k < len(known):
        kth_highest = -np.partition(-votes, top_k - 1, axis=1)[:, top_k - 1 : top_k]
        mask &= votes >= np.maximum(kth_highest, 1)
    mask[~mask.any(axis=1)] = True
    return mask, known


def read_reliable_annotations(answers: Any, classes: Any, reliabilities: Any) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of answers whose annotators have known accuracies.

    An answer of an annotator of accuracy r contains the true class with probability r, independently of all other
    annotators. All sets of its size that contain the true class, or do not, have equal probability.
    """
    codes = encode_answers(answers, classes)
    known, n_annotators = codes.classes, codes.shape[1]
    n_classes = len(known)
    accuracy = as_float_array(reliabilities, "reliabilities")
    if accuracy.shape != (n_annotators,):
        raise InputError(
            f"`reliabilities` must have one number for each of the {n_annotators} annotators; got shape "
            f"{accuracy.shape}."
        )
    wrong = np.flatnonzero(~((accuracy * n_classes > 1) & (accuracy < 1)))
    if len(wrong):
        raise InputError(
            f"`reliabilities` must be above 1/{n_classes}, the accuracy of guesses over {n_classes} classes, and below "
            f"1; got {accuracy[wrong[0]].item()!r}.",
            column=int(wrong[0]),
        )
    # The product of the answers' likelihoods, divided by what all classes have in common.
    sizes = np.maximum(np.count_nonzero(codes.sets, axis=1), 1)
    others = np.log(np.maximum(n_classes - sizes, 1) / sizes)
    log_odds = (np.log(accuracy) - np.log1p(-accuracy))[codes.annotator] + others[codes.answer]
    log_odds[(sizes == n_classes)[codes.answer]] = 0.0
    given = sp.csr_array((log_odds, (codes.row, codes.answer)), (codes.shape[0], len(codes.sets)))
    log_weights = np.asarray(given @ codes.sets.astype(np.float64))
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.maximum(weights, MIN_STORED_WEIGHT), known


def check_classes(classes: Any, known: Labels) -> None:
    """Raise unless classes, if given, are those of encoded answers."""
    if classes is not None and as_classes(classes).tolist() != known.tolist():
        raise LabelError(
            f"`classes` must be the classes of the answers, {known.tolist()}; got {classes!r}. Pass them to "
            "Answers.from_table or from_records."
        )


def read_table(answers: Any) -> tuple[Any, tuple[int, int]]:
    """Return the cells of an (items, annotators) table by rows, as a vector, and the shape of the table."""
    check_no_mapping(answers)
    if hasattr(answers, "columns"):
        columns = [label_vector(answers[name]).tolist() for name in answers.columns]
        return object_vector(cell for cells in zip(*columns) for cell in cells), (len(answers), len(columns))
    cells: Any = []
    shape: tuple[int, ...] = ()
    if isinstance(answers, np.ndarray | memoryview):
        cells, shape = np.asanyarray(answers).ravel(), np.asanyarray(answers).shape
    elif rows := _list_cells(answers):
        lengths = [len(row) for row in rows]
        for i, length in enumerate(lengths):
            if length != lengths[0]:
                got = f"got {length} answers; other rows have {lengths[0]}. Use None for a missing answer."
                raise LabelError(got, row=i)
        cells, shape = [cell for row in rows for cell in row], (len(rows), lengths[0])
    if len(shape) != 2:
        raise LabelError(
            "`answers` must be a table of shape (n_rows, n_annotators), with a row for each item and a column for each "
            f"annotator; got {f'shape {shape}' if shape else type(answers).__name__}."
        )
    return label_vector(cells), shape


def _list_cells(table: Any) -> list[list[Any]]:
    """Return the cells of a sequence of rows, none if these are not sequences."""
    with contextlib.suppress(TypeError, NotImplementedError):  # the latter from some sparse formats
        rows = list(table)
        if not any(isinstance(row, str | bytes | set | Mapping) for row in rows):
            return [list(row) for row in rows]
    return []


def encode_answer_cells(cells: Any, n_columns: int, classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the code of each cell, -1 for no answer, the distinct answers as sets, (D, K), and the classes.

    Errors name the row and, if there are several, the column of the cell. A class that consists of others separated by
    "|", as a set in a text, has a warning if `classes` are not given.
    """
    listed = cells.tolist()
    if classes is None and all(is_missing(value) or is_minus_one(value) for value in listed):
        raise LabelError("`answers` must contain at least one answer.")
    try:
        if cells.dtype.kind == "O" and has_collections(listed):
            code, sets, known = _encode_sets(listed, classes)
        else:
            code, known = encode_labels(cells, classes)
            sets = np.eye(len(known), dtype=bool)
    except LabelError as error:
        if error.cause == "types" and n_columns > 2:
            remedy = "If each line is an answer, pass the columns to Answers.from_records(rows, annotators, answers)."
            raise error.because(f"{error.reason} {remedy}") from None
        if error.row is None or n_columns == 1:
            raise
        row, column = divmod(error.row, n_columns)
        raise LabelError(error.reason, label=error.label, cause=error.cause, row=row, column=column) from None
    names = set(known.tolist())
    texts = [label for label in known.tolist() if isinstance(label, str) and "|" in label]
    for label in [text for text in texts if classes is None and names.issuperset(text.split("|"))][:1]:
        warn(f"{label!r} is read as one class. If it is a set, split the text: the answer is then {label.split('|')}.")
    return code, sets, known


def _encode_sets(cells: list[Any], classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the codes of cells of which some are sets; see `encode_answer_cells`."""
    code = np.full(len(cells), MISSING)
    distinct: dict[frozenset[Any], int] = {}
    for i, members in enumerate(as_sets(cells, classes)):
        if members is None:
            continue
        if not len(members):
            raise LabelError("the answer is an empty set. Use None for no answer.", row=i, cause="empty set")
        if not all(map(is_hashable, members)):
            raise LabelError(f"{cells[i]!r} is not a label or a set of labels.", row=i, label=cells[i])
        code[i] = distinct.setdefault(frozenset(members), len(distinct))
    try:
        sets, known = encode_sets(list(distinct), classes)
    except LabelError as error:
        raise (error if error.row is None else at_row(error, int(np.argmax(code == error.row)))) from None
    return code, sets, known


def encode_answers(answers: Any, classes: Any) -> EncodedAnswers:
    """Return the codes of an (items, annotators) table of labels and sets, or those of `oneof.crowd.Answers`."""
    if hasattr(answers, "to_codes"):
        codes: EncodedAnswers = answers.to_codes()
        check_classes(classes, codes.classes)
        return codes
    if hasattr(answers, "columns") and {"row", "annotator", "answer"} <= set(answers.columns):
        raise LabelError(
            "`answers` must be a table with a column for each annotator; got records. Pass "
            "oneof.crowd.Answers.from_records(answers, index=...), with the names of the rows in order."
        )
    return encode_table(answers, classes)


def encode_table(table: Any, classes: Any) -> EncodedAnswers:
    """Return the codes of an (items, annotators) table of labels and sets."""
    cells, shape = read_table(table)
    code, sets, known = encode_answer_cells(cells, shape[1], classes)
    given = np.flatnonzero(code != MISSING)
    row, annotator = np.divmod(given, max(shape[1], 1))
    return EncodedAnswers(row, annotator, code[given], sets, known, shape)


def other_columns(codes: EncodedAnswers) -> Ints:
    """Return the columns of a table that are not those of annotators, such as names, dates and comments.

    The annotators are the largest group of columns with common labels; of equal ones that with fewer labels. Another
    column of at least `MIN_CELLS` cells is excluded if fewer than `MIN_KNOWN_CELLS` of them have such a label. If fewer
    than two columns would be left, only columns of at least `MIN_NAMES` different cells are. A column with one label
    and empty cells has the votes of a rule.
    """
    (n_rows, n_columns), sets = codes.shape, codes.sets.astype(np.int64)
    ones = np.ones(len(codes.row), dtype=np.int64)
    times = sp.csr_array((ones, (codes.annotator, codes.answer)), shape=(n_columns, len(sets)))
    labels = sp.csr_array((times @ sets > 0).astype(np.int64))  # (n_columns, n_classes)
    group_of = connected_components(labels @ labels.T, directed=False)[1]
    members = np.eye(n_columns, dtype=np.int64)[group_of][:, : group_of.max(initial=-1) + 1]
    sizes, n_labels = members.sum(axis=0), ((labels.T @ members) > 0).sum(axis=0)
    in_group = group_of == np.lexsort((n_labels, -sizes))[0]
    n_members = labels[in_group].sum(axis=0)
    n_known, n_shared = (times @ (sets @ shared > 0) for shared in (n_members > 1, n_members > 0))
    n_known = np.where(in_group, n_known, n_shared)
    n_cells, n_distinct = times.sum(axis=1), (times > 0).sum(axis=1)
    is_rule = (labels.sum(axis=1) == 1) & (n_cells < n_rows)
    is_other = ~is_rule & (n_cells >= MIN_CELLS) & (n_known < MIN_KNOWN_CELLS * n_cells)
    if n_columns - is_other.sum() >= 2:
        return np.flatnonzero(is_other)
    is_name = is_other & (n_known == 0) & (n_distinct == n_cells) & (n_cells >= MIN_NAMES)
    return np.flatnonzero(is_name)[: n_columns - 1]


# -- normalized weights ------------------------------------------------------------------------------------------------
#
# A weight w_ik is proportional to the probability of row i's evidence if its true class is k. It is free up to a factor
# for each row, so the largest weight of a row is 1. A row whose weights are all 0 or 1 is a candidate set.


def has_weights(weights: Floats) -> Mask:
    """Return the mask of the rows of weights with maxima of 1 whose candidates do not all have the same weight."""
    return np.asarray(((weights > 0.0) & (weights < 1.0)).any(axis=1))


def scale_rows(weights: Floats) -> Floats:
    """Return valid (n, K) weights with row maxima of 1, in which no weight above 0 underflows to 0."""
    scaled = weights / weights.max(axis=1, keepdims=True)
    np.maximum(scaled, MIN_STORED_WEIGHT, out=scaled, where=weights > 0)
    return scaled


def normalize_weights(weights: Floats) -> Floats:
    """Return valid (n, K) weights with row maxima of 1, in which those that differ by roundings are equal."""
    scaled = scale_rows(weights)
    ranked = -np.sort(-scaled, axis=1)
    is_tied = (ranked[:, 1:] < ranked[:, :-1]) & (ranked[:, 1:] >= ranked[:, :-1] * (1.0 - _TIE_RTOL))
    rows = np.flatnonzero(is_tied.any(axis=1))
    if len(rows):
        order, ranked = np.argsort(-scaled[rows], axis=1), ranked[rows]
        for previous, value in zip(ranked.T[:-1], ranked.T[1:]):
            np.copyto(value, previous, where=value >= previous * (1.0 - _TIE_RTOL))
        scaled[rows[:, None], order] = ranked
    return scaled


@dataclass(frozen=True)
class LevelSets:
    """The level sets of all rows, without those of all classes; the sets of a row are adjacent, the smallest first.

    By them a loss for candidate sets becomes a loss for weights. Let a_1 = 1 > a_2 > ... be the distinct weights above
    0 of a row, a_{m+1} = 0, and S_j = {k: w_k >= a_j}. The generalized loss of the row is
    sum_j (a_j - a_{j+1}) loss(S_j), where a set of all classes costs 0 (Huellermeier 2014, Learning from imprecise and
    fuzzy observations: data disambiguation through generalized loss minimization). For a candidate set it is the loss
    of the set.
    """

    row: Ints
    """(n_levels,): the row of each set, ascending."""
    mask: Mask
    """(n_levels, K): the classes of each set."""
    mass: Floats
    """(n_levels,): a_j - a_{j+1}, in (0, 1]."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Return the level sets of an (n, K) mask, which are its rows, or of (n, K) weights with row maxima of 1."""
        if evidence.dtype == bool:
            row = np.flatnonzero(~evidence.all(axis=1))
            return cls(row, evidence[row], np.ones(len(row)))
        descending = -np.sort(-evidence, axis=1)
        drops = descending - np.pad(descending[:, 1:], ((0, 0), (0, 1)))  # from each weight to the next one, then to 0
        row, last = np.nonzero(drops[:, :-1])  # the set that ends at the last weight has all classes
        return cls(row, evidence[row] >= descending[row, last][:, None], drops[row, last])


def soften_weights(evidence: Evidence, noise_rate: Any) -> Floats:
    """Return the (n, K) likelihoods of the evidence if its sets exclude the true class with some probability.

    A set of s < K classes that holds the true class with probability 1 - e, all sets of this size with equal
    probability, has the likelihood (1 - e) / C(K-1, s-1) inside and e / C(K-1, s) outside. The ratio of the second to
    the first is e / (1 - e) * s / (K - s). The likelihood of weights is the sum of those of their level sets, times
    their masses.
    """
    n, n_classes = evidence.shape
    rate = as_float_array(noise_rate, "noise_rate")
    if rate.shape not in ((), (n,)):
        raise InputError(f"`noise_rate` must be a number, or one for each of the {n} rows; got shape {rate.shape}.")
    wrong = np.flatnonzero(~((rate >= 0) & (rate < 1)))
    if len(wrong):
        raise InputError(
            f"`noise_rate` must be at least 0 and below 1; got {rate.flat[wrong[0]].item()!r}.",
            row=int(wrong[0]) if rate.ndim else None,
        )
    levels = LevelSets.from_evidence(evidence)
    size = np.count_nonzero(levels.mask, axis=1)
    error = np.broadcast_to(rate, n)[levels.row]
    outside = levels.mass * (error / (1.0 - error)) * (size / (n_classes - size))
    softened = evidence.astype(np.float64)
    np.add.at(softened, levels.row, np.where(levels.mask, 0.0, outside[:, None]))
    return softened
