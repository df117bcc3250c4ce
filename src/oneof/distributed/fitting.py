"""Fitting the library's estimators over the blocks of dask collections."""

from collections.abc import Callable
from typing import Any, TypeVar

from oneof.distributed.blocks import Blocks
from oneof.distributed.clpl import check_clpl, fit_clpl
from oneof.distributed.collections import require_dask
from oneof.distributed.mixing import check_online, fit_online
from oneof.distributed.plgp import check_plgp, fit_plgp
from oneof.distributed.plsvm import check_plsvm, fit_plsvm
from oneof.errors import InputTypeError
from oneof.estimators._online_base import OnlineClassifier
from oneof.estimators.clpl import CLPL
from oneof.estimators.plgp import PLGP
from oneof.estimators.plsvm import PLSVM

Estimator = TypeVar("Estimator")

_WAYS: tuple[tuple[type, Callable[[Any], None], Callable[[Any, Blocks], None]], ...] = (
    (OnlineClassifier, check_online, fit_online),
    (PLSVM, check_plsvm, fit_plsvm),
    (CLPL, check_clpl, fit_clpl),
    (PLGP, check_plgp, fit_plgp),
)


def fit(estimator: Estimator, X: Any, y: Any, *, classes: Any = None) -> Estimator:
    """Fit an estimator to rows that lie in blocks.

    `CLPL` and `PLGP` find what they would find on one machine. The online learners and `PLSVM` mix the weights that
    each block comes to: with one block they give the very weights of the ordinary `fit`, with several others. None of
    it depends on the number of workers or on which of them answers first; the blocks alone decide.

    Tasks run where dask's own settings say: on the workers of the last ``distributed.Client`` that was made, or in
    threads of this process. A worker that is lost is made up for, as long as dask can load its blocks again.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos, PLSVM, CLPL or PLGP
        Fitted in place. `PLSVM` must have the linear kernel, `PLGP` ``approximation="nystroem"``. The online learners
        take a round for each of their `n_epochs`.
    X : dask array or DataFrame of shape (n_samples, n_features)
        In blocks of rows, dense or CSR. Blocks may be empty.
    y : dask array, Series or DataFrame, or any form of labels that `fit` takes
        With the blocks of X: labels, sets of labels as objects, or a 0/1 indicator. Labels in memory are cut like X,
        the lengths of whose blocks must be known then.
    classes : array-like of shape (n_classes,), optional
        The classes. Without them the labels are passed over once more, to find out which there are.

    Returns
    -------
    estimator
        That which was given: it predicts, is saved and loaded as ever. `PLGP` has no `latent_mode_`, and none of them
        refers to the rows of fit.

    Raises
    ------
    InputTypeError
        If the estimator cannot be fitted in this way, or X is no dask collection.
    InputError
        If X, y or a parameter cannot be used; the message names the block.
    MissingExtraError
        If dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> from oneof import CLPL, distributed
    >>> X = da.from_array([[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]], chunks=(2, 2))
    >>> model = distributed.fit(CLPL(), X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    >>> distributed.predict(model, X).compute().tolist()
    ['a', 'a', 'b', 'b']
    """
    require_dask()
    for kind, check, way in _WAYS:
        if isinstance(estimator, kind):
            check(estimator)
            blocks = Blocks.read(estimator, X, y, classes)
            way(estimator, blocks)
            finished: Any = estimator
            finished.classes_, finished._fitted_on = blocks.classes, None
            return estimator
    raise InputTypeError(
        f"{type(estimator).__name__} cannot be fitted over blocks of rows: choose AvgPerceptron, MaxPerceptron, "
        'AvgPegasos, MaxPegasos, PLSVM, CLPL or PLGP(approximation="nystroem").'
    )
