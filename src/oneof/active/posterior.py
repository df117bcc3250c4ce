"""From an estimator to its posterior, and from the rows of a pool to their instances in each view."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from oneof.errors import InputError
from oneof.solvers.graph_logistic.greedy import Lookup
from oneof.solvers.graph_logistic.information import Posterior, View
from oneof.typing import Ints, Labels


class Known(NamedTuple):
    """What a fitted estimator knows of its weights, and of a pool."""

    posterior: Posterior
    lookup: Lookup
    """The views of rows of the pool."""
    classes: Labels


def known_of(estimator: Any, pool: Any) -> Known:
    """Read an estimator that has ``posterior_`` and ``posterior_features``, alone or at the end of a pipeline.

    Parameters
    ----------
    estimator : estimator or Pipeline
    pool : array, DataFrame or CSR matrix of shape (n_rows, n_features)

    Raises
    ------
    InputError
        If the estimator has no posterior.
    NotFittedError
        If it is not fitted.
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(last, "posterior_features"):
        raise InputError(
            f"{type(last).__name__} has no posterior of its weights, which queries by information need: take "
            "strategy='entropy', 'margin' or 'random', or GraphLogisticRegression."
        )
    check_is_fitted(estimator)
    scaled = estimator[:-1] if isinstance(estimator, Pipeline) and len(estimator) > 1 else None

    def views_of(rows: Ints) -> list[View]:
        some = _safe_indexing(pool, rows)
        some = some if scaled is None else scaled.transform(some)
        views = [View(*view) for view in last.posterior_features(some)]
        for view in views:
            _check_finite(view, rows)
        return views

    return Known(last.posterior_, views_of, last.classes_)


def _check_finite(view: View, rows: Ints) -> None:
    """Raise where an instance is not finite, naming the row of the pool."""
    values = view.features.data if sp.issparse(view.features) else view.features
    if not np.isfinite(values).all():
        lacking = ~np.isfinite(np.asarray(abs(view.features).sum(axis=1))).ravel()
        raise InputError(
            f"row {rows[view.rows[lacking][0]]} of the pool holds NaN or infinity in some features: mend them, leave "
            "the row out, or, for a view that the row lacks, set all features of the view to NaN."
        )
