"""Reconstruction of rows from their neighbors, and propagation of labels, compared with an oracle and their laws."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers import neighbors as neighbors_module
from oneof.solvers.neighbors import (
    propagate,
    reconstruction_matrix,
    reconstruction_weights,
)
from tests.estimators.panel import table
from tests.oracles import ipal as oracle

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def problem(n=40, m=30, d=8, k=5, seed=0):
    """Return rows, targets, neighbors and labels, with some zero features."""
    random = np.random.default_rng(seed)
    X, T = random.normal(size=(m, d)), random.normal(size=(n, d))
    X[random.random(X.shape) < 0.4] = 0.0
    T[random.random(T.shape) < 0.4] = 0.0
    near = np.array([oracle.nearest(X, t, k)[0] for t in T])
    return X, T, near, random.integers(0, 3, m)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_entries", [1, 100, 2**22])
def test_weights_equal_the_oracle(max_entries, dtype, form, monkeypatch):
    """The weights minimize the residual for dense and CSR rows, in one block or many."""
    monkeypatch.setattr(neighbors_module, "MAX_GRAM_ENTRIES", max_entries)
    X, T, near, _ = problem()
    X, T = X.astype(dtype), T.astype(dtype)
    expected = [oracle.reconstruct(X, t, neighbors) for t, neighbors in zip(T.astype(float), near, strict=True)]
    np.testing.assert_allclose(reconstruction_weights(form(X), form(T), near), expected, atol=1e-9)


def test_overflowing_products_are_rejected():
    """Products of rows far from the origin may overflow even if their distances do not."""
    with pytest.raises(InputError, match="Scale the features"):
        reconstruction_weights(np.full((3, 2), 1e160), np.full((3, 2), 1e160), np.array([[1], [0], [0]]))


@pytest.mark.parametrize("near", [[[0], [2]], [[-1], [0]], [[0], [1], [0]]])
def test_invalid_neighbor_indices_are_rejected(near):
    """Indices are checked before the compiled loops, which do not check bounds."""
    with pytest.raises(InputError, match="`neighbors` must have indices of 2 rows"):
        reconstruction_weights(np.eye(2), np.eye(2), np.array(near))


def problem_with_sets(n=80, d=8, seed=0):
    """Return the reconstruction matrix of the labeled rows, and their sets."""
    X, mask = table(n, d, seed=seed)
    labeled = ~mask.all(axis=1)
    return reconstruction_matrix(NeighborIndex(X[labeled]), 6), mask[labeled]


def test_without_neighbors_the_labels_are_uniform():
    """For alpha = 0, in the limit alpha -> 0, and for rows with zero weights, F is F_0."""
    weights, mask = problem_with_sets()
    uniform = uniform_within_sets(mask)
    np.testing.assert_allclose(propagate(weights, mask, alpha=0.0).label_distributions, uniform, atol=1e-15)
    assert np.abs(propagate(weights, mask, alpha=1e-9).label_distributions - uniform).max() < 1e-8
    zero = sp.csr_array(weights.shape)
    for alpha in (0.5, 1.0):
        np.testing.assert_allclose(propagate(zero, mask, alpha=alpha).label_distributions, uniform, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.3, 0.95, 1.0])
def test_the_result_is_a_fixed_point(alpha):
    """After convergence another iteration changes no entry by more than the tolerance; rows sum to 1."""
    weights, mask = problem_with_sets()
    result = propagate(weights, mask, alpha=alpha, max_iter=10_000, tol=1e-10)
    assert result.n_iter < 10_000
    assert result.change <= 1e-10
    F = result.label_distributions
    again = normalize_within_sets(alpha * (weights @ F) + (1 - alpha) * uniform_within_sets(mask), mask)
    np.testing.assert_allclose(again, F, atol=1e-10)
    np.testing.assert_allclose(F.sum(axis=1), 1)
    assert not F[~mask].any()


def test_a_warm_start_continues_the_iterations():
    """A warm start gives the same result as a single run, and stops at once after convergence."""
    weights, mask = problem_with_sets()
    first = propagate(weights, mask, alpha=0.95, max_iter=7)
    full = propagate(weights, mask, alpha=0.95, max_iter=20)
    rest = propagate(weights, mask, alpha=0.95, max_iter=13, initial=first.label_distributions)
    np.testing.assert_array_equal(rest.label_distributions, full.label_distributions)
    end = propagate(weights, mask, alpha=0.95, max_iter=10_000, tol=1e-9).label_distributions
    assert propagate(weights, mask, alpha=0.95, tol=1e-9, initial=end).n_iter == 1
