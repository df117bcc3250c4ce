"""Model of a session: fits, prefetched questions, nearest labeled rows, and the background training thread."""

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances

from oneof.active import AnswerModel, local_density, queries, query
from oneof.candidates import CandidateSets
from oneof.estimators.graph_logistic import GraphLogisticRegression
from oneof.graphs import NeighborGraph
from oneof.likelihoods import softmax
from oneof.typing import FeatureMatrix, Floats, Ints, Labels
from oneof.validation import check_choice, check_estimator

STRATEGIES = ("auto", *queries.STRATEGIES)
MAX_FEATURES = 200
"""Maximum number of features that the default model uses without dimension reduction."""
_N_COMPONENTS = 100
"""Number of principal directions that it uses otherwise."""
_TOL = 1e-2
"""Tolerance of the default model, which is fitted again after a few answers."""
_MAX_POOL_SIZE = 2_500
"""Maximum number of rows, drawn at random, among which the next questions are selected."""
MAX_GRAPH_ROWS = 100_000
"""Maximum number of rows, drawn at random, in the graph of the default model."""
_STOP_TIMEOUT = 2.0
"""Seconds to wait for a running fit when the session is closed."""


@dataclass(frozen=True)
class ModelSnapshot:
    """Fitted model with its predictions and prefetched questions.

    Attributes
    ----------
    last_entry_id : int
        Number of the last entry that the model was fitted on.
    n_labeled : int
        Number of labeled rows that the model was fitted on.
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities, or a softmax of scores if the model has no probabilities.
    rows, scores : ndarray of shape (prefetch,)
        The selected rows, most informative first, and their utilities.
    model : estimator
    answer_model : AnswerModel or None
        Probabilities of the answers; None if all answers are one label, or the strategy does not use it.
    """

    last_entry_id: int
    n_labeled: int
    proba: Floats
    rows: Ints
    scores: Floats
    model: Any
    answer_model: AnswerModel | None = None


