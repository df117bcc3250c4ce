"""Memory of fitted estimators, which does not grow with repeated fits or calls of partial_fit."""

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import oneof
from tests.retained import arrays_of, bytes_beyond, peak_bytes

# Labels without a relation to the rows cannot be learned.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, D, K = 300, 37, 4
ESTIMATORS = sorted(
    name for name in oneof._LAZY_NAMES if hasattr(getattr(oneof, name), "fit") and name != "FIRST_CHOICE"
)
COPIES = {
    "CandidateStacking": 2,  # in its LOORidge
    "GraphLogisticRegression": 1,  # the labeled rows with a constant column, for the posterior of `query`
    "HarmonicField": 1,  # in graph methods: the neighbor index has the rows minus their median
    "IPAL": 1,
    "LOORidge": 2,  # rows in the scale of each kernel
    "LocalGlobalConsistency": 1,
    "MarkovWalk": 1,
    "PoissonLearning": 1,
    "SpectralGraphTransducer": 2,  # and, for cosine, the rows of norm 1
}
"""Number of copies of the rows in another form; new entries or larger numbers need a reason."""


@pytest.fixture(scope="module")
def training_data() -> tuple[np.ndarray, list[list[int]]]:
    generator = np.random.default_rng(0)
    X = np.abs(generator.normal(size=(N, D)))
    return X, [[k, (k + 1) % K] if i % 3 else [k] for i, k in enumerate(generator.integers(0, K, N).tolist())]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "CandidateEM")) for name in ESTIMATORS]
)
def test_no_estimator_copies_the_rows(name: str, training_data: Any) -> None:
    """Estimators refer to the caller's rows; they only copy rows that they store in another form."""
    X, y = training_data
    fitted = getattr(oneof, name)().fit(X, y)
    beyond = [a for a in arrays_of(fitted) if not np.may_share_memory(a, X)]
    like_rows = [array.shape for array in beyond if array.ndim == 2 and N in array.shape and max(array.shape) >= D >= 1]
    like_rows = [shape for shape in like_rows if min(shape) in (D, D + 1)]
    assert len(like_rows) == COPIES.get(name, 0), like_rows
    assert not any(np.array_equal(array, X) for array in beyond if array.shape == X.shape)


@pytest.mark.parametrize("name", ["AvgPerceptron", "MaxPegasos", "CLPL", "PLEM", "MultinomialEM"])
def test_a_linear_model_is_as_large_as_its_weights(name: str, training_data: Any) -> None:
    """The memory of a linear model does not grow with the rows, except for the index of each row's class."""
    X, y = training_data
    few = bytes_beyond(getattr(oneof, name)().fit(X[:100], y[:100]), X)
    many = bytes_beyond(getattr(oneof, name)().fit(X, y), X)
    assert many <= few + 8 * (N - 100)


@pytest.mark.parametrize(
    ("svm", "max_matrices"), [(oneof.PLSVM(kernel="rbf"), 1.75), (oneof.TransductiveSVM(C=100.0, kernel="rbf"), 3.25)]
)
def test_a_kernel_svm_allocates_few_kernel_matrices(svm: Any, max_matrices: float) -> None:
    """PLSVM needs one and a half, the half in single precision; TransductiveSVM three if no row is at its bound."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1000, 2))
    y = generator.choice(["a", "b"], size=1000)
    svm.fit(X[::100], y[::100])
    assert peak_bytes(lambda: svm.fit(X, y))[0] < max_matrices * 8 * len(X) ** 2


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *(pytest.param(name, 4, marks=pytest.mark.long) for name in ("CLPL", "HarmonicField")),
        *(pytest.param(name, 333, marks=pytest.mark.slow) for name in ESTIMATORS),
    ],
)
def test_repeated_fits_do_not_accumulate_memory(name: str, n: int, training_data: Any) -> None:
    """3 n fits of one estimator allocate as much as n fits."""
    X, y = training_data
    parameters = {"optimizer": None} if name == "PLGP" else {}  # each kernel optimization is a hundred more fits
    estimator = getattr(oneof, name)(**parameters)
    min_bytes = 20_000 if n < 10 else 50_000
    assert not _grows(lambda estimator: estimator.fit(X[:30, :5], y[:30]), estimator, n, min_bytes)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *(pytest.param(name, 100, marks=pytest.mark.long) for name in ("AvgPerceptron", "MaxPegasos")),
        pytest.param("AvgPerceptron", 333_333, marks=pytest.mark.slow),
    ],
)
def test_repeated_partial_fits_do_not_accumulate_memory(name: str, n: int, training_data: Any) -> None:
    """3 n calls of partial_fit allocate as much as n calls."""
    X, _ = training_data
    Y = np.eye(K, dtype=bool)[:1]
    learner = getattr(oneof, name)(average=True)
    assert not _grows(lambda e: e.partial_fit(X[:1], Y, classes=range(K)), learner, n, 20_000 if n < 1000 else 50_000)


def _grows(step: Any, estimator: Any, n: int, min_bytes: int) -> bool:
    """Return whether 2 n more steps allocate at least `min_bytes`, four times in a row.

    A leak grows each time; caches and threads of other parts of the process, such as servers, grow at times.
    """
    for _ in range(n):
        step(estimator)
    gc.collect()
    tracemalloc.start()
    try:
        return all(_added(step, estimator, 2 * n) >= min_bytes for _ in range(4))
    finally:
        tracemalloc.stop()


def _added(step: Any, estimator: Any, n: int) -> int:
    """Return the bytes that remain allocated after n steps; a first step is not counted."""
    step(estimator)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(n):
        step(estimator)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before
