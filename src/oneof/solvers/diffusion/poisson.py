"""Poisson learning: labels as sources and sinks of a Poisson equation, and its scheme of cuts with given class sizes.

Calder, Cook, Thorpe & Slepčev (2020), Poisson learning: graph based semi-supervised learning at very low label rates,
ICML. With the graph Laplacian L = D - W, the label vectors y_j of the m labeled rows x_j, and their mean y_bar, the
scores u of the classes solve the Poisson equation

    L u(x_i) = sum_j (y_j - y_bar) delta_ij    with    sum_i d_i u(x_i) = 0                                (section 2)

and row i gets the label argmax_k u_k(x_i). Harmonic functions (Laplace learning) fix the values at labeled rows: with
few labels, they are nearly constant with a spike at each. Here the labels fix the flow out of each labeled row.

Each connected component of the graph has an equation, and a y_bar, of its own. Classes without a label in the component
have probability 0. Label vectors may be distributions: the weights of a row of several candidates, scaled to sum to 1.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from oneof.graphs.affinity import label_components
from oneof.likelihoods import constant_rows, normalize_within_sets, softmax, uniform_within_sets
from oneof.solvers.class_sizes import ClassPrior, ClassProportions, class_proportions, constrain_sizes
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.linear_solve import LinearSystem, assemble_system, constrained_rows
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats, Ints, Mask

RIDGE_RTOL = 1e-12
"""Ridge on every row, relative to its degree, since L is singular. It changes the constant of a component, which is
subtracted, and is far below all other eigenvalues."""
MAX_OUTER, N_INNER, FIDELITY = 20, 40, 1.0
"""Cuts, steps of the heat equation before each, and mu: the values of the paper and of its authors' program."""


@dataclass(frozen=True)
class PoissonSolution(DiffusionResult):
    """Result of `solve_poisson` and `solve_poisson_cuts`: u minus its minimum, scaled to row sums of 1.

    Cuts are added to the number of iterations.
    """

    scores: Floats
    """(n, K): u."""


@dataclass(frozen=True)
class _Sources:
    """Right-hand side of the Poisson equation."""

    component: Ints
    """(n,): connected component of each row."""
    labels: Floats
    """(n, K): y_j; 0 in unlabeled rows."""
    right: Floats
    """(n, K): y_j - y_bar; 0 in unlabeled rows."""
    possible: Mask
    """(n, K), bool: classes with a label in the component of the row."""


def _sources(affinity: sp.csr_array, evidence: Evidence) -> _Sources:
    component, count = label_components(
        affinity.indptr, affinity.indices, affinity.data, np.zeros(affinity.shape[0]), 0.0
    )
    labeled = np.flatnonzero(~constant_rows(evidence))
    y = np.zeros(evidence.shape)
    y[labeled] = uniform_within_sets(evidence[labeled])
    indicator = sp.csr_array((np.ones(len(labeled)), (component[labeled], labeled)), shape=(count, len(y)))
    total = indicator @ y
    y_bar = total / np.maximum(total.sum(axis=1, keepdims=True), 1.0)
    right = np.zeros(y.shape)
    right[labeled] = y[labeled] - y_bar[component[labeled]]
    return _Sources(component, y, right, (total > 0)[component])


def solve_poisson(
    affinity: sp.csr_array, evidence: Evidence, *, tol: float = 1e-6, max_iter: int = 10_000
) -> PoissonSolution:
    """Solve the Poisson equation (algorithm 1 of the paper, by conjugate gradients).

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Weights below 1e-6 count as 0.
    tol, max_iter
        As in `LinearSystem.solve`.

    Returns
    -------
    PoissonSolution
    """
    evidence = without_small_weights(evidence)
    return _solve_equation(affinity, evidence, _sources(affinity, evidence), tol, max_iter)


