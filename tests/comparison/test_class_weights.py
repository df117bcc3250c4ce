"""Weights of classes in the fits of a comparison."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import CLPL, PLEM, PLKNN, CandidateSets, LOORidge, TransductiveSVM, compare
from oneof.comparison import default_estimators, learning_curve
from oneof.comparison.folds import has_class_weights
from oneof.errors import InputError
from oneof.model_selection import CandidateKFold, compute_sample_weight

WEIGHTED = {"CLPL", "PLEM", "PLSVM", "GraphLogisticRegression", "TransductiveSVM", "GaussianEM", "MultinomialEM"}


def draw(n=300, seed=0):
    """Return two overlapping classes, one of them rare, with sets among a third class."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.1, 1, 2 * (rng.random(n) < 0.5))
    mask = np.eye(3, dtype=bool)[truth]
    mask[rng.random(n) < 0.3, 0] = True
    X = 1.5 * np.eye(3)[truth] + rng.normal(size=(n, 3))
    return X, CandidateSets(mask, np.array(["common", "rare", "usual"])), truth


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 7.0}])
@pytest.mark.parametrize(
    "estimator", [PLEM(), make_pipeline(StandardScaler(), CLPL()), make_pipeline(StandardScaler(), TransductiveSVM())]
)
def test_folds_and_the_best_estimator_are_fitted_with_weights(estimator, class_weight):
    """Each fit is that of the weights of its own training rows, or of the parameter of the method."""
    X, y, _ = draw()
    result = compare(X, y, {"a": estimator}, cv=3, class_weight=class_weight, keep_predictions=True)

    def fit(rows):
        model = clone(estimator)
        sets = y[rows]
        weight = compute_sample_weight(class_weight, sets)
        if isinstance(model, PLEM):
            return model.fit(X[rows], sets, sample_weight=weight)
        if isinstance(model[-1], CLPL):
            return model.fit(X[rows], sets, clpl__sample_weight=weight)
        return model.set_params(transductivesvm__class_weight=class_weight).fit(X[rows], sets)

    for train, test in CandidateKFold(3, random_state=0).split(X, y):
        np.testing.assert_array_equal(result.results[0].predictions[test], fit(train).predict(X[test]))
    np.testing.assert_array_equal(result.best_estimator.predict(X), fit(np.arange(len(X))).predict(X))


def test_the_default_estimators_with_class_weights():
    """The methods with weights are those of the decision page; "auto" compares these only."""
    assert {name for name, estimator in default_estimators().items() if has_class_weights(estimator)} == WEIGHTED
    X, y, _ = draw(60)
    result = compare(X, y, cv=2, class_weight="balanced", refit=False)
    assert {one.method for one in result.results} == WEIGHTED
    assert all(one.error is None for one in result.results)


@pytest.mark.parametrize(
    ("methods", "class_weight", "message"),
    [
        ({"a": LOORidge()}, "balanced", "methods without weights of rows or classes: a; got"),
        (["CLPL", "PLKNN"], {"rare": 2}, "classes: PLKNN; got {'rare': 2}"),
        ({"a": CLPL()}, "equal", "`class_weight` must be a dict"),
        ({"a": CLPL()}, {"robin": 2.0}, "has the label 'robin', which is not a class"),
    ],
)
def test_invalid_class_weights(methods, class_weight, message):
    """The error names the method, or the label, before anything is fitted."""
    X, y, _ = draw(60)
    with pytest.raises(ValueError if "dict" not in message else TypeError, match=message):
        compare(X, y, methods, cv=2, class_weight=class_weight)


def test_learning_curve_with_class_weights():
    """The last point is the comparison with the same weights; an estimator without weights is an error."""
    X, y, _ = draw()
    options = {"cv": 3, "class_weight": "balanced"}
    curve = learning_curve(CLPL(), X, y, train_sizes=[1.0], **options)
    assert curve.covering_rate[0] == compare(X, y, {"a": CLPL()}, **options).results[0].covering_rate
    with pytest.raises(InputError, match="classes: PLKNN"):
        learning_curve(PLKNN(), X, y, **options)
