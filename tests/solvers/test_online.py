"""Tests of the compiled online classifiers against the published algorithms and their bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import Normalizer, StandardScaler

from oneof import AvgPegasos, MaxPegasos
from oneof.errors import InputError
from oneof.solvers.online import OnlineState, pegasos, perceptron
from tests.oracles import online as oracle
from tests.oracles.losses import average_prediction_hinge

METHODS = {
    "perceptron": lambda lam=None, **options: perceptron(**options),  # noqa: ARG005 - as the others
    "pegasos": lambda lam=0.05, **options: pegasos(lam=lam, **options),
    "pegasos, shrinking always": lambda lam=0.05, **options: pegasos(lam=lam, shrink_always=True, **options),
}


@pytest.mark.parametrize("prediction", ["average", "max"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_ties_go_to_the_lowest_class(prediction, seed):
    """If all sums are exact, the Perceptron equals the oracle bit by bit, with any number of ties."""
    rng = np.random.default_rng(seed)
    K = int(rng.choice([3, 5, 9]))
    X = rng.integers(-1, 2, size=(80, 3)).astype(float)
    sizes = rng.choice([1, 2], size=80)
    mask = np.array([np.isin(np.arange(K), rng.permutation(K)[:size]) for size in sizes])
    history, mistakes, _ = literal("perceptron", X, mask, prediction=prediction)
    for rows in (X, sp.csr_array(X)):
        state = perceptron(rows, mask, prediction=prediction, initial=start(X, K))
        np.testing.assert_array_equal(state.weights, history[-1])
        assert state.n_mistakes == sum(mistakes)


def literal(name, X, mask, lam=0.05, **options):
    method = name.split(",")[0]
    return oracle.run(X, mask, method=method, lam=lam, shrink_always="always" in name, **options)


def stream(seed, n=60, d=5, K=4, full=0.1, ties=True):
    """Return rows with candidate sets of every size; for ties, the first third has repeated rows and many zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 10.0])
    if ties:
        X[rng.random((n, d)) < 0.4] = 0.0
        X[: n // 3] = X[0]
    mask = rng.random((n, K)) < rng.uniform(0.1, 0.8)
    mask[np.arange(n), rng.integers(0, K, n)] = True
    mask[rng.random(n) < full] = True
    return X, mask


def graded(mask, seed):
    """Return weights with these supports: hard rows, and graded rows of a few or of distinct weights."""
    rng = np.random.default_rng(seed)
    few, distinct = rng.choice([0.25, 0.5, 1.0], mask.shape), rng.random(mask.shape)
    values = np.where(rng.random((len(mask), 1)) < 0.5, few, distinct)
    weights = np.where(rng.random((len(mask), 1)) < 0.3, 1.0, values) * mask
    return weights / weights.max(axis=1, keepdims=True)


def start(X, K, *, average=False, dtype=np.float64, intercept=False):
    return OnlineState.zeros(K, X.shape[1] + intercept, dtype=dtype, average=average)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("prediction", ["average", "max"])
@pytest.mark.parametrize("name", METHODS)
@given(
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([1e-6, 1e-2, 1.0, 30.0]),
    weighted=st.booleans(),
    ties=st.booleans(),
    levels=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_equals_the_published_algorithm(name, prediction, sparse, seed, lam, weighted, ties, levels):
    """Weights, their mean and the mistakes equal those of the oracle to 1e-10, on any stream of sets or weights."""
    X, mask = stream(seed, ties=ties)
    mask = graded(mask, seed) if levels else mask
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 3.0], size=len(X)) if weighted else None
    rows = sp.csr_array(X) if sparse else X
    counted = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
    weights = None if weight is None else weight[counted]
    options = {"prediction": prediction, "lam": lam}
    history, mistakes, decided = literal(name, X[counted], mask[counted], sample_weight=weights, **options)
    assume(decided > 1)
    end = counted[decided - 1] + 1
    state = METHODS[name](
        X=rows[:end],
        evidence=mask[:end],
        initial=start(X, 4, average=True),
        sample_weight=None if weight is None else weight[:end],
        **options,
    )
    history, mistakes = history[:decided], mistakes[:decided]
    size = max(np.abs(W).max() for W in history)
    np.testing.assert_allclose(state.weights, history[-1], rtol=1e-10, atol=1e-10 * size)
    np.testing.assert_allclose(state.mean_weights, np.mean(history, axis=0), rtol=1e-10, atol=1e-10 * size)
    assert state.n_mistakes == pytest.approx(sum(mistakes), abs=1e-12)
    assert state.n_rows == decided
    if name != "perceptron":
        np.testing.assert_allclose(state.square, (state.V**2).sum(), rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("prediction", ["average", "max"])
@pytest.mark.parametrize("name", METHODS)
def test_predictions_before_each_update(name, prediction, sparse):
    """The prediction of a row has the largest score before its update, the lowest class of ties; others stay."""
    X, mask = stream(11)
    rows = sp.csr_array(X) if sparse else X
    order = np.random.default_rng(0).permutation(len(X))[:50]
    predicted = np.full(len(X), -7)
    state = METHODS[name](
        X=rows, evidence=mask, prediction=prediction, initial=start(X, 4), order=order, predicted=predicted
    )
    before = start(X, 4)
    for i in order:
        assert predicted[i] == (X[i] @ before.weights.T).argmax()
        before = METHODS[name](X=rows, evidence=mask, prediction=prediction, initial=before, order=np.array([i]))
    assert (np.delete(predicted, order) == -7).all()
    assert state.n_mistakes == (~mask[order, predicted[order]]).sum()
    for indices in (np.empty(3, dtype=np.int64), np.empty(len(X), dtype=np.int32)):
        with pytest.raises(InputError, match="predictions of shape"):
            METHODS[name](X=rows, evidence=mask, prediction=prediction, initial=start(X, 4), predicted=indices)


@pytest.mark.parametrize("n_rows", [10_000, pytest.param(500_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", METHODS)
def test_a_long_stream_is_accurate(name, n_rows):
    """After a long stream, with renormalizations of the scale, the weights equal the oracle to 1e-10."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    mask = np.eye(3, dtype=bool)[rng.integers(0, 3, len(X))]
    mask |= rng.random(mask.shape) < 0.2
    options = {"prediction": "average", "lam": 1e-3}
    state = METHODS[name](X=X, evidence=mask, initial=start(X, 3), **options)
    history, _, decided = literal(name, X, mask, **options)
    assert decided == len(X)
    np.testing.assert_allclose(state.weights, history[-1], rtol=1e-10, atol=1e-10 * np.abs(history[-1]).max())


@pytest.mark.parametrize("name", METHODS)
def test_the_scale_neither_underflows_nor_overflows(name):
    """The weights stay correct if rows of very different norm change the scale by many powers of ten."""
    _, mask = stream(5)
    X = np.random.default_rng(5).normal(size=(len(mask), 5)) * np.logspace(-2, 3, len(mask))[:, None]
    options = {"prediction": "max", "lam": 1e-8}
    state = METHODS[name](X=X, evidence=mask, initial=start(X, 4), **options)
    history, _, decided = literal(name, X, mask, **options)
    assert decided == len(X)
    np.testing.assert_allclose(state.weights, history[-1], rtol=1e-8, atol=1e-8 * np.abs(history[-1]).max())


@pytest.mark.parametrize("name", METHODS)
def test_the_start_is_not_changed(name):
    """A solver changes neither the initial state nor the rows."""
    X, mask = stream(1)
    X.flags.writeable = False
    first = METHODS[name](X=X, evidence=mask, prediction="average", initial=start(X, 4, average=True))
    before = first.V.copy(), first.U.copy()
    METHODS[name](X=X, evidence=mask, prediction="average", initial=first)
    np.testing.assert_array_equal(first.V, before[0])
    np.testing.assert_array_equal(first.U, before[1])


def test_a_step_whose_square_overflows_raises():
    """If ||W||^2 overflows float64, Pegasos raises; in float32, whose squares fit, it projects to the right norm."""
    mask = np.array([[False, True], [True, False]])
    X = np.array([[0.0, 1.0], [1e155, 0.0]])
    with pytest.raises(InputError, match=r"[Ss]cale the features"):
        pegasos(X, mask, prediction="average", initial=start(X, 2), lam=100.0)
    X = np.array([[0.0, 1.0], [1e25, 0.0]], dtype=np.float32)
    state = pegasos(X, mask, prediction="average", initial=start(X, 2, dtype=np.float32), lam=100.0)
    assert np.linalg.norm(state.weights) == pytest.approx(0.1, rel=1e-5)


def test_the_mean_is_accurate_in_single_precision():
    """The float32 mean of the weights is close to the float64 mean, relative to the weights, over 20,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5)).astype(np.float32)
    mask = np.eye(3, dtype=bool)[rng.integers(0, 3, len(X))]
    single = perceptron(X, mask, prediction="average", initial=start(X, 3, average=True, dtype=np.float32))
    double = perceptron(X.astype(float), mask, prediction="average", initial=start(X, 3, average=True))
    error = np.abs(single.mean_weights - double.mean_weights).max()
    assert error <= 1e-5 * np.abs(double.weights).max()


def test_inconsistent_shapes_are_rejected():
    """Shapes or indices out of bounds raise before the compiled loop starts."""
    X, mask = stream(1)
    good = {"X": X, "evidence": mask, "prediction": "max", "initial": start(X, 4)}
    wrong = sp.csr_array(X)
    wrong.indices = wrong.indices + 5
    for bad in (
        {"initial": start(X[:, :2], 4)},
        {"initial": start(X, 3)},
        {"evidence": mask[:-1]},
        {"order": np.array([0, 60])},
        {"sample_weight": np.ones(3)},
        {"X": wrong},
    ):
        with pytest.raises(InputError):
            perceptron(**{**good, **bad})


@pytest.mark.parametrize("unlabeled", [0.0, 0.6])
@pytest.mark.parametrize(
    ("offset", "average", "form", "scaler"),
    [
        (0.0, False, np.asarray, StandardScaler()),
        (0.0, False, sp.csr_array, Normalizer()),
        (200.0, False, np.asarray, StandardScaler()),
        (200.0, True, np.asarray, StandardScaler()),
    ],
)
@pytest.mark.parametrize("model", [AvgPegasos, MaxPegasos])
def test_one_predicted_class_is_a_warning(model, offset, average, form, scaler, unlabeled):
    """On long rows, or rows with an offset, fit warns that it predicts one class; the named scaler is the remedy."""
    X, y = load_digits(return_X_y=True)
    X, y = form(X + offset), np.where(np.arange(len(y)) % 10 < 10 * unlabeled, -1, y)
    model = model(average=average)
    with pytest.warns(ConvergenceWarning, match=f"Scale the features with {type(scaler).__name__}"):
        assert len(np.unique(model.fit(X, y).predict(X))) == 1
    X = scaler.fit_transform(X)
    assert len(np.unique(model.fit(X, y).predict(X))) == 10


def test_rows_of_equal_length_with_an_offset_warn():
    """Rows of length 1 still warn if one class is predicted."""
    X, y = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="one class is predicted"):
        AvgPegasos().fit(Normalizer().fit_transform(X + 200), y)


def margins(W, X, mask):
    """Return the margins mean_S s - max_out s, the set sizes and the rows that are not unlabeled."""
    labeled = ~mask.all(axis=1)
    scores, mask = X[labeled] @ W.T, mask[labeled]
    inside = np.where(mask, scores, 0).sum(axis=1) / mask.sum(axis=1)
    return inside - np.where(mask, -np.inf, scores).max(axis=1), mask.sum(axis=1), X[labeled]


def unit_weights(rng, K, d):
    W = rng.normal(size=(K, d))
    return W / np.linalg.norm(W)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_mistake_bound_on_separable_streams(seed):
    """Theorem 1: AvgPerceptron makes at most 2/gamma^2 + (1/c + 1) R^2/gamma^2 mistakes on separable data."""
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 6)), int(rng.integers(2, 8))
    W = unit_weights(rng, K, d)
    X = rng.normal(size=(2000, d))
    top = np.argsort(-(X @ W.T), axis=1)
    mask = np.zeros((len(X), K), dtype=bool)
    for i, size in enumerate(rng.integers(1, K, len(X))):
        mask[i, top[i, :size]] = True
    margin, sizes, _ = margins(W, X, mask)
    keep = margin > np.quantile(margin, rng.uniform(0.3, 0.9))
    X, mask, gamma, c = X[keep], mask[keep], margin[keep].min(), sizes[keep].min()
    if gamma <= 0:
        return
    R2 = (X**2).sum(axis=1).max()
    state = perceptron(X, mask, prediction="average", initial=start(X, K))
    assert state.n_mistakes <= 2 / gamma**2 + (1 / c + 1) * R2 / gamma**2


