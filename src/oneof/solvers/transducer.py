"""Spectral graph transduction (Joachims 2003), one class against the others.

With V the eigenvectors 2, ..., d + 1 of the normalized Laplacian of a graph of n rows, and D = diag(1, 4, 9, ..., d^2)
in place of their eigenvalues, the score z = V w of a class is the minimizer of

    w^T D w + C (V w - gamma)^T Gamma (V w - gamma)   over  ||w||^2 = n.

Of the l rows labeled as the class (l_+ of them) or not (l_-), the former have gamma_+ = sqrt(l_- / l_+) and the
diagonal entry l / (2 l_+) of Gamma, the latter gamma_- = -1 / gamma_+ and l / (2 l_-). All other rows have the entry 0.
With G = D + C V^T Gamma V and b = C V^T Gamma gamma this is a quadratic on a sphere.

Eigenvectors with the same eigenvalue share one rank, the lowest of theirs. The basis of their space is arbitrary (any
rotation is a basis as well), and with equal entries of D, w^T D w and the scores are the same for all bases.
Unconnected components of the graph are the common case, with the eigenvalue 0 once for each. All of these vectors are
used, even if they are more than d, since a selection would be just as arbitrary. Only eigenvectors of a greater
eigenvalue can be cut off between two equal eigenvalues.

A row with candidates S that is not unlabeled has for each class k the weight q_ik as a row of the class, and the weight
1 - q_ik as a row of another class. These weights enter l_+, l_- and Gamma. At first q_ik = 1/|S| inside the set and 0
outside. Then q is the resulting distribution, and the iterations end if it no longer changes. Without rows that have
several candidates, q does not change, and one iteration is the published method.

In a row with weights v_i of the classes, q is at first v_i / sum_k v_ik, and later the distribution that is nearest to
the scores s_i in the norm with the weights: it minimizes sum_k (q_k - v_ik s_ik)^2 / v_ik, and is v_ik (s_ik - tau)_+
with the tau for which the sum is 1.

**Minimization of quadratics on a sphere (Gander, Golub & von Matt 1989), also with one linear constraint.**

    minimize  w^T G w - 2 b^T w   over  ||w||^2 = r.

The minimizer is w = (G - lam I)^-1 b for the lam <= g_1, the smallest eigenvalue of G, for which w has this length.
With G = Q diag(g) Q^T and beta = Q^T b, the multiplier is the root of the secular equation
sum_i beta_i^2 / (g_i - lam)^2 = r. It is also the smallest eigenvalue of the 2d x 2d matrix
[[G, -I], [-b b^T / r, G]], which is not formed here, since it is far from symmetric.

The separable problem with a linear constraint is

    minimize  sum_i g_i x_i^2 - 2 b^T x   over  ||x||^2 = r,  a^T x = 0   (every a_i above 0).

Again x is a function of a multiplier lam <= g*, the minimum of the quadratic without b, that gives x its length:
(g_i - lam) x_i = b_i - mu a_i with the mu for which a^T x = 0. Time and memory are proportional to the m coordinates,
whereas a basis of the plane would be dense and its eigenvectors cubic. With p the coordinate of the smallest g, which
is eliminated (since g* lies between g_p and the next), and sums over all other coordinates,

    A = sum a_i^2 / (g_i - lam),   B = sum a_i b_i / (g_i - lam),   F = a_p^2 + (g_p - lam) A,
    mu = (a_p b_p + (g_p - lam) B) / F,   x_p = (b_p A - a_p B) / F,

and g* is the root of F. Several coordinates with the smallest g are replaced by one along a, and one orthogonal to it,
which the constraint does not affect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from oneof.graphs import laplacian
from oneof.graphs.affinity import unlabeled_components
from oneof.likelihoods import constant_rows, is_mask, support, uniform_within_sets
from oneof.solvers.class_sizes import ClassPrior, class_proportions, constrain_sizes
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats, Mask
from oneof.validation import check_memory

MIN_LABELED = 1e-6
"""Smallest weight of rows labeled as a class, or as another class, from which scores are computed."""
MAX_DENSE_ROWS = 500
"""Maximum number of rows for the dense solver, which is also used for more than a third of all eigenvectors."""
MIN_VECTORS = 16
"""Number of vectors for which memory is used at least."""
EIGENVALUE_TOL = 1e-9
"""Eigenvalues (in [0, 2]) that differ by less count as equal."""
MAX_VALUE = 1e100
"""Larger entries are scaled, because squares would overflow."""
MAX_NEWTON_STEPS = 100
"""Maximum number of Newton steps. The iterates increase monotonically to the root, in about ten steps."""
HARD_CASE_TOL = 1e-8
"""Smallest component of b along the direction of value g*, relative to its length. With a smaller one, the quotients
for x would cancel."""
MIN_NORMAL = 1e-75
"""Smallest entry of the unit normal, so that squares and their quotients neither underflow nor overflow."""


@dataclass(frozen=True)
class TransductionSolution(DiffusionResult):
    """Result of `solve_transduction`: the distributions are nearest to the relative scores, by the weights of a row.

    It has converged if the remaining change of every q_ik is at most the tolerance, by the rate at which the changes
    shrink.
    """

    relative_scores: Floats
    """(n, K): (z - gamma_-) / (gamma_+ - gamma_-) of each class: 0 at the target of other classes, 1 at the target of
    the class, 1/2 at the threshold. Labeled rows have such scores too, and values are not clipped to [0, 1]."""


def solve_transduction(
    affinity: sp.csr_array,
    evidence: Evidence,
    *,
    n_eigenvectors: int = 80,
    C: float = 3200.0,
    prior: ClassPrior = None,
    max_iter: int = 100,
    tol: float = 1e-2,
) -> TransductionSolution:
    """Solve one problem for each class against the others, and return the distribution of each row.

    With two classes, one problem is the other with its sign changed. Relative scores then sum to 1, and the threshold
    is that of the paper. With more classes, the class with the largest relative score is predicted. The relative scores
    of a class without labeled rows are 0, and those of a class that has all labeled rows are 1.

    Components of the graph without a label, and isolated rows, are excluded from all sums and from n.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Symmetric, at least 0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes; rows with all classes and equal weights are unlabeled.
        Weights below 1e-6 count as 0.
    n_eigenvectors : int
        d, at least 1. All eigenvectors except the constant one are used if there are fewer, and all with eigenvalue 0
        even if they are more.
    C : float
        Above 0: weight of the labels compared with smoothness.
    prior : "labels", ndarray of shape (K,) or None
        Class sizes in the unlabeled rows, as in `oneof.solvers.class_sizes`. A constant is added to the relative scores
        of each class in these rows, so that their labels have the sizes. None: the threshold of the paper.
    max_iter : int
        At least 1.
    tol : float
        Largest remaining change of a distribution, estimated from the rate at which the changes shrink.

    Returns
    -------
    TransductionSolution

    Raises
    ------
    InputError
        If the eigenvectors would not fit in memory.
    """
    evidence = without_small_weights(evidence)
    n, n_classes = evidence.shape
    unreachable = unlabeled_components(affinity, evidence == 1)
    connected = ~unreachable & (np.asarray(affinity.sum(axis=1)).ravel() > 0)
    scores, n_iter, remaining = np.full((n, n_classes), 1.0 / n_classes), 0, 0.0
    if connected.any():
        vectors, sets = smallest_eigenvectors(affinity[connected][:, connected], n_eigenvectors), evidence[connected]
        labeled = np.logical_not(constant_rows(sets))
        q, change, remaining = uniform_within_sets(sets), np.inf, np.inf
        while n_iter < max_iter and remaining > tol:
            scores[connected] = _relative_scores(vectors, q, labeled, C)
            updated = nearest_distributions(scores[connected], sets)
            before, change = change, float(np.abs(updated - q)[labeled].max())
            # If changes shrink by a factor q, the remaining change is q / (1 - q) of the last one.
            rate = min(change / before, 1.0 - 1e-9) if 0 < change < before < np.inf else 0.5
            remaining = change * max(1.0, rate / (1.0 - rate))
            q = updated
            n_iter += 1
        free = np.flatnonzero(connected & constant_rows(evidence))
        if prior is not None and len(free):
            label_mass = q[labeled].sum(axis=0)
            possible = np.where(label_mass > 0, scores[free], -np.inf)  # scores of a class without a label are constant
            scores[free] += constrain_sizes(possible, class_proportions(prior, label_mass))
    proba, converged = nearest_distributions(scores, evidence), remaining <= tol
    return TransductionSolution(proba, n_iter, converged, np.flatnonzero(unreachable), scores, has_sizes=True)


def _relative_scores(vectors: "Spectrum | GraphComponents", q: Floats, labeled: Mask, C: float) -> Floats:
    """Return the relative score of every class in every row, (n, K), from the q_ik of the labeled rows."""
    n, n_classes = q.shape
    scores = np.empty((n, n_classes))
    for k in range(1 if n_classes == 2 else 0, n_classes):
        positive, negative = np.where(labeled, q[:, k], 0.0), np.where(labeled, 1.0 - q[:, k], 0.0)
        l_positive, l_negative = positive.sum(), negative.sum()
        if min(l_positive, l_negative) < MIN_LABELED:
            scores[:, k] = float(l_positive > l_negative)
            continue
        high, low = np.sqrt(l_negative / l_positive), -np.sqrt(l_positive / l_negative)
        scale = C * (l_positive + l_negative) / 2
        to_high, to_low = scale / l_positive * positive, scale / l_negative * negative
        z = vectors.scores(to_high + to_low, to_high * high + to_low * low)
        scores[:, k] = (z - low) / (high - low)
    if n_classes == 2:
        scores[:, 0] = 1.0 - scores[:, 1]
    return scores


def nearest_distributions(scores: Floats, evidence: Evidence) -> Floats:
    """Return the distribution of each row that is nearest to its scores, by its weights.

    Over the candidates of a set it is the nearest in Euclidean distance. The largest score has the largest probability
    there. Scores of two classes that sum to 1 are unchanged inside [0, 1], and clipped outside.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes.

    Returns
    -------
    ndarray of shape (n, K)
        max(score - tau, 0) times the weight of the class, with the tau of each row for which the sum is 1.
    """
    mask = support(evidence)
    shifted = np.where(mask, scores - np.max(scores, axis=1, where=mask, initial=-np.inf, keepdims=True), -np.inf)
    # For the m largest scores, tau is (their sum - 1) / m, with the largest m whose smallest score is above it. With
    # weights it is (their weighted sum - 1) / (their sum of weights).
    if is_mask(evidence):
        sorted_ = -np.sort(-shifted, axis=1)
        taus = (np.cumsum(sorted_, axis=1) - 1.0) / np.arange(1, scores.shape[1] + 1)
    else:
        order = np.argsort(-shifted, axis=1, kind="stable")
        sorted_, weights = np.take_along_axis(shifted, order, axis=1), np.take_along_axis(evidence, order, axis=1)
        products = np.where(weights > 0, weights * np.where(weights > 0, sorted_, 0.0), -np.inf)
        taus = (np.cumsum(products, axis=1) - 1.0) / np.cumsum(weights, axis=1)
    tau = taus[np.arange(len(taus)), (sorted_ > taus).sum(axis=1) - 1]
    nearest = np.maximum(shifted - tau[:, None], 0.0)
    if not is_mask(evidence):
        nearest *= evidence
    return nearest / nearest.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvectors 2, 3, ... of the normalized Laplacian of a graph."""

    vectors: Floats
    """(n, d): orthonormal columns, orthogonal to D^1/2 1, by ascending eigenvalue."""
    values: Floats
    """(d,): their eigenvalues, in [0, 2]."""

    def ranks(self) -> Floats:
        """Return the ranks 1, 2, 3, ..., where eigenvectors with the same eigenvalue share the lowest of theirs.

        The basis of the space of such eigenvectors is arbitrary, and no result should depend on it.
        """
        first = np.diff(self.values, prepend=-np.inf) > EIGENVALUE_TOL
        return np.maximum.accumulate(np.where(first, np.arange(1.0, len(first) + 1), 0.0))

    def scores(self, weights: Floats, shift: Floats) -> Floats:
        """Minimize w^T D w + z^T diag(weights) z - 2 shift^T z over the z = V w of length sqrt(n).

        D has the squares of the ranks. The weights and the shift are 0 in unlabeled rows.
        """
        labeled = np.flatnonzero(weights)
        V = self.vectors[labeled]
        G = np.diag(self.ranks() ** 2) + V.T @ (weights[labeled, None] * V)
        return self.vectors @ minimize_on_sphere(G, V.T @ shift[labeled], float(len(weights))).w


