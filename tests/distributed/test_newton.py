"""CLPL and PLGP over blocks equal the ordinary fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from oneof import CLPL, PLGP, CandidateSets, distributed
from oneof.distributed import clpl, plgp
from oneof.persistence import load, save
from tests.distributed.blocks import in_blocks, table
from tests.weights import draw_weights

LENGTHS = [100, 0, 80, 60]


@pytest.mark.parametrize("max_size", [0, 512], ids=["products", "hessian"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_clpl_equals_the_ordinary_fit(monkeypatch, max_size, fit_intercept, sparse):
    """Weights and objective are equal to 1e-8, with the full Hessian and with products."""
    monkeypatch.setattr(clpl, "MAX_HESSIAN_SIZE", max_size)
    X, y, _ = table()
    local, remote = (CLPL(C=0.7, fit_intercept=fit_intercept) for _ in range(2))
    local.fit(sp.csr_array(X) if sparse else X, y)
    rows = in_blocks(X, LENGTHS)
    distributed.fit(remote, rows.map_blocks(sp.csr_matrix) if sparse else rows, y)
    np.testing.assert_allclose(remote.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(remote.intercept_, local.intercept_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(remote.objective_, local.objective_, rtol=1e-8)


def test_full_hessian_equals_products():
    """The full Hessian of some rows, contracted with a direction, equals the Hessian-vector product."""
    X, y, _ = table(60)
    problem = clpl.CLPLProblem.from_evidence(X, y.mask, 0.7, np.ones(60), fit_intercept=True)
    W, direction = np.random.default_rng(0).normal(size=(2, 3, 6))
    curvatures = problem.curvatures(problem.matvec(W))
    full = np.tensordot(problem.loss_hessian(curvatures), direction, axes=2)
    np.testing.assert_allclose(full, problem.loss_hvp(curvatures, direction), rtol=1e-10, atol=1e-10)


def test_clpl_by_blocks_as_a_preconditioner(monkeypatch):
    """If conjugate gradients are slow, the Hessian's blocks precondition them, and the minimum is equal."""
    monkeypatch.setattr(clpl, "MAX_HESSIAN_SIZE", 0)
    X, y, _ = table()
    X = X * np.logspace(0, 2, 5)
    local, remote = CLPL(C=10.0).fit(X, y), distributed.fit(CLPL(C=10.0), in_blocks(X, LENGTHS), y)
    np.testing.assert_allclose(remote.coef_, local.coef_, rtol=1e-7, atol=1e-9)


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
@pytest.mark.parametrize(
    ("options", "max_size"),
    [*((options, 512) for options in OPTIONS), *((options, 0) for options in OPTIONS[:3])],
    ids=lambda value: str(value) if isinstance(value, int) else "-".join(value) or "default",
)
def test_plgp_equals_the_ordinary_fit(monkeypatch, options, max_size):
    """Latents, probabilities and the evidence are equal to 1e-8, with optimized and with fixed kernels."""
    monkeypatch.setattr(plgp, "MAX_HESSIAN_SIZE", max_size)
    X, y, _ = table()
    local, remote = make_plgp(**options).fit(X, y), make_plgp(**options)
    distributed.fit(remote, in_blocks(X, LENGTHS), y)
    for own, other in zip(local.latent_mean_and_cov(X[:40]), remote.latent_mean_and_cov(X[:40])):
        np.testing.assert_allclose(other, own, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(remote.predict_proba(X), local.predict_proba(X), rtol=1e-8, atol=1e-8)
    assert remote.log_marginal_likelihood_value_ == pytest.approx(local.log_marginal_likelihood_value_, rel=1e-8)
    assert str(remote.kernel_) == str(local.kernel_)


@pytest.mark.parametrize("max_size", [512, 0])
def test_plgp_with_weights_equals_the_ordinary_fit(monkeypatch, max_size):
    """Blocks with and without weighted rows give the probabilities of the ordinary fit."""
    monkeypatch.setattr(plgp, "MAX_HESSIAN_SIZE", max_size)
    X, y, _ = table()
    weights = draw_weights(y.mask)
    weights[: LENGTHS[0]] = y.mask[: LENGTHS[0]]
    candidates = CandidateSets.from_weights(weights, y.classes)
    local, remote = make_plgp().fit(X, candidates), make_plgp()
    distributed.fit(remote, in_blocks(X, LENGTHS), candidates)
    np.testing.assert_allclose(remote.predict_proba(X), local.predict_proba(X), rtol=1e-8, atol=1e-8)
    assert np.abs(local.predict_proba(X) - make_plgp().fit(X, y).predict_proba(X)).max() > 1e-3


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


@pytest.mark.parametrize("model", [CLPL(), make_plgp()], ids=["CLPL", "PLGP"])
def test_models_fitted_over_blocks_are_saved_and_loaded(tmp_path, model):
    """The fitted object is the ordinary estimator, also in model files; its only rows are the landmarks."""
    X, y, _ = table()
    distributed.fit(model, in_blocks(X, LENGTHS), y)
    save(tmp_path / "model.skops", model)
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X) if isinstance(model, PLGP) else loaded.predict(X),
                                  model.predict_proba(X) if isinstance(model, PLGP) else model.predict(X))  # fmt: skip
    assert loaded.score(X, y) > 0.7


def test_single_precision_is_preserved():
    """Rows in single precision give weights in single precision; one block in double precision makes all double."""
    X, y, _ = table()
    single = in_blocks(X.astype(np.float32), [120, 120])
    assert distributed.fit(CLPL(), single, y).coef_.dtype == np.float32
    mixed = single.map_blocks(lambda block, block_id: block.astype([np.float32, np.float64][block_id[0]]), dtype=float)
    assert distributed.fit(CLPL(), mixed, y).coef_.dtype == np.float64