@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.1, 0.5, 2.0]))
@settings(max_examples=60, deadline=None)
def test_mistake_bound_on_any_stream(seed, gamma):
    """Theorem 2 holds in the tighter form of its proof, for good and for arbitrary weights of norm 1."""
    rng = np.random.default_rng(seed)
    K, d = 4, 5
    teacher = unit_weights(rng, K, d)
    X = rng.normal(size=(500, d)) * rng.uniform(0.2, 3.0)
    mask = np.eye(K, dtype=bool)[(X @ teacher.T + rng.normal(size=(500, K)) * 0.3).argmax(axis=1)]
    mask |= rng.random(mask.shape) < 0.2
    mask[mask.all(axis=1), 0] = False
    state = perceptron(X, mask, prediction="average", initial=start(X, K))
    learned = state.weights / np.linalg.norm(state.weights)
    for W in (teacher, learned, unit_weights(rng, K, d)):
        margin, sizes, rows = margins(W, X, mask)
        D2 = ((sizes * np.maximum(0.0, gamma - margin)) ** 2).sum()
        R2, k = (rows**2).sum(axis=1).max(), 1 / sizes.min() + 1
        Delta2 = np.sqrt((D2 + k * D2 * R2) / k)
        Z2 = 1 + D2 / Delta2 if D2 > 0 else 1.0
        assert state.n_mistakes <= 2 * Z2 / gamma**2 + k * (R2 + Delta2) * Z2 / gamma**2


