"""PLGP over blocks equals the ordinary fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from oneof import PLGP, distributed
from oneof.persistence import load, save
from tests.distributed.blocks import in_blocks, table

LENGTHS = [100, 0, 80, 60]


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
    distributed.fit(remote, in_blocks(X, LENGTHS), y)
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
            distributed.fit(remote, in_blocks(X, LENGTHS), y)
        kernels.append((local.kernel_.theta.tolist(), remote.kernel_.theta.tolist()))
    assert [own for own, _ in kernels] == [other for _, other in kernels]


def test_plgp_of_csr_blocks():
    """CSR blocks give the results of dense blocks."""
    X, y, _ = table()
    X[np.abs(X) < 0.5] = 0.0
    rows = in_blocks(X, LENGTHS)
    dense, sparse = (
        distributed.fit(make_plgp(), block_rows, y) for block_rows in (rows, rows.map_blocks(sp.csr_matrix))
    )
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X), rtol=1e-8, atol=1e-8)


def test_a_model_fitted_over_blocks_is_saved_and_loaded(tmp_path):
    """The fitted object is the ordinary estimator, also in model files; its only rows are the landmarks."""
    X, y, _ = table()
    model = distributed.fit(make_plgp(), in_blocks(X, LENGTHS), y)
    save(tmp_path / "model.skops", model)
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.score(X, y) > 0.7
