"""Tests of PLEM and CLPL: entropies, probabilities, convergence."""

import numpy as np
import pytest

from oneof import CLPL, PLEM
from tests.estimators.panel import table


def test_unlabeled_rows_move_the_boundary_into_a_gap():
    """Grandvalet and Bengio's claim: minimum entropy moves the boundary into a region without rows."""
    X = np.concatenate([[-1.0, 3.0], np.linspace(-1.5, -0.5, 20), np.linspace(0.5, 4.0, 20)])[:, None]
    y = np.array([0, 1] + [-1] * 40)
    borders = []
    for entropy_weight in (0.0, 0.2):
        model = PLEM(0.1, entropy_weight=entropy_weight, fit_intercept=True).fit(X, y)
        borders.append(-(model.intercept_[1] - model.intercept_[0]) / (model.coef_[1, 0] - model.coef_[0, 0]))
    assert borders[0] == pytest.approx(1.0)  # midway between the two labeled rows, among unlabeled ones
    assert -0.5 < borders[1] < 0.5
    np.testing.assert_array_equal(model.transduction_, model.disambiguate().labels)
    assert not hasattr(model.set_params(entropy_weight=0.0).fit(X, y), "transduction_")


def test_probabilities_and_scores_agree():
    """Probabilities are the softmax of the scores, the sigmoid of their difference for two classes."""
    X, mask = table(60)
    model = PLEM().fit(X, mask)
    odds = np.exp(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    X, mask = table(60, K=2)
    model = PLEM().fit(X, mask)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))


@pytest.mark.parametrize("model", [PLEM(), CLPL()])
def test_a_start_at_the_optimum_counts_as_a_step(model):
    """Uninformative rows leave the weights at 0, and n_iter_ at its minimum of 1."""
    model.fit(np.zeros((4, 2)), np.eye(2, dtype=bool)[[0, 1, 0, 1]])
    assert model.n_iter_ == 1
    assert not model.coef_.any()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_objective_path_decreases_to_the_objective(fit_intercept):
    """The trace has one entry at the start and one per Newton step, never increases, and ends at `objective_`."""
    X, mask = table(60)
    model = CLPL(fit_intercept=fit_intercept).fit(X, mask)
    assert len(model.objective_path_) == model.n_iter_ + 1
    assert (np.diff(model.objective_path_) <= 1e-12 * model.objective_).all()
    assert model.objective_path_[-1] == model.objective_
