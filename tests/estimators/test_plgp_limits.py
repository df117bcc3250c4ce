"""Limits of PLGP: invalid kernels, sizes and parameters, and warnings about precision and convergence."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, Kernel

from oneof import PLGP
from oneof.errors import InputError
from tests.estimators.panel import further, table

FIXED = {"optimizer": None, "random_state": 0}


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
def test_an_overflowing_kernel_raises(solver):
    """Overflow raises an error and never gives NaN."""
    X, mask = table(60)
    with pytest.raises(InputError, match=r"(?i)scale the features"):
        PLGP(1e200 * DotProduct(), solver=solver, **FIXED).fit(X, mask)


def test_imprecise_covariances_warn():
    """Prior variances 1e11 times the posterior variances lose all digits, which causes a warning."""
    X, mask = table(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PLGP(1e10 * RBF(20.0), max_iter=5, **FIXED).fit(X, mask)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_proba(further())
    assert any("rounding leaves errors of about" in str(item.message) for item in caught)


class Indefinite(Kernel):
    """x.y, minus a multiple of the identity."""

    def __init__(self, shift=0.5):
        self.shift = shift

    def __call__(self, X, Y=None):
        gram = np.asarray(X) @ np.asarray(X if Y is None else Y).T
        return gram - self.shift * np.eye(len(gram)) if Y is None else gram

    def diag(self, X):
        return (np.asarray(X) ** 2).sum(axis=1) - self.shift

    def is_stationary(self):
        return False


def test_indefinite_kernels():
    """A nearly positive semi-definite kernel gets a jitter and a warning; an indefinite one raises an error."""
    X, mask = table(50)
    with pytest.raises(InputError, match="positive semi-definite"):
        PLGP(Indefinite(0.5), **FIXED).fit(X, mask)
    with pytest.warns(UserWarning, match="not quite positive semi-definite"):
        model = PLGP(Indefinite(1e-7), **FIXED).fit(X, mask)
    expected = PLGP(DotProduct(0.0), **FIXED).fit(X, mask)
    np.testing.assert_allclose(model.latent_mode_, expected.latent_mode_, atol=1e-3)


def test_large_prior_variances_warn():
    """With a far too large variance the predictions differ from the latent means; with a moderate one they do not."""
    X, y = make_blobs(100, centers=5, n_features=4, cluster_std=0.3, random_state=0)
    with pytest.warns(UserWarning, match="another class than the largest latent mean"):
        PLGP(1e4 * RBF(10.0), **FIXED).fit(X, y).predict(X)
    assert (PLGP(10.0 * RBF(10.0), **FIXED).fit(X, y).predict(X) == y).all()


def test_landmarks_of_an_indefinite_kernel_raise():
    """Nystroem features need a positive semi-definite kernel of their landmarks."""
    X, mask = table(60)
    with pytest.raises(InputError, match="must be positive semi-definite"):
        PLGP(ExpSineSquared(), approximation="nystroem", **FIXED).fit(X, mask)


@pytest.mark.slow
def test_many_rows_fit_in_memory():
    """Probabilities of 100,000 rows take a fraction of the memory of their covariances."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 20
    model = PLGP(n_mc_samples=4, **FIXED).fit(X, y)
    rows = rng.normal(size=(100_000, 2))
    model.predict_proba(rows[:1])
    tracemalloc.start()
    proba = model.predict_proba(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000 * 20 * 20 * 8 / 2
    np.testing.assert_allclose(proba[::9999], model.predict_proba(rows[::9999]), atol=1e-10)
