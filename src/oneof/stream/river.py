"""Online classifier with the interface of river: it learns one row, a dict of features, at a time."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, Self

import numpy as np
from sklearn.utils import murmurhash3_32

from oneof.candidates import CandidateSets, as_classes
from oneof.candidates.labels import is_collection
from oneof.errors import InputError, InputTypeError
from oneof.estimators.online import check_online
from oneof.io.formats.svmlight import MAX_INDEX_BITS
from oneof.likelihoods import softmax
from oneof.solvers.online import OnlineState
from oneof.solvers.row_accessors import SparseRows, read_only
from oneof.typing import Evidence, Floats, Ints, Mask
from oneof.validation import check_positive

_MAX_ROWS, _MAX_SETS = 2**8, 2**12
"""Sizes of the caches, so that memory does not grow with the stream."""


class RiverClassifier:
    """Online classifier of single rows, ``{"span": 3.1, "color": "red"}``, with the methods of river's classifiers.

    River itself is not required. Numbers are not scaled; text is a category. Both are hashed.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Classifier with its parameters; the object is not changed.
    classes : sequence
        All classes.
    hash_bits : int, default=12
        The number of columns that features are hashed into is 2 ** hash_bits.

    Notes
    -----
    Most of the time per row is Python overhead: use `fit_stream` if possible. Rows with equal names in the same order
    are the fastest.

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> from oneof.stream import RiverClassifier
    >>> model = RiverClassifier(AvgPerceptron(), classes=["finch", "wren"])
    >>> rows = [({"size": 1.0, "song": "trill"}, {"wren"}), ({"size": 2.0, "song": "call"}, {"finch"})]
    >>> for x, y in rows * 3 + [({"size": 1.5}, None)]:
    ...     _ = model.learn_one(x, y)
    >>> model.predict_one({"size": 1.1, "song": "trill"})
    'wren'
    >>> sorted(model.predict_proba_one({"size": 1.1, "song": "trill"}))
    ['finch', 'wren']
    """

    def __init__(self, estimator: Any, classes: Sequence[Any], hash_bits: int = 12) -> None:
        check_online(estimator)
        if len(as_classes(classes)) < 2:
            raise InputError("`classes` must have at least two classes; got one.")
        check_positive("hash_bits", hash_bits, integer=True, max_value=MAX_INDEX_BITS)
        self.estimator = estimator
        self.classes = as_classes(classes).tolist()
        self.hash_bits = int(hash_bits)
        self._state: OnlineState | None = None
        self._masks: dict[Any, Mask] = {}

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping of str to number or str
        y : label, collection of labels, mapping of labels to weights, or None
            The candidates of the row; None if it is unlabeled. A weight is proportional to the probability of the
            evidence if the label is the true one; labels without a weight are ruled out.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a value is not a number or not finite; the model is then unchanged.
        LabelError
            If a label of `y` is not one of `classes`, or its weights are invalid.
        """
        columns, values = self._row(x)
        ends = np.array([0, len(columns)], dtype=np.int64)
        row = SparseRows(read_only(values), columns, read_only(ends), 2**self.hash_bits)
        self._state = self.estimator._advance(self._state, row, self._evidence(y), in_place=True)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Return the class of a row; None before the first call of `learn_one`, as in river.

        Parameters
        ----------
        x : mapping of str to number or str

        Returns
        -------
        class or None
        """
        return None if self._state is None else self.classes[int(np.argmax(self._scores(self._state, x)))]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Return the uncalibrated softmax of the scores; an empty dict before the first call of `learn_one`.

        Parameters
        ----------
        x : mapping of str to number or str

        Returns
        -------
        dict of class to float
            Sums to 1.
        """
        if self._state is None:
            return {}
        proba = softmax(self._scores(self._state, x)[None, :])[0]
        return dict(zip(self.classes, proba.tolist(), strict=True))

    def fitted(self) -> Any:
        """Return the estimator fitted so far, for rows hashed by `sklearn.feature_extraction.FeatureHasher`.

        Returns
        -------
        estimator
            A fitted clone.

        Raises
        ------
        NotFittedError
            Before the first call of `learn_one`.
        """
        from sklearn.base import clone
        from sklearn.exceptions import NotFittedError

        if self._state is None:
            raise NotFittedError("This RiverClassifier is not fitted. Call learn_one first.")
        return clone(self.estimator)._load_state(deepcopy(self._state), self.classes, 2**self.hash_bits)

    def _scores(self, state: OnlineState, x: Mapping[str, Any]) -> Floats:
        columns, values = self._row(x)
        if self.estimator.fit_intercept:
            columns, values = np.append(columns, state.V.shape[1] - 1), np.append(values, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(state.weights_at(columns, mean=bool(self.estimator.average)) @ values)
        if not np.isfinite(scores).all():
            raise InputError("a score overflows, or a feature is infinite. Use finite features, scaled to about 1.")
        return scores

    def _evidence(self, y: Any) -> Evidence:
        """Return the mask or the weights of a row, (1, K)."""
        if isinstance(y, Mapping):
            return CandidateSets.from_weights([y], classes=self.classes).evidence
        key = _key(y)
        if key in self._masks:
            return self._masks[key]
        mask = CandidateSets.from_sets([y], classes=self.classes).mask
        if key is not None and len(self._masks) < _MAX_SETS:
            self._masks[key] = mask
        return mask

    def _row(self, x: Mapping[str, Any]) -> tuple[Ints, Floats]:
        """Return the increasing columns of a row and their values, equal to those of the hasher."""
        if not isinstance(x, Mapping):
            raise InputTypeError(f"`x` must be a dict {{name: value}} of features; got {type(x).__name__}.")
        names, values = _encode(x)
        columns, place, signs = _hash(names, 2**self.hash_bits)
        return columns, np.bincount(place, signs * values, len(columns)).astype(np.float64, copy=False)


@lru_cache(_MAX_ROWS)  # rows of a stream often have the same names in the same order
def _hash(names: tuple[str, ...], n_columns: int) -> tuple[Ints, Ints, Floats]:
    """Return the different columns of some features, and for each feature the place of its column and its sign.

    They are those of `sklearn.feature_extraction.FeatureHasher`.
    """
    codes = np.array([murmurhash3_32(name) for name in names], dtype=np.int64)
    columns, place = np.unique(np.abs(codes) % n_columns, return_inverse=True)
    return read_only(columns.astype(np.int32)), place, np.where(codes < 0, -1.0, 1.0)


def _key(y: Any) -> Any:
    """Return a cache key of a row's candidates, or None if keys would be ambiguous, as 1 equals True and 1.0."""
    if y is None or type(y) in (str, int):
        return (y,)
    if is_collection(y) and not isinstance(y, np.ndarray) and all(type(label) in (str, int) for label in y):
        return frozenset(y)
    return None


def _encode(x: Mapping[str, Any]) -> tuple[tuple[str, ...], Floats]:
    """Return names and values of a row: text is a category with value 1, None and NaN are missing."""
    names, values = [], []
    for name, value in x.items():
        if value is None:
            continue
        try:
            number = 1.0 if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputTypeError(
                f"feature {name!r} must be a number that fits float64, text or None; got {type(value).__name__}."
            ) from None
        if not math.isnan(number):
            names.append(f"{name}={value}" if isinstance(value, str) else str(name))
            values.append(number)
    return tuple(names), np.array(values, dtype=np.float64)
