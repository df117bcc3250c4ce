"""Nearest-neighbor classifier for candidate sets and weights."""

from typing import Any, Literal, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier, select_rows
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.neighbors.nearest_neighbors import neighbor_weights, vote_fractions
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice, check_positive


class PLKNN(CandidateClassifier):
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    Notes
    -----
    One factor for all features does not change the predictions, but one factor for each feature does: standardize the
    features first. The choice among several rows at the same distance is arbitrary; apart from such ties the order of
    the rows does not matter.

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

    def __init__(self, n_neighbors: int = 10, *, weights: Literal["distance", "uniform"] = "distance") -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Store and index the labeled rows.

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
        check_positive("n_neighbors", self.n_neighbors, integer=True)
        check_choice("weights", self.weights, ("distance", "uniform"))
        rows, candidates = self._validate_fit(X, y)
        labeled = ~candidates.is_unlabeled
        # Candidates or weights of the neighbors; the name is that of stored models.
        self._evidence, self._index = candidates.evidence[labeled], NeighborIndex(select_rows(labeled, rows))
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the fractions of the votes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        return self._finite_scores(self._validate_rows(X))

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._vote(rows)

    def _vote(self, rows: FeatureMatrix | None) -> Floats:
        """Return the fractions of the votes; without `rows`, for the indexed rows, each without itself."""
        n_rows = len(self._index) if rows is None else rows.shape[0]
        distances, neighbors = self._index.nearest(self.n_neighbors, rows).reshape_by_row(n_rows)
        weights = neighbor_weights(distances) if self.weights == "distance" else np.ones_like(distances)
        return vote_fractions(neighbors, weights, self._evidence)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Exclude a training row from its own neighbors."""
        if not training:
            return normalize_within_sets(self._finite_scores(rows), candidates.evidence)
        labeled = ~candidates.is_unlabeled
        votes = np.ones(candidates.shape)
        if len(self._index) > 1:
            votes[labeled] = self._vote(None)
        if not labeled.all():
            votes[~labeled] = self._finite_scores(rows[~labeled])
        return normalize_within_sets(votes, candidates.evidence)
