"""Harmonic functions on a graph."""

from typing import Any

from oneof.estimators.graph._base import GraphClassifier
from oneof.estimators.parameters import KW_ONLY, NonNegative, Positive, estimator
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.label_propagation import solve_harmonic
from oneof.typing import Evidence


@estimator
class HarmonicField(GraphClassifier):
    """Semi-supervised classifier by harmonic functions on a neighbor graph of all rows.

    The rows are connected to their nearest neighbors by edge weights W. With L = D - W, the class distributions F
    minimize sum_k f_k^T L f_k subject to the exact labels, so that every other row has the weighted mean of its
    neighbors: F_U = L_UU^-1 W_UL Y_L. This is the probability that a random walk from the row first reaches a label of
    the class. With class mass normalization, each row gets the class k with the largest q_k f_ik / sum_j f_jk. The sum
    is over the unlabeled rows, and q_k is the proportion of the class in all other rows, with each class counted once
    more.

    Parameters
    ----------
    label_penalty : float, optional
        c > 0: instead of clamping the labels, add c sum_{i exact} (f_ik - y_ik)^2 to the objective. It has the unit
        of the edge weights; for Gaussian weights an edge of length 0 has weight 1.
    ridge : float, default=0.0
        At least 0: add ridge ||f_k||^2 to the objective, and scale rows to sum to 1 afterwards. Labels then have a
        shorter reach.
    class_mass : bool, default=True
        Whether to apply class mass normalization, with the proportions of `class_prior` as q_k if it has some. With
        many labels of classes of very different sizes it may increase the error. With ``class_prior=None`` it is the
        published method, and without both, nearly all rows may get the same class if labels are few.
    max_iter : int, default=10000
        Maximum number of iterations, and of sweeps if rows have several candidates.
    tol : float, default=1e-5
        Above 0: largest remaining change of a probability; for rows with several candidates, the mean over these rows.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F, before class mass normalization and the constraint of the class sizes; rows sum to 1.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class after both.
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
    Class mass normalization and class sizes change only unlabeled rows. In exact rows the mass of a class is their
    number, in rows with several candidates the sum of their resulting probabilities.

    Rows with several candidates are constrained to them: in every sweep F <- D^-1 W F they lose the mass outside their
    sets, and the rest is scaled to sum to 1. With weights of the candidates, the mean of the neighbors is multiplied by
    them and scaled. Weights below 1e-6 count as 0. Exact rows are clamped, and unlabeled rows are free. Without rows of
    several candidates the solution is the published one. It is computed by conjugate gradients instead of sweeps, which
    need thousands of iterations if labels are few.

    A common factor of all features changes nothing, with two exceptions. `radius` and a numeric `bandwidth` are in
    their unit, and an `affinity` function may depend on it. Different factors for single features change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit, after the classes are scaled. The mean is weighted by the edge weights of the graph. A row of fit that is
    passed again is its own neighbor, but still gets the mean: its own label is in `transduction_`.

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic functions, ICML:
    equations 5 and 9.

    Examples
    --------
    >>> from oneof import HarmonicField
    >>> X = [[0.0], [1.0], [2.1], [5.0], [6.1], [7.0]]
    >>> model = HarmonicField(n_neighbors=3).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.4], [6.6]]).tolist()
    ['a', 'b']
    """

    label_penalty: Positive | None = None
    ridge: NonNegative = 0.0
    class_mass: bool = True
    _: KW_ONLY

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        options: dict[str, Any] = {"label_penalty": self.label_penalty, "ridge": self.ridge, "tol": self.tol}
        return solve_harmonic(affinity, evidence, **options, max_iter=self.max_iter)
