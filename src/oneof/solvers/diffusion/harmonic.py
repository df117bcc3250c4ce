"""Harmonic functions on a graph (Zhu, Ghahramani & Lafferty 2003)."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.diffusion.components import without_label
from oneof.solvers.diffusion.sets import diffuse
from oneof.typing import Floats, Ints, Mask

FAINT = 4e-15
"""A ridge on every row, as a share of its weights, without which equations of rows that are tied to labels by fainter
links still would be singular but for rounding."""


@dataclass(frozen=True)
class HarmonicSolution:
    """What `solve_harmonic` found."""

    distributions: Floats
    """(n, K): F; rows sum to 1."""
    n_iter: int
    """Iterations of conjugate gradients, or sweeps where some rows have several candidates."""
    converged: bool
    unreached: Ints
    """Numbers of the rows in components of the graph without any label, whose shares are uniform."""


def solve_harmonic(
    affinity: sp.csr_array,
    mask: Mask,
    *,
    label_penalty: float | None = None,
    ridge: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> HarmonicSolution:
    """Return the shares that change least along the edges, given the labels.

    With L = D - W, the Laplacian without normalization, for which f^T L f = 1/2 sum_ij w_ij (f_i - f_j)^2, and y_i the
    indicator of an exact row, F minimizes

        sum_k [ f_k^T L f_k + c sum_{i exact} (f_ik - y_ik)^2 + ridge ||f_k||^2 ],

    without `label_penalty` c subject to f_i = y_i in the exact rows instead, which is the limit c -> inf. Without ridge
    that is F_U = L_UU^-1 W_UL Y_L. With a ridge rows far from labels sum to less than 1; in the end all are scaled to
    it. (A pull to equal shares would need no scaling, and leave the largest share where it is; but it puts the same
    mass in every class, by which class mass normalization is misled.) Classes that no label speaks for have exactly 0.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    mask : ndarray of shape (n, K), bool
        Rows with several candidates, but not all, keep to them: see `oneof.solvers.diffusion.sets`.
    label_penalty : float, optional
        c, above 0, in the unit of the weights W.
    ridge : float
        At least 0, in the unit of the weights W.
    tol, max_iter
        As in `diffuse`.

    Returns
    -------
    HarmonicSolution

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic functions, ICML,
    equation 5. The soft criterion: Chapelle, Schölkopf & Zien (2006), Semi-supervised learning, section 11.3.
    """
    exact = mask.sum(axis=1) == 1
    unreached = without_label(affinity, mask)
    F = uniform_within_sets(mask)  # which clamped rows and those that no label reaches keep
    pull = np.where(exact, label_penalty or 0.0, 0.0)
    degree = np.asarray(affinity.sum(axis=1))
    free = np.flatnonzero(~unreached & ~(exact & (label_penalty is None)) & (degree + pull + ridge > 0))
    diagonal = (degree + pull + ridge + FAINT * degree)[free]
    rows = affinity[free]
    right = np.zeros((len(free), mask.shape[1]))
    right[exact[free]] = pull[free][exact[free], None] * F[free][exact[free]]
    if label_penalty is None:
        right += rows[:, exact] @ F[exact]
    unit = np.ldexp(1.0, -int(np.frexp(diagonal.max(initial=1.0))[1]))  # the smallest weights are numbers like others
    matrix = unit * sp.csr_array(sp.diags_array(diagonal) - rows[:, free])
    mass: Floats = np.ones((len(free), 1))
    if ridge:  # a faint source everywhere, for where all rows have sets there is no other
        source = right.sum(axis=1, keepdims=True) + FAINT * degree[free, None]
        mass = diffuse(matrix, unit * source, np.ones_like(mass, dtype=bool), tol=tol, max_iter=max_iter).values
    found = diffuse(matrix, unit * right, mask[free], mass=mass, tol=tol, max_iter=max_iter)
    full = found.values.any(axis=1)  # an isolated row of several candidates has nothing but these
    F[free[full]] = normalize_within_sets(found.values[full], np.ones((full.sum(), mask.shape[1]), dtype=bool))
    return HarmonicSolution(F, found.n_iter, found.converged, np.flatnonzero(unreached))


def balance_mass(distributions: Floats, mask: Mask, unreached: Ints | None = None, *, tol: float = 1e-6) -> Floats:
    """Return the shares of rows of full sets with each class scaled to its part of the others.

    Class mass normalization: q_k f_ik / sum_j f_jk, the sum over the rows of full sets that a label reaches, and q_k
    the mass of class k in the rows with smaller sets, plus 1; of exact rows that is their number, also where they are
    not clamped. What is known of single rows is not scaled, and where it is so of all rows, nothing is.

    Parameters
    ----------
    distributions : ndarray of shape (n, K)
    mask : ndarray of shape (n, K), bool
    unreached : ndarray of int, optional
        Numbers of rows without a way to a label, which are left as they are.
    tol : float
        To what the shares are accurate, above 0. A class of which the scaled rows have a smaller share than that, in
        the mean, is without mass: it may be one that died out, of which sweeps leave ever less, and which would be
        scaled up to what it never had.

    Returns
    -------
    ndarray of shape (n, K)
        Rows sum to 1; a class without any mass keeps none.

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), equation 9; the 1 is that of their Laplace-smoothed estimate of the proportions.
    """
    scaled: Mask = np.asarray(mask.all(axis=1))
    exact = mask.sum(axis=1, keepdims=True) == 1
    q = np.where(exact, mask, distributions)[~scaled].sum(axis=0) + 1.0
    if unreached is not None:
        scaled[unreached] = False
    mass = distributions[scaled].sum(axis=0)
    least = min(max(tol, np.finfo(np.float64).eps), 0.1 / len(q))
    factor = np.divide(q / q.sum(), mass, out=np.zeros(len(q)), where=mass > least * scaled.sum())
    balanced = distributions.copy()
    balanced[scaled] = normalize_within_sets(
        distributions[scaled] * factor, np.ones((scaled.sum(), len(q)), dtype=bool)
    )
    return balanced
