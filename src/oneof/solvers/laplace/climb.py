"""The ascent of Psi at one sharpness, by Newton steps in a trust region.

Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k. Over coefficients A with F = K A it is a function on the
reproducing kernel Hilbert space, whose inner product is <A, B> = sum A (K B). In that inner product its gradient is q -
pi - A, and its negative Hessian I + W_true K. So no K^-1 is needed, nor a factor of K: each step of conjugate gradients
costs one product of K with an n x K block.

Where K = Phi Phi^T the same ascent can be made over the weights w = Phi^T A of the features, whose prior covariance is
the identity: see `oneof.solvers.laplace.weight_space`.

W_true has negative eigenvalues at finite sharpness. A trust region, in the same norm, copes with them (Steihaug 1983):
a step that would leave it, or that meets negative curvature, ends at its border. Where Psi does not rise by a share of
what the quadratic model says, the step is not taken, and the region shrinks: Psi never falls. (Leaving the negative
term out, as published, climbs too, in hundreds of steps where the trust region takes tens.)
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace

from oneof.solvers.laplace.likelihood import Bends
from oneof.typing import Array

MOST_PRODUCTS = 200
"""Most products within one step."""
LEAST_DISTANCE = 500.0
"""Least tolerance, in units of the precision of the latents."""
ROUNDING = 20.0
"""Of Psi, in the same units."""
MOST_IDLE = 100
"""Most steps in a row, in full precision, by which Psi does not rise beyond rounding."""
ROUGHEST = 1e-3
"""Tolerance above which single precision may tell whether it is kept."""
LEAST_ACCURACY = 1e-3
"""Of a step, as the share of the slope that it leaves; it is the distance from the mode before that."""
LEAST_RATIO = 1e-4
"""Least rise of Psi for which a step is taken, as a share of what the model says."""


class Metric(Protocol):
    """What the ascent asks of the prior: see `oneof.solvers.laplace.prior`."""

    @property
    def n_rows(self) -> int:
        """N."""

    def largest(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""

    def product(self, V: Array) -> Array:
        """Return K v."""

    def rough_product(self, V: Array) -> Array:
        """Return K v to single precision."""


class Slopes(Bends, Protocol):
    """What it asks of the likelihood at some latents."""

    @property
    def slopes(self) -> Array:
        """The gradient of the log likelihood."""


class Heights(Protocol):
    """What it asks of the likelihood: see `oneof.solvers.laplace.likelihood`."""

    def psi(self, coefficients: Array, latents: Array) -> float:
        """Return Psi."""

    def at(self, latents: Array) -> Slopes:
        """Return the derivatives."""


class Climb:
    """The ascent at one sharpness."""

    def __init__(self, prior: Metric, likelihood: Heights, coefficients: Array, latents: Array) -> None:
        self.xp = array_namespace(latents)
        self.prior, self.likelihood = prior, likelihood
        self.coefficients, self.latents = coefficients, latents
        self.shares = likelihood.at(latents)
        self.objective = [likelihood.psi(coefficients, latents)]
        self.n_iter = 0
        self._eps = float(self.xp.finfo(latents.dtype).eps)
        # Products are in single precision as long as that brings the steps on: first all but those of the latents'
        # moves, then those within a step, then none.
        self._precision = 0
        self._before = np.inf
        self._radius = np.inf
        self._idle = 0

    def run(self, max_iter: int, tol: float) -> bool:
        """Climb, and return whether the mode was reached."""
        tol = max(tol, LEAST_DISTANCE * self._eps)
        while True:
            slope = self.shares.slopes - self.coefficients
            move = self.prior.product(slope) if self._precision > 0 else self.prior.rough_product(slope)
            distance = relative_size(self.prior, move, self.latents)
            if distance <= tol:
                if self._precision > 0 or tol > ROUGHEST:
                    return True
                self._precision = 1
            elif self.n_iter == max_iter or self._idle == MOST_IDLE:
                return False
            else:
                if self._precision == 1 and distance > 0.5 * self._before:
                    self._precision = 2
                self._before = distance if self._precision == 1 else np.inf
                self._step(slope, move, accuracy=min(0.1, max(distance, LEAST_ACCURACY)))

    def _step(self, slope: Array, move: Array, accuracy: float) -> None:
        """Try one step, adapt the region, and take the step if Psi rises by it."""
        xp = self.xp
        self.n_iter += 1
        product = self.prior.product if self._precision == 2 else self.prior.rough_product
        step = truncated_conjugate_gradients(product, self.shares, slope, move, self._radius, accuracy)
        moved = self.prior.product(step)
        expected = float(xp.sum(slope * moved) - 0.5 * xp.sum(moved * (step + self.shares.bends(moved))))
        coefficients, latents = self.coefficients + step, self.latents + moved
        psi = self.likelihood.psi(coefficients, latents)
        # Psi may be near 0 where the latents are not, of which it is summed.
        size = max(abs(psi), self.prior.n_rows**0.5 * self.prior.largest(latents))
        rounding = ROUNDING * self._eps * size
        rises = expected > rounding and psi - self.objective[-1] > LEAST_RATIO * expected
        self._idle = 0 if rises or self._precision < 2 else self._idle + 1
        if self._precision < 2 and expected <= (rounding if self._precision == 0 else -rounding):
            self._precision += 1  # single precision brings the steps no further
            return
        ratio = (psi - self.objective[-1]) / expected if expected > rounding else 1.0
        if ratio < 0.25:
            self._radius = 0.25 * max(float(xp.sum(step * moved)), 0.0) ** 0.5
        elif ratio > 0.75:
            self._radius = max(self._radius, 2.0 * max(float(xp.sum(step * moved)), 0.0) ** 0.5)
        if ratio > LEAST_RATIO:
            self.coefficients, self.latents, self.shares = coefficients, latents, self.likelihood.at(latents)
            self.objective.append(psi)


def relative_size(prior: Metric, move: Array, latents: Array) -> float:
    """Return max |move| / max(1, max |F|)."""
    return prior.largest(move) / max(1.0, prior.largest(latents))


def truncated_conjugate_gradients(
    product: Callable[[Array], Array], shares: Bends, slope: Array, move: Array, radius: float, accuracy: float
) -> Array:
    """Return coefficients V, with <V, V> <= radius^2, that nearly solve (I + W_true K) V = slope.

    Conjugate gradients in the inner product <A, B> = sum A (K B); `move` is K slope. They stop where the norm of the
    residual is the share `accuracy` of what it was, at the border, or at negative curvature, which leads there.
    """
    xp = array_namespace(slope)
    solution, ahead = xp.zeros_like(slope), xp.zeros_like(slope)  # V, K V
    residual, direction, turned = slope, slope, move  # turned: K direction
    square = first = float(xp.sum(slope * move))
    if not first > 0:  # of a slope that rounding made
        return solution
    for _ in range(MOST_PRODUCTS):
        bent = direction + shares.bends(turned)
        curvature = float(xp.sum(turned * bent))
        length = square / curvature if curvature > 0 else np.inf
        inner = [float(xp.sum(a * b)) for a, b in ((solution, ahead), (solution, turned), (direction, turned))]
        if inner[2] <= 0:  # rounding is all that is left
            break
        if curvature <= 0 or inner[0] + 2 * length * inner[1] + length**2 * inner[2] >= radius**2:
            if radius == np.inf:  # the first step of all meets negative curvature: go as far as the slope is long
                radius = max(inner[0], first) ** 0.5
            root = (inner[1] ** 2 + inner[2] * max(radius**2 - inner[0], 0.0)) ** 0.5
            return solution + (root - inner[1]) / inner[2] * direction
        solution = solution + length * direction
        ahead = ahead + length * turned
        residual = residual - length * bent
        image = product(residual)
        before, square = square, float(xp.sum(residual * image))
        if square <= accuracy**2 * first:
            break
        direction = residual + square / before * direction
        turned = image + square / before * turned
    return solution
