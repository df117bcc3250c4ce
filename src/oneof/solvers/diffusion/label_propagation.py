"""Label propagation by linear systems: harmonic functions, and local and global consistency."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.graphs.affinity import unlabeled_components
from oneof.likelihoods import constant_rows, is_mask, normalize_within_sets, support, uniform_within_sets
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.linear_solve import assemble_system, constrained_rows, solve_constrained, sum_rows
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats

RIDGE_RTOL = 4e-15
"""Ridge on every row, relative to its degree. Without it, the equations of rows that are connected to labels by still
weaker edges would be singular up to rounding."""


@dataclass(frozen=True)
class LabelPropagationSolution(DiffusionResult):
    """Result of `solve_harmonic` and `solve_local_global_consistency`: F with rows scaled to sum 1.

    `n_iter` are iterations of conjugate gradients, or sweeps if some rows have several candidates. Unreachable rows are
    in components of the graph without any label, or their mass underflows.
    """

    mass: Floats | None = None
    """(n,): row sums of F of local and global consistency before scaling: they decrease with the distance to labels."""


def solve_harmonic(
    affinity: sp.csr_array,
    evidence: Evidence,
    *,
    label_penalty: float | None = None,
    ridge: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> LabelPropagationSolution:
    """Return the class distributions that vary least along the edges, given the labels.

    With the unnormalized Laplacian L = D - W, for which f^T L f = 1/2 sum_ij w_ij (f_i - f_j)^2, and the indicator
    y_i of an exact row, F minimizes

        sum_k [ f_k^T L f_k + c sum_{i exact} (f_ik - y_ik)^2 + ridge ||f_k||^2 ].

    Without `label_penalty`, the term of c is replaced by the constraint f_i = y_i in the exact rows, which is the
    limit c -> inf. Without ridge the solution is then F_U = L_UU^-1 W_UL Y_L. With a ridge, rows far from labels sum
    to less than 1. All rows are scaled to sum 1 at the end. (A penalty toward uniform distributions would need no
    scaling, and would not change the largest entry. But it puts the same mass in every class, which misleads class mass
    normalization.) Classes without a label have exactly 0.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Rows with several candidates that are not unlabeled are
        constrained to them: see `oneof.solvers.diffusion.linear_solve`. Weights below 1e-6 count as 0.
    label_penalty : float, optional
        c, above 0, in the unit of the weights W.
    ridge : float
        At least 0, in the unit of the weights W.
    tol, max_iter
        As in `solve_constrained`.

    Returns
    -------
    LabelPropagationSolution

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic functions, ICML,
    equation 5. The soft criterion: Chapelle, Schölkopf & Zien (2006), Semi-supervised learning, section 11.3.
    """
    evidence = without_small_weights(evidence)
    n_classes, candidates = evidence.shape[1], support(evidence)
    exact = candidates.sum(axis=1) == 1
    unreachable = unlabeled_components(affinity, evidence == 1)
    F = uniform_within_sets(evidence)  # final for clamped and unreachable rows
    penalty = np.where(exact, label_penalty or 0.0, 0.0)
    degree = np.asarray(affinity.sum(axis=1))
    free = np.flatnonzero(~unreachable & ~(exact & (label_penalty is None)) & (degree + penalty + ridge > 0))
    diagonal = (degree + penalty + ridge + RIDGE_RTOL * degree)[free]
    root = np.ldexp(1.0, -(int(np.frexp(diagonal.max(initial=1.0))[1]) // 2))
    unit = root * root  # keeps the smallest weights from underflow
    right = np.zeros((len(free), n_classes))
    soft = exact[free] & (label_penalty is not None)
    right[soft] = penalty[free][soft, None] * F[free[soft]]
    matrix = assemble_system(affinity, free, unit * diagonal, np.full(len(free), root))
    if label_penalty is None:
        clamped = np.flatnonzero(exact)
        right += affinity[free][:, clamped] @ F[clamped]
    mass: Floats = np.ones((len(free), 1))
    if ridge:  # a tiny source in every row, because otherwise there is no source if all rows have sets
        source = right.sum(axis=1, keepdims=True) + RIDGE_RTOL * degree[free, None]
        unconstrained = np.ones_like(mass, dtype=bool)
        mass = solve_constrained(matrix, unit * source, unconstrained, tol=tol, max_iter=max_iter).values
    if unit != 1.0:
        right *= unit
    solution = solve_constrained(matrix, right, evidence[free], mass=mass, tol=tol, max_iter=max_iter)
    total = sum_rows(solution.values)
    nonzero = total[:, 0] > 0  # an isolated row with several candidates stays uniform on them
    F[free[nonzero]] = solution.values[nonzero] / total[nonzero]
    return LabelPropagationSolution(F, solution.n_iter, solution.converged, np.flatnonzero(unreachable))


def solve_local_global_consistency(
    affinity: sp.csr_array,
    evidence: Evidence,
    *,
    alpha: float = 0.99,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> LabelPropagationSolution:
    """Return the fixed point of F <- alpha S F + (1 - alpha) Y with S = D^-1/2 W D^-1/2 (label spreading).

    The fixed point is (1 - alpha) (I - alpha S)^-1 Y. Y is the indicator in exact rows, 1/|S_i| on the candidates of
    rows with several, and 0 in unlabeled rows. No row is clamped, but rows with several candidates are constrained to
    them: see `oneof.solvers.diffusion.linear_solve`. In a row with weights w_i, Y is w_i / sum_k w_ik, and w_i
    multiplies only the labels of the neighbors, since Y has the weights already.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Weights below 1e-6 count as 0.
    alpha : float
        In (0, 1).
    tol, max_iter
        As in `solve_constrained`.

    Returns
    -------
    LabelPropagationSolution

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf (2004), Learning with local and global consistency, NIPS.
    """
    evidence = without_small_weights(evidence)
    unlabeled, candidates = constant_rows(evidence), support(evidence)
    labels = np.where(unlabeled[:, None], 0.0, uniform_within_sets(evidence))
    degree = np.asarray(affinity.sum(axis=1))
    inverse_root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    n = len(evidence)
    matrix = assemble_system(affinity, np.arange(n), np.ones(n), np.sqrt(alpha) * inverse_root)
    options: dict[str, Any] = {"min_eigenvalue": 1.0 - alpha, "tol": tol, "max_iter": max_iter}
    total_mass, converged = None, True
    if not is_mask(evidence):
        source = (1.0 - alpha) * labels.sum(axis=1, keepdims=True)
        total = solve_constrained(matrix, source, np.ones_like(source, dtype=bool), **options)
        total_mass, converged = total.values, total.converged
        # A sweep multiplies the mean, with the label of the row, by the weights. So they are removed from the label.
        labels = np.divide(labels, evidence, out=np.zeros_like(labels), where=candidates)
    solution = solve_constrained(matrix, (1.0 - alpha) * labels, evidence, mass=total_mass, **options)
    converged = converged and solution.converged
    mass = sum_rows(solution.values)[:, 0]
    if (mass > 0).all() and not constrained_rows(evidence).any():
        distributions = solution.values / mass[:, None]
    else:  # exact rows are not restricted to their label
        candidates = candidates | (candidates.sum(axis=1, keepdims=True) == 1)
        distributions = normalize_within_sets(solution.values, candidates)
    # A converged label gives mass to all of its component, unless the mass underflows.
    unreachable = (mass == 0) & unlabeled if converged else unlabeled_components(affinity, evidence == 1)
    return LabelPropagationSolution(distributions, solution.n_iter, converged, np.flatnonzero(unreachable), mass)
