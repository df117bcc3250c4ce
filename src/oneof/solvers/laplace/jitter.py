"""Gram matrices of kernels of which nobody knows that they are positive semi-definite."""

import numpy as np
from array_api_compat import array_namespace

from oneof.errors import InputError
from oneof.solvers.laplace.factors import lower_root
from oneof.typing import Array

JITTERS = (1e-10, 1e-8, 1e-6)
"""What is added to the diagonal, as shares of its mean, until there is a Cholesky factor."""


def least_jitter(gram: Array) -> float:
    """Return the least jitter, as a share of the mean variance, with which a Gram matrix has a Cholesky factor.

    The first is no more than rounding, and counts as 0.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or none is enough.
    """
    xp = array_namespace(gram)
    scale = float(xp.mean(xp.abs(xp.linalg.diagonal(gram))))
    if float(xp.max(xp.abs(gram - gram.mT))) > 1e-7 * max(scale, 1e-300):
        raise InputError("the kernel is not symmetric: k(x, y) and k(y, x) must be equal.")
    for jitter in JITTERS:
        shifted = gram + jitter * scale * xp.eye(gram.shape[0], dtype=gram.dtype, device=gram.device)
        try:
            root = lower_root(shifted)
        except np.linalg.LinAlgError:
            continue
        if bool(xp.all(xp.isfinite(root))):
            return 0.0 if jitter == JITTERS[0] else jitter
    raise InputError(
        f"the kernel is not positive semi-definite: {JITTERS[-1]:g} of its mean variance on the diagonal does not mend "
        "it; give a kernel that is (ExpSineSquared is one for a single feature only)."
    )
