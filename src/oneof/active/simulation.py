"""Learning with queries, played through on rows whose labels are known."""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from oneof.active.oracle import Oracle
from oneof.active.queries import check_strategy, query, read_rows
from oneof.candidates.labels import is_missing
from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators.base import CandidateClassifier
from oneof.typing import Floats, Ints, Labels
from oneof.validation import check_estimator, check_positive, check_random_state

_NO_START = "start should be a number, or the rows labeled at the start, every row once."


@dataclass(frozen=True, eq=False)
class Simulation:
    """What was learned with how many labels: a point before the first query, and one after each batch.

    Attributes
    ----------
    n_labeled : ndarray of shape (n_points,)
        How many rows were labeled, those of the start among them.
    accuracy : ndarray of shape (n_points,)
        On the test rows; without test rows, on those that were not labeled yet, and NaN where there is none left.
    indices : ndarray of shape (n_queries,)
        The rows queried, in order, without those of the start.
    scores : ndarray of shape (n_queries,)
        What each was chosen by; scores of different batches come from different models.
    start : ndarray of shape (n_start,)
        The rows labeled before the first query.
    classes : ndarray of shape (n_classes,)
        All classes that were shown.
    found : ndarray of shape (n_points, n_classes)
        How many labeled rows there were of each class.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.active import simulate
    >>> X, y = [[k / 10] for k in range(20)], ["finch"] * 10 + ["wren"] * 10
    >>> run = simulate(PLKNN(n_neighbors=1), X, y, start=[0, 19], n_queries=2, strategy="random", random_state=0)
    >>> run.n_labeled.tolist(), run.accuracy[-1] > 0.5
    ([2, 3, 4], np.True_)
    """

    n_labeled: Ints
    accuracy: Floats
    indices: Ints
    scores: Floats
    start: Ints
    classes: Labels
    found: Ints


def simulate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    start: Any,
    n_queries: int,
    batch: int = 1,
    strategy: str = "information",
    X_test: Any = None,
    y_test: Any = None,
    random_state: Any = None,
) -> Simulation:
    """Query labels and learn from them, in turn, where an oracle knows the labels.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Cloned before every fit. An estimator of this library learns from all rows, those without a label as full sets;
        any other, as scikit-learn's, from the labeled rows alone.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        All rows; each may be queried.
    y : sequence of length n_samples
        The oracle: the true labels, of which no more is read than the rows that are queried.
    start : int or array-like of rows
        The rows that are labeled from the start. A number: so many rows drawn at random, and more while all of them
        are of one class. Rows of every class are not looked for, since that would take the labels of all.
    n_queries : int
        How many labels to query after that.
    batch : int, default=1
        How many labels are queried before the estimator is fitted again; the last batch may be smaller.
    strategy : {"information", "entropy", "margin", "random"}, default="information"
        See `query`.
    X_test, y_test : array-like, optional
        Rows to judge by, and their labels.
    random_state : int, RandomState instance or None
        For the rows of the start and the strategy "random". The estimator keeps its own.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        If there are too few rows, the rows of `start` are of one class or not in X, or something cannot be used.
    InputTypeError
        If there is no estimator.

    Notes
    -----
    The classes are those that were shown so far; predictions of a class not yet seen are impossible, and count as
    wrong. Rows of the pool are judged by `transduction_` where an estimator of this library has it, by `predict`
    elsewhere. Without test rows, the predictions of every round are kept and judged when the last query is made; only
    then are the labels read that were not queried.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from oneof.active import simulate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "a", "b", "b", "b"]
    >>> run = simulate(LogisticRegression(), X, y, start=[0, 5], n_queries=2, strategy="margin")
    >>> run.indices.tolist(), run.n_labeled.tolist(), run.found[-1].tolist()
    ([2, 4], [2, 3, 4], [2, 2])
    """
    check_estimator(estimator)
    X = read_rows(X)
    with reraise_as_input_error():
        n_rows = _num_samples(X)
        n_tests = 0 if X_test is None else _num_samples(read_rows(X_test))
    check_positive("n_queries", n_queries, integer=True, allow_zero=True)
    check_positive("batch", batch, integer=True)
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test belong together: give both, or neither.")
    check_strategy(strategy)
    rng = check_random_state(random_state)
    judge = None if y_test is None else Oracle(y_test, n_tests, "y_test", "X_test")
    oracle = Oracle(y, n_rows)
    _show_start(oracle, start, n_rows, rng)
    n_start = len(oracle.rows)
    if n_start + n_queries > n_rows:
        raise InputError(
            f"n_queries={n_queries} is not possible: of {n_rows} rows, {n_rows - n_start} have no label at the start."
        )
    scores: list[float] = []
    sizes: list[int] = []
    predicted: list[Labels] = []
    while True:
        model = _fitted(estimator, X, oracle, n_rows)
        silent = np.setdiff1d(np.arange(n_rows), oracle.rows)
        sizes.append(len(oracle.rows))
        predicted.append(model.predict(X_test) if X_test is not None else _decided(model, X, silent))
        wanted = min(batch, n_start + n_queries - len(oracle.rows))
        if not wanted:
            break
        asked = query(model, _safe_indexing(X, silent), wanted, strategy, random_state=rng)
        oracle.ask(silent[asked.indices])
        scores.extend(asked.scores.tolist())
    order, classes = np.array(oracle.rows, dtype=np.int64), oracle.classes
    truth = (judge or Oracle(y, n_rows)).reveal()
    if y_test is None:
        accuracy = [_accuracy(labels, np.delete(truth, order[:size])) for labels, size in zip(predicted, sizes)]
    else:
        accuracy = [_accuracy(labels, truth) for labels in predicted]
    return Simulation(
        n_labeled=np.array(sizes, dtype=np.int64),
        accuracy=np.array(accuracy),
        indices=order[n_start:],
        scores=np.array(scores, dtype=np.float64),
        start=order[:n_start],
        classes=classes,
        found=np.array([oracle.counts(size, classes) for size in sizes]),
    )


