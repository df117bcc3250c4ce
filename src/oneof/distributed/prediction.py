"""Predictions by blocks: dask collections in, dask arrays out, and nothing is worked out before it is asked for.

Any fitted estimator will do whose predictions for a row do not depend on the other rows.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oneof.distributed.blocks import in_block
from oneof.distributed.collections import Parts, parts_of_labels, parts_of_rows, require_dask
from oneof.distributed.reduction import shared, task
from oneof.errors import InputTypeError
from oneof.estimators.base import Disambiguation


def predict(estimator: Any, X: Any) -> Any:
    """Predict one class for each row.

    Parameters
    ----------
    estimator : fitted estimator
        Sent to the workers once.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples,)
        In the blocks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import CLPL, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = CLPL().fit(X.compute(), [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> distributed.predict(model, X).compute().tolist()
    ['a', 'a', 'b', 'b']
    """
    return _by_rows(estimator, X, "predict", np.asarray(_classes(estimator)).dtype)


def predict_proba(estimator: Any, X: Any) -> Any:
    """Return the probabilities of the classes, a dask array of shape (n_samples, n_classes) in the blocks of X.

    Parameters
    ----------
    estimator : fitted estimator
        With `predict_proba`.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples, n_classes)
        In the blocks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import PLEM, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = PLEM().fit(X.compute(), [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> distributed.predict_proba(model, X).sum(axis=1).round(6).compute().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _by_rows(estimator, X, "predict_proba", np.float64, len(_classes(estimator)))


def decision_function(estimator: Any, X: Any) -> Any:
    """Return the scores of the classes in the blocks of X.

    Parameters
    ----------
    estimator : fitted estimator
        With `decision_function`.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples, n_classes), or (n_samples,) for two classes

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import CLPL, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = CLPL().fit(X.compute(), [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> distributed.decision_function(model, X).shape
    (4, 3)
    """
    n_classes = len(_classes(estimator))
    return _by_rows(estimator, X, "decision_function", np.float64, *([n_classes] if n_classes > 2 else []))


def disambiguate(estimator: Any, X: Any, y: Any) -> Disambiguation:
    """Name the most probable member of each row's candidate set.

    Parameters
    ----------
    estimator : fitted estimator
    X : dask array or DataFrame of shape (n_samples, n_features)
    y : dask array, Series or DataFrame, or any form of labels that `fit` takes
        With the blocks of X; over the classes of the estimator.

    Returns
    -------
    Disambiguation
        The tuple (labels, confidence) of dask arrays of shape (n_samples,).

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import CLPL, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> y = [["a"], ["a", "c"], ["b"], ["b", "c"]]
    >>> labels, confidence = distributed.disambiguate(CLPL().fit(X.compute(), y), X, y)
    >>> labels.compute().tolist()
    ['a', 'a', 'b', 'b']
    """
    require_dask()
    rows = parts_of_rows(X)
    classes = _classes(estimator)
    sets = parts_of_labels(y, rows, classes)
    model = shared(estimator)
    pairs = [
        task(_disambiguated, number, model, part, own, nout=2)
        for number, (part, own) in enumerate(zip(rows.parts, sets.parts, strict=True))
    ]
    dtype = np.asarray(classes).dtype
    return Disambiguation(
        _joined([labels for labels, _ in pairs], rows, dtype, ()),
        _joined([confidence for _, confidence in pairs], rows, np.float64, ()),
    )


def _classes(estimator: Any) -> Any:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"{estimator!r} is no estimator: give one that is fitted.")
    check_is_fitted(estimator)
    return estimator.classes_


def _by_rows(estimator: Any, X: Any, method: str, dtype: Any, *width: int) -> Any:
    require_dask()
    if not hasattr(estimator, method):
        raise InputTypeError(f"{type(estimator).__name__} has no {method}: choose another of its methods.")
    rows, model = parts_of_rows(X), shared(estimator)
    parts = [task(_called, number, model, method, part, dtype, width) for number, part in enumerate(rows.parts)]
    return _joined(parts, rows, dtype, width)


def _joined(parts: list[Any], rows: Parts, dtype: Any, width: tuple[int, ...]) -> Any:
    import dask.array as da

    lengths: list[float] = [*rows.lengths] if rows.lengths else [float("nan") for _ in parts]
    arrays = [
        da.from_delayed(part, shape=(length, *width), dtype=dtype) for part, length in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, axis=0)


def _called(number: int, estimator: Any, method: str, X: Any, dtype: Any, width: tuple[int, ...]) -> Any:
    if X.shape[0] == 0:
        return np.empty((0, *width), dtype=dtype)
    with in_block(number):
        return np.asarray(getattr(estimator, method)(X)).astype(dtype, copy=False)


def _disambiguated(number: int, estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    if X.shape[0] == 0:
        return np.empty(0, dtype=np.asarray(estimator.classes_).dtype), np.empty(0)
    with in_block(number):
        return tuple(estimator.disambiguate(X, y))
