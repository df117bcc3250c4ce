"""Fitting estimators over the blocks of dask collections."""

from collections.abc import Callable
from typing import Any, TypeVar

from oneof.distributed.blocks import RowBlocks, require_dask
from oneof.distributed.loo_ridge import check_loo_ridge, fit_loo_ridge
from oneof.distributed.online import check_online, fit_online
from oneof.distributed.plgp import check_plgp, fit_plgp
from oneof.errors import InputTypeError
from oneof.estimators.loo_ridge import LOORidge
from oneof.estimators.online import OnlineClassifier
from oneof.estimators.plgp import PLGP

Estimator = TypeVar("Estimator")

_FIT_FUNCTIONS: tuple[tuple[type, Callable[[Any], None], Callable[[Any, RowBlocks], None]], ...] = (
    (OnlineClassifier, check_online, fit_online),
    (PLGP, check_plgp, fit_plgp),
    (LOORidge, check_loo_ridge, fit_loo_ridge),
)


def fit(estimator: Estimator, X: Any, y: Any, *, classes: Any = None) -> Estimator:
    """Fit an estimator to rows in blocks.

    `LOORidge` and `PLGP` reach the result of the ordinary `fit`. The online classifiers average the weights of the
    blocks. With one block their weights are identical to those of the ordinary `fit`; with several blocks they differ.
    The result depends on the blocks alone, not on the number of workers or on their speed.

    Tasks run according to dask's settings: on the workers of the last ``distributed.Client``, or in threads of this
    process. If a worker is lost, its tasks run again, provided that dask can load its blocks again.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos, LOORidge or PLGP
        Fitted in place. `PLGP` must have ``approximation="nystroem"``. The online classifiers take a round for each of
        their `n_epochs`.
    X : dask array or DataFrame of shape (n_samples, n_features)
        Blocks of rows, dense or CSR; some may be empty.
    y : dask array, Series, DataFrame or bag, a list of delayed blocks, or any form of labels that `fit` takes
        Labels, sets of labels as objects, or a 0/1 indicator, in the blocks of X. A delayed block may be a
        `CandidateSets`, also with weights: ``dask.delayed(CandidateSets.from_weights)(block, classes)`` for each block
        of an array of weights. Labels in memory are split in the same way as X, whose blocks must then have known
        lengths.
    classes : array-like of shape (n_classes,), optional
        The classes. Without them, an additional pass over the labels collects them.

    Returns
    -------
    estimator
        The fitted estimator, which predicts, is saved and is loaded as usual. `PLGP` has no `latent_mode_`, `LOORidge`
        no attribute with an entry for each row, and no estimator refers to the rows of `fit`.

    Raises
    ------
    InputTypeError
        If the estimator cannot be fitted over blocks, or X is not a dask collection.
    InputError
        If X, y or a parameter is invalid; the message names the block.
    MissingExtraError
        If dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import AvgPerceptron, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = distributed.fit(AvgPerceptron(), X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    >>> distributed.predict(model, X).compute().tolist()
    ['a', 'a', 'b', 'b']
    """
    require_dask()
    for estimator_type, check, fit_blocks in _FIT_FUNCTIONS:
        if isinstance(estimator, estimator_type):
            check(estimator)
            blocks = RowBlocks.read(estimator, X, y, classes)
            fit_blocks(estimator, blocks)
            fitted: Any = estimator
            fitted.classes_, fitted._fitted_on = blocks.classes, None
            return estimator
    raise InputTypeError(
        "`estimator` must be AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos, LOORidge or "
        f'PLGP(approximation="nystroem") over blocks of rows; got {type(estimator).__name__}.'
    )
