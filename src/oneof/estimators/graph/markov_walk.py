"""Markov random walks between labels."""

from typing import Any, Literal, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.graph._base import GraphClassifier
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.diffusion import solve_markov_walk
from oneof.solvers.diffusion.markov_walk import restriction_weights
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_positive


class MarkovWalk(GraphClassifier):
    """Semi-supervised classifier by random walks on a neighbor graph that take the label of their start node.

    The rows are connected to their nearest neighbors by edge weights W. A walk takes t steps of P = D^-1 (W + I), with
    D the row sums of W + I, from a uniformly distributed start. If it ends at x, it started at i with probability
    P_0|t(i | x) = [P^t]_ix / sum_j [P^t]_jx. The start nodes have distributions theta over the classes, and p(k | x) =
    sum_i theta_ik P_0|t(i | x). EM maximizes sum_x log sum_{k in S_x} p(k | x) over theta, with the sum over the
    labeled rows x. If the candidates of row x have weights w_xk, its term is log sum_k w_xk p(k | x). On exact labels
    this is the published likelihood. Each row gets its most probable class.

    Parameters
    ----------
    n_steps : int, default=8
        t, at least 1. Labels have a reach of 2 t edges. As t increases, the distributions of all rows become alike. The
        paper chooses it by cross-validation or by margins.
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
    max_iter : int, default=1000
        Maximum number of EM iterations.
    tol : float, default=1e-6
        Above 0: EM stops when an iteration increases the mean log likelihood of the labeled rows by no more.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        p(k | x), restricted to the set, or multiplied by the weights, and scaled to sum to 1 in rows with several
        candidates.
    start_label_posteriors_ : ndarray of shape (n_samples, n_classes)
        theta; uniform if no walk leads to a labeled row.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class, with the sizes of `class_prior`.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Number of EM iterations.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    Warns
    -----
    UserWarning
        If rows are farther from labels than walks reach, for example in components of the graph without a label: they
        get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    No label is clamped: an exact row may get another class, and so may a row with only one weight above .001. The
    weight 1 with which a walk stays at a node is the weight of an edge of length 0, as in the paper. Consider this if
    the affinity has another scale.

    A common factor of all features changes nothing, with two exceptions. `radius` and a numeric `bandwidth` are in
    their unit, and an `affinity` function may depend on it. Different factors for single features change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`.

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
        class_prior: Any = "labels",
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
        check_positive("n_steps", self.n_steps, integer=True)
        candidates, graph, prior = self._build_graph(X, y)
        n_steps = int(self.n_steps)  # products of NumPy's small integers overflow
        solution = solve_markov_walk(
            graph.affinity, candidates.evidence, n_steps=n_steps, tol=self.tol, max_iter=self.max_iter
        )
        self.start_label_posteriors_ = solution.start_posteriors
        return self._set_fitted_attributes(X, y, candidates, graph, solution, prior)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        if not training:
            return super()._candidate_proba(rows, candidates, training=False)
        evidence = candidates.evidence
        contained = restriction_weights(evidence)  # in the fitted distributions; not all of the evidence in exact rows
        missing = np.divide(evidence, contained, out=np.zeros(contained.shape), where=contained > 0)
        return normalize_within_sets(self._final_distributions, missing)
