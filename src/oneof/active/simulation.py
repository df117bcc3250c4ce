"""Simulation of active learning on rows with known labels: alternating queries and fits."""

import math
import numbers
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from oneof.active.queries import check_rows, check_strategy, query
from oneof.candidates import CandidateSets
from oneof.candidates.encoding import encode_labels
from oneof.candidates.labels import is_missing, pack_classes, sort_labels
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.estimators.base import CandidateClassifier, last_step
from oneof.typing import Floats, Ints, Labels
from oneof.validation import as_array, check_estimator, check_positive, check_random_state


@dataclass(frozen=True, eq=False)
class Simulation:
    """Result of a simulation: one point before the first query, and one after each batch.

    Attributes
    ----------
    n_labeled : ndarray of shape (n_points,)
        Number of labeled rows, including the initial ones.
    accuracy : ndarray of shape (n_points,)
        Accuracy on the test rows or, without test rows, on the rows that are not labeled yet; NaN if there are none.
    indices : ndarray of shape (n_queries,)
        The queried rows, in order, without the initial ones.
    utilities : ndarray of shape (n_queries,)
        The utility of each queried row; utilities of different batches come from different models.
    initial_indices : ndarray of shape (n_start,)
        The rows labeled before the first query.
    classes : ndarray of shape (n_classes,)
        All classes of the labeled rows.
    class_counts : ndarray of shape (n_points, n_classes)
        Number of labeled rows of each class.

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
    utilities: Floats
    initial_indices: Ints
    classes: Labels
    class_counts: Ints


def simulate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    start: Any,
    n_queries: int,
    batch_size: int = 1,
    strategy: str = "mutual_information",
    X_test: Any = None,
    y_test: Any = None,
    random_state: Any = None,
) -> Simulation:
    """Simulate active learning: alternately query labels from an oracle and fit the estimator to them.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Cloned before every fit. An estimator of this library is fitted to all rows, the rows without a
        label as unlabeled rows; any other estimator, such as one of scikit-learn, to the labeled rows only.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        All rows; each may be queried.
    y : sequence of length n_samples
        The true labels, for the oracle. Only the labels of queried rows are read before the last query.
    start : int or array-like of row indices
        The initial labeled rows, or their number. A number of rows is drawn at random, and more until there are two
        classes. Rows of every class are not ensured, since that would require all labels.
    n_queries : int
        Number of labels to query after the initial ones.
    batch_size : int, default=1
        Number of labels to query between two fits; the last batch may be smaller.
    strategy : {"mutual_information", "entropy", "margin", "random"}, default="mutual_information"
        See `query`.
    X_test, y_test : array-like, optional
        Test rows and their labels.
    random_state : int, RandomState instance or None
        Seed of the initial rows and of the strategy "random". The estimator has its own.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        If there are too few rows, the rows of `start` have one class or are not in X, or another argument is not valid.
    InputTypeError
        If `estimator` is not an estimator.
    LabelError
        If a queried row has no label.

    Notes
    -----
    The classes are those of the labeled rows so far; a class without labels cannot be predicted, which counts as an
    error. Rows of the pool are predicted by `transduction_` if an estimator of this library has it, and by `predict`
    otherwise. Without test rows, the predictions of every iteration are stored and evaluated after the last query; only
    then are the labels of the other rows read.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from oneof.active import simulate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "a", "b", "b", "b"]
    >>> run = simulate(LogisticRegression(), X, y, start=[0, 5], n_queries=2, strategy="margin")
    >>> run.indices.tolist(), run.n_labeled.tolist(), run.class_counts[-1].tolist()
    ([2, 4], [2, 3, 4], [2, 2])
    """
    check_estimator(estimator)
    X = check_rows(X)
    check_positive("n_queries", n_queries, integer=True, allow_zero=True)
    check_positive("batch_size", batch_size, integer=True)
    if (X_test is None) != (y_test is None):
        raise InputError("`X_test` and `y_test` must be passed together; got only one of them.")
    check_strategy(strategy)
    rng = check_random_state(random_state)
    with reraise_as_input_error():
        n_rows = _num_samples(X)
        tests = None if X_test is None else Oracle(y_test, _num_samples(check_rows(X_test)), "y_test", "X_test")
    oracle = Oracle(y, n_rows)
    _query_start(oracle, start, n_rows, rng)
    n_start, n_last = len(oracle.rows), len(oracle.rows) + n_queries
    if n_last > n_rows:
        raise InputError(
            f"`n_queries` must be at most {n_rows - n_start}, the number of the {n_rows} rows without an initial "
            f"label; got {n_queries}."
        )
    utilities: list[Floats] = [np.zeros(0)]
    points: list[tuple[int, Ints, Labels]] = []
    while True:
        model = _fit(estimator, X, oracle, n_rows)
        pool = np.setdiff1d(np.arange(n_rows), oracle.rows)
        evaluated = pool if tests is None else np.arange(len(tests))
        predicted = _predict_pool(model, X, pool) if tests is None else model.predict(X_test)
        points.append((len(oracle.rows), evaluated, predicted))
        size = min(batch_size, n_last - len(oracle.rows))
        if not size:
            break
        result = query(model, _safe_indexing(X, pool), size, strategy, random_state=rng)
        oracle.query(pool[result.indices])
        utilities.append(result.utilities)
    order, classes, codes = np.array(oracle.rows, dtype=np.int64), *oracle.encode()
    truth = (oracle if tests is None else tests).read_all()  # now that no query can see them
    sizes = np.array([size for size, _, _ in points])
    return Simulation(
        n_labeled=sizes,
        accuracy=np.array([_accuracy(predicted, truth[rows]) for _, rows, predicted in points]),
        indices=order[n_start:],
        utilities=np.concatenate(utilities),
        initial_indices=order[:n_start],
        classes=classes,
        class_counts=np.cumsum(np.eye(len(classes), dtype=np.int64)[codes], axis=0)[sizes - 1],
    )


def _query_start(oracle: "Oracle", start: Any, n_rows: int, rng: np.random.RandomState) -> None:
    """Query the initial rows, and check that they have two classes."""
    if isinstance(start, numbers.Integral):
        check_positive("start", start, integer=True)
        n_start = int(start)
        if n_start > n_rows:
            raise InputError(f"`start` must be at most {n_rows}, the number of rows of X; got {n_start}.")
        for row in rng.permutation(n_rows):
            if len(oracle.rows) < n_start or len(set(oracle.labels)) < 2:
                oracle.query([row])
    else:
        oracle.query(_check_start(start, n_rows))
    if len(set(oracle.labels)) < 2:
        found = f"{len(oracle.rows)} rows, all of class {oracle.labels[0]!r}" if oracle.rows else "no rows"
        raise InputError(f"`start` must have rows of at least two classes; got {found}.")


def _check_start(start: Any, n_rows: int) -> Ints:
    rows = np.asarray(as_array(start, "start"))
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    rows = rows if rows.size else rows.astype(np.int64)  # an empty list has the type of floats
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(np.intersect1d(rows, np.arange(n_rows))) < len(rows):
        raise InputError(
            f"`start` must be a number of rows, or distinct indices from 0 to {n_rows - 1}; got {start!r}."
        )
    return rows


def _fit(estimator: Any, X: Any, oracle: "Oracle", n_rows: int) -> Any:
    """Return a clone fitted to the revealed labels."""
    model = clone(estimator)
    classes, codes = oracle.encode()
    rows = np.array(oracle.rows)
    if isinstance(last_step(model), CandidateClassifier):
        mask = np.ones((n_rows, len(classes)), dtype=bool)
        mask[rows] = np.eye(len(classes), dtype=bool)[codes]
        return model.fit(X, CandidateSets(mask, classes))
    order = np.argsort(rows)  # in the order of X, so that the model does not depend on the order of the queries
    return model.fit(_safe_indexing(X, rows[order]), classes[codes[order]])


def _predict_pool(model: Any, X: Any, rows: Ints) -> Labels:
    """Return the predicted labels of unlabeled rows of X."""
    if not len(rows):
        return np.empty(0)
    last = last_step(model)
    if isinstance(last, CandidateClassifier) and hasattr(last, "transduction_"):
        return np.asarray(last.transduction_)[rows]
    return np.asarray(model.predict(_safe_indexing(X, rows)))


def _accuracy(predicted: Labels, truth: Labels) -> float:
    """Return the fraction of correct labels, over the rows with a known truth."""
    pairs = [(a, b) for a, b in zip(np.asarray(predicted).tolist(), truth.tolist(), strict=True) if not is_missing(b)]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan


class Oracle:
    """Column of true labels that reads the labels of queried rows only.

    Parameters
    ----------
    y : sequence of length n_samples
        Any object that returns the label of row i as ``y[i]``, or as ``y.iloc[i]`` like pandas.
    n_rows : int
        Number of rows of X.
    name, rows_name : str
        Names of `y` and X in errors.

    Raises
    ------
    InputError
        If `y` does not have one label for each row.
    """

    def __init__(self, y: Any, n_rows: int, name: str = "y", rows_name: str = "X") -> None:
        self._column = getattr(y, "iloc", y)
        is_column = len(getattr(y, "shape", (0,))) == 1 and hasattr(self._column, "__getitem__")
        if isinstance(y, CandidateSets) or not is_column:
            raise InputError(f"`{name}` must be a column with the true label of each row; got {type(y).__name__}.")
        if len(y) != n_rows:
            raise InputError(
                f"`{name}` must have one label for each of the {n_rows} rows of `{rows_name}`; got {len(y)} labels."
            )
        self._n_rows, self._name = n_rows, name
        self.rows: list[int] = []
        self.labels: list[Any] = []

    def __len__(self) -> int:
        return self._n_rows

    def query(self, rows: Iterable[int]) -> None:
        """Reveal the labels of rows; raise LabelError if a row has no label."""
        for row in map(int, rows):
            label = self._read(row)
            if not isinstance(label, Hashable):
                raise LabelError(f"`{self._name}[{row}]` must be the one true label of the row; got {label!r}.")
            if is_missing(label):
                raise LabelError(f"row {row} was queried, but `y` has no label for it. Remove rows without a label.")
            self.rows.append(row)
            self.labels.append(label)

    def encode(self) -> tuple[Labels, Ints]:
        """Return the classes of the revealed labels, sorted, and the codes of these labels in the order of queries."""
        classes = pack_classes(sort_labels(set(self.labels)))
        return classes, encode_labels(pack_classes(self.labels), classes)[0]

    def read_all(self) -> Labels:
        """Return the labels of all rows, queried or not."""
        labels = np.full(self._n_rows, None, dtype=object)
        for row in range(self._n_rows):  # a list among them is one element
            labels[row] = self._read(row)
        return labels

    def _read(self, row: int) -> Any:
        label = self._column[row]
        return label.item() if isinstance(label, np.generic) else label
