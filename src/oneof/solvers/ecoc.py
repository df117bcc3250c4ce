"""Error-correcting output codes for candidate sets (Zhang, Yu & Tang 2017): codings of the classes, and their decoding.

A coding assigns each class to one of two sides, -1 and +1. It uses the rows whose full set is on one side; for these
rows the side is an exact label, for any number of candidates. Codings are the columns of a code book M, (K, L). A
coding and its negative are equivalent, so that the first class is always on the side +1.

A row with weights counts as its level sets, each with its mass as a sample weight. The level sets are nested, so that
those on one side of a coding are all on the side of the best class, and their total mass is the difference between the
largest weights of the two sides. A class is in level sets of a total mass of its weight less the smallest weight of the
row, since a set of all classes is not used.
"""

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.typing import Evidence, Floats, Ints, Mask

MAX_TRIES = 500
"""Maximum number of draws for each requested coding."""
MAX_BATCH = 1_000_000
"""Maximum number of sets times codings evaluated at once."""
MAX_MARGIN = 500.0
"""Larger margins are clipped, so that their exponentials are finite."""
MIN_MASS = 1e-9
"""Level sets of a row with a smaller total mass on one side of a coding are not used by the coding. The binary problems
are solved to a larger tolerance, but the number of their rows would change."""


def code_targets(evidence: Evidence, codes: Ints) -> Ints | Floats:
    """Return the side of each row in each coding, (n, L): -1 or +1 if the full set is on this side, else 0.

    With weights, the side is multiplied by the total mass of the level sets on this side.
    """
    if evidence.dtype != bool:
        targets = np.empty((len(evidence), codes.shape[1]))
        _side_masses(evidence, _by_weight(evidence), codes, targets)
        return targets
    size = np.count_nonzero(evidence, axis=1)[:, None]
    total = sp.csr_array(evidence.astype(np.int64)) @ codes
    return (total == size).astype(np.int64) - (total == -size)


@compiled
def _side_mass(weights: Floats, order: Ints, codes: Ints, i: int, j: int) -> float:
    n_classes = weights.shape[1]
    side, p = codes[order[i, 0], j], 1
    while p < n_classes and codes[order[i, p], j] == side:
        p += 1
    # If all classes are on one side, so are all level sets, but for the set of all classes.
    mass = 1.0 - weights[i, order[i, min(p, n_classes - 1)]]
    return side * mass if mass >= MIN_MASS else 0.0


@compiled
def _side_masses(weights: Floats, order: Ints, codes: Ints, targets: Floats) -> None:
    for i in range(weights.shape[0]):
        for j in range(codes.shape[1]):
            targets[i, j] = _side_mass(weights, order, codes, i, j)


@compiled
def _sum_masses(weights: Floats, order: Ints, codes: Ints, positive: Floats, negative: Floats) -> None:
    for i in range(weights.shape[0]):
        for j in range(codes.shape[1]):
            target = _side_mass(weights, order, codes, i, j)
            if target > 0.0:
                positive[j] += target
            else:
                negative[j] -= target


