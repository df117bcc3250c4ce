"""PLGP: its posterior with every kind of kernel, approximation and solver, and its numerical limits."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, ExpSineSquared, Kernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

from oneof import PLGP, CandidateSets
from oneof.datasets import make_partial_labels
from oneof.errors import InputError
from oneof.estimators import plgp
from tests.estimators.panel import further, table
from tests.oracles.laplace import exactly_labeled, predict
from tests.retained import peak_bytes

FIXED = {"optimizer": None, "random_state": 0}


def test_both_solvers_agree():
    """Both solvers find the same mode, covariances and probabilities."""
    X, mask = table(90)
    cg, cholesky = (PLGP(solver=solver, tol=1e-8, **FIXED).fit(X, mask) for solver in ("cg", "cholesky"))
    np.testing.assert_allclose(cg.latent_mode_, cholesky.latent_mode_, atol=1e-6)
    mean, cov = cg.latent_mean_and_cov(further())
    expected_mean, expected_cov = cholesky.latent_mean_and_cov(further())
    np.testing.assert_allclose(mean, expected_mean, atol=1e-6)
    np.testing.assert_allclose(cov, expected_cov, atol=1e-3 * expected_cov.max())
    np.testing.assert_allclose(cg.predict_proba(further()), cholesky.predict_proba(further()), atol=1e-3)


def test_exact_labels_give_the_model_of_the_book():
    """For exact rows, mode, evidence and predictions equal those of Rasmussen & Williams, section 3.5."""
    X, _ = table(60)
    labels = np.arange(60) % 3
    kernel = 2.0 * RBF(2.0)
    model = PLGP(kernel, **FIXED).fit(X, labels)
    book = exactly_labeled(kernel(X), labels, 3)
    np.testing.assert_allclose(model.latent_mode_, book.mode, atol=1e-5)
    assert model.log_marginal_likelihood_value_ == pytest.approx(book.evidence, rel=1e-8)
    for x, mean, cov in zip(further(), *model.latent_mean_and_cov(further()), strict=True):
        expected_mean, expected_cov = predict(book, labels, [kernel(x[None], X)[0]] * 3, kernel.diag(np.stack([x] * 3)))
        np.testing.assert_allclose(mean, expected_mean, atol=1e-5)
        np.testing.assert_allclose(cov, expected_cov, atol=1e-6)


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_probabilities_do_not_depend_on_the_batch(approximation):
    """Probabilities of a row are equal alone and in a batch up to rounding, repeatable, and sum to 1."""
    X, mask = table(90)
    model = PLGP(approximation=approximation, n_components=30, **FIXED).fit(X, mask)
    together = model.predict_proba(further())
    np.testing.assert_allclose(together.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.vstack([model.predict_proba(x[None]) for x in further()]), together, atol=1e-9)
    np.testing.assert_array_equal(model.predict(further()), together.argmax(axis=1))
    np.testing.assert_array_equal(clone(model).fit(X, mask).predict_proba(further()), together)


def test_permuting_classes_permutes_latents():
    """Latents do not depend on the order of the classes."""
    X, mask = table(90)
    order = [2, 0, 1]
    mean, cov = PLGP(tol=1e-9, **FIXED).fit(X, mask).latent_mean_and_cov(further())
    permuted_mean, permuted_cov = PLGP(tol=1e-9, **FIXED).fit(X, mask[:, order]).latent_mean_and_cov(further())
    np.testing.assert_allclose(permuted_mean, mean[:, order], atol=1e-6)
    np.testing.assert_allclose(permuted_cov, cov[:, order][:, :, order], atol=1e-6)


def test_a_kernel_for_each_class():
    """Equal kernels in a list equal one shared kernel; a list of another length raises an error."""
    X, mask = table(90)
    shared = PLGP(2.0 * RBF(2.0), tol=1e-9, **FIXED).fit(X, mask)
    each = PLGP([2.0 * RBF(2.0)] * 3, tol=1e-9, **FIXED).fit(X, mask)
    assert isinstance(each.kernel_, list)
    np.testing.assert_allclose(each.latent_mode_, shared.latent_mode_, atol=1e-7)
    np.testing.assert_allclose(each.predict_proba(further()), shared.predict_proba(further()), atol=1e-6)
    learned = PLGP([1.0 * RBF(2.0), 1.0 * RBF(2.0), ConstantKernel(1.0) * DotProduct()], random_state=0).fit(X, mask)
    assert len({str(kernel) for kernel in learned.kernel_}) == 3
    with pytest.raises(InputError, match="list of 2 for 3 classes"):
        PLGP([RBF(), RBF()], **FIXED).fit(X, mask)


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_optimization_increases_the_evidence(approximation):
    """Optimized hyperparameters have more evidence than the initial ones, and fixed ones do not change."""
    X, mask = table(80)
    kernel = ConstantKernel(1.0, "fixed") * RBF(0.2) + WhiteKernel(0.5)
    options = {"approximation": approximation, "n_components": 80, "random_state": 0}
    start = PLGP(kernel, optimizer=None, **options).fit(X, mask)
    optimized = PLGP(kernel, **options).fit(X, mask)
    assert optimized.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_ + 1.0
    assert optimized.kernel_.k1.k1.constant_value == 1.0
    assert kernel.theta[0] == np.log(0.2)
    some = PLGP(kernel, optimizer_max_samples=40, n_restarts_optimizer=1, **options).fit(X, mask)
    assert not np.array_equal(some.kernel_.theta, optimized.kernel_.theta)


@pytest.mark.parametrize("seed", [0, 5])
def test_the_fit_has_the_mode_that_the_search_chose(seed, monkeypatch):
    """With weights the evidence may have several modes; that of the fit is not below the best one of the search."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 80)
    X = (2 * rng.normal(size=(4, 4)))[y] + rng.normal(size=(80, 4))
    mask = rng.random((80, 4)) < 0.3
    mask[np.arange(80), y] = True
    search, found = plgp.search_hyperparameters, []

    def keep(*args, **options):
        found.append(search(*args, **options))
        return found[0]

    monkeypatch.setattr(plgp, "search_hyperparameters", keep)
    model = PLGP(random_state=0).fit(X, CandidateSets.from_weights(mask * (0.2 + rng.random((80, 4)))))
    assert model.log_marginal_likelihood_value_ >= found[0].evidence - 1e-3


