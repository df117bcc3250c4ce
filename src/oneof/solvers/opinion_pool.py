"""Weights of a linear opinion pool, by maximum likelihood of held-out evidence.

Member m of the pool has held-out probabilities p_m, and L_im = sum_k e_ik p_m(k | x_i) is the likelihood of the
evidence of row i under them: the probability of a candidate set, or the mean weight. The likelihood under the pool
sum_m w_m p_m is sum_m w_m L_im. The weights maximize the concave function

    f(w) = 1/n sum_i log sum_m w_m L_im,    w_m >= 0,    sum_m w_m = 1,

by EM: w_m <- w_m g_m, where g_m = 1/n sum_i L_im / sum_j w_j L_ij is the gradient. The next weights again sum to 1, and
f increases. By concavity f is at most f(w) + max_m g_m - 1, which bounds the distance from the maximum.
"""

import numpy as np

from oneof.typing import Floats


def pool_weights(likelihoods: Floats, *, max_iter: int = 1000, tol: float = 1e-9) -> Floats:
    """Return the weights w of the members, (m,): nonnegative, with sum 1.

    Parameters
    ----------
    likelihoods : ndarray of shape (n, m)
        L, at least 0; every row has an entry above 0. A factor of a row has no effect. Without rows, the weights are
        equal.
    max_iter : int
        The mean log likelihood is then at most log(m) / `max_iter` below its maximum.
    tol : float
        EM ends earlier if the mean log likelihood is at most this below its maximum.
    """
    weights = np.full(likelihoods.shape[1], 1.0 / likelihoods.shape[1])
    for _ in range(max_iter if len(likelihoods) else 0):
        gradient = (likelihoods / (likelihoods @ weights)[:, None]).mean(axis=0)
        if gradient.max() <= 1.0 + tol:
            break
        weights = weights * gradient
    return weights
