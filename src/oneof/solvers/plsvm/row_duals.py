"""Exact maximization of the dual over the variables of one row: of its set, or of a block of its level sets.

Level sets S_1 < S_2 < ... < S_m of a row with the same chosen candidate z are a block. Only the sums alpha_k of their
dual variables affect W. Since a class outside S_j is also outside the smaller sets, sums are feasible if and only if

    alpha >= 0,  alpha_k = 0 for k in S_1,  sum_{k in N_j} alpha_k <= m_1 + ... + m_j for each j,

where m_j are the masses, N_j contains the classes outside S_1 that are in S_{j+1}, and N_m all classes outside S_1. A
block is thus one set with nested bounds. The separate variables of its sets are redundant, which makes ascent slow.

The functions take the arrays of all level sets, of which those of a block are first, ..., end - 1.
"""

import numpy as np

from oneof.jit import compiled
from oneof.typing import Floats, Ints, Mask

_MAX_SUM = 1.0 - 1e-12


@compiled
def row_duals(gains: Floats, c: float, mass: float, alphas: Floats) -> float:
    """Maximize sum_k alpha_k gain_k - c/2 (tau^2 + sum_k alpha_k^2) over alpha >= 0, tau = sum_k alpha_k <= mass.

    The solution is alpha_k = max(0, gain_k - theta) / c, with theta = c tau if tau < mass. Classes are added in
    decreasing order of their gains, until the next gain is below theta.
    """
    n_classes = gains.shape[0]
    total, size, theta = 0.0, 0, 0.0
    for k in range(n_classes):
        alphas[k] = gains[k]
    while size < n_classes:
        best = 0
        for k in range(1, n_classes):
            if alphas[k] > alphas[best]:
                best = k
        if alphas[best] <= theta:
            break
        total += alphas[best]
        size += 1
        alphas[best] = -np.inf
        theta = max(total / (1.0 + size), (total - c * mass) / size)
    capped = size > 0 and (total - c * mass) / size >= total / (1.0 + size)
    tau = 0.0
    for k in range(n_classes):
        alphas[k] = max(0.0, (gains[k] - theta) / c) if size > 0 else 0.0
        tau += alphas[k]
    if capped and size == 1:  # exactly, so that a row at its bound does not change by rounding
        for k in range(n_classes):
            alphas[k] = mass if alphas[k] > 0.0 else 0.0
        return mass
    return tau


@compiled
def block_end(chosen: Ints, first: int, stop: int) -> int:
    """Return the end of the block that begins at a level set, of those before `stop`."""
    end = first + 1
    while end < stop and chosen[end] == chosen[first]:
        end += 1
    return end


@compiled
def block_duals(gains: Floats, c: float, mask: Mask, mass: Floats, first: int, end: int, alphas: Floats) -> None:
    """Maximize sum_k alpha_k gain_k - c/2 (tau^2 + sum_k alpha_k^2) over the feasible alphas of a block.

    The solution is alpha_k = max(0, gain_k - theta_k) / c. From the innermost bound to the outermost one, theta is the
    smallest number with which the bound holds, unless theta_k is already larger. For the outermost bound it is at least
    c tau.
    """
    row_duals(gains, c, mass[first:end].sum(), alphas)
    if _is_feasible(alphas, mask, mass, first, end):
        return
    n_classes = gains.shape[0]
    thetas = np.zeros(n_classes)
    bound = 0.0
    for j in range(first, end):
        bound += mass[j]
        theta = _smallest_theta(gains, thetas, c * bound, mask, j, end)
        for k in range(n_classes):
            if j == end - 1 or mask[j + 1, k]:
                thetas[k] = max(thetas[k], theta)
    for k in range(n_classes):
        alphas[k] = max(0.0, gains[k] - thetas[k]) / c


@compiled
def _is_feasible(alphas: Floats, mask: Mask, mass: Floats, first: int, end: int) -> bool:
    bound = 0.0
    for j in range(first, end - 1):
        bound += mass[j]
        total = 0.0
        for k in range(alphas.shape[0]):
            total += alphas[k] if mask[j + 1, k] else 0.0
        if total > bound:
            return False
    return True


