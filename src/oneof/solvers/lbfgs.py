"""Limited-memory BFGS for objectives of linear scores, preconditioned by blocks of the Hessian.

The inverse Hessian H is the BFGS update (Nocedal & Wright 2006, algorithm 7.4) of an inverse preconditioner M^-1 with
the last pairs s = W_+ - W and y = g_+ - g. With z = M^-1 y the search direction -H g is a linear combination of M^-1 g,
the s and the z, whose coefficients need only inner products with the gradients. An iteration therefore reads the memory
twice, and costs two products with X: the scores are linear in the weights, so a line search needs none.

M is the Hessian's block of the mean class, or its diagonal if that is faster, until the iterations have cost as much as
the blocks of all classes, and then these blocks at the current point. They are renewed when the iterations since have
cost twice as much as the last time. A solver that invests as soon as it has spent the price pays at most twice as much
as one that knows the number of iterations in advance (the ski rental problem).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats, Ints

Kind = Literal["diagonal", "common", "blocks"]
"""Preconditioners: the diagonal of the Hessian's block with the curvature of the mean class, this block, all blocks."""

OVERFLOW = "the objective overflows float64. Scale the features, for example with StandardScaler."
MIN_CURVATURE = 0.1
"""Fraction of the mean curvature below which a row is left out of a block."""
MAX_BLOCK_ENTRIES = 3e7
"""Maximum number of entries in the blocks of a preconditioner (120 MB in single precision, twice during the work)."""
MIN_SINGLE, MAX_SINGLE = 1e-12, 1e12
"""Range of the largest absolute feature for products in single precision, whose own range is 1e-38 to 1e38."""
RIDGES = {np.float32: 1e-6, np.float64: 1e-12}
"""Added to the diagonal of ones of a scaled block: ten and 5,000 times the rounding."""
ACTIVE_SHARE = 0.2
"""Share of the rows in a block, as on italian, usps and mnist."""
BLOCK_OVERHEAD, ITERATION_OVERHEAD = 5e6, 2e5
"""Operations in the time that NumPy's calls take, as measured on digits; blocks have half the speed of products."""
MAX_FIRST_COST = 20.0
"""Iterations that the common block at the start may cost, of the 30 to 150 that a fit takes."""
MIN_PIVOT = 1e-4
"""Smallest variance of a feature given the others, of 1, with which blocks are inverted in single precision."""
MEMORY = 10
"""Number of pairs (s, y), as in scipy."""
MIN_DECREASE, MAX_SLOPE = 1e-4, 0.9
"""Constants of Wolfe's conditions (Nocedal & Wright 2006, section 3.1)."""
MAX_TRIALS = 40
ROUNDING = 1e-13
"""Relative rounding error of the objective."""
ROUNDING_TOL = 1e-10
"""Relative size of g^T M^-1 g up to which a point that no step improves is stationary: its error is the root, 1e-5."""
SINGLE_TOL = 1e-3
"""Relative size of the gradient at which the products in single precision end: a relative error of 1e-6 in F."""
MIN_COSINE = 1e-12
"""Cosine between s and y below which a pair has no information on the curvature."""


@dataclass(frozen=True)
class LinearIterate:
    """Weights, their scores and the derivatives there."""

    weights: Floats
    """(K, D)."""
    scores: Floats
    """(n, K)."""
    by_score: Floats
    """Derivatives of the sum of the losses by the scores, (n, K)."""
    value: float
    """The objective."""


