"""Class probabilities: the softmax of the latents, averaged over their Gaussian posterior by Monte Carlo."""

import numpy as np
from array_api_compat import array_namespace, device

from oneof.likelihoods import softmax
from oneof.typing import Array

MOST_NUMBERS = 1_000_000
"""Most sampled latents that are held at a time; four times as many take twice the processor time."""


def draw_normals(n_mc_samples: int, n_classes: int, random: np.random.Generator) -> np.ndarray:
    """Return standard normals, (n_mc_samples, K), in pairs of opposite sign, which cancel what is odd in the latents."""
    half = random.standard_normal(((n_mc_samples + 1) // 2, n_classes))
    return np.concatenate([half, -half])[:n_mc_samples]


def sample(means: Array, covariances: Array, normals: Array) -> Array:
    """Return draws of N(mean, cov) for each row, (t, n_mc_samples, K); all rows share the normals."""
    xp = array_namespace(means)
    return means[:, None, :] + xp.matmul(normals[None, :, :], symmetric_roots(covariances))


def expected_shares(means: Array, covariances: Array, normals: Array) -> Array:
    """Return the mean of softmax(f) over f ~ N(mean, cov), (t, K), from means (t, K) and covariances (t, K, K)."""
    xp = array_namespace(means)
    n_mc_samples, n_classes = normals.shape
    block = max(1, MOST_NUMBERS // (n_mc_samples * n_classes))

    def part(start: int) -> Array:
        drawn = sample(means[start : start + block, :], covariances[start : start + block, ...], normals)
        shares = softmax(xp.reshape(drawn, (-1, n_classes)))
        return xp.mean(xp.reshape(shares, (-1, n_mc_samples, n_classes)), axis=1)

    starts = range(0, means.shape[0], block)
    return xp.concat([xp.zeros((0, n_classes), dtype=means.dtype, device=device(means)), *map(part, starts)], axis=0)


def symmetric_roots(covariances: Array) -> Array:
    """Return the symmetric square roots of covariances, (t, K, K), which are continuous in them, as factors are not.

    What rounding left below 0 counts as 0.
    """
    xp = array_namespace(covariances)
    squares, turns = xp.linalg.eigh(covariances)
    roots = xp.sqrt(xp.where(squares > 0, squares, 0.0))
    return (turns * roots[:, None, :]) @ turns.mT
