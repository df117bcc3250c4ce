"""What a model would say of labeled rows without their labels, by one Newton step from the Laplace posterior.

Without row i, whose slopes by its scores are g_i = q_i - p_i and whose curvature is B_i, the mode moves by
-H_i^-1 (g_i kron x_i), H_i = H - B_i kron x_i x_i^T. With V_i = (I kron x_i)^T H^-1 (I kron x_i) its scores become

    s_i - V_i (I - B_i V_i)^-1 g_i.
"""

import numpy as np
import scipy.optimize

from oneof.likelihoods import log_likelihoods, normalize_within_sets
from oneof.solvers.graph_logistic.posterior import LaplacePosterior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.typing import FeatureMatrix, Floats, Mask

_ROUNDS = 50


def left_out_scores(posterior: LaplacePosterior, instances: FeatureMatrix, mask: Mask, sample_weight: Floats) -> Floats:
    """Return the (m, K-1) scores of labeled instances without each one's label.

    Of a row of weight 2, which stands for two rows, one is left out.
    """
    likelihood = Likelihood(instances, mask, np.minimum(sample_weight, 1.0))
    scores = np.asarray(instances @ posterior.weights.T)
    at = likelihood.point(scores)
    slopes, curvatures = likelihood.slopes(at), likelihood.curvatures(at, convex=True)
    spread = posterior.covariance(instances)
    without = np.eye(scores.shape[1]) - curvatures @ spread
    moves = spread @ np.linalg.solve(without, slopes[:, :, None])
    return scores - moves[:, :, 0]


def gain(scores: Floats, mask: Mask, sample_weight: Floats) -> float:
    """Return how much better scores foretell candidate sets than the frequencies of the classes do, in nats a row.

    It is the mean log likelihood, with (m, K-1) scores of rows left out and scaled by what is best from 0 to 1, less
    that of the frequencies.
    """
    whole = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)
    share = sample_weight / sample_weight.sum()
    frequencies = np.full(mask.shape[1], 1.0 / mask.shape[1])
    for _ in range(_ROUNDS):  # EM, at its end in one round where labels are exact
        frequencies = share @ normalize_within_sets(np.broadcast_to(frequencies, mask.shape), mask)
    known = float(share @ np.log((frequencies * mask).sum(axis=1)))
    best = scipy.optimize.minimize_scalar(
        lambda scale: -float(share @ log_likelihoods(scale * whole, mask)), bounds=(0.0, 1.0), method="bounded"
    )
    return -float(best.fun) - known