@dataclass(frozen=True)
class SmoothProblem:
    """Base of objectives of linear scores with an unpenalized intercept; a subclass adds `point` and `curvatures`.

    The weights are (K, D): D = d, or d + 1 with the intercept in the last column. The penalty is 1/2 ||W||_F^2 without
    that column.
    """

    X: FeatureMatrix
    """(n, d); scores and gradients are in double precision for every precision of X."""
    n_classes: int
    has_intercept: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D)."""
        return self.n_classes, self.X.shape[1] + self.has_intercept

    def matvec(self, weights: Floats) -> Floats:
        """Return the (n, K) scores [X, 1] W^T, with products in the precision of X."""
        features = weights[:, :-1] if self.has_intercept else weights
        scores = np.asarray(self.X @ features.T.astype(self.X.dtype, copy=False)).astype(np.float64, copy=False)
        return scores + weights[:, -1] if self.has_intercept else scores

    def rmatvec(self, values: Floats, X: FeatureMatrix) -> Floats:
        """Return values^T [X, 1], the adjoint of `matvec`, in the memory layout of the weights."""
        is_sparse, typed = sp.issparse(X), values.astype(X.dtype, copy=False)
        product: Floats = np.asarray(X.T @ typed).T if is_sparse else typed.T @ X
        if not self.has_intercept:
            return product.astype(np.float64, copy=False)
        out = np.empty(self.shape, order="F" if is_sparse else "C")
        out[:, :-1], out[:, -1] = product, values.sum(axis=0)
        return out

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept, which is not penalized."""
        if not self.has_intercept:
            return weights
        return np.column_stack([weights[:, :-1], np.zeros(len(weights))])

    def diagonal(self, curvatures: Floats) -> Floats:
        """Return the Hessian's diagonal, (K, D), for losses with these (n, K) second derivatives."""
        losses = self.rmatvec(curvatures, self.X.power(2) if sp.issparse(self.X) else self.X**2)
        diagonal = losses + self.penalized(np.ones_like(losses))
        if not np.isfinite(diagonal).all():
            raise InputError(OVERFLOW)
        diagonal[diagonal == 0] = 1.0  # an intercept on which no loss depends
        return diagonal

    @cached_property
    def single(self) -> Self | None:
        """The problem with products in single precision; None if its range is too small."""
        largest = np.abs(self.X.data if sp.issparse(self.X) else self.X).max(initial=0.0)
        if not MIN_SINGLE < largest < MAX_SINGLE:
            return None
        return replace(self, X=self.X.astype(np.float32))

    def zeros(self) -> Floats:
        """Return weights of 0, feature by feature if X is sparse, as its products require."""
        return np.zeros(self.shape, order="F" if sp.issparse(self.X) else "C")

    def point(self, weights: Floats, scores: Floats) -> LinearIterate:
        """Return the point with these weights and their scores."""
        raise NotImplementedError

    def curvatures(self, scores: Floats) -> Floats:
        """Return the absolute second derivatives of the rows' losses by each score, (n, K)."""
        raise NotImplementedError

    def gradient(self, point: LinearIterate) -> Floats:
        """Return the (K, D) gradient."""
        gradient = self.rmatvec(point.by_score, self.X)
        gradient += self.penalized(point.weights)
        return gradient

    def slope(self, point: LinearIterate, step: Floats, score_step: Floats) -> float:
        """Return the derivative of the objective along a step."""
        return float((self.penalized(point.weights) * step).sum() + np.vdot(point.by_score, score_step))

    def preconditioner(self, point: LinearIterate, kind: Kind) -> Callable[[Floats], Floats]:
        """Return the function x -> M^-1 x."""
        curvatures = self.curvatures(point.scores)
        mean = curvatures.mean(axis=1)[:, None]
        if kind == "diagonal":
            diagonal = self.diagonal(mean)
            return lambda right: right / diagonal
        curvatures = curvatures if kind == "blocks" else mean
        inverses = self._invert_blocks(curvatures, np.float32) or self._invert_blocks(curvatures, np.float64)
        if inverses is None:  # features too close to a combination of others
            return self.preconditioner(point, "diagonal")
        scale, scaled_inverses = inverses

        def solve(right: Floats) -> Floats:
            scaled = (scale * right).astype(scaled_inverses.dtype, copy=False)
            out = np.empty_like(right)
            return np.multiply(np.matmul(scaled_inverses, scaled[:, :, None])[:, :, 0], scale, out=out)

        return solve

    @property
    def first_kind(self) -> Kind:
        """The preconditioner at the start: the common block if it is cheap to compute and to apply, or the diagonal."""
        is_cheap = self.shape[1] ** 2 <= self._n_numbers and self._block_cost(0.0) <= MAX_FIRST_COST
        return "common" if is_cheap else "diagonal"

    @property
    def block_cost(self) -> float:
        """The time of the blocks of all classes in iterations; infinite if their memory is too large."""
        n_entries = self.n_classes * self.shape[1] ** 2
        return self.n_classes * self._block_cost(BLOCK_OVERHEAD) if n_entries <= MAX_BLOCK_ENTRIES else np.inf

    @property
    def _n_numbers(self) -> int:
        """Number of entries of X that a product reads."""
        return int(self.X.nnz if sp.issparse(self.X) else self.X.size)

    def _block_cost(self, overhead: float) -> float:
        """Return the time of a block in iterations, each of which has two products of X with K columns."""
        n_numbers = self._n_numbers
        gram = ACTIVE_SHARE * n_numbers * n_numbers / max(self.X.shape[0], 1)
        operations = 2.0 * (gram + self.shape[1] ** 3) + overhead
        return operations / (4.0 * n_numbers * self.n_classes + ITERATION_OVERHEAD)

    def _invert_blocks(self, curvatures: Floats, dtype: Any) -> tuple[Floats, Floats] | None:
        """Return d, (K, D), and the inverses of the blocks scaled to diagonals of ones, diag(d) B diag(d), (K, D, D).

        None if a feature is too close to a combination of others for the precision.
        """
        potrf, potri = get_lapack_funcs(("potrf", "potri"), dtype=dtype)
        d, inverses = np.empty((curvatures.shape[1], self.shape[1])), []
        for k, curvature in enumerate(curvatures.T):
            active = np.flatnonzero(curvature > MIN_CURVATURE * curvature.mean())
            X, penalty = self._scaled_rows(active, np.sqrt(curvature[active])[:, None])
            squares = X.power(2).sum(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X)
            diagonal = np.asarray(squares).ravel() + penalty
            if not np.isfinite(diagonal).all():
                raise InputError(OVERFLOW)
            d[k] = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            X = (X.multiply(d[k]).tocsr() if sp.issparse(X) else np.multiply(X, d[k], out=X)).astype(dtype, copy=False)
            block = X.T @ X  # an array times itself takes half the time of other products
            block = block.toarray() if sp.issparse(block) else block
            block[np.diag_indices_from(block)] += (penalty * d[k] ** 2 + RIDGES[dtype]).astype(dtype)
            factor, info = potrf(block.T, lower=1, overwrite_a=1)
            if info != 0 or (dtype == np.float32 and factor.diagonal().min() ** 2 < MIN_PIVOT):
                return None
            inverse = potri(factor, lower=1, overwrite_c=1)[0]
            inverses.append(np.tril(inverse) + np.tril(inverse, -1).T)
        return d, np.stack(inverses)

    def _scaled_rows(self, rows: Ints, factor: Floats) -> tuple[FeatureMatrix, Floats]:
        """Return the rows of [X, 1] times a factor, (m, D), and the penalty of each column, (D,)."""
        X, penalty = self.X[rows].astype(np.float64, copy=False), np.ones(self.shape[1])
        X = X.multiply(factor).tocsr() if sp.issparse(X) else X * factor
        if self.has_intercept:
            X = sp.hstack([X, factor], format="csr") if sp.issparse(X) else np.hstack([X, factor])
            penalty[-1] = 0.0
        return X, penalty