@dataclass(frozen=True)
class GraphComponents:
    """Eigenvectors with eigenvalue 0 of the normalized Laplacian, one for each of the m components of a graph.

    If there are more of them than requested eigenvectors, a selection would be arbitrary. All of them are used, and
    represented by the indicators of the components only.
    """

    indicators: sp.csr_array
    """(n, m): D^1/2 times the indicator of each component, of length 1."""
    constant: Floats
    """(m,): D^1/2 1 in the basis of the indicators, up to its length."""

    def __len__(self) -> int:
        return len(self.constant)

    def scores(self, weights: Floats, shift: Floats) -> Floats:
        """Minimize z^T diag(weights) z - 2 shift^T z over the z of length sqrt(n) that are orthogonal to D^1/2 1.

        All eigenvectors have the same rank, so that the smoothness is the same for every z.
        """
        curvature = (self.indicators**2).T @ weights
        point = minimize_on_constrained_sphere(curvature, self.indicators.T @ shift, self.constant, float(len(weights)))
        return np.asarray(self.indicators @ point.w)


def smallest_eigenvectors(affinity: sp.csr_array, n_vectors: int) -> Spectrum | GraphComponents:
    """Compute eigenvectors 2 to n_vectors + 1 of the normalized Laplacian I - D^-1/2 W D^-1/2.

    A graph of several components has an eigenvalue 0 for each, with eigenvectors in closed form. Lanczos' method, which
    could miss some of them, computes only the others. It starts from a fixed vector: results are reproducible.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0, every row with an entry above 0.
    n_vectors : int
        At least 1. At most n - 1 are returned.

    Returns
    -------
    Spectrum or GraphComponents
        The latter if all requested eigenvectors have eigenvalue 0, or more than requested have.

    Raises
    ------
    InputError
        If the eigenvectors and their computation would not fit in memory: seven arrays of n x n_vectors (at least
        16), and from a third of all eigenvectors on, five of n x n.
    """
    n = affinity.shape[0]
    components = graph_components(affinity)
    n_requested = min(n_vectors, n - 1)
    n_nonzero = n_requested - (len(components) - 1)
    if n_nonzero <= 0 and len(components) > 1:
        return components
    is_dense = n <= MAX_DENSE_ROWS or 3 * n_nonzero >= n
    check_memory(
        8.0 * n * (5 * n if is_dense else 7 * max(n_requested, MIN_VECTORS)),
        f"{n_requested} eigenvectors of a graph of {n} rows",
        "lower n_eigenvectors",
    )
    L, indicators = laplacian(affinity, "symmetric"), components.indicators
    if is_dense:
        shifted = L.toarray()
        shifted += 3.0 * (indicators @ indicators.T)
        values, vectors = scipy.linalg.eigh(shifted, overwrite_a=True, subset_by_index=(0, n_nonzero - 1))
    else:
        values, vectors = _sparse_eigenvectors(_deflated(L, indicators), n_nonzero)
    order = np.argsort(values, kind="stable")
    null_vectors = indicators @ scipy.linalg.null_space(components.constant[None])  # orthogonal to D^1/2 1
    return Spectrum(
        np.hstack([null_vectors, vectors[:, order]]),
        np.concatenate([np.zeros(null_vectors.shape[1]), np.maximum(values[order], 0.0)]),
    )


