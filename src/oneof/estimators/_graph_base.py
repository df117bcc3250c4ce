"""What the methods share in which labels diffuse over a graph of the rows."""

import warnings
from typing import Any, Protocol, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier
from oneof.graphs import Graph, NeighborGraph
from oneof.likelihoods import normalize_within_sets
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_positive


class Diffusion(Protocol):
    """What the solvers of `oneof.solvers.diffusion` return."""

    @property
    def distributions(self) -> Floats:
        """Shares of the classes, (n, K)."""

    @property
    def n_iter(self) -> int:
        """Iterations."""

    @property
    def converged(self) -> bool:
        """Whether they came to an end."""

    @property
    def unreached(self) -> Ints:
        """Rows that no label reaches."""


class GraphClassifier(CandidateClassifier):
    """Mixin of the methods that label the rows of fit along a graph: how to link, to keep, and to predict other rows.

    A subclass has the fields of `NeighborGraph` among its parameters, and `max_iter` and `tol`.
    """

    affinity: Any
    n_neighbors: int
    radius: float | None
    bandwidth: Any
    symmetrize: Any
    algorithm: Any
    max_iter: int
    tol: float

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean shares of each row's neighbors among the rows of fit, by the weights the graph would give.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; equal shares where a row has no neighbor.
        """
        return self._finite_scores(self._validate_rows(X))

    def _link(self, X: Any, y: Any) -> tuple[CandidateSets, Graph]:
        """Check what the methods share, before anything is learned, and link the rows of fit."""
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        rule = NeighborGraph(
            self.affinity, self.n_neighbors, self.radius, self.bandwidth, self.symmetrize, self.algorithm
        )
        rows, candidates = self._validate_fit(X, y)
        return candidates, rule.graph(rows)

    def _keep(
        self, X: Any, y: Any, candidates: CandidateSets, graph: Graph, found: Diffusion, decided: Floats | None = None
    ) -> Self:
        """Set what fit found; `decided` are the shares after class mass, where there is any."""
        if len(found.unreached):
            warnings.warn(
                f"{type(self).__name__}: {len(found.unreached)} of {len(candidates)} rows lie in parts of the graph "
                "without a label, or too far from any, and have equal shares of all classes: link more rows, for "
                "example by a larger n_neighbors.",
                UserWarning,
                stacklevel=3,
            )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__}: shares still moved after {found.n_iter} iterations: raise max_iter, or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.label_distributions_ = found.distributions
        self._decided = found.distributions if decided is None else decided
        self.transduction_ = candidates.classes[self._decided.argmax(axis=1)]
        self.affinity_ = graph.affinity
        self.n_iter_ = max(found.n_iter, 1)
        self._graph = graph
        return self._finalize_fit(X, y, candidates)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        mass = np.asarray(self._graph.to_new(rows) @ self._decided)
        return normalize_within_sets(mass, np.ones(mass.shape, dtype=bool))

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Take what fit found for its own rows, and for others the mean of their neighbors."""
        return normalize_within_sets(self._decided if training else self._finite_scores(rows), candidates.mask)