@dataclass(frozen=True)
class Solution:
    """Stationary point found by `minimize`."""

    weights: Floats
    """(K, D)."""
    objective_path: Floats
    """(n_iter + 1,): the objective at the start and after each iteration, as computed. It never increases, up to the
    rounding of the products, at most `SINGLE_TOL` while they are in single precision."""
    gradient: Floats
    """(K, D)."""
    n_iter: int
    converged: bool


class InverseHessian:
    """BFGS update of an inverse preconditioner with the last pairs (s, y)."""

    def __init__(self, solve: Callable[[Floats], Floats], gradient: Floats) -> None:
        self._solve = solve
        self._pairs: Floats = np.empty((2, MEMORY, gradient.size))  # s and z = M^-1 y
        self._sy, self._yz = np.zeros((2, MEMORY, MEMORY))  # s_i^T y_j for j not before i, and y_i^T z_j
        self._order: list[int] = []  # places of the pairs by age
        self.gradient, self._scaled = gradient, _flat(solve(gradient))
        self._products: Floats = np.zeros((2, MEMORY))  # s^T g and z^T g

    def direction(self) -> Floats:
        """Return -H g at the last gradient, in its memory layout."""
        (sg, zg), order = self._products, self._order
        a, b = np.zeros((2, MEMORY))  # q = g - sum_j a_j y_j, and r = gamma M^-1 q + sum_j b_j s_j
        for i in reversed(order):
            a[i] = (sg[i] - self._sy[i] @ a) / self._sy[i, i]
        scale = self._sy[order[-1], order[-1]] / self._yz[order[-1], order[-1]] if order else 1.0
        for i in order:
            b[i] = a[i] - (scale * (zg[i] - self._yz[i] @ a) + b @ self._sy[:, i]) / self._sy[i, i]
        n = len(order)
        s, z = self._pairs[:, :n]
        return _like(self.gradient, -scale * self._scaled - b[:n] @ s + (scale * a[:n]) @ z)

    def move(self, gradient: Floats) -> Floats:
        """Replace the gradient; return the changes of the products s^T g and z^T g."""
        n, changes = len(self._order), -self._products
        self.gradient, self._scaled = gradient, _flat(self._solve(gradient))
        self._products[:, :n] = [pairs[:n] @ _flat(gradient) for pairs in self._pairs]
        return changes + self._products

    def update(self, step: Floats, gradient: Floats) -> None:
        """Add the pair of a step to this gradient, in place of the oldest one if the memory is full."""
        last, last_scaled = _flat(self.gradient), self._scaled
        changes = self.move(gradient)
        s, y, z = _flat(step), _flat(gradient) - last, self._scaled - last_scaled
        curvature, scaled_square = float(s @ y), float(y @ z)
        is_positive = curvature > MIN_COSINE * float(np.linalg.norm(s)) * float(np.linalg.norm(y))
        if not (is_positive and scaled_square > 0.0):
            return
        i = len(self._order) if len(self._order) < MEMORY else self._order.pop(0)
        self._order.append(i)
        self._pairs[:, i] = s, z
        self._sy[i], self._sy[:, i] = 0.0, changes[0]
        self._yz[i] = self._yz[:, i] = changes[1]
        self._sy[i, i], self._yz[i, i] = curvature, scaled_square
        self._products[:, i] = s @ _flat(gradient), z @ _flat(gradient)


