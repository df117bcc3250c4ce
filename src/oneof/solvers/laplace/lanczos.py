"""The large eigenvalues of a positive semi-definite matrix, by a block Lanczos method (Golub & Underwood 1977)."""

from collections.abc import Callable

from array_api_compat import array_namespace

from oneof.typing import Array


def large_eigenpairs(
    product: Callable[[Array], Array], start: Array, eps: float, most: int
) -> tuple[Array, Array] | None:
    """Return nearly all eigenvalues above eps / 2, with vectors.

    Each block of the Krylov space is made orthogonal to all before it. The coupling beta of the last one to what is
    outside tells how large the eigenvalues outside are: those of a continuum on [0, c] have beta = c / 4.

    Parameters
    ----------
    product : callable
        (n, b) -> (n, b): the matrix times some vectors.
    start : array of shape (n, b)
        Random directions.
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
    xp = array_namespace(start)
    block, _ = xp.linalg.qr(product(start))
    space, images = block, product(block)
    last = images
    while True:
        outside = last - space @ (space.mT @ last)
        outside = outside - space @ (space.mT @ outside)  # twice is enough (Parlett 1980)
        block, coupling = xp.linalg.qr(outside)
        if 4.0 * _norm(coupling) <= eps:
            break
        if space.shape[1] + block.shape[1] > most:
            return None
        last = product(block)
        space, images = xp.concat([space, block], axis=1), xp.concat([images, last], axis=1)
    projected = space.mT @ images
    values, turns = xp.linalg.eigh((projected + projected.mT) / 2.0)
    kept = values > 0.5 * eps
    return values[kept], space @ turns[:, kept]


def _norm(matrix: Array) -> float:
    xp = array_namespace(matrix)
    return float(xp.max(xp.linalg.svdvals(matrix)))
