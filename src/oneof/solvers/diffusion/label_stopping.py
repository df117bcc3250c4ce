"""Stopping of a linear system of diffusion when its labels can no longer change.

The label of a row is its class a with the largest score. It can change only if the errors e of two scores exceed their
margin f_a - f_b, so that e_a^2 + e_b^2 >= (f_a - f_b)^2 / 2. Given a bound B of sum_ik e_ik^2, L rows can change their
labels only if the L smallest of the min_b (f_ia - f_ib)^2 / 2 sum to at most B.
"""

import numpy as np

from oneof.typing import Floats


class LabelStopping:
    """Criterion of `LinearSystem.solve`: at most a fraction of the labels may differ from those of the solution.

    Parameters
    ----------
    tol : float
        The fraction, from 0 to 1.
    """

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self.satisfied = False
        """Whether the criterion was true."""

    def __call__(self, values: Floats, square_error: float) -> bool:
        """Return whether the labels of these (n, K) scores are certain, up to the fraction."""
        n, n_classes = values.shape
        largest = np.partition(values, n_classes - 2, axis=1)[:, -2:] if n_classes > 1 else np.hstack([-values, values])
        smallest_changes = (largest[:, 1] - largest[:, 0]) ** 2 / 2.0
        at = min(int(self._tol * n), n - 1)
        self.satisfied = bool(np.partition(smallest_changes, at)[: at + 1].sum() > square_error)
        return self.satisfied