def _sparse_eigenvectors(operator: LinearOperator, n_vectors: int) -> tuple[Floats, Floats]:
    """Return the smallest eigenvalues and their eigenvectors, by ARPACK from a fixed vector."""
    return eigsh(operator, n_vectors, which="SA", v0=np.random.default_rng(0).standard_normal(operator.shape[0]))


def graph_components(affinity: sp.csr_array) -> GraphComponents:
    """Return the components of a graph without isolated rows."""
    n = affinity.shape[0]
    count, component = connected_components(affinity, directed=False)
    root = np.sqrt(np.asarray(affinity.sum(axis=1)))
    largest = np.zeros(count)
    np.maximum.at(largest, component, root)
    root /= largest[component]  # so that no sum of squares is 0 or infinite
    length = np.sqrt(np.bincount(component, weights=root**2, minlength=count))
    indicators = sp.csr_array((root / length[component], (np.arange(n), component)), shape=(n, count))
    return GraphComponents(indicators, largest / largest.max() * length)


def _deflated(L: sp.csr_array, indicators: sp.csr_array) -> LinearOperator:
    """Return L + 3 U U^T: L with its eigenvectors U of eigenvalue 0 moved above all others."""
    transposed = indicators.T.tocsr()

    def product(vector: Floats) -> Floats:
        return L @ vector + 3.0 * (indicators @ (transposed @ vector))

    return LinearOperator(L.shape, matvec=product, dtype=np.float64)


