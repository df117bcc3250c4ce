"""The best intercept for given weights."""

import numpy as np

from oneof.typing import Floats


def best_intercept(products: Floats, signs: Floats, costs: Floats) -> float:
    """Return the b for which sum_i C_i max(0, 1 - y_i (p_i + b)) is least.

    Where an interval of them is, its middle is returned, and where that goes on without end (all rows have one sign),
    its only end, for which the losses are just 0.

    Parameters
    ----------
    products : ndarray of shape (n,)
        p, without an intercept.
    signs : ndarray of shape (n,)
        -1 or 1.
    costs : ndarray of shape (n,)
        At least 0, and one of them above.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> best_intercept(np.array([2.0, 0.5]), np.array([1.0, -1.0]), np.ones(2))
    -1.25
    """
    counted = np.flatnonzero(costs > 0.0)
    bends = signs[counted] - products[counted]  # where a row's loss begins or ends, and the slope rises by its cost
    order = np.argsort(bends, kind="stable")
    bends, counted = bends[order], counted[order]
    slopes = np.cumsum(costs[counted]) - float(costs[counted][signs[counted] > 0].sum())  # to the right of each bend
    level = 1e-10 * float(costs[counted].sum())
    low = int(np.argmax(slopes >= -level))
    high = int(np.argmax(slopes > level)) if slopes[-1] > level else low
    return 0.5 * float(bends[low] + bends[high])
