"""What estimators hold after fit, and that fitting again and again, or on and on, holds no more."""

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import oneof
from tests.held import arrays_of, bytes_beyond

N, D, K = 300, 37, 4
ESTIMATORS = sorted(name for name in oneof._LAZY_NAMES if hasattr(getattr(oneof, name), "fit"))
COPIES = {
    "GraphLogisticRegression": 1,  # the labeled rows with their constant, for the posterior that `query` asks
    "HarmonicField": 1,  # of graphs: the index of neighbors has the rows around their median
    "IPAL": 1,
    "LOORidge": 2,  # rows in the scale of each kernel
    "LocalGlobalConsistency": 1,
    "MarkovWalk": 1,
    "SpectralGraphTransducer": 2,  # and, by cosine, those of norm 1
}
"""Copies of the rows that a method works on: what else stands here, or more of them, has to be thought about."""


@pytest.fixture(scope="module")
def given() -> tuple[np.ndarray, list[list[int]]]:
    generator = np.random.default_rng(0)
    X = np.abs(generator.normal(size=(N, D)))
    return X, [[k, (k + 1) % K] if i % 3 else [k] for i, k in enumerate(generator.integers(0, K, N).tolist())]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_estimator_holds_a_copy_of_the_rows(name: str, given: Any) -> None:
    """Where rows are needed after fit they are the caller's; a copy is held only in a form that the method works on."""
    X, y = given
    fitted = getattr(oneof, name)().fit(X, y)
    beyond = [a for a in arrays_of(fitted) if not np.may_share_memory(a, X)]
    like_rows = [array.shape for array in beyond if array.ndim == 2 and N in array.shape and max(array.shape) >= D >= 1]
    like_rows = [shape for shape in like_rows if min(shape) in (D, D + 1)]
    assert len(like_rows) == COPIES.get(name, 0), like_rows
    assert not any(np.array_equal(array, X) for array in beyond if array.shape == X.shape)


@pytest.mark.parametrize("name", ["AvgPerceptron", "MaxPegasos", "CLPL", "PLEM", "MultinomialEM"])
def test_a_linear_model_is_as_large_as_its_weights(name: str, given: Any) -> None:
    """What it holds does not grow with the rows, but for a number of each row that tells the decided class."""
    X, y = given
    few = bytes_beyond(getattr(oneof, name)().fit(X[:100], y[:100]), X)
    many = bytes_beyond(getattr(oneof, name)().fit(X, y), X)
    assert many <= few + 8 * (N - 100)


@pytest.mark.parametrize(
    ("machine", "most"), [(oneof.PLSVM(kernel="rbf"), 1.75), (oneof.TransductiveSVM(C=100.0, kernel="rbf"), 3.25)]
)
def test_a_kernel_machine_takes_few_kernel_matrices(machine: Any, most: float) -> None:
    """PLSVM takes one and a half, the half in single precision; TransductiveSVM three where no row is at its bound."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1000, 2))
    y = generator.choice(["a", "b"], size=1000)
    machine.fit(X[::100], y[::100])
    tracemalloc.start()
    machine.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most * 8 * len(X) ** 2


@pytest.mark.parametrize("name", ["CLPL", "HarmonicField"])
def test_fitting_again_holds_no_more(name: str, given: Any) -> None:
    """After 12 fits of one estimator as much is allocated as after 4."""
    X, y = given
    assert not _grows(lambda estimator: estimator.fit(X[:30, :5], y[:30]), getattr(oneof, name)(), 4, 20_000)


@pytest.mark.parametrize("name", ["AvgPerceptron", "MaxPegasos"])
def test_learning_on_holds_no_more(name: str, given: Any) -> None:
    """After 300 calls of partial_fit as much is allocated as after 100."""
    X, _ = given
    Y = np.eye(K, dtype=bool)[:1]
    learner = getattr(oneof, name)(average=True)
    assert not _grows(lambda e: e.partial_fit(X[:1], Y, classes=range(K)), learner, 100, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_thousand_fits_hold_no_more(name: str, given: Any) -> None:
    """A thousand fits of one estimator allocate as much as a third of them."""
    X, y = given
    parameters = {"optimizer": None} if name == "PLGP" else {}  # a search for kernels is a hundred fits more, each time
    estimator = getattr(oneof, name)(**parameters)
    assert not _grows(lambda estimator: estimator.fit(X[:20, :3], y[:20]), estimator, 333, 50_000)


@pytest.mark.slow
def test_a_million_calls_of_partial_fit_hold_no_more(given: Any) -> None:
    """Nor do a million rows, one a call."""
    X, y = given
    learner = oneof.AvgPerceptron(average=True)
    Y = np.eye(K, dtype=bool)[[y[0][0]]]
    assert not _grows(lambda e: e.partial_fit(X[:1], Y, classes=range(K)), learner, 333_333, 50_000)


def _grows(step: Any, estimator: Any, n: int, least: int) -> bool:
    """Return whether 2 n further steps add `least` bytes or more to what n steps have allocated, twice in a row.

    What grows does so each time; a cache that another part of the process fills just then does so once.
    """
    for _ in range(n):
        step(estimator)
    gc.collect()
    tracemalloc.start()
    try:
        return all(_added(step, estimator, 2 * n) >= least for _ in range(2))
    finally:
        tracemalloc.stop()


def _added(step: Any, estimator: Any, n: int) -> int:
    """Return the bytes that n steps, after one that is not counted, leave allocated."""
    step(estimator)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(n):
        step(estimator)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before
