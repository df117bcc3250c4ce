"""Weights of the candidates: normalization, storage of the rows that have them, noise, and priors.

A weight w_ik is proportional to the probability of row i's evidence if its true class is k. It is free up to a factor
for each row, so the largest weight of a row is 1. A row whose weights are all 0 or 1 is a candidate set.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates.levels import LevelSets
from oneof.errors import InputError, LabelError
from oneof.messages import warn
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_choice

_TIE_RTOL = 1e-14
"""Relative difference of two weights of a row, a few roundings, up to which they are equal."""
MIN_STORED_WEIGHT = float(np.finfo(np.float64).tiny)
"""The smallest weight above 0, relative to the largest of its row; its inverse and its logarithm are finite."""
_MAX_SUM = 1.01
"""Maximum sum of probabilities that were rounded to a few decimals."""
_MAX_PLAUSIBLE_SUM = 2.0
"""Maximum sum of probabilities that a person or a language model chose; percentages have larger ones."""
_MIN_ROWS_WARNING = 100
"""Rows from which their mean is an estimate of the class frequencies, so that a class of less than one row is rare."""
_SUM_TOL = 1e-6
"""Difference of a sum of probabilities from 1, in float32 for instance, that is a rounding error."""


_REPEATED = {
    True: "in {}, a label is repeated, and its weights are added.",
    False: "in {}, a label is repeated, and its largest weight is used.",
}
_SUM_ABOVE_1 = "in {}, the sum of the probabilities is above 1, and they are divided by it"
_NO_REST = ", so that nothing remains for the classes that the row does not list."


class MergedWeightsWarning(UserWarning):
    """Weights of a row are merged or divided by their sum.

    Attributes
    ----------
    general : str
        The message without numbers of rows, which is the same for all batches of a stream.
    """

    def __init__(self, template: str, rows: str) -> None:
        super().__init__(template.format(rows))
        self.general = template.format("some rows")


@dataclass(frozen=True)
class RowWeights:
    """The weights of the rows whose candidates do not all have the same weight."""

    is_weighted: Mask
    """(n,): True if the row has weights."""
    values: Floats
    """(m, K): the weights of those rows, in order; the largest of each row is 1."""

    def select(self, rows: Any) -> "RowWeights | None":
        """Return the weights of some rows, selected by a slice, a mask or an array; None if none of them has any."""
        is_weighted = self.is_weighted[rows]
        if not is_weighted.any():
            return None
        position = np.cumsum(self.is_weighted) - 1
        return RowWeights(is_weighted, self.values[position[rows][is_weighted]])

    def over(self, mask: Mask) -> Floats:
        """Return the weights of all rows of an (n, K) mask; those of the other rows are 0 and 1."""
        weights = mask.astype(np.float64)
        weights[self.is_weighted] = self.values
        return weights


def scale_rows(weights: Floats) -> Floats:
    """Return valid (n, K) weights with row maxima of 1, in which no weight above 0 underflows to 0."""
    scaled = weights / weights.max(axis=1, keepdims=True)
    np.maximum(scaled, MIN_STORED_WEIGHT, out=scaled, where=weights > 0)
    return scaled


def split_weights(weights: Floats) -> tuple[Mask, RowWeights | None]:
    """Return the candidates of valid (n, K) weights, and the weights of the rows that are not 0/1 up to a factor."""
    mask = weights > 0
    scaled = scale_rows(weights)
    scaled[scaled >= 1.0 - _TIE_RTOL] = 1.0
    is_weighted = np.asarray((mask & (scaled < 1.0)).any(axis=1))
    return mask, RowWeights(is_weighted, _merge_ties(scaled[is_weighted])) if is_weighted.any() else None


def _merge_ties(weights: Floats) -> Floats:
    """Return (m, K) weights in which those that differ from a larger one by roundings are equal to it."""
    ranked = -np.sort(-weights, axis=1)
    tied = (ranked[:, 1:] < ranked[:, :-1]) & (ranked[:, 1:] >= ranked[:, :-1] * (1.0 - _TIE_RTOL))
    rows = np.flatnonzero(tied.any(axis=1))
    if len(rows):
        order, ranked = np.argsort(-weights[rows], axis=1), ranked[rows]
        for previous, value in zip(ranked.T[:-1], ranked.T[1:]):
            np.copyto(value, previous, where=value >= previous * (1.0 - _TIE_RTOL))
        merged = np.empty_like(ranked)
        np.put_along_axis(merged, order, ranked, axis=1)
        weights[rows] = merged
    return weights


def same_weights(first: RowWeights | None, second: RowWeights | None) -> bool:
    """Return whether the same rows have the same weights."""
    if first is None or second is None:
        return first is second
    return np.array_equal(first.is_weighted, second.is_weighted) and np.array_equal(first.values, second.values)


def soften_weights(evidence: Evidence, noise_rate: Any) -> Floats:
    """Return the (n, K) likelihoods of the evidence if its sets exclude the true class with some probability.

    A set of s < K classes that holds the true class with probability 1 - e, all sets of this size with equal
    probability, has the likelihood (1 - e) / C(K-1, s-1) inside and e / C(K-1, s) outside. The ratio of the second to
    the first is e / (1 - e) * s / (K - s). The likelihood of weights is the sum of those of their level sets, times
    their masses.
    """
    n, n_classes = evidence.shape
    rate = as_float_array(noise_rate, "noise_rate")
    if rate.ndim > 1 or rate.shape not in ((), (n,)):
        raise InputError(f"`noise_rate` must be a number, or one number for each of the {n} rows; got {noise_rate!r}.")
    rate = np.broadcast_to(rate, n)
    wrong = np.flatnonzero(~((rate >= 0) & (rate < 1)))
    if len(wrong):
        raise InputError(
            f"`noise_rate` must be at least 0 and below 1; got {rate[wrong[0]].item()!r}.",
            row=int(wrong[0]) if np.ndim(noise_rate) else None,
        )
    levels = LevelSets.from_evidence(evidence)
    size = np.count_nonzero(levels.mask, axis=1)
    error = rate[levels.row]
    outside = levels.mass * (error / (1.0 - error)) * (size / (n_classes - size))
    softened = evidence.astype(np.float64)
    np.add.at(softened, levels.row, np.where(levels.mask, 0.0, outside[:, None]))
    return softened


# -- from given numbers to likelihoods ---------------------------------------------------------------------------------


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

    weights: Floats
    """(n, K): finite, at least 0; 0 for a class that the row does not list."""
    classes: Labels
    listed: Mask
    """(n, K): True if the row lists the class."""
    rest: Floats
    """(n,): the mass that the row gives to the classes that it does not list."""
    is_set: Mask
    """(n,): True for unlabeled rows, and for sets without numbers, which have neither a rest nor a prior."""
    is_repeated: Mask | None = None
    """(n,): True for rows that listed a label more than once; its weights are merged."""
    is_ranked: bool = False
    """True for rows that list labels, which a person or a language model wrote, False for a matrix."""

    def select(self, rows: Ints) -> "WeightTable":
        """Return the weights of some rows."""
        repeated = None if self.is_repeated is None else self.is_repeated[rows]
        return WeightTable(
            self.weights[rows],
            self.classes,
            self.listed[rows],
            self.rest[rows],
            self.is_set[rows],
            repeated,
            is_ranked=self.is_ranked,
        )


def to_likelihoods(table: WeightTable, options: WeightOptions) -> tuple[Floats, Labels]:
    """Return the likelihoods of the classes, up to a factor for each row, and the classes."""
    weights = table.weights
    if not len(table.classes):
        raise LabelError("`W` must have at least one column.")
    if table.is_repeated is not None and table.is_repeated.any():
        _warn(_REPEATED[options.are_probabilities], table.is_repeated)
    if options.rest:
        rest = _remainder(table) if options.rest is True else table.rest
        n_others = np.count_nonzero(~table.listed, axis=1)
        share = np.divide(rest, n_others, out=np.zeros(len(rest)), where=(n_others > 0) & ~table.is_set)
        weights = np.where(table.listed | table.is_set[:, None], weights, share[:, None])
    if options.rest is True or (options.kind == "posterior" and table.is_ranked):
        is_above = (_sums(table.weights) > _MAX_SUM) & ~table.is_set
        if is_above.any():
            _warn(_SUM_ABOVE_1 + (_NO_REST if options.rest is True else "."), is_above)
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        raise zero_weights(int(empty[0]), len(empty))
    if options.kind == "posterior":
        rows = ~table.is_set
        weights = weights.copy()
        weights[rows] = _divide_by_prior(weights[rows], np.flatnonzero(rows), table.classes, options.prior)
    return weights, table.classes


def zero_weights(row: int | None, n_rows: int = 1) -> LabelError:
    """Return the error for a row, the first of several, whose weights are all 0."""
    return LabelError(
        f"all weights of the row are 0 (such rows: {n_rows}). Give every row at least one weight above 0; an "
        "unlabeled row has the same weight for all classes.",
        row=row,
        cause="empty set",
    )


def invalid_weight(row: int | None, label: Any, weight: Any) -> LabelError:
    """Return the error for a weight of a label that is negative or not finite."""
    return LabelError(
        f"the weight of {label!r} must be a finite number of at least 0; got {weight!r}. Use None for an unlabeled "
        "row.",
        row=row,
        label=label,
    )


def check_rest(row: int | None, total: float, n_rows: int = 1) -> None:
    """Raise if the sum of the weights of a row is so large that they are not probabilities, which have a rest."""
    if total > _MAX_PLAUSIBLE_SUM:
        raise LabelError(
            f"the weights of the row sum to {total:.6g} (such rows: {n_rows}), but a rest requires probabilities, "
            "whose sum is about 1. Write percentages with a percent sign, or divide them by 100; or omit `rest` "
            "(--rest), so that only the ratios of the weights matter and other classes are ruled out.",
            row=row,
        )


@contextmanager
def general_warnings() -> Iterator[None]:
    """Replace the numbers of rows in warnings about merged weights, which batches of a stream do not have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if isinstance(warning.message, MergedWeightsWarning):
            warn(warning.message.general)
        else:
            warn(warning.message)


def _warn(template: str, is_affected: Mask) -> None:
    """Warn about some rows at the place of the call of `CandidateSets.from_weights` or `from_strings`."""
    n_rows, first = int(is_affected.sum()), int(np.argmax(is_affected))
    rows = f"1 row (row {first})" if n_rows == 1 else f"{n_rows:,} rows (the first is row {first})"
    warn(MergedWeightsWarning(template, rows))


def _remainder(table: WeightTable) -> Floats:
    """Return the mass that the probabilities of each row leave to 1, 0 if their sum is larger."""
    total = _sums(table.weights)
    above = np.flatnonzero((total > _MAX_PLAUSIBLE_SUM) & ~table.is_set)
    if len(above):
        check_rest(int(above[0]), total[above[0]].item(), len(above))
    rest = 1.0 - total
    return np.where(rest > _SUM_TOL, rest, 0.0)


def _sums(weights: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(weights.sum(axis=1))


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
    if prior is not None:
        impossible = np.argwhere((posterior > 0) & (rates == 0))
        if len(impossible):
            i, k = impossible[0].tolist()
            raise InputError(
                f"`prior` must be above 0 for a class whose posterior is above 0; got 0 for class "
                f"{classes.tolist()[k]!r}.",
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
