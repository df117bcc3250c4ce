"""The Perceptron for candidate sets, on the average and on the max prediction hinge."""

from collections.abc import Callable
from functools import partial
from typing import Any

from oneof.estimators._online_base import OnlineClassifier
from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.solvers.online import OnlineState, Prediction, perceptron
from oneof.validation import check_positive


class _Perceptron(OnlineClassifier, LinearClassifierMixin, CandidateClassifier):
    """What both Perceptrons share; a subclass says which candidate score the hinge looks at."""

    _prediction: Prediction

    def __init__(
        self,
        eta: float = 1.0,
        *,
        n_epochs: int = 1,
        shuffle: bool = False,
        average: bool = False,
        fit_intercept: bool = False,
        random_state: Any = None,
    ) -> None:
        self.eta = eta
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _learner(self) -> Callable[..., OnlineState]:
        self._check_flags()
        check_positive("eta", self.eta)
        return partial(perceptron, prediction=self._prediction, eta=self.eta)


class AvgPerceptron(_Perceptron):
    """Online Perceptron on the average prediction hinge.

    Where max(0, 1 - mean_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, the weights of the candidates gain eta x / |S|
    and those of the best class outside the set lose eta x. The weights start at 0.

    Parameters
    ----------
    eta : float, default=1.0
        Step, above 0. Without a margin it would only scale the weights; here it is weighed against the margin 1.
    n_epochs : int, default=1
        Passes that `fit` makes over the rows.
    shuffle : bool, default=False
        Draw a new order of the rows for each pass of `fit`.
    average : bool, default=False
        Predict with the mean of the weights after each row (not in the paper); steadier, and as fast to learn.
    fit_intercept : bool, default=False
        Learn the weight of a constant feature 1 beside the others (not in the paper).
    random_state : int, RandomState or None, default=None
        For `shuffle`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    t_ : int
        Rows seen, over all passes.
    progressive_loss_ : float
        Share of the rows seen whose prediction, made before learning from the row, lay outside the set.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    With eta = 1, no intercept and no averaging, c = min |S_t| and R = max ||x_t||, let weights of norm 1 separate the
    stream on average with margin gamma. Then sum L_A <= 2 / gamma^2 + (1/c + 1) R^2 / gamma^2 (Theorem 1). In general,
    with d_t = max(0, gamma - margin_t), D^2 = sum (|S_t| d_t)^2, k = 1/c + 1, Delta = ((D^2 + k D^2 R^2) / k)^(1/4) and
    Z = sqrt(1 + D^2 / Delta^2), the paper prints sum L_A <= 2 Z^2 / gamma^2 + 2 k (R^2 + Delta^2) Z^2 / gamma^2
    (Theorem 2). Its proof gives the bound without the second factor 2, and that tighter one is what our tests check.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 1.

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = AvgPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "average"


class MaxPerceptron(_Perceptron):
    """Online Perceptron on the max prediction hinge.

    Where max(0, 1 - max_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, the weights of the best class in the set gain
    eta x, and those of the best class outside it lose eta x. The bounds of `AvgPerceptron` do not hold here.

    Parameters
    ----------
    eta : float, default=1.0
        Step, above 0. Without a margin it would only scale the weights; here it is weighed against the margin 1.
    n_epochs : int, default=1
        Passes that `fit` makes over the rows.
    shuffle : bool, default=False
        Draw a new order of the rows for each pass of `fit`.
    average : bool, default=False
        Predict with the mean of the weights after each row (not in the paper); steadier, and as fast to learn.
    fit_intercept : bool, default=False
        Learn the weight of a constant feature 1 beside the others (not in the paper).
    random_state : int, RandomState or None, default=None
        For `shuffle`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, progressive_loss_, n_features_in_, feature_names_in_
        As those of `AvgPerceptron`.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 2.

    Examples
    --------
    >>> from oneof import MaxPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = MaxPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "max"
