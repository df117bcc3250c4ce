"""Poisson learning on a graph."""

from typing import Any

from oneof.errors import InputError
from oneof.estimators.class_prior import check_class_prior
from oneof.estimators.graph._base import GraphClassifier
from oneof.estimators.parameters import KW_ONLY, Positive, estimator
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.poisson import solve_poisson, solve_poisson_cuts
from oneof.typing import Evidence


@estimator
class PoissonLearning(GraphClassifier):
    """Semi-supervised classifier for very few labels: labels are sources of a Poisson equation on a neighbor graph.

    The rows are connected to their nearest neighbors by edge weights W. With L = D - W, the label vectors y_j of the
    labeled rows j, and their mean y_bar, the scores u of the classes solve

        L u(x_i) = sum_j (y_j - y_bar) delta_ij    with    sum_i d_i u(x_i) = 0.

    Each row gets the class with the largest score, with the sizes of `class_prior`. At one label a class this is far
    better than harmonic functions, which are nearly constant then.

    Parameters
    ----------
    volume_constraint : bool, default=False
        Whether to continue with the scheme of Poisson MBO: up to 20 times, 40 steps of the heat equation with the
        sources of the labels, and a cut of the rows into classes, whose unlabeled rows have the sizes of `class_prior`.
        It is more accurate if the class sizes are known, and less so if they are wrong. It takes about 800 sparse
        products.
    max_iter : int, default=10000
        Maximum number of iterations of conjugate gradients.
    tol : float, default=1e-2
        Above 0: mean remaining change of a score, relative to the mean absolute score.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_classes)
        u.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        u minus its smallest entry in the component of the row, times the weights of the row's candidates (0 outside the
        set of a row with several candidates), scaled to row sums of 1. With
        `volume_constraint`, that of the last cut.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for a small graph; cuts are added.

    Warns
    -----
    UserWarning
        If components of the graph have no label: their rows get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    No label is clamped: an exact row may get another class. The label vector of a row of several candidates is 1/|S| on
    each of them, or its weights scaled to sum to 1, and its label is one of them. Weights below 1e-6 count as 0. Each
    component of the graph has an equation and a y_bar of its own; classes without a label there have probability 0.

    The probabilities are not calibrated: they are nearly equal in rows far from labels. The weight of the sources in
    the scheme of cuts is 1, as in the paper, in the unit of the edge weights.

    A common factor of all features changes nothing, with two exceptions. `radius` and a numeric `bandwidth` are in
    their unit, and an `affinity` function may depend on it. Different factors for single features change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`.

    References
    ----------
    Calder, Cook, Thorpe & Slepčev (2020), Poisson learning: graph based semi-supervised learning at very low label
    rates, ICML: algorithms 1 and 2.

    Examples
    --------
    >>> from oneof import PoissonLearning
    >>> X = [[0.0], [1.0], [2.1], [5.0], [6.1], [7.0]]
    >>> model = PoissonLearning(n_neighbors=3).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.4], [6.6]]).tolist()
    ['a', 'b']
    """

    volume_constraint: bool = False
    _: KW_ONLY
    tol: Positive = 1e-2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.volume_constraint and self.class_prior is None:
            raise InputError('`class_prior` must not be None with volume_constraint=True. Pass "labels" if unknown.')

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.volume_constraint:
            prior = check_class_prior(self.class_prior, evidence.shape[1])
            solution = solve_poisson_cuts(affinity, evidence, prior, **options)
        else:
            solution = solve_poisson(affinity, evidence, **options)
        self.scores_ = solution.scores
        return solution
