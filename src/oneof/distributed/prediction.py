"""Predictions over blocks of rows: lazy functions from dask collections to dask arrays.

They take any fitted estimator whose predictions for a row do not depend on the other rows.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oneof.distributed.blocks import DelayedBlocks, block_error_context, labels_to_delayed, rows_to_delayed
from oneof.distributed.reduction import delayed_task, shared
from oneof.errors import InputTypeError
from oneof.estimators.base import Disambiguation
from oneof.typing import Labels

Output: TypeAlias = tuple[Any, tuple[int, ...]]
"""Type and shape of the result for a row."""


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
    return _map_blocks(estimator, "predict", X, (_classes(estimator).dtype, ()))[0]


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
    return _map_blocks(estimator, "predict_proba", X, (np.float64, _classes(estimator).shape))[0]


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
    shape = _classes(estimator).shape
    return _map_blocks(estimator, "decision_function", X, (np.float64, () if shape == (2,) else shape))[0]


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
    outputs = (_classes(estimator).dtype, ()), (np.float64, ())
    return Disambiguation(*_map_blocks(estimator, "disambiguate", X, *outputs, y=y))


def _classes(estimator: Any) -> Labels:
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"`estimator` must be a fitted estimator; got {estimator!r}.")
    check_is_fitted(estimator)
    return np.asarray(estimator.classes_)


def _map_blocks(estimator: Any, method: str, X: Any, *outputs: Output, y: Any = None) -> list[Any]:
    """Return the outputs of a method, each as a dask array in the blocks of X."""
    if not hasattr(estimator, method):
        raise InputTypeError(f"`estimator` must have the method {method}; {type(estimator).__name__} does not have it.")
    rows, model = rows_to_delayed(X), shared(estimator)
    labels = [] if y is None else [labels_to_delayed(y, rows, estimator.classes_).blocks]
    tasks = [
        delayed_task(_call_method, number, model, method, outputs, *blocks, nout=len(outputs))
        for number, blocks in enumerate(zip(rows.blocks, *labels, strict=True))
    ]
    return [_concatenate(parts, rows, *output) for parts, output in zip(zip(*tasks), outputs)]


def _concatenate(tasks: Sequence[Any], rows: DelayedBlocks, dtype: Any, width: tuple[int, ...]) -> Any:
    import dask.array as da

    lengths: list[float] = [*rows.lengths] if rows.lengths else [float("nan") for _ in tasks]
    blocks = zip(tasks, lengths, strict=True)
    return da.concatenate([da.from_delayed(task, shape=(length, *width), dtype=dtype) for task, length in blocks])


def _call_method(
    number: int, estimator: Any, method: str, outputs: Sequence[Output], X: Any, *y: Any
) -> tuple[Any, ...]:
    if X.shape[0] == 0:
        return tuple(np.empty((0, *width), dtype=dtype) for dtype, width in outputs)
    with block_error_context(number):
        result = getattr(estimator, method)(X, *y)
    arrays = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(array).astype(dtype, copy=False) for array, (dtype, _) in zip(arrays, outputs, strict=True))
