"""Harmonic functions on a graph (Zhu, Ghahramani & Lafferty 2003)."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import restrict, uniform
from oneof.solvers.diffusion.components import without_label
from oneof.solvers.diffusion.sets import diffuse
from oneof.typing import Floats, Ints, Mask

FAINT = 1e-13
"""A ridge on every row, as a share of its weights: rows whose ways to a label are fainter still go to equal shares.

Their equations would be singular but for rounding. Elsewhere it moves a share by 1e-13 for each step that a walk from
there to the labels takes.
"""


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
    max_iter: int = 1000,
) -> HarmonicSolution:
    """Return the shares that change least along the edges, given the labels.

    With L = D - W, the Laplacian without normalisation, for which f^T L f = 1/2 sum_ij w_ij (f_i - f_j)^2, and y_i the
    indicator of an exact row, F minimises

        sum_k [ f_k^T L f_k + c sum_{i exact} (f_ik - y_ik)^2 + ridge ||f_k||^2 ],

    without `label_penalty` c subject to f_i = y_i in the exact rows instead, which is the limit c -> inf. Without ridge
    that is F_U = L_UU^-1 W_UL Y_L. With a ridge rows far from labels sum to less than 1; in the end all are scaled to
    it. (A pull to equal shares would need no scaling, and leave the largest share where it is; but it puts the same
    mass in every class, by which class mass normalisation is misled.)

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
    F = uniform(mask)  # which clamped rows and those that no label reaches keep
    pull = np.where(exact, label_penalty or 0.0, 0.0)
    degree = np.asarray(affinity.sum(axis=1))
    free = np.flatnonzero(~unreached & ~(exact & (label_penalty is None)) & (degree + pull + ridge > 0))
    rows, ridges = affinity[free], ridge + FAINT * degree[free]
    matrix = sp.csr_array(sp.diags_array((degree + pull)[free] + ridges) - rows[:, free])
    right = pull[free, None] * F[free] + FAINT * degree[free, None] / mask.shape[1]
    if label_penalty is None:
        right = right + rows[:, exact] @ F[exact]
    mass = None if ridge else np.ones((len(free), 1))
    found = diffuse(matrix, right, mask[free], mass=mass, initial=F[free], tol=tol, max_iter=max_iter)
    F[free] = restrict(found.values, np.ones(found.values.shape, dtype=bool))
    return HarmonicSolution(F, found.n_iter, found.converged, np.flatnonzero(unreached))


def balance_mass(distributions: Floats, mask: Mask) -> Floats:
    """Return the shares with each class scaled to its part of the exact rows, rows scaled to sum 1.

    Class mass normalisation: q_k f_ik / sum_j f_jk, the sum over the rows without an exact label, and q_k the number of
    exact rows of class k plus 1, over the sum of these. Exact rows are scaled as the others are.

    Parameters
    ----------
    distributions : ndarray of shape (n, K)
    mask : ndarray of shape (n, K), bool

    Returns
    -------
    ndarray of shape (n, K)
        A class without any mass keeps none, and rows that have mass in no other are left as they are.

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), equation 9; the 1 is that of their Laplace-smoothed estimate of the proportions.
    """
    exact = mask.sum(axis=1) == 1
    if exact.all():
        return distributions
    q = mask[exact].sum(axis=0) + 1.0
    mass = distributions[~exact].sum(axis=0)
    scaled = distributions * np.divide(q / q.sum(), mass, out=np.zeros(len(q)), where=mass > 0)
    total = scaled.sum(axis=1, keepdims=True)
    return np.where(total > 0, scaled / np.where(total > 0, total, 1.0), distributions)
