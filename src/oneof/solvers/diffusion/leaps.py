"""Leaps over many sweeps at once, for rows that sweeps hardly move.

A sweep takes the shares q of the rows with sets to r(q). Where few rows are linked strongly with each other and weakly,
or not at all, with rows that know more, sweeps are slow without end: one of two members wins in all of these rows by a
factor of 1.0001 a sweep; or a share falls as 1/t, the derivative of r being 1 where it rests; or two halves of the rows
take turns, by a derivative of -1. All of them follow dq/dt = r(q) - q, which rests where the sweeps rest, and of which
sweeps are explicit steps of length 1. A leap is a linearly implicit Euler step of length h,

    (1/h - J) d = g,   g = r(q) - q,   J = r'(q) - 1,

for large h a step of Newton's method. That alone would also find what the motion only passes by, such as equal shares
of two members of which one is to win. So in every connected part of the rows that still move a leap is kept only where
it follows the motion: it goes along g; the residual that it predicts, d / h, is not much larger than g, which bounds h
by half the time in which the motion grows by a factor of e; and the residual that a sweep then finds is the predicted
one. Parts where it is not stay where they are and try a shorter leap next time, others a longer one: h grows with the
time that the motion takes, and the number of leaps as its logarithm.

See Hairer & Wanner (1996), Solving ordinary differential equations II, section IV.9 for the step, Kelley & Keyes
(1998), Convergence analysis of pseudo-transient continuation, SIAM J. Numer. Anal. 35, for steps that grow to Newton's.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from oneof.typing import Floats, Ints, Mask

UNKNOWNS = 1000
"""Shares in one leap at most, those of the rows that move most: the factorization costs about as many sweeps as lie
between two leaps."""
FIRST, LONGEST = 30.0, 1e9
"""Lengths: of the first leap, and of one that is Newton's but for rounding."""
LONGER, SHORTER = 4.0, 0.25
"""Factors of the length after a leap that was kept and predicted the residual well, and after one that was not kept."""
GROWTH, BENT = 2.0, 0.5
"""What the predicted residual may be, relative to the residual before, and by how much the one found may differ."""
KEPT = 0.1
"""No share falls below this part of itself in a leap: a share of 0 in all rows of a part would never return."""
SIDE = 1e-3
"""Other rows have those classes in the leap that the last sweep moved by at least this part of what it moved most."""
ROUNDING = 1e-13
"""Parts in which no sweep moves a share by more are at rest: what they do is rounding. So a share that falls as 1/t, by
its square a sweep, is followed to about 3e-7 at least."""
FAINT = 1e-250
"""Rows to which less mass than this flows are left to the sweeps too: their equations might overflow."""


