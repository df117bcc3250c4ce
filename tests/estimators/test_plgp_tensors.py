"""PLGP on tensors: the results equal those of NumPy arrays."""

import numpy as np
import pytest
from sklearn.base import clone

from oneof import PLGP, CandidateSets
from oneof.errors import InputError
from tests.estimators.panel import further, table
from tests.weights import draw_weights

torch = pytest.importorskip("torch", reason="torch is not installed")

FIXED = {"optimizer": None, "random_state": 0}


@pytest.mark.parametrize("approximation", [None, "nystroem"])
@pytest.mark.parametrize("sharpness", [1.0, np.inf])
def test_tensors_give_the_results_of_arrays(sharpness, approximation, tensor):
    """Tensors in double precision give the results of NumPy as tensors; predicted labels are NumPy arrays."""
    X, mask = table(90)
    options = {"sharpness": sharpness, "approximation": approximation, "n_components": 40, **FIXED}
    reference = PLGP(**options).fit(X, mask)
    model = PLGP(**options).fit(tensor(X), mask)
    Z = tensor(further())
    assert isinstance(model.latent_mode_, torch.Tensor)
    np.testing.assert_allclose(model.latent_mode_.cpu().numpy(), reference.latent_mode_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(Z).cpu().numpy(), reference.predict_proba(further()), atol=1e-6)
    np.testing.assert_array_equal(model.predict(Z), reference.predict(further()))
    np.testing.assert_array_equal(model.disambiguate().labels, reference.disambiguate().labels)
    assert model.score(tensor(X), mask) == reference.score(X, mask)
    with pytest.raises(InputError, match="optimizer=None"):
        PLGP(random_state=0).fit(tensor(X), mask)


def test_tensors_with_weights_give_the_model_of_arrays(tensor):
    """PLGP on tensors in double and in single precision has the probabilities of NumPy rows."""
    X, mask = table(K=4)
    y = CandidateSets.from_weights(draw_weights(mask))
    for sharpness in (1.0, np.inf):
        model = PLGP(sharpness=sharpness, optimizer=None, n_mc_samples=50, temperature="loo", random_state=0)
        expected = clone(model).fit(X, y)
        for dtype, atol in ((torch.float64, 1e-8), (torch.float32, 2e-3)):
            rows = tensor(X, dtype=dtype)
            fitted = clone(model).fit(rows, y)
            np.testing.assert_allclose(fitted.predict_proba(rows).cpu().numpy(), expected.predict_proba(X), atol=atol)
            assert fitted.log_marginal_likelihood_value_ == pytest.approx(
                expected.log_marginal_likelihood_value_, rel=1e-3
            )
