"""Pseudo-transient continuation: steps that replace many sweeps, for rows that converge slowly.

A sweep maps the distributions q of the constrained rows to r(q). If few rows are connected strongly with each other
and weakly, or not at all, with labeled rows, sweeps can be arbitrarily slow:

* the ratio of two candidates changes in all of these rows by a factor of 1.0001 per sweep;
* a probability decreases as 1/t, because the derivative of r is 1 at the fixed point;
* two halves of the rows oscillate, because of a derivative of -1.

All of them follow dq/dt = r(q) - q, whose fixed points are those of the sweeps. Sweeps are explicit steps of length 1
of this flow. An accelerated step is a linearly implicit Euler step of length h,

    (1/h - J) d = g,   g = r(q) - q,   J = r'(q) - 1,

for large h a step of Newton's method. Newton's method alone would also converge to unstable fixed points, from which
the flow departs, such as equal probabilities of two candidates. A step is therefore accepted, separately in every
connected component of the moving rows, only if it follows the flow:

* its scalar product with g is positive;
* the residual that it predicts, d / h, is not much larger than g, which bounds h by half the time in which the flow
  grows by a factor of e;
* the residual of the next sweep agrees with the predicted one.

Components in which the step is rejected do not change, and their next step is shorter. In all others the next step is
longer. So h grows with the time scale of the flow, and the number of steps grows with the logarithm of this scale.

The step is described by Hairer & Wanner (1996), Solving ordinary differential equations II, section IV.9. Step lengths
that grow until the step is Newton's are analyzed by Kelley & Keyes (1998), Convergence analysis of pseudo-transient
continuation, SIAM J. Numer. Anal. 35.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from oneof.likelihoods import is_mask, support
from oneof.typing import Evidence, Floats, Ints, Mask

MAX_UNKNOWNS = 1000
"""Maximum number of unknowns in one step, those of the rows that move most: the factorization takes about as long as
the sweeps between two steps."""
INITIAL_LENGTH, MAX_LENGTH = 30.0, 1e9
"""Length of the first step, and length at which a step is Newton's up to rounding."""
LENGTH_GROWTH, LENGTH_SHRINK = 4.0, 0.25
"""Factors of the length after an accepted step that predicted the residual well, and after a rejected step."""
MAX_RESIDUAL_GROWTH, MAX_MODEL_ERROR = 2.0, 0.5
"""Bounds of the predicted residual, and of its difference from the actual one, relative to the residual before."""
MIN_RETAINED = 0.1
"""Smallest factor by which a step may reduce a probability: 0 in all rows of a component would never increase again."""
ACTIVE_TOL = 1e-3
"""Unknowns of an unconstrained row: the classes whose last change was at least this fraction of its largest one."""
RESIDUAL_TOL = 1e-13
"""Components with smaller changes per sweep count as converged: the rest is rounding. A probability that decreases as
1/t changes by its square per sweep, and is therefore followed down to about 3e-7 at least."""
MIN_MASS = 1e-250
"""Rows with a smaller inflow of mass take no accelerated steps: their equations might overflow."""


class Sweep(Protocol):
    """Sweep of the constrained rows, with access to the state of all rows."""

    sets: Ints
    """Indices of the constrained rows."""
    inflow: Floats
    """(len(sets),): inflow into the sets of these rows, by the weights of M and of the classes, in the last sweep."""

    def __call__(self, proba: Floats) -> Floats:
        """Return the distributions of the constrained rows after a sweep."""

    def state(self, proba: Floats) -> tuple[Floats, Floats]:
        """Return all rows divided by their mass, and the last change of the unconstrained rows, 0 in others."""

    def set_state(self, q: Floats) -> None:
        """Start the next sweep from these rows, given divided by their mass."""


@dataclass(frozen=True)
class _ImplicitStep:
    """A computed step, not yet accepted or rejected."""

    direction: Floats
    """(m, K): d, in units of the masses of the rows."""
    lengths: Floats
    """(n_components,): h."""
    component: Ints
    """(m,): connected component of each row."""


