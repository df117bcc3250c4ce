"""Base of the methods that diffuse labels over a graph of all rows.

Read next the estimator itself, its solver in `oneof.solvers.diffusion` or `oneof.solvers.transducer`, and
`oneof.graphs.builder`.
"""

from typing import Any, Literal

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import ProbabilityMixin, TrainingRows
from oneof.estimators.class_prior import check_class_prior
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.graphs import NeighborGraph
from oneof.likelihoods import normalize_within_sets, support
from oneof.messages import warn
from oneof.solvers.class_sizes import balance_classes
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.small_weights import without_small_weights
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
