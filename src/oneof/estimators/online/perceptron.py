"""Perceptron for candidate sets, with the average or the max prediction hinge."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from oneof.estimators.online._base import OnlineClassifier
from oneof.estimators.parameters import Positive, estimator
from oneof.solvers.online import OnlineState, Prediction, perceptron


@estimator
class _Perceptron(OnlineClassifier):
    """Base of both Perceptrons; a subclass defines the candidate score in the hinge.

    Parameters
    ----------
    eta0 : float, default=1.0
        Step size, above 0. It matters only relative to the margin 1; without a margin it would only scale the weights.
    """

    _prediction: ClassVar[Prediction]

    eta0: Positive = 1.0

    def _make_solver(self) -> Callable[..., OnlineState]:
        return partial(perceptron, prediction=self._prediction, eta0=self.eta0)


@estimator
class AvgPerceptron(_Perceptron):
    """Online Perceptron with the average prediction hinge.

    If max(0, 1 - mean_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, eta0 x / |S| is added to the weights of the
    candidates, and eta0 x is subtracted from those of the best class outside the set. The weights start at 0.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier).

    Notes
    -----
    With eta0 = 1, no intercept and no averaging, c = min |S_t| and R = max ||x_t||, let weights of norm 1 separate the
    rows on average with margin gamma. Then sum L_A <= 2 / gamma^2 + (1/c + 1) R^2 / gamma^2 (Theorem 1). In general,
    with d_t = max(0, gamma - margin_t), D^2 = sum (|S_t| d_t)^2, k = 1/c + 1, Delta = ((D^2 + k D^2 R^2) / k)^(1/4) and
    Z = sqrt(1 + D^2 / Delta^2), the paper prints sum L_A <= 2 Z^2 / gamma^2 + 2 k (R^2 + Delta^2) Z^2 / gamma^2
    (Theorem 2). Its proof gives the bound without the second factor 2; the tests check this tighter bound.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 1.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = AvgPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "average"


@estimator
class MaxPerceptron(_Perceptron):
    """Online Perceptron with the max prediction hinge.

    If max(0, 1 - max_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, eta0 x is added to the weights of the best class in
    the set and subtracted from those of the best class outside it. The bounds of `AvgPerceptron` do not hold.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier).

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 2.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import MaxPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = MaxPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "max"