class PseudoTransientContinuation:
    """Accelerated steps of the moving rows, with a separate length for each connected component.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, as in `oneof.solvers.diffusion.constrained`.
    mass : ndarray of shape (n, 1)
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes.
    constrained : ndarray of shape (n,), bool
        The constrained rows. All other rows result from the linear system.
    """

    def __init__(self, matrix: sp.csr_array, mass: Floats, evidence: Evidence, constrained: Mask) -> None:
        off_diagonal = -matrix
        off_diagonal.setdiag(0.0)
        self._weights, self._diagonal = off_diagonal, matrix.diagonal()
        self._mass, self._mask, self._constrained = mass[:, 0], support(evidence), constrained
        self._class_weights = None if is_mask(evidence) else np.where(constrained[:, None], evidence, 1.0)
        self._lengths = np.full(len(evidence), INITIAL_LENGTH)
        self.remaining = np.inf
        """Estimated remaining change of a probability before the last step, by its linear model; inf if the step was
        too long."""

    def step(self, sweep: Sweep, proba: Floats, after_sweep: Floats) -> Floats:
        """Return the distributions of the constrained rows after a step and a sweep.

        Components in which the step is rejected keep `after_sweep`.

        Parameters
        ----------
        sweep : Sweep
            Its last call was with `proba`.
        proba, after_sweep : ndarrays of shape (n_sets, K)
            Before and after that sweep.
        """
        q, change = sweep.state(proba)
        g = np.zeros(q.shape)
        g[sweep.sets] = after_sweep - proba
        change = np.abs(change)
        active = np.where(
            self._constrained[:, None], self._mask, change >= ACTIVE_TOL * change.max(axis=1, keepdims=True)
        )
        scale = self._diagonal * self._mass
        scale[sweep.sets] = sweep.inflow
        rows = self._moving_rows((change + np.abs(g)).max(axis=1), scale, active)
        self.remaining = 0.0
        if not self._constrained[rows].any():
            return after_sweep
        step = self._solve(rows, q, g, scale[rows], active[rows])
        new = q.copy()
        new[rows] = np.maximum(q[rows] + step.direction, MIN_RETAINED * q[rows])
        new[sweep.sets] /= new[sweep.sets].sum(axis=1, keepdims=True)
        sweep.set_state(new)
        start = new[sweep.sets]
        after_step = sweep(start)
        new_residual = np.zeros(q.shape)
        new_residual[sweep.sets] = after_step - start
        accepted = np.zeros(len(q), dtype=bool)
        accepted[rows] = self._accept(rows, step, g[rows], new_residual[rows])
        return np.where(accepted[sweep.sets, None], after_step, after_sweep)

    def _moving_rows(self, size: Floats, scale: Floats, active: Mask) -> Ints:
        """Return the rows that move, or those that move most if there are too many."""
        order = np.argsort(-size, kind="stable")
        order = order[(size[order] > 0) & (scale[order] > MIN_MASS)]
        return np.sort(order[np.cumsum(active[order].sum(axis=1)) <= MAX_UNKNOWNS])

    def _solve(self, rows: Ints, q: Floats, g: Floats, scale: Floats, mask: Mask) -> _ImplicitStep:
        """Solve (1/h - J) d = g in some rows, with the others at rest.

        The inflow into a constrained row changes by sum_j c_ij d_j, with c_ij = n_ij m_j / (inflow into its set), and
        for class k by w_ik times this if the row has weights.
        Because r_i sums to 1, the row loses its own fraction of this sum. Unconstrained rows are always at their
        limit: no 1/h, and no loss.
        """
        constrained = self._constrained[rows]
        c = sp.coo_array(self._weights[rows][:, rows])
        n_components, component = connected_components(c, directed=False)
        # The length of a component is that of its constrained row that moves most, which also determines acceptance.
        order = np.argsort(np.abs(g[rows]).max(axis=1), kind="stable")
        order = order[constrained[order]]
        lengths = np.full(n_components, MAX_LENGTH)
        lengths[component[order]] = self._lengths[rows[order]]

        row, column = np.nonzero(mask)
        unknown = np.zeros(mask.shape, dtype=np.intp)
        unknown[row, column] = np.arange(len(row))
        weights = c.data / scale[c.row] * self._mass[rows[c.col]]
        edge, k = np.nonzero(mask[c.row] & mask[c.col])
        ends = unknown[c.row[edge], k], unknown[c.col[edge], k]
        values = weights[edge]
        if self._class_weights is not None:
            values *= self._class_weights[rows[c.row[edge]], k]
        inflow = sp.csr_array((values, ends), shape=(len(row), len(row)))
        row_sums = sp.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(rows), len(row)))
        r = np.where(constrained[row], (q + g)[rows][row, column], 0.0)
        loss = sp.csr_array((r, (np.arange(len(row)), row)), shape=(len(row), len(rows)))
        diagonal = 1.0 + np.where(constrained, 1.0 / lengths[component], 0.0)
        system = sp.csc_array(sp.diags_array(diagonal[row]) - inflow + loss @ (row_sums @ inflow))
        direction = np.zeros(mask.shape)
        try:
            direction[row, column] = splu(system).solve(g[rows][row, column])
        except RuntimeError:  # exactly singular: for this h the flow is unbounded
            direction[:] = np.nan
        return _ImplicitStep(direction if np.isfinite(direction).all() else np.zeros(mask.shape), lengths, component)

    def _accept(self, rows: Ints, step: _ImplicitStep, g: Floats, new_residual: Floats) -> Mask:
        """Flag the constrained rows in components where the step followed the flow, and set the next lengths."""
        constrained, n_components = self._constrained[rows], len(step.lengths)

        def component_sums(x: Floats) -> Floats:
            total: Floats = np.zeros(n_components)
            np.add.at(total, step.component[constrained], x[constrained].sum(axis=1))
            return total

        square, predicted = component_sums(g**2), step.direction / step.lengths[step.component, None]
        growth = np.divide(component_sums(predicted**2), square, out=np.zeros(n_components), where=square > 0)
        error = np.divide(
            component_sums((new_residual - predicted) ** 2), square, out=np.zeros(n_components), where=square > 0
        )
        accepted = (
            (component_sums(step.direction * g) > 0)
            & (growth <= MAX_RESIDUAL_GROWTH**2)
            & (error <= MAX_MODEL_ERROR**2)
        )
        factor = np.where(accepted, np.where(error <= MAX_MODEL_ERROR**2 / 4, LENGTH_GROWTH, 1.0), LENGTH_SHRINK)
        self._lengths[rows] = np.clip(step.lengths * factor, 1.0, MAX_LENGTH)[step.component]

        # In a linear flow, a step reduces the residual and the distance to the fixed point by the same factor.
        distance, size = np.zeros(n_components), np.zeros(n_components)
        np.maximum.at(distance, step.component[constrained], np.abs(step.direction[constrained]).max(axis=1))
        np.maximum.at(size, step.component[constrained], np.abs(g[constrained]).max(axis=1))
        fraction = 1.0 - np.sqrt(growth)
        remaining = np.where(accepted & (fraction > 0), distance / np.where(fraction > 0, fraction, 1.0), np.inf)
        remaining[~accepted & (step.lengths <= 1.0)] = 0.0  # sweeps are as fast there, and estimate the remainder
        self.remaining = float(remaining[size > RESIDUAL_TOL].max(initial=0.0))
        return accepted[step.component] & constrained
