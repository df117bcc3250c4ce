"""Learning with local and global consistency."""

from typing import Any

from oneof.errors import InputError
from oneof.estimators.graph._base import GraphClassifier
from oneof.estimators.parameters import KW_ONLY, Fraction, Positive, estimator
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.label_propagation import solve_local_global_consistency
from oneof.typing import Evidence


@estimator
class LocalGlobalConsistency(GraphClassifier):
    """Semi-supervised classifier that spreads labels over a neighbor graph of all rows; also called label spreading.

    The rows are connected to their nearest neighbors by edge weights W. With S = D^-1/2 W D^-1/2 and Y the indicator of
    the labels, 0 in unlabeled rows, F = (1 - alpha) (I - alpha S)^-1 Y is the fixed point of
    F <- alpha S F + (1 - alpha) Y. Each row gets its most probable class.

    Parameters
    ----------
    alpha : float, default=0.99
        Weight of the neighbors in a sweep, between 0 and 1; the rest is the weight of the row's own label.
    max_iter : int, default=10000
        Maximum number of iterations, and of sweeps if rows have several candidates.
    tol : float, default=1e-6
        Above 0: largest remaining change of a probability; for rows with several candidates, the mean over these rows.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F with rows scaled to sum to 1.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for a small graph; sweeps if rows have several candidates.

    Warns
    -----
    UserWarning
        If components of the graph have no label: their rows get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    No label is clamped: an exact row may get another class. Rows with several candidates have 1/|S| on each of them in
    Y, and are constrained to them: in every sweep they lose the mass outside their sets, and the rest is scaled to the
    mass that the row had. With weights w, Y is w / sum w, and the labels of the neighbors are multiplied by w before
    the scaling. Weights below 1e-6 count as 0. Without such rows the solution is the published one. An exact row is not
    constrained, but a row with weights of (1, 1e-5) is, so that it keeps its label more surely.

    A common factor of all features changes nothing, with two exceptions. `radius` and a numeric `bandwidth` are in
    their unit, and an `affinity` function may depend on it. Different factors for single features change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`.

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf (2004), Learning with local and global consistency, NIPS.

    Examples
    --------
    >>> from oneof import LocalGlobalConsistency
    >>> X = [[0.0], [1.0], [2.1], [5.0], [6.1], [7.0]]
    >>> model = LocalGlobalConsistency(n_neighbors=3).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    alpha: Fraction = 0.99
    _: KW_ONLY
    tol: Positive = 1e-6

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.alpha in (0, 1):
            raise InputError(f"`alpha` must be between 0 and 1, excluding both; got {self.alpha!r}.")

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        options: dict[str, Any] = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        return solve_local_global_consistency(affinity, evidence, **options)
