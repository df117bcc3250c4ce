"""Error-correcting output codes for candidate sets (Zhang, Yu & Tang 2017): codings of the classes, and their decoding.

A coding assigns each class to one of two sides, -1 and +1. It uses the rows whose full set is on one side; for these
rows the side is an exact label, for any number of candidates. Codings are the columns of a code book M, (K, L). A
coding and its negative are equivalent, so that the first class is always on the side +1.
"""

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import Floats, Ints, Mask

MAX_TRIES = 500
"""Maximum number of draws for each requested coding."""
MAX_BATCH = 1_000_000
"""Maximum number of sets times codings evaluated at once."""
MAX_MARGIN = 500.0
"""Larger margins are clipped, so that their exponentials are finite."""


def code_targets(mask: Mask, codes: Ints) -> Ints:
    """Return the side of each row in each coding, (n, L): -1 or +1 if the full set is on this side, else 0."""
    size = np.count_nonzero(mask, axis=1)[:, None]
    total = sp.csr_array(mask.astype(np.int64)) @ codes
    return (total == size).astype(np.int64) - (total == -size)


def draw_codings(mask: Mask, code_length: int, min_fraction: float, rng: np.random.Generator) -> Ints:
    """Draw random codings and select those with enough rows.

    Parameters
    ----------
    mask : ndarray of shape (n, K), bool
        Sets of the labeled rows.
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
    n, n_classes = mask.shape
    min_rows = max(1, np.ceil(min_fraction * n - 1e-9))  # 0.1 * 70 exceeds 7 by rounding
    sets, counts = _distinct(mask)
    batch = int(np.clip(MAX_BATCH // len(sets), 1, 1000))
    two_sided: list[Ints] = []
    one_sided: list[Ints] = []
    max_rows = n_selected = n_drawn = 0
    while n_selected < code_length and n_drawn < MAX_TRIES * code_length:
        draws = rng.choice([-1, 1], size=(n_classes, batch))
        draws *= draws[0]
        n_drawn += batch
        targets = code_targets(sets, draws)
        positive, negative = counts @ (targets > 0), counts @ (targets < 0)
        n_rows = positive + negative
        both = (positive > 0) & (negative > 0)
        separates = (draws < 0).any(axis=0)
        two_sided.append(draws[:, both & (n_rows >= min_rows)])
        n_selected += two_sided[-1].shape[1]
        max_rows = max(max_rows, int(n_rows[both].max(initial=0)))
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
            f"min_fraction={min_fraction:g} of the {n} labeled rows. Lower min_fraction"
            + (f" (the best coding uses {max_rows / n:.2g})." if max_rows else ".")
        )
    return codes


def _distinct(mask: Mask) -> tuple[Mask, Ints]:
    """Return the distinct sets and their counts."""
    packed, counts = np.unique(np.packbits(mask, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=mask.shape[1]).astype(bool), counts


def fit_code_weights(margins: Floats, mask: Mask, codes: Ints) -> Floats:
    """Return the weight of each coding's classifier for each class, (K, L); rows sum to 1.

    H_kl is the fraction of the rows with k in their set for which the sign of h_l is M_kl. The rows of H are then
    normalized, and a row of zeros becomes uniform.

    Parameters
    ----------
    margins : ndarray of shape (n, L)
        h: positive on the side +1.
    mask : ndarray of shape (n, K), bool
        Sets of the labeled rows.
    codes : ndarray of shape (K, L)
    """
    membership = sp.csr_array(mask.T.astype(np.float64))
    hits = membership @ (margins > 0).astype(np.float64)
    hits = np.where(codes > 0, hits, mask.sum(axis=0)[:, None] - hits)
    total = hits.sum(axis=1, keepdims=True)
    return np.where(total > 0, hits / np.where(total > 0, total, 1.0), 1.0 / codes.shape[1])


def decode(margins: Floats, codes: Ints, code_weights: Floats) -> Floats:
    """Return sum_l H_kl exp(-h_l M_kl), (n, K): the loss of each class; the class with the smallest is predicted."""
    h = np.clip(margins, -MAX_MARGIN, MAX_MARGIN)
    return np.exp(-h) @ (code_weights * (codes > 0)).T + np.exp(h) @ (code_weights * (codes < 0)).T