# -- sphere ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpherePoint:
    """Minimizer of a quadratic on a sphere, with its multiplier."""

    w: Floats
    """(d,): the minimizer."""
    multiplier: float
    """lam: (G - lam I) w = b, and G - lam I has no negative eigenvalue."""


def minimize_on_sphere(G: Floats, b: Floats, square_radius: float) -> SpherePoint:
    """Minimize w^T G w - 2 b^T w over the w of length sqrt(r).

    In the hard case, b has no component along the lowest eigenvectors of G, and the other components alone are too
    short. The missing length is then added along one of the lowest eigenvectors; the opposite direction has the same
    value.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Symmetric.
    b : ndarray of shape (d,)
    square_radius : float
        r, above 0.

    Returns
    -------
    SpherePoint

    References
    ----------
    Gander, Golub & von Matt (1989), A constrained eigenvalue problem, Linear Algebra and its Applications 114. The
    iteration is that of Moré & Sorensen (1983), Computing a trust region step.
    """
    largest = max(float(np.abs(G).max()), float(np.abs(b).max()))
    if largest > MAX_VALUE:  # squares would overflow; the point does not depend on the unit
        unit = 2.0 ** (np.frexp(largest)[1] - 1)
        point = minimize_on_sphere(G / unit, b / unit, square_radius)
        return SpherePoint(point.w, point.multiplier * unit)
    values, Q = scipy.linalg.eigh(G)
    gaps = values - values[0]
    beta = Q.T @ b
    rtol = 100 * len(b) * np.finfo(np.float64).eps
    lowest = gaps <= rtol * np.abs(values).max()
    gaps[lowest] = 0.0  # sums over the lowest eigenspace then do not depend on the rotation of its basis
    if np.linalg.norm(beta[lowest]) <= rtol * np.linalg.norm(beta):
        beta[lowest] = 0.0
        partial = np.where(lowest, 0.0, beta / np.where(lowest, 1.0, gaps))
        missing_square = square_radius - float(partial @ partial)
        if missing_square >= 0:
            return SpherePoint(Q @ partial + np.sqrt(missing_square) * _fix_sign(Q[:, 0]), float(values[0]))

    def solve(right: Floats, shift: float) -> Floats:
        return _quotients(right, gaps + shift)

    radius = float(np.sqrt(square_radius))
    shift = solve_secular(solve, beta, float(np.linalg.norm(beta[lowest])) / radius, radius)
    return SpherePoint(Q @ solve(beta, shift), float(values[0] - shift))


