"""An online learner under the names that river uses: one row at a time, a row being a dict of features."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from oneof.candidates import CandidateSets, as_classes
from oneof.errors import InputTypeError, as_input_errors
from oneof.estimators.base import check_positive
from oneof.estimators.online import check_online
from oneof.solvers.online import OnlineState


class OneByOne:
    """Learns from single rows, ``{"span": 3.1, "colour": "red"}``, and is driven as river's classifiers are.

    River itself is not needed. Numbers are taken as they come; text is a category. Both are hashed.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Its parameters are used; it is not changed itself.
    classes : sequence
        All classes.
    hash_bits : int, default=12
        Features are hashed into 2 ** hash_bits columns. A row costs a pass over all weights, so that few bits are fast.

    Notes
    -----
    Nearly all that a row costs is Python around its few sums: take `fit_stream` where you can.

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> from oneof.stream import OneByOne
    >>> model = OneByOne(AvgPerceptron(), classes=["finch", "wren"])
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
        check_positive("hash_bits", hash_bits, integer=True)
        self.estimator = estimator
        self.classes = as_classes(classes).tolist()
        self.hash_bits = hash_bits
        self._hasher = FeatureHasher(2**hash_bits)
        self._state: OnlineState | None = None

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping of str to number or str
        y : label, collection of labels, or None
            The candidates of the row; None where nothing is known.
        """
        mask = CandidateSets.from_sets([y], classes=self.classes).mask
        self._state = self.estimator.advance(self._state, self._row(x), mask)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Return the class of a row; None before the first row was learnt, as river does."""
        return None if self._state is None else self.classes[self.estimator.predict_at(self._state, self._row(x))[0]]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Return a softmax of the scores, which is not calibrated; an empty dict before the first row was learnt."""
        if self._state is None:
            return {}
        from oneof.model_selection import probabilities

        return dict(zip(self.classes, probabilities(self.fitted(), self._row(x)).proba[0].tolist(), strict=True))

    def fitted(self) -> Any:
        """Return the estimator as it stands, for rows that `sklearn.feature_extraction.FeatureHasher` has hashed.

        Raises
        ------
        NotFittedError
            Before the first row was learnt.
        """
        from sklearn.base import clone
        from sklearn.exceptions import NotFittedError

        if self._state is None:
            raise NotFittedError("OneByOne has learnt from no row: call learn_one first.")
        return clone(self.estimator).take(self._state, self.classes, 2**self.hash_bits)

    def _row(self, x: Mapping[str, Any]) -> Any:
        if not isinstance(x, Mapping):
            raise InputTypeError(f"a row is a dict of features, got {type(x).__name__}: give {{name: value}}.")
        known: Iterable[tuple[str, Any]] = ((str(name), value) for name, value in x.items() if value is not None)
        with as_input_errors():
            told = {name: value for name, value in known if value == value}  # noqa: PLR0124 - not NaN
            row = self._hasher.transform([told])
        return row.astype(np.float64)
