"""Estimators that are fitted over blocks: online classifiers, LOORidge and PLGP, from sets and from weights."""

import itertools

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from oneof import PLGP, AvgPegasos, AvgPerceptron, CandidateSets, LOORidge, MaxPegasos, MaxPerceptron, distributed
from oneof.errors import InputError
from oneof.estimators import loo_ridge
from oneof.persistence import load, save
from oneof.solvers.loo_ridge import loo_operators as solver_blocks
from oneof.solvers.loo_ridge.loo_operators import NystroemRidge
from oneof.solvers.online import OnlineState, perceptron
from tests.distributed.blocks import in_blocks, table
from tests.oracles import mixing as oracle

CLASSIFIERS = [
    AvgPerceptron(n_epochs=3),
    MaxPerceptron(n_epochs=3, average=True, fit_intercept=True),
    AvgPegasos(n_epochs=3, shuffle=True, random_state=1),
    MaxPegasos(n_epochs=2, shrink="always", average=True, shuffle=True, random_state=2),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
@pytest.mark.parametrize("form", ["dense", "csr", "weights"])
def test_one_block_equals_the_ordinary_fit(classifier, form):
    """With a single block every attribute is identical to that of the ordinary fit."""
    X, y, _ = table()
    sparse = form == "csr"
    if form == "weights":
        y = CandidateSets.from_weights(np.where(y.mask, [0.9, 0.3, 0.5], 0.0), y.classes)
    local = clone(classifier).fit(sp.csr_array(X) if sparse else X, y)
    rows = in_blocks(X, [240])
    remote = distributed.fit(clone(classifier), rows.map_blocks(sp.csr_matrix) if sparse else rows, y)
    np.testing.assert_array_equal(remote.coef_, local.coef_)
    np.testing.assert_array_equal(remote.intercept_, local.intercept_)
    assert (remote.t_, remote.progressive_loss_) == (local.t_, local.progressive_loss_)
    assert remote.classes_.tolist() == local.classes_.tolist()


@pytest.mark.parametrize("prediction", ["average", "max"])
def test_perceptrons_equal_the_algorithm_of_the_paper(prediction):
    """Three blocks of different lengths give the weights of a literal version of the paper's algorithm."""
    X, y, _ = table()
    cuts = [slice(0, 50), slice(50, 170), slice(170, 240)]
    expected = oracle.mix([(X[cut], y.mask[cut]) for cut in cuts], 2, prediction=prediction)[-1]
    classifier = (AvgPerceptron if prediction == "average" else MaxPerceptron)(n_epochs=2)
    distributed.fit(classifier, in_blocks(X, [50, 120, 70]), y)
    np.testing.assert_allclose(classifier.coef_, expected, rtol=1e-10, atol=1e-12)


def test_average_is_the_mean_over_all_blocks():
    """`average` gives the mean of the weights after every row of every block and round."""
    X, y, _ = table()
    W, total = np.zeros((3, 5)), np.zeros((3, 5))
    for _ in range(2):
        ends = []
        for cut in (slice(0, 100), slice(100, 240)):
            state = OnlineState(W, 1.0, float((W**2).sum()), np.zeros((0, 0)), 0.0, 0, 0, 0, 0)
            for row in range(cut.start, cut.stop):
                row_slice = slice(row, row + 1)
                state = perceptron(X[row_slice], y.mask[row_slice], prediction="average", initial=state)
                total += state.weights
            ends.append(state.weights * np.count_nonzero(~y.is_unlabeled[cut]))
        W = sum(ends) / np.count_nonzero(~y.is_unlabeled)
    classifier = distributed.fit(AvgPerceptron(n_epochs=2, average=True), in_blocks(X, [100, 140]), y)
    np.testing.assert_allclose(classifier.coef_, total / (2 * 240), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def test_a_fitted_classifier_continues_by_partial_fit(classifier):
    """The result is an ordinary classifier, which counts all rows and continues by `partial_fit`."""
    X, y, _ = table()
    classifier = distributed.fit(clone(classifier), in_blocks(X, [100, 140]), y)
    assert classifier.t_ == 240 * classifier.n_epochs
    assert 0 < classifier.progressive_loss_ < 1
    classifier.partial_fit(X[:20], y[:20])
    assert classifier.t_ == 240 * classifier.n_epochs + 20


def test_unlabeled_blocks_change_nothing():
    """A block of unlabeled rows does not change the weights."""
    X, y, _ = table()
    sets = y[np.r_[0:240, np.zeros(30, dtype=int)]]  # row 0 is unlabeled
    without_unlabeled = distributed.fit(AvgPerceptron(), in_blocks(X, [100, 140]), y)
    with_unlabeled = distributed.fit(AvgPerceptron(), in_blocks(np.r_[X, X[:30]], [100, 140, 30]), sets)
    np.testing.assert_array_equal(with_unlabeled.coef_, without_unlabeled.coef_)


def test_single_precision_is_preserved():
    """Rows in single precision give weights in single precision; one block in double precision makes all double."""
    X, y, _ = table()
    single = in_blocks(X.astype(np.float32), [120, 120])
    assert distributed.fit(AvgPegasos(), single, y).coef_.dtype == np.float32
    mixed = single.map_blocks(lambda block, block_id: block.astype([np.float32, np.float64][block_id[0]]), dtype=float)
    assert distributed.fit(AvgPegasos(), mixed, y).coef_.dtype == np.float64


# -- LOORidge over blocks equals the ordinary fit ----------------------------------------------------------------------


LENGTHS = [0, 100, 0, 20, 60, 60, 0]


def problem(*, weighted=False):
    """Return rows and sets; the rows of the fourth block are unlabeled, and the last one has sets only."""
    X, y, _ = table()
    mask = y.mask.copy()
    mask[100:120] = True
    if not weighted:
        return X, CandidateSets(mask, y.classes)
    weights = mask * np.random.default_rng(0).uniform(0.1, 1.0, mask.shape)
    weights[mask.all(axis=1)] = 1.0
    weights[180:] = mask[180:]
    return X, CandidateSets.from_weights(weights, y.classes)


def assert_equal_models(remote, local, X):
    """Compare the functions and the attributes that do not have an entry for each row."""
    np.testing.assert_allclose(remote.decision_function(X), local.decision_function(X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(remote.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-8)
    assert remote.kernel_weights_ == pytest.approx(local.kernel_weights_)
    assert remote.judge_weight_ == pytest.approx(local.judge_weight_)
    np.testing.assert_allclose(remote.label_changes_, local.label_changes_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", ["dense", "csr", "weights"])
@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_components": 30}], ids=["exact", "nystroem"])
def test_rows_that_fit_in_one_process(options, form):
    """The rows are collected, and the function equals the ordinary one to 1e-8."""
    X, y = problem(weighted=form == "weights")
    local, remote = (LOORidge(random_state=0, **options) for _ in range(2))
    local.fit(sp.csr_array(X) if form == "csr" else X, y)
    rows = in_blocks(X, LENGTHS)
    distributed.fit(remote, rows.map_blocks(sp.csr_matrix) if form == "csr" else rows, y)
    assert_equal_models(remote, local, X)


@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("lengths", [LENGTHS, [240], [0, 240], [7] * 34 + [2]])
def test_more_rows_than_fit_in_one_process(lengths, weighted, monkeypatch):
    """With iterations over blocks, the function equals the ordinary one to 1e-8 for any division into blocks."""
    monkeypatch.setattr(loo_ridge, "MAX_FEATURE_ENTRIES", 100 * 30)
    monkeypatch.setattr(solver_blocks, "BLOCK_ROWS", 50)
    X, y = problem(weighted=weighted)
    local, remote = (LOORidge(approximation="nystroem", n_components=30, random_state=0) for _ in range(2))
    calls = []
    in_blocks_of = NystroemRidge.in_blocks
    monkeypatch.setattr(NystroemRidge, "in_blocks", lambda *args: calls.append(args) or in_blocks_of(*args))
    local.fit(X, y)
    distributed.fit(remote, in_blocks(X, lengths), y)
    assert len(calls) == 2
    assert_equal_models(remote, local, X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unlabeled": "class_mass"}, '`unlabeled` must be "ignore" over blocks of rows'),
        ({"approximation": None}, "`approximation` must be .* over blocks of rows; got approximation=None"),
        ({"kernel": "precomputed"}, "`kernel` must not be .precomputed. over blocks of rows"),
        ({"lam": -1.0}, "`lam` must be"),
    ],
)
def test_parameters_without_a_form_over_blocks_are_rejected(options, message):
    """The error names the parameter."""
    X, y = problem()
    with pytest.raises(InputError, match=message):
        distributed.fit(LOORidge(**options), in_blocks(X, LENGTHS), y)


# -- PLGP over blocks equals the ordinary fit --------------------------------------------------------------------------


OF_PLGP = [100, 0, 80, 60]


def make_plgp(**options):
    kernel = ConstantKernel(2.0) * RBF(2.0)
    return PLGP(
        **{"kernel": kernel, "optimizer": None, "approximation": "nystroem", "n_components": 30, "tol": 1e-10}
        | {"n_mc_samples": 50, "random_state": 0}
        | options
    )


def shorten(objective, start, bounds):
    """Return parameters below the start, as an optimizer without evaluations."""
    return start - 0.1, 0.0


OPTIONS = [
    {},
    {"sharpness": 2.0},
    {"anneal": False, "sharpness": 1.0},
    {"optimizer": shorten, "optimizer_max_samples": 60},
    {"kernel": [RBF(1.0), RBF(2.0), RBF(3.0)]},
    {"kernel": None, "sharpness": 1.0},
]


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
def test_plgp_equals_the_ordinary_fit(options):
    """Latents, probabilities and the evidence are equal to 1e-8, with optimized and with fixed kernels."""
    X, y, _ = table()
    local, remote = make_plgp(**options).fit(X, y), make_plgp(**options)
    distributed.fit(remote, in_blocks(X, OF_PLGP), y)
    for own, other in zip(local.latent_mean_and_cov(X[:40]), remote.latent_mean_and_cov(X[:40])):
        np.testing.assert_allclose(other, own, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(remote.predict_proba(X), local.predict_proba(X), rtol=1e-8, atol=1e-8)
    assert remote.log_marginal_likelihood_value_ == pytest.approx(local.log_marginal_likelihood_value_, rel=1e-8)
    assert str(remote.kernel_) == str(local.kernel_)


def test_the_default_kernel_equals_that_of_the_ordinary_fit():
    """The default length, from sums over blocks, is identical, since on flat evidence the last digit matters."""
    kernels = []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(3.0, 2.0, size=(240, 5))
        y = np.arange(240) % 3
        local, remote = (PLGP(optimizer=None, approximation="nystroem", n_components=3, max_iter=1) for _ in range(2))
        with pytest.warns(ConvergenceWarning):
            local.fit(X, y)
        with pytest.warns(ConvergenceWarning):
            distributed.fit(remote, in_blocks(X, OF_PLGP), y)
        kernels.append((local.kernel_.theta.tolist(), remote.kernel_.theta.tolist()))
    assert [own for own, _ in kernels] == [other for _, other in kernels]


def test_plgp_of_csr_blocks():
    """CSR blocks give the results of dense blocks."""
    X, y, _ = table()
    X[np.abs(X) < 0.5] = 0.0
    rows = in_blocks(X, OF_PLGP)
    dense, sparse = (
        distributed.fit(make_plgp(), block_rows, y) for block_rows in (rows, rows.map_blocks(sp.csr_matrix))
    )
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", [LOORidge, make_plgp], ids=["LOORidge", "PLGP"])
def test_attributes_of_rows_are_not_set(kind, tmp_path):
    """The model is an ordinary estimator without an entry for each row, and it can be saved."""
    X, y = problem()
    model = distributed.fit(kind(), in_blocks(X, LENGTHS), y)
    for name in ("label_distributions_", "loo_scores_", "transduction_", "influential_rows_"):
        assert not hasattr(model, name)
    save(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


# -- Weights of the candidates over blocks -----------------------------------------------------------------------------


OF_WEIGHTS = (50, 40, 30)


def weighted_table(n=120):
    """Return rows with weights in the first two blocks, sets in the third, and unlabeled rows."""
    X, y, _ = table(n)
    weights = y.mask * np.random.default_rng(0).uniform(0.1, 1.0, y.mask.shape)
    weights[y.is_unlabeled] = 1.0
    weights[90:] = y.mask[90:]
    return X, CandidateSets.from_weights(weights, y.classes)


def in_delayed_blocks(y):
    """Return the labels as delayed blocks, whose weights are read on the workers."""
    starts = np.cumsum([0, *OF_WEIGHTS])
    return [dask.delayed(CandidateSets.from_weights)(y.weights[a:b], y.classes) for a, b in itertools.pairwise(starts)]


@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
def test_delayed_blocks_give_the_model_of_labels_in_memory(weighted):
    """Weights of the candidates, and sets as weights, are read on the workers."""
    X, y = weighted_table()
    y = y if weighted else CandidateSets(y.mask, y.classes)
    first, second = (distributed.fit(MaxPerceptron(), in_blocks(X, OF_WEIGHTS), z) for z in (y, in_delayed_blocks(y)))
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_plgp_of_weights_equals_the_ordinary_fit():
    """The scores of new rows equal those of the ordinary fit, and differ from those of the sets alone."""
    X, y = weighted_table()
    remote = distributed.fit(make_plgp(n_components=15), in_blocks(X, OF_WEIGHTS), y)
    local, of_sets = (make_plgp(n_components=15).fit(X, labels) for labels in (y, CandidateSets(y.mask, y.classes)))
    expected = local.predict_proba(X)
    np.testing.assert_allclose(remote.predict_proba(X), expected, rtol=1e-5, atol=1e-6)
    assert np.abs(expected - of_sets.predict_proba(X)).max() > 1e-3


def test_delayed_blocks_must_match_the_rows():
    """Another number of delayed blocks, and a matrix of weights, are errors."""
    X, y = weighted_table()
    with pytest.raises(InputError, match="`y` must have the same blocks as X; got 2 blocks for 3 of X"):
        distributed.fit(AvgPegasos(), in_blocks(X, OF_WEIGHTS), in_delayed_blocks(y)[:2])
    with pytest.raises(InputError, match="from_weights"):
        distributed.fit(AvgPegasos(), in_blocks(X, OF_WEIGHTS), da.from_array(y.weights, chunks=(OF_WEIGHTS, (3,))))