def test_mistake_bounds_are_not_trivial():
    """There are streams with more mistakes than a tenth of the bound of Theorem 1."""
    X = np.tile(np.eye(6), (3, 1))
    mask = np.tile(np.eye(6, dtype=bool)[[5, 4, 3, 2, 1, 0]], (3, 1))
    W = np.eye(6)[[5, 4, 3, 2, 1, 0]] / np.sqrt(6)
    margin, _, _ = margins(W, X, mask)
    state = perceptron(X, mask, prediction="average", initial=start(X, 6))
    bound = 2 / margin.min() ** 2 + 2 / margin.min() ** 2
    assert bound / 10 < state.n_mistakes <= bound


def regret(X, mask, lam, *, shrink_always):
    """Return the mean objective along the run minus that of a good fixed W, a lower bound on the regret."""
    W, total = start(X, mask.shape[1]), 0.0
    for t in range(len(X)):
        weights = W.weights
        total += lam / 2 * (weights**2).sum() + average_prediction_hinge(X[t : t + 1] @ weights.T, mask[t : t + 1])[0]
        row = {"X": X[t : t + 1], "evidence": mask[t : t + 1]}
        W = pegasos(**row, prediction="average", initial=W, lam=lam, shrink_always=shrink_always)

    def objective(flat):
        weights = flat.reshape(W.V.shape)
        return lam / 2 * (flat**2).sum() + average_prediction_hinge(X @ weights.T, mask).mean()

    # The objective of the best fixed W found is at least the minimum: it makes the regret smaller, never larger. The
    # descent comes close to the minimum, since it starts from the weights of the run.
    best = min(
        minimize(objective, np.ravel(w0), method="L-BFGS-B", options={"maxiter": 200}).fun
        for w0 in (np.zeros_like(W.V), W.weights)
    )
    return total / len(X) - best


