"""Nearest neighbors for candidate sets."""

from typing import Any, Literal, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier, rows_where
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.neighbor_votes import neighbor_weights, vote_shares
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice, check_positive


class PLKNN(CandidateClassifier):
    """Nearest neighbors that vote for all of their candidates.

    Predicts argmax_k sum_r w_r 1[k in S_r] over the nearest labeled rows r, by Euclidean distance. Rows whose set
    holds every class are no neighbors.

    Parameters
    ----------
    n_neighbors : int, default=10
        At least 1; where there are fewer labeled rows, all of them vote.
    weights : {"distance", "uniform"}, default="distance"
        w_r = 1 - d_r / sum d over the neighbors of the row (equal weights where that is 0/0, or for one neighbor), or
        all equal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    One factor for all features changes nothing; factors of their own do: standardize the features first. Which of
    several rows at the same distance are taken is arbitrary; but for such ties the order of the rows does not matter.

    References
    ----------
    Hüllermeier & Beringer (2006), Learning from ambiguously labeled examples, Intelligent Data Analysis 10(5); the
    weights are those of Zhang & Yu (2015), Solving the partial label learning problem, IJCAI.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> model = PLKNN(n_neighbors=2).fit(X, [["a"], ["a", "b"], ["a", "c"], ["c"], ["b", "c"]])
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    """

    def __init__(self, n_neighbors: int = 10, *, weights: Literal["distance", "uniform"] = "distance") -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the labeled rows and index them.

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
        check_positive("n_neighbors", self.n_neighbors, integer=True)
        check_choice("weights", self.weights, ("distance", "uniform"))
        rows, candidates = self._read_fit(X, y)
        labeled = ~candidates.is_unlabeled
        self._mask, self._known = candidates.mask[labeled], NeighborIndex(rows_where(labeled, rows))
        return self._finish_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the votes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return self._finite_scores(self._read_rows(X))

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._vote(rows)

    def _vote(self, rows: FeatureMatrix | None) -> Floats:
        """Return the shares of the votes; without rows, those of the index, none of which is its own neighbor."""
        n_rows = len(self._known) if rows is None else rows.shape[0]
        distances, neighbors = self._known.nearest(self.n_neighbors, rows).reshape_by_row(n_rows)
        weights = neighbor_weights(distances) if self.weights == "distance" else np.ones_like(distances)
        return vote_shares(neighbors, weights, self._mask)

    def _candidate_shares(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Leave a training row out of its own neighbors, so that it does not vouch for itself."""
        if not training:
            return normalize_within_sets(self._finite_scores(rows), candidates.mask)
        labeled = ~candidates.is_unlabeled
        shares = np.ones(candidates.shape)
        if len(self._known) > 1:
            shares[labeled] = self._vote(None)
        if not labeled.all():
            shares[~labeled] = self._finite_scores(rows[~labeled])
        return normalize_within_sets(shares, candidates.mask)
