"""Base of the methods that diffuse labels over a graph of all rows.

Read next the estimator itself, its solver in `oneof.solvers.diffusion` or `oneof.solvers.transducer`, and
`oneof.graphs.builder`.
"""

from typing import Any, Protocol, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.class_prior import check_class_prior
from oneof.graphs import Graph, NeighborGraph
from oneof.likelihoods import normalize_within_sets, support
from oneof.messages import warn
from oneof.solvers.class_sizes import ClassPrior, balance_classes
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import FeatureMatrix, Floats, Ints, Labels
from oneof.validation import check_positive


class DiffusionResult(Protocol):
    """Common fields of the solutions of the graph solvers."""

    @property
    def distributions(self) -> Floats:
        """Class distributions of the rows, (n, K)."""

    @property
    def n_iter(self) -> int:
        """Number of iterations."""

    @property
    def converged(self) -> bool:
        """True if the iterations converged."""

    @property
    def unreachable(self) -> Ints:
        """Row numbers that no label reaches."""


class GraphClassifier(CandidateClassifier):
    """Mixin of the methods that label the rows of fit along a graph: builds the graph, and predicts new rows.

    A subclass has the fields of `NeighborGraph` among its parameters, and `class_prior`, `max_iter` and `tol`.
    """

    affinity: Any
    n_neighbors: int
    radius: float | None
    bandwidth: Any
    symmetrize: Any
    algorithm: Any
    class_prior: Any
    max_iter: int
    label_distributions_: Floats
    transduction_: Labels
    tol: float
    _uses_gram_matrix = True  # distances of all pairs

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean distribution of the neighbors of each row among the rows of fit, by the edge weights.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; a row without neighbors has a uniform distribution.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        return self._finite_scores(self._validate_rows(X))

    def _build_graph(self, X: Any, y: Any) -> tuple[CandidateSets, Graph, ClassPrior]:
        """Validate the common parameters, X and y, and build the graph of the rows of fit."""
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        builder = NeighborGraph(
            self.affinity, self.n_neighbors, self.radius, self.bandwidth, self.symmetrize, self.algorithm
        )
        rows, candidates = self._validate_fit(X, y)
        return candidates, builder.graph(rows), check_class_prior(self.class_prior, len(candidates.classes))

    def _set_fitted_attributes(
        self,
        X: Any,
        y: Any,
        candidates: CandidateSets,
        graph: Graph,
        solution: DiffusionResult,
        prior: ClassPrior,
        *,
        class_mass: bool = False,
    ) -> Self:
        """Store the solution, and the labels of the rows with the class sizes of the prior."""
        if len(solution.unreachable):
            warn(
                f"{type(self).__name__}: {len(solution.unreachable)} of {len(candidates)} rows are in components of "
                "the graph without a label, or too far from any, and have uniform distributions. Connect more rows, "
                "for example by a larger n_neighbors.",
            )
        if not solution.converged:
            warn(
                f"{type(self).__name__} did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        self.label_distributions_ = solution.distributions
        self._final_distributions = balance_classes(
            solution.distributions,
            candidates.evidence,
            solution.unreachable,
            prior,
            class_mass=class_mass,
            tol=self.tol,
        )
        self.transduction_ = candidates.classes[self._final_distributions.argmax(axis=1)]
        self.affinity_ = graph.affinity
        self.n_iter_ = max(solution.n_iter, 1)
        self._graph = graph
        return self._finalize_fit(X, y, candidates)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        mass = np.asarray(self._graph.transform(rows) @ self._final_distributions)
        return normalize_within_sets(mass, np.ones(mass.shape, dtype=bool))

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Return the fitted distributions for the rows of fit, and the mean of the neighbors for others."""
        if training:  # the distributions already contain the weights, but exact rows are not restricted to their label
            return normalize_within_sets(self._final_distributions, support(without_small_weights(candidates.evidence)))
        return normalize_within_sets(self._finite_scores(rows), candidates.evidence)
