"""Learning with local and global consistency."""

from typing import Any, Literal, Self

from oneof.errors import InputError
from oneof.estimators._graph_base import GraphClassifier
from oneof.solvers.diffusion import solve_consistency
from oneof.validation import check_fraction


class LocalGlobalConsistency(GraphClassifier):
    """Labels that spread over a graph of all rows, and lose a part on every step; also called label spreading.

    The rows are linked to their nearest neighbors by weights W. With S = D^-1/2 W D^-1/2 and Y the indicator of the
    labels, 0 in rows without one, F = (1 - alpha) (I - alpha S)^-1 Y is where F <- alpha S F + (1 - alpha) Y rests.
    Each row takes its largest share.

    Parameters
    ----------
    alpha : float, default=0.99
        Share of the neighbors in a sweep, between 0 and 1; the rest is that of a row's own label.
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Weights of the links, or what gives the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`, also for the
        five parameters that follow.
    n_neighbors : int, default=5
        Where there are fewer rows, all are linked.
    radius : float, optional
        Links within this distance, in place of the nearest neighbors.
    bandwidth : "local" or float, default="local"
        Of Gaussian weights.
    symmetrize : {"union", "mutual", "sum"}, default="union"
    algorithm : {"exact", "approximate"}, default="exact"
    max_iter : int, default=10000
        Iterations at most; with rows of several candidates also sweeps.
    tol : float, default=1e-6
        Above 0: what iterations may leave to change in a share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F with rows scaled to sum 1.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the rows of fit: the class of the largest share.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Iterations of conjugate gradients, 1 for a small graph; sweeps, where rows have several candidates.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Warns
    -----
    UserWarning
        If there are parts of the graph without a label: their rows have equal shares.
    ConvergenceWarning
        If the iterations ended by `max_iter`.

    Notes
    -----
    No label is clamped: an exact row may be found to have another. Rows with several candidates have 1/|S| on each in
    Y, and keep to them: in every sweep they lose the mass that lies outside their sets, and what is left is scaled to
    the mass that the row had. Without such rows the solution is the published one.

    One factor for all features changes nothing, unless `radius` or a number for `bandwidth` is given, which are in their
    units, or `affinity` is a function that knows them; factors of their own do.

    For rows other than those of fit, `predict` and `predict_proba` take the mean of the shares of their nearest
    neighbors among the rows of fit, by the weights that the graph would give. A row of fit, given again, is among its
    own neighbors, but predicted is the mean: what the method decides of it is `transduction_`.

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
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.bandwidth = bandwidth
        self.symmetrize = symmetrize
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Link all rows, and label them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used.
        """
        check_fraction("alpha", self.alpha)
        if self.alpha in (0, 1):
            raise InputError(f"`alpha` must be a number between 0 and 1, and neither; got {self.alpha!r}.")
        candidates, graph = self._link(X, y)
        found = solve_consistency(
            graph.affinity, candidates.mask, alpha=self.alpha, tol=self.tol, max_iter=self.max_iter
        )
        return self._keep(X, y, candidates, graph, found)
