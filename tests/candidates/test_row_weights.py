"""Storage of weights, and weights of noisy sets."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates import as_candidates
from oneof.errors import InputError, InputTypeError, LabelError
from tests.candidates.weights import EXPECTED, LABELS, W, ranked_rows

# -- storage ------------------------------------------------------------------------------------------------------


def test_storage_keeps_weights():
    """Indexing, pickling and copying keep the weights; sets without weighted rows are stored as a mask."""
    y = CandidateSets.from_weights(W)
    for rows in (slice(1, 3), slice(None, None, -1), [3, 0, 0], np.array([3, 0]), np.array([True, False, True, True])):
        np.testing.assert_array_equal(y[rows].weights, y.weights[rows])
        assert y[rows] == CandidateSets.from_weights(W[rows])
        assert CandidateSets(y.mask, y.classes)[rows] == CandidateSets(y.mask[rows], y.classes)
    for other in (pickle.loads(pickle.dumps(y)), copy.copy(y), copy.deepcopy(y), y[:]):
        assert other == y
    assert y != CandidateSets(y.mask, y.classes)
    assert y != CandidateSets.from_weights(W**2)
    assert y[2:].evidence.dtype == bool
    assert repr(y) == "<CandidateSets of 4 rows, 3 classes: 0 exact, 3 partial (2 weighted), 1 unlabeled>"
    np.testing.assert_array_equal(y.to_indicator(), EXPECTED > 0)
    np.testing.assert_array_equal(y.to_indicator(sparse=True).toarray(), EXPECTED > 0)
    assert y.to_sets() == [{0, 1}, {0, 1, 2}, {1, 2}, {0, 1, 2}]


def test_alignment_keeps_weights():
    """Weights of other classes are 0, and an unlabeled row remains unlabeled among more classes."""
    y = as_candidates(CandidateSets.from_weights(W, classes=["a", "b", "c"]), classes=np.array(["c", "x", "a", "b"]))
    np.testing.assert_allclose(y.weights[:3], np.insert(EXPECTED[:3, [2, 0, 1]], 1, 0.0, axis=1), rtol=1e-15)
    assert y.is_unlabeled.tolist() == [False, False, False, True]


# -- concatenation ------------------------------------------------------------------------------------------------


@given(ranked_rows, st.lists(st.integers(0, 6), max_size=3))
def test_concatenation_inverts_slicing(rows, cuts):
    """Blocks of rows, empty ones included, are joined to the same sets with the same weights."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    bounds = [0, *sorted(min(cut, len(y)) for cut in cuts), len(y)]
    blocks = [y[start:stop] for start, stop in itertools.pairwise(bounds)]
    assert CandidateSets.concatenate(blocks) == y
    assert CandidateSets.concatenate(iter(blocks)) == y
    sets = CandidateSets(y.mask, LABELS)
    joined = CandidateSets.concatenate([sets[:1], sets])
    assert joined.evidence is joined.mask
    np.testing.assert_array_equal(joined.mask, y.mask[[0, *range(len(y))]])


def literal_union(blocks):
    """Return the classes and the weights of joined blocks by a loop over blocks, rows and labels."""
    first = blocks[0].classes.tolist()
    labels = sorted({label for block in blocks for label in block.classes.tolist()})
    labels = first if set(labels) == set(first) else labels
    weights = [
        [1.0 if unlabeled else dict(zip(block.classes.tolist(), row)).get(label, 0.0) for label in labels]
        for block in blocks
        for row, unlabeled in zip(block.weights.tolist(), block.is_unlabeled.tolist())
    ]
    return labels, np.array(weights)


@given(
    st.lists(st.tuples(st.permutations(LABELS), st.integers(2, 4)), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_concatenation_by_label_equals_a_loop(parts, random):
    """Blocks over other classes, or in another order, are matched by label; unlabeled rows remain unlabeled."""
    blocks = []
    for order, n_classes in parts:
        W = [random.choices([0.0, 0.25, 1.0], k=n_classes) for _ in range(3)]
        blocks.append(
            CandidateSets.from_weights([row if any(row) else [1.0] * n_classes for row in W], order[:n_classes])
        )
    y = CandidateSets.concatenate(blocks)
    labels, weights = literal_union(blocks)
    assert y.classes.tolist() == labels
    np.testing.assert_array_equal(y.weights, weights)
    np.testing.assert_array_equal(y.is_weighted, np.concatenate([block.is_weighted for block in blocks]))
    np.testing.assert_array_equal(y.is_unlabeled, np.concatenate([block.is_unlabeled for block in blocks]))


def test_bad_blocks_are_errors():
    """Other objects, no block, classes of two types, and a single class that could mean "unlabeled" are errors."""
    y = CandidateSets.from_labels(["ant", "bee"])
    for blocks, message in ((y, "got {'ant'}"), (3, "got 3"), ([y, ["ant"]], r"got \['ant'\]")):
        with pytest.raises(InputTypeError, match=f"`blocks` must be a list of CandidateSets; {message}"):
            CandidateSets.concatenate(blocks)
    with pytest.raises(InputError, match="`blocks` must have at least one CandidateSets"):
        CandidateSets.concatenate([])
    with pytest.raises(LabelError, match="labels must have one type"):
        CandidateSets.concatenate([y, CandidateSets.from_labels([0, 1])])
    single = CandidateSets.from_labels(["ant", "ant"])
    with pytest.raises(InputError, match=r"block 1 has the class 'ant' only, .* Pass all classes"):
        CandidateSets.concatenate([y, single])
    assert len(CandidateSets.concatenate([single, single])) == 4


# -- noise --------------------------------------------------------------------------------------------------------


@given(ranked_rows, st.floats(0, 0.999), st.integers(0, 2**32 - 1))
def test_softened_weights_equal_the_literal_likelihood(rows, noise_rate, seed):
    """A softened row is the sum over its level sets of the binomial likelihoods of noisy sets."""
    y = CandidateSets.from_weights(rows, classes=LABELS)
    rates = np.random.default_rng(seed).uniform(0, 0.999, len(y))
    for rate in (noise_rate, rates):
        expected = np.zeros(y.shape)
        for i, row in enumerate(y.weights):
            e = np.broadcast_to(rate, len(y))[i]
            levels = sorted({*row.tolist(), 0.0}, reverse=True)
            for above, below in itertools.pairwise(levels):
                inside = row >= above
                s, K = int(inside.sum()), len(LABELS)
                odds = 0.0 if s == K else (e / math.comb(K - 1, s)) / ((1 - e) / math.comb(K - 1, s - 1))
                expected[i] += (above - below) * np.where(inside, 1.0, odds)
        np.testing.assert_allclose(
            y.soften(rate).weights, expected / expected.max(axis=1, keepdims=True), rtol=1e-9, atol=1e-300
        )
    assert y.soften(0.0) == y
    with pytest.raises(InputError, match=r"row 1: `noise_rate` must be at least 0 and below 1; got 1\.0"):
        CandidateSets.from_labels(["a", "b"]).soften([0.1, 1.0])
    np.testing.assert_array_equal(y.soften(noise_rate).is_unlabeled[y.is_unlabeled], True)


@pytest.mark.parametrize("rate", [-0.1, 1.0, np.nan, [0.1, 2.0], [0.1], [[0.1], [0.1]], "a"])
def test_bad_noise_rates_are_errors(rate):
    """A noise rate is at least 0 and below 1, for all rows or for each of them."""
    with pytest.raises(InputError):
        CandidateSets.from_labels(["a", "b"]).soften(rate)