@compiled
def _smallest_theta(gains: Floats, thetas: Floats, bound: float, mask: Mask, j: int, end: int) -> float:
    """Return the theta >= 0 with sum_k max(0, gain_k - max(theta, theta_k)) = bound, or 0, over the classes of N_j.

    For the last set the right-hand side is min(bound, theta). The difference of the sides decreases with theta, and is
    piecewise linear: Newton's method, with bisection where it leaves the bracket.
    """
    is_last = j == end - 1
    low, high, theta = 0.0, max(0.0, gains.max()), 0.0
    rounding = 1e-15 * (bound + high)
    for _ in range(200):
        excess, slope = -bound, 0.0
        if is_last and theta < bound:
            excess, slope = -theta, 1.0
        for k in range(gains.shape[0]):
            if gains[k] > max(theta, thetas[k]) and (is_last or mask[j + 1, k]):
                excess += gains[k] - max(theta, thetas[k])
                slope += thetas[k] <= theta
        if abs(excess) <= rounding or (theta == 0.0 and excess < 0.0):
            break
        if excess > 0.0:
            low = theta
        else:
            high = theta
        theta = theta + excess / slope if slope > 0.0 else high
        if not low < theta < high:
            theta = 0.5 * (low + high)
    return theta


@compiled
def clip_to_bounds(alphas: Floats, mask: Mask, mass: Floats, first: int, end: int) -> None:
    """Make the alphas of a block feasible, in place: 0 instead of negative ones, and scaled for each bound."""
    bound = 0.0
    for k in range(alphas.shape[0]):
        alphas[k] = 0.0 if mask[first, k] else max(0.0, alphas[k])
    for j in range(first, end):
        bound += mass[j]
        total = 0.0
        for k in range(alphas.shape[0]):
            total += alphas[k] if j == end - 1 or mask[j + 1, k] else 0.0
        if total > bound:
            for k in range(alphas.shape[0]):
                alphas[k] *= bound / total if j == end - 1 or mask[j + 1, k] else 1.0


@compiled
def number_faces(alphas: Floats, mask: Mask, mass: Floats, first: int, end: int, numbers: Ints) -> int:
    """Write the face of each variable of a block; return the number of degrees of freedom.

    It is 0 for a variable at the bound 0, 1 for one without an active bound on its sums, and j + 2 for those of which
    the j-th bound is the innermost active one, so that their sum is constant.
    """
    n_free = bound = 0.0
    for k in range(alphas.shape[0]):
        numbers[k] = alphas[k] > 0.0
        n_free += numbers[k]
    for j in range(first, end):
        bound += mass[j]
        total = 0.0
        for k in range(alphas.shape[0]):
            total += alphas[k] if j == end - 1 or mask[j + 1, k] else 0.0
        if total >= _MAX_SUM * bound:
            is_new = False
            for k in range(alphas.shape[0]):
                if numbers[k] == 1 and (j == end - 1 or mask[j + 1, k]):
                    numbers[k] = j - first + 2
                    is_new = True
            n_free -= is_new
    return int(n_free)


@compiled
def split_block(
    alphas: Floats, mask: Mask, mass: Floats, chosen: Ints, first: int, end: int, coefficients: Floats
) -> None:
    """Write feasible coefficients of the level sets of a block whose dual variables have the sums `alphas`."""
    z = chosen[first]
    room = mass[first:end].copy()
    coefficients[first:end] = 0.0
    for j in range(first, end):
        for k in range(alphas.shape[0]):
            if alphas[k] > 0.0 and not mask[j, k] and (j == end - 1 or mask[j + 1, k]):
                rest, p = alphas[k], j
                while rest > 0.0 and p >= first:
                    part = rest if p == first else min(rest, room[p - first])
                    coefficients[p, k] -= part
                    coefficients[p, z] += part
                    room[p - first] -= part
                    rest -= part
                    p -= 1
