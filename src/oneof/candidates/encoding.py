"""The encoder of rows of labels: classes, codes, masks and likelihoods.

A row is one label, a set of labels, or (label, weight) pairs; a set has weights of 1. `encode` finds the classes and
the code of each label of any form, and all errors of labels are raised there. Weights are then merged, the mass of the
classes that a row does not list is spread over them, and posteriors are divided by their prior.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from oneof.candidates.cells import LabelFormat, Pairs, ParsedCells
from oneof.candidates.labels import (
    AMBIGUOUS_SIGNS,
    USE_FROM_WEIGHTS,
    as_classes,
    is_collection,
    is_hashable,
    is_minus_one,
    is_missing,
    is_weight_pair,
    label_vector,
    list_rows,
    pack_classes,
    sort_labels,
    unknown_label,
    warn_of_minus_one,
    warn_of_texts,
)
from oneof.candidates.row_weights import (
    MAX_PLAUSIBLE_SUM,
    MIN_STORED_WEIGHT,
    invalid_weight,
    no_rest,
    scale_rows,
    zero_weights,
)
from oneof.candidates.spellings import Spellings
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.messages import warn
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_choice

SignPolicy = Literal["error", "warn"]
"""Treatment of a vector whose only values are -1 and +1: an error, or two classes with a warning."""
MISSING = -1
"""The code of a row without a label."""

_MAX_SUM = 1.01
"""Maximum sum of probabilities that were rounded to a few decimals."""
_MIN_ROWS_WARNING = 100
"""Rows from which their mean is an estimate of the class frequencies, so that a class of less than one row is rare."""
_SUM_TOL = 1e-6
"""Difference of a sum of probabilities from 1, in float32 for instance, that is a rounding error."""
_REPEATED = {
    True: "some rows repeat a label, whose weights are added{}.",
    False: "some rows repeat a label, whose largest weight is used{}.",
}
_SUM_ABOVE_1 = "the probabilities of some rows have a sum above 1, and are divided by it{}"
_NO_REST = ", so that nothing remains for the classes that these rows do not list."


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
    named = frozenset() if known is None else frozenset(known.tolist())
    absent = list(map(is_missing, distinct))
    reasons = [
        _reason(value, is_single=is_single) if value not in named and not (is_single and skipped) else None
        for value, skipped in zip(distinct, absent, strict=True)
    ]
    if any(reasons):
        position = _first(number, [reason is not None for reason in reasons])
        k = number[position]
        raise LabelError(reasons[k] or "", row=position if row is None else int(row[position]), label=distinct[k])
    if known is None:
        occurring = [value for value, skipped in zip(distinct, absent, strict=True) if not skipped]
        known = pack_classes(sort_labels(_without_mark(occurring, signs) if is_single else occurring))
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iuf":
            known = known.astype(labels.dtype)
    if not len(known):
        raise LabelError("`y` must name at least one class; every row is unlabeled.")
    code_of: dict[Any, int] = {value: MISSING for value in distinct if is_single and is_minus_one(value)}
    code_of.update((value, code) for code, value in enumerate(known.tolist()))
    codes = [MISSING if skipped else code_of.get(v, -2) for v, skipped in zip(distinct, absent, strict=True)]
    if -2 in codes:
        position = _first(number, [code == -2 for code in codes])
        label = distinct[number[position]]
        raise unknown_label(position if row is None else int(row[position]), label, known)
    return np.array(codes, dtype=np.int64)[number], known


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


def _first(number: Ints, is_wrong: list[bool]) -> int:
    """Return the first place of a wrong value."""
    return int(np.flatnonzero(np.array(is_wrong)[number])[0])


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
    return f"Unknown label type: {value!r} is continuous. Labels must be categories." + (
        "" if is_single else f" {USE_FROM_WEIGHTS}"
    )


def _without_mark(labels: list[Any], signs: SignPolicy) -> list[Any]:
    """Return single labels without -1, which marks a missing label unless the only other label is +1."""
    others = [value for value in labels if not is_minus_one(value)]
    if len(others) == len(labels) or any(isinstance(value, str) for value in others):
        return labels  # a mixture of -1 and strings is an error of `sort_labels`
    if others == [1] and not isinstance(others[0], bool):
        if signs == "error":
            raise LabelError(AMBIGUOUS_SIGNS, cause="signs")
        warn(f"{AMBIGUOUS_SIGNS} They are read as two classes.")
        return labels
    return others


def encode_labels(y: Any, classes: Any = None, *, signs: SignPolicy = "error") -> tuple[Ints, Labels]:
    """Return the code of each label of a vector, -1 for a missing one, and the classes; see `encode`."""
    values = label_vector(y)
    codes, known = encode(values, classes, is_single=True, signs=signs)
    if classes is None:
        warn_of_texts(known)
        if known.dtype.kind in "if":
            missing = values[codes == MISSING]
            marks = list(map(is_minus_one, missing.tolist())) if missing.dtype.kind == "O" else missing == -1
            n_largest = int(np.bincount(codes[codes != MISSING]).max())
            warn_of_minus_one(list(map(int, known.tolist())), int(np.count_nonzero(marks)), n_largest)
    return codes, known


def codes_to_mask(codes: Ints, n_classes: int) -> Mask:
    """Return the mask of single labels given as codes; the candidates of a row without a label are all classes."""
    mask = np.zeros((len(codes), n_classes), dtype=bool)
    labeled = codes != MISSING
    mask[labeled, codes[labeled]] = True
    mask[~labeled] = True
    return mask


# -- sets --------------------------------------------------------------------------------------------------------------


def encode_sets(sets: Any, classes: Any = None, *, excluded: bool = False) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a sequence of sets of labels, or of sets of labels that are excluded."""
    flat, lengths, unlabeled = flatten_sets(sets, classes)
    mask, known = _mask_of(flat, lengths, classes)
    mask[unlabeled] = not excluded
    mask = ~mask if excluded else mask
    check_nonempty_rows(mask)
    return mask, known