class Sweep(Protocol):
    """What a leap asks of sweeps."""

    sets: Ints
    """Numbers of the rows with sets."""
    total: Floats
    """(len(sets),): what flowed into the sets of these rows, by M's weights, in the last sweep."""

    def __call__(self, shares: Floats) -> Floats:
        """Return the shares of the rows with sets after a sweep."""

    def state(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return all rows in shares of their mass, and how the last sweep moved those without a set, 0 in others."""

    def place(self, shares: Floats) -> None:
        """Let all rows, in shares of their mass, be where the next sweep starts."""


@dataclass(frozen=True)
class _Step:
    """A leap that has been worked out."""

    moves: Floats
    """(m, K): d, in shares of the rows' masses."""
    lengths: Floats
    """(n_parts,): h."""
    part: Ints
    """(m,): the connected part that a row belongs to."""


class Leaps:
    """Leaps of the rows that move, each part of them with a length of its own.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, as in `oneof.solvers.diffusion.sets`.
    mass : ndarray of shape (n, 1)
    mask : ndarray of shape (n, K), bool
        The sets.
    cut : ndarray of shape (n,), bool
        The rows with sets. All others move along at once, by the linear system.
    """

    def __init__(self, matrix: sp.csr_array, mass: Floats, mask: Mask, cut: Mask) -> None:
        links = -matrix
        links.setdiag(0.0)
        self._links, self._own = links, matrix.diagonal()
        self._mass, self._mask, self._cut = mass[:, 0], mask, cut
        self._lengths = np.full(len(mask), FIRST)
        self.left = np.inf
        """How far a share had still to go before the last leap, by its linear step; inf if that was too long."""

    def leap(self, sweep: Sweep, shares: Floats, swept: Floats) -> Floats:
        """Return the shares of the rows with sets after a leap and a sweep, or those swept where it was not kept.

        Parameters
        ----------
        sweep : Sweep
            Which was last called for `shares`.
        shares, swept : ndarrays of shape (n_sets, K)
            Before and after that sweep.
        """
        q, moved = sweep.state(shares)
        g = np.zeros(q.shape)
        g[sweep.sets] = swept - shares
        moved = np.abs(moved)
        free = np.where(self._cut[:, None], self._mask, moved >= SIDE * moved.max(axis=1, keepdims=True))
        scale = self._own * self._mass
        scale[sweep.sets] = sweep.total
        rows = self._moving((moved + np.abs(g)).max(axis=1), scale, free)
        self.left = 0.0
        if not self._cut[rows].any():
            return swept
        step = self._solve(rows, q, g, scale[rows], free[rows])
        new = q.copy()
        new[rows] = np.maximum(q[rows] + step.moves, KEPT * q[rows])
        new[sweep.sets] /= new[sweep.sets].sum(axis=1, keepdims=True)
        sweep.place(new)
        start = new[sweep.sets]
        after = sweep(start)
        found = np.zeros(q.shape)
        found[sweep.sets] = after - start
        kept = np.zeros(len(q), dtype=bool)
        kept[rows] = self._judge(rows, step, g[rows], found[rows])
        return np.where(kept[sweep.sets, None], after, swept)

    def _moving(self, size: Floats, scale: Floats, free: Mask) -> Ints:
        """Return the rows that move, those that move most if these are too many."""
        order = np.argsort(-size, kind="stable")
        order = order[(size[order] > 0) & (scale[order] > FAINT)]
        return np.sort(order[np.cumsum(free[order].sum(axis=1)) <= UNKNOWNS])

    def _solve(self, rows: Ints, q: Floats, g: Floats, scale: Floats, mask: Mask) -> _Step:
        """Solve (1/h - J) d = g in some rows, the others at rest.

        What flows into a row with a set changes by sum_j c_ij d_j, c_ij = n_ij m_j / (what flows into its set); of
        this its share of it is lost, as r_i sums to 1. Other rows are always at their limit: no 1/h, and nothing lost.
        """
        cut = self._cut[rows]
        c = sp.coo_array(self._links[rows][:, rows])
        n_parts, part = connected_components(c, directed=False)
        # A part has the length of that of its rows with sets that moves most, by which it is judged.
        order = np.argsort(np.abs(g[rows]).max(axis=1), kind="stable")
        order = order[cut[order]]
        lengths = np.full(n_parts, LONGEST)
        lengths[part[order]] = self._lengths[rows[order]]

        row, column = np.nonzero(mask)
        number = np.zeros(mask.shape, dtype=np.intp)
        number[row, column] = np.arange(len(row))
        weights = c.data / scale[c.row] * self._mass[rows[c.col]]
        link, k = np.nonzero(mask[c.row] & mask[c.col])
        ends = number[c.row[link], k], number[c.col[link], k]
        flow = sp.csr_array((weights[link], ends), shape=(len(row), len(row)))
        into = sp.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(rows), len(row)))
        r = np.where(cut[row], (q + g)[rows][row, column], 0.0)
        lost = sp.csr_array((r, (np.arange(len(row)), row)), shape=(len(row), len(rows)))
        own = 1.0 + np.where(cut, 1.0 / lengths[part], 0.0)
        system = sp.csc_array(sp.diags_array(own[row]) - flow + lost @ (into @ flow))
        moves = np.zeros(mask.shape)
        try:
            moves[row, column] = splu(system).solve(g[rows][row, column])
        except RuntimeError:  # exactly singular: h is where the motion grows without bound
            moves[:] = np.nan
        return _Step(moves if np.isfinite(moves).all() else np.zeros(mask.shape), lengths, part)

    def _judge(self, rows: Ints, step: _Step, g: Floats, found: Floats) -> Mask:
        """Return which rows with sets are in parts where the leap followed the motion, and choose the next lengths."""
        cut, n_parts = self._cut[rows], len(step.lengths)

        def sums(x: Floats) -> Floats:
            total: Floats = np.zeros(n_parts)
            np.add.at(total, step.part[cut], x[cut].sum(axis=1))
            return total

        square, predicted = sums(g**2), step.moves / step.lengths[step.part, None]
        ratio = np.divide(sums(predicted**2), square, out=np.zeros(n_parts), where=square > 0)
        bent = np.divide(sums((found - predicted) ** 2), square, out=np.zeros(n_parts), where=square > 0)
        kept = (sums(step.moves * g) > 0) & (ratio <= GROWTH**2) & (bent <= BENT**2)
        factor = np.where(kept, np.where(bent <= BENT**2 / 4, LONGER, 1.0), SHORTER)
        self._lengths[rows] = np.clip(step.lengths * factor, 1.0, LONGEST)[step.part]

        # A leap leaves of a linear motion the part that it leaves of the residual.
        far, size = np.zeros(n_parts), np.zeros(n_parts)
        np.maximum.at(far, step.part[cut], np.abs(step.moves[cut]).max(axis=1))
        np.maximum.at(size, step.part[cut], np.abs(g[cut]).max(axis=1))
        rest = 1.0 - np.sqrt(ratio)
        left = np.where(kept & (rest > 0), far / np.where(rest > 0, rest, 1.0), np.inf)
        left[~kept & (step.lengths <= 1.0)] = 0.0  # sweeps get as far there, and know how far they have to go
        self.left = float(left[size > ROUNDING].max(initial=0.0))
        return kept[step.part] & cut