class Learner:
    """Fits a model to the answers and selects questions with it.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_samples, n_features)
    estimator : estimator or Pipeline, optional
        Estimator that accepts candidate sets. By default `GraphLogisticRegression`; with more than 200 features it
        uses their 100 directions of greatest variance, and sparse rows are then scaled to length 1.
    strategy : {"auto", "mutual_information", "entropy", "margin", "random"}
        See `oneof.active.query`. "auto" is the first of mutual_information, entropy and random that the estimator
        supports. The information is that of the answers, with an `AnswerModel` estimated from the previous ones if
        some are sets, times `oneof.active.local_density`. Before as many rows are labeled as there are classes, rows
        are drawn at random.
    prefetch : int
        Number of questions selected at a time.
    rng : RandomState
    """

    def __init__(self, rows: FeatureMatrix, estimator: Any, strategy: str, prefetch: int, rng: Any) -> None:
        check_choice("strategy", strategy, STRATEGIES)
        if estimator is not None:
            check_estimator(estimator, ", or None for the default")
        self.rows = rows if estimator is not None else _reduce_dims(rows)
        self.strategy = _best_strategy(estimator) if strategy == "auto" else strategy
        self.prefetch, self._estimator, self._rng = prefetch, estimator, rng
        self._density: Floats | None = None
        self._nodes: Ints | None = None

    def prepare(self) -> Any:
        """Return the unfitted model; the graph of the default model is built at the first call.

        The graph takes a minute with 100,000 rows.
        """
        if self._estimator is None:
            n_rows = self.rows.shape[0]
            if n_rows > MAX_GRAPH_ROWS:
                self._nodes = np.sort(np.random.default_rng(0).choice(n_rows, MAX_GRAPH_ROWS, replace=False))
            self._estimator = default_estimator(self.rows if self._nodes is None else self.rows[self._nodes])
        return self._estimator

    def fit(self, candidates: CandidateSets, pool: Ints, last_entry_id: int) -> ModelSnapshot:
        """Fit the model and select the next questions.

        Parameters
        ----------
        candidates : CandidateSets of length n_samples
        pool : ndarray of int
            Rows that may be asked.
        last_entry_id : int
            Number of the last entry in `candidates`.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence warnings: the model is fitted again after the next answers
            model = self._fit(candidates)
            proba = _predict_in_parts(model, self.rows)
            answers = self._answer_model(candidates, proba)
            n_labeled = int((~candidates.is_unlabeled).sum())
            is_cold = self.strategy == "mutual_information" and n_labeled < candidates.shape[1]
            rows, scores = self._select(model, answers, pool, self.prefetch if is_cold else _MAX_POOL_SIZE)
        return ModelSnapshot(last_entry_id, n_labeled, proba, rows, scores, model, answers)

    def _fit(self, candidates: CandidateSets) -> Any:
        """Return the fitted model: of all rows, or of the rows of the graph and all other labeled rows."""
        model = clone(self.prepare())
        if self._nodes is None:
            return model.fit(self.rows, candidates)
        others = np.setdiff1d(np.flatnonzero(~candidates.is_unlabeled), self._nodes)
        unconnected = sp.csr_array((len(others), len(others)))
        model.set_params(affinity=sp.block_diag([model.affinity, unconnected], format="csr"))
        fitted = np.concatenate([self._nodes, others])
        return model.fit(self.rows[fitted], candidates[fitted])

    def score(self, snapshot: ModelSnapshot, row: int) -> float | None:
        """Return the utility of a row; None for the random strategy."""
        if self.strategy == "random":
            return None
        options = self._query_options(snapshot.answer_model, np.array([row]))
        return float(query(snapshot.model, self.rows[[row]], 1, self.strategy, **options).utilities[0])

    def _answer_model(self, candidates: CandidateSets, proba: Floats) -> AnswerModel | None:
        """Return the probabilities of the answers if some of them are not one label."""
        if self.strategy != "mutual_information" or (candidates.is_exact | candidates.is_unlabeled).all():
            return None
        return AnswerModel.from_candidates(candidates, proba)

    def _query_options(self, answer_model: AnswerModel | None, rows: Ints) -> dict[str, Any]:
        """Return the arguments of `query` for some rows."""
        if self.strategy != "mutual_information":
            return {}
        if self._density is None:
            self._density = local_density(self.rows)
        return {"answer_model": answer_model, "density": self._density[rows]}

    def _select(self, model: Any, answer_model: AnswerModel | None, pool: Ints, pool_size: int) -> tuple[Ints, Floats]:
        """Return the next rows to ask, of at most `pool_size` random rows of the pool, and their utilities.

        While there are fewer labeled rows than classes, the posterior is mostly the prior, and rows are random.
        """
        if not len(pool):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(pool) > pool_size:
            pool = np.sort(self._rng.choice(pool, pool_size, replace=False))
        n = min(self.prefetch, len(pool))
        options = self._query_options(answer_model, pool)
        result = query(model, self.rows[pool], n, self.strategy, random_state=self._rng, **options)
        return pool[result.indices], result.utilities


def default_estimator(rows: FeatureMatrix) -> GraphLogisticRegression:
    """Return the default model; the graph of the rows is built once, since the rows do not change."""
    return GraphLogisticRegression(affinity=NeighborGraph().graph(rows).affinity, tol=_TOL)


def can_learn(candidates: CandidateSets) -> bool:
    """Return whether at least two labeled rows have different candidate sets."""
    labeled = candidates.evidence[~candidates.is_unlabeled]
    return bool(len(labeled)) and bool((labeled != labeled[0]).any())


def predict_proba(model: Any, rows: FeatureMatrix) -> Floats:
    """Return class probabilities (n, K): predicted ones, a softmax of scores, or the indicator of the prediction."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(rows), dtype=np.float64)
        return softmax(np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores)
    return (np.asarray(model.predict(rows))[:, None] == model.classes_).astype(np.float64)


def _predict_in_parts(model: Any, rows: FeatureMatrix) -> Floats:
    """Return class probabilities of parts of the rows at a time, to limit the memory of intermediate results."""
    starts = range(0, rows.shape[0], MAX_GRAPH_ROWS)
    return np.concatenate([predict_proba(model, rows[start : start + MAX_GRAPH_ROWS]) for start in starts])


def _reduce_dims(rows: FeatureMatrix) -> FeatureMatrix:
    """Return dense rows with at most `MAX_FEATURES` features."""
    if rows.shape[1] <= MAX_FEATURES:
        return rows.toarray() if sp.issparse(rows) else rows
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    reduced = TruncatedSVD(min(_N_COMPONENTS, rows.shape[0]), random_state=0).fit_transform(rows)
    return normalize(reduced) if sp.issparse(rows) else reduced