def minimize(
    problem: SmoothProblem,
    weights: Floats,
    *,
    tol: float,
    max_iter: int,
    min_value: float = 0.0,
    single: SmoothProblem | None = None,
) -> Solution:
    """Find a stationary point.

    Parameters
    ----------
    problem : SmoothProblem
    weights : ndarray of shape (K, D)
        The start.
    tol : float
        Stop if g^T H g, an estimate of twice the distance to the minimum, is at most tol^2 max(F, `min_value`).
    max_iter : int
    min_value : float
    single : SmoothProblem, optional
        The objective with products in single precision, for the iterations until the criterion holds with a `tol` of
        1e-3.

    Returns
    -------
    Solution
    """
    start = problem.point(weights, problem.matvec(weights))
    _check_finite(start.value)
    descent = None if single is None else _descend_in_single_precision(problem, single, start, tol, max_iter, min_value)
    if descent is None:
        descent = Descent(problem, start)
    converged = descent.run(tol, max_iter, min_value)
    return Solution(descent.point.weights, np.array(descent.path), descent.gradient, descent.n_iter, converged)


def _descend_in_single_precision(
    problem: SmoothProblem, single: SmoothProblem, start: Any, tol: float, max_iter: int, min_value: float
) -> "Descent | None":
    """Return the first iterations, to be continued with `problem`; None if the features need double precision."""
    try:
        descent = Descent(single, start)
        descent.run(max(tol, SINGLE_TOL), max_iter, min_value, verify=False)
    except InputError:  # overflow of single precision
        return None
    rough, weights = descent.point.value, descent.point.weights
    descent.move(problem, problem.point(weights, problem.matvec(weights)))
    return descent if abs(descent.point.value - rough) <= SINGLE_TOL * rough else None