@pytest.mark.parametrize("seed", range(12))
def test_regret_bound_holds_if_every_row_shrinks(seed):
    """Theorem 3 holds with shrink="always": regret <= G^2 ln T / (lam T), G = sqrt(lam) + sqrt(1 + 1/c) R."""
    rng = np.random.default_rng(seed)
    T, K, d = int(rng.integers(3, 120)), 3, 3
    lam = float(rng.choice([0.01, 0.1, 1.0]))
    X = rng.normal(size=(T, d)) + 0.5
    mask = np.eye(K, dtype=bool)[rng.integers(0, K, T)]
    mask[rng.random(T) < 0.5, int(rng.integers(0, K))] = True
    c, R = mask.sum(axis=1).min(), np.sqrt((X**2).sum(axis=1).max())
    G = np.sqrt(lam) + np.sqrt(1 + 1 / c) * R
    assert regret(X, mask, lam, shrink_always=True) <= G**2 * np.log(T) / (lam * T)


@pytest.mark.long
def test_regret_bound_fails_for_the_algorithm_as_printed():
    """Counterexample: with K = 2, x = 1, S = {0}, lam = .01, T = 10^4 the regret is .498, the bound .211."""
    T, lam = 10_000, 0.01
    X, mask = np.ones((T, 1)), np.tile([True, False], (T, 1))
    G = np.sqrt(lam) + np.sqrt(2)
    bound = G**2 * np.log(T) / (lam * T)
    assert bound == pytest.approx(0.211, abs=5e-4)
    assert regret(X, mask, lam, shrink_always=False) == pytest.approx(0.498, abs=2e-3)
    assert regret(X, mask, lam, shrink_always=True) <= bound
