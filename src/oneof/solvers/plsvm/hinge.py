"""The max prediction hinge, smoothed at a temperature T.

Replacing both maxima and the hinge of a row by T log sum exp(./T) gives

    T log( sum_{k in S} exp(s_k / T) + sum_{k not in S} exp((1 + s_k) / T) ) - T log sum_{k in S} exp(s_k / T),

which is -T times the log-likelihood of the set under a softmax that favors the classes outside by the margin 1. It
tends to the hinge as T -> 0, and its slopes are dual variables of the hinge: tau q_k inside, with a minus, and alpha_k
outside, where sum_k q_k = 1 and tau = sum_k alpha_k < 1.
"""

import numpy as np

from oneof.solvers.jit import compiled
from oneof.typing import Floats, Mask

# exp(-80) is 0 beside 1, but no subnormal number, with which processors are slow.
_LEAST = np.float32(-80.0)
# Loops run along the rows, class by class, so that they vectorize for any number of classes; and in parts that stay in
# the cache.
_PART = 256


class SmoothedHinge:
    """Mean loss of n rows, hard or smoothed, and its slopes by the scores.

    Parameters
    ----------
    mask : ndarray of shape (n, K), bool
        No row full.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = np.ascontiguousarray(mask.T)
        self._powers = np.empty(self._mask.shape, dtype=np.float32)

    def __call__(self, scores: Floats, temperature: float, slopes: Floats) -> tuple[float, float]:
        """Return the means of the smoothed hinge and of the hinge itself, and write the slopes of the former.

        Parameters
        ----------
        scores : ndarray of shape (n, K), float32, in Fortran order
        temperature : float
            T, above 0.
        slopes : ndarray of shape (n, K), float32, in Fortran order
            Written: the derivatives of the rows' losses by the scores.

        Returns
        -------
        smoothed, hinge : float
        """
        powers, n = self._powers, len(scores)
        losses, inside, outside = np.empty((3, n), dtype=np.float32)
        _exponents(scores.T, self._mask, np.float32(1.0 / temperature), powers, losses)
        np.exp(powers, out=powers)  # vectorized, which exp in a compiled loop is not
        _sums(powers, self._mask, inside, outside)
        odds = losses / np.float32(temperature) + np.log(outside / inside)
        small = np.exp(-np.abs(odds))
        taus = np.where(odds > 0, np.float32(1.0), small) / (1.0 + small)
        _shares(powers, self._mask, -taus / inside, taus / outside, slopes.T)
        smoothed = np.maximum(odds, 0.0) + np.log1p(small)
        return temperature * float(smoothed.mean(dtype=np.float64)), float(
            np.maximum(losses, 0.0).mean(dtype=np.float64)
        )


@compiled
def _exponents(scores: Floats, mask: Mask, inverse: float, powers: Floats, losses: Floats) -> None:
    """Write (s_k - the largest of its side) / T, (K, n), and 1 - margin, (n,)."""
    n_classes, n = scores.shape
    lowest = scores.dtype.type(-np.inf)
    best_in, best_out = np.empty(_PART, dtype=scores.dtype), np.empty(_PART, dtype=scores.dtype)
    for start in range(0, n, _PART):
        size = min(_PART, n - start)
        best_in[:], best_out[:] = lowest, lowest
        for k in range(n_classes):
            s, member = scores[k, start : start + size], mask[k, start : start + size]
            for i in range(size):
                best_in[i] = max(best_in[i], s[i] if member[i] else lowest)
                best_out[i] = max(best_out[i], lowest if member[i] else s[i])
        for i in range(size):
            losses[start + i] = 1 - best_in[i] + best_out[i]
        for k in range(n_classes):
            s, member = scores[k, start : start + size], mask[k, start : start + size]
            power = powers[k, start : start + size]
            for i in range(size):
                power[i] = max((s[i] - (best_in[i] if member[i] else best_out[i])) * inverse, _LEAST)


@compiled
def _sums(powers: Floats, mask: Mask, inside: Floats, outside: Floats) -> None:
    """Write the sums of the powers over each row's set and over the other classes."""
    n_classes, n = powers.shape
    zero = powers.dtype.type(0)
    for start in range(0, n, _PART):
        stop = min(start + _PART, n)
        into, out = inside[start:stop], outside[start:stop]
        into[:], out[:] = zero, zero
        for k in range(n_classes):
            power, member = powers[k, start:stop], mask[k, start:stop]
            for i in range(stop - start):
                into[i] += power[i] if member[i] else zero
                out[i] += zero if member[i] else power[i]


@compiled
def _shares(powers: Floats, mask: Mask, per_inside: Floats, per_outside: Floats, slopes: Floats) -> None:
    """Write the powers, (K, n), each times the factor of its row and side."""
    n_classes, n = powers.shape
    for k in range(n_classes):
        for i in range(n):
            slopes[k, i] = powers[k, i] * (per_inside[i] if mask[k, i] else per_outside[i])