class Descent:
    """Iterations of L-BFGS from a point, which `move` continues with another form of the objective."""

    def __init__(self, problem: SmoothProblem, start: Any) -> None:
        self.problem, self.point, self.gradient, self.path = problem, start, problem.gradient(start), [start.value]
        self.n_iter, self._n_spent, self._price = 0, 0, problem.block_cost
        self._kind = problem.first_kind
        self._restart()

    def run(self, tol: float, max_iter: int, min_value: float, *, verify: bool = True) -> bool:
        """Iterate until g^T H g is at most tol^2 max(F, `min_value`); return False if that is not reached."""
        while True:
            step = self._inverse.direction()
            slope = float(_flat(step) @ _flat(self.gradient))
            _check_finite(slope)
            goal = min(tol, 1.0) ** 2 * max(self.point.value, min_value)
            if 0.0 <= -slope <= goal:
                if not verify or self._is_verified(goal):
                    return True
                self._restart()
                continue
            if self.n_iter >= max_iter:
                return False
            found = _search(self.problem, self.point, step, slope) if slope < 0.0 else None
            if found is not None:
                self._advance(*found)
            elif self._is_first:
                return abs(slope) <= ROUNDING_TOL * self.point.value  # rounding hides any decrease
            else:
                self._restart()

    def move(self, problem: SmoothProblem, point: Any) -> None:
        """Continue with another objective, whose point at the same weights is given."""
        self.problem, self.point, self.gradient = problem, point, problem.gradient(point)
        self.path[-1] = point.value
        self._inverse.move(self.gradient)

    def _advance(self, point: Any, step: Floats) -> None:
        self.point, self.gradient = point, self.problem.gradient(point)
        self.path.append(point.value)
        self._is_first, self.n_iter, self._n_spent = False, self.n_iter + 1, self._n_spent + 1
        if self._n_spent < self._price:
            self._inverse.update(step, self.gradient)
            return
        self._n_spent, self._price, self._kind = 0, 2.0 * self._price, "blocks"
        self._restart()

    def _is_verified(self, goal: float) -> bool:
        """Return whether the curvature at the point alone shows that g^T M^-1 g is small.

        The pairs may have another curvature: of kinks, or of saturated rows. The common block has the mean curvature of
        the classes, at least 1/K of each one's, so that its inverse exceeds theirs at most by the factor K.
        """
        if self._is_first or self.problem.first_kind == "diagonal":
            return True
        solve = self.problem.preconditioner(self.point, "common")
        return bool(np.vdot(self.gradient, solve(self.gradient)) <= len(self.gradient) * goal)

    def _restart(self) -> None:
        """Forget the pairs, and compute the preconditioner at the point."""
        self._inverse = InverseHessian(self.problem.preconditioner(self.point, self._kind), self.gradient)
        self._is_first = True


def _search(problem: SmoothProblem, point: Any, step: Floats, slope: float) -> tuple[Any, Floats] | None:
    """Return a point along a step where Wolfe's conditions hold, and the step to it; None if there is no decrease."""
    score_step, length, low, high = problem.matvec(step), 1.0, 0.0, np.inf
    best, rounding = None, ROUNDING * abs(point.value)
    for _ in range(MAX_TRIALS):
        trial = problem.point(point.weights + length * step, point.scores + length * score_step)
        rise = trial.value - point.value
        if not rise <= MIN_DECREASE * length * slope + rounding:
            high = length
            parabola = -0.5 * slope * length**2 / (rise - length * slope)  # its minimum
            length = low + np.clip(
                parabola - low if np.isfinite(parabola) else 0.0, 0.1 * (high - low), 0.5 * (high - low)
            )
            continue
        best = trial, length * step
        if problem.slope(trial, step, score_step) >= MAX_SLOPE * slope:
            break
        low = length
        length = 2.0 * length if high == np.inf else 0.5 * (low + high)
    return best


def _flat(values: Floats) -> Floats:
    """Return the values as a vector, without a copy."""
    return values.ravel(order="K")


def _like(values: Floats, flat: Floats) -> Floats:
    """Return the vector in the shape and the memory layout of `values`."""
    return flat.reshape(values.shape, order="F" if values.flags.f_contiguous else "C")


def _check_finite(value: float) -> None:
    if not np.isfinite(value):
        raise InputError(OVERFLOW)
