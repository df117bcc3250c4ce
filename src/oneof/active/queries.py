"""Selection of the rows of a pool to label next."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from oneof.active.answer_models import AnswerModel
from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators.base import last_step
from oneof.likelihoods import entropy
from oneof.solvers.active import Posterior, ViewInstances, ViewLookup, select_batch
from oneof.typing import Floats, Ints, Labels
from oneof.validation import as_array, as_float_array, check_choice, check_instance, check_positive, check_random_state

STRATEGIES = ("mutual_information", "entropy", "margin", "random")


class Query(NamedTuple):
    """Rows to label, in decreasing order of utility.

    Attributes
    ----------
    indices : ndarray of shape (batch_size,)
        Rows of the pool.
    utilities : ndarray of shape (batch_size,)
        The criterion of the strategy for each row, times the density; larger is better.

    Examples
    --------
    >>> from oneof.active import query
    >>> from oneof import PLKNN
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [2.0]], ["finch", "wren"])
    >>> query(model, [[0.1], [1.1], [5.0]], batch_size=2, strategy="random", random_state=0).indices.shape
    (2,)
    """

    indices: Ints
    utilities: Floats


def query(
    estimator: Any,
    X: Any,
    batch_size: int = 1,
    strategy: str = "mutual_information",
    *,
    answer_model: AnswerModel | None = None,
    density: Any = None,
    random_state: Any = None,
) -> Query:
    """Select the most informative rows of a pool.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted estimator. "mutual_information" requires a Laplace posterior of the weights, which
        `GraphLogisticRegression` has. "entropy" and "margin" require `predict_proba`, of this library or of
        scikit-learn. "random" has no requirement.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The pool: rows without a label.
    batch_size : int, default=1
        Number of rows to select, from 1 to n_samples.
    strategy : {"mutual_information", "entropy", "margin", "random"}, default="mutual_information"
        * "mutual_information": the mutual information between the row's label and the weights, in nats. A batch
          maximizes the joint information of its labels greedily; the utility of a row is its increment.
        * "entropy": the entropy of the row's class probabilities, in nats.
        * "margin": 1 minus the difference between the two largest probabilities, from 0 to 1.
        * "random": rows drawn without replacement; utilities are uniform random numbers.
    answer_model : AnswerModel, optional
        Probabilities of answers of one label or two. The information is then that of the answer. By default an answer
        is the label. For "mutual_information" only.
    density : array-like of shape (n_samples,), optional
        Factors above 0 of the information of each row, such as `local_density`. For "mutual_information" only.
    random_state : int, RandomState instance or None
        Seed of "random".

    Returns
    -------
    Query
        The tuple (indices, utilities). Of rows with equal utilities, the first is selected.

    Raises
    ------
    InputError
        If the pool is empty or smaller than `batch_size`, or the estimator does not meet the strategy's requirement.
    NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    The information is 1/2 log det(I + (diag p - p p^T) M), with M = (I kron x)^T H^-1 (I kron x) and H the precision of
    the Laplace posterior; for two classes it is 1/2 log(1 + p (1 - p) x^T H^-1 x). It is large if both the class and
    the classifier are uncertain. A row whose probability of 1/2 is certain has little information. A row with several
    views has a likelihood for each of them, and one determinant for all; the precision includes the coregularization of
    the views. The weights are assumed not to change with the label.

    The answer of an annotator has the mean curvature F instead of diag p - p p^T; F = S M S, with S = diag p - p p^T,
    M = sum_A b_A b_A^T / p_A, b_A the probabilities of the answer A given each label and p_A its total probability. It
    is 0 if the answer is independent of the label, and never more informative than the label.

    The rows of a batch should not be redundant. After each selection the precision grows by the curvature of the row's
    likelihood, which does not depend on the label. The information of the other rows follows by downdates of their M.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 5.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from oneof.active import query
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    >>> query(model, [[-3.0], [0.6], [2.0]], batch_size=2, strategy="entropy").indices.tolist()
    [1, 2]
    """
    check_strategy(strategy)
    pool, n_rows = check_pool(X, batch_size)
    if strategy != "mutual_information" and (answer_model is not None or density is not None):
        raise InputError(f'`answer_model` and `density` require strategy="mutual_information"; got {strategy!r}.')
    if strategy == "random":
        return _top_n(check_random_state(random_state).random_sample(n_rows), batch_size)
    if strategy == "mutual_information":
        model = get_posterior(estimator, pool)
        rates = None if answer_model is None else _check_answer_model(answer_model, model.classes).rates
        factors = None if density is None else _check_density(density, n_rows)
        return Query(*select_batch(model.posterior, model.get_views, n_rows, int(batch_size), rates, factors))
    proba = _predict_proba(estimator, pool, strategy)
    return _top_n(entropy(proba) if strategy == "entropy" else _margin(proba), batch_size)


def check_rows(X: Any) -> Any:
    """Return rows that can be indexed."""
    if sp.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") and not isinstance(X, memoryview) else as_array(X, "X")


def check_pool(X: Any, batch_size: int) -> tuple[Any, int]:
    """Return the rows of a pool and their number; raise InputError if it has fewer than `batch_size` rows."""
    check_positive("batch_size", batch_size, integer=True)
    pool = check_rows(X)
    with reraise_as_input_error():
        n_rows = _num_samples(pool)
    if n_rows == 0:
        raise InputError("`X` must have at least one row to select from; got an empty pool.")
    if batch_size > n_rows:
        raise InputError(f"`batch_size` must be at most {n_rows}, the number of rows of the pool; got {batch_size}.")
    return pool, n_rows


def _check_answer_model(answer_model: Any, classes: Labels) -> AnswerModel:
    check_instance("answer_model", answer_model, AnswerModel)
    if list(answer_model.classes) != list(classes):
        raise InputError("`answer_model` must have the classes of the estimator: estimate it from sets with these.")
    return answer_model


def _check_density(density: Any, n_rows: int) -> Floats:
    factors = as_float_array(density, "density")
    if factors.shape != (n_rows,) or not (np.isfinite(factors) & (factors > 0)).all():
        raise InputError(f"`density` must have a finite number above 0 for each of the {n_rows} rows.")
    return factors


def _margin(proba: Floats) -> Floats:
    if proba.shape[1] < 2:
        return np.zeros(len(proba))
    top = np.partition(proba, -2, axis=1)
    return 1.0 - (top[:, -1] - top[:, -2])


def _top_n(utilities: Floats, n: int) -> Query:
    rows = np.argsort(-utilities, kind="stable")[:n]
    return Query(rows, utilities[rows])


def check_strategy(strategy: Any) -> None:
    """Raise InputError if there is no such strategy."""
    check_choice("strategy", strategy, STRATEGIES)


def _predict_proba(estimator: Any, pool: Any, strategy: str) -> Floats:
    with reraise_as_input_error():
        check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f'`strategy="{strategy}"` requires predict_proba, which {type(estimator).__name__} does not have. '
            'Pass strategy="random", or an estimator with predict_proba.'
        )
    proba = np.asarray(estimator.predict_proba(pool), dtype=np.float64)
    broken = np.flatnonzero(~np.isfinite(proba).all(axis=1))
    if len(broken):
        row = broken[0]
        raise InputError(f"row {row} of the pool has probabilities that are not finite. Correct or remove the row.")
    return proba


# -- the posterior of an estimator ----------------------------------------------------------------------------------


class PosteriorQuery(NamedTuple):
    """Posterior of a fitted estimator, the views of the rows of a pool, and the classes."""

    posterior: Posterior
    get_views: ViewLookup
    classes: Labels


def get_posterior(estimator: Any, pool: Any) -> PosteriorQuery:
    """Return the posterior of an estimator with ``posterior_`` and ``posterior_features``, or of such a pipeline.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted.
    pool : array, DataFrame or CSR matrix of shape (n_rows, n_features)
        Rows to query.

    Returns
    -------
    PosteriorQuery

    Raises
    ------
    InputError
        If the estimator has no posterior.
    NotFittedError
        If it is not fitted.
    """
    last = last_step(estimator)
    if not hasattr(last, "posterior_features"):
        raise InputError(
            f"Queries by mutual information require a posterior of the weights, which {type(last).__name__} does not "
            'have. Pass strategy="entropy", "margin" or "random", or a GraphLogisticRegression.'
        )
    check_is_fitted(estimator)
    preprocessing = estimator[:-1] if isinstance(estimator, Pipeline) and len(estimator) > 1 else None

    def get_views(rows: Ints) -> list[ViewInstances]:
        block = _safe_indexing(pool, rows)
        block = block if preprocessing is None else preprocessing.transform(block)
        views = [ViewInstances(*view) for view in last.posterior_features(block)]
        for view in views:
            _check_finite(view, rows)
        return views

    return PosteriorQuery(last.posterior_, get_views, last.classes_)


def _check_finite(view: ViewInstances, rows: Ints) -> None:
    """Raise InputError at the first row of the pool with an instance that is not finite."""
    values = view.features.data if sp.issparse(view.features) else view.features
    if not np.isfinite(values).all():
        broken = ~np.isfinite(np.asarray(abs(view.features).sum(axis=1))).ravel()
        raise InputError(
            f"row {rows[view.rows[broken][0]]} of the pool has NaN or infinity in some features. Correct them, remove "
            "the row, or, for a view that the row lacks, set all features of the view to NaN."
        )
