"""GaussianEM and MultinomialEM: equality with scikit-learn, weights, unlabeled rows, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import MultinomialNB

from oneof import CandidateSets, GaussianEM, MultinomialEM
from oneof.errors import InputError
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES
from tests.solvers.generative.problems import clouds, documents

# -- GaussianEM -------------------------------------------------------------------------------------------------------


every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_TYPES)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_a_solution_is_a_fixed_point_of_gaussian_mixtures(covariance):
    """The components of a class with exact labels are a fixed point of scikit-learn's GaussianMixture."""
    X, _ = clouds(n=120, seed=3)
    both, y = np.vstack([X, X + 1.0]), np.repeat([0, 1], 120)
    model = GaussianEM(n_components=2, covariance=covariance, shrinkage=1e-9, tol=1e-12, random_state=1, max_iter=5000)
    model.fit(both, y)
    kind = {"diagonal": "diag"}.get(covariance, covariance)
    values = model.covariances_[0]
    precisions = np.linalg.inv(values) if kind == "full" else 1 / values
    peer = GaussianMixture(
        2,
        covariance_type=kind,
        weights_init=model.component_weights_[0],
        means_init=model.means_[0],
        precisions_init=precisions,
        reg_covar=0,
        tol=1e-9,
    ).fit(X)
    np.testing.assert_allclose(peer.means_, model.means_[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(peer.covariances_, values, rtol=1e-3, atol=1e-5)


def two_clouds(n=400, d=5, seed=0):
    """Return two slightly overlapping spherical clusters and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 1.2 * y[:, None], y


@every_covariance
def test_unlabeled_rows_help_if_classes_are_clusters(covariance):
    """With two labels per class, unlabeled rows reduce the error over five draws."""
    gains = []
    for seed in range(5):
        X, y = two_clouds(seed=seed)
        partly_labeled = np.where(np.arange(len(y)) < 4, y, -1)
        wrong = [
            (GaussianEM(w, covariance=covariance, max_iter=5000).fit(X, partly_labeled).transduction_ != y).mean()
            for w in (0.0, 1.0)
        ]
        gains.append(wrong[0] - wrong[1])
    assert np.mean(gains) > 0.02


def test_cross_validation_ignores_misleading_rows():
    """If the clusters are not the classes, unlabeled rows increase the error, and "cv" selects the weight 0."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    cloud = rng.integers(0, 2, 600)
    X = np.column_stack([8.0 * cloud, 2.5 * y]) + rng.normal(size=(600, 2))  # the wide gap is independent of y
    partly_labeled = np.where(np.arange(600) < 60, y, -1)
    reference, misled, chosen = (GaussianEM(w, covariance="spherical").fit(X, partly_labeled) for w in (0.0, 1.0, "cv"))
    errors = [(model.predict(X) != y).mean() for model in (reference, misled, chosen)]
    assert errors[1] > errors[0] + 0.1
    assert errors[2] <= errors[0] + 0.02
    assert chosen.unlabeled_weight_ < 1.0


@pytest.mark.parametrize("shrinkage", [None, 0.0])
@pytest.mark.parametrize("constant", [0.1, 1.0, 3.71, 255.0])
@every_covariance
def test_a_constant_with_a_rounded_mean_is_ignored(covariance, constant, shrinkage):
    """A constant is ignored even if its weighted mean over hundreds of rows differs from it by rounding."""
    rng = np.random.default_rng(0)
    y = (np.arange(1000) % 10 == 0).astype(int)
    X = rng.normal(size=(1000, 2)) + 1.5 * y[:, None]
    model = GaussianEM(covariance=covariance, shrinkage=shrinkage)
    reference, more = clone(model).fit(X, y), clone(model).fit(np.column_stack([X, np.full(1000, constant)]), y)
    shifted = np.column_stack([X, np.full(1000, constant + 1e-9)])
    np.testing.assert_allclose(more.predict_proba(shifted), reference.predict_proba(X), rtol=1e-9)


def test_folds_that_cannot_be_fitted_cover_no_row():
    """Cross-validation succeeds if a class has too few rows without a fold: that fold covers nothing."""
    X = np.arange(12.0)[:, None]
    y = ["a"] * 4 + ["b"] * 4 + ["c"] * 2 + [None] * 2
    assert GaussianEM("cv", shrinkage=0.0).fit(X, y).unlabeled_weight_ >= 0
    sets = ["a"] + [{"b", "c"}] * 8 + [None] * 3
    assert GaussianEM("cv", partial_weight=0.0).fit(X, sets).unlabeled_weight_ >= 0


def test_features_too_small_to_have_a_variance_are_named():
    """A variance that underflows raises, since the feature is not constant."""
    X, mask = clouds()
    with pytest.raises(InputError, match=r"underflow float64. Scale the features"):
        GaussianEM().fit(X * 1e-165, mask)


# -- MultinomialEM ----------------------------------------------------------------------------------------------------


sparse_or_dense = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


@sparse_or_dense
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0])
def test_exact_labels_give_naive_bayes(sparse, alpha):
    """On counts with exact labels every number equals MultinomialNB to the last bit, and otherwise to rounding."""
    X, _ = documents(sparse=sparse, n=60)
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    w = np.random.default_rng(0).integers(0, 4, 60)
    for sample_weight in (None, w):
        peer = MultinomialNB(alpha=alpha).fit(X, y, sample_weight=sample_weight)
        model = MultinomialEM(alpha=alpha).fit(X, y, sample_weight=sample_weight)
        np.testing.assert_array_equal(model.feature_log_prob_, peer.feature_log_prob_)
        np.testing.assert_array_equal(model.class_log_prior_, peer.class_log_prior_)
        np.testing.assert_array_equal(model.predict(X), peer.predict(X))
        np.testing.assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-9, atol=1e-15)
        assert model.n_iter_ == 1
    X, _ = documents(sparse=sparse, n=60, kind="tfidf")
    peer, model = MultinomialNB(alpha=alpha).fit(X, y), MultinomialEM(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(model.feature_log_prob_, peer.feature_log_prob_, rtol=1e-12)


def test_weights_are_repetitions_of_their_rows():
    """unlabeled_weight=2 equals every unlabeled row twice, partial_weight=3 every partial row three times."""
    X, mask = documents()
    size = mask.sum(axis=1)
    times = np.where(size == 1, 1, np.where(size == 3, 2, 3))
    weighted = MultinomialEM(2.0, partial_weight=3.0, tol=1e-12).fit(X, mask)
    repeated = MultinomialEM(tol=1e-12).fit(np.repeat(X, times, axis=0), np.repeat(mask, times, axis=0))
    np.testing.assert_allclose(weighted.feature_log_prob_, repeated.feature_log_prob_, rtol=1e-9)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-12)
    only_exact = MultinomialEM(0.0, partial_weight=0.0).fit(X, mask)
    peer = MultinomialNB().fit(X[size == 1], mask[size == 1].argmax(axis=1))
    np.testing.assert_array_equal(only_exact.feature_log_prob_, peer.feature_log_prob_)


