"""Fuzzed calls on graphs, graph kernels and plots."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oneof import CandidateSets, diffusion_kernel, graphs, plots, regularized_laplacian_kernel
from tests.fuzz.labels import SET_FORMS
from tests.fuzz.parameters import NUMBERS
from tests.fuzz.rows import in_form
from tests.fuzz.strategies import (
    ROWS,
    SCALARS,
    Case,
    classes_of,
    either,
    family,
    features,
    just,
    optional,
    sets,
    several,
)


@st.composite
def affinities(draw: st.DrawFn, n: int) -> Any:
    """Draw symmetric nonnegative weights in any container; in a corrupted case possibly any table."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    W = np.tril(random.random((n, n)) * (random.random((n, n)) < 0.5), -1)
    W = (W + W.T) * draw(st.sampled_from((1.0, 1.0, 1.0, 1e-300, 1e300, 5e-324)))
    form = draw(st.sampled_from(("C", "F", "strided", "read-only", "lists", "csr", "csc", "coo", "csr int64")))
    return draw(either(just(in_form(W, form, np.random.default_rng(0)) if "c" not in form else _csr(W, form)), any_(n)))


def any_(n: int) -> Any:
    return st.one_of(features(n, n), features(n, n + 1), SCALARS)


def _csr(W: Any, form: str) -> Any:
    """Return all entries: `in_form` drops some, which makes the matrix asymmetric."""
    import scipy.sparse as sp

    return {"csc": sp.csc_array, "coo": sp.coo_matrix}.get(form, sp.csr_array)(W)


@family(
    2.0, "diffusion_kernel regularized_laplacian_kernel graphs.laplacian graphs.check_affinity graphs.PrecomputedKernel"
)
@st.composite
def kernels(draw: st.DrawFn) -> Case:
    functions = (diffusion_kernel, regularized_laplacian_kernel, graphs.laplacian, graphs.check_affinity, _entries)
    n, function = draw(ROWS), draw(st.sampled_from(functions))
    W = draw(affinities(n))
    if function is graphs.check_affinity:
        return function, (W, *draw(st.sampled_from([(), (n,)]))), {}
    kind = either(st.sampled_from(["plain", "symmetric", "random_walk"]))
    if function is graphs.laplacian:
        return function, (W,), draw(optional(kind=kind))
    if function is _entries:
        return function, (W,), {}
    return function, (W,), draw(optional(beta=either(st.floats(0, 5), st.one_of(SCALARS, st.floats())), kind=kind))


def _entries(gram: Any) -> Any:
    kernel = graphs.PrecomputedKernel(gram)
    rows = np.arange(3)[:, None]
    repr(kernel)
    return kernel(rows), kernel.diag(rows)


@family(1.0, "graphs.NeighborGraph graphs.Graph")
@st.composite
def links(draw: st.DrawFn) -> Case:
    n, d = draw(ROWS), draw(st.integers(1, 3))
    affinity = st.one_of(st.sampled_from(["gaussian", "cosine", "binary"]), affinities(n))
    named = draw(
        optional(
            affinity=either(affinity),
            n_neighbors=several(1, 5),
            radius=either(st.sampled_from([None, 0.1, 2.0])),
            bandwidth=either(st.sampled_from(["local", *NUMBERS])),
            symmetrize=either(st.sampled_from(["union", "mutual", "sum"])),
        )
    )
    return _linked, (_rows(n, d, draw), _rows(draw(st.integers(1, 3)), d, draw)), named


def _rows(n: int, d: int, draw: st.DrawFn) -> Any:
    """Draw validated rows, including rows that overflow float64."""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return random.normal(size=(n, d)) * draw(either(st.sampled_from((1.0, 0.0, 1e-200, 1e9)), st.just(1e300)))


def _linked(X: Any, Z: Any, **named: Any) -> Any:
    graph = graphs.NeighborGraph(**named).graph(X)
    assert isinstance(graph, graphs.Graph)
    repr(graph)
    return graph.affinity, graph.transform(Z)


@family(
    0.3,
    "plots.plot_set_sizes plots.plot_weights plots.plot_class_frequencies plots.plot_cooccurrence "
    "plots.plot_decisions plots.plot_learning_curve",
)
@st.composite
def pictures(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    if draw(st.integers(0, 4)) == 0:
        rates = either(st.sampled_from([np.full(3, 0.5), [0.1, 0.2, 0.9], (1.0, 1.0, 1.0)]))
        curve = {"covering_rate": draw(rates), "covering_rate_std": draw(rates), "train_sizes": (1, 2, 3)}
        accuracy = draw(st.sampled_from([rates, st.none()]))
        curve |= {"accuracy": draw(accuracy), "accuracy_std": draw(accuracy)}
        return _drawn, (plots.plot_learning_curve, draw(either(just(SimpleNamespace(**curve))))), {}
    y = draw(sets(n, K, SET_FORMS))
    functions = [plots.plot_set_sizes, plots.plot_weights, plots.plot_class_frequencies, plots.plot_cooccurrence]
    function = draw(st.sampled_from(functions))
    if draw(st.integers(0, 3)) == 0:
        classes = draw(classes_of(y))
        labels = [classes[0]] * n if isinstance(classes, list | tuple) and len(classes) else classes
        return _drawn, (plots.plot_decisions, y, draw(either(just(labels), sets(n, K)))), {}
    return _drawn, (function, y), {}


def _drawn(function: Any, given_: Any, *labels: Any) -> Any:
    """Plot on axes that are discarded; sets of any form are converted first."""
    import matplotlib.figure

    if function is not plots.plot_learning_curve and not np.isscalar(given_):
        given_ = CandidateSets.from_sets(given_)
    function(given_, *labels, ax=matplotlib.figure.Figure().subplots())
