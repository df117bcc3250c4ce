"""The large eigenvalues of a positive semi-definite matrix, by a block Lanczos method (Golub & Underwood 1977)."""

from collections.abc import Callable

from array_api_compat import array_namespace

from oneof.typing import Array


def large_eigenpairs(
    product: Callable[[Array], Array], draw: Callable[[], Array], eps: float, most: int
) -> tuple[Array, Array] | None:
    """Return nearly all eigenvalues above eps / 2, with vectors.

    Each block of the Krylov space is made orthogonal to all before it. The coupling beta of the last one to what is
    outside tells how large the eigenvalues outside are: those of a continuum on [0, c] have beta = c / 4. Eigenvalues
    that recur more often than a block is wide have directions which the space never meets: so a new random block has
    to find nothing either.

    Parameters
    ----------
    product : callable
        (n, b) -> (n, b): the matrix times some vectors.
    draw : callable
        Returns new random directions, (n, b).
    eps : float
        The space grows until 4 beta <= eps.
    most : int
        Largest dimension of the space.

    Returns
    -------
    values : array of shape (r,)
        Ascending, all above eps / 2.
    vectors : array of shape (n, r)
        Orthonormal. None in place of both if the space would have to be larger.
    """
    start = draw()
    xp = array_namespace(start)
    space, _ = xp.linalg.qr(product(start))
    last = images = product(space)
    is_random = False
    while True:
        block, coupling = xp.linalg.qr(_outside(space, last))
        is_small = 4.0 * _norm(coupling) <= eps
        if is_small and is_random and _norm(space[:, -block.shape[1] :].mT @ last) <= eps:
            break  # a random block found nothing, and leads nowhere
        is_random = is_small
        # Once more, as rounding leaves something of the space in them, and nothing else where few directions are left
        # (twice is enough: Parlett 1980).
        block, _ = xp.linalg.qr(_outside(space, draw() if is_random else block))
        if space.shape[1] + block.shape[1] > most:
            return None
        last = product(block)
        space, images = xp.concat([space, block], axis=1), xp.concat([images, last], axis=1)
    projected = space.mT @ images
    values, turns = xp.linalg.eigh((projected + projected.mT) / 2.0)
    first = values.shape[0] - int(xp.sum(xp.astype(values > 0.5 * eps, xp.int64)))
    return values[first:], space @ turns[:, first:]


def _outside(space: Array, vectors: Array) -> Array:
    return vectors - space @ (space.mT @ vectors)


def _norm(matrix: Array) -> float:
    xp = array_namespace(matrix)
    return float(xp.max(xp.linalg.svdvals(matrix)))