def test_samples_of_latents():
    """Samples have the means and covariances of the posterior, and a seed repeats them."""
    X, mask = table(60)
    model = PLGP(**FIXED).fit(X, mask)
    drawn = model.sample_latent(further(), 4000, random_state=0)
    assert drawn.shape == (4000, 30, 3)
    np.testing.assert_array_equal(model.sample_latent(further(), 4000, random_state=0), drawn)
    mean, cov = model.latent_mean_and_cov(further())
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1)
    sample_cov = np.einsum("stk,stj->tkj", drawn - mean, drawn - mean) / 4000
    np.testing.assert_allclose(sample_cov, cov, atol=0.1)


def test_a_fitted_model_does_not_change():
    """New parameters and a changed kernel do not affect a fitted model; a failed refit leaves it unfitted."""
    X, mask = table(60)
    model = PLGP(DotProduct() ** 2, **FIXED).fit(X, mask)
    expected = model.predict_proba(further()), model.log_marginal_likelihood_value_
    fresh = clone(model).fit(X, mask).set_params(sharpness=1.0, solver="cholesky")
    fresh.kernel_.set_params(exponent=3)
    np.testing.assert_array_equal(fresh.predict_proba(further()), expected[0])
    assert fresh.log_marginal_likelihood_value_ == expected[1]
    for solver in ("cholesky", "cg"):
        with pytest.raises(InputError, match=r"(?i)scale the features"):
            model.set_params(kernel=DotProduct() ** 8, solver=solver).fit(X * 1e40, mask)
    with pytest.raises(NotFittedError):
        model.predict_proba(further())


def test_identical_rows():
    """Identical rows have the class frequencies as probabilities."""
    model = PLGP(1.0 * RBF(1.0), **FIXED).fit(np.ones((200, 3)), np.arange(200) % 4 // 3)
    assert np.allclose(model.predict_proba(np.ones((5, 3))), [0.75, 0.25], atol=0.03)


def test_the_optimizer_does_not_jump_to_a_bound():
    """From a length of 1 it finds the same length as from the default, which has the scale of the rows."""
    X, y = load_iris(return_X_y=True)
    X = 10 * StandardScaler().fit_transform(X)[::3]
    default, unit = (PLGP(kernel, random_state=0).fit(X, y[::3]) for kernel in (None, 1.0 * RBF()))
    assert unit.kernel_.k2.length_scale == pytest.approx(default.kernel_.k2.length_scale, rel=0.1)


def test_probabilities_are_calibrated():
    """If the truth is drawn from the model's own prior, the predicted probabilities equal the frequencies."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(900, 1))
    root = np.linalg.cholesky(9.0 * RBF(1.0)(X) + 1e-8 * np.eye(900))
    truth = (root @ rng.normal(size=(900, 3)) + rng.gumbel(size=(900, 3))).argmax(axis=1)
    sets = make_partial_labels(truth, fraction=0.5, n_distractors=1, random_state=0)
    model = PLGP(9.0 * RBF(1.0), sharpness=1.0, **FIXED).fit(X[:600], sets[:600])
    proba = model.predict_proba(X[600:])
    correct = proba.argmax(axis=1) == truth[600:]
    assert abs(proba.max(axis=1).mean() - correct.mean()) < 0.06


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
    with pytest.raises(InputError, match="positive semi-definite"):
        PLGP(ExpSineSquared(), approximation="nystroem", **FIXED).fit(X, mask)
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


@pytest.mark.slow
def test_many_rows_fit_in_memory():
    """Probabilities of 100,000 rows take a fraction of the memory of their covariances."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 20
    model = PLGP(n_mc_samples=4, **FIXED).fit(X, y)
    rows = rng.normal(size=(100_000, 2))
    model.predict_proba(rows[:1])
    peak, proba = peak_bytes(lambda: model.predict_proba(rows))
    assert peak < 100_000 * 20 * 20 * 8 / 2
    np.testing.assert_allclose(proba[::9999], model.predict_proba(rows[::9999]), atol=1e-10)
