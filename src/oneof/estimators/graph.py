"""Semi-supervised classifiers that diffuse the labels over a graph of all rows.

Reading order: `GraphClassifier` (the graph by `oneof.graphs.builder`, its weights, prediction of new rows), then one of
`HarmonicField`, `LocalGlobalConsistency`, `PoissonLearning`, `MarkovWalk` (with `oneof.solvers.diffusion`) and
`SpectralGraphTransducer` (with `oneof.solvers.transducer`).
"""

from typing import Any, Literal

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import ProbabilityMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, Fraction, NonNegative, Positive, check_class_prior, estimator
from oneof.graphs import NeighborGraph
from oneof.likelihoods import normalize_within_sets, support
from oneof.messages import warn
from oneof.solvers.class_sizes import balance_classes
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.markov_walk import restriction_weights, solve_markov_walk
from oneof.solvers.diffusion.poisson import solve_poisson, solve_poisson_cuts
from oneof.solvers.small_weights import without_small_weights
from oneof.solvers.transducer import solve_transduction
from oneof.typing import Evidence, FeatureMatrix, Floats, Labels


@estimator
class GraphClassifier(ProbabilityMixin):
    """Base class of the methods that label the rows of fit along a graph; a subclass defines `_solve`.

    Parameters
    ----------
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

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable class, with the sizes of `class_prior`.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    """

    _uses_gram_matrix = True  # distances of all pairs
    class_mass = False

    _: KW_ONLY
    class_prior: Any = "labels"
    affinity: Any = "gaussian"
    n_neighbors: int = 5
    radius: float | None = None
    bandwidth: float | Literal["local"] = "local"
    symmetrize: Literal["union", "mutual", "sum"] = "union"
    algorithm: Literal["exact", "approximate"] = "exact"
    max_iter: Count = 10_000
    tol: Positive = 1e-5

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        """Return the class distributions of the rows."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._neighbor_graph()

    def _neighbor_graph(self) -> NeighborGraph:
        return NeighborGraph(
            self.affinity, self.n_neighbors, self.radius, self.bandwidth, self.symmetrize, self.algorithm
        )

    def _fit(self, training: TrainingRows) -> None:
        candidates = training.candidates
        self._graph = self._neighbor_graph().graph(training.X)
        prior = check_class_prior(self.class_prior, len(candidates.classes))
        solution = self._solve(self._graph.affinity, candidates.evidence)
        if len(solution.unreachable):
            warn(
                f"{type(self).__name__}: {len(solution.unreachable)} of {len(candidates)} rows are in components of "
                "the graph without a label, or too far from any, and have uniform distributions. Connect more rows, "
                "for example by a larger n_neighbors.",
            )
        self._warn_unless(solution.converged, solution.n_iter)
        self.label_distributions_ = solution.distributions
        self._final_distributions = balance_classes(
            solution.distributions,
            candidates.evidence,
            solution.unreachable,
            None if solution.has_sizes else prior,
            class_mass=bool(self.class_mass),
            tol=self.tol,
        )
        self.transduction_: Labels = candidates.classes[self._final_distributions.argmax(axis=1)]
        self.affinity_ = self._graph.affinity
        self.n_iter_ = max(solution.n_iter, 1)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        """Return the mean distributions of the neighbors among the rows of fit, uniform without neighbors."""
        mass = np.asarray(self._graph.transform(rows) @ self._final_distributions)
        return normalize_within_sets(mass, np.ones(mass.shape, dtype=bool))

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        """Return the final distributions, which contain the weights, but do not restrict exact rows to their label."""
        del rows
        return normalize_within_sets(self._final_distributions, support(without_small_weights(candidates.evidence)))


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


@estimator
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
    max_iter : int, default=1000
        Maximum number of EM iterations.
    tol : float, default=1e-6
        Above 0: EM stops when an iteration increases the mean log likelihood of the labeled rows by no more.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        p(k | x), restricted to the set, or multiplied by the weights, and scaled to sum to 1 in rows with several
        candidates.
    start_label_posteriors_ : ndarray of shape (n_samples, n_classes)
        theta; uniform if no walk leads to a labeled row.
    n_iter_ : int
        Number of EM iterations.

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

    n_steps: Count = 8
    _: KW_ONLY
    max_iter: Count = 1000
    tol: Positive = 1e-6

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        n_steps = int(self.n_steps)  # products of NumPy's small integers overflow
        solution = solve_markov_walk(affinity, evidence, n_steps=n_steps, tol=self.tol, max_iter=self.max_iter)
        self.start_label_posteriors_ = solution.start_posteriors
        return solution

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        del rows
        evidence = candidates.evidence
        contained = restriction_weights(evidence)  # in the fitted distributions; not all of the evidence in exact rows
        missing = np.divide(evidence, contained, out=np.zeros(contained.shape), where=contained > 0)
        return normalize_within_sets(self._final_distributions, missing)


@estimator
class SpectralGraphTransducer(GraphClassifier):
    """Semi-supervised classifier by cuts of a neighbor graph of all rows along few and weak edges.

    The rows are connected to their nearest neighbors. With V the eigenvectors 2, ..., d + 1 of the graph Laplacian
    I - D^-1/2 W D^-1/2, the smoothest except the constant one, a class has the scores z = V w that minimize

        sum_j (rank_j w_j)^2 + C (z - gamma)^T Gamma (z - gamma)   over  ||z||^2 = n.

    In the l_+ rows labeled as the class, gamma_i is gamma_+ = sqrt(l_- / l_+) and Gamma_ii = l / (2 l_+). In the l_-
    rows labeled otherwise, gamma_i is gamma_- = -sqrt(l_+ / l_-) and Gamma_ii = l / (2 l_-). Elsewhere Gamma_ii is 0.
    The rank of the j-th eigenvector is j, unless several have one eigenvalue (see the notes). The threshold is halfway
    between the two targets. With more than two classes, each row gets the class with the largest relative score
    (z - gamma_-) / (gamma_+ - gamma_-). Every problem is solved exactly.

    Parameters
    ----------
    n_eigenvectors : int, default=80
        d, at least 1; a graph of n rows has at most n - 1. The eigenvectors that separate unconnected components of the
        graph are used even if they are more. Memory is proportional to n d; from a third of n on, to n^2.
    C : float, default=3200
        Above 0; the larger, the closer the scores are to their targets in labeled rows.
    class_prior : {"labels", "uniform"}, array-like of shape (n_classes,) or None, default="labels"
        Class sizes among the unlabeled rows, by which the thresholds of these rows are moved. An array has known sizes
        or proportions in the order of ``classes_``; "uniform" are equal ones. If they are wrong by a fraction of the
        rows, at least that fraction of the labels is wrong. "labels": the proportions in the labeled rows, each within
        an interval of one standard deviation (wider for many classes), which changes the labels no more than it must.
        It assumes that the labeled rows are a random sample. None: the thresholds of the paper.
    affinity : {"cosine", "gaussian", "binary"}, callable, array or sparse matrix, default="cosine"
        Edge weights, or the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`.
    n_neighbors : int, default=100
        Number of nearest neighbors of each row. If there are fewer rows, all are connected. A small number is better
        if classes lie along thin surfaces, and much worse if they are overlapping clusters.
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        As published, edges between mutual neighbors have twice the weight.
    max_iter : int, default=100
        Maximum number of iterations if rows have several candidates; without such rows there is one.
    tol : float, default=0.01
        Above 0: largest remaining change of the distributions of rows with several candidates, estimated from the rate
        at which the changes shrink.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Distributions of the rows of fit, 0 outside their sets: those nearest to the relative scores
        (z - gamma_-) / (gamma_+ - gamma_-) of the classes, by the weights of the row if it has any.
    n_iter_ : int
        Number of iterations.

    Warns
    -----
    UserWarning
        If components of the graph have no label: their rows get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    Eigenvectors with the same eigenvalue, such as those with eigenvalue 0 in a graph of several components, all have
    the lowest of their ranks. The published ranks increase. Any rotation of such vectors is an equivalent basis of
    their space. With separate ranks, the result would depend on the computed basis.

    A row of several candidates counts for each candidate class as q of a row of the class and 1 - q of a row of another
    class. The initial q is 1/|S|; later it is the resulting probability. For a class outside the set, it counts as a
    row of another class. In a row with weights v of the classes, the initial q is v / sum v, and the resulting
    probability of class k is v_k max(s_k - tau, 0), with s the relative scores and the tau for which the sum is 1.
    Weights below 1e-6 count as 0.

    A common factor of all features changes nothing, with two exceptions. `radius` (except for cosines) and a numeric
    `bandwidth` are in their unit, and an `affinity` function may depend on it. Different factors for single features
    change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`. The probabilities are not calibrated.

    Cosine similarities depend on the origin: features without a natural zero should be standardized first.

    References
    ----------
    Joachims (2003), Transductive learning via spectral graph partitioning, ICML. The solver: Gander, Golub & von
    Matt (1989), A constrained eigenvalue problem, Linear Algebra and its Applications 114.

    Examples
    --------
    >>> from oneof import SpectralGraphTransducer
    >>> X = [[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.3, 1.0], [0.2, 1.0], [0.1, 1.0]]
    >>> model = SpectralGraphTransducer(n_neighbors=2).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[2.0, 0.1], [0.1, 2.0]]).tolist()
    ['a', 'b']
    """

    n_eigenvectors: Count = 80
    C: Positive = 3200.0
    _: KW_ONLY
    affinity: Any = "cosine"
    n_neighbors: int = 100
    symmetrize: Literal["union", "mutual", "sum"] = "sum"
    max_iter: Count = 100
    tol: Positive = 0.01

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        prior = check_class_prior(self.class_prior, evidence.shape[1])
        options: dict[str, Any] = {"prior": prior, "max_iter": self.max_iter, "tol": self.tol}
        return solve_transduction(affinity, evidence, n_eigenvectors=self.n_eigenvectors, C=self.C, **options)
