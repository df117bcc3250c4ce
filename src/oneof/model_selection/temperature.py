"""Temperature scaling: probabilities of a fitted classifier, calibrated by held-out predictions of checked rows.

The logarithms of the probabilities are divided by a temperature, which minimizes the log loss of checked rows [1]_. The
largest probability stays the largest, so predictions do not change. scikit-learn's `CalibratedClassifierCV` fits the
temperature to predictions of the classifier that it wraps. Here, it is fitted to predictions of other models, those of
the folds of a cross-validation, so that the classifier may be fitted to the checked rows as well.

If all checked rows are predicted correctly, the log loss has no minimum: it decreases until all probabilities are 0 or
1. The targets are therefore smoothed [2]_: of n rows with the probabilities of a row, n + 1 of n + 2 are counted as
right. The number of checked rows thus limits how sharp the probabilities become.

.. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
.. [2] J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
   Advances in Large Margin Classifiers, 1999.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets, as_candidates
from oneof.candidates.encoding import MIN_STORED_WEIGHT
from oneof.errors import InputError, LabelError
from oneof.model_selection.scoring import get_proba
from oneof.typing import Floats, Ints, Labels
from oneof.validation import check_instance, check_positive

MIN_CHECKED_ROWS = 50
"""Number of checked rows from which a temperature is fitted: its standard error is then about 10 to 20 %."""
N_FOLDS = 5
"""Number of folds of the checked rows for the log loss after scaling."""
MIN_DIFFERENCE = 0.05
"""The least difference of mean confidence and accuracy that is of interest."""
_MAX_LOG_TEMPERATURE = np.log(100.0)
_ROUNDING = 1e-9
"""Rounding error of a difference of log losses."""
_MIN_PROBA = float(np.finfo(np.float64).eps)
"""Least probability in a log loss, as in scikit-learn's `log_loss`."""


class CalibrationResult(NamedTuple):
    """Comparison of held-out probabilities with the true labels of checked rows, before and after scaling.

    Attributes
    ----------
    n_rows : int
    accuracy : float
        Fraction of correct predictions, which scaling does not change.
    confidence, log_loss : float
        Mean of the largest probability, and mean log loss.
    temperature : float
        Fitted to all checked rows.
    scaled_confidence, scaled_log_loss : float
        Cross-fitted: the temperature of a row is fitted to the rows of the other folds.
    gain_error : float
        Standard error of the difference of the two log losses.
    """

    n_rows: int
    accuracy: float
    confidence: float
    log_loss: float
    temperature: float
    scaled_confidence: float
    scaled_log_loss: float
    gain_error: float

    @property
    def lowers_loss(self) -> bool:
        """Whether the log loss is lower after scaling."""
        return self.log_loss - self.scaled_log_loss > _ROUNDING

    @property
    def helps(self) -> bool:
        """Whether the log loss is lower after scaling, by more than two standard errors."""
        return self.log_loss - self.scaled_log_loss > 2.0 * self.gain_error + _ROUNDING


