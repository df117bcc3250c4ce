"""Estimators that do not depend on the units of the features, as their documentation states.

The factors are powers of two, so that no feature is rounded, and methods that scale their input give identical bits.
"""

import numpy as np
import pytest
from sklearn.base import clone

from oneof import (
    IPAL,
    PLECOC,
    PLKNN,
    PLSVM,
    CandidateSets,
    GaussianEM,
    GraphLogisticRegression,
    HarmonicField,
    LocalGlobalConsistency,
    LOORidge,
    MarkovWalk,
    SpectralGraphTransducer,
    TransductiveSVM,
)

INVARIANT_TO_COMMON_UNIT = [
    *(PLKNN(), IPAL(), PLECOC(random_state=0), PLSVM(kernel="rbf"), TransductiveSVM(), TransductiveSVM(kernel="rbf")),
    *(HarmonicField(), HarmonicField(affinity="binary"), LocalGlobalConsistency(), MarkovWalk()),
    *(SpectralGraphTransducer(), GraphLogisticRegression(), GraphLogisticRegression(features="kernel")),
    *(GaussianEM(covariance="spherical"), LOORidge(features="l2")),
]
"""Estimators that do not change if all features are multiplied by one factor."""
INVARIANT_TO_EACH_UNIT = [
    *(GaussianEM(), GaussianEM(covariance="tied"), GaussianEM(covariance="diagonal")),
    *(LOORidge(), LOORidge(features="maxabs_l2")),
]
"""Estimators that do not change if each feature is multiplied by its own factor."""


EXTREME_FACTORS = {
    **dict.fromkeys(("PLKNN()", "IPAL()"), (2.0**-1010, 2.0**1000)),
    **dict.fromkeys(("TransductiveSVM()", "TransductiveSVM(kernel='rbf')"), (2.0**-200,)),
    "GraphLogisticRegression()": (2.0**-600, 2.0**600),
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


@pytest.mark.parametrize("model", [*INVARIANT_TO_COMMON_UNIT, *INVARIANT_TO_EACH_UNIT], ids=repr)
def test_factors_of_the_features_change_nothing(model):
    """A common factor, or for some methods one of each feature, changes neither the scores nor the labels."""
    scores, labels = scores_and_labels(model, 1.0)
    factors = [2.0**-40, 2.0**60, *EXTREME_FACTORS.get(repr(model), ())]
    factors += [np.array([2.0**-20, 1.0, 2.0**30])] * (model in INVARIANT_TO_EACH_UNIT)
    for factor in factors:
        scaled_scores, scaled_labels = scores_and_labels(model, factor)
        # The densities include the logarithm of the unit, which is rounded, and neighbors are those of scaled rows.
        tolerance = {"GaussianEM": 1e-12, "IPAL": 1e-9, "PLKNN": 1e-9}.get(type(model).__name__, 0)
        np.testing.assert_allclose(scaled_scores, scores, rtol=0, atol=tolerance)
        np.testing.assert_array_equal(scaled_labels, labels)


@pytest.mark.parametrize("model", [PLKNN(), IPAL(prediction="votes")], ids=repr)
def test_votes_do_not_depend_on_the_origin(model):
    """Exact labels of rows far from the origin, compared with their variance, have the same votes."""
    rng = np.random.default_rng(0)
    X, new = (np.round(rng.normal(size=(n, 20)) * 2**10) / 2**10 for n in (200, 20))
    reference, shifted = (clone(model).fit(rows, np.arange(200) % 3) for rows in (X, X + 2.0**30))
    predict = [getattr(fitted, "predict_proba", None) or fitted.decision_function for fitted in (reference, shifted)]
    np.testing.assert_allclose(predict[1](new + 2.0**30), predict[0](new), atol=1e-12)
