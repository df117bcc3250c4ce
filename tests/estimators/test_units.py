"""What becomes of features in other units, where a class says that nothing does.

Factors are powers of two, by which no feature is rounded: what a method works out in a unit of its own is then the same
to the last bit.
"""

import numpy as np
import pytest
from sklearn.base import clone

import oneof
from oneof import CandidateSets

ALIKE = {
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
"""One factor for all features changes nothing."""
EACH = {
    "GaussianEM": oneof.GaussianEM(),
    "GaussianEM(tied)": oneof.GaussianEM(covariance="tied"),
    "GaussianEM(diagonal)": oneof.GaussianEM(covariance="diagonal"),
    "LOORidge": oneof.LOORidge(),
    "LOORidge(maxabs_l2)": oneof.LOORidge(features="maxabs_l2"),
}
"""Nor does a factor of its own for each."""


def scores_and_labels(model, factors):
    """Return the probabilities, or the scores, of new rows and the labels of those of fit."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 40)
    X, new = random.normal(size=(40, 3)) + 2 * np.eye(3)[truth], random.normal(size=(10, 3)) + 1
    mask = np.eye(3, dtype=bool)[truth]
    mask[10:18] |= random.random((8, 3)) < 0.5
    mask[18:] = True
    model = clone(model).fit(X * factors, CandidateSets(mask, np.arange(3)))
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    return ask(new * factors), model.disambiguate().labels


@pytest.mark.parametrize("name", [*ALIKE, *EACH])
def test_one_factor_for_all_features_changes_nothing(name):
    """A common unit of the features, smaller or larger, is seen in no score of new rows and no label of old ones."""
    model = {**ALIKE, **EACH}[name]
    scores, labels = scores_and_labels(model, 1.0)
    for factor in (2.0**-40, 2.0**60, *([2.0**-200] if "Transductive" in name else [])):
        new_scores, new_labels = scores_and_labels(model, factor)
        # Densities have a unit, whose logarithm is rounded.
        np.testing.assert_allclose(new_scores, scores, rtol=0, atol=1e-12 if "Gaussian" in name else 0)
        np.testing.assert_array_equal(new_labels, labels)


@pytest.mark.parametrize("name", EACH)
def test_a_factor_for_each_feature_changes_nothing(name):
    """Nor is it seen in which units the features are beside each other."""
    scores, labels = scores_and_labels(EACH[name], 1.0)
    new_scores, new_labels = scores_and_labels(EACH[name], np.array([2.0**-20, 1.0, 2.0**30]))
    np.testing.assert_allclose(new_scores, scores, rtol=0, atol=1e-12 if "Gaussian" in name else 0)
    np.testing.assert_array_equal(new_labels, labels)