def topics(n, *, words=60, length=20, K=2, seed=0):
    """Return documents of K topics with mostly the same words, and the topics."""
    rng = np.random.default_rng(seed)
    shares = 0.5 * rng.dirichlet(np.ones(words)) + 0.5 * rng.dirichlet(np.ones(words), K)
    y = np.arange(n) % K
    return np.array([rng.multinomial(length, shares[k]) for k in y]), y


def test_unlabeled_documents_help_if_classes_are_topics():
    """Nigam et al.'s claim: with one label per class, hundreds of unlabeled documents reduce the error, as by "cv"."""
    X, y = topics(600)
    partly_labeled = np.where(np.arange(600) < 2, y, -1)
    errors = [(MultinomialEM(w).fit(X, partly_labeled).predict(X) != y).mean() for w in (0.0, 1.0)]
    assert errors[1] < 0.5 * errors[0]
    partly_labeled = np.where(np.arange(600) < 12, y, -1)
    model = MultinomialEM("cv").fit(X, partly_labeled)
    rates = dict(zip(model.cv_weights, model.cv_covering_rates_, strict=True))
    assert rates[model.unlabeled_weight_] >= rates[0.0]
    assert (model.predict(X) != y).mean() <= (MultinomialEM(0.0).fit(X, partly_labeled).predict(X) != y).mean()


def test_several_components_fit_a_class_of_two_topics():
    """A class of two topics has a higher likelihood with two components; their weights sum to 1; a seed fixes them."""
    X, topic = topics(300, K=4, seed=1)
    y = topic // 2
    one, two = (MultinomialEM(n_components=C, alpha=0.01, random_state=0, tol=1e-8).fit(X, y) for C in (1, 2))
    assert two.objective_ > one.objective_ + 100
    assert two.feature_log_prob_.shape == (2, 2, 60)
    np.testing.assert_allclose(two.component_weights_.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(two.feature_log_prob_).sum(axis=2), 1.0)
    np.testing.assert_allclose(np.exp(two.class_log_prior_), [0.5, 0.5])
    again = MultinomialEM(n_components=2, alpha=0.01, random_state=0, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(again.feature_log_prob_, two.feature_log_prob_)


def test_an_empty_document_has_the_prior_probabilities():
    """A row of zeros has the prior probabilities of the classes."""
    X, mask = documents()
    model = MultinomialEM().fit(X, mask)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 12)))[0], np.exp(model.class_log_prior_))


def test_a_class_without_rows_has_probability_zero():
    """A class without rows has probability 0 and is predicted only for a set without other classes."""
    X, mask = documents()
    full = mask.all(axis=1)
    wide = np.column_stack([mask, full, full])
    model = MultinomialEM().fit(X, CandidateSets(wide, list("abcde")))
    assert model.class_log_prior_[3:].tolist() == [-np.inf, -np.inf]
    np.testing.assert_array_equal(model.predict_proba(X)[:, 3:], 0.0)
    np.testing.assert_array_equal(model.predict_log_proba(X)[:, 3:], -np.inf)
    assert np.isfinite(model.predict_log_proba(X)[:, :3]).all()
    decided = model.disambiguate(X[:1], [["d", "e"]])
    assert (decided.labels.tolist(), decided.confidence.tolist()) == (["d"], [0.5])


@sparse_or_dense
def test_invalid_rows_are_located(sparse):
    """Negative entries raise with row and column, in fit and in predict."""
    X, mask = documents()
    form = sp.csr_array if sparse else np.asarray
    model = MultinomialEM().fit(form(X), mask)
    invalid = X.copy()
    invalid[7, 3], invalid[9, 1] = -2.0, -1.0
    with pytest.raises(InputError, match=r"row 7, column 3: .*got -2"):
        MultinomialEM().fit(form(invalid), mask)
    with pytest.raises(InputError, match=r"row 7, column 3: .*got -2"):
        model.predict(form(invalid))
