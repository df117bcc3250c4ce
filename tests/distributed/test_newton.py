"""CLPL and PLGP over blocks give what one machine gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from oneof import CLPL, PLGP, distributed
from oneof.distributed import clpl, plgp
from oneof.persistence import load, save
from tests.distributed.blocks import in_blocks, table

LENGTHS = [100, 0, 80, 60]


@pytest.mark.parametrize("largest", [0, 512], ids=["products", "hessian"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_clpl_is_that_of_one_machine(monkeypatch, largest, fit_intercept, sparse):
    """Weights and objective are equal to 1e-8, by the whole Hessian as by products with it."""
    monkeypatch.setattr(clpl, "MAX_HESSIAN_SIZE", largest)
    X, y, _ = table()
    here, there = (CLPL(C=0.7, fit_intercept=fit_intercept) for _ in range(2))
    here.fit(sp.csr_array(X) if sparse else X, y)
    rows = in_blocks(X, LENGTHS)
    distributed.fit(there, rows.map_blocks(sp.csr_matrix) if sparse else rows, y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-8)


def test_the_hessian_is_the_derivative_of_products():
    """The whole Hessian of some rows, contracted with a direction, is the product with it."""
    X, y, _ = table(60)
    problem = clpl.CLPLProblem.from_mask(X, y.mask, 0.7, np.ones(60), fit_intercept=True)
    W, direction = np.random.default_rng(0).normal(size=(2, 3, 6))
    curvatures = problem.curvatures(problem.matvec(W))
    whole = np.tensordot(problem.loss_hessian(curvatures), direction, axes=2)
    np.testing.assert_allclose(whole, problem.loss_hvp(curvatures, direction), rtol=1e-10, atol=1e-10)


def test_clpl_by_blocks_as_a_preconditioner(monkeypatch):
    """Where conjugate gradients are slow the Hessian's blocks are summed too, and the minimum is the same."""
    monkeypatch.setattr(clpl, "MAX_HESSIAN_SIZE", 0)
    X, y, _ = table()
    X = X * np.logspace(0, 2, 5)
    here, there = CLPL(C=10.0).fit(X, y), distributed.fit(CLPL(C=10.0), in_blocks(X, LENGTHS), y)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-7, atol=1e-9)


def machine(**options):
    kernel = ConstantKernel(2.0) * RBF(2.0)
    return PLGP(
        **{"kernel": kernel, "optimizer": None, "approximation": "nystroem", "n_components": 30, "tol": 1e-10}
        | {"n_mc_samples": 50, "random_state": 0}
        | options
    )


def lower(objective, start, bounds):
    """Return parameters below the start, as an optimizer that looks no further."""
    return start - 0.1, 0.0


OPTIONS = [
    {},
    {"sharpness": 2.0},
    {"anneal": False, "sharpness": 1.0},
    {"optimizer": lower, "optimizer_max_samples": 60},
    {"kernel": [RBF(1.0), RBF(2.0), RBF(3.0)]},
    {"kernel": None, "sharpness": 1.0},
]


@pytest.mark.parametrize(
    ("options", "largest"),
    [*((options, 512) for options in OPTIONS), *((options, 0) for options in OPTIONS[:3])],
    ids=lambda value: str(value) if isinstance(value, int) else "-".join(value) or "default",
)
def test_plgp_is_that_of_one_machine(monkeypatch, options, largest):
    """Latents, probabilities and the evidence are equal to 1e-8, with the kernel's parameters found or given."""
    monkeypatch.setattr(plgp, "MAX_HESSIAN_SIZE", largest)
    X, y, _ = table()
    here, there = machine(**options).fit(X, y), machine(**options)
    distributed.fit(there, in_blocks(X, LENGTHS), y)
    for own, other in zip(here.latent_mean_and_cov(X[:40]), there.latent_mean_and_cov(X[:40])):
        np.testing.assert_allclose(other, own, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-8, atol=1e-8)
    assert there.log_marginal_likelihood_value_ == pytest.approx(here.log_marginal_likelihood_value_, rel=1e-8)
    assert str(there.kernel_) == str(here.kernel_)


def test_the_search_for_the_kernel_begins_where_that_of_one_machine_does():
    """The default length, from sums over blocks, is the same number, as on flat evidence a last digit decides."""
    kernels = []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(3.0, 2.0, size=(240, 5))
        y = np.arange(240) % 3
        here, there = (PLGP(optimizer=None, approximation="nystroem", n_components=3, max_iter=1) for _ in range(2))
        with pytest.warns(ConvergenceWarning):
            here.fit(X, y)
        with pytest.warns(ConvergenceWarning):
            distributed.fit(there, in_blocks(X, LENGTHS), y)
        kernels.append((here.kernel_.theta.tolist(), there.kernel_.theta.tolist()))
    assert [own for own, _ in kernels] == [other for _, other in kernels]


def test_plgp_of_csr_blocks():
    """CSR blocks give what dense ones give."""
    X, y, _ = table()
    X[np.abs(X) < 0.5] = 0.0
    rows = in_blocks(X, LENGTHS)
    dense, sparse = (distributed.fit(machine(), own, y) for own in (rows, rows.map_blocks(sp.csr_matrix)))
    np.testing.assert_allclose(sparse.predict_proba(X), dense.predict_proba(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("model", [CLPL(), machine()], ids=["CLPL", "PLGP"])
def test_what_was_fitted_over_blocks_is_saved_and_loaded(tmp_path, model):
    """The fitted object is the ordinary estimator, model files included; it holds no row but the landmarks."""
    X, y, _ = table()
    distributed.fit(model, in_blocks(X, LENGTHS), y)
    save(tmp_path / "model.skops", model)
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X) if isinstance(model, PLGP) else again.predict(X),
                                  model.predict_proba(X) if isinstance(model, PLGP) else model.predict(X))  # fmt: skip
    assert again.score(X, y) > 0.7


def test_single_precision_is_kept():
    """Rows in single precision give weights in single precision; one block in double precision makes all double."""
    X, y, _ = table()
    single = in_blocks(X.astype(np.float32), [120, 120])
    assert distributed.fit(CLPL(), single, y).coef_.dtype == np.float32
    mixed = single.map_blocks(lambda part, block_id: part.astype([np.float32, np.float64][block_id[0]]), dtype=float)
    assert distributed.fit(CLPL(), mixed, y).coef_.dtype == np.float64
