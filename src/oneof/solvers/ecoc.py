"""Error-correcting output codes for candidate sets (Zhang, Yu & Tang 2017): codings of the classes, and their decoding.

A coding puts each class on one of two sides, -1 and +1. It takes the rows whose whole set lies on one side, for which
the side is an exact label, however many candidates there are. Codings are columns of a code book M, (K, L); a coding
and its negative are one, so that the first class is always on the side +1.
"""

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import Floats, Ints, Mask

TRIES = 500
"""Draws for each coding that is wanted, at most."""
LARGEST_BATCH = 1_000_000
"""Most sets times codings that are looked at in one go."""
LARGEST_MARGIN = 500.0
"""Margins beyond count as this one, so that their exponentials are numbers."""


def row_sides(mask: Mask, codes: Ints) -> Ints:
    """Return the side of each row in each coding, (n, L): -1 or +1 where the whole set lies there, else 0."""
    size = np.count_nonzero(mask, axis=1)[:, None]
    total = sp.csr_array(mask.astype(np.int64)) @ codes
    return (total == size).astype(np.int64) - (total == -size)


def draw_codings(mask: Mask, code_length: int, min_fraction: float, random: np.random.Generator) -> Ints:
    """Draw codings by chance and keep those with enough rows.

    Parameters
    ----------
    mask : ndarray of shape (n, K), bool
        Rows that are not full.
    code_length : int
        L, >= 1. A coding may come several times.
    min_fraction : float
        Least share of the rows that a coding takes, in (0, 1]; they have to lie on both sides. Only where no draw has
        rows on both sides at all, and a class that is in every set explains that, are codings kept that have them on
        one.
    random : Generator

    Returns
    -------
    ndarray of shape (K, L)
        -1 and +1.

    Raises
    ------
    InputError
        If there are not enough codings among the draws.
    """
    n, n_classes = mask.shape
    min_rows = max(1, np.ceil(min_fraction * n - 1e-9))  # 0.1 * 70 is above 7 by rounding
    sets, counts = _distinct(mask)
    batch = int(np.clip(LARGEST_BATCH // len(sets), 1, 1000))
    on_both: list[Ints] = []
    on_one: list[Ints] = []
    most_rows = n_found = n_drawn = 0
    while n_found < code_length and n_drawn < TRIES * code_length:
        draws = random.choice([-1, 1], size=(n_classes, batch))
        draws *= draws[0]
        n_drawn += batch
        sides = row_sides(sets, draws)
        positive, negative = counts @ (sides > 0), counts @ (sides < 0)
        n_rows = positive + negative
        both = (positive > 0) & (negative > 0)
        parted = (draws < 0).any(axis=0)
        on_both.append(draws[:, both & (n_rows >= min_rows)])
        n_found += on_both[-1].shape[1]
        most_rows = max(most_rows, int(n_rows[both].max(initial=0)))
        if not most_rows and sum(part.shape[1] for part in on_one) < code_length:
            on_one.append(draws[:, ~both & parted & (n_rows >= min_rows)][:, :code_length])
    if not most_rows and not sets.all(axis=0).any():
        raise InputError(
            "no coding parts the sets: every one leaves rows on one side alone, as where each set holds nearly all "
            "classes; choose another method, such as PLEM."
        )
    codes = np.hstack(on_both if most_rows else on_one)[:, :code_length]
    if codes.shape[1] < code_length:
        raise InputError(
            f"of {n_drawn} random codings only {codes.shape[1]} have min_fraction={min_fraction:g} of the {n} labeled rows "
            f"with their whole set on one side or the other, and {code_length} are needed: lower min_fraction"
            + (f" (the best had {most_rows / n:.2g})." if most_rows else ".")
        )
    return codes


def _distinct(mask: Mask) -> tuple[Mask, Ints]:
    """Return the sets that occur, and how often each does."""
    packed, counts = np.unique(np.packbits(mask, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=mask.shape[1]).astype(bool), counts


def code_performance(margins: Floats, mask: Mask, codes: Ints) -> Floats:
    """Return how well each coding's classifier keeps to the code of each class, (K, L); rows sum to 1.

    H_kl is the share of the rows with k in their set on which the sign of h_l is M_kl; then rows of H are normalized,
    and a row without any is uniform.

    Parameters
    ----------
    margins : ndarray of shape (n, L)
        h: positive on the side +1.
    mask : ndarray of shape (n, K), bool
        Rows that are not full.
    codes : ndarray of shape (K, L)
    """
    held = sp.csr_array(mask.T.astype(np.float64))
    hits = held @ (margins > 0).astype(np.float64)
    hits = np.where(codes > 0, hits, mask.sum(axis=0)[:, None] - hits)
    total = hits.sum(axis=1, keepdims=True)
    return np.where(total > 0, hits / np.where(total > 0, total, 1.0), 1.0 / codes.shape[1])


def decode(margins: Floats, codes: Ints, performance: Floats) -> Floats:
    """Return sum_l H_kl exp(-h_l M_kl), (n, K): the loss of each class, of which the least is predicted."""
    h = np.clip(margins, -LARGEST_MARGIN, LARGEST_MARGIN)
    return np.exp(-h) @ (performance * (codes > 0)).T + np.exp(h) @ (performance * (codes < 0)).T
