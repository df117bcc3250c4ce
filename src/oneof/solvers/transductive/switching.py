"""Which unlabeled rows should trade their signs.

A positive row m and a negative row l of scores f_m < f_l are each better off with the other's sign, unless one of them
has no loss. In losses this is the condition of Joachims (1999): xi_m > 0, xi_l > 0, xi_m + xi_l > 2, for xi_m = 1 - f_m
and xi_l = 1 + f_l, so that xi_m + xi_l - 2 = f_l - f_m. With the weights left as they are, the trade changes the losses
to max(0, 2 - xi_m) < xi_l at the cost of a negative row, and to max(0, 2 - xi_l) < xi_m at that of a positive one; so
it lowers the objective, whatever the two costs are. Pairs that share no row lower it independently of each other.

Scores are only known to the tolerance of the machine. A pair counts as switchable if each of the three conditions holds
by more than a margin, which is that tolerance; rows of equal scores are therefore never traded.
"""

import numpy as np

from oneof.typing import Floats, Ints


def switchable_pairs(scores: Floats, signs: Floats, unlabeled: Ints, *, margin: float) -> tuple[Ints, Ints]:
    """Return disjoint pairs of a positive and a negative row that should trade their signs, the worst placed first.

    The positive row of the i-th lowest score is paired with the negative one of the i-th highest; of equal scores the
    row that comes first. As many pairs are returned as meet the conditions: none only if no pair at all meets them.

    Parameters
    ----------
    scores, signs : ndarray of shape (n,)
    unlabeled : ndarray
        The numbers of the rows that may trade.
    margin : float
        At least 0: by what xi_m > 0, xi_l > 0 and xi_m + xi_l > 2 must hold.

    Returns
    -------
    positive, negative : ndarray
        Of equal length.

    Examples
    --------
    >>> import numpy as np
    >>> scores, signs = np.array([0.5, -0.5, 0.2, 3.0]), np.array([-1.0, 1.0, 1.0, 1.0])
    >>> switchable_pairs(scores, signs, np.arange(4), margin=0.0)
    (array([1]), array([0]))
    """
    f = scores[unlabeled]
    positive, negative = np.flatnonzero(signs[unlabeled] > 0), np.flatnonzero(signs[unlabeled] < 0)
    positive = positive[np.argsort(f[positive], kind="stable")]
    negative = negative[np.argsort(-f[negative], kind="stable")]
    n_pairs = min(len(positive), len(negative))
    positive, negative = positive[:n_pairs], negative[:n_pairs]
    xi_m, xi_l = 1.0 - f[positive], 1.0 + f[negative]
    # All three quantities fall along the pairs, so that those which meet the conditions stand at the beginning.
    chosen = (xi_m > margin) & (xi_l > margin) & (xi_m + xi_l > 2.0 + margin)
    return unlabeled[positive[chosen]], unlabeled[negative[chosen]]