def minimize_on_constrained_sphere(g: Floats, b: Floats, a: Floats, square_radius: float) -> SpherePoint:
    """Minimize sum_i g_i x_i^2 - 2 b^T x over the x of length sqrt(r) that are orthogonal to a.

    In the hard case, b has hardly any component along the direction of value g*. A small component is then added, which
    selects one of two minimizers. Close to the hard case about eight digits are correct, elsewhere all of them.

    Parameters
    ----------
    g, b : ndarray of shape (m,)
        m is at least 2.
    a : ndarray of shape (m,)
        Above 0.
    square_radius : float
        r, above 0.

    Returns
    -------
    SpherePoint
    """
    rtol = 100 * len(g) * np.finfo(np.float64).eps
    radius = float(np.sqrt(square_radius))
    # A power of two that keeps both the differences of g and the entries of b from overflow and underflow.
    unit = np.ldexp(1.0, int(np.frexp(max(np.abs(g).max(), np.abs(b).max() / radius))[1]) - 1)
    g, b = g / unit, b / unit
    a = a / a.max()
    a = np.maximum(a / np.linalg.norm(a), MIN_NORMAL)
    smallest = g.min()
    tied = g - smallest <= rtol
    along = a[tied] / np.linalg.norm(a[tied])
    a_rest, gaps = a[~tied], g[~tied] - smallest
    problem = _PlaneProblem(float(along @ a[tied]), a_rest, gaps, bool(tied.sum() > 1))
    orthogonal = _orthogonal_direction(along, b[tied], rtol)
    target = np.concatenate([[along @ b[tied]], b[~tied], [orthogonal @ b[tied]] if problem.has_free else []])
    lowest = problem.lowest_direction()
    component, size = float(lowest @ target), float(np.linalg.norm(target)) or 1.0
    if abs(component) < HARD_CASE_TOL * size:
        enlarged = float(np.copysign(HARD_CASE_TOL * size, component))
        target, component = target + (enlarged - component) * lowest, enlarged
    shift = solve_secular(problem.solve, target, abs(component) / radius, radius)
    solution = problem.solve(target, shift)
    x = np.empty(len(g))
    x[~tied] = solution[1 : 1 + len(gaps)]
    x[tied] = solution[0] * along + (solution[-1] * orthogonal if problem.has_free else 0.0)
    x -= (a @ x) / (a @ a) * a
    return SpherePoint(x * (radius / np.linalg.norm(x)), float(smallest + problem.offset - shift) * unit)


