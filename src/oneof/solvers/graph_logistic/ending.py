"""When a method of linear convergence has arrived."""

import numpy as np

from oneof.typing import Floats


class Ending:
    """Tells the end from the steps: what is left is step * rate / (1 - rate), by the rate at which steps shrink."""

    def __init__(self, tol: float) -> None:
        self.tol = 0.01 * tol  # of weights, not of what they are measured by, which may be blind to a part of them
        self._before = np.inf

    def reached(self, step: Floats, whole: Floats) -> bool:
        """Whether what is left is at most `tol` times the whole, both in any one measure."""
        length, size = float(np.linalg.norm(step)), float(np.linalg.norm(whole))
        rate = 1.0 if np.isinf(self._before) else min(length / self._before, 1.0)
        self._before = length
        return length == 0.0 or length * rate <= self.tol * size * (1.0 - rate)
