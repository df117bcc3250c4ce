"""An online learner under the names that river uses: one row at a time, a row being a dict of features."""

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np

from oneof.candidates import CandidateSets, as_classes
from oneof.candidates.named_sets import is_collection
from oneof.errors import InputError, InputTypeError
from oneof.estimators._online_base import check_online
from oneof.likelihoods import softmax
from oneof.solvers.online import OnlineState
from oneof.solvers.row_accessors import SparseRows, read_only
from oneof.stream.indexed import MOST_BITS
from oneof.typing import Floats, Ints, Mask
from oneof.validation import check_positive

_MOST_NAMES, _MOST_SETS = 2**20, 2**12
"""That are remembered; beyond them memory would grow with the stream."""
_NUMBERS = {int, float}


class RiverClassifier:
    """Learns from single rows, ``{"span": 3.1, "color": "red"}``, and is driven as river's classifiers are.

    River itself is not needed. Numbers are taken as they come; text is a category. Both are hashed.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Its parameters are used; it is not changed itself.
    classes : sequence
        All classes.
    hash_bits : int, default=12
        Features are hashed into 2 ** hash_bits columns.

    Notes
    -----
    Nearly all that a row costs is Python around its few sums: take `fit_stream` where you can. Names are remembered
    with their columns, a million at most.

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
        from sklearn.feature_extraction import FeatureHasher

        check_online(estimator)
        if len(as_classes(classes)) < 2:
            raise InputError("classes names only one class: a classifier needs at least two classes.")
        check_positive("hash_bits", hash_bits, integer=True, max_value=MOST_BITS)
        self.estimator = estimator
        self.classes = as_classes(classes).tolist()
        self.hash_bits = int(hash_bits)
        self._hasher = FeatureHasher(2**hash_bits)
        self._state: OnlineState | None = None
        self._codes_of: dict[str, int] = {}
        self._masks: dict[Any, Mask] = {}

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping of str to number or str
        y : label, collection of labels, or None
            The candidates of the row; None where nothing is known.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a value is no number, or not finite; nothing has been learned then.
        LabelError
            If `y` names a class that is not among `classes`.
        """
        columns, values = self._row(x)
        ends = np.array([0, len(columns)], dtype=np.int64)
        row = SparseRows(read_only(values), read_only(columns), read_only(ends), 2**self.hash_bits)
        self._state = self.estimator._advance(self._state, row, self._mask(y), in_place=True)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Return the class of a row; None before the first row was learned, as river does.

        Parameters
        ----------
        x : mapping of str to number or str

        Returns
        -------
        class or None
        """
        return None if self._state is None else self.classes[int(np.argmax(self._scores(self._state, x)))]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Return a softmax of the scores, which is not calibrated; an empty dict before the first row was learned.

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
        shares = softmax(self._scores(self._state, x)[None, :])[0]
        return dict(zip(self.classes, shares.tolist(), strict=True))

    def fitted(self) -> Any:
        """Return the estimator as it stands, for rows that `sklearn.feature_extraction.FeatureHasher` has hashed.

        Returns
        -------
        estimator
            A clone.

        Raises
        ------
        NotFittedError
            Before the first row was learned.
        """
        from sklearn.base import clone
        from sklearn.exceptions import NotFittedError

        if self._state is None:
            raise NotFittedError("RiverClassifier has learned from no row: call learn_one first.")
        return clone(self.estimator)._load_state(deepcopy(self._state), self.classes, 2**self.hash_bits)

    def _scores(self, state: OnlineState, x: Mapping[str, Any]) -> Floats:
        columns, values = self._row(x)
        if self.estimator.fit_intercept:
            columns, values = np.append(columns, state.V.shape[1] - 1), np.append(values, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(state.weights_at(columns, mean=bool(self.estimator.average)) @ values)
        if not np.isfinite(scores).all():
            raise InputError("a score overflows, or a feature is infinite: give finite features, scaled to about 1.")
        return scores

    def _mask(self, y: Any) -> Mask:
        """Return the mask of a row, (1, K)."""
        key = _key(y)
        if key in self._masks:
            return self._masks[key]
        mask = CandidateSets.from_sets([y], classes=self.classes).mask
        if key is not None and len(self._masks) < _MOST_SETS:
            self._masks[key] = mask
        return mask

    def _row(self, x: Mapping[str, Any]) -> tuple[Ints, Floats]:
        """Return the columns of a row, increasing, and its values in them, as the hasher would."""
        if not isinstance(x, Mapping):
            raise InputTypeError(f"a row is a dict of features, got {type(x).__name__}: give {{name: value}}.")
        names, values = _plain(x) if set(map(type, x.values())) <= _NUMBERS else _encoded(x)
        try:
            codes = self._codes(names)
        except KeyError:
            if len(self._codes_of) > _MOST_NAMES:
                self._codes_of.clear()
            self._remember([name for name in names if name not in self._codes_of])
            codes = self._codes(names)
        order = codes.argsort(kind="stable")
        columns, scaled = codes[order] >> 1, (values * (1 - 2 * (codes & 1)))[order]
        further = columns[1:] != columns[:-1]
        if not further.all():  # features that met in a column
            starts = np.concatenate(([0], 1 + np.flatnonzero(further)))
            columns, scaled = columns[starts], np.add.reduceat(scaled, starts)
        return columns.astype(np.int32), scaled

    def _codes(self, names: Collection[str]) -> Ints:
        """Return for each name twice its column, and 1 more where the hasher takes its value away."""
        return np.fromiter(map(self._codes_of.__getitem__, names), np.int64, len(names))

    def _remember(self, names: list[str]) -> None:
        """Ask the hasher for the columns and signs of names."""
        hashed = self._hasher.transform([{name: 1.0} for name in names])
        self._codes_of.update(zip(names, (2 * hashed.indices + (hashed.data < 0)).tolist(), strict=True))


def _key(y: Any) -> Any:
    """Return what tells a row's candidates from others, or None where that is not sure: 1 equals True and 1.0."""
    if y is None or type(y) in (str, int):
        return (y,)
    if is_collection(y) and not isinstance(y, np.ndarray) and all(type(label) in (str, int) for label in y):
        return frozenset(y)
    return None


def _plain(x: Mapping[str, Any]) -> tuple[Collection[str], Floats]:
    """Return names and values of a row of Python's numbers, without those that are missing."""
    names: Collection[str] = x.keys() if set(map(type, x)) <= {str} else list(map(str, x))
    try:
        values = np.fromiter(x.values(), np.float64, len(x))
    except OverflowError:
        return _encoded(x)
    missing = np.isnan(values)
    if missing.any():
        return [name for name, gone in zip(names, missing, strict=True) if not gone], values[~missing]
    return names, values


def _encoded(x: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Return names and values of any row: text is a category of value 1, None is missing."""
    names, values = [], []
    for name, value in x.items():
        if value is None:
            continue
        try:
            number = 1.0 if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            said = f"feature {name!r} cannot be read as a number: it is of type {type(value).__name__}"
            raise InputTypeError(f"{said}, or too large. Give a number, text or None.") from None
        if not np.isnan(number):
            names.append(f"{name}={value}" if isinstance(value, str) else str(name))
            values.append(number)
    return names, np.array(values, dtype=np.float64)
