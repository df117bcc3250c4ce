"""Estimators that do not depend on the units of the features, as their documentation states.

The factors are powers of two, so that no feature is rounded, and methods that scale their input give identical bits.
"""

import numpy as np
import pytest
from sklearn.base import clone

import oneof
from oneof import CandidateSets

INVARIANT_TO_COMMON_UNIT = {
    "PLKNN": oneof.PLKNN(),
    "IPAL": oneof.IPAL(),
    "PLECOC": oneof.PLECOC(random_state=0),
    "PLSVM": oneof.PLSVM(kernel="rbf"),
    "TransductiveSVM": oneof.TransductiveSVM(),
    "TransductiveSVM(rbf)": oneof.TransductiveSVM(kernel="rbf"),
    "HarmonicField": oneof.HarmonicField(),
    "HarmonicField(binary)": oneof.HarmonicField(affinity="binary"),
    "LocalGlobalConsistency": oneof.LocalGlobalConsistency(),
    "MarkovWalk": oneof.MarkovWalk(),
    "SpectralGraphTransducer": oneof.SpectralGraphTransducer(),
    "GraphLogisticRegression": oneof.GraphLogisticRegression(),
    "GraphLogisticRegression(kernel)": oneof.GraphLogisticRegression(features="kernel"),
    "GaussianEM(spherical)": oneof.GaussianEM(covariance="spherical"),
    "LOORidge(l2)": oneof.LOORidge(features="l2"),
}
"""Estimators that do not change if all features are multiplied by one factor."""
INVARIANT_TO_EACH_UNIT = {
    "GaussianEM": oneof.GaussianEM(),
    "GaussianEM(tied)": oneof.GaussianEM(covariance="tied"),
    "GaussianEM(diagonal)": oneof.GaussianEM(covariance="diagonal"),
    "LOORidge": oneof.LOORidge(),
    "LOORidge(maxabs_l2)": oneof.LOORidge(features="maxabs_l2"),
}
"""Estimators that do not change if each feature is multiplied by its own factor."""


EXTREME_FACTORS = {
    "PLKNN": (2.0**-1010, 2.0**1000),
    "IPAL": (2.0**-1010, 2.0**1000),
    "TransductiveSVM": (2.0**-200,),
    "TransductiveSVM(rbf)": (2.0**-200,),
    "GraphLogisticRegression": (2.0**-600, 2.0**600),
}
"""Factors at which the squares of the features overflow or underflow float64."""


def scores_and_labels(model, factors):
    """Return the probabilities or scores of new rows, and the disambiguated labels of the rows of fit."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 40)
    X, new = rng.normal(size=(40, 3)) + 2 * np.eye(3)[truth], rng.normal(size=(10, 3)) + 1
    mask = np.eye(3, dtype=bool)[truth]
    mask[10:18] |= rng.random((8, 3)) < 0.5
    mask[18:] = True
    model = clone(model).fit(X * factors, CandidateSets(mask, np.arange(3)))
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    return predict(new * factors), model.disambiguate().labels


@pytest.mark.parametrize("name", [*INVARIANT_TO_COMMON_UNIT, *INVARIANT_TO_EACH_UNIT])
def test_one_factor_for_all_features_changes_nothing(name):
    """A common factor, small or large, changes neither the scores of new rows nor the labels of the rows of fit."""
    model = {**INVARIANT_TO_COMMON_UNIT, **INVARIANT_TO_EACH_UNIT}[name]
    scores, labels = scores_and_labels(model, 1.0)
    for factor in (2.0**-40, 2.0**60, *EXTREME_FACTORS.get(name, ())):
        scaled_scores, scaled_labels = scores_and_labels(model, factor)
        # The densities include the logarithm of the unit, which is rounded, and neighbors are those of scaled rows.
        tolerance = 1e-12 if "Gaussian" in name else 1e-9 if name in ("IPAL", "PLKNN") else 0
        np.testing.assert_allclose(scaled_scores, scores, rtol=0, atol=tolerance)
        np.testing.assert_array_equal(scaled_labels, labels)


@pytest.mark.parametrize("name", INVARIANT_TO_EACH_UNIT)
def test_a_factor_for_each_feature_changes_nothing(name):
    """A different factor for each feature changes neither scores nor labels."""
    scores, labels = scores_and_labels(INVARIANT_TO_EACH_UNIT[name], 1.0)
    scaled_scores, scaled_labels = scores_and_labels(INVARIANT_TO_EACH_UNIT[name], np.array([2.0**-20, 1.0, 2.0**30]))
    np.testing.assert_allclose(scaled_scores, scores, rtol=0, atol=1e-12 if "Gaussian" in name else 0)
    np.testing.assert_array_equal(scaled_labels, labels)


@pytest.mark.parametrize(
    "model", [oneof.PLKNN(), oneof.IPAL(prediction="votes")], ids=lambda model: type(model).__name__
)
def test_votes_do_not_depend_on_the_origin(model):
    """Exact labels of rows far from the origin, compared with their variance, have the same votes."""
    rng = np.random.default_rng(0)
    X, new = (np.round(rng.normal(size=(n, 20)) * 2**10) / 2**10 for n in (200, 20))
    reference, shifted = (clone(model).fit(rows, np.arange(200) % 3) for rows in (X, X + 2.0**30))
    predict = [getattr(fitted, "predict_proba", None) or fitted.decision_function for fitted in (reference, shifted)]
    np.testing.assert_allclose(predict[1](new + 2.0**30), predict[0](new), atol=1e-12)
