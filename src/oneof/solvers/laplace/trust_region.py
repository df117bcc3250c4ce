"""Trust-region Newton method that maximizes Psi at one sharpness.

Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k. Over coefficients A with F = K A it is a function on the
reproducing kernel Hilbert space, whose inner product is <A, B> = sum A (K B). In that inner product its gradient is q -
pi - A, and its negative Hessian is I + W_true K. The method therefore needs neither K^-1 nor a factor of K: each
iteration of conjugate gradients costs one product of K with an n x K block.

If K = Phi Phi^T, the same method works on the weights w = Phi^T A of the features, whose prior covariance is the
identity: see `oneof.solvers.laplace.weight_space`. There the conjugate gradients have a preconditioner M^-1, and the
norm of the region is that of M.

W_true has negative eigenvalues at finite sharpness. A trust region in the same norm handles them (Steihaug 1983): a
step that would leave the region, or that meets negative curvature, ends at its boundary. A step is rejected, and the
region shrinks, if Psi increases by less than a fraction of the increase that the quadratic model predicts. Psi
therefore never decreases. (The published method omits the negative term. It also increases Psi, but takes hundreds of
steps where the trust region takes tens.)
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace

from oneof.solvers.laplace.model import HessianOperator
from oneof.typing import Array

ANNEALING_SHARPNESS = (0.1, 1.0, 10.0)
"""Sharpness of the annealing stages that precede a larger one."""
STAGE_TOL = 0.05
"""Tolerance of each annealing stage."""
MAX_CG_ITER = 200
"""Maximum number of conjugate gradient iterations within one step."""
MIN_TOL_EPS = 500.0
"""Minimum tolerance, in units of the machine epsilon of the latents."""
PSI_ROUNDING_EPS = 20.0
"""Rounding error of Psi, in the same units."""
MAX_IDLE_STEPS = 100
"""Maximum number of consecutive full-precision steps whose increase of Psi does not exceed its rounding error."""
FLOAT32_MIN_TOL = 1e-3
"""Tolerance above which convergence may be tested in single precision."""
MIN_CG_RTOL = 1e-3
"""Minimum relative residual of a step; the distance from the mode is used if it is larger."""
MIN_GAIN_RATIO = 1e-4
"""Minimum ratio of the actual to the predicted increase of Psi with which a step is accepted."""


class PriorOperator(Protocol):
    """Covariance of the prior as a linear operator: see `oneof.solvers.laplace.model`."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""

    def max_abs(self, latents: Array) -> float:
        """Return max |F| over rows and classes."""

    def matvec(self, V: Array) -> Array:
        """Return K v."""

    def matvec_float32(self, V: Array) -> Array:
        """Return K v in single precision."""


class Derivatives(HessianOperator, Protocol):
    """First and second derivatives of the log likelihood at some latents."""

    @property
    def gradient(self) -> Array:
        """Gradient of the log likelihood."""

    def hvp_float32(self, direction: Array) -> Array:
        """Return the negative Hessian times a direction, in single precision if that saves time."""

    def precondition(self, residual: Array) -> Array:
        """Return M^-1 r with M close to I + W_true K; r itself without a preconditioner."""


class LogPosterior(Protocol):
    """Log posterior Psi as a function of the latents: see `Likelihood` in `oneof.solvers.laplace.model`."""

    def psi(self, coefficients: Array, latents: Array) -> float:
        """Return Psi."""

    def derivatives(self, latents: Array) -> Derivatives:
        """Return the derivatives of the log likelihood."""


