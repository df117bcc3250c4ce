"""Scores of labeled rows without their labels, and what they are worth."""

import numpy as np
import pytest

from oneof.solvers.graph_logistic import LaplacePosterior, Term, solve_graph_logistic
from oneof.solvers.graph_logistic.left_out import gain, left_out_scores
from tests.estimators.panel import table


def fitted(X, mask, weight, terms, precisions):
    """Return the weights at fixed precisions."""
    return solve_graph_logistic(
        X, mask, terms, precision="fixed", precisions=precisions, sample_weight=weight, tol=1e-10
    ).weights


def test_left_out_scores_are_those_of_a_fit_without_the_row():
    """One Newton step comes close to the fit without the row, ten times closer than the fit with it."""
    X, mask = table(60)
    weight = np.ones(len(X))
    weight[:5] = 2.0
    told = ~mask.all(axis=1)
    X, mask, weight = X[told], mask[told], weight[told]
    terms, precisions = [Term("ridge", np.eye(4))], {"ridge": np.array(1.0)}
    W = fitted(X, mask, weight, terms, precisions)
    found = left_out_scores(LaplacePosterior.of(X, W, terms, precisions, weight, mask), X, mask, weight)
    exact = np.empty_like(found)
    for i in range(len(X)):
        less = weight.copy()
        less[i] -= 1.0
        exact[i] = X[i] @ fitted(X, mask, less, terms, precisions).T
    assert np.abs(found - exact).mean() < 0.1 * np.abs(X @ W.T - exact).mean()


def test_gain_is_that_over_class_frequencies():
    """Scores that say nothing gain nothing, however bold; good ones gain up to the entropy of the classes."""
    random = np.random.default_rng(0)
    y = np.arange(300) % 3
    mask = np.eye(3, dtype=bool)[y]
    assert gain(5.0 * random.normal(size=(300, 2)), mask, np.ones(300)) < 0.02
    assert gain(40.0 * (mask[:, :2] * 1.0 - mask[:, 2:]), mask, np.ones(300)) == pytest.approx(np.log(3), abs=1e-3)
