"""Online classifiers over blocks, by averaged weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron, distributed
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
