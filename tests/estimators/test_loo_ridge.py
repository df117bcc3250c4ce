"""LOORidge: fitted attributes, parameters, exact and approximate forms, feature maps."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.estimators import loo_ridge
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS, NormalQuantiles, default_maps
from tests.estimators.panel import table, weighted_table
from tests.oracles import loo_ridge as oracle


def test_exact_labels_give_kernel_ridge_regression():
    """Without partial rows the scores are those of ridge regression on the labels, without a judge."""
    X, _ = table()
    labels = np.arange(60) % 3
    model = LOORidge("rbf", features="standard").fit(X, labels)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = np.eye(3)[labels]
    gram = rbf_kernel(Z, gamma=0.3 / 4)
    a = np.linalg.solve(gram + 0.05 * np.eye(60), P - P.mean(axis=0))
    np.testing.assert_allclose(model.decision_function(X), gram @ a + P.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(model.loo_scores_, oracle.predict_loo(gram, P, 0.05), atol=1e-8)
    assert model.judge_weight_ == 0
    assert len(model.label_changes_) == 0
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.transduction_, labels)


def test_many_rows_use_landmarks(monkeypatch):
    """Above the limit "auto" is the Nystroem form, reproducible by a seed; None is exact at any size."""
    monkeypatch.setattr(loo_ridge, "MAX_EXACT_ROWS", 50)
    X, mask = table(120)
    options = {"kernel": "rbf", "n_components": 10, "random_state": 3}
    auto = LOORidge(**options).fit(X, mask).predict_proba(X)
    np.testing.assert_array_equal(auto, LOORidge(**options, approximation="nystroem").fit(X, mask).predict_proba(X))
    assert np.abs(auto - LOORidge(**options, approximation=None).fit(X, mask).predict_proba(X)).max() > 1e-3


def test_the_default_number_of_landmarks(monkeypatch):
    """By default the number of landmarks decreases with the rows between its limits; a given number is used."""
    for name, value in (("MIN_COMPONENTS", 10), ("MAX_COMPONENTS", 40), ("MAX_FEATURE_ENTRIES", 2000)):
        monkeypatch.setattr(loo_ridge, name, value)
    X, mask = table(250)
    used = np.flatnonzero(~mask.all(axis=1))
    for n, expected in ((20, 20), (45, 40), (100, 20), (len(used), 10)):
        rows = used[:n]
        model = LOORidge("rbf", features="standard", approximation="nystroem", max_iter=3).fit(X[rows], mask[rows])
        assert model._model.support[0].shape[0] == model._model.dual.coefficients.shape[0] == expected
    model.set_params(n_components=17).fit(X, mask)
    assert model._model.support[0].shape[0] == 17


def test_feature_maps_are_fitted_to_a_part_of_many_rows(monkeypatch):
    """Above the limit, the feature transformations are fitted to evenly spaced rows."""
    monkeypatch.setattr(loo_ridge, "MAX_MAP_ROWS", 30)
    X, mask = table(120)
    used = np.flatnonzero(~mask.all(axis=1))
    model = LOORidge("rbf", features="standard").fit(X, mask)
    some = X[used[np.linspace(0, len(used) - 1, 30).astype(int)]]
    Z = (X[used] - some.mean(axis=0)) / some.std(axis=0)
    np.testing.assert_allclose(model._model.support[0], Z, rtol=1e-12, atol=1e-12)


def test_unlabeled_rows_are_used_if_requested():
    """With "class_mass" unlabeled rows are used in fit; by default they have the predictions of the model."""
    X, _ = table(150)
    labels = [["a", "b", "c"][i % 3] if i < 12 else None for i in range(150)]
    ignored = LOORidge("rbf").fit(X, labels)
    np.testing.assert_allclose(ignored.label_distributions_[12:], ignored.predict_proba(X[12:]), rtol=1e-9)
    used = LOORidge("rbf", unlabeled="class_mass", tol=0.0).fit(X, labels)
    assert used.n_iter_ == 25
    assert ignored.n_iter_ == 1
    assert np.abs(used.predict_proba(X) - ignored.predict_proba(X)).max() > 0.05


def test_influential_rows_and_runners_up():
    """Influential rows are other used rows, runners-up other candidates; ignored rows and landmarks have none."""
    X, mask = table(90)
    model = LOORidge("rbf").fit(X, mask)
    ignored = mask.all(axis=1)
    assert np.all(model.influential_rows_[ignored] == -1)
    assert not np.isin(model.influential_rows_[~ignored], np.flatnonzero(ignored)).any()
    assert np.all(model.influential_rows_[~ignored] != np.flatnonzero(~ignored)[:, None])
    assert np.all(np.diff(model.influences_, axis=1) <= 0)
    assert np.all(model.runner_up_ != model.transduction_)
    several = (mask.sum(axis=1) > 1).nonzero()[0]
    assert mask[several, model.runner_up_[several]].all()
    assert model.set_params(approximation="nystroem").fit(X, mask).influential_rows_ is None


def test_blocks_of_rows_with_weights(monkeypatch):
    """Iterations over blocks with all rows reach about the labels of the form in memory, and use the weights."""
    X, mask, W = weighted_table(200, K=4)
    options = {"distractors": "uniform", "approximation": "nystroem", "n_components": 40, "random_state": 0}
    y = CandidateSets.from_weights(W)
    memory = LOORidge(**options).fit(X, y)
    monkeypatch.setattr(loo_ridge, "MAX_FEATURE_ENTRIES", 40 * 150)
    in_blocks, sets = LOORidge(**options).fit(X, y), LOORidge(**options).fit(X, mask)
    difference = np.abs(in_blocks.label_distributions_ - memory.label_distributions_).sum(axis=1).mean() / 2
    assert difference < 0.02
    assert np.abs(in_blocks.label_distributions_ - sets.label_distributions_).sum(axis=1).mean() / 2 > difference
    assert not in_blocks.label_distributions_[~mask & (W == 0)].any()


def counts(n=120, d=400, K=4, seed=0):
    """Return mostly zero counts, with separate words for each class, the truth and candidate sets."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, K, n)
    rate = np.full((K, d), 0.01)
    rate[np.arange(K)[:, None], np.arange(K)[:, None] * 10 + np.arange(10)] = 0.4
    X = random.poisson(rate[truth]).astype(np.float64)
    return X, truth, make_partial_labels(truth, random_state=seed).mask


