"""Learning with local and global consistency."""

from typing import Any, Literal, Self

from oneof.errors import InputError
from oneof.estimators.graph._base import GraphClassifier
from oneof.solvers.diffusion import solve_local_global_consistency
from oneof.validation import check_fraction


class LocalGlobalConsistency(GraphClassifier):
    """Semi-supervised classifier that spreads labels over a neighbor graph of all rows; also called label spreading.

    The rows are connected to their nearest neighbors by edge weights W. With S = D^-1/2 W D^-1/2 and Y the indicator of
    the labels, 0 in unlabeled rows, F = (1 - alpha) (I - alpha S)^-1 Y is the fixed point of
    F <- alpha S F + (1 - alpha) Y. Each row gets its most probable class.

    Parameters
    ----------
    alpha : float, default=0.99
        Weight of the neighbors in a sweep, between 0 and 1; the rest is the weight of the row's own label.
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
        Maximum number of iterations, and of sweeps if rows have several candidates.
    tol : float, default=1e-6
        Above 0: largest remaining change of a probability; for rows with several candidates, the mean over these rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F with rows scaled to sum to 1.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class, with the sizes of `class_prior`.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for a small graph; sweeps if rows have several candidates.
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

    def __init__(
        self,
        alpha: float = 0.99,
        *,
        class_prior: Any = "labels",
        affinity: Any = "gaussian",
        n_neighbors: int = 5,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["union", "mutual", "sum"] = "union",
        algorithm: Literal["exact", "approximate"] = "exact",
        max_iter: int = 10000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
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
        check_fraction("alpha", self.alpha)
        if self.alpha in (0, 1):
            raise InputError(f"`alpha` must be between 0 and 1, excluding both; got {self.alpha!r}.")
        candidates, graph, prior = self._build_graph(X, y)
        solution = solve_local_global_consistency(
            graph.affinity, candidates.evidence, alpha=self.alpha, tol=self.tol, max_iter=self.max_iter
        )
        return self._set_fitted_attributes(X, y, candidates, graph, solution, prior)