def solve_secular(solve: Callable[[Floats, float], Floats], b: Floats, shift: float, radius: float) -> float:
    """Return the root mu = g_1 - lam of 1/||w(mu)|| = 1/sqrt(r), by Newton's method.

    The left side is increasing and concave in mu, and linear if one term dominates. Newton's method from any point
    below the root therefore increases to it monotonically. In mu, unlike in lam, nothing cancels if lam is close to
    g_1.

    Parameters
    ----------
    solve : callable
        Returns (G - lam I)^-1 v for v and mu.
    b : ndarray of shape (d,)
        w(mu) is solve(b, mu).
    shift : float
        Initial mu, at most the root: the mu for which the component of b along the lowest eigenvectors alone has the
        required length.
    radius : float
        sqrt(r).
    """
    for _ in range(MAX_NEWTON_STEPS):
        w = solve(b, shift)
        length = np.linalg.norm(w)
        derivative = float(w @ solve(w, shift)) / length  # -d||w|| / dmu
        step = float(length * (length - radius) / (radius * derivative))
        shift += max(step, 0.0)
        if step <= np.finfo(np.float64).eps * shift:
            break
    return shift


class _PlaneProblem:
    """Constrained problem in the coordinate p, all others, and the free one if several have the smallest g."""

    def __init__(self, a_p: float, a: Floats, gaps: Floats, has_free: bool) -> None:
        self.a_p, self.a, self.has_free = a_p, a, has_free
        self.offset = 0.0
        """g* - g_p."""
        self.gaps = gaps
        """g_i - g*."""
        if not has_free:
            self.offset, self.gaps = _lowest_value(a_p, a, gaps)

    def solve(self, b: Floats, shift: float) -> Floats:
        """Return the x of the multiplier g* - shift."""
        last = 1 + len(self.a)
        b_p, b_rest = b[0], b[1:last]
        gaps = self.gaps + shift
        A, B = np.sum(self.a**2 / gaps), np.sum(self.a * b_rest / gaps)
        F = self.a_p**2 + (shift - self.offset) * A
        mu = (self.a_p * b_p + (shift - self.offset) * B) / F
        return np.concatenate([[(b_p * A - self.a_p * B) / F], (b_rest - mu * self.a) / gaps, b[last:] / shift])

    def lowest_direction(self) -> Floats:
        """Return the direction of value g*, of length 1."""
        if self.has_free:
            return np.concatenate([np.zeros(1 + len(self.a)), [1.0]])
        direction = np.concatenate([[-self.a_p / self.offset], self.a / self.gaps])
        return direction / np.linalg.norm(direction)