def _best_strategy(estimator: Any) -> str:
    """Return the first strategy of "auto" that the estimator supports."""
    if estimator is None:
        return "mutual_information"
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
    if hasattr(final, "posterior_features"):
        return "mutual_information"
    return "entropy" if hasattr(final, "predict_proba") else "random"


class Neighbor(NamedTuple):
    """Labeled row near another row.

    Attributes
    ----------
    row : int
    distance : float
        Euclidean distance between the features of the model.
    labels : ndarray
        Candidates of the row; if it has weights, those of largest weight.
    """

    row: int
    distance: float
    labels: Labels


def nearest_labeled(rows: FeatureMatrix, candidates: CandidateSets, row: int, n: int, hidden: Ints) -> list[Neighbor]:
    """Return the `n` nearest other labeled rows that are not hidden; ties are broken by the lower index."""
    is_shown = ~candidates.is_unlabeled
    is_shown[hidden] = False
    is_shown[row] = False
    labeled = np.flatnonzero(is_shown)
    if not len(labeled):
        return []
    distances = euclidean_distances(rows[[row]], rows[labeled])[0]
    order = np.argsort(distances, kind="stable")[:n]
    best = candidates[labeled[order]].weights == 1
    return [
        Neighbor(int(labeled[i]), float(distances[i]), candidates.classes[row])
        for i, row in zip(order, best, strict=True)
    ]


class TrainingInput(NamedTuple):
    """Data for a fit.

    Attributes
    ----------
    candidates : CandidateSets of length n_samples
    remaining : ndarray of int
        Rows that may be asked.
    last_entry_id : int
        Number of the last entry in `candidates`.
    """

    candidates: CandidateSets
    remaining: Ints
    last_entry_id: int


class TrainingLoop:
    """Fits the model again after new answers, in a background thread or when a question is asked.

    Parameters
    ----------
    learner : Learner
    get_input : callable
        Returns the current `TrainingInput`.
    refit_every : int
        Number of new entries after which the model is fitted again.
    background : bool
        Whether a thread fits the model. Otherwise `fit_now` does.

    Attributes
    ----------
    snapshot : ModelSnapshot or None
        The last fitted model; None if there are too few labeled rows.
    last_error : str or None
        The error of the last fit in the thread, as a sentence.
    """

    def __init__(
        self, learner: Learner, get_input: Callable[[], TrainingInput], refit_every: int, *, background: bool
    ) -> None:
        self.snapshot: ModelSnapshot | None = None
        self.last_error: str | None = None
        self._learner, self._get_input, self._refit_every = learner, get_input, refit_every
        self._wakeup = threading.Event()
        self._stopping = False
        self._thread = None
        if background:
            self._thread = threading.Thread(target=self._worker, name="oneof-training", daemon=True)
            self._thread.start()

    def run(self) -> bool:
        """Fit the model to the current answers; return False if there is nothing new to fit."""
        data = self._get_input()
        if self.snapshot is not None and self.snapshot.last_entry_id == data.last_entry_id:
            return False
        if not can_learn(data.candidates):
            self.snapshot = None  # the answers that it was fitted on were undone
            return False
        self.snapshot = self._learner.fit(*data)
        return True

    def fit_now(self, last_entry_id: int) -> None:
        """Without a thread, fit the model if there are `refit_every` new entries."""
        if self._thread is None and self._is_due(last_entry_id):
            self.run()

    def wake(self, last_entry_id: int) -> None:
        """With a thread, request a fit if there are `refit_every` new entries."""
        if self._thread is not None and self._is_due(last_entry_id):
            self._wakeup.set()

    def stop(self) -> None:
        """Stop the thread; a long fit continues until its end and has no further effect."""
        self._stopping = True
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join(_STOP_TIMEOUT)

    def _is_due(self, last_entry_id: int) -> bool:
        return self.snapshot is None or last_entry_id - self.snapshot.last_entry_id >= self._refit_every

    def _worker(self) -> None:
        """Build the graph, then fit the model at every request."""
        self._try(self._learner.prepare)
        while True:
            self._wakeup.wait()
            self._wakeup.clear()
            if self._stopping:
                return
            self._try(self.run)

    def _try(self, function: Callable[[], Any]) -> None:
        """Call a function and store its error, if any."""
        try:
            function()
        except Exception as error:  # of any estimator: labeling continues, and the page shows the error
            self.last_error = f"{type(error).__name__}: {' '.join(str(error).split())}"
        else:
            self.last_error = None
