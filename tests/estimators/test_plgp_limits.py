"""Where PLGP ends: kernels, sizes and parameters that it refuses, and what it says where digits or steps run out."""

import os
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, Kernel

from oneof import PLGP
from oneof.errors import InputError, InputTypeError
from tests.estimators.panel import further, table

FIXED = {"optimizer": None, "random_state": 0}


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
def test_a_kernel_too_large_for_the_arithmetic(solver):
    """What the arithmetic cannot hold is refused in one sentence, never NaN."""
    X, mask = table(60)
    with pytest.raises(InputError, match=r"(?i)scale the features"):
        PLGP(1e200 * DotProduct(), solver=solver, **FIXED).fit(X, mask)


def test_covariances_that_lost_their_digits_are_said():
    """Prior variances 1e9 times what the rows leave uncertain cannot be subtracted, and a warning says so."""
    X, mask = table(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PLGP(1e8 * RBF(20.0), max_iter=5, **FIXED).fit(X, mask)
    with pytest.warns(UserWarning, match="rounding leaves errors of about"):
        model.predict_proba(further())


class Indefinite(Kernel):
    """x.y, less some share of the identity."""

    def __init__(self, share=0.5):
        self.share = share

    def __call__(self, X, Y=None):
        gram = np.asarray(X) @ np.asarray(X if Y is None else Y).T
        return gram - self.share * np.eye(len(gram)) if Y is None else gram

    def diag(self, X):
        return (np.asarray(X) ** 2).sum(axis=1) - self.share

    def is_stationary(self):
        return False


def test_kernels_that_are_none():
    """A kernel that is nearly positive semi-definite gets a jitter, with a warning; others are refused."""
    X, mask = table(50)
    with pytest.raises(InputError, match="positive semi-definite"):
        PLGP(Indefinite(0.5), **FIXED).fit(X, mask)
    with pytest.warns(UserWarning, match="not quite positive semi-definite"):
        model = PLGP(Indefinite(1e-7), **FIXED).fit(X, mask)
    expected = PLGP(DotProduct(0.0), **FIXED).fit(X, mask)
    np.testing.assert_allclose(model.latent_mode_, expected.latent_mode_, atol=1e-3)


def test_predictions_against_the_means_are_said():
    """Far too large a variance lets the classes win that a row says least of; a moderate one does not."""
    X, y = make_blobs(100, centers=5, n_features=4, cluster_std=0.3, random_state=0)
    with pytest.warns(UserWarning, match="another class than the largest latent mean"):
        PLGP(1e4 * RBF(10.0), **FIXED).fit(X, y).predict(X)
    assert (PLGP(10.0 * RBF(10.0), **FIXED).fit(X, y).predict(X) == y).all()


def test_landmarks_of_what_is_no_kernel_are_refused():
    """Nystrom features see the kernel of their landmarks, which must be one."""
    X, mask = table(60)
    with pytest.raises(InputError, match="must be positive semi-definite"):
        PLGP(ExpSineSquared(), approximation="nystroem", **FIXED).fit(X, mask)


def test_covariances_of_features_beyond_memory_are_refused_before_the_fit(monkeypatch):
    """They are needed to predict, so that a fit without them would be in vain; fewer rows than landmarks are enough."""
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 200}.get)
    X, mask = table(90)
    with pytest.raises(InputError, match=r"covariances of [0-9]+ features and 3 classes would take"):
        PLGP(approximation="nystroem", **FIXED).fit(X, mask)


@pytest.mark.slow
def test_many_rows_fit_in_memory():
    """Probabilities of 100,000 rows take a fraction of the memory that their covariances would."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), np.arange(60) % 20
    model = PLGP(n_mc_samples=4, **FIXED).fit(X, y)
    rows = random.normal(size=(100_000, 2))
    model.predict_proba(rows[:1])
    tracemalloc.start()
    proba = model.predict_proba(rows)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000 * 20 * 20 * 8 / 2
    np.testing.assert_allclose(proba[::9999], model.predict_proba(rows[::9999]), atol=1e-10)


def test_a_kernel_beyond_memory(monkeypatch):
    """Too many rows are refused before anything is allocated, with the memory it would take and the way out."""
    X, mask = table(200)
    real = os.sysconf
    monkeypatch.setattr(os, "sysconf", lambda name: 10 if name == "SC_PHYS_PAGES" else real(name))
    with pytest.raises(InputError, match=r"would take .* GB.*nystroem"):
        PLGP(**FIXED).fit(X, mask)


@pytest.mark.parametrize(
    "options",
    [
        {"sharpness": 0.0},
        {"solver": "newton"},
        {"approximation": "fourier"},
        {"approximation": "nystroem", "solver": "cholesky"},
        {"optimizer": "adam"},
        {"n_mc_samples": 0},
        {"temperature": 0.0},
        {"temperature": "auto"},
        {"n_components": 1.5},
        {"optimizer_max_samples": 0},
        {"tol": 0.0},
    ],
)
def test_refused_parameters(options):
    """What cannot be is said in one sentence, before anything is learned."""
    X, mask = table()
    model = PLGP(**options)
    with pytest.raises(InputError, match=next(iter(options))):
        model.fit(X, mask)
    assert not hasattr(model, "classes_")


def test_what_is_no_kernel():
    """Names of kernels and the like are refused."""
    X, mask = table()
    with pytest.raises(InputTypeError, match=r"`kernel` must be .*'rbf'"):
        PLGP("rbf").fit(X, mask)


def test_too_few_steps_are_said():
    """A climb that is cut short warns."""
    X, mask = table()
    with pytest.warns(ConvergenceWarning, match="did not converge in"):
        PLGP(max_iter=1, **FIXED).fit(X, mask)
