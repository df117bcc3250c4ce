"""Preconditioned conjugate gradients for symmetric systems that are known only by their products.

The equation numbers are those of Conn, Gould & Toint (2000), Trust-region methods, sections 5.1 and 7.5.1. The norm |x|
is that of the preconditioner, |x|^2 = x^T M x, and is computed by recurrences, without M itself.

Arrays may have any shape and any array namespace. Several right sides are one system with a block-diagonal matrix, and
one step length serves all of them. An application whose search directions are more than arrays of the shape of the
residuals, such as coefficients together with their image under a kernel, passes its own `inner` product.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from array_api_compat import array_namespace

from oneof.typing import Array

Operator = Callable[[Any], Any]

MIN_RTOL = 1e-14
"""Smallest relative tolerance; below it residuals are rounding errors."""


@dataclass(frozen=True)
class CGResult:
    """Approximate solution of a linear system."""

    solution: Any
    norm: float
    """|x|, in the norm of the preconditioner."""
    direction: Any
    """The last search direction; with the end "curvature" a direction p with p^T H p <= 0."""
    n_products: int
    end: Literal["converged", "boundary", "curvature", "max_iter"]
    """The reason of the end; "curvature" is a direction along which the matrix is not positive."""


def inner_product(residual: Array, direction: Array) -> float:
    """Return the sum of the products of all entries."""
    return float(array_namespace(residual).sum(residual * direction))


def conjugate_gradients(
    product: Operator,
    right_side: Array,
    preconditioner: Operator | None = None,
    *,
    tol: float | Callable[[float], float],
    max_iter: int,
    radius: float = float("inf"),
    min_curvature: float = 0.0,
    inner: Callable[[Any, Any], float] = inner_product,
) -> CGResult:
    """Solve H x = b by conjugate gradients, within a trust region if `radius` is finite (Steihaug 1983).

    Parameters
    ----------
    product : callable
        Return H p for a direction p.
    right_side : array
        b, of one or several right sides.
    preconditioner : callable, optional
        Return M^-1 r for a residual r, with M close to H; r itself by default.
    tol : float or callable
        The iterations stop at a residual with |M^-1 r| <= tol |M^-1 b|. A callable returns it from |M^-1 b|.
    max_iter : int
        Maximum number of products.
    radius : float
        Maximum of |x|. A step that would leave the region ends at its boundary, as does one along a direction p
        with p^T H p <= 0. If the region is unlimited, such a step ends at max(|x|, |M^-1 b|): the first step is then
        that of steepest descent.
    min_curvature : float
        Directions with p^T H p <= min_curvature |p|^2 count as directions without positive curvature.
    inner : callable
        Return r^T p for a residual and a direction, for directions of another form than residuals.

    Returns
    -------
    CGResult
    """
    precondition = preconditioner or _identity
    residual, direction = right_side, precondition(right_side)
    solution = 0.0 * direction
    square = first = inner(residual, direction)  # r^T M^-1 r
    goal = max(tol(max(first, 0.0) ** 0.5) if callable(tol) else tol, MIN_RTOL) ** 2 * first
    norm, mixed, searched = 0.0, 0.0, square  # |x|^2, x^T M p and |p|^2
    for n_products in range(max_iter):
        if square <= max(goal, 0.0):
            return CGResult(solution, max(norm, 0.0) ** 0.5, direction, n_products, "converged")
        image = product(direction)
        curvature = inner(image, direction)
        is_positive = curvature > min_curvature * searched
        length = square / curvature if is_positive else float("inf")
        reached = norm + 2.0 * length * mixed + length**2 * searched  # (7.5.5)
        if not is_positive or reached >= radius**2:
            bound = radius**2 if radius < float("inf") else max(norm, first)
            root = (mixed**2 + searched * max(bound - norm, 0.0)) ** 0.5
            solution = solution + (root - mixed) / searched * direction
            return CGResult(solution, bound**0.5, direction, n_products + 1, "boundary" if is_positive else "curvature")
        solution = solution + length * direction
        residual = residual - length * image
        solved = precondition(residual)
        last, square = square, inner(residual, solved)
        ratio = square / last
        direction = solved + ratio * direction
        norm, mixed, searched = reached, ratio * (mixed + length * searched), square + ratio**2 * searched
    return CGResult(
        solution, max(norm, 0.0) ** 0.5, direction, max_iter, "converged" if square <= max(goal, 0.0) else "max_iter"
    )


def _identity(residual: Any) -> Any:
    return residual