def _lowest_value(a_p: float, a: Floats, gaps: Floats) -> tuple[float, Floats]:
    """Return s = g* - g_p, the root of a_p^2 = s sum_i a_i^2 / (gap_i - s) below the smallest gap, and all gap_i - s.

    The unknown is s or the smallest gap_i - s, whichever is smaller, so that neither is a difference of almost equal
    numbers.
    """
    smallest = float(gaps.min())
    further = gaps - smallest

    def remainder(offset: float, gap: float) -> float:
        return float(a_p**2 - offset * np.sum(a**2 / (further + gap)))

    options: dict[str, Any] = {"xtol": np.finfo(np.float64).tiny, "rtol": 1e-15, "maxiter": 2000}
    if remainder(smallest / 2, smallest / 2) < 0:
        offset = float(brentq(lambda s: remainder(s, smallest - s), 0.0, smallest / 2, **options))
        return offset, gaps - offset
    gap = float(brentq(lambda s: remainder(smallest - s, s), MIN_NORMAL**2 * smallest / 2, smallest / 2, **options))
    return smallest - gap, further + gap


def _orthogonal_direction(along: Floats, b: Floats, rtol: float) -> Floats:
    """Return the direction of b orthogonal to a, both of several coordinates; an arbitrary one if b is along a."""
    direction = b - (along @ b) * along
    if np.linalg.norm(direction) <= rtol * np.linalg.norm(b):
        direction = np.eye(1, len(b), int(along.argmin()))[0]
    direction = direction - (along @ direction) * along  # a second time, in case it is small compared with b
    return direction / (float(np.linalg.norm(direction)) or 1.0)


def _quotients(gaps: Floats, shifted: Floats) -> Floats:
    """Divide, with 0 for 0 / 0: directions along which b has no component."""
    return np.where(gaps == 0, 0.0, gaps / np.where(shifted > 0, shifted, 1.0))


def _fix_sign(vector: Floats) -> Floats:
    """Return one of v and -v, the one whose largest entry is positive."""
    return vector * np.sign(vector[np.argmax(np.abs(vector))])
