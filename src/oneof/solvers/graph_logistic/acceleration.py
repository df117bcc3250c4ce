"""Faster than the fixed-point iteration x <- phi(x) on the logarithms of precisions.

Precisions of terms that overlap trade places slowly: Anderson's acceleration (1965) takes phi for affine. And a
precision of which next to nothing depends runs to an end of its range by about one factor a round: it is sent there.
"""

import numpy as np

from oneof.typing import Floats

DEPTH = 4
"""Earlier rounds that are looked back on."""
MANY = 20
"""Precisions beyond which the steps are plain: those of single weights, whose ways have little in common."""
FURTHEST = 3.0
"""Most by which a logarithm may move beyond the plain step."""
GROWTH = 1.3
"""Of that distance with each step, up to there; a step taken back quarters it."""
NO_SLOPE, NO_END = 0.01, 0.03
"""A precision by whose logarithm the evidence changes by less than the first, and which moves by more than the second,
is sent to the end."""


class Acceleration:
    """Proposes the next x from the last ones and their phi(x)."""

    def __init__(self, lowest: Floats, largest: Floats) -> None:
        self._range = lowest, largest
        self._sent = np.zeros(len(lowest), dtype=bool)
        self._reach = FURTHEST
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._points: list[Floats] = []
        self._residuals: list[Floats] = []

    def take_back(self) -> None:
        """Go less far, and begin anew."""
        self._begin_anew()
        self._reach /= 4.0

    def next(self, x: Floats, image: Floats, slopes: Floats) -> Floats:
        """Return where to go from x, whose phi(x) is `image`, and how the evidence changes by each."""
        residual = image - x
        idle = (np.abs(slopes) < NO_SLOPE) & (np.abs(residual) > NO_END) & ~self._sent
        if idle.any():
            self._sent |= idle
            self._begin_anew()
            return np.where(idle, np.where(residual > 0, self._range[1], self._range[0]), image)
        self._points = [*self._points[-DEPTH:], x]
        self._residuals = [*self._residuals[-DEPTH:], residual]
        if len(self._points) == 1 or len(x) > MANY:
            return image
        moves = np.diff(np.array(self._points), axis=0).T
        changes = np.diff(np.array(self._residuals), axis=0).T
        mixed = np.linalg.lstsq(changes, residual, rcond=1e-6)[0]
        beyond = -(moves + changes) @ mixed
        beyond *= min(1.0, self._reach / max(float(np.abs(beyond).max()), 1e-300))
        self._reach = min(GROWTH * self._reach, FURTHEST)
        return np.asarray(np.clip(image + beyond, *self._range))
