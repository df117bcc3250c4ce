"""Tests of CLPL: equality with scikit-learn on exact labels, weights, convergence, parameters."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from oneof import CLPL
from tests.estimators.panel import table


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_exact_labels_give_linear_svc(C):
    """With exact labels CLPL equals scikit-learn's LinearSVC with the squared hinge, one class against the rest."""
    X, mask = table(100)
    y = mask.argmax(axis=1)
    peer = LinearSVC(C=C, loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(CLPL(C).fit(X, y).coef_, peer.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_objective_path_decreases_to_the_objective(fit_intercept):
    """The trace has one entry at the start and one per Newton step, never increases, and ends at `objective_`."""
    X, mask = table(60)
    model = CLPL(fit_intercept=fit_intercept).fit(X, mask)
    assert len(model.objective_path_) == model.n_iter_ + 1
    assert (np.diff(model.objective_path_) <= 1e-12 * model.objective_).all()
    assert model.objective_path_[-1] == model.objective_
