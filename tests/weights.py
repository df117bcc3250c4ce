"""Weights of candidates for the tests of the methods that take them."""

import numpy as np
import pytest

from oneof.likelihoods import constant_rows


def draw_weights(mask, seed=0):
    """Return weights of the classes in the sets, the largest of each row 1; every third row keeps its set.

    Some weights are below 1e-3, and every sixth unlabeled row has a weight for each class.
    """
    rng = np.random.default_rng(seed)
    weights = mask * rng.uniform(0.05, 1.0, size=mask.shape) ** rng.choice([1, 4], size=(len(mask), 1))
    weights /= weights.max(axis=1, keepdims=True)
    keeps_set = (np.arange(len(mask)) % 3 == 0) | (mask.all(axis=1) & (np.arange(len(mask)) % 6 > 0))
    weights[keeps_set] = mask[keeps_set]
    return weights


def informative(evidence):
    """Return the mask of the rows that are not unlabeled."""
    return ~constant_rows(evidence)


evidences = pytest.mark.parametrize("evidence_of", [np.asarray, draw_weights], ids=["sets", "weights"])
"""Cases of laws of the evidence: candidate sets, and weights of the candidates."""
