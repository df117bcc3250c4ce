"""Predictions over blocks of rows: lazy functions from dask collections to dask arrays.

They take any fitted estimator whose predictions for a row do not depend on the other rows.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oneof.distributed.blocks import (
    DelayedBlocks,
    block_error_context,
    labels_to_delayed,
    require_dask,
    rows_to_delayed,
)
from oneof.distributed.reduction import delayed_task, shared
from oneof.errors import InputTypeError
from oneof.estimators.base import Disambiguation


def predict(estimator: Any, X: Any) -> Any:
    """Predict one class for each row.

    Parameters
    ----------
    estimator : fitted estimator
        It is sent to the workers once.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples,)
        The labels, in the blocks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import CLPL, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = CLPL().fit(X.compute(), [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> distributed.predict(model, X).compute().tolist()
    ['a', 'a', 'b', 'b']
    """
    return _map_blocks(estimator, X, "predict", np.asarray(_classes(estimator)).dtype)


def predict_proba(estimator: Any, X: Any) -> Any:
    """Return the class probabilities.

    Parameters
    ----------
    estimator : fitted estimator
        It must have `predict_proba`.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples, n_classes)
        The probabilities, in the blocks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import PLEM, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = PLEM().fit(X.compute(), [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> distributed.predict_proba(model, X).sum(axis=1).round(6).compute().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _map_blocks(estimator, X, "predict_proba", np.float64, len(_classes(estimator)))


def decision_function(estimator: Any, X: Any) -> Any:
    """Return the scores of the classes.

    Parameters
    ----------
    estimator : fitted estimator
        It must have `decision_function`.
    X : dask array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dask array of shape (n_samples, n_classes), or (n_samples,) for two classes
        The scores, in the blocks of X.

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
    return _map_blocks(estimator, X, "decision_function", np.float64, *([n_classes] if n_classes > 2 else []))


def disambiguate(estimator: Any, X: Any, y: Any) -> Disambiguation:
    """Return the most probable candidate of each row with its confidence.

    Parameters
    ----------
    estimator : fitted estimator
    X : dask array or DataFrame of shape (n_samples, n_features)
    y : dask array, Series or DataFrame, or any form of labels that `fit` takes
        The candidate sets, in the blocks of X, over the classes of the estimator.

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
    rows = rows_to_delayed(X)
    classes = _classes(estimator)
    sets = labels_to_delayed(y, rows, classes)
    model = shared(estimator)
    pairs = [
        delayed_task(_disambiguate_block, number, model, row_block, set_block, nout=2)
        for number, (row_block, set_block) in enumerate(zip(rows.blocks, sets.blocks, strict=True))
    ]
    dtype = np.asarray(classes).dtype
    return Disambiguation(
        _concatenate([labels for labels, _ in pairs], rows, dtype, ()),
        _concatenate([confidence for _, confidence in pairs], rows, np.float64, ()),
    )


def _classes(estimator: Any) -> Any:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"`estimator` must be a fitted estimator; got {estimator!r}.")
    check_is_fitted(estimator)
    return estimator.classes_


def _map_blocks(estimator: Any, X: Any, method: str, dtype: Any, *width: int) -> Any:
    require_dask()
    if not hasattr(estimator, method):
        raise InputTypeError(f"`estimator` must have the method {method}; {type(estimator).__name__} does not have it.")
    rows, model = rows_to_delayed(X), shared(estimator)
    tasks = [
        delayed_task(_call_method, number, model, method, block, dtype, width)
        for number, block in enumerate(rows.blocks)
    ]
    return _concatenate(tasks, rows, dtype, width)


def _concatenate(tasks: list[Any], rows: DelayedBlocks, dtype: Any, width: tuple[int, ...]) -> Any:
    import dask.array as da

    lengths: list[float] = [*rows.lengths] if rows.lengths else [float("nan") for _ in tasks]
    arrays = [
        da.from_delayed(task, shape=(length, *width), dtype=dtype) for task, length in zip(tasks, lengths, strict=True)
    ]
    return da.concatenate(arrays, axis=0)


def _call_method(number: int, estimator: Any, method: str, X: Any, dtype: Any, width: tuple[int, ...]) -> Any:
    if X.shape[0] == 0:
        return np.empty((0, *width), dtype=dtype)
    with block_error_context(number):
        return np.asarray(getattr(estimator, method)(X)).astype(dtype, copy=False)


def _disambiguate_block(number: int, estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    if X.shape[0] == 0:
        return np.empty(0, dtype=np.asarray(estimator.classes_).dtype), np.empty(0)
    with block_error_context(number):
        return tuple(estimator.disambiguate(X, y))
