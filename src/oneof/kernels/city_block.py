"""City-block distances of dense rows, in the precision of the rows."""

import numpy as np
from array_api_compat import is_torch_array

from oneof.jit import compiled
from oneof.typing import Array, Floats


def city_block_distances(X: Array, Y: Array) -> Array:
    """Return sum_f |x_if - y_jf|, (n, m).

    The sum of a pair does not depend on the other rows, so that a row has the same distances in every block. SciPy's
    `cdist` computes in float64 and is about four times slower.

    Parameters
    ----------
    X, Y : NumPy array or tensor of shape (n, d) and (m, d)
        In float32 or float64, both in the same precision.
    """
    if is_torch_array(X):
        import torch

        return torch.cdist(X, Y, p=1.0)
    out = np.empty((len(X), len(Y)), dtype=X.dtype)
    _city_block(np.ascontiguousarray(X), np.ascontiguousarray(Y), out)
    return out


@compiled
def _city_block(X: Floats, Y: Floats, out: Floats) -> None:
    n, d = X.shape
    m = Y.shape[0]
    zero = X.dtype.type(0)
    for top in range(0, m, 64):  # a tile of rows of Y stays in the cache while all rows of X pass by
        for i in range(n):
            for j in range(top, min(top + 64, m)):
                total = zero
                for f in range(d):
                    total += abs(X[i, f] - Y[j, f])
                out[i, j] = total
