"""The rows of a pool whose labels to ask for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples, check_is_fitted

from oneof.active.posterior import known_of
from oneof.errors import InputError, reraise_as_input_error
from oneof.likelihoods import entropy
from oneof.solvers.graph_logistic.greedy import choose_batch
from oneof.typing import Floats, Ints
from oneof.validation import as_array, check_choice, check_positive, check_random_state


class Query(NamedTuple):
    """Rows to have labeled, the most wanted first.

    Attributes
    ----------
    indices : ndarray of shape (n,)
        Rows of the pool.
    scores : ndarray of shape (n,)
        What each was chosen by; larger is more wanted.

    Examples
    --------
    >>> from oneof.active import query
    >>> from oneof import PLKNN
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [2.0]], ["finch", "wren"])
    >>> query(model, [[0.1], [1.1], [5.0]], n=2, strategy="random", random_state=0).indices.shape
    (2,)
    """

    indices: Ints
    scores: Floats


def query(estimator: Any, X: Any, n: int = 1, strategy: str = "information", *, random_state: Any = None) -> Query:
    """Choose the rows of a pool whose labels would help most.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted. "information" needs a Laplace posterior of weights, which `GraphLogisticRegression` has; "entropy" and
        "margin" need `predict_proba`, of this library or of scikit-learn; "random" needs nothing.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The pool: rows without a label.
    n : int, default=1
        From 1 to n_samples.
    strategy : {"information", "entropy", "margin", "random"}, default="information"
        * "information": the mutual information between the row's label and the weights, in nats; of a batch, that of
          all its labels together, chosen greedily: the score of a row is what it adds to those before it.
        * "entropy": of the row's class probabilities, in nats.
        * "margin": 1 less the difference between the two largest probabilities, from 0 to 1.
        * "random": rows drawn without replacement; scores are uniform numbers.
    random_state : int, RandomState instance or None
        For "random".

    Returns
    -------
    Query
        The tuple (indices, scores). Ties go to the lowest index.

    Raises
    ------
    InputError
        If the pool is empty or smaller than `n`, or the estimator cannot serve the strategy.
    NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    The information is 1/2 log det(I + (diag p - p p^T) M), with M = (I kron x)^T H^-1 (I kron x) and H the precision of
    the Laplace posterior; for two classes 1/2 log(1 + p (1 - p) x^T H^-1 x). It is large where the class is uncertain
    and the classifier is too: a row whose class is a matter of chance, and known to be, tells little. A row with
    several views has a likelihood for each of them, and one determinant of them all; the precision holds how far views
    agree. It is assumed that the label will not move the weights, whatever it is.

    The rows of a batch must not tell the same thing. After each choice the precision grows by the curvature of its
    likelihood, which does not depend on the label; the informations of the others follow by downdates of their M.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 5.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from oneof.active import query
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    >>> query(model, [[-3.0], [0.6], [2.0]], n=2, strategy="entropy").indices.tolist()
    [1, 2]
    """
    check_strategy(strategy)
    pool, n_rows = read_pool(X, n)
    if strategy == "random":
        return _largest(check_random_state(random_state).random_sample(n_rows), n)
    if strategy == "information":
        known = known_of(estimator, pool)
        return Query(*choose_batch(known.posterior, known.lookup, n_rows, int(n)))
    score = _SCORES[strategy]
    assert score is not None
    return _largest(score(_probabilities(estimator, pool, strategy)), n)


def read_rows(X: Any) -> Any:
    """Return rows that can be indexed."""
    if sp.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") and not isinstance(X, memoryview) else as_array(X, "X")


def read_pool(X: Any, n: int) -> tuple[Any, int]:
    """Return the rows of a pool and their number, after refusing to choose `n` of them where that is impossible."""
    check_positive("n", n, integer=True)
    pool = read_rows(X)
    with reraise_as_input_error():
        n_rows = _num_samples(pool)
    if n_rows == 0:
        raise InputError("the pool is empty: X needs at least one row to choose from.")
    if n > n_rows:
        raise InputError(f"n={n} rows are asked for, but the pool has {n_rows}: ask for at most {n_rows}.")
    return pool, n_rows


def _entropy(shares: Floats) -> Floats:
    return np.asarray(entropy(shares))


def _margin(shares: Floats) -> Floats:
    if shares.shape[1] < 2:
        return np.zeros(len(shares))
    top = np.partition(shares, -2, axis=1)
    return 1.0 - (top[:, -1] - top[:, -2])


_SCORES: dict[str, Callable[[Floats], Floats] | None] = {
    "information": None,
    "entropy": _entropy,
    "margin": _margin,
    "random": None,
}
"""The strategies, with the score of those that go by probabilities alone."""


def _largest(scores: Floats, n: int) -> Query:
    rows = np.argsort(-scores, kind="stable")[:n]
    return Query(rows, scores[rows])


def check_strategy(strategy: Any) -> None:
    """Raise where there is no such strategy."""
    check_choice("strategy", strategy, tuple(_SCORES))


def _probabilities(estimator: Any, pool: Any, strategy: str) -> Floats:
    with reraise_as_input_error():
        check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba, which strategy={strategy!r} needs: "
            "take strategy='random', or an estimator of probabilities."
        )
    shares = np.asarray(estimator.predict_proba(pool), dtype=np.float64)
    unknown = np.flatnonzero(~np.isfinite(shares).all(axis=1))
    if len(unknown):
        raise InputError(
            f"row {unknown[0]} of the pool has probabilities that are not finite: leave it out, or mend its values."
        )
    return shares
