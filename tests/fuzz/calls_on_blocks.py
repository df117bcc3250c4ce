"""Fuzzed calls over blocks of rows, which run in this process."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from oneof import CLPL, PLGP, PLKNN, PLSVM, AvgPerceptron, MaxPegasos, distributed
from tests.fuzz.strategies import ROWS, SCALARS, Case, classes_of, either, family, features, fitted, optional, sets

LEARNERS = (
    CLPL(max_iter=5),
    PLSVM(max_iter=5),
    AvgPerceptron(n_epochs=2, shuffle=True, random_state=0),
    MaxPegasos(average=True),
    PLGP(approximation="nystroem", n_components=2, optimizer=None, n_mc_samples=20, max_iter=5),
)


ABLE = {
    distributed.predict: ("convex", "votes", "online", "graph"),
    distributed.predict_proba: ("votes", "graph"),
    distributed.decision_function: ("convex", "online"),
    distributed.disambiguate: ("convex", "votes"),
}
"""Methods of each model."""


@family(
    0.4,
    "distributed.fit distributed.predict distributed.predict_proba distributed.decision_function "
    "distributed.disambiguate",
)
@st.composite
def blocks(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    rows = draw(either(numbers(n, 2), st.one_of(features(n, 2), numbers(n, 3), numbers(n + 1, 2))))
    cut, own = draw(either(st.integers(1, 6))), draw(st.sampled_from((None, None, "same", "other")))
    y = draw(sets(n, 3, ("integers", "mask", "indicator", "lists", "-1 missing")))
    sparse = draw(st.booleans())
    if draw(st.booleans()):
        learner = draw(either(st.sampled_from(LEARNERS), st.one_of(SCALARS, st.just(PLKNN()), st.just(PLGP()))))
        return _fitted, (learner, rows, y, cut, own, sparse), draw(optional(classes=classes_of(y)))
    method = draw(st.sampled_from(list(ABLE)))
    able = st.sampled_from(ABLE[method]).map(fitted)
    model = draw(either(able, st.one_of(SCALARS, st.just(fitted("online")), st.just(PLKNN()))))
    return _predicted, (method, model, rows, y, cut, sparse), {}


@st.composite
def numbers(draw: st.DrawFn, n: int, d: int) -> Any:
    """Draw a Dask array of rows, possibly with numbers that overflow float64."""
    scale = draw(st.sampled_from((1.0, 1.0, 1.0, 0.0, 1e-200, 1e200)))
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, d)) * scale
    return rows.astype(draw(st.sampled_from(("f8", "f8", "f4")))) if scale < 1e9 else rows


def _in_blocks(values: Any, cut: Any, *, sparse: bool = False) -> Any:
    """Return an array in blocks; other objects unchanged, as a caller may pass them by mistake."""
    import dask.array as da

    if type(values) is not np.ndarray or values.dtype.kind not in "fiub" or not values.ndim:
        return values
    if not isinstance(cut, int) or isinstance(cut, bool) or cut < 1:
        return values
    array = da.from_array(values, chunks=(cut, *values.shape[1:]))
    return array.map_blocks(sp.csr_array) if sparse and values.ndim == 2 else array


def _synchronous(call: Any) -> Any:
    import dask

    with dask.config.set(scheduler="synchronous"):
        return call()


def _fitted(learner: Any, X: Any, y: Any, cut: Any, own: Any, sparse: bool, **named: Any) -> Any:
    from sklearn.base import clone

    model = clone(learner) if hasattr(learner, "get_params") else learner
    sets_ = y if own is None else _in_blocks(y, cut if own == "same" else 2)
    fit = _synchronous(lambda: distributed.fit(model, _in_blocks(X, cut, sparse=sparse), sets_, **named))
    return getattr(fit, "coef_", None)


def _predicted(function: Any, model: Any, X: Any, y: Any, cut: Any, sparse: bool) -> Any:
    labels = (y,) if function is distributed.disambiguate else ()
    result = _synchronous(lambda: function(model, _in_blocks(X, cut, sparse=sparse), *labels))
    parts = result if isinstance(result, tuple) else (result,)
    return [_synchronous(part.compute) for part in parts]
