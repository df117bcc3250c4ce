"""Instance-based learning from partial labels."""

from typing import Any, Literal, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier, DecisionValues, rows_where
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.ipal import balance_classes, propagate, reconstruction_links
from oneof.solvers.neighbor_votes import neighbor_weights, vote_shares
from oneof.solvers.reconstruction import reconstruction_errors
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_bool, check_choice, check_fraction, check_positive


class IPAL(DecisionValues, CandidateClassifier):
    """Nearest neighbors that settle one another's labels first, and then rebuild the rows to predict.

    Each labeled row x_i is rebuilt from its nearest other labeled rows, with weights w_i that minimize
    ||x_i - sum_j w_ij x_j||^2 over w_i >= 0. Along these weights, each row's scaled to sum 1, the shares F of the
    candidates spread, F <- alpha W F + (1 - alpha) F_0, cut to the candidates and scaled to sum 1 after every sweep,
    from F_0 uniform over each set; each row takes its largest share for its label. A new row x is rebuilt from its
    nearest labeled rows in the same way, and predicted is the class k of least error
    ||x - sum_{j: label_j = k} w_j x_j||^2. Rows whose set holds every class take no part.

    Parameters
    ----------
    n_neighbors : int, default=10
        At least 1; where there are fewer labeled rows, all of them are neighbors.
    alpha : float, default=0.95
        Share of the neighbors in a sweep, in [0, 1]; the rest is that of the row's own set.
    class_mass : bool, default=False
        Scale F, at the end, such that every class has the share of all rows that it has in F_0, and let the rows take
        their labels from that. It matters where some classes are named by many sets and true for few.
    prediction : {"reconstruction", "votes"}, default="reconstruction"
        By the error of reconstruction, or by the neighbors' votes for the labels they took, weighted as in `PLKNN`.
    max_iter : int, default=100
        Sweeps, at most. The paper makes 100, and no warning is given if F still moves then.
    tol : float, default=1e-6
        Sweeps end where no entry of F changes by more than this, above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F for the rows of fit (scaled, with `class_mass`), 0 outside the set of each; the largest is the label. A row
        without a label, which took no part, is rebuilt from its nearest labeled rows: it has the mean of their shares
        by its weights, and equal shares if all of these are 0.
    n_iter_ : int
        Sweeps made.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Decision values are -||x - sum_{j: label_j = k} w_j x_j||^2 / ||x||^2: 0 for a class that rebuilds x, -1 for one
    without neighbors, and 0 for all classes where x = 0. Confidences of rows other than those of fit are a softmax of
    these, and so never far from equal. With ``prediction="votes"`` decision values are shares of the votes.

    One factor for all features changes nothing; factors of their own do, and weights at least 0 know where the origin
    is: standardize the features first, or scale them to [0, 1]. Where there are more neighbors than features, many
    weights may be equally good; see `oneof.solvers.nnls`. Where no neighbor helps to rebuild a row, all classes
    tie, and the first is predicted. Which of several rows at the same distance are taken is arbitrary; but for ties the
    order of the rows does not matter.

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

    def __init__(
        self,
        n_neighbors: int = 10,
        alpha: float = 0.95,
        *,
        class_mass: bool = False,
        prediction: Literal["reconstruction", "votes"] = "reconstruction",
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.class_mass = class_mass
        self.prediction = prediction
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Settle the labels of the rows, and keep the labeled rows.

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
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        check_fraction("alpha", self.alpha)
        check_bool("class_mass", self.class_mass)
        check_choice("prediction", self.prediction, ("reconstruction", "votes"))
        rows, candidates = self._read_fit(X, y)
        told = ~candidates.is_unlabeled
        known, mask = NeighborIndex(rows_where(told, rows)), candidates.mask[told]
        links = reconstruction_links(known, self.n_neighbors)
        found = propagate(links, mask, alpha=self.alpha, max_iter=self.max_iter, tol=self.tol)
        confidence = balance_classes(found.confidence, mask) if self.class_mass else found.confidence
        self.label_distributions_ = np.zeros(candidates.shape)
        self.label_distributions_[told] = confidence
        if not told.all():
            links = reconstruction_links(known, self.n_neighbors, rows[~told])
            self.label_distributions_[~told] = normalize_within_sets(links @ confidence, candidates.mask[~told])
        self._known, self._labels = known, confidence.argmax(axis=1)
        self.n_iter_ = found.n_iter
        return self._finish_fit(X, y, candidates)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        distances, neighbors = self._known.nearest(self.n_neighbors, rows).reshape_by_row(rows.shape[0])
        n_classes = len(self.classes_)
        if self.prediction == "votes":
            return vote_shares(neighbors, neighbor_weights(distances), np.eye(n_classes, dtype=bool)[self._labels])
        return -reconstruction_errors(
            self._known.points(), self._known.points(rows), neighbors, self._labels, n_classes
        )

    def _candidate_shares(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Take what the sweeps of fit found for its own rows."""
        if training:
            return normalize_within_sets(self.label_distributions_, candidates.mask)
        return super()._candidate_shares(rows, candidates, training=training)