class TrustRegionNewton:
    """State of the Newton method at one sharpness."""

    def __init__(self, prior: PriorOperator, likelihood: LogPosterior, coefficients: Array, latents: Array) -> None:
        self.xp = array_namespace(latents)
        self.prior, self.likelihood = prior, likelihood
        self.coefficients, self.latents = coefficients, latents
        self.derivatives = likelihood.derivatives(latents)
        self.objective_path = [likelihood.psi(coefficients, latents)]
        self.n_iter = 0
        self._eps = float(self.xp.finfo(latents.dtype).eps)
        # Products are in single precision as long as the steps make progress with it. At level 0 these are all
        # products but those that update the latents, at level 1 those within a step, at level 2 none.
        self._precision_level = 0
        self._last_distance = np.inf
        self._radius = np.inf
        self._n_idle = 0

    def run(self, max_iter: int, tol: float) -> bool:
        """Iterate, and return whether the mode was reached."""
        tol = max(tol, MIN_TOL_EPS * self._eps)
        while True:
            gradient = self.derivatives.gradient - self.coefficients
            direction = (
                self.prior.matvec(gradient) if self._precision_level > 0 else self.prior.matvec_float32(gradient)
            )
            distance = relative_size(self.prior, direction, self.latents)
            if distance <= tol:
                if self._precision_level > 0 or tol > FLOAT32_MIN_TOL:
                    return True
                self._precision_level = 1
            elif self.n_iter == max_iter or self._n_idle == MAX_IDLE_STEPS:
                return False
            else:
                if self._precision_level == 1 and distance > 0.5 * self._last_distance:
                    self._precision_level = 2
                self._last_distance = distance if self._precision_level == 1 else np.inf
                self._step(gradient, direction, rtol=min(0.1, max(distance, MIN_CG_RTOL)))

    def _step(self, gradient: Array, direction: Array, rtol: float) -> None:
        """Compute one step, adapt the region, and accept the step if Psi increases sufficiently."""
        xp = self.xp
        self.n_iter += 1
        is_single = self._precision_level < 2
        matvec = self.prior.matvec_float32 if is_single else self.prior.matvec
        hvp = self.derivatives.hvp_float32 if is_single else self.derivatives.hvp
        step, latent_step, norm = self._solve(matvec, hvp, gradient, direction, rtol)
        predicted = float(xp.sum(gradient * latent_step) - 0.5 * xp.sum(latent_step * (step + hvp(latent_step))))
        coefficients, latents = self.coefficients + step, self.latents + latent_step
        psi = self.likelihood.psi(coefficients, latents)
        # Psi may be near 0 although the latents, over which it is a sum, are not.
        size = max(abs(psi), self.prior.n_rows**0.5 * self.prior.max_abs(latents))
        rounding = PSI_ROUNDING_EPS * self._eps * size
        increases = predicted > rounding and psi - self.objective_path[-1] > MIN_GAIN_RATIO * predicted
        self._n_idle = 0 if increases or self._precision_level < 2 else self._n_idle + 1
        if self._precision_level < 2 and predicted <= (rounding if self._precision_level == 0 else -rounding):
            self._precision_level += 1  # no further progress is possible in single precision
            return
        ratio = (psi - self.objective_path[-1]) / predicted if predicted > rounding else 1.0
        if ratio < 0.25:
            self._radius = 0.25 * norm
        elif ratio > 0.75:
            self._radius = max(self._radius, 2.0 * norm)
        if ratio > MIN_GAIN_RATIO:
            self.coefficients, self.latents = coefficients, latents
            self.derivatives = self.likelihood.derivatives(latents)
            self.objective_path.append(psi)

    def _solve(
        self,
        matvec: Callable[[Array], Array],
        hvp: Callable[[Array], Array],
        gradient: Array,
        direction: Array,
        rtol: float,
    ) -> tuple[Array, Array, float]:
        """Return the step within the region, the step of the latents, and the norm of the step.

        A preconditioner only accelerates steps that end inside the region. If it also changed how steps end at the
        boundary, the iteration would often reach another maximum.
        """
        preconditioned = self.derivatives.precondition(gradient)
        if preconditioned is not gradient:
            precondition = self.derivatives.precondition
            step = conjugate_gradients(matvec, hvp, precondition, gradient, preconditioned, rtol)
            if step is not None:
                latent_step = self.prior.matvec(step)
                norm = max(float(self.xp.sum(step * latent_step)), 0.0) ** 0.5
                if norm < self._radius:
                    return step, latent_step, norm
        step, norm = truncated_conjugate_gradients(matvec, hvp, gradient, direction, self._radius, rtol)
        return step, self.prior.matvec(step), norm


