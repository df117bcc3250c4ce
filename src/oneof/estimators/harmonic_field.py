"""Harmonic functions on a graph."""

from typing import Any, Literal, Self

from oneof.estimators._graph_base import GraphClassifier
from oneof.solvers.diffusion import balance_mass, solve_harmonic
from oneof.validation import check_bool, check_positive


class HarmonicField(GraphClassifier):
    """Labels that change least along the links of a graph of all rows, labeled and not.

    The rows are linked to their nearest neighbors by weights W. With L = D - W, the shares F of the classes minimize
    sum_k f_k^T L f_k subject to the exact labels, so that every other row has the weighted mean of its neighbors'
    shares: F_U = L_UU^-1 W_UL Y_L, the probability that a random walk from there first meets a label of the class. Each
    row takes the class k that is largest in q_k f_ik / sum_j f_jk, by class mass: the sum is over rows of which nothing
    is known, and q_k the part of the class in the others, each class counted once more.

    Parameters
    ----------
    label_penalty : float, optional
        c > 0: labels are then not clamped, but what is minimized has c sum_{i exact} (f_ik - y_ik)^2 besides. In the
        unit of the weights; for Gaussian weights a link of no length has 1.
    ridge : float, default=0.0
        At least 0: what is minimized has ridge ||f_k||^2 besides, and rows are scaled to sum 1 afterwards. Labels then
        reach less far.
    class_mass : bool, default=True
        Whether classes are scaled as said above. Without it, a row takes its largest share, and where labels are few
        one class may take nearly all rows. With many labels of classes of very different sizes it may cost more than
        it brings.
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
        F, before class mass; rows sum to 1.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the rows of fit: the class of the largest share after class mass.
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
    Class mass leaves rows alone of which anything is known; in exact rows the mass of a class is their number, in rows
    with several candidates the sum of the shares that they were found to have.

    Rows with several candidates keep to them: in every sweep F <- D^-1 W F they lose the mass that lies outside their
    sets, and what is left is scaled to sum 1. Exact rows are clamped, rows of full sets are free; without rows of
    several candidates the solution is the published one. It is found by conjugate gradients and not by sweeps, which
    need thousands where labels are few.

    One factor for all features changes nothing, unless `radius` or a number for `bandwidth` is given, which are in their
    units, or `affinity` is a function that knows them; factors of their own do.

    For rows other than those of fit, `predict` and `predict_proba` take the mean of the shares of their nearest
    neighbors among the rows of fit, after class mass, by the weights that the graph would give. A row of fit, given
    again, is among its own neighbors, but predicted is the mean: what the method decides of it is `transduction_`.

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

    def __init__(
        self,
        label_penalty: float | None = None,
        ridge: float = 0.0,
        class_mass: bool = True,
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
        self.label_penalty = label_penalty
        self.ridge = ridge
        self.class_mass = class_mass
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
        if self.label_penalty is not None:
            check_positive("label_penalty", self.label_penalty)
        check_positive("ridge", self.ridge, allow_zero=True)
        check_bool("class_mass", self.class_mass)
        candidates, graph = self._link(X, y)
        found = solve_harmonic(
            graph.affinity,
            candidates.mask,
            label_penalty=self.label_penalty,
            ridge=self.ridge,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        decided = None
        if self.class_mass:
            decided = balance_mass(found.distributions, candidates.mask, found.unreached, tol=self.tol)
        return self._keep(X, y, candidates, graph, found, decided)
