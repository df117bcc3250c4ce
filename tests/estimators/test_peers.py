"""Estimators on exact labels equal classifiers of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from oneof import CLPL, PLEM, GaussianEM, TransductiveSVM
from oneof.model_selection import compute_sample_weight
from tests.estimators.panel import table

LOGISTIC = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000)
SQUARED_HINGE = LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-10, max_iter=100_000)
LINEAR = {"coef_": "coef_"}
GAUSSIAN = {"means_": "means_", "priors_": "priors_", "predict_proba": "predict_proba"}
# Each estimator, its peer, and the attributes or methods of both that are equal.
PEERS = [
    *((CLPL(C), clone(SQUARED_HINGE).set_params(C=C), LINEAR) for C in (0.01, 1.0)),
    *((PLEM(lam), clone(LOGISTIC).set_params(C=1 / lam), LINEAR) for lam in (0.01, 1.0)),
    (PLEM(fit_intercept=True), clone(LOGISTIC).set_params(fit_intercept=True), {"intercept_": "intercept_", **LINEAR}),
    (GaussianEM(covariance="tied", shrinkage=0), LinearDiscriminantAnalysis(solver="lsqr"), GAUSSIAN),
    (GaussianEM(covariance="tied", shrinkage=0), LinearDiscriminantAnalysis("lsqr"), {"covariances_": "covariance_"}),
    (GaussianEM(shrinkage=0), QuadraticDiscriminantAnalysis(), {"means_": "means_", "priors_": "priors_"}),
    (GaussianEM(covariance="diagonal", shrinkage=0), GaussianNB(var_smoothing=0), {"covariances_": "var_"}),
    (
        GaussianEM(covariance="diagonal", shrinkage=0),
        GaussianNB(var_smoothing=0),
        {"predict_log_proba": "predict_log_proba"},
    ),
]


def assert_equal_values(model, peer, X, names):
    for own, other in names.items():
        value, expected = (getattr(fitted, name) for fitted, name in ((model, own), (peer, other)))
        value, expected = (v(X) if callable(v) else v for v in (value, expected))
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5, err_msg=own)


@pytest.mark.parametrize(("model", "peer", "names"), PEERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("K", [3, 5])
def test_exact_labels_give_the_peer(model, peer, names, K):
    """Coefficients, means, covariances or probabilities are those of scikit-learn."""
    X, mask = table(100, K=K)
    y = mask.argmax(axis=1)
    assert_equal_values(clone(model).fit(X, y), clone(peer).fit(X, y), X, names)


@pytest.mark.parametrize("weight", ["balanced", {0: 2.0, 2: 0.5}])
@pytest.mark.parametrize(("model", "peer", "names"), [PEERS[3], PEERS[-1]], ids=lambda value: type(value).__name__)
def test_class_weights_as_sample_weights_give_the_peer(model, peer, names, weight):
    """On exact labels the weights of `compute_sample_weight` are the class weights of scikit-learn."""
    X, mask = table(100)
    y = mask.argmax(axis=1)
    weights = compute_sample_weight(weight, y)
    if "class_weight" in peer.get_params():
        expected = clone(peer).set_params(class_weight=weight).fit(X, y)
    else:
        expected = clone(peer).fit(X, y, sample_weight=weights)
    assert_equal_values(clone(model).fit(X, y, sample_weight=weights), expected, X, names)


@pytest.mark.parametrize("class_weight", [None, {1: 4.0}])
def test_the_transductive_svm_of_exact_labels_is_svc(class_weight):
    """Without unlabeled rows scores are those of libsvm, and decision_function is twice these."""
    X, mask = table(80)
    y = (mask.argmax(axis=1) > 0).astype(int)
    model = TransductiveSVM(C=0.5, tol=1e-8, class_weight=class_weight).fit(X, y)
    peer = SVC(C=0.5, kernel="linear", tol=1e-8, class_weight=class_weight).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), 2 * peer.decision_function(X), atol=2e-5)
    np.testing.assert_allclose(model.coef_, np.vstack([-peer.coef_, peer.coef_]), atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, y)
    assert model.n_iter_ == 1