def draw_codings(evidence: Evidence, code_length: int, min_fraction: float, rng: np.random.Generator) -> Ints:
    """Draw random codings and select those with enough rows.

    Parameters
    ----------
    evidence : ndarray of shape (n, K), bool or float64
        Sets or weights of the labeled rows. Rows with weights are counted by their masses.
    code_length : int
        L, >= 1. A coding may occur several times.
    min_fraction : float
        Minimum fraction of the rows that a coding uses, in (0, 1], with rows on both sides. If no draw has rows on both
        sides because one class is in every set, codings with rows on one side are selected.
    rng : Generator

    Returns
    -------
    ndarray of shape (K, L)
        -1 and +1.

    Raises
    ------
    InputError
        If too few of the draws can be selected.
    """
    n_classes = evidence.shape[1]
    n = float((1.0 - evidence.min(axis=1)).sum())  # the masses of all level sets
    min_rows = min_fraction * n - 1e-9  # 0.1 * 70 exceeds 7 by rounding
    sets, counts = _distinct(evidence == 1)
    order = None if evidence.dtype == bool else _by_weight(evidence)
    batch = int(np.clip(MAX_BATCH // len(sets), 1, 1000))
    two_sided: list[Ints] = []
    one_sided: list[Ints] = []
    max_rows, n_selected, n_drawn = 0.0, 0, 0
    while n_selected < code_length and n_drawn < MAX_TRIES * code_length:
        draws = rng.choice([-1, 1], size=(n_classes, batch))
        draws *= draws[0]
        n_drawn += batch
        if order is None:
            targets = code_targets(sets, draws)
            totals = np.stack([counts @ (targets > 0), counts @ (targets < 0)]).astype(np.float64)
        else:
            totals = np.zeros((2, batch))
            _sum_masses(evidence, order, draws, *totals)
        positive, negative = totals
        n_rows = positive + negative
        both = (positive > 0) & (negative > 0)
        separates = (draws < 0).any(axis=0) & (n_rows > 0)
        two_sided.append(draws[:, both & (n_rows >= min_rows)])
        n_selected += two_sided[-1].shape[1]
        max_rows = max(max_rows, float(n_rows[both].max(initial=0)))
        if not max_rows and sum(codes.shape[1] for codes in one_sided) < code_length:
            one_sided.append(draws[:, ~both & separates & (n_rows >= min_rows)][:, :code_length])
    if not max_rows and not sets.all(axis=0).any():
        raise InputError(
            "no coding separates the sets: every coding has rows on only one side, as when each set has nearly all "
            "classes. Use another method, such as PLEM."
        )
    codes = np.hstack(two_sided if max_rows else one_sided)[:, :code_length]
    if codes.shape[1] < code_length:
        raise InputError(
            f"{code_length} codings are required, but only {codes.shape[1]} of {n_drawn} random codings use at least "
            f"min_fraction={min_fraction:g} of the {n:.10g} labeled rows. Lower min_fraction"
            + (f" (the best coding uses {max_rows / n:.2g})." if max_rows else ".")
        )
    return codes


def _by_weight(weights: Floats) -> Ints:
    """Return the classes of each row by decreasing weight, (n, K)."""
    return np.argsort(-weights, axis=1, kind="stable")


def _distinct(mask: Mask) -> tuple[Mask, Ints]:
    """Return the distinct sets and their counts."""
    packed, counts = np.unique(np.packbits(mask, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=mask.shape[1]).astype(bool), counts


def fit_code_weights(margins: Floats, evidence: Evidence, codes: Ints) -> Floats:
    """Return the weight of each coding's classifier for each class, (K, L); rows sum to 1.

    H_kl is the fraction of the rows with k in their set for which the sign of h_l is M_kl. The rows of H are then
    normalized, and a row of zeros becomes uniform. With weights, a row counts with the mass of its level sets that have
    k.

    Parameters
    ----------
    margins : ndarray of shape (n, L)
        h: positive on the side +1.
    evidence : ndarray of shape (n, K), bool or float64
        Sets or weights of the labeled rows.
    codes : ndarray of shape (K, L)
    """
    mass = evidence - evidence.min(axis=1, keepdims=True).astype(np.float64)
    hits = sp.csr_array(mass.T) @ (margins > 0).astype(np.float64)
    hits = np.where(codes > 0, hits, mass.sum(axis=0)[:, None] - hits)
    total = hits.sum(axis=1, keepdims=True)
    return np.where(total > 0, hits / np.where(total > 0, total, 1.0), 1.0 / codes.shape[1])


def decode(margins: Floats, codes: Ints, code_weights: Floats) -> Floats:
    """Return sum_l H_kl exp(-h_l M_kl), (n, K): the loss of each class; the class with the smallest is predicted."""
    h = np.clip(margins, -MAX_MARGIN, MAX_MARGIN)
    return np.exp(-h) @ (code_weights * (codes > 0)).T + np.exp(h) @ (code_weights * (codes < 0)).T
