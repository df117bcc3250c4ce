"""Objectives of linear scores: values and gradients of PLEM, with and without entropies, and of CLPL."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from oneof.solvers.clpl import CLPLProblem
from oneof.solvers.plem import PLEMProblem
from tests.estimators.panel import table
from tests.oracles import clpl, plem
from tests.weights import evidences


@pytest.mark.parametrize("loss", ["CLPL", 0.0, 0.5], ids=["CLPL", "PLEM", "PLEM with entropies"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@evidences
def test_objective_and_gradient(loss, fit_intercept, evidence_of):
    """The objective equals the oracle, and the gradient its numerical derivative, for dense and sparse rows."""
    X, mask = table(40)
    mask, rng = evidence_of(mask), np.random.default_rng(1)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=40)
    for rows in (X, sp.csr_array(X)):
        if loss == "CLPL":
            p = CLPLProblem.from_evidence(rows, mask, 0.7, weight, fit_intercept=fit_intercept)
        else:
            p = PLEMProblem.from_evidence(rows, mask, 0.7, loss, weight, fit_intercept=fit_intercept)

        def value(flat, p=p):
            W = flat.reshape(p.shape)
            return p.point(W, p.matvec(W)).value

        for _ in range(5):
            W = rng.normal(size=p.shape)
            V, b = W[:, : X.shape[1]], W[:, -1] if fit_intercept else np.zeros(len(W))
            if loss == "CLPL":
                expected = clpl.objective(V, b, X, mask, 0.7, weight)
            else:
                expected = -plem.objective(V, b, X, mask, 0.7, loss, weight) / 0.7
            assert value(W.ravel()) == pytest.approx(expected, rel=1e-12)
            numerical = approx_fprime(W.ravel(), value, 1e-7).reshape(p.shape)
            gradient = p.gradient(p.point(W, p.matvec(W)))
            np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4 * np.abs(gradient).max())
