"""Tests of `sample_weight` and `class_weight`: repeated rows, and the weights of scikit-learn on exact labels."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from oneof import (
    CLPL,
    PLEM,
    PLSVM,
    CandidateSets,
    GaussianEM,
    GraphLogisticRegression,
    MultinomialEM,
)
from oneof.candidates.class_weights import check_row_weights
from oneof.errors import InputError, InputTypeError
from tests.estimators.panel import ALL, name, scores, table

WEIGHTED = [e for e in ALL if "class_weight" in e.get_params()]
REPEATED = [e for e in ALL if "sample_weight" in inspect.signature(e.fit).parameters]
weighted = pytest.mark.parametrize("estimator", WEIGHTED, ids=name)


def test_methods_with_weights():
    """A sample weight is a repetition; class weights need scores that can be the highest for one class everywhere."""
    assert {name(e) for e in REPEATED} == {
        "PLSVM", "PLEM", "CLPL", "GraphLogisticRegression", "MultinomialEM", "GaussianEM"
    }  # fmt: skip
    assert {name(e) for e in WEIGHTED} == {"GraphLogisticRegression", "TransductiveSVM", "GaussianEM"}


VARIANTS = [
    *(CLPL(fit_intercept=True), PLEM(entropy_weight=0.3, fit_intercept=True, tol=1e-9)),
    *(GaussianEM(0.5, covariance=form, tol=1e-11) for form in ("tied", "diagonal", "spherical")),
    *(GaussianEM("cv", n_folds=2, tol=1e-11), MultinomialEM("cv", n_folds=3, tol=1e-12)),
    *(GraphLogisticRegression(solver=solver, tol=1e-9) for solver in ("block", "sequential")),
    *(GraphLogisticRegression(features="kernel"), GraphLogisticRegression(views=[[0, 1], [2, 3]])),
]
"""Parameters with which the weights take another way, such as folds, in which copies of a row are together."""


@pytest.mark.parametrize("estimator", [*REPEATED, *VARIANTS], ids=name)
def test_a_weight_is_a_repetition(estimator):
    """An integer weight equals repeating the row, and weight 0 removes it, also in the selection by folds."""
    X, mask = table(60, like=estimator)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    model = clone(estimator).fit(X, mask, sample_weight=weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(mask, weight, axis=0))
    reference = scores(repeated, X)
    tolerance = 1e-4 if "PLSVM" in name(estimator) else 1e-6
    np.testing.assert_allclose(scores(model, X), reference, rtol=tolerance, atol=tolerance * np.abs(reference).max())
    assert getattr(model, "unlabeled_weight_", 0) == getattr(repeated, "unlabeled_weight_", 0)


@pytest.mark.parametrize("estimator", [e for e in REPEATED if name(e) != "PLSVM"], ids=name)
def test_labeled_rows_without_weight_are_an_error(estimator):
    """Without a labeled row of positive weight, fit raises."""
    with pytest.raises(InputError, match="`sample_weight` is zero"):
        clone(estimator).fit(np.eye(3), ["a", "b", None], sample_weight=[0, 0, 1])


@pytest.mark.parametrize("estimator", [e for e in WEIGHTED if e in REPEATED], ids=name)
def test_class_weights_multiply_sample_weights(estimator):
    """A class weight is the mean of the candidates' weights, as a factor of each row's sample weight."""
    X, mask = table(80, like=estimator)
    factors = np.array([0.5, 1.0, 3.0])
    labeled = ~mask.all(axis=1)
    of_rows = np.where(labeled, mask @ factors / mask.sum(axis=1), 1.0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    sets = CandidateSets(mask, ["a", "b", "c"])
    model = clone(estimator).set_params(class_weight={"a": 0.5, "c": 3.0}).fit(X, sets, sample_weight=weight)
    reference = clone(estimator).fit(X, sets, sample_weight=weight * of_rows)
    np.testing.assert_array_equal(scores(model, X), scores(reference, X))
    assert np.abs(scores(model, X) - scores(clone(estimator).fit(X, sets), X)).max() > 1e-6


@weighted
def test_a_larger_weight_gives_more_rows_of_the_class(estimator):
    """Rows are assigned to a class more often, or as often, if it has a larger weight."""
    X, mask = table(60, like=estimator)
    counts = [
        np.mean(clone(estimator).set_params(class_weight={1: value}).fit(X, mask).predict(X) == 1)
        for value in (0.05, 1.0, 20.0)
    ]
    assert counts[0] <= counts[1] + 0.05
    assert counts[1] <= counts[2] + 0.05
    assert counts[0] < counts[2]


def test_balanced_weights_of_exact_labels_are_those_of_scikit_learn():
    """The factors are n / (K n_k); unlabeled rows keep their weight."""
    y = np.array(["a", "b", "b", "c", "b", "c"])
    reference = compute_class_weight("balanced", classes=np.unique(y), y=y)
    mask = np.vstack([y[:, None] == np.unique(y), np.ones(3, dtype=bool)])
    sets = CandidateSets(mask, ["a", "b", "c"])
    weights = check_row_weights(sets, None, "balanced")
    np.testing.assert_allclose(weights, np.append(reference[np.searchsorted(np.unique(y), y)], 1.0))


def test_balanced_weights_count_sample_weights():
    """A weight of 2 counts twice in the class frequencies."""
    mask = np.eye(2, dtype=bool)[[0, 1, 1]]
    repeated = check_row_weights(CandidateSets(mask[[0, 0, 1, 1]], [0, 1]), None, "balanced")
    np.testing.assert_allclose(repeated, 1.0)
    weights = check_row_weights(CandidateSets(mask, [0, 1]), [2.0, 1.0, 1.0], "balanced")
    np.testing.assert_allclose(weights, [2.0, 1.0, 1.0])


@weighted
@pytest.mark.parametrize(
    ("class_weight", "error", "match"),
    [
        ({7: 2.0}, InputError, "`class_weight` has the label 7, which is not a class"),
        ({0: -1.0}, InputError, "`class_weight` of 0 must be finite and at least 0; got -1.0"),
        ({0: "heavy"}, InputError, "`class_weight` of 0 must be finite and at least 0; got 'heavy'"),
        ([1.0, 2.0, 1.0], InputTypeError, '`class_weight` must be a dict, "balanced" or None'),
        ("equal", InputTypeError, "`class_weight` must be a dict, \"balanced\" or None; got 'equal'"),
        ({0: 0.0, 1: 0.0, 2: 0.0}, InputError, "`class_weight` is zero for every labeled row"),
    ],
)
def test_wrong_class_weights_are_errors(estimator, class_weight, error, match):
    """The error names the label and the value."""
    X, mask = table(40, like=estimator)
    with pytest.raises(error, match=match):
        clone(estimator).set_params(class_weight=class_weight).fit(X, mask)


@pytest.mark.parametrize("model", [CLPL(), PLSVM(0.01), PLSVM(0.01, kernel="rbf"), PLSVM(0.01, solver="pegasos")])
def test_equal_weights_of_means_and_sums(model):
    """Equal weights change a sum of losses like C, and a mean of losses not at all."""
    X, mask = table(50)
    doubled = clone(model).fit(X, mask, sample_weight=np.full(50, 2.0))
    reference = clone(model).set_params(C=2.0).fit(X, mask) if name(model) == "CLPL" else clone(model).fit(X, mask)
    np.testing.assert_allclose(scores(doubled, X), scores(reference, X), rtol=1e-6, atol=1e-8)


def test_the_hinges_of_rows_are_multiplied():
    """The objective of PLSVM is lam/2 ||W||^2 plus the weighted mean of the hinges."""
    X, mask = table(60)
    weight = np.random.default_rng(1).uniform(0.0, 3.0, 60)
    labeled = ~mask.all(axis=1)
    for solver in ("cccp", "pegasos"):
        model = PLSVM(0.1, solver=solver).fit(X, mask, sample_weight=weight)
        s = X @ model.coef_.T
        hinges = 1.0 - np.where(mask, s, -np.inf).max(axis=1) + np.where(mask, -np.inf, s).max(axis=1)
        loss = np.average(np.maximum(0.0, hinges[labeled]), weights=weight[labeled])
        assert model.objective_ == pytest.approx(0.05 * (model.coef_**2).sum() + loss, rel=1e-6)


@pytest.mark.parametrize("estimator", [e for e in ALL if e not in REPEATED], ids=name)
def test_rejected_weights_name_the_estimator(estimator):
    """Estimators without sample weights reject them by the name of their own class."""
    with pytest.raises(InputTypeError, match=rf"^{type(estimator).__name__}.fit does not accept `sample_weight`"):
        clone(estimator).fit(np.eye(3), ["a", "b", None], sample_weight=[1, 1, 1])
    with pytest.raises(InputTypeError, match="`sample_weight`"):
        clone(estimator).fit(np.eye(3), ["a", "b", None], [1, 1, 1])
