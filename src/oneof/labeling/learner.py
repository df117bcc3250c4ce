"""The model of a labeling session: what it has learned, what it guesses, and which rows it wants labeled."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from oneof.active import query
from oneof.candidates import CandidateSets
from oneof.estimators.graph_logistic import GraphLogisticRegression
from oneof.graphs import NeighborGraph
from oneof.likelihoods import softmax
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_choice, check_estimator

STRATEGIES = ("auto", "mutual_information", "entropy", "margin", "random")
MOST_FEATURES = 200
"""Features up to which the default model takes rows as they are."""
_COMPONENTS = 100
"""Directions of greatest variance that it takes of more."""
_TOLERANCE = 1e-2
"""Of the default model, which is fitted again after a few answers anyway."""
_MOST_SCORED = 10_000
"""Rows, drawn at random from the pool, among which the next questions are sought."""


@dataclass(frozen=True)
class Learned:
    """What a model knows at some time.

    Attributes
    ----------
    last : int
        Number of the last entry that it has learned from.
    n_told : int
        How many rows had a set that says something.
    shares : ndarray of shape (n_samples, n_classes)
        What it guesses: probabilities, or of methods without them a softmax of scores.
    rows, scores : ndarray
        The rows whose labels it wants most, the most wanted first.
    model : estimator
    """

    last: int
    n_told: int
    shares: Floats
    rows: Ints
    scores: Floats
    model: Any


class Learner:
    """Fits a model to answers, and chooses questions by it.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_samples, n_features)
    estimator : estimator or Pipeline, optional
        That learns from candidate sets. By default `GraphLogisticRegression`: of more than 200 features it sees their
        100 directions of greatest variance, scaled to rows of length 1 where they are sparse, as words are.
    strategy : {"auto", "mutual_information", "entropy", "margin", "random"}
        See `oneof.active.query`. "auto": the first of mutual_information, entropy and random that the
        estimator supports.
    n_ahead : int
        How many questions are chosen at a time.
    random_state : RandomState
    """

    def __init__(self, rows: FeatureMatrix, estimator: Any, strategy: str, n_ahead: int, random_state: Any) -> None:
        check_choice("strategy", strategy, STRATEGIES)
        if estimator is not None:
            check_estimator(estimator, ", or None for the default")
        self.rows = rows if estimator is not None else _condensed(rows)
        self.strategy = _best_strategy(estimator) if strategy == "auto" else strategy
        self.n_ahead, self._estimator, self._random = n_ahead, estimator, random_state

    def prepare(self) -> Any:
        """Return the model before it is fitted; the default one's graph is made at the first call.

        That takes a minute where there are 100,000 rows.
        """
        if self._estimator is None:
            self._estimator = default_estimator(self.rows)
        return self._estimator

    def learn(self, candidates: CandidateSets, pool: Ints, last: int) -> Learned:
        """Fit the model, and choose the next questions.

        Parameters
        ----------
        candidates : CandidateSets of length n_samples
        pool : ndarray of int
            Rows that may be asked.
        last : int
            Number of the last entry in `candidates`.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rounds that were not enough: the next answers bring more of them
            model = clone(self.prepare()).fit(self.rows, candidates)
            shares = guesses(model, self.rows)
            rows, scores = self._choose(model, pool)
        return Learned(last, int((~candidates.is_unlabeled).sum()), shares, rows, scores, model)

    def score(self, learned: Learned, row: int) -> float | None:
        """Return the score of a row that was drawn at random; None where rows are always drawn so."""
        if self.strategy == "random":
            return None
        return float(query(learned.model, self.rows[[row]], 1, self.strategy).utilities[0])

    def _choose(self, model: Any, pool: Ints) -> tuple[Ints, Floats]:
        if not len(pool):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(pool) > _MOST_SCORED:
            pool = np.sort(self._random.choice(pool, _MOST_SCORED, replace=False))
        n = min(self.n_ahead, len(pool))
        found = query(model, self.rows[pool], n, self.strategy, random_state=self._random)
        return pool[found.indices], found.utilities


def default_estimator(rows: FeatureMatrix) -> GraphLogisticRegression:
    """Return the default model; the graph of the rows, which do not change, is made once."""
    return GraphLogisticRegression(affinity=NeighborGraph().graph(rows).affinity, tol=_TOLERANCE)


def can_learn(candidates: CandidateSets) -> bool:
    """Tell whether there is something to learn: two rows of which different things are known."""
    told = candidates.mask[~candidates.is_unlabeled]
    return bool(len(told)) and bool((told != told[0]).any())


def guesses(model: Any, rows: FeatureMatrix) -> Floats:
    """Return the shares of the classes in what a model says of rows, (n, K)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(rows), dtype=np.float64)
        return softmax(np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores)
    return (np.asarray(model.predict(rows))[:, None] == model.classes_).astype(np.float64)


def _condensed(rows: FeatureMatrix) -> FeatureMatrix:
    if rows.shape[1] <= MOST_FEATURES:
        return rows.toarray() if sp.issparse(rows) else rows
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    found = TruncatedSVD(min(_COMPONENTS, rows.shape[0]), random_state=0).fit_transform(rows)
    return normalize(found) if sp.issparse(rows) else found


def _best_strategy(estimator: Any) -> str:
    if estimator is None:
        return "mutual_information"
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if hasattr(last, "posterior_features"):
        return "mutual_information"
    return "entropy" if hasattr(last, "predict_proba") else "random"
