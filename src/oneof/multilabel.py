"""Multi-label evaluation of documents with several topics: one classifier per topic and its break-even point."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.metrics import precision_recall_breakeven_point
from oneof.typing import Floats, Mask
from oneof.validation import as_array, as_float_array, check_bool, check_estimator

__all__ = ["TopicScores", "breakeven_score"]


class TopicScores(NamedTuple):
    """Break-even points of several topics.

    Attributes
    ----------
    break_even : ndarray of shape (n_topics,)
        Value at which precision equals recall for each topic, over the evaluated rows.
    mean : float
        Unweighted mean over the topics.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.multilabel import TopicScores
    >>> TopicScores(np.array([1.0, 0.5]), 0.75).mean
    0.75
    """

    break_even: Floats
    mean: float


def breakeven_score(estimator: Any, X: Any, Y: Any, labeled: Any, *, transductive: bool) -> TopicScores:
    """Fit one classifier per topic on the labeled rows, and evaluate its ranking of the other rows.

    For each column of `Y` a clone of the estimator is fitted to the labels 0 and 1 of the labeled rows. The other rows
    are ranked by their score for the topic. The metric is the precision/recall break-even point of this ranking.

    Parameters
    ----------
    estimator : classifier
        Classifier of scikit-learn or oneof with `decision_function`, `predict_log_proba` or `predict_proba`. Only
        clones of it are fitted.
    X : array-like, sparse matrix, DataFrame or list of length n_samples
        Rows in a form that the estimator takes: texts for a pipeline that begins with a vectorizer. The pipeline is
        fitted for each topic, including the vectorizer. For many topics, vectorize first and pass the features.
    Y : array-like or sparse matrix of shape (n_samples, n_topics)
        1 (or True) if a row has a topic, 0 otherwise; rows may have several topics, or none.
    labeled : array-like of int, or of bool and of length n_samples
        The labeled rows, whose topics are used in `fit`.
    transductive : bool
        If True, `fit` receives the other rows as unlabeled rows, -1. If the fitted model has
        ``label_distributions_``, such as methods on graphs, these are the scores. If False, `fit` receives only the
        labeled rows.

    Returns
    -------
    TopicScores
        The tuple (break_even, mean).

    Raises
    ------
    InputError
        If shapes do not match; if a topic occurs in none or in all of the labeled rows, or in none of the others; if
        the estimator has no scores, or treats -1 as a class; if `transductive` is neither True nor False.
    InputTypeError
        If `estimator` is not an estimator, or X is not a table.

    References
    ----------
    Joachims (1999), Transductive inference for text classification using support vector machines, ICML.

    Examples
    --------
    >>> from oneof.text import make_vectorizer
    >>> from oneof.multilabel import breakeven_score
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["wheat and corn", "oil prices", "ships with oil", "corn", "an oil tanker", "wheat harvest"]
    >>> grain_and_crude = [[1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0]]
    >>> model = make_pipeline(make_vectorizer(), MultinomialNB())
    >>> breakeven_score(model, texts, grain_and_crude, [0, 1, 2], transductive=False)
    TopicScores(break_even=array([1., 1.]), mean=1.0)
    """
    check_estimator(estimator)
    check_bool("transductive", transductive)
    truth = _check_topics(Y)
    is_labeled = _labeled_mask(labeled, len(truth))
    is_table = sp.issparse(X) or (hasattr(X, "__getitem__") and getattr(X, "shape", None) != ())
    if not is_table or isinstance(X, str | bytes | dict | type):
        raise InputTypeError(f"`X` must be a table with one row for each document; got {type(X).__name__}.")
    X = X.tocsr() if sp.issparse(X) else np.asarray(X) if isinstance(X, memoryview) else X
    if (n_rows := X.shape[0] if hasattr(X, "shape") else len(X)) != len(truth):
        raise InputError(f"`Y` must have one row for each row of X; X has {n_rows} rows, but Y has {len(truth)}.")
    _check_occurrence(truth[is_labeled], truth[~is_labeled])
    with reraise_as_input_error():
        X_labeled, X_other = (_safe_indexing(X, np.flatnonzero(rows)) for rows in (is_labeled, ~is_labeled))
    break_even = np.empty(truth.shape[1])
    for k, has_topic in enumerate(truth.T):
        if transductive:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "-1 is read as unlabeled")  # as intended
                model = clone(estimator).fit(X, np.where(is_labeled, has_topic, -1))
        else:
            model = clone(estimator).fit(X_labeled, has_topic[is_labeled].astype(int))
        if set(np.asarray(model.classes_).tolist()) != {0, 1}:
            name = type(estimator).__name__
            raise InputError(f"`transductive` must be False for {name}, which treats -1 as a class.")
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        if transductive and hasattr(last, "label_distributions_"):
            scores = np.asarray(last.label_distributions_, dtype=float)[~is_labeled, 1]
        else:
            scores = _scores(model, X_other)
        break_even[k] = precision_recall_breakeven_point(has_topic[~is_labeled], scores)
    return TopicScores(break_even, float(break_even.mean()))


def _check_topics(Y: Any) -> Mask:
    truth = as_float_array(Y, "Y")
    if truth.ndim != 2 or not truth.shape[1]:
        raise InputError(f"`Y` must have shape (n_samples, n_topics), one column for each topic; got {truth.shape}.")
    if not np.isin(truth, (0, 1)).all():
        row, column = np.argwhere(~np.isin(truth, (0, 1)))[0].tolist()
        raise InputError(f"`Y` must be 0 or 1; got {truth[row, column]} in row {row}, column {column}.")
    return truth.astype(bool)


def _labeled_mask(labeled: Any, n_rows: int) -> Mask:
    """Return the mask of the labeled rows."""
    selector = as_array(labeled, "labeled")
    is_index = selector.ndim == 1 and (selector.dtype.kind in "iu" or not selector.size)
    if selector.dtype == bool and selector.shape == (n_rows,):
        return selector
    if not is_index or (selector.size and not 0 <= selector.min() <= selector.max() < n_rows):
        raise InputError(f"`labeled` must be row indices, integers from 0 to {n_rows - 1}, or a boolean for each row.")
    return np.isin(np.arange(n_rows), selector)


def _check_occurrence(labeled: Mask, others: Mask) -> None:
    """Raise unless every topic can be fitted to the labeled rows and evaluated on the others, (rows, topics) each."""
    for is_missing, problem in (
        (~labeled.any(axis=0), "occurs in no labeled row. Label a row that has it, or drop the column"),
        (labeled.all(axis=0), "occurs in every labeled row. Label a row without it, or drop the column"),
        (~others.any(axis=0), "occurs in none of the other rows, on which it is evaluated. Drop the column"),
    ):
        if is_missing.any():
            raise InputError(f"the topic of column {int(is_missing.argmax())} of Y {problem}.")


def _scores(model: Any, X: Any) -> Floats:
    """Return scores that increase with the probability of class 1; differences of logarithms if available."""
    for method in ("decision_function", "predict_log_proba", "predict_proba"):
        if hasattr(model, method):
            with np.errstate(divide="ignore"):  # the logarithm of a probability of 0 ranks last
                scores = np.asarray(getattr(model, method)(X), dtype=float)
            if scores.ndim == 1:
                return scores
            # Probabilities near 1 would be tied by rounding, their logarithms are not.
            return scores[:, 1] if method == "predict_proba" else scores[:, 1] - scores[:, 0]
    name = type(model).__name__
    raise InputError(f"`estimator` must have decision_function, predict_log_proba or predict_proba; {name} has none.")
