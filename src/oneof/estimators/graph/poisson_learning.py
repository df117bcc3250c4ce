"""Poisson learning on a graph."""

from typing import Any, Literal, Self

from oneof.errors import InputError
from oneof.estimators.graph._base import GraphClassifier
from oneof.solvers.diffusion import solve_poisson, solve_poisson_cuts
from oneof.validation import check_bool


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
    class_prior : {"labels", "uniform"}, array-like of shape (n_classes,) or None, default="labels"
        Class sizes among the unlabeled rows, by which the classes are scaled in these rows. An array has known sizes or
        proportions in the order of ``classes_``; "uniform" are equal ones. If they are wrong by a fraction of the rows,
        at least that fraction of the labels is wrong. "labels": the proportions in the labeled rows, each within an
        interval of one standard deviation (wider for many classes), which changes the labels no more than it must.
        It assumes that the labeled rows are a random sample. None: sizes are not constrained.
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Edge weights, or the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`, also for the next five
        parameters.
    n_neighbors : int, default=5
        Number of nearest neighbors of each row. If there are fewer rows, all are connected.
    radius : float, optional
        Connect all rows within this distance instead of the nearest neighbors.
    bandwidth : "local" or float, default="local"
        Bandwidth of Gaussian weights.
    symmetrize : {"union", "mutual", "sum"}, default="union"
        "union": rows are connected if either is a neighbor of the other. "mutual": only if each is. "sum": an edge has
        the sum of the weights in both directions.
    algorithm : {"exact", "approximate"}, default="exact"
        Neighbor search.
    max_iter : int, default=10000
        Maximum number of iterations of conjugate gradients.
    tol : float, default=1e-2
        Above 0: mean remaining change of a score, relative to the mean absolute score.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    scores_ : ndarray of shape (n_samples, n_classes)
        u.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        u minus its smallest entry in the component of the row, times the weights of the row's candidates (0 outside the
        set of a row with several candidates), scaled to row sums of 1. With
        `volume_constraint`, that of the last cut.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class, with the sizes of `class_prior`.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for a small graph; cuts are added.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

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

    def __init__(
        self,
        volume_constraint: bool = False,
        *,
        class_prior: Any = "labels",
        affinity: Any = "gaussian",
        n_neighbors: int = 5,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["union", "mutual", "sum"] = "union",
        algorithm: Literal["exact", "approximate"] = "exact",
        max_iter: int = 10000,
        tol: float = 1e-2,
    ) -> None:
        self.volume_constraint = volume_constraint
        self.class_prior = class_prior
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.bandwidth = bandwidth
        self.symmetrize = symmetrize
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Build the graph of all rows and label them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter is invalid.
        """
        check_bool("volume_constraint", self.volume_constraint)
        if self.volume_constraint and self.class_prior is None:
            raise InputError('`class_prior` must not be None with volume_constraint=True. Pass "labels" if unknown.')
        candidates, graph, prior = self._build_graph(X, y)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.volume_constraint and prior is not None:
            solution = solve_poisson_cuts(graph.affinity, candidates.evidence, prior, **options)
            prior = None  # the cuts have the sizes
        else:
            solution = solve_poisson(graph.affinity, candidates.evidence, **options)
        self.scores_ = solution.scores
        return self._set_fitted_attributes(X, y, candidates, graph, solution, prior)