def _show_start(oracle: Oracle, start: Any, n_rows: int, rng: np.random.RandomState) -> None:
    """Have the rows of the start labeled, so that there are two classes."""
    if isinstance(start, numbers.Integral):
        check_positive("start", start, integer=True)
        if int(start) > n_rows:
            raise InputError(f"start={start} is not possible: X has {n_rows} rows.")
        for row in rng.permutation(n_rows):
            if len(oracle.rows) >= int(start) and len(oracle.classes) > 1:
                return
            oracle.ask([row])
    else:
        try:
            rows = np.asarray(start if len(np.shape(start)) != 1 or len(start) else np.zeros(0, dtype=np.int64))
        except ValueError:  # lists of different lengths
            raise InputError(_NO_START) from None
        if rows.dtype == bool and rows.shape == (n_rows,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(set(rows.tolist())) < len(rows):
            raise InputError(_NO_START)
        outside = rows[(rows < 0) | (rows >= n_rows)]
        if len(outside):
            raise InputError(f"start names row {outside[0]}, but X has rows 0 to {n_rows - 1}.")
        oracle.ask(rows)
    if len(oracle.classes) < 2:
        if not oracle.rows:
            raise InputError("start is empty: label rows of two classes or more.")
        raise InputError(
            f"all {len(oracle.rows)} rows labeled at the start are of class {oracle.labels[0]!r}: label rows of two "
            "classes or more."
        )


def _fitted(estimator: Any, X: Any, oracle: Oracle, n_rows: int) -> Any:
    """Return a clone that has learned from what was shown."""
    model = clone(estimator)
    if _takes_sets(model):
        return model.fit(X, oracle.candidates(n_rows))
    rows = np.argsort(oracle.rows)  # in the order of X, so that one set of labels gives one model
    return model.fit(_safe_indexing(X, np.array(oracle.rows)[rows]), oracle.shown()[rows])


def _takes_sets(model: Any) -> bool:
    return isinstance(_last(model), CandidateClassifier)


def _last(model: Any) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model


def _decided(model: Any, X: Any, rows: Ints) -> Labels:
    """Return the labels that a model gives to rows of X that are not labeled."""
    if not len(rows):
        return np.empty(0)
    if _takes_sets(model) and hasattr(_last(model), "transduction_"):
        return np.asarray(_last(model).transduction_)[rows]
    return np.asarray(model.predict(_safe_indexing(X, rows)))


def _accuracy(predicted: Labels, truth: Labels) -> float:
    """Return the share of right labels where the truth is known."""
    pairs = [(a, b) for a, b in zip(np.asarray(predicted).tolist(), truth.tolist(), strict=True) if not is_missing(b)]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan
