"""Nyström features of PLSVM and TransductiveSVM."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import PLSVM, TransductiveSVM, make_partial_labels

MODELS = {
    "PLSVM": PLSVM(0.05, kernel="rbf", gamma=0.3, tol=1e-7),
    "intercept": PLSVM(0.05, kernel="rbf", gamma=0.3, tol=1e-7, fit_intercept=True),
    "TransductiveSVM": TransductiveSVM(kernel="rbf", gamma=0.3, tol=1e-4),
}


def task(n=90, apart=2.0):
    """Return rows of three clusters, with candidate sets and unlabeled rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    mask = make_partial_labels(y, n_distractors=1, random_state=0).mask.copy()
    mask[: n // 3] = y[: n // 3, None] == np.arange(3)
    mask[-10:] = True
    return rng.normal(size=(n, 4)) + apart * np.eye(3, 4)[y], mask, y


def approximate(model, **options):
    return type(model)(**{**model.get_params(), "approximation": "nystroem", "random_state": 0, **options})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_with_all_rows_as_landmarks_the_kernel_is_exact(name, is_sparse):
    """If every row is a landmark, the objective and the scores are those of the kernel of all pairs."""
    X, mask, y = task()
    if name != "TransductiveSVM":  # exact sets, whose minimum is unique
        mask = y[:, None] == np.arange(3)
    rows = sp.csr_array(X) if is_sparse else X
    exact, model = MODELS[name], approximate(MODELS[name], n_components=10**6)
    exact.fit(rows, mask)
    model.fit(rows, mask)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(rows), atol=2e-2)


@pytest.mark.parametrize("name", MODELS)
def test_few_landmarks_predict_nearly_as_well(name):
    """A third of the rows as landmarks predict nearly as well; only landmarks have coefficients, of a fixed seed."""
    X, mask, y = task(240, apart=4.0)
    exact, model = MODELS[name].fit(X, mask), approximate(MODELS[name], n_components=80).fit(X, mask)
    assert np.count_nonzero(model.dual_coef_.any(axis=1)) <= 80
    assert not hasattr(model, "coef_")
    assert (model.predict(X) == y).mean() >= (exact.predict(X) == y).mean() - 0.05
    again = approximate(MODELS[name], n_components=80).fit(X, mask)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
