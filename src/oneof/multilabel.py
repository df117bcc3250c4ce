"""Documents with several topics at once: one classifier a topic, judged where precision and recall are equal."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.metrics import precision_recall_breakeven_point
from oneof.typing import Floats, Ints, Mask
from oneof.validation import as_array, check_bool, check_estimator

__all__ = ["TopicScores", "breakeven_score"]


class TopicScores(NamedTuple):
    """How well topics were told from the rest.

    Attributes
    ----------
    break_even : ndarray of shape (n_topics,)
        Precision = recall for each topic, over the rows that were judged.
    mean : float
        Their mean, in which every topic weighs the same.

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
    """Learn every topic against the rest from some rows, and judge the ranking of the others.

    For each column of `Y` a clone of the estimator learns the labels 0 and 1 of the labeled rows. The other rows are
    ranked by how surely they have the topic; the measure is the precision/recall break-even point of this ranking.

    Parameters
    ----------
    estimator : classifier
        Of scikit-learn or oneof, with `decision_function`, `predict_log_proba` or `predict_proba`; never fitted itself.
    X : array-like, sparse matrix, DataFrame or list of length n_samples
        Rows as the estimator takes them: for a pipeline that begins with a vectorizer, texts. It is fitted anew for
        each topic, the vectorizer too, on the same texts; of many topics, vectorize first and give the features.
    Y : array-like or sparse matrix of shape (n_samples, n_topics)
        1 (or True) where a row has a topic, 0 elsewhere; rows may have several topics, or none.
    labeled : array-like of int, or of bool and of length n_samples
        The rows whose topics may be learned from.
    transductive : bool
        If True, the other rows take part in `fit` as unlabeled rows, -1, and where the fitted model has
        ``label_distributions_``, as methods on graphs have, these are the scores. If False, the model meets them
        only afterwards.

    Returns
    -------
    TopicScores
        The tuple (break_even, mean).

    Raises
    ------
    InputError
        If shapes do not fit; if a topic occurs in none or in all of the labeled rows, or in none of the others; if
        the estimator has no scores, or takes -1 for a class; if `transductive` is neither True nor False.
    InputTypeError
        If there is no estimator, or X is no table.

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
    truth = _read_topics(Y)
    rows, others = _split(labeled, len(truth))
    is_table = sp.issparse(X) or (hasattr(X, "__getitem__") and getattr(X, "shape", None) != ())
    if not is_table or isinstance(X, str | bytes | dict | type):
        raise InputTypeError(f"X is of type {type(X).__name__}: give a table with a row for each document.")
    X = X.tocsr() if sp.issparse(X) else np.asarray(X) if isinstance(X, memoryview) else X
    if (n_rows := X.shape[0] if hasattr(X, "shape") else len(X)) != len(truth):
        raise InputError(f"X has {n_rows} rows, but Y has {len(truth)}: give the topics of every row.")
    _check_occurrence(truth, rows, others)
    with reraise_as_input_error():
        learnt_from, judged = _safe_indexing(X, rows), _safe_indexing(X, others)
    found = np.empty(truth.shape[1])
    for k, has_topic in enumerate(truth.T):
        if transductive:
            y = np.full(len(truth), -1)
            y[rows] = has_topic[rows]
            model = clone(estimator).fit(X, y)
        else:
            model = clone(estimator).fit(learnt_from, has_topic[rows].astype(int))
        if set(np.asarray(model.classes_).tolist()) != {0, 1}:
            raise InputError(
                f"{type(estimator).__name__} takes -1 for a class, not for unlabeled rows: pass transductive=False."
            )
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        if transductive and hasattr(last, "label_distributions_"):
            scores = np.asarray(last.label_distributions_, dtype=float)[others, 1]
        else:
            scores = _scores(model, judged)
        found[k] = precision_recall_breakeven_point(has_topic[others], scores)
    return TopicScores(found, float(found.mean()))


def _read_topics(Y: Any) -> Mask:
    truth = as_array(Y, "Y")
    if truth.ndim != 2 or not truth.shape[1]:
        raise InputError(f"Y has shape {truth.shape}, expected (n_samples, n_topics): a column of 0 and 1 a topic.")
    if not np.isin(truth, (0, 1)).all():
        row, column = np.argwhere(~np.isin(truth, (0, 1)))[0].tolist()
        raise InputError(f"Y holds {truth[row, column]} in row {row}, column {column}: give 0 or 1.")
    return truth.astype(bool)


def _split(labeled: Any, n_rows: int) -> tuple[Ints, Ints]:
    """Return the labeled rows and the others, both in order."""
    named = as_array(labeled, "labeled")
    if named.dtype == bool:
        if named.shape != (n_rows,):
            raise InputError(
                f"labeled has shape {named.shape}, expected ({n_rows},): say of every row, or give numbers."
            )
        mask = named
    else:
        if (
            named.ndim != 1
            or named.dtype.kind not in "iu"
            or (named.size and not 0 <= named.min() <= named.max() < n_rows)
        ):
            raise InputError(
                f"labeled should name rows by numbers from 0 to {n_rows - 1}, or say yes or no of every row."
            )
        mask = np.zeros(n_rows, dtype=bool)
        mask[named] = True
    return np.flatnonzero(mask), np.flatnonzero(~mask)


def _check_occurrence(truth: Mask, rows: Ints, others: Ints) -> None:
    """Raise unless every topic can be learned and judged."""
    counts = truth[rows].sum(axis=0)
    for lacking, what in (
        (counts == 0, "occurs in no labeled row: label one that has it, or leave the column out"),
        (counts == len(rows), "occurs in every labeled row: label one without it, or leave the column out"),
        (
            truth[others].sum(axis=0) == 0,
            "occurs in none of the other rows, on which it is judged: leave the column out",
        ),
    ):
        if lacking.any():
            raise InputError(f"the topic of column {int(np.flatnonzero(lacking)[0])} of Y {what}.")


def _scores(model: Any, X: Any) -> Floats:
    """Return scores that rise with the probability of class 1; differences of logarithms, where there are any."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=float)
        return scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
    if hasattr(model, "predict_log_proba"):
        with np.errstate(divide="ignore"):  # the logarithm of a probability of 0 ranks last, as it should
            logarithms = np.asarray(model.predict_log_proba(X), dtype=float)
        return logarithms[:, 1] - logarithms[:, 0]  # near 1, probabilities can no longer be told from each other
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)[:, 1]
    raise InputError(
        f"{type(model).__name__} has neither decision_function nor predict_proba: rows cannot be ranked by it."
    )
