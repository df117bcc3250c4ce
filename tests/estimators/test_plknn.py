"""PLKNN compared with an oracle."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import PLKNN, CandidateSets
from tests.estimators.panel import table, weighted_table
from tests.oracles import plknn as oracle


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("k", [1, 2, 10, 500])
def test_votes_equal_the_oracle(k, weights, weighted, rows):
    """Vote fractions equal the oracle; in the disambiguation they are multiplied by the weights of the row."""
    X, mask, W = weighted_table(70)
    W = W if weighted else mask.astype(float)
    queries, _ = table(20, seed=1)
    model = PLKNN(k, weights=weights).fit(rows(X), CandidateSets.from_weights(W))
    expected = oracle.vote_fractions(X, W, queries, k, weights)
    np.testing.assert_allclose(model.predict_proba(rows(queries)), expected, atol=1e-9)
    proba = W * oracle.vote_fractions(X, W, X, k, weights, leave_out=range(len(X)))
    proba = np.where(proba.sum(axis=1, keepdims=True) > 0, proba, W)
    proba /= proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.disambiguate().confidence, proba.max(axis=1), atol=1e-9)


def test_weights_are_equal_if_all_distances_are_zero():
    """Neighbors equal to the query have equal weights instead of 0/0."""
    X = np.zeros((4, 2))
    model = PLKNN(3).fit(X, [["a"], ["a"], ["b"], ["b"]])
    np.testing.assert_allclose(np.sort(model.predict_proba(X), axis=1), [[1 / 3, 2 / 3]] * 4)