class TemperatureScaledClassifier(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are scaled by a temperature; its predictions are unchanged.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier with `predict_proba` or `decision_function`.
    temperature : float
        Above 1, the probabilities are less extreme.
    """

    def __init__(self, estimator: Any, temperature: float = 1.0) -> None:
        self.estimator = estimator
        self.temperature = temperature

    def fit(self, X: Any, y: Any = None) -> "TemperatureScaledClassifier":  # noqa: ARG002 - scikit-learn's API
        """Return the classifier itself, which is fitted already; raise `NotFittedError` if its estimator is not."""
        check_positive("temperature", self.temperature)
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"the {type(self.estimator).__name__} in this TemperatureScaledClassifier is not fitted, for example "
                "because `clone` has copied it. `fit` does not fit it: fit the estimator before it is scaled."
            )
        return self

    def __sklearn_is_fitted__(self) -> bool:
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            return False
        return True

    @property
    def classes_(self) -> Labels:
        """The classes of the estimator."""
        return np.asarray(self.estimator.classes_)

    @property
    def n_features_in_(self) -> int:
        """The number of features of the estimator."""
        return int(self.estimator.n_features_in_)

    def predict(self, X: Any) -> Labels:
        """Return the predictions of the estimator."""
        return np.asarray(self.estimator.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the scaled probabilities of the estimator."""
        return scale_proba(get_proba(self.estimator, X).proba, self.temperature)


def calibrate_posteriors(y: CandidateSets, labels: Any, *, prior: Any = None) -> CandidateSets:
    """Calibrate lists of probabilities by a temperature, and divide them by their prior.

    The probabilities that a language model or a classifier prints are often overconfident, or so flat that the first
    label of a list has little weight. They are raised to the power 1 / T, where the temperature T minimizes the log
    loss of the given labels.

    Parameters
    ----------
    y : CandidateSets
        Probabilities of the classes as they were printed: `from_weights` or `from_strings` without
        ``kind="posterior"``, and with ``rest=True`` if lists do not have all classes.
    labels : array-like of length n_samples
        The true labels of some rows, None in the others; or a held-out prediction for each row, by a classifier that
        was fitted to the first labels of the other rows, such as `cross_val_predict`.
    prior : array-like of shape (n_classes,) or mapping of labels to numbers, optional
        The class frequencies on which the lists are based; by default halfway between the mean of the calibrated lists
        and equal frequencies, since the mean is unreliable for rare classes.

    Returns
    -------
    CandidateSets
        Weights, as those of ``kind="posterior"``. Excluded classes, exact and unlabeled rows stay as they are.

    Raises
    ------
    InputError
        If the labels differ in number from the rows, or no row with a list has a label.

    See Also
    --------
    oneof.CandidateSets.from_weights : Weights without calibration.

    Examples
    --------
    >>> from oneof import CandidateSets
    >>> from oneof.model_selection import calibrate_posteriors
    >>> y = CandidateSets.from_weights([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]] * 20, ["a", "b", "c"])
    >>> calibrate_posteriors(y, ["a", "b", "c"] * 19 + ["a", "c", "b"]).weights[0].round(2)
    array([1.  , 0.03, 0.03])
    """
    check_instance("y", y, CandidateSets)
    known = as_candidates(labels, classes=y.classes)
    if len(known) != len(y):
        raise LabelError(f"`labels` must have one label or None for each of the {len(y)} rows; got {len(known)}.")
    listed = ~y.is_unlabeled
    rows = listed & ~y.is_exact & known.is_exact
    if not rows.any():
        raise InputError("`labels` must have the label of a row with a list; got none. Check the lists of some rows.")
    weights = y.weights
    proba = weights[rows] / weights[rows].sum(axis=1, keepdims=True)
    power = 1.0 / fit_temperature(proba, known.mask[rows].argmax(axis=1))
    scaled = np.where(y.mask, np.maximum(weights**power, MIN_STORED_WEIGHT), 0.0)[listed]
    if prior is None:
        prior = 0.5 * (scaled / scaled.sum(axis=1, keepdims=True)).mean(axis=0) + 0.5 / len(y.classes)
    weights[listed] = CandidateSets.from_weights(scaled, y.classes, kind="posterior", prior=prior).weights
    return CandidateSets.from_weights(weights, y.classes)


def scale_proba(proba: Floats, temperature: float) -> Floats:
    """Return (n, K) probabilities whose logarithms are divided by a temperature."""
    return np.exp(_scaled_logs(proba, temperature))


def fit_temperature(proba: Floats, codes: Ints) -> float:
    """Return the temperature, from 0.01 to 100, of the least log loss of smoothed targets for the classes of some rows.

    The target of a class is (n + 1) / (n + 2) for n rows; the other classes have the rest together, since an equal part
    for each would raise the many probabilities near 0. If all rows are right, the mean of their scaled probabilities is
    at most this target.
    """
    n, n_classes = proba.shape
    if n_classes == 1:
        return 1.0
    is_class = np.arange(n_classes) == np.asarray(codes)[:, None]
    target = (n + 1.0) / (n + 2.0)

    def loss(log_temperature: float) -> float:
        logs = _scaled_logs(proba, np.exp(log_temperature))
        others = logsumexp(np.where(is_class, -np.inf, logs), axis=1)
        return float(-target * logs[is_class].mean() - (1.0 - target) * others.mean())

    bounds = (-_MAX_LOG_TEMPERATURE, _MAX_LOG_TEMPERATURE)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x))


def evaluate_temperature(proba: Floats, predictions: Ints, codes: Ints, *, seed: int = 0) -> CalibrationResult:
    """Return the calibration of held-out probabilities by checked rows, before and after temperature scaling.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
    predictions, codes : ndarray of shape (n,)
        Predicted and true classes, as columns of `proba`.
    seed : int
        Of the folds.
    """
    n = len(codes)
    fold, scaled = np.random.default_rng(seed).permutation(n) % N_FOLDS, np.empty(proba.shape)
    for k in range(N_FOLDS):
        scaled[fold == k] = scale_proba(proba[fold == k], fit_temperature(proba[fold != k], codes[fold != k]))
    before, after = (-np.log(np.maximum(p[np.arange(n), codes], _MIN_PROBA)).astype(float) for p in (proba, scaled))
    return CalibrationResult(
        n_rows=n,
        accuracy=float(np.mean(predictions == codes)),
        confidence=float(proba.max(axis=1).mean()),
        log_loss=float(before.mean()),
        temperature=fit_temperature(proba, codes),
        scaled_confidence=float(scaled.max(axis=1).mean()),
        scaled_log_loss=float(after.mean()),
        gain_error=float((before - after).std(ddof=1) / np.sqrt(n)),
    )


def differs_from_accuracy(confidence: float, accuracy: float, n: int) -> bool:
    """Return whether a mean confidence differs from the accuracy of n rows, by more than three standard errors.

    A difference of at most `MIN_DIFFERENCE` does not count.

    Examples
    --------
    >>> from oneof.model_selection.temperature import differs_from_accuracy
    >>> differs_from_accuracy(0.9, 0.7, 500), differs_from_accuracy(0.9, 0.7, 20)
    (True, False)
    """
    error = (accuracy * (1.0 - accuracy) / n) ** 0.5
    return abs(confidence - accuracy) > max(MIN_DIFFERENCE, 3.0 * error)


def _scaled_logs(proba: Floats, temperature: float) -> Floats:
    logs = np.log(np.maximum(np.asarray(proba, dtype=np.float64), _MIN_PROBA))
    return np.asarray(log_softmax(logs / temperature, axis=1))
