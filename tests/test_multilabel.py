"""Break-even points of one classifier per topic."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import LinearSVC

import oneof
from oneof.errors import InputError, InputTypeError
from oneof.multilabel import breakeven_score
from oneof.text import make_vectorizer
from tests.oracles.break_even import break_even

N, K = 60, 3


@pytest.fixture
def documents():
    """Return word counts of documents with zero, one or several topics, the topics, and 20 labeled rows."""
    generator = np.random.default_rng(0)
    topics = generator.random((N, K)) < 0.4
    means = 0.3 + topics @ (2.0 * np.kron(np.eye(K), np.ones(4)))
    return generator.poisson(means), topics, np.sort(generator.choice(N, 20, replace=False))


@pytest.mark.parametrize("model", [MultinomialNB(), LinearSVC(), KNeighborsClassifier(3), oneof.PLEM(), oneof.CLPL()])
def test_each_topic_is_evaluated_on_the_other_rows(documents, model):
    """The break-even point of each topic equals the oracle's for a model of the labeled rows."""
    X, topics, labeled = documents
    others = np.setdiff1d(np.arange(N), labeled)
    result = breakeven_score(model, X.astype(float), topics, labeled, transductive=False)
    for k in range(K):
        fitted = model.__class__(**model.get_params()).fit(X[labeled].astype(float), topics[labeled, k].astype(int))
        if hasattr(fitted, "decision_function"):
            scores = fitted.decision_function(X[others].astype(float))
        else:
            scores = fitted.predict_proba(X[others].astype(float))[:, 1]
        assert result.break_even[k] == pytest.approx(float(break_even(topics[others, k], scores)))
    assert result.mean == pytest.approx(result.break_even.mean())


@pytest.mark.parametrize("model", [oneof.PLEM(entropy_weight=0.3), oneof.HarmonicField(), LabelPropagation()])
def test_transduction_uses_the_other_rows_as_unlabeled(documents, model):
    """`fit` receives the other rows as -1, and the scores are `label_distributions_` if there are any."""
    X, topics, labeled = documents
    X = X.astype(float)
    result = breakeven_score(model, X, topics, labeled, transductive=True)
    others = np.setdiff1d(np.arange(N), labeled)
    for k in range(K):
        y = np.where(np.isin(np.arange(N), labeled), topics[:, k], -1)
        fitted = model.__class__(**model.get_params()).fit(X, y)
        if hasattr(fitted, "label_distributions_"):
            scores = fitted.label_distributions_[others, 1]
        else:
            scores = fitted.predict_proba(X[others])[:, 1]
        assert result.break_even[k] == pytest.approx(float(break_even(topics[others, k], scores)), abs=1e-9)
    assert result.mean != breakeven_score(oneof.PLEM(), X, topics, labeled, transductive=False).mean


def test_forms_of_rows_do_not_matter(documents):
    """Dense or sparse rows and topics, and row indices or masks in any order, give equal scores."""
    X, topics, labeled = documents
    mask = np.isin(np.arange(N), labeled)
    expected = breakeven_score(MultinomialNB(), X, topics, labeled, transductive=False)
    for rows, indicator, named in (
        (sp.csc_array(X), topics.astype(int), mask),
        (X.tolist(), sp.csr_array(topics.astype(float)), labeled[::-1]),
    ):
        again = breakeven_score(MultinomialNB(), rows, indicator, named, transductive=False)
        np.testing.assert_allclose(again.break_even, expected.break_even)


def test_saturated_probabilities_are_ranked():
    """Probabilities that round to 1, such as those of long documents, are ranked by their logarithms."""
    X = np.array([[3, 0], [0, 3], [900, 10], [500, 10], [200, 100], [20, 10], [0, 9]])
    topics = np.array([[1], [0], [1], [1], [0], [0], [0]])
    assert breakeven_score(MultinomialNB(), X, topics, [0, 1], transductive=False).mean == 1
    proba = MultinomialNB().fit(X[:2], [1, 0]).predict_proba(X[2:])[:, 1]
    assert (proba[:3] == 1).all(), "as probabilities the first three would be tied"


def test_a_pipeline_accepts_texts():
    """Texts are passed to a pipeline as they are."""
    texts = ["wheat and corn", "oil prices", "ships with oil", "corn", "an oil tanker", "wheat harvest", ""]
    topics = [[1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [0, 0]]
    model = make_pipeline(make_vectorizer(stop_words="english", stem="english"), RidgeClassifier())
    assert breakeven_score(model, texts, topics, [0, 1, 2, 6], transductive=False).break_even.tolist() == [1, 1]
    graph = make_pipeline(make_vectorizer(), oneof.HarmonicField(n_neighbors=2, ridge=0.1))
    assert breakeven_score(graph, texts, topics, [0, 1, 2, 6], transductive=True).mean == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": None}, "`estimator` must be an object with get_params and fit; got None"),
        ({"Y": np.zeros((N, 1))}, "column 0 of Y occurs in no labeled row"),
        ({"Y": np.ones((N, 1))}, "column 0 of Y occurs in every labeled row"),
        ({"Y": np.eye(N, 1), "labeled": [0, 1]}, "column 0 of Y occurs in none of the other rows"),
        ({"Y": np.full((N, 1), 2)}, "got 2.0 in row 0, column 0"),
        ({"Y": np.zeros(N)}, "`Y` must have shape"),
        ({"Y": np.zeros((N - 1, 2)), "labeled": [0]}, "X has 60 rows, but Y has 59"),
        ({"labeled": [0, N]}, "integers from 0 to 59"),
        ({"labeled": [0.0]}, "integers from 0 to 59"),
        ({"labeled": [True]}, "integers from 0 to 59"),
        ({"estimator": LogisticRegression(), "transductive": True}, "treats -1 as a class"),
        ({"estimator": NearestCentroid("manhattan")}, "NearestCentroid has none"),
    ],
)
def test_invalid_inputs_raise(documents, change, message):
    """The error names the argument and its requirement."""
    X, topics, labeled = documents
    arguments = {"estimator": MultinomialNB(), "X": X, "Y": topics, "labeled": labeled, "transductive": False} | change
    with pytest.raises((InputError, InputTypeError), match=message):
        breakeven_score(**arguments)
