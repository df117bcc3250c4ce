"""Tests of CLPL: equality with scikit-learn on exact labels, weights, convergence, parameters."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from oneof import CLPL
from oneof.errors import InputError
from tests.estimators.panel import table


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_exact_labels_give_linear_svc(C):
    """With exact labels CLPL equals scikit-learn's LinearSVC with the squared hinge, one class against the rest."""
    X, mask = table(100)
    y = mask.argmax(axis=1)
    peer = LinearSVC(C=C, loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(CLPL(C).fit(X, y).coef_, peer.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_weight_is_a_repetition(fit_intercept):
    """An integer weight equals repeating the row; weight 0 equals removing it."""
    X, mask = table(60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    model = CLPL(fit_intercept=fit_intercept).fit(X, mask, sample_weight=weight)
    repeated = CLPL(fit_intercept=fit_intercept).fit(np.repeat(X, weight, axis=0), np.repeat(mask, weight, axis=0))
    np.testing.assert_allclose(model.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, repeated.intercept_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_objective_path_decreases_to_the_objective(fit_intercept):
    """The trace has one entry at the start and one per Newton step, never increases, and ends at `objective_`."""
    X, mask = table(60)
    model = CLPL(fit_intercept=fit_intercept).fit(X, mask)
    assert len(model.objective_path_) == model.n_iter_ + 1
    assert (np.diff(model.objective_path_) <= 1e-12 * model.objective_).all()
    assert model.objective_path_[-1] == model.objective_


def test_convergence_warning():
    """If `max_iter` is too small, a ConvergenceWarning is issued."""
    X, mask = table(60)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        CLPL(C=100.0, max_iter=1).fit(X, mask)


@pytest.mark.parametrize("options", [{"C": 0.0}, {"C": float("inf")}, {"tol": -1.0}, {"max_iter": 0}])
def test_invalid_parameters_are_rejected(options):
    """Invalid parameters raise in fit, with their name."""
    with pytest.raises(InputError, match=next(iter(options))):
        CLPL(**options).fit([[0.0], [1.0]], ["a", "b"])
