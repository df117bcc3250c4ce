"""Rows rebuilt from their neighbors, against the definition."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers import reconstruction
from oneof.solvers.reconstruction import reconstruction_errors, reconstruction_weights
from tests.oracles import ipal as oracle

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def problem(n=40, m=30, d=8, k=5, seed=0):
    """Return rows, targets, neighbors and labels, with zeros among the features."""
    random = np.random.default_rng(seed)
    X, T = random.normal(size=(m, d)), random.normal(size=(n, d))
    X[random.random(X.shape) < 0.4] = 0.0
    T[random.random(T.shape) < 0.4] = 0.0
    near = np.array([oracle.nearest(X, t, k)[0] for t in T])
    return X, T, near, random.integers(0, 3, m)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [1, 100, 2**22])
def test_weights_equal_the_definition(largest, dtype, form, monkeypatch):
    """Dense and CSR rows, in one part or many, get the weights that minimize the residual."""
    monkeypatch.setattr(reconstruction, "LARGEST_PART", largest)
    X, T, near, _ = problem()
    X, T = X.astype(dtype), T.astype(dtype)
    expected = [oracle.rebuild(X, t, neighbors) for t, neighbors in zip(T.astype(float), near, strict=True)]
    np.testing.assert_allclose(reconstruction_weights(form(X), form(T), near), expected, atol=1e-9)


@FORMS
def test_errors_equal_the_definition(form):
    """What a class leaves unexplained is its own residual over the target's square, and 1 without neighbors."""
    X, T, near, labels = problem()
    found = reconstruction_errors(form(X), form(T), near, labels, 4)
    np.testing.assert_allclose(found, [oracle.errors(X, labels, 4, t, 5) for t in T], atol=1e-9)
    assert (found[:, 3] == 1).all()
    assert (reconstruction_errors(form(X), form(0 * T), near, labels, 4) == 0).all()


def test_products_that_overflow_are_said():
    """Rows close to each other but far from the origin have distances, yet no products."""
    with pytest.raises(InputError, match="scale the features"):
        reconstruction_weights(np.full((3, 2), 1e160), np.full((3, 2), 1e160), np.array([[1], [0], [0]]))


@pytest.mark.parametrize("near", [[[0], [2]], [[-1], [0]], [[0], [1], [0]]])
def test_neighbors_that_do_not_fit_are_refused(near):
    """Compiled loops never read outside the rows."""
    with pytest.raises(InputError, match="do not fit"):
        reconstruction_weights(np.eye(2), np.eye(2), np.array(near))
