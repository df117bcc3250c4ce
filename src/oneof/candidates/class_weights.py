"""Weights of classes, as factors of the weights of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneof.candidates.sets import CandidateSets, as_candidates
from oneof.errors import InputError, InputTypeError
from oneof.typing import Floats
from oneof.validation import check_sample_weight


def compute_sample_weight(class_weight: Any, y: Any) -> Floats:
    """Return sample weights that give the classes weights, as scikit-learn's function of this name does for labels.

    The weight of a row is the mean weight of its candidates, in proportion to their weights if it has weights, and 1 if
    it is unlabeled. Pass the result as `sample_weight` to the `fit` of an estimator that accepts it, or to
    `partial_fit` of an online estimator.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes by label, at least 0, and 1 for classes without one. "balanced" is inversely proportional
        to the class frequencies, in which each row counts for its candidates in equal parts. None gives ones.
    y : array-like or CandidateSets of length n_samples
        Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    InputError
        If `y` is invalid, a label of `class_weight` is not a class, a weight is negative or not finite, or all labeled
        rows have weight 0.

    Examples
    --------
    >>> from oneof.model_selection import compute_sample_weight
    >>> compute_sample_weight("balanced", ["a", "a", "a", "b"]).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    >>> compute_sample_weight({"a": 3.0}, [["a"], ["a", "b"], ["c"]]).tolist()
    [3.0, 2.0, 1.0]
    """
    return check_row_weights(as_candidates(y), None, class_weight)


def check_row_weights(candidates: CandidateSets, sample_weight: Any, class_weight: Any = None) -> Floats:
    """Return the weights of the rows as (n,) float64, ones by default.

    A labeled row's weight is multiplied by sum_k q_ik c_k, with q_ik its labels, uniform over its candidates or
    proportional to their weights, and c_k the weight of class k. "balanced" is c_k = sum_j m_j / (K m_k) with the class
    masses m_k = sum_i q_ik (sample weight)_i of K classes with mass: on exact labels, that of scikit-learn.

    Parameters
    ----------
    candidates : CandidateSets of length n
    sample_weight : array-like of shape (n,), optional
        At least 0.
    class_weight : dict, "balanced" or None
        Weights of labels, at least 0.

    Raises
    ------
    InputError
        If a weight is negative or not finite, a label of `class_weight` is not a class, or no labeled row has a weight
        above 0.
    """
    labeled = ~candidates.is_unlabeled
    weight = check_sample_weight(sample_weight, len(candidates), labeled)
    if class_weight is None:
        return weight
    evidence = candidates.evidence.astype(np.float64)
    labels = np.where(labeled[:, None], evidence / evidence.sum(axis=1, keepdims=True), 0.0)
    factors = labels @ _class_factors(class_weight, candidates, weight @ labels)
    weight = np.where(labeled, weight * factors, weight)
    if labeled.any() and not weight[labeled].any():
        raise InputError("`class_weight` is zero for every labeled row. Give some class of the rows a weight above 0.")
    return weight


def _class_factors(class_weight: Any, candidates: CandidateSets, mass: Floats) -> Floats:
    """Return the weight of each class, (K,)."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.divide(mass.sum() / max(np.count_nonzero(mass), 1), mass, out=np.ones(len(mass)), where=mass > 0)
    if not isinstance(class_weight, Mapping):
        raise InputTypeError(f'`class_weight` must be a dict, "balanced" or None; got {class_weight!r}.')
    index = {label: k for k, label in enumerate(candidates.classes.tolist())}
    factors = np.ones(len(index))
    for label, value in class_weight.items():
        k = index.get(label.item() if isinstance(label, np.generic) else label)
        if k is None:
            raise InputError(f"`class_weight` has the label {label!r}, which is not a class. Remove it.")
        try:
            factors[k] = value
        except (TypeError, ValueError):
            factors[k] = np.nan
        if not (factors[k] >= 0 and np.isfinite(factors[k])):
            raise InputError(f"`class_weight` of {label!r} must be finite and at least 0; got {value!r}.")
    return factors
