"""Scorers that need no true labels."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from oneof.errors import InputError, InputTypeError
from oneof.likelihoods import softmax
from oneof.metrics import approximated_accuracy, covering_rate, exact_accuracy
from oneof.typing import Floats
from oneof.validation import as_array, as_float_array


class Scorer:
    """Metric with the signature of scikit-learn's scorers: ``scorer(estimator, X, y, sample_weight=None)``.

    Three scorers are available: `covering_rate_scorer`, `approximated_accuracy_scorer` and `exact_accuracy_scorer`. Use
    them as ``scoring=`` of `cross_validate` and `GridSearchCV`, with estimators, pipelines and searches. scikit-learn's
    `make_scorer` cannot be used here: it does not pass the classes of the estimator to the metric, which are necessary
    to interpret an indicator.

    Parameters
    ----------
    name : str
        Name in the representation.
    measure : callable
        ``measure(estimator, X, y, sample_weight)``; higher is better. Its docstring, if any, is that of the scorer.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import covering_rate_scorer
    >>> y = [["finch"], ["finch", "wren"], ["wren"]]
    >>> covering_rate_scorer(PLKNN(n_neighbors=1).fit([[0.0], [0.1], [3.0]], y), [[0.0], [0.1], [3.0]], y)
    1.0
    """

    def __init__(self, name: str, measure: Callable[[Any, Any, Any, Any], float]) -> None:
        self.name = name
        self.measure = measure
        self.__doc__ = measure.__doc__ or type(self).__doc__
        self._request: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            Fitted estimator with ``classes_``.
        X : array-like of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels in any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0.

        Returns
        -------
        float
            In [0, 1]; higher is better.
        """
        return self.measure(estimator, X, y, sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> "Scorer":
        """Return a scorer that requests weights if scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True or False to use or ignore ``sample_weight``, a string to use another name, None to raise an error if
            weights are passed.

        Returns
        -------
        Scorer
            A copy; this scorer does not change.
        """
        scorer = copy.copy(self)
        scorer._request = sample_weight
        return scorer

    def get_metadata_routing(self) -> Any:
        """Return the metadata request of the scorer.

        Returns
        -------
        MetadataRequest
            scikit-learn's request, with `sample_weight` under ``score``.
        """
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def __repr__(self) -> str:
        return self.name


class ClassProba(NamedTuple):
    """Class probabilities, and whether they come from `predict_proba`."""

    proba: Floats
    calibrated: bool


def get_proba(estimator: Any, X: Any) -> ClassProba:
    """Return the (n, K) class probabilities of an estimator, or the softmax of its decision function.

    The softmax is not calibrated: multiplying the scores by 2 changes it, but does not change any prediction.

    Raises
    ------
    InputError
        If the estimator has neither `predict_proba` nor `decision_function`.
    """
    if hasattr(estimator, "predict_proba"):
        return ClassProba(as_array(estimator.predict_proba(X), "predict_proba(X)"), calibrated=True)
    check_has_scores(estimator, "Use the covering rate, which needs only predictions.")
    return ClassProba(softmax(get_scores(estimator, X)), calibrated=False)


def check_has_scores(estimator: Any, remedy: str = "Wrap it in sklearn.calibration.CalibratedClassifierCV.") -> None:
    """Raise unless an estimator has probabilities or a decision function; `remedy` is the last sentence."""
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        name = type(estimator).__name__
        raise InputError(f"`estimator` must have predict_proba or decision_function; {name} has neither. {remedy}")


def get_scores(estimator: Any, X: Any) -> Floats:
    """Return the (n, K) values of the decision function of an estimator; those of two classes are 0 and the score."""
    scores = as_float_array(estimator.decision_function(X), "decision_function(X)")
    return np.stack([np.zeros(len(scores)), scores], axis=1) if scores.ndim == 1 else scores


def _check_classifier(estimator: Any) -> None:
    """Raise unless the estimator has `predict`, which itself checks that it is fitted."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise InputTypeError(f"`estimator` must be a fitted classifier; got {estimator!r}.")


def _covering_rate(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Score an estimator by the covering rate over the labeled rows (`oneof.metrics.covering_rate`).

    The arguments are those of `Scorer`: ``covering_rate_scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import covering_rate_scorer
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [5.0]], ["finch", "wren"])
    >>> covering_rate_scorer(model, [[0.1], [0.2], [5.1]], [["finch"], ["wren", "owl"], None])
    0.5
    """
    _check_classifier(estimator)
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _exact_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Score an estimator by the accuracy over the exact rows of the test set (`oneof.metrics.exact_accuracy`).

    The arguments are those of `Scorer`: ``exact_accuracy_scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import exact_accuracy_scorer
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [5.0]], ["finch", "wren"])
    >>> exact_accuracy_scorer(model, [[0.1], [0.2], [5.1]], [["finch"], ["wren", "owl"], ["wren"]])
    1.0
    """
    _check_classifier(estimator)
    return exact_accuracy(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _approximated_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Score an estimator by `oneof.metrics.approximated_accuracy` of `predict_proba`.

    Without `predict_proba` it is that of the softmax of `decision_function`. The softmax is not calibrated: compare
    such values only between settings of one method. The arguments are those of `Scorer`:
    ``approximated_accuracy_scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import approximated_accuracy_scorer
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [5.0], [9.0]], ["finch", "wren", "owl"])
    >>> approximated_accuracy_scorer(model, [[0.1], [5.1]], [["finch", "owl"], ["finch"]])
    0.5
    """
    proba = get_proba(estimator, X).proba
    return approximated_accuracy(y, proba, classes=estimator.classes_, sample_weight=sample_weight)


covering_rate_scorer = Scorer("covering_rate_scorer", _covering_rate)
approximated_accuracy_scorer = Scorer("approximated_accuracy_scorer", _approximated_accuracy)
exact_accuracy_scorer = Scorer("exact_accuracy_scorer", _exact_accuracy)