def _mask_of(flat: list[Any], lengths: Ints, classes: Any) -> tuple[Mask, Labels]:
    row = np.repeat(np.arange(len(lengths)), lengths)
    codes, known = encode(flat, classes, row=row)
    mask = np.zeros((len(lengths), len(known)), dtype=bool)
    mask[row, codes] = True
    return mask, known


def encode_hierarchy(y: Any, hierarchy: Mapping[Any, Any], classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the leaves; a coarse label stands for all leaves below it."""
    if not isinstance(hierarchy, Mapping):
        raise InputTypeError(f"`hierarchy` must be a dict from a coarse label to its children; got {hierarchy!r}.")
    leaves_of = {node: _leaves_below(node, hierarchy, ()) for node in hierarchy}
    leaves = set().union(*leaves_of.values())
    known = pack_classes(sort_labels(leaves)) if classes is None else as_classes(classes)
    if not len(known):
        raise LabelError("`hierarchy` must have at least one leaf. Give the labels below each coarse one.")
    if coarse := [leaf for leaf in known.tolist() if leaf in hierarchy]:
        raise LabelError(
            f"`classes` must be leaves of the hierarchy; {coarse[0]!r} is a coarse label.", label=coarse[0]
        )
    own = set(known.tolist())
    below = {label: sorted_below & own for label, sorted_below in leaves_of.items()} | {leaf: {leaf} for leaf in own}
    flat, lengths, unlabeled = flatten_sets(y, known)
    row = np.repeat(np.arange(len(lengths)), lengths)
    for label in distinct_labels(flat, row):
        if label not in below:
            raise LabelError(
                f"label {label!r} is neither a leaf nor a coarse label of the hierarchy. Correct it, or add it.",
                row=int(row[flat.index(label)]),
                label=label,
                cause="unknown label",
            )
    expanded = np.repeat(row, [len(below[label]) for label in flat])
    mask = np.zeros((len(lengths), len(known)), dtype=bool)
    mask[expanded, encode([leaf for label in flat for leaf in below[label]], known, row=expanded)[0]] = True
    mask[unlabeled] = True
    check_nonempty_rows(mask)
    return mask, known


def _leaves_below(node: Any, hierarchy: Mapping[Any, Any], above: tuple[Any, ...]) -> set[Any]:
    if node in above:
        raise LabelError(f"`hierarchy` must not have a cycle; {node!r} is below itself.", label=node)
    if node not in hierarchy:
        return {node}
    children = list(hierarchy[node]) if is_collection(hierarchy[node]) else [hierarchy[node]]
    if not children:
        raise LabelError(f"`hierarchy` gives {node!r} no children. Remove it, or name its children.", label=node)
    return set().union(*(_leaves_below(child, hierarchy, (*above, node)) for child in children))


def flatten_sets(sets: Any, classes: Any = None) -> tuple[list[Any], Ints, Mask]:
    """Return all labels in one list, the length of each row's set, and the mask of unlabeled rows.

    A row that is not a collection is one label, and unlabeled if it is None, NaN, or -1, unless -1 is a class.
    """
    rows = list_rows(sets)
    if not set(map(type, rows)) <= {list, tuple, set, frozenset}:
        marks_missing = classes is None or -1 not in as_classes(classes).tolist()
        has_mark = any(map(is_minus_one, rows))
        rows = [_as_collection(value, marks_missing=marks_missing) for value in rows]
        if has_mark and classes is None:
            _warn_of_minus_one(rows)
    unlabeled = np.zeros(len(rows), dtype=bool)
    if type(None) in set(map(type, rows)):
        unlabeled = np.fromiter((value is None for value in rows), dtype=bool, count=len(rows))
        rows = [() if value is None else value for value in rows]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return list_rows(itertools.chain.from_iterable(rows)), lengths, unlabeled


def _as_collection(value: Any, *, marks_missing: bool) -> Any:
    """Return a row as a collection of labels, or None if it is unlabeled."""
    if is_collection(value):
        if isinstance(value, np.ndarray):
            return value.ravel().tolist()
        return value.to_pylist() if hasattr(value, "to_pylist") else list(value)
    return None if is_missing(value) or (marks_missing and is_minus_one(value)) else (value,)


def _warn_of_minus_one(rows: list[Any]) -> None:
    """Warn if -1 is a label of a set, while a row of -1 alone is unlabeled."""
    row = next((i for i, value in enumerate(rows) if value is not None and any(map(is_minus_one, value))), None)
    if row is not None:
        warn(
            f"a row of -1 is unlabeled, but -1 is a class in the set of row {row}. Write None for unlabeled rows and "
            "remove -1 from sets; or pass `classes` with -1 if it is a class.",
        )


def check_nonempty_rows(mask: Mask) -> None:
    """Raise if a row has no candidate; the error names the first such row."""
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise LabelError(
            f"the candidate set is empty (rows with an empty set: {len(empty)}). Give every row at least one "
            "candidate, or mark it as unlabeled (all classes, None, an empty cell).",
            row=int(empty[0]),
            cause="empty set",
        )


def write_sets(mask: Mask, classes: Labels) -> list[set[Any]]:
    """Return the labels of each row's set."""
    labels = classes.tolist()
    rows, columns = np.nonzero(mask)
    flat = [labels[k] for k in columns]
    ends = np.searchsorted(rows, np.arange(len(mask)), side="right").tolist()
    return [set(flat[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []


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
    is_repeated: Mask
    """(n,): True for rows that listed a label more than once; its weights are merged."""
    is_ranked: bool = False
    """True for rows that list labels, which a person or a language model wrote, False for a matrix."""
    is_column: bool = True
    """Whether the rows are those of a whole column rather than of a batch, so that warnings name them."""

    def first_place(self, rows: Mask) -> str:
        """Return a clause with the first row of a mask."""
        return f" (first in row {int(rows.argmax())})" * self.is_column


def encode_weights(
    distinct: Sequence[Pairs | None],
    classes: Any,
    options: WeightOptions,
    *,
    code: Ints | None = None,
    is_column: bool = True,
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
    is_column : bool, default=True
        See `WeightTable`.
    """
    n, rest = len(distinct), options.rest
    is_set = np.fromiter((not pairs or pairs[0][1] is None for pairs in distinct), dtype=bool, count=n)
    lengths = np.fromiter((len(pairs or ()) for pairs in distinct), dtype=np.int64, count=n)
    row = np.repeat(np.arange(n), lengths)
    labels = [label for pairs in distinct for label, _ in pairs or ()]
    weights_of = (1.0 if weight is None else weight for pairs in distinct for _, weight in pairs or ())
    values = np.fromiter(weights_of, dtype=np.float64, count=len(labels))
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise invalid_weight(int(row[wrong[0]]), labels[wrong[0]], values[wrong[0]].item())
    rest_mass = np.zeros(n)
    if isinstance(rest, str):
        is_rest = np.fromiter((label == rest for label in labels), dtype=bool, count=len(labels))
        _add(rest_mass, row[is_rest], values[is_rest])
        labels = [label for label, skipped in zip(labels, is_rest.tolist()) if not skipped]
        row, values = row[~is_rest], values[~is_rest]
    columns, known = encode(labels, classes, row=row)
    if isinstance(rest, str) and rest in known.tolist():
        raise InputError(f"`rest` must not be one of the classes; got {rest!r}.")
    weights = np.zeros((n, len(known)))
    listed = np.zeros((n, len(known)), dtype=bool)
    listed[row, columns] = True
    if options.are_probabilities:
        _add(weights, (row, columns), values)
    else:  # probabilities of one and the same evidence
        np.maximum.at(weights, (row, columns), values)
    weights[is_set] = np.where(lengths[is_set, None] == 0, 1.0, listed[is_set])  # a set may repeat a label
    is_repeated = (np.bincount(row, minlength=n) > np.count_nonzero(listed, axis=1)) & ~is_set
    if code is not None:
        weights, listed, rest_mass, is_set, is_repeated = (
            part[code] for part in (weights, listed, rest_mass, is_set, is_repeated)
        )
    table = WeightTable(known, weights, listed, rest_mass, is_set, is_repeated, is_ranked=True, is_column=is_column)
    return to_likelihoods(table, options), known


def _add(totals: Floats, places: Any, values: Floats) -> None:
    """Add values at some places; a sum that overflows is the largest number."""
    with np.errstate(over="ignore"):
        np.add.at(totals, places, values)
    np.minimum(totals, np.finfo(np.float64).max, out=totals)


def to_likelihoods(table: WeightTable, options: WeightOptions) -> Floats:
    """Return the likelihoods of the classes, up to a factor for each row."""
    weights = table.weights
    if not len(table.classes):
        raise LabelError("`W` must have at least one column.")
    if table.is_repeated.any():
        warn(_REPEATED[options.are_probabilities].format(table.first_place(table.is_repeated)))
    with np.errstate(over="ignore"):
        total = np.where(table.is_set, 0.0, weights.sum(axis=1))
    if options.rest:
        rest = _remainder(total) if options.rest is True else table.rest
        n_others = np.count_nonzero(~table.listed, axis=1)
        share = np.divide(rest, n_others, out=np.zeros(len(rest)), where=(n_others > 0) & ~table.is_set)
        weights = np.where(table.listed | table.is_set[:, None], weights, share[:, None])
    if options.rest is True or (options.kind == "posterior" and table.is_ranked):
        is_above = total > _MAX_SUM
        if is_above.any():
            warn(_SUM_ABOVE_1.format(table.first_place(is_above)) + (_NO_REST if options.rest is True else "."))
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise zero_weights(int(empty[0]), len(empty))
    if options.kind == "posterior":
        rows = ~table.is_set
        weights = weights.copy()
        weights[rows] = _divide_by_prior(weights[rows], np.flatnonzero(rows), table.classes, options.prior)
    return weights


def _remainder(total: Floats) -> Floats:
    """Return the mass that probabilities of these sums leave to 1, 0 if a sum is larger."""
    above = np.flatnonzero(total > MAX_PLAUSIBLE_SUM)
    if len(above):
        raise no_rest(int(above[0]), total[above[0]].item(), len(above))
    rest = 1.0 - total
    return np.where(rest > _SUM_TOL, rest, 0.0)


def _read_prior(prior: Any, classes: Labels) -> Floats:
    """Return the prior of each class, from numbers in their order or from a mapping of labels to numbers."""
    if hasattr(prior, "to_dict") and set(classes.tolist()) & set(prior.keys()):  # a pandas Series by label
        prior = prior.to_dict()
    if not isinstance(prior, Mapping):
        if isinstance(prior, str):
            raise InputError(f"`prior` must be numbers, or a mapping of labels to numbers; got {prior!r}.")
        return as_float_array(prior, "prior")
    missing = [label for label in classes.tolist() if label not in prior]
    if missing:
        raise InputError(f"`prior` must have a number for each class; it has none for {missing[0]!r}.")
    return as_float_array([prior[label] for label in classes.tolist()], "prior")


def _divide_by_prior(weights: Floats, rows: Ints, classes: Labels, prior: Any) -> Floats:
    """Return posteriors of some rows divided by their prior, by default their mean."""
    if not len(weights):
        return weights
    posterior = scale_rows(weights)
    posterior /= posterior.sum(axis=1, keepdims=True)
    rates = posterior.mean(axis=0) if prior is None else _read_prior(prior, classes)
    if rates.shape != (len(classes),):
        raise InputError(f"`prior` must have one number for each of the {len(classes)} classes; got {prior!r}.")
    if not (np.isfinite(rates) & (rates >= 0)).all() or not rates.any():
        raise InputError(f"`prior` must be finite and at least 0, and not 0 for all classes; got {prior!r}.")
    impossible = np.argwhere((posterior > 0) & (rates == 0)).tolist() if prior is not None else []
    if impossible:
        i, k = impossible[0]
        raise InputError(
            f"`prior` must be above 0 for a class whose posterior is above 0; got 0 for class {classes.tolist()[k]!r}.",
            row=int(rows[i]),
            column=k,
        )
    rare = np.flatnonzero((rates > 0) & (rates * len(posterior) < 1.0))
    if prior is None and len(posterior) >= _MIN_ROWS_WARNING and len(rare):
        warn(
            f"the posteriors of class {classes.tolist()[rare[0]]!r} sum to {rates[rare[0]] * len(posterior):.2g} over "
            f"{len(posterior)} rows (classes below 1: {len(rare)}). Divided by so small a prior, any posterior of the "
            "class becomes a large weight. Pass `prior`, the class frequencies, or leave the class out.",
        )
    # A prior below the smallest normal number would make the quotient overflow.
    return np.asarray(posterior / np.maximum(rates / rates.max(), MIN_STORED_WEIGHT))


# -- cells -------------------------------------------------------------------------------------------------------------


def encode_cells(
    cells: ParsedCells, form: LabelFormat, classes: Any, options: WeightOptions
) -> tuple[Evidence, Labels]:
    """Return the mask, or the likelihoods if the format has weights, and the classes of a column of cells."""
    distinct = cells.pairs
    if form.folds_case and classes is None:
        spellings = Spellings([options.rest])
        for pairs, count in zip(distinct, cells.counts(), strict=True):
            for label, _ in pairs or ():
                spellings.add(label, count)
        distinct = [pairs and [(spellings.name(label), weight) for label, weight in pairs] for pairs in distinct]
    if form.weighted:
        return encode_weights(distinct, classes, options, code=cells.code, is_column=cells.is_column)
    lengths = np.fromiter((len(pairs or ()) for pairs in distinct), dtype=np.int64, count=len(distinct))
    mask, known = _mask_of([label for pairs in distinct for label, _ in pairs or ()], lengths, classes)
    mask[lengths == 0] = True
    return mask[cells.code], known
