"""Harmonic functions on a graph."""

from typing import Any, Literal, Self

from oneof.estimators.graph._base import GraphClassifier
from oneof.solvers.diffusion import solve_harmonic
from oneof.validation import check_bool, check_positive


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
    tol : float, default=1e-5
        Above 0: largest remaining change of a probability; for rows with several candidates, the mean over these rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F, before class mass normalization and the constraint of the class sizes; rows sum to 1.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class after both.
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

    def __init__(
        self,
        label_penalty: float | None = None,
        ridge: float = 0.0,
        class_mass: bool = True,
        *,
        class_prior: Any = "labels",
        affinity: Any = "gaussian",
        n_neighbors: int = 5,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["union", "mutual", "sum"] = "union",
        algorithm: Literal["exact", "approximate"] = "exact",
        max_iter: int = 10000,
        tol: float = 1e-5,
    ) -> None:
        self.label_penalty = label_penalty
        self.ridge = ridge
        self.class_mass = class_mass
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
        if self.label_penalty is not None:
            check_positive("label_penalty", self.label_penalty)
        check_positive("ridge", self.ridge, allow_zero=True)
        check_bool("class_mass", self.class_mass)
        candidates, graph, prior = self._build_graph(X, y)
        solution = solve_harmonic(
            graph.affinity,
            candidates.evidence,
            label_penalty=self.label_penalty,
            ridge=self.ridge,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return self._set_fitted_attributes(X, y, candidates, graph, solution, prior, class_mass=bool(self.class_mass))
