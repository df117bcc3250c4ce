"""Pegasos for candidate sets, with the average or the max prediction hinge."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

from oneof.estimators.online._base import OnlineClassifier
from oneof.estimators.parameters import KW_ONLY, Positive, estimator
from oneof.solvers.online import OnlineState, Prediction, pegasos


@estimator
class _Pegasos(OnlineClassifier):
    """Base of both Pegasos classifiers; a subclass defines the candidate score in the hinge.

    Parameters
    ----------
    lam : float, default=1e-4
        Regularization, above 0.
    shrink : {"on_loss", "always"}, default="on_loss"
        Rows on which W <- (1 - 1/t) W is applied. "on_loss": only rows with a loss, as printed in the paper's
        Algorithms 3 and 4. "always": every row, as in its Theorem 3.
    n_epochs : int, default=1
        Number of passes of `fit` over the rows; t is not reset.
    fit_intercept : bool, default=False
        Add a constant feature 1, whose weight is shrunk and projected with the others (not in the paper).
    """

    _prediction: ClassVar[Prediction]

    lam: Positive = 1e-4
    _: KW_ONLY
    shrink: Literal["on_loss", "always"] = "on_loss"

    def _make_solver(self) -> Callable[..., OnlineState]:
        return partial(pegasos, prediction=self._prediction, lam=self.lam, shrink_always=self.shrink == "always")


@estimator
class AvgPegasos(_Pegasos):
    """Online Pegasos with the average prediction hinge.

    Descends along the subgradient of lam/2 ||W||^2 + max(0, 1 - mean_{k in S} w_k.x + max_{k not in S} w_k.x) with step
    1 / (lam t) and projects on ||W|| <= 1 / sqrt(lam), where t is the number of rows processed, also of unlabeled ones.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier). With
    ``shrink="on_loss"`` W shrinks by 1 - m/t, where m is the sum of these differences over the level sets with a loss.

    Notes
    -----
    Theorem 3: mean_t f_t(W_t) - min_W mean_t f_t(W) <= G^2 ln T / (lam T) for T >= 3, with G = sqrt(lam) +
    sqrt(1 + 1/c) R, where f_t is the objective above on row t, c = min |S_t| and R = max ||x_t||. It holds for
    ``shrink="always"``. For the algorithm as printed it fails: with two classes, every x = 1, every S the first class,
    lam = .01 and T = 10^4, the regret is .498 against a bound of .211.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 3.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import AvgPegasos
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = AvgPegasos(lam=0.1, n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "average"


@estimator
class MaxPegasos(_Pegasos):
    """Online Pegasos with the max prediction hinge.

    Descends along the subgradient of lam/2 ||W||^2 + max(0, 1 - max_{k in S} w_k.x + max_{k not in S} w_k.x), which is
    not convex. The bound of `AvgPegasos` does not hold.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier). With
    ``shrink="on_loss"`` W shrinks by 1 - m/t, where m is the sum of these differences over the level sets with a loss.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 4.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import MaxPegasos
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = MaxPegasos(lam=0.1, n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "max"
