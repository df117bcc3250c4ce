"""Weights that count as 0 in methods that treat a class of weight 0 differently from all others.

However small a weight above 0 is, the class would remain a candidate, and the result would differ from that of the set
without the class. The rule is used by these solvers:

* `diffusion.label_propagation` and `transducer` clamp rows with one candidate, or find the rows that are labeled by
  equality with 1. The estimators of graphs restrict the distributions of their training rows to the candidates.
* `loo_ridge.candidate_groups` puts rows with the same candidates into one group.
* `transductive.tsvm` takes a row as one of the other side in the problem of a class that is not a candidate.
* `plsvm` has solutions in which the largest scores of two classes are equal; rounding would choose between them.
* `online` breaks ties between the scores of candidates, which are all 0 until a row has changed them.
* `soft_label_em` (`CandidateEM`) predicts only the rows of several candidates, and the end of its rounds depends on
  them.
"""

import numpy as np

from oneof.likelihoods import is_mask
from oneof.typing import Evidence

MIN_WEIGHT = 1e-6
"""Smaller weights count as 0: predictions of the methods are not accurate to this factor."""


def round_weights(evidence: Evidence) -> Evidence:
    """Return (n, K) evidence in which weights have the digits of single precision.

    A row of weights is free up to a factor, which changes their last digits. A solver of an objective with many minima
    may then take another path, and end elsewhere within its tolerance.
    """
    return evidence if evidence.dtype == bool else evidence.astype(np.float32).astype(np.float64)


def without_small_weights(evidence: Evidence) -> Evidence:
    """Return (n, K) evidence with small weights replaced by 0, and the mask if no row has weights then.

    Examples
    --------
    >>> without_small_weights(np.array([[1.0, 0.5, 1e-9], [1.0, 0.0, 1.0]]))
    array([[1. , 0.5, 0. ],
           [1. , 0. , 1. ]])
    >>> without_small_weights(np.array([[1.0, 1.0, 1e-9], [1.0, 0.0, 1.0]]))
    array([[ True,  True, False],
           [ True, False,  True]])
    """
    if is_mask(evidence):
        return evidence
    weights = np.where(evidence < MIN_WEIGHT, 0.0, evidence)
    mask = weights > 0
    return mask if np.array_equal(weights, mask) else weights