def test_rows_of_mostly_zeros_remain_sparse():
    """Dense and CSR counts use the maps that keep zeros, and CSR stays CSR."""
    X, truth, mask = counts()
    sparse = LOORidge().fit(sp.csr_array(X), mask)
    assert set(sparse.kernel_weights_) == {"l2-rbf", "maxabs_l2-rbf"}
    assert all(sp.issparse(rows) for rows in sparse._model.support)
    dense = LOORidge().fit(X, mask)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-9)
    assert (sparse.transduction_ == truth).mean() > 0.9
    wide = sp.csr_array((X.shape[0], 10**5))
    wide = sp.hstack([sp.csr_array(X), wide], format="csr")
    np.testing.assert_allclose(LOORidge().fit(wide, mask).predict_proba(wide), sparse.predict_proba(X), atol=1e-9)


def test_default_maps():
    """The maps depend on the density and the number of features; features of zeros do not count."""
    X, _, _ = counts()
    assert default_maps(X) == default_maps(sp.csr_array(X)) == default_maps(np.ones((3, 5001))) == SPARSE_MAPS
    assert default_maps(np.ones((3, 4))) == MAPS
    assert default_maps(sp.csr_array(np.hstack([np.ones((3, 4)), np.zeros((3, 400))]))) == MAPS
    assert default_maps(np.eye(4)) == default_maps(sp.csr_array(np.eye(4))) == MAPS | SPARSE_MAPS


def test_rare_words_do_not_dominate_other_features():
    """With a word per class, a word per row and three numbers, the maps for words get the weight."""
    rng = np.random.default_rng(6)
    truth = rng.permutation(np.repeat(np.arange(3), 24))
    words = np.zeros((72, 3 + 18))
    words[np.arange(72), truth], words[np.arange(18), 3 + np.arange(18)] = 1.0, 1.0
    X = np.hstack([words / np.linalg.norm(words, axis=1, keepdims=True), rng.random((72, 3))])
    sets = make_partial_labels(truth[:18], fraction=0.5, random_state=6)
    model = LOORidge().fit(X[:18], sets)
    assert len(model.kernel_weights_) == 8
    assert (model.predict(X[18:]) == truth[18:]).all()
    standard = LOORidge(features="standard", distractors="uniform", judge=None).fit(X[:18], sets)
    assert (standard.predict(X[18:]) == truth[18:]).mean() < 0.8
    sparse = LOORidge().fit(sp.csr_array(X[:18]), sets)
    np.testing.assert_allclose(sparse.predict_proba(X), model.predict_proba(sp.csr_array(X)), atol=1e-9)


def test_quantiles_do_not_depend_on_the_scale_of_a_feature():
    """An increasing function of a feature does not change its normal quantiles, for old and new rows."""
    X, _ = table(50)
    new, _ = table(20, seed=1)
    reference, transformed = NormalQuantiles.fit(X), NormalQuantiles.fit(np.exp(X))
    np.testing.assert_allclose(transformed(np.exp(new)), reference(new), atol=1e-12)
    np.testing.assert_allclose(reference(X).mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(reference(X).std(axis=0), 1)


@pytest.mark.parametrize("features", ["l2", "maxabs_l2"])
def test_normalized_rows_of_any_size(features):
    """The predictions for normalized rows do not depend on their scale, down to the smallest numbers."""
    X, _, mask = counts(60, 50)
    expected = LOORidge(features=features).fit(X, mask).predict_proba(X)
    for scale in (1e-300, 1e-162, 1e150, 1e300):
        for rows in (scale * X, sp.csr_array(scale * X)):
            result = LOORidge(features=features).fit(rows, mask).predict_proba(rows)
            np.testing.assert_allclose(result, expected, atol=1e-9)


def test_rows_on_one_ray_are_equal():
    """Rows that differ only in length are equal for the l2 map, and rounding does not make a kernel."""
    X = np.outer(np.linspace(1.0, 2.0, 30), [0.3, 0.7, 0.1])
    labels = np.arange(30) % 3
    dense = LOORidge(features="l2").fit(X, labels).loo_scores_
    sparse = LOORidge(features="l2").fit(sp.csr_array(X), labels).loo_scores_
    np.testing.assert_allclose(dense, sparse, atol=1e-9)
