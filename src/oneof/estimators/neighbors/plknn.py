"""Nearest-neighbor classifier for candidate sets and weights."""

from typing import Literal

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import ProbabilityMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, estimator
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.neighbors import neighbor_weights, vote_fractions
from oneof.typing import FeatureMatrix, Floats


@estimator
class PLKNN(ProbabilityMixin):
    """Nearest-neighbor classifier in which each neighbor votes for all of its candidates.

    Predicts argmax_k sum_r w_r v_rk over the nearest labeled rows r, by Euclidean distance. v_rk is 1[k in S_r], or the
    weight of class k in row r. Unlabeled rows are not used as neighbors.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of nearest neighbors, at least 1; limited to the number of labeled rows.
    weights : {"distance", "uniform"}, default="distance"
        "distance": w_r = 1 - d_r / sum d over the neighbors of the row (equal weights for 0/0 and for one neighbor);
        "uniform": equal weights.

    Notes
    -----
    One factor for all features does not change the predictions, but one factor for each feature does: standardize the
    features first. The choice among several rows at the same distance is arbitrary; apart from such ties the order of
    the rows does not matter. Probabilities are fractions of the votes.

    References
    ----------
    Hüllermeier & Beringer (2006), Learning from ambiguously labeled examples, Intelligent Data Analysis 10(5). Weights:
    Zhang & Yu (2015), Solving the partial label learning problem, IJCAI.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> model = PLKNN(n_neighbors=2).fit(X, [["a"], ["a", "b"], ["a", "c"], ["c"], ["b", "c"]])
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    """

    _uses_gram_matrix = True

    n_neighbors: Count = 10
    _: KW_ONLY
    weights: Literal["distance", "uniform"] = "distance"

    def _fit(self, training: TrainingRows) -> None:
        # Candidates or weights of the neighbors; the name is that of stored models.
        self._evidence = training.evidence[training.labeled]
        self._index = NeighborIndex(training.select(training.labeled))

    def _scores(self, rows: FeatureMatrix | None) -> Floats:
        """Return the fractions of the votes; without `rows`, for the indexed rows, each without itself."""
        n_rows = len(self._index) if rows is None else rows.shape[0]
        distances, neighbors = self._index.nearest(self.n_neighbors, rows).reshape_by_row(n_rows)
        weights = neighbor_weights(distances) if self.weights == "distance" else np.ones_like(distances)
        return vote_fractions(neighbors, weights, self._evidence)

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        """Exclude a row from its own neighbors."""
        training = TrainingRows(rows, candidates, np.ones(len(candidates)))
        votes = self._scores(None) if len(self._index) > 1 else np.ones((1, candidates.shape[1]))
        votes = training.complete(votes, training.labeled, lambda others: self._finite_scores(rows[others]))
        return normalize_within_sets(votes, candidates.evidence)
