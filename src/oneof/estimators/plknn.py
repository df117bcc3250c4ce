"""Nearest neighbours for candidate sets."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier, check_positive
from oneof.likelihoods import restrict
from oneof.solvers.votes import count_votes, neighbour_weights
from oneof.typing import Floats, Rows


class PLKNN(CandidateClassifier):
    """Nearest neighbours that vote for all of their candidates.

    Predicts argmax_k sum_r w_r 1[k in S_r] over the nearest labelled rows r, by Euclidean distance. Rows whose set
    holds every class are no neighbours.

    Parameters
    ----------
    n_neighbors : int, default=10
        At least 1; where there are fewer labelled rows, all of them vote.
    weights : {"distance", "uniform"}, default="distance"
        w_r = 1 - d_r / sum d over the neighbours of the row (equal weights where that is 0/0, or for one neighbour), or
        all equal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Distances are not scale-free: standardise the features first. Which of several rows at the same distance are taken
    is arbitrary; but for such ties the order of the rows does not matter.

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
        """Keep the labelled rows and index them.

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
        if self.weights not in ("distance", "uniform"):
            raise InputError(f'weights={self.weights!r} is not possible: choose "distance" or "uniform".')
        rows, candidates = self._read_fit(X, y)
        labelled = ~candidates.is_unlabelled
        self._mask, self._rows = candidates.mask[labelled], rows[labelled]
        self._index = NearestNeighbors().fit(self._rows)
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
        return self._scores(self._read_rows(X))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index out of files: its tree holds offsets for compiled code, which a forged file could misuse."""
        state = super().__getstate__()
        state.pop("_index", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._index = NearestNeighbors().fit(self._rows)

    def _scores(self, rows: Rows) -> Floats:
        return self._vote(rows, min(self.n_neighbors, len(self._mask)))

    def _vote(self, rows: Rows | None, n_neighbors: int) -> Floats:
        """Return the shares of the votes; without rows, those of the index, none of which is its own neighbour."""
        distances, neighbours = self._index.kneighbors(rows, n_neighbors)
        if not np.isfinite(distances).all():
            raise InputError("distances between rows overflow: scale the features, for example with StandardScaler.")
        weights = neighbour_weights(distances) if self.weights == "distance" else np.ones_like(distances)
        votes = count_votes(neighbours, weights, self._mask)
        return votes / votes.sum(axis=1, keepdims=True)

    def _candidate_shares(self, rows: Rows, candidates: CandidateSets, *, training: bool) -> Floats:
        """Leave a training row out of its own neighbours, so that it does not vouch for itself."""
        if not training:
            return restrict(self._scores(rows), candidates.mask)
        labelled = ~candidates.is_unlabelled
        shares = np.ones(candidates.shape)
        others = min(self.n_neighbors, len(self._mask) - 1)
        if others > 0:
            shares[labelled] = self._vote(None, others)
        if not labelled.all():
            shares[~labelled] = self._scores(rows[~labelled])
        return restrict(shares, candidates.mask)
