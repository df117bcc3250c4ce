"""Calls of what makes, hides, judges and compares sets and scores."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from oneof import (
    CandidateSets,
    diffusion_kernel,
    graphs,
    make_partial,
    metrics,
    model_selection,
    regularized_laplacian_kernel,
)
from oneof.datasets import make_two_sensors
from tests.fuzz.drawn import CLASSES, ROWS, SCALARS, SEEDS, Case, either, fitted, just, optional, several
from tests.fuzz.labels import NAMES, supervision
from tests.fuzz.rows import tables


@st.composite
def set_makers(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    kind = draw(
        st.sampled_from(
            ("labels", "sets", "indicator", "annotations", "complementary", "hierarchy", "strings", "init", "take")
        )
    )
    y = draw(supervision(n, K))
    named = draw(optional(classes=CLASSES))
    if kind == "annotations":
        rows = draw(st.integers(1, 3))
        answers = np.array(draw(st.lists(st.sampled_from([*NAMES[:2], None]), min_size=3 * rows, max_size=3 * rows)))
        y = draw(either(st.sampled_from([answers.reshape(rows, 3), answers.reshape(rows, 3).tolist()]), just(y)))
        named |= draw(optional(min_votes=several(1, 4), top=several(1, 3)))
    if kind == "hierarchy":
        trees = (
            {"a": list(NAMES)},
            {"a": ["b"], "b": ["a"]},
            {},
            {"a": []},
            {"a": "ant", "b": ["a", "bee"]},
            {1: [0, 2]},
        )
        return CandidateSets.from_hierarchy, (y, draw(either(st.sampled_from(trees)))), named
    if kind == "strings":
        lines = st.sampled_from(
            ["ant", "ant|bee", "", None, " cat ", "a||b", "|", "a\\|b", "\\", 3, float("nan"), "é|☃"]
        )
        y = draw(either(st.lists(lines, max_size=6), just(y)))
        named |= draw(optional(separator=either(st.sampled_from(["|", ";", "", " ", "\\", "::"]))))
    if kind == "init":
        return CandidateSets, (y, draw(CLASSES)), {}
    if kind == "take":
        return _taken, (y, draw(either(st.sampled_from([slice(1, 3), [0, 1], np.array([True, False]), 0, -1])))), {}
    return getattr(CandidateSets, f"from_{kind}"), (y,), named


def _taken(y: Any, rows: Any) -> Any:
    """Go there and back through all that sets can be written as."""
    sets = CandidateSets.from_sets(y)
    again = CandidateSets.from_sets(sets.to_sets(), classes=sets.classes)
    assert again == sets
    assert CandidateSets.from_indicator(sets.to_indicator(sparse=True), classes=sets.classes) == sets
    repr(sets)
    sets.to_strings()
    return sets[rows]


@st.composite
def judgements(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(supervision(n, K))
    function = draw(
        st.sampled_from(
            (
                metrics.ambiguous_zero_one_loss,
                metrics.covering_rate,
                metrics.exact_accuracy,
                metrics.approximated_accuracy,
            )
        )
    )
    named = draw(
        optional(classes=CLASSES, sample_weight=either(st.sampled_from([np.ones(n), np.zeros(n), [1e300] * n])))
    )
    if function is metrics.approximated_accuracy:
        given_ = draw(tables(n, K, below_zero=False))
    else:
        labels = (np.arange(n) % K, [NAMES[i % K] for i in range(n)], np.full(n, np.nan), np.arange(n, dtype=object))
        given_ = draw(either(st.sampled_from(labels), supervision(n, K)))
    return function, (y, given_), named


@st.composite
def rankings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(1, 3))
    if draw(st.booleans()):
        scores = draw(tables(n, K))
        truth = draw(either(st.sampled_from([np.ones((n, K)), np.eye(n, K), np.arange(n) % 2 == 0]), tables(n, K)))
        return metrics.precision_recall_break_even, (truth, draw(either(just(scores)))), {}
    return metrics.win_tie_loss, (draw(tables(n, K)), draw(tables(n, K))), draw(optional(alpha=either(st.floats())))


@st.composite
def hidings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    if draw(st.integers(0, 9)) == 0:
        sensors = {
            "n_rows": (1, n, 2),
            "n_features": (K, 1),
            **draw(optional(n_rows=SCALARS, share=either(st.floats()))),
        }
        return _two_sensors, (), sensors | draw(optional(separation=SCALARS, random_state=SEEDS))
    named = draw(
        optional(
            share=either(st.floats(0, 1)),
            extra=several(0, 4),
            size=several(1, 4),
            kind=either(st.sampled_from(["uniform", "confusable", "cooccurring"])),
            epsilon=either(st.floats(0, 1)),
            confusion=either(st.just(np.ones((K, K))), tables(K, K)),
            groups=either(st.just(np.arange(n) // 2), supervision(n, K)),
            classes=CLASSES,
            random_state=SEEDS,
        )
    )
    return make_partial, (draw(supervision(n, K)),), named


def _two_sensors(**named: Any) -> Any:
    """Return the rows without the NaN of those that lack a sensor."""
    rows = make_two_sensors(**named)
    return np.nan_to_num(rows.X, nan=0.0, posinf=np.inf, neginf=-np.inf), rows.seen


@st.composite
def kernels(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    function = draw(
        st.sampled_from((diffusion_kernel, regularized_laplacian_kernel, graphs.check_affinity, _kernel_entries))
    )
    W = draw(tables(n, n if draw(st.integers(0, 9)) else n + 1, odd=draw(st.booleans()), below_zero=False))
    if draw(st.integers(0, 3)) and isinstance(W, np.ndarray) and W.dtype.kind == "f" and W.ndim == 2:
        with np.errstate(all="ignore"):
            W = np.abs(np.tril(W[:, :n], -1)) if W.shape[0] == W.shape[1] else W
            W = W + W.T if W.shape[0] == W.shape[1] else W
    named = (
        {}
        if function in (graphs.check_affinity, _kernel_entries)
        else draw(
            optional(beta=either(st.floats(0, 1e300)), kind=either(st.sampled_from(["plain", "symmetric", "walk"])))
        )
    )
    return function, (draw(either(just(W))),), named


def _kernel_entries(gram: Any) -> Any:
    kernel = graphs.PrecomputedKernel(gram)
    rows = np.arange(3)[:, None]
    repr(kernel)
    return kernel(rows), kernel.diag(rows)


@st.composite
def scorings(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    scorer = draw(
        st.sampled_from(
            (
                model_selection.covering_rate_scorer,
                model_selection.approximated_accuracy_scorer,
                model_selection.exact_accuracy_scorer,
            )
        )
    )
    if draw(st.booleans()):
        named = draw(optional(n_splits=several(2, 4), shuffle=either(st.booleans()), random_state=SEEDS))
        return _folds, (draw(tables(n, 2)), draw(supervision(n, 3))), named
    model = fitted(draw(st.sampled_from(["votes", "online"])))
    named = draw(optional(sample_weight=either(st.just(np.ones(n)))))
    return scorer, (model, draw(tables(n, 2)), draw(supervision(n, 3))), named


def _folds(X: Any, y: Any, **named: Any) -> Any:
    return list(model_selection.CandidateKFold(**named).split(X, y))
