"""Tests of MultinomialEM: equality with scikit-learn on exact labels, weights, unlabeled rows, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import MultinomialNB

from oneof import CandidateSets, MultinomialEM
from oneof.errors import InputError
from tests.solvers.generative.problems import documents

forms = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


@forms
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


@forms
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
