"""Tests with scikit-learn's own checks and tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from oneof import (
    PLECOC,
    PLGP,
    PLSVM,
    CandidateEM,
    CandidateSets,
    GaussianEM,
    GraphLogisticRegression,
    LOORidge,
    MultinomialEM,
    SpectralGraphTransducer,
    TransductiveSVM,
)
from oneof.model_selection import (
    CandidateKFold,
    approximated_accuracy_scorer,
    covering_rate_scorer,
)
from tests.estimators.panel import ALL, ONLINE, name, same_model, scaler, scores, table

every = pytest.mark.parametrize("estimator", ALL, ids=name)


# The settings of the suites, and the defaults if they differ and take less than a minute.
CHECKED = [*ALL, CandidateEM(random_state=0), PLECOC(random_state=0), GaussianEM(), MultinomialEM()]
# The other defaults, and other forms of some methods.
CHECKED_TOO = [
    *(PLSVM(), PLSVM(kernel="rbf", tol=1e-12), PLSVM(solver="pegasos"), PLGP(random_state=0)),
    *(SpectralGraphTransducer(n_neighbors=5), SpectralGraphTransducer(affinity="gaussian", n_neighbors=10)),
    *(GaussianEM("cv", covariance=form) for form in ("tied", "diagonal", "spherical")),
    *(MultinomialEM("cv"), GraphLogisticRegression("graph"), GraphLogisticRegression(features="kernel")),
    *(LOORidge(approximation="nystroem", n_components=20, random_state=0), LOORidge(unlabeled="class_mass")),
    *(LOORidge("rbf", features="l2", distractors="cooccurring"), LOORidge("laplacian")),
    *(TransductiveSVM(), TransductiveSVM(kernel="rbf", label_switching="single")),
    *(PLGP(optimizer=None, solver="cholesky"), PLGP(optimizer=None, approximation="nystroem", n_components=20)),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")  # the checks feed constant columns, vectors of -1 and +1, and the like
def test_scikit_learn_checks(estimator, check):
    """Every check of check_estimator passes, without expected failures."""
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(CHECKED_TOO)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_other_forms(estimator, check):
    """The checks pass for other parameters of the methods too."""
    check(estimator)


@every
def test_no_check_is_waived(estimator):
    """No tag exempts an estimator from a check, except that of MultinomialNB for MultinomialEM."""
    tags = estimator.__sklearn_tags__()
    assert tags.classifier_tags.poor_score == (name(estimator) == "MultinomialEM")
    assert MultinomialNB().__sklearn_tags__().classifier_tags.poor_score
    assert not tags.non_deterministic
    assert not tags.no_validation
    assert not tags.target_tags.multi_output


@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_keep_their_column_names(estimator, frame):
    """A DataFrame gives the scores of its array, and its column names are stored and checked."""
    X, mask = table(like=estimator)
    columns = ["a", "b", "c", "d"]
    rows = frame(dict(zip(columns, X.T, strict=True)))
    model = clone(estimator).fit(rows, mask)
    assert model.feature_names_in_.tolist() == columns
    np.testing.assert_array_equal(scores(model, rows), scores(clone(estimator).fit(X, mask), X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(rows[columns[::-1]])


@every
def test_pipelines_and_set_output(estimator):
    """In a pipeline that passes arrays, pandas or polars frames, the model is the same."""
    X, mask = table(like=estimator)
    rows = pd.DataFrame(X, columns=list("abcd"))
    Z = scaler(estimator).fit_transform(X)
    reference = scores(clone(estimator).fit(Z, mask), Z)
    for output in ("default", "pandas", "polars"):
        model = make_pipeline(scaler(estimator), clone(estimator)).set_output(transform=output).fit(rows, mask)
        np.testing.assert_allclose(scores(model, rows), reference, rtol=1e-9, atol=1e-9 * np.abs(reference).max())
        labels, confidence = model[-1].disambiguate()
        assert len(labels) == len(confidence) == len(X)


@every
def test_cross_validation_with_an_indicator(estimator):
    """cross_validate accepts an indicator, with the folds of scikit-learn or oneof, and any scorer of oneof."""
    X, mask = table(90, like=estimator)
    scoring = {"own": _own_score, "covering": covering_rate_scorer, "approximated": approximated_accuracy_scorer}
    for cv in (3, CandidateKFold(3, random_state=0)):
        results = cross_validate(clone(estimator), X, mask.astype(int), cv=cv, scoring=scoring)
        for values in (results[f"test_{scorer}"] for scorer in scoring):
            assert values.shape == (3,)
            assert np.all((values >= 0) & (values <= 1))
        np.testing.assert_array_equal(results["test_own"], results["test_covering"])


def _own_score(estimator, X, y):
    return estimator.score(X, y)


@every
def test_clone_and_pickle(estimator):
    """A clone is unfitted, and a pickled model predicts the same without its training rows."""
    X, mask = table(200, like=estimator)
    model = clone(estimator).fit(X, CandidateSets(mask, ["a", "b", "c"]))
    assert str(clone(model).get_params()) == str(model.get_params())  # an estimator among them is only equal to itself
    assert not hasattr(clone(model), "classes_")
    stored = pickle.dumps(model)
    loaded = pickle.loads(stored)
    same_model(loaded, model, X)
    assert "_fitted_on" not in loaded.__dict__
    with pytest.raises(ValueError, match=r"disambiguate\(X, y\)"):
        loaded.disambiguate()
    np.testing.assert_array_equal(loaded.disambiguate(X, mask).labels, model.disambiguate(X, mask).labels)


@every
def test_metadata_routing(estimator):
    """Sample weights are routed to fit, partial_fit and score if these accept them."""
    X, mask = table(90, like=estimator)
    weight = np.linspace(0.5, 2, 90)
    with sklearn.config_context(enable_metadata_routing=True):
        first = scaler(estimator)
        if hasattr(first, "set_fit_request"):
            first.set_fit_request(sample_weight=False)
        model = clone(estimator).set_score_request(sample_weight=True)
        requests = model.get_metadata_routing()
        takes_weight = "sample_weight" in requests.fit.requests
        if estimator in ONLINE:
            assert "sample_weight" in requests.partial_fit.requests
            assert not takes_weight
        if takes_weight:
            model.set_fit_request(sample_weight=True)
        given = {"sample_weight": weight} if takes_weight else {}
        routed = make_pipeline(first, model).fit(X, mask, **given).score(X, mask, sample_weight=weight)
    Z = scaler(estimator).fit_transform(X)
    reference = clone(estimator).fit(Z, mask, **given)
    assert routed == reference.score(Z, mask, sample_weight=weight)
