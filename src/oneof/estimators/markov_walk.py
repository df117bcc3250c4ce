"""Markov random walks between labels."""

from typing import Any, Literal, Self

from oneof.estimators._graph_base import GraphClassifier
from oneof.solvers.diffusion import solve_walk
from oneof.validation import check_positive


class MarkovWalk(GraphClassifier):
    """Classes of the start nodes of random walks that explain the labels where the walks end.

    The rows are linked to their nearest neighbors by weights W. A walk takes t steps of P = D^-1 (W + I), D the row
    sums of W + I, from a start that is as likely any row as any other: found at x, it started at i with probability
    P_0|t(i | x) = [P^t]_ix / sum_j [P^t]_jx. The start nodes have distributions theta over the classes, and p(k | x) =
    sum_i theta_ik P_0|t(i | x). EM finds the theta that maximizes sum_x log sum_{k in S_x} p(k | x) over the labeled
    rows x, which on exact labels is the published likelihood. Each row takes its most probable class.

    Parameters
    ----------
    n_steps : int, default=8
        t, at least 1: how far labels are felt, 2 t links at most. As t grows all rows become alike. The paper chooses
        it by cross-validation or by margins.
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
    max_iter : int, default=1000
        Iterations of EM at most.
    tol : float, default=1e-6
        Above 0: EM ends where an iteration raises the mean log likelihood of the labeled rows by no more.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        p(k | x), cut to the set and scaled to sum 1 in rows with several candidates.
    start_label_posteriors_ : ndarray of shape (n_samples, n_classes)
        theta; equal shares where no walk leads to a labeled row.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the rows of fit: the class of the largest share.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Iterations of EM.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Warns
    -----
    UserWarning
        If rows lie further from labels than walks reach, as in parts of the graph without any: they have equal shares.
    ConvergenceWarning
        If the iterations ended by `max_iter`.

    Notes
    -----
    No label is clamped: an exact row may be found to have another. The weight 1 with which a walk stays where it is is
    that of a link of no length, as in the paper; mind it where an affinity of another scale is given.

    One factor for all features changes nothing, unless `radius` or a number for `bandwidth` is given, which are in their
    units, or `affinity` is a function that knows them; factors of their own do.

    For rows other than those of fit, `predict` and `predict_proba` take the mean of the shares of their nearest
    neighbors among the rows of fit, by the weights that the graph would give. A row of fit, given again, is among its
    own neighbors, but predicted is the mean: what the method decides of it is `transduction_`.

    References
    ----------
    Szummer & Jaakkola (2002), Partially labeled classification with Markov random walks, NIPS.

    Examples
    --------
    >>> from oneof import MarkovWalk
    >>> X = [[0.0], [1.0], [2.1], [5.0], [6.1], [7.0]]
    >>> model = MarkovWalk(n_steps=3, n_neighbors=3).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    def __init__(
        self,
        n_steps: int = 8,
        *,
        affinity: Any = "gaussian",
        n_neighbors: int = 5,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["union", "mutual", "sum"] = "union",
        algorithm: Literal["exact", "approximate"] = "exact",
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.n_steps = n_steps
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
        check_positive("n_steps", self.n_steps, integer=True)
        candidates, graph = self._link(X, y)
        n_steps = int(self.n_steps)  # products of NumPy's small integers overflow
        found = solve_walk(graph.affinity, candidates.mask, n_steps=n_steps, tol=self.tol, max_iter=self.max_iter)
        self.start_label_posteriors_ = found.start_posteriors
        return self._keep(X, y, candidates, graph, found)