def _solve_equation(
    affinity: sp.csr_array, evidence: Evidence, sources: _Sources, tol: float, max_iter: int
) -> PoissonSolution:
    """Solve the Poisson equation with these sources."""
    degree = np.asarray(affinity.sum(axis=1))
    reached: Mask = np.asarray(sources.possible.any(axis=1))
    rows = np.flatnonzero(reached & (degree > 0))
    unit = np.ldexp(1.0, -2 * (int(np.frexp(degree.max(initial=1.0))[1]) // 2))  # of the weights, against overflow
    matrix = assemble_system(affinity, rows, unit * degree[rows] * (1 + RIDGE_RTOL), np.full(len(rows), np.sqrt(unit)))
    solution = LinearSystem(matrix).solve(sources.right[rows], signed=True, tol=tol, max_iter=max_iter)
    u: Floats = np.zeros(evidence.shape)
    u[rows] = solution.values
    size = np.bincount(sources.component, degree)[sources.component[rows]]
    for k in range(evidence.shape[1]):  # sum_i d_i u_ik = 0 in each component
        total = np.bincount(sources.component, degree * u[:, k])
        u[rows, k] -= total[sources.component[rows]] / size
    # The scores of the possible classes of a row sum to 0, so that the shifted rows of a component have the same sum.
    lowest = np.zeros(len(u))
    np.minimum.at(lowest, sources.component, u.min(axis=1, initial=0.0))
    proba = normalize_within_sets(u - lowest[sources.component, None], sources.possible | ~reached[:, None])
    sets = constrained_rows(evidence)
    proba[sets] = normalize_within_sets(proba[sets], evidence[sets])
    return PoissonSolution(proba, solution.n_iter, solution.converged, np.flatnonzero(~reached), unit * u)


def solve_poisson_cuts(
    affinity: sp.csr_array,
    evidence: Evidence,
    prior: ClassPrior,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> PoissonSolution:
    """Cut the graph into classes of given sizes (Poisson MBO, algorithm 2 of the paper).

    From the labels of Poisson learning, steps of the heat equation with the same sources alternate with projections of
    each row to one class:

        U <- U - dt (L U - mu B)   (`N_INNER` times),   U <- indicator of argmax_k w_k U_ik,

    with the w for which the classes have the given sizes. Rows of several candidates get one of them.

    Parameters
    ----------
    affinity, evidence, tol, max_iter
        As in `solve_poisson`.
    prior : "labels" or ndarray of shape (K,)
        Proportions of the classes among the unlabeled rows that a label reaches. The labels have their own sizes.

    Returns
    -------
    PoissonSolution
    """
    evidence, n_classes = without_small_weights(evidence), evidence.shape[1]
    sources = _sources(affinity, evidence)
    start = _solve_equation(affinity, evidence, sources, tol, max_iter)
    reached = np.flatnonzero(sources.possible.any(axis=1))
    if not len(reached):
        return replace(start, has_sizes=True)
    proportions = _proportions_of_all(prior, sources, len(reached))
    degree = np.asarray(affinity.sum(axis=1))
    dt = 1.0 / (float(degree.max()) or 1.0)
    heat = sp.csr_array(sp.diags_array(1.0 - dt * degree, format="csr") + dt * affinity)
    labeled = np.flatnonzero(sources.labels.any(axis=1))
    inflow = dt * FIDELITY * sources.right[labeled]
    weights = np.where(constrained_rows(evidence)[:, None], evidence, 1.0) * sources.possible
    labels, proba, n_cuts, stable = start.distributions.argmax(axis=1), start.distributions.copy(), 0, False
    while n_cuts < MAX_OUTER and not stable:
        U = np.eye(n_classes)[labels]
        for _ in range(N_INNER):
            U = heat @ U
            U[labeled] += inflow
        with np.errstate(divide="ignore"):
            scores = np.log((weights * (U - U.min()))[reached])
        scores[~np.isfinite(scores).any(axis=1)] = 0.0
        proba[reached] = softmax(scores + constrain_sizes(scores, proportions))
        before, labels = labels, proba.argmax(axis=1)
        stable, n_cuts = np.array_equal(labels, before), n_cuts + 1
    return replace(start, distributions=proba, n_iter=start.n_iter + n_cuts, has_sizes=True)


def _proportions_of_all(prior: ClassPrior, sources: _Sources, n_reached: int) -> ClassProportions:
    """Return the proportions among labeled and unlabeled rows, from those among the unlabeled ones."""
    mass = sources.labels.sum(axis=0)
    unlabeled = class_proportions(prior, mass)
    n_unlabeled = n_reached - sources.labels.any(axis=1).sum()
    bounds = (unlabeled.expected, unlabeled.low, unlabeled.high)
    return ClassProportions(*((mass + n_unlabeled * bound) / n_reached for bound in bounds))
