"""The sweeps of IPAL: their limits, their fixed point, their start."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.ipal import balance_classes, propagate, reconstruction_links
from tests.estimators.panel import table


def graph(n=80, d=8, seed=0):
    """Return the links between rows that are not full, and their sets."""
    X, mask = table(n, d, seed=seed)
    told = ~mask.all(axis=1)
    return reconstruction_links(NeighborIndex(X[told]), 6), mask[told]


def test_links_are_shares_without_a_diagonal():
    """Every row has k links, none to itself, that are at least 0 and sum to 1 (or are all 0)."""
    links, mask = graph()
    assert links.shape == (len(mask), len(mask))
    assert (np.diff(links.indptr) == 6).all()
    assert (links.data >= 0).all()
    assert not links.diagonal().any()
    total = links.sum(axis=1)
    np.testing.assert_allclose(total[total > 0], 1)


def test_without_neighbors_the_sets_stay_uniform():
    """At alpha = 0, in the limit alpha -> 0, and for rows that no neighbor rebuilds, F is F_0."""
    links, mask = graph()
    start = uniform_within_sets(mask)
    np.testing.assert_allclose(propagate(links, mask, alpha=0.0).confidence, start, atol=1e-15)
    assert np.abs(propagate(links, mask, alpha=1e-9).confidence - start).max() < 1e-8
    nothing = sp.csr_array(links.shape)
    for alpha in (0.5, 1.0):
        np.testing.assert_allclose(propagate(nothing, mask, alpha=alpha).confidence, start, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.3, 0.95, 1.0])
def test_the_end_is_a_fixed_point(alpha):
    """Where sweeps stop by themselves, another one changes no entry by more than the tolerance; shares stay shares."""
    links, mask = graph()
    found = propagate(links, mask, alpha=alpha, max_iter=10_000, tol=1e-10)
    assert found.n_iter < 10_000
    assert found.change <= 1e-10
    F = found.confidence
    again = normalize_within_sets(alpha * (links @ F) + (1 - alpha) * uniform_within_sets(mask), mask)
    np.testing.assert_allclose(again, F, atol=1e-10)
    np.testing.assert_allclose(F.sum(axis=1), 1)
    assert not F[~mask].any()


def test_a_warm_start_goes_on():
    """Sweeps go on where they were, and end at once at the end."""
    links, mask = graph()
    first = propagate(links, mask, alpha=0.95, max_iter=7)
    whole = propagate(links, mask, alpha=0.95, max_iter=20)
    rest = propagate(links, mask, alpha=0.95, max_iter=13, initial=first.confidence)
    np.testing.assert_array_equal(rest.confidence, whole.confidence)
    end = propagate(links, mask, alpha=0.95, max_iter=10_000, tol=1e-9).confidence
    assert propagate(links, mask, alpha=0.95, tol=1e-9, initial=end).n_iter == 1


def test_balanced_classes_have_the_odds_of_f_by_their_mass():
    """Within a set, balancing multiplies the odds of two classes by those of q_k, and exact labels stay."""
    links, mask = graph()
    F = propagate(links, mask, alpha=0.95).confidence
    balanced = balance_classes(F, mask)
    q = uniform_within_sets(mask).sum(axis=0) / F.sum(axis=0)
    pairs = (F[:, 0] > 0) & (F[:, 1] > 0)
    assert pairs.any()
    odds = balanced[pairs, 0] / balanced[pairs, 1]
    np.testing.assert_allclose(odds, F[pairs, 0] / F[pairs, 1] * q[0] / q[1])
    np.testing.assert_allclose(balanced.sum(axis=1), 1)
    np.testing.assert_array_equal(balanced[mask.sum(axis=1) == 1], mask[mask.sum(axis=1) == 1])
    wide = np.column_stack([mask, np.zeros(len(mask), dtype=bool)])
    for left in (0.0, 1e-310):  # of a class that died out
        np.testing.assert_allclose(balance_classes(np.column_stack([F, left * mask[:, 0]]), wide)[:, :3], balanced)