def stages_below(sharpness: float) -> list[float]:
    """Return the sharpness of each annealing stage that is below the given one."""
    return [level for level in ANNEALING_SHARPNESS if level < sharpness]


def relative_size(prior: PriorOperator, direction: Array, latents: Array) -> float:
    """Return max |direction| / max(1, max |F|)."""
    return prior.max_abs(direction) / max(1.0, prior.max_abs(latents))


def truncated_conjugate_gradients(
    matvec: Callable[[Array], Array],
    hvp: Callable[[Array], Array],
    gradient: Array,
    direction: Array,
    radius: float,
    rtol: float,
) -> tuple[Array, float]:
    """Return coefficients V, with |V| <= radius, that approximately solve (I + W_true K) V = gradient, and |V|.

    The inner product of the conjugate gradients is <A, B> = sum A (K B); `direction` is K gradient. The iteration stops
    at a relative residual norm of `rtol`, at the boundary, or at the boundary point in a direction of negative
    curvature. The norm is updated by recurrences (Conn, Gould & Toint 2000, section 7.5.1).
    """
    xp = array_namespace(gradient)
    solution, residual = xp.zeros_like(gradient), gradient
    search, search_image = residual, direction  # search_image: K search
    squared_norm = first = float(xp.sum(residual * search_image))
    if not first > 0:  # the gradient consists of rounding errors
        return solution, 0.0
    # Inner products of the solution, of the solution and the search direction, and of the search direction.
    inner, mixed, searched = 0.0, 0.0, first
    for _ in range(MAX_CG_ITER):
        product = search + hvp(search_image)
        curvature = float(xp.sum(search_image * product))
        length = squared_norm / curvature if curvature > 0 else np.inf
        if curvature <= 0 and float(xp.sum(search * search_image)) <= 0:  # only rounding errors remain
            break
        if curvature <= 0 or inner + 2 * length * mixed + length * length * searched >= radius * radius:
            if radius == np.inf:  # negative curvature in the very first step: its length is that of the gradient
                radius = max(inner, first) ** 0.5
            root = (mixed * mixed + searched * max(radius * radius - inner, 0.0)) ** 0.5
            return solution + (root - mixed) / searched * search, radius
        solution = solution + length * search
        residual = residual - length * product
        residual_image = matvec(residual)
        last, squared_norm = squared_norm, float(xp.sum(residual * residual_image))
        inner += 2 * length * mixed + length * length * searched
        if squared_norm <= rtol**2 * first:
            break
        ratio = squared_norm / last
        search, search_image = residual + ratio * search, residual_image + ratio * search_image
        mixed, searched = ratio * (mixed + length * searched), squared_norm + ratio**2 * searched
    return solution, max(inner, 0.0) ** 0.5


def conjugate_gradients(
    matvec: Callable[[Array], Array],
    hvp: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    gradient: Array,
    preconditioned: Array,
    rtol: float,
) -> Array | None:
    """Return V with (I + W_true K) V = gradient to a relative residual norm, or None if the curvature is not positive.

    The parameters are those of `truncated_conjugate_gradients`; `preconditioned` is M^-1 gradient.
    """
    xp = array_namespace(gradient)
    solution, residual, search = xp.zeros_like(gradient), gradient, preconditioned
    search_image = matvec(search)
    squared_norm = first = float(xp.sum(residual * search_image))
    for _ in range(MAX_CG_ITER):
        product = search + hvp(search_image)
        curvature = float(xp.sum(search_image * product))
        if not curvature > 0:
            return None
        length = squared_norm / curvature
        solution, residual = solution + length * search, residual - length * product
        preconditioned = precondition(residual)
        preconditioned_image = matvec(preconditioned)
        last, squared_norm = squared_norm, float(xp.sum(residual * preconditioned_image))
        if squared_norm <= rtol**2 * first:
            break
        search = preconditioned + squared_norm / last * search
        search_image = preconditioned_image + squared_norm / last * search_image
    return solution
