"""LOORidge and PLGP on tensors: the results equal those of NumPy arrays."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from oneof import PLGP, CandidateSets, LOORidge
from oneof.errors import InputError, InputTypeError
from oneof.estimators import loo_ridge
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS
from oneof.persistence import save
from oneof.solvers.loo_ridge import loo_operators
from tests.estimators.panel import further, table, weighted_table

torch = pytest.importorskip("torch", reason="torch is not installed")

ROW_ATTRIBUTES = ("loo_scores_", "label_distributions_", "transduction_", "runner_up_", "label_changes_")
NYSTROEM = {"approximation": "nystroem", "n_components": 30, "random_state": 0}


def assert_equal_models(model, reference, tolerance=1e-8):
    """Assert that all fitted attributes are NumPy arrays, or numbers, that are equal to the tolerance."""
    for name in ROW_ATTRIBUTES:
        value, expected = getattr(model, name), getattr(reference, name)
        assert isinstance(value, np.ndarray), name
        np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance, err_msg=name)
    assert model.kernel_weights_ == pytest.approx(reference.kernel_weights_, abs=tolerance)
    assert model.judge_weight_ == pytest.approx(reference.judge_weight_, abs=tolerance)
    assert model.inverse_temperature_ == pytest.approx(reference.inverse_temperature_, rel=tolerance)


def assert_equal_predictions(model, reference, Z, tensor, tolerance=1e-8):
    """Assert that predictions of rows Z are equal: tensors of scores, and NumPy arrays of labels."""
    for method in ("predict_proba", "decision_function"):
        values = getattr(model, method)(tensor(Z))
        assert isinstance(values, torch.Tensor), method
        assert values.dtype == torch.float64, method
        np.testing.assert_allclose(values.cpu().numpy(), getattr(reference, method)(Z), rtol=0, atol=tolerance)
    labels = model.predict(tensor(Z))
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, reference.predict(Z))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("unlabeled", ["ignore", "class_mass"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["exact", "nystroem", "blocks"])
def test_tensors_give_the_results_of_arrays(form, weighted, unlabeled, K, monkeypatch, tensor):
    """In double precision all three forms equal those of NumPy to 1e-8, with several blocks of rows and of kernels."""
    monkeypatch.setattr(loo_operators, "KERNEL_ROWS", 32)
    monkeypatch.setattr(loo_operators, "BLOCK_ROWS", 25)
    if form == "blocks":
        monkeypatch.setattr(loo_ridge, "MAX_FEATURE_ENTRIES", 30 * 70)
    X, mask, W = weighted_table(120, K=K)
    y = CandidateSets.from_weights(W) if weighted else mask
    options = {"unlabeled": unlabeled, **({} if form == "exact" else NYSTROEM)}
    reference = LOORidge(**options).fit(X, y)
    model = LOORidge(**options).fit(tensor(X), y)
    assert_equal_models(model, reference)
    assert_equal_predictions(model, reference, further(), tensor)
    for value, expected in zip(model.disambiguate(), reference.disambiguate(), strict=True):
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-8)
        else:
            np.testing.assert_array_equal(value, expected)
    assert model.score(tensor(X), y) == reference.score(X, y)
    if form == "exact":
        np.testing.assert_array_equal(model.influential_rows_, reference.influential_rows_)
        np.testing.assert_allclose(model.influences_, reference.influences_, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("features", "kernel"),
    [
        *[(features, kernel) for features in MAPS for kernel in ("auto", "rbf", "laplacian")],
        *[(features, "auto") for features in SPARSE_MAPS],
    ],
)
def test_every_feature_map(features, kernel, tensor):
    """Each map is fitted on the processor and gives the same kernels on the device of the tensor."""
    X, mask = table(80)
    X = np.column_stack([X * (X > 0), np.full(len(X), 3.0)])  # zeros, ties and a constant feature
    Z = np.column_stack([further(), np.full(len(further()), 3.0)])
    reference = LOORidge(kernel, features=features).fit(X, mask)
    model = LOORidge(kernel, features=features).fit(tensor(X), mask)
    assert_equal_models(model, reference)
    assert_equal_predictions(model, reference, Z, tensor)


def test_rows_without_a_varying_feature(tensor):
    """Constant rows have a kernel of ones, as for NumPy."""
    X, mask = np.ones((30, 2)), table(30)[1]
    reference = LOORidge(features="standard").fit(X, mask)
    assert_equal_models(LOORidge(features="standard").fit(tensor(X), mask), reference)


@pytest.mark.parametrize("options", [{}, NYSTROEM], ids=["exact", "nystroem"])
def test_single_precision(options, tensor):
    """Tensors in float32 have the same labels as arrays in float64 on at least 99.5 % of the rows; scores to 1e-3."""
    X, mask = table(400, K=5)
    reference = LOORidge(**options).fit(X, mask)
    model = LOORidge(**options).fit(tensor(X, dtype=torch.float32), mask)
    assert (model.transduction_ == reference.transduction_).mean() >= 0.995
    np.testing.assert_allclose(model.loo_scores_, reference.loo_scores_, rtol=0, atol=1e-3)
    proba = model.predict_proba(tensor(further(), dtype=torch.float32))
    assert proba.dtype == torch.float32
    np.testing.assert_allclose(proba.cpu().numpy(), reference.predict_proba(further()), rtol=0, atol=1e-2)


MODELS = [LOORidge(), PLGP(optimizer=None, random_state=0)]
models = pytest.mark.parametrize("model", MODELS, ids=["LOORidge", "PLGP"])


@models
def test_rows_of_another_type_than_those_of_fit(model, tensor):
    """A model of tensors accepts arrays and other precisions; a model of arrays raises an error for tensors."""
    X, mask = table(60)
    fitted = clone(model).fit(tensor(X), mask)
    expected = fitted.predict_proba(tensor(further()))
    for Z in (further(), tensor(further()).requires_grad_()):
        np.testing.assert_allclose(fitted.predict_proba(Z).cpu().numpy(), expected.cpu().numpy(), rtol=0, atol=1e-12)
    single = clone(model).fit(tensor(X, dtype=torch.float32), mask).predict_proba(tensor(further()))
    np.testing.assert_allclose(single.cpu().numpy(), expected.cpu().numpy(), atol=1e-2)
    for rows, message in (
        (torch.empty((3, 4), device="meta"), f"must be on {expected.device}"),
        (tensor(further())[:, :3], "3 features"),
        (tensor(further()).to_sparse(), "dense tensor of real numbers"),
        (tensor(np.full((1, 4), np.nan)), "NaN"),
    ):
        with pytest.raises(InputError, match=message):
            fitted.predict(rows)
    with pytest.raises(InputError, match="NaN"):
        clone(model).fit(tensor(np.full((60, 4), np.nan)), mask)
    with pytest.raises(InputError, match=r"Pass X\.cpu"):
        clone(model).fit(X, mask).predict(tensor(further()))


@pytest.mark.parametrize("kernel", ["precomputed", lambda X, Y: X @ Y.T])
def test_other_kernels_require_arrays(kernel, tensor):
    """Precomputed kernels and functions of rows are evaluated for arrays only."""
    X, mask = table(20)
    with pytest.raises(InputError, match="if `X` is a tensor"):
        LOORidge(kernel).fit(tensor(X @ X.T), mask)


def test_a_penalty_lost_in_single_precision_is_rejected(tensor):
    """The smallest valid penalty depends on the precision of the rows."""
    X, mask = table(60)
    LOORidge(lam=1e-7).fit(tensor(X), mask)
    with pytest.raises(InputError, match="larger lam"):
        LOORidge(lam=1e-7).fit(tensor(X, dtype=torch.float32), mask)


@models
def test_models_of_tensors_cannot_be_saved(tmp_path, model, tensor):
    """Model files contain only NumPy arrays, so that saving raises an error, also for a step of a pipeline."""
    X, mask = table(20)
    for estimator in (clone(model), make_pipeline(FunctionTransformer(), clone(model))):
        with pytest.raises(InputTypeError, match="fitted to tensors"):
            save(tmp_path / "model.oneof", estimator.fit(tensor(X), mask))


FIXED = {"optimizer": None, "random_state": 0}


@pytest.mark.parametrize("approximation", [None, "nystroem"])
@pytest.mark.parametrize("sharpness", [1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_plgp_of_tensors_gives_the_results_of_arrays(weighted, sharpness, approximation, tensor):
    """Tensors give the results of NumPy as tensors, to their precision; predicted labels are NumPy arrays."""
    X, mask, W = weighted_table(90)
    y = CandidateSets.from_weights(W) if weighted else mask
    options = {"sharpness": sharpness, "approximation": approximation, "n_components": 40, **FIXED}
    model = PLGP(temperature="loo", **options)
    reference, single = clone(model).fit(X, y), clone(model).fit(tensor(X, dtype=torch.float32), y)
    model.fit(tensor(X), y)
    evidence = pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-3)
    assert model.log_marginal_likelihood_value_ == evidence
    assert single.log_marginal_likelihood_value_ == evidence
    proba = single.predict_proba(tensor(further(), dtype=torch.float32)).cpu().numpy()
    np.testing.assert_allclose(proba, reference.predict_proba(further()), atol=5e-3)
    Z = tensor(further())
    assert isinstance(model.latent_mode_, torch.Tensor)
    np.testing.assert_allclose(model.latent_mode_.cpu().numpy(), reference.latent_mode_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(Z).cpu().numpy(), reference.predict_proba(further()), atol=1e-6)
    np.testing.assert_array_equal(model.predict(Z), reference.predict(further()))
    np.testing.assert_array_equal(model.disambiguate().labels, reference.disambiguate().labels)
    assert model.score(tensor(X), y) == reference.score(X, y)
    with pytest.raises(InputError, match="optimizer=None"):
        PLGP(random_state=0).fit(tensor(X), mask)
