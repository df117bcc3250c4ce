"""Classifiers that label a row like its nearest neighbors.

Reading order: `PLKNN` (a vote of the neighbors), then `IPAL` (label propagation along reconstruction weights, then the
vote). Both call `oneof.solvers.neighbors`.
"""

from typing import Literal

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import DecisionFunctionMixin, ProbabilityMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, Fraction, Positive, estimator
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.neighbors import (
    neighbor_weights,
    normalize_class_mass,
    propagate,
    reconstruction_errors,
    reconstruction_matrix,
    vote_fractions,
)
from oneof.typing import FeatureMatrix, Floats, Ints


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


@estimator
class IPAL(DecisionFunctionMixin):
    """Nearest-neighbor classifier that disambiguates labels by propagation and predicts by reconstruction.

    Each labeled row x_i is reconstructed from its nearest other labeled rows, with weights w_i that minimize
    ||x_i - sum_j w_ij x_j||^2 over w_i >= 0. With these weights, scaled to sum to 1 in each row, the label
    distributions F are propagated from F_0, uniform over each set: F <- alpha W F + (1 - alpha) F_0, restricted to the
    candidates and scaled to sum to 1 in each iteration. In a row with weights v_i of the classes, F_0 is v_i / sum_k
    v_ik, and v_i multiplies the labels of the neighbors: F_i ~ alpha v_i * (W F)_i + (1 - alpha) F_0i. The label of a
    row is its most probable candidate. A new row x is reconstructed from its nearest labeled rows in the same way, and
    the prediction is the class k with the smallest error ||x - sum_{j: label_j = k} w_j x_j||^2. Unlabeled rows are not
    used.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of nearest neighbors, at least 1; limited to the number of other labeled rows.
    alpha : float, default=0.95
        Weight of the neighbors in an iteration, in [0, 1]; the rest is the weight of the row's own set.
    class_mass : bool, default=False
        Whether to scale the final F so that every class has the same fraction of all rows as in F_0, before the labels
        are selected. It matters if some classes are in many sets but are the true class of few rows.
    prediction : {"reconstruction", "votes"}, default="reconstruction"
        Predict by the reconstruction error, or by the votes of the neighbors for their labels, weighted as in `PLKNN`.
    max_iter : int, default=100
        Maximum number of iterations. The paper uses 100. No warning is issued if F still changes then.
    tol : float, default=1e-6
        Stop if no entry of F changes by more than this value, above 0.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F for the rows of fit (scaled, with `class_mass`), 0 outside each set; the largest entry is the label. An
        unlabeled row is reconstructed from its nearest labeled rows: its distribution is the mean of theirs with
        these weights, and uniform if all weights are 0.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Decision values are -||x - sum_{j: label_j = k} w_j x_j||^2 / ||x||^2: 0 for a class that reconstructs x exactly,
    -1 for a class without neighbors, and 0 for all classes if x = 0. Confidences of new rows are a softmax of these,
    and so close to uniform. With ``prediction="votes"`` decision values are fractions of the votes.

    One factor for all features does not change the predictions. One factor for each feature does, and so does a shift
    of the origin, since the weights are not negative: standardize the features first, or scale them to [0, 1]. With
    more neighbors than features, many weights may be optimal; see `oneof.solvers.neighbors`. If no neighbor
    reduces the error of a row, all classes tie, and the first is predicted. The choice among several rows at the same
    distance is arbitrary; apart from ties the order of the rows does not matter.

    References
    ----------
    Zhang & Yu (2015), Solving the partial label learning problem: an instance-based approach, IJCAI.

    Examples
    --------
    >>> from oneof import IPAL
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.0], [0.0, 1.0], [0.1, 1.1]]
    >>> model = IPAL(n_neighbors=2).fit(X, [["a"], ["a", "b"], ["a", "c"], ["c"], ["b", "c"]])
    >>> model.predict([[2.0, 0.1], [0.1, 2.0]]).tolist()
    ['a', 'c']
    >>> model.disambiguate().labels.tolist()
    ['a', 'a', 'a', 'c', 'c']
    """

    _uses_gram_matrix = True

    n_neighbors: Count = 10
    alpha: Fraction = 0.95
    _: KW_ONLY
    class_mass: bool = False
    prediction: Literal["reconstruction", "votes"] = "reconstruction"
    max_iter: Count = 100
    tol: Positive = 1e-6

    def _fit(self, training: TrainingRows) -> None:
        labeled = training.labeled
        index, evidence = NeighborIndex(training.select(labeled)), training.evidence[labeled]
        weights = reconstruction_matrix(index, self.n_neighbors)
        result = propagate(weights, evidence, alpha=self.alpha, max_iter=self.max_iter, tol=self.tol)
        F = result.label_distributions
        if self.class_mass:
            F = normalize_class_mass(F, evidence)

        def reconstruct(others: Ints) -> Floats:
            mass = reconstruction_matrix(index, self.n_neighbors, training.select(others)) @ F
            return normalize_within_sets(mass, np.ones(mass.shape, dtype=bool))

        self.label_distributions_ = training.complete(F, labeled, reconstruct)
        self._index, self._labels = index, F.argmax(axis=1)
        self.n_iter_ = result.n_iter

    def _scores(self, rows: FeatureMatrix) -> Floats:
        distances, neighbors = self._index.nearest(self.n_neighbors, rows).reshape_by_row(rows.shape[0])
        n_classes = len(self.classes_)
        if self.prediction == "votes":
            return vote_fractions(neighbors, neighbor_weights(distances), np.eye(n_classes, dtype=bool)[self._labels])
        return -reconstruction_errors(
            self._index.points(), self._index.points(rows), neighbors, self._labels, n_classes
        )
