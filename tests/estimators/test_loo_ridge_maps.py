"""The feature maps of LOORidge."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import LOORidge, make_partial_labels
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS, NormalQuantiles, default_maps
from tests.estimators.panel import table


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
