"""An online learner under the names that river uses: one row at a time, a row being a dict of features."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputTypeError


class OneByOne:
    """Learns from single rows, ``{"span": 3.1, "colour": "red"}``, and is driven as river's classifiers are.

    River itself is not needed. Numbers are taken as they come; text is a category. Both are hashed.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        It is learnt with, and holds what was learnt.
    classes : sequence
        All classes.
    hash_bits : int, default=12
        Features are hashed into 2 ** hash_bits columns. A row costs a pass over all weights, so that few bits are fast.

    Notes
    -----
    One row at a time costs about a thousand times as much as rows in batches: take `fit_stream` where you can.

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

        self.estimator = estimator
        self.classes = list(classes)
        self.hash_bits = hash_bits
        self._hasher = FeatureHasher(2**hash_bits)

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping of str to number or str
        y : label, collection of labels, or None
            The candidates of the row; None where nothing is known.
        """
        candidates = CandidateSets.from_sets([y], classes=self.classes)
        self.estimator.partial_fit(self._row(x), candidates)
        return self

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Return the class of a row; None before the first row was learnt, as river does."""
        return self.estimator.predict(self._row(x)).tolist()[0] if self._has_learnt() else None

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Return a softmax of the scores, which is not calibrated; an empty dict before the first row was learnt."""
        if not self._has_learnt():
            return {}
        from oneof.model_selection import probabilities

        return dict(zip(self.classes, probabilities(self.estimator, self._row(x)).proba[0].tolist(), strict=True))

    def _has_learnt(self) -> bool:
        return hasattr(self.estimator, "classes_")

    def _row(self, x: Mapping[str, Any]) -> Any:
        if not isinstance(x, Mapping):
            raise InputTypeError(f"a row is a dict of features, got {type(x).__name__}: give {{name: value}}.")
        known: Iterable[tuple[str, Any]] = ((str(name), value) for name, value in x.items() if value is not None)
        row = self._hasher.transform([{name: value for name, value in known if value == value}])  # noqa: PLR0124 - not NaN
        return row.astype(np.float64)
