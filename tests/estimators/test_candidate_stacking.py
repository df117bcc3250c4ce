"""Tests of `CandidateStacking`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from oneof import CLPL, PLEM, PLKNN, AvgPegasos, CandidateStacking
from oneof.candidates.stratification import folds_by_set
from oneof.likelihoods import softmax
from tests.estimators.panel import further, same_model, table

LINEAR, NEIGHBORS = ("linear", PLEM(fit_intercept=True)), ("neighbors", PLKNN(3))


def columns(*indices):
    """Return a transformer that selects columns."""
    return FunctionTransformer(np.take, kw_args={"indices": list(indices), "axis": 1})


def noise_member():
    """Return a member whose probabilities depend on one irrelevant feature."""
    return ("noise", make_pipeline(StandardScaler(), PLEM(lam=1e6)))


def test_probabilities_are_the_weighted_mean_of_the_members():
    """The pool is the mean of the refitted members; each of them is the estimator fitted to all rows."""
    X, mask = table(120)
    members = {k: make_pipeline(columns(k), PLEM(fit_intercept=True)) for k in range(3)}
    model = CandidateStacking([(f"feature {k}", member) for k, member in members.items()], random_state=0).fit(X, mask)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert len(model.estimators_) > 1
    expected = 0.0
    for k, member in members.items():
        proba = clone(member).fit(X, mask).predict_proba(further())
        expected = expected + model.weights_[f"feature {k}"] * proba
    np.testing.assert_allclose(model.predict_proba(further()), expected)
    np.testing.assert_allclose(model.predict_proba(further()).sum(axis=1), 1.0)


def test_a_useless_member_has_no_weight_and_is_not_fitted():
    """A member with uniform probabilities has the weight 0; a single member has the weight 1."""
    X, mask = table(200)
    model = CandidateStacking([LINEAR, noise_member()], random_state=0).fit(X, mask)
    assert model.weights_["noise"] < 0.1
    assert ("noise" in model.estimators_) == (model.weights_["noise"] > 0)
    single = CandidateStacking([LINEAR], random_state=0).fit(X, mask)
    assert single.weights_ == {"linear": 1.0}
    same_model(single, PLEM(fit_intercept=True).fit(X, mask), further())


def test_decision_functions_have_a_fitted_temperature():
    """A factor of the scores does not change the pool, and a confident classifier is not made uniform."""
    X, mask = table(300, K=2)
    margins = ("margins", AvgPegasos(n_epochs=5, random_state=0))
    model = CandidateStacking([margins, ("clpl", CLPL())], random_state=0).fit(X, mask)
    assert set(model.inverse_temperatures_) == set(model.estimators_)
    expected = 0.0
    for name, member in model.estimators_.items():
        values = member.decision_function(further())
        factor = model.inverse_temperatures_[name]
        expected = expected + model.weights_[name] * softmax(factor * np.stack([0.0 * values, values], axis=1))
    np.testing.assert_allclose(model.predict_proba(further()), expected)
    assert model.predict_proba(X).max(axis=1).mean() > 0.7


def test_partial_rows_of_a_set_are_held_out_together():
    """Every partial set is in one fold, single classes are stratified, and few sets are split by rows."""
    rng = np.random.default_rng(0)
    mask = np.eye(6, dtype=bool)[rng.integers(0, 6, 300)]
    mask[:200] |= mask[rng.integers(200, 300, 200)]
    fold = folds_by_set(mask, 3)
    partial = mask.sum(axis=1) > 1
    for distinct in np.unique(mask[partial], axis=0):
        assert len(np.unique(fold[partial & (mask == distinct).all(axis=1)])) == 1
    for k in range(6):
        counts = np.bincount(fold[~partial & mask[:, k]], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert np.bincount(fold).max() < 150
    few = np.repeat([[True, True, False], [False, True, True]], 30, axis=0)
    assert np.bincount(folds_by_set(few, 3)).tolist() == [20, 20, 20]


def test_a_member_that_recognizes_sets_does_not_win():
    """A member with features of the set, and not of the class, has all weight by random folds, and little here."""
    rng = np.random.default_rng(0)
    n, K = 600, 12
    truth = rng.integers(0, K, n)
    mask = np.eye(K, dtype=bool)[truth]
    mask[np.arange(n), (truth + rng.integers(1, 5, n)) % K] = True
    signal = np.eye(K)[truth] + 0.4 * rng.normal(size=(n, K))
    sets, index = np.unique(mask, axis=0, return_inverse=True)
    X = np.hstack([signal, np.eye(len(sets))[index.ravel()]])
    members = [
        ("class", make_pipeline(columns(*range(K)), PLEM())),
        ("set", make_pipeline(columns(*range(K, K + len(sets))), PLKNN(5))),
    ]
    by_rows = CandidateStacking(members, cv=KFold(3, shuffle=True, random_state=0)).fit(X, mask)
    by_sets = CandidateStacking(members, random_state=0).fit(X, mask)
    assert by_rows.weights_["set"] > 0.9
    assert by_sets.weights_["set"] < 0.5
    accuracies = [np.mean(model.predict(X) == truth) for model in (by_rows, by_sets)]
    assert accuracies[1] > accuracies[0]
