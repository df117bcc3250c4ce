"""Mode of the posterior: the latents F that maximize Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k.

Over coefficients A with F = K A, Psi is a function on the reproducing kernel Hilbert space, whose inner product is
<A, B> = sum A (K B). In that inner product its gradient is q - pi - A, and its negative Hessian is I + W_true K. The
trust-region Newton method therefore needs neither K^-1 nor a factor of K: each iteration of conjugate gradients costs
one product of K with an n x K block. The steps of `GramObjective` are pairs (A, K A).

If the prior covariance is Phi_k Phi_k^T, coefficients A have an effect only through w_k = Phi_k^T a_k, with the latents
f_k = Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the method takes the
same steps, and uses the rows only through sums over them, in memory (`RowSums`) or distributed over many machines:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

Psi has many maxima if the sets are large. At F = 0 all candidates tie, and with infinite sharpness the first step
determines the label of most rows. Therefore the sharpness is increased in stages (annealing). As L goes to 0, the
likelihood becomes the mean of the candidates' latents, by weight, less log sum_k exp f_ik, which is concave and has one
maximum. The stages only determine where the last maximization starts. With many rows they use a Nystroem approximation
of the prior, whose products are cheap.

`find_mode_cholesky` is the published method, kept as a reference: Newton steps by Cholesky factors with bisection along
the step (Zhou et al. 2017),

    F_new = (K^-1 + W)^-1 (W F + q - pi),     W = diag pi - pi pi^T.

It omits the positive part of the Hessian, L (diag q - q q^T), and so maximizes a concave lower bound of the quadratic
model of Psi. Psi increases, but at low sharpness it takes hundreds of steps where the trust region takes tens. Each
step costs K n^3 operations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from oneof.arrays import as_numpy
from oneof.kernels.nystroem import inverse_root
from oneof.likelihoods import softmax_jvp
from oneof.solvers.laplace.covariance import (
    CholeskyFactors,
    consecutive_slices,
    curvature_matrix,
    lower_root,
    solve_lower,
)
from oneof.solvers.laplace.model import (
    STAGE_TOL,
    FeaturePrior,
    GramPrior,
    Likelihood,
    LikelihoodDerivatives,
    Prior,
    annealing_schedule,
    as_single,
    has_partial_rows,
    matvec_by_class,
    max_abs,
    zero_latents,
)
from oneof.solvers.linear import Operator
from oneof.solvers.trust_region import Objective, Point, TrustRegionNewton
from oneof.typing import Array, Floats

N_LANDMARKS = 500
"""Number of landmarks of the prior in the annealing stages, if there are at least four times as many rows."""
N_BISECTIONS = 30
"""Number of bisections of a step length."""
BLOCK_ROWS = 1024
"""Number of rows of a product with the Hessian that are read from memory once."""
MAX_SAMPLED_ROWS = 4096
"""Maximum number of rows from which H is estimated."""
MAX_DENSE_SIZE = 2000
"""Maximum size of the dense block, over all classes."""
MIN_SIZE = 1e-3
"""Size added to those of all rows, as a fraction of their mean, so that every row can be drawn."""
MAX_COST = 10
"""Maximum number of operations to estimate the dense block, in products with the Hessian."""
MIN_DIAGONAL = 1.0
"""Minimum diagonal of H of a leading feature."""


@dataclass(frozen=True)
class LaplaceMode:
    """Maximum of Psi."""

    latents: Array
    """F, (n, K)."""
    coefficients: Array
    """A, (n, K), with F = K A; at the mode it equals q - pi to the tolerance."""
    derivatives: LikelihoodDerivatives
    """Derivatives of the log likelihood at F."""
    objective_path: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    """Number of steps over all stages."""
    converged: bool


@dataclass(frozen=True)
class LatentPoint:
    """Log likelihood of rows in memory, at their latents."""

    latents: Array
    """F, (n, K)."""
    likelihood: Likelihood

    @cached_property
    def value(self) -> float:
        """sum_i log p(S_i | f_i)."""
        return self.likelihood.value(self.latents)

    @cached_property
    def max_abs(self) -> float:
        """Max |F| over rows and classes."""
        return max_abs(self.latents)

    @cached_property
    def derivatives(self) -> LikelihoodDerivatives:
        """Derivatives of the log likelihood by the latents."""
        return self.likelihood.derivatives(self.latents)


@dataclass(frozen=True)
class GramPoint(LatentPoint):
    """Log likelihood at a pair (A, K A), an array of shape (2, n, K), as a `Point`."""

    preconditioner: None = None

    @property
    def gradient(self) -> Array:
        """Q - pi."""
        return self.derivatives.gradient

    def hvp(self, step: Array) -> Array:
        """Return W_true K s."""
        return self.derivatives.hvp(step[1, ...])

    fast_hvp = hvp


@dataclass(frozen=True)
class GramObjective:
    """Psi as a function of pairs (A, K A), in the norm |s|^2 = sum s (K s)."""

    prior: Prior
    likelihood: Likelihood

    @cached_property
    def eps(self) -> float:
        """Machine epsilon of the latents."""
        matrix = self.prior.gram if isinstance(self.prior, GramPrior) else self.prior.features
        return float(array_namespace(matrix).finfo(matrix.dtype).eps)

    @property
    def n_terms(self) -> int:
        """Number of rows, n."""
        return int(self.likelihood.evidence.shape[0])

    def evaluate(self, x: Array) -> GramPoint:
        """Return a point."""
        return GramPoint(x[1, ...], self.likelihood)

    def ascent(self, gradient: Array) -> Array:
        """Return the pair (g, K g)."""
        return _to_pair(self.prior, gradient)

    def fast_ascent(self, gradient: Array) -> Array:
        """Return the pair (g, K g), computed in single precision."""
        return _to_pair(self.prior.single, gradient)

    def max_abs(self, step: Array) -> float:
        """Return max |K s| over rows and classes."""
        return max_abs(step[1, ...])

    def dual(self, step: Array) -> Array:
        """Return s."""
        return step[0, ...]

    def image(self, step: Array) -> Array:
        """Return K s."""
        return step[1, ...]

    def correct(self, step: Array) -> Array:
        """Return the step with its image computed in the precision of the prior."""
        return _to_pair(self.prior, step[0, ...])


def _to_pair(prior: Prior, coefficients: Array) -> Array:
    return array_namespace(coefficients).stack([coefficients, prior.matvec(coefficients)])


def find_mode(
    prior: Prior,
    evidence: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Find a mode by trust-region Newton steps.

    Parameters
    ----------
    prior : GramPrior or FeaturePrior
        Prior over n rows.
    evidence : array of shape (n, K), bool or float
        The candidate sets, or weights of the candidates; no row has equal weights of all classes.
    sharpness : float
        L, above 0.
    initial : array of shape (n, K), optional
        Initial coefficients, used without annealing; the default is 0.
    anneal : bool
        Whether to increase the sharpness in stages.
    max_iter : int
        Maximum number of steps in each stage.
    tol : float
        The iteration stops if max |F - K (q - pi)| <= tol max(1, max |F|). In single precision the tolerance is at
        least 6e-5.

    Returns
    -------
    LaplaceMode
    """
    likelihood = Likelihood(evidence, sharpness)
    if isinstance(prior, FeaturePrior):
        weights = None if initial is None else prior.weights(initial)
        sums = RowSums(prior, evidence)
        mode = find_weight_mode(sums, sharpness, initial=weights, anneal=anneal, max_iter=max_iter, tol=tol)
        latents = prior.latents(mode.weights)
        derivatives = likelihood.derivatives(latents)
        return LaplaceMode(latents, derivatives.gradient, derivatives, mode.objective_path, mode.n_iter, mode.converged)
    x, n_iter = _start(prior, evidence, initial), 0
    if anneal and initial is None:
        levels = annealing_schedule(sharpness, is_partial=has_partial_rows(evidence))
        use_landmarks = len(levels) > 0 and evidence.shape[0] >= 4 * N_LANDMARKS
        stage_prior = nystroem_prior(prior) if use_landmarks else prior
        x, n_iter = _run_stages(
            lambda level: GramObjective(stage_prior, Likelihood(evidence, level)), x, levels, max_iter
        )
        x = _to_pair(prior, x[0, ...]) if use_landmarks else x
    newton = TrustRegionNewton(GramObjective(prior, likelihood), x)
    converged = newton.run(max_iter, tol)
    return LaplaceMode(
        newton.x[1, ...],
        newton.x[0, ...],
        newton.point.derivatives,
        newton.objective_path,
        n_iter + newton.n_iter,
        converged,
    )


def _run_stages(
    objective: Callable[[float], Objective], x: Array, levels: list[float], max_iter: int
) -> tuple[Array, int]:
    """Return the point after the annealing stages, and the number of steps."""
    n_iter = 0
    for level in levels:
        newton = TrustRegionNewton(objective(level), x)
        newton.run(max_iter, STAGE_TOL)
        x, n_iter = newton.x, n_iter + newton.n_iter
    return x, n_iter


def _start(prior: GramPrior, evidence: Array, initial: Array | None) -> Array:
    """Return the pair of the initial coefficients."""
    if initial is not None:
        return _to_pair(prior, initial)
    zeros = zero_latents(prior.gram, evidence.shape[1])
    return array_namespace(zeros).stack([zeros, zeros])


def nystroem_prior(prior: GramPrior) -> FeaturePrior:
    """Return the Nystroem approximation of a prior, with evenly spaced rows as deterministic landmarks."""
    xp = array_namespace(prior.gram)
    n = prior.gram.shape[-1]
    landmarks = xp.asarray(np.linspace(0, n - 1, N_LANDMARKS).astype(np.int64), device=device(prior.gram))

    def features(gram: Array) -> Array:
        columns = gram[:, landmarks]
        return columns @ xp.astype(inverse_root(columns[landmarks, :]), gram.dtype, copy=False)

    if prior.is_shared:
        return FeaturePrior(features(prior.gram))
    return FeaturePrior(xp.stack([features(prior.of_class(k)) for k in range(prior.gram.shape[0])], axis=0))


def find_mode_cholesky(
    prior: GramPrior,
    evidence: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Find a mode by Newton steps with Cholesky factors; parameters and result are those of `find_mode`."""
    start = _start(prior, evidence, initial)
    coefficients, latents = start[0, ...], start[1, ...]
    is_partial = anneal and initial is None and has_partial_rows(evidence)
    n_iter = 0
    for level in [*annealing_schedule(sharpness, is_partial=is_partial), sharpness]:
        likelihood, stage_tol = Likelihood(evidence, level), tol if level == sharpness else STAGE_TOL
        objective_path = [likelihood.psi(coefficients, latents)]
        for step in range(max_iter + 1):
            derivatives = likelihood.derivatives(latents)
            distance = max_abs(latents - prior.matvec(derivatives.gradient)) / max(1.0, max_abs(latents))
            if distance <= stage_tol or step == max_iter:
                break
            target = softmax_jvp(derivatives.proba, latents) + derivatives.gradient  # W F + q - pi
            factors = CholeskyFactors.from_proba(prior, derivatives.proba)
            solution = target - factors.matvec(prior.matvec(target))
            latent_step, step_coefficients = prior.matvec(solution) - latents, solution - coefficients
            length = _bisect(likelihood, latents, coefficients, latent_step, step_coefficients)
            lowest = objective_path[-1] - 1e-13 * abs(objective_path[-1])
            while (
                psi := likelihood.psi(coefficients + length * step_coefficients, latents + length * latent_step)
            ) < lowest:
                length /= 2.0
            coefficients, latents = coefficients + length * step_coefficients, latents + length * latent_step
            objective_path.append(psi)
            n_iter += 1
    return LaplaceMode(latents, coefficients, derivatives, objective_path, n_iter, distance <= stage_tol)


def _bisect(
    likelihood: Likelihood, latents: Array, coefficients: Array, latent_step: Array, step_coefficients: Array
) -> float:
    """Return the step length, at most 1, at which the derivative of Psi along the step changes its sign."""
    xp = array_namespace(latents)

    def is_increasing(length: float) -> bool:
        gradient = likelihood.derivatives(latents + length * latent_step).gradient
        return float(xp.sum((gradient - coefficients - length * step_coefficients) * latent_step)) > 0

    if is_increasing(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_increasing(middle) else (low, middle)
    return low if low > 0 else high


# -- weights of features ----------------------------------------------------------------------------------------------


class FeatureSums(Protocol):
    """Sums over n rows; no set contains every class."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""

    def evaluate(self, weights: Floats, sharpness: float) -> Point:
        """Return the log likelihood, whose products are Phi^T W_true Phi v, (m, K)."""

    def max_abs(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""


@dataclass(frozen=True)
class RowSums:
    """Sums over rows in memory, as `FeatureSums`."""

    prior: FeaturePrior
    evidence: Array
    """(n, K): candidate sets, or weights of the candidates; no row has equal weights of all classes."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.evidence.shape[0])

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""
        return has_partial_rows(self.evidence)

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""
        return self.prior.weights(zero_latents(self.prior.features, self.evidence.shape[1]))

    def evaluate(self, weights: Array, sharpness: float) -> "RowPoint":
        """Return the log likelihood."""
        return RowPoint(self.prior.latents(weights), Likelihood(self.evidence, sharpness), self.prior)

    def max_abs(self, weights: Array) -> float:
        """Return max |Phi w| over rows and classes, computed in single precision."""
        return max_abs(self.prior.single.latents(weights))


@dataclass(frozen=True)
class RowPoint(LatentPoint):
    """Log likelihood at weights w with the latents F = Phi w, as a `Point`."""

    prior: FeaturePrior

    @cached_property
    def gradient(self) -> Array:
        """Phi^T (q - pi), (m, K)."""
        return self.prior.weights(self.derivatives.gradient)

    def hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K)."""
        return hvp_by_blocks(self.prior.features, self.derivatives, direction)

    def fast_hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K), computed in single precision."""
        product = hvp_by_blocks(self.prior.single.features, self._single_rows, as_single(direction))
        return array_namespace(direction).astype(product, direction.dtype, copy=False)

    @cached_property
    def _single_rows(self) -> LikelihoodDerivatives:
        return self.derivatives.astype(self.prior.single.features.dtype)

    @cached_property
    def preconditioner(self) -> Operator:
        """Approximation of (I + Phi^T W Phi)^-1."""
        return WeightPreconditioner.from_rows(self.prior.single.features, self.derivatives).solve


def hvp_by_blocks(features: Array, derivatives: LikelihoodDerivatives, direction: Array) -> Array:
    """Return Phi^T W_true Phi v, which reads the features from memory once."""
    n = features.shape[-2]
    size = BLOCK_ROWS if is_numpy_array(features) else n
    product = None
    for block in (slice(start, start + size) for start in range(0, n, size)):
        own = features[..., block, :]
        term = matvec_by_class(own.mT, derivatives[block].hvp(matvec_by_class(own, direction)))
        product = term if product is None else product + term
    return product


@dataclass(frozen=True)
class WeightMode:
    """Maximum of Psi over the weights."""

    weights: Array
    """W, (m, K)."""
    objective_path: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    converged: bool


def find_weight_mode(
    sums: FeatureSums,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> WeightMode:
    """Find a mode; `initial` weights are used without annealing. See `oneof.solvers.laplace.mode.find_mode`."""
    weights, n_iter = sums.zeros() if initial is None else initial, 0
    if anneal and initial is None:
        levels = annealing_schedule(sharpness, is_partial=sums.is_partial)
        weights, n_iter = _run_stages(partial(WeightObjective, sums), weights, levels, max_iter)
    newton = TrustRegionNewton(WeightObjective(sums, sharpness), weights)
    converged = newton.run(max_iter, tol)
    return WeightMode(newton.x, newton.objective_path, n_iter + newton.n_iter, converged)


@dataclass(frozen=True)
class WeightObjective:
    """Psi as a function of the weights, whose prior covariance is I."""

    sums: FeatureSums
    sharpness: float

    @cached_property
    def eps(self) -> float:
        """Machine epsilon of the weights."""
        zeros = self.sums.zeros()
        return float(array_namespace(zeros).finfo(zeros.dtype).eps)

    @property
    def n_terms(self) -> int:
        """Number of rows, n."""
        return self.sums.n_rows

    def evaluate(self, x: Floats) -> Point:
        """Return the log likelihood at some weights."""
        return self.sums.evaluate(x, self.sharpness)

    def max_abs(self, step: Floats) -> float:
        """Return max |Phi s| over rows and classes."""
        return self.sums.max_abs(step)

    def dual(self, step: Any) -> Any:
        """Return the step, since all forms of weights are the same."""
        return step

    ascent = fast_ascent = image = correct = dual


@dataclass(frozen=True)
class WeightPreconditioner:
    """Inverse of an approximation of I + H.

    The matrix of a step is I + H, H = sum_i (W_i x phi_i phi_i^T), of size sum_k m_k, with eigenvalues over up to seven
    orders of magnitude. Two approximations make its inverse affordable:

    * H is estimated from a sample of the rows. Row i is drawn with a probability proportional to the size of W_i, and
      weighted by its inverse, so that the estimate is unbiased. Rows whose label is clear have W_i near 0 and are
      rarely drawn.
    * The features are the principal directions of the landmarks, with quickly decreasing sizes. Only those with a large
      diagonal of H, the leading ones, are in a dense block, which is factorized. The others have their diagonal.

    Conjugate gradients with this preconditioner have the same solution. It only determines the number of iterations.
    """

    orders: list[Array]
    """Indices of the features of each class, (m,), by decreasing diagonal of H."""
    sizes: list[int]
    """Number of leading features of each class, r_k."""
    root: Array
    """Lower triangular Cholesky factor of the dense block, (sum_k r_k, sum_k r_k)."""
    diagonal: Array
    """Diagonal of I + H, (m, K)."""

    @classmethod
    def from_rows(cls, features: Array, derivatives: LikelihoodDerivatives) -> "WeightPreconditioner":
        """Estimate I + H with W = diag pi - pi pi^T.

        Parameters
        ----------
        features : array of shape (n, m), or (K, n, m)
        derivatives : LikelihoodDerivatives
            Derivatives of the log likelihood of the n rows.
        """
        xp = array_namespace(features)
        n, m = features.shape[-2:]
        n_classes = derivatives.proba.shape[1]
        rows, row_weights = sample_rows(xp.sum(derivatives.proba * (1.0 - derivatives.proba), axis=1))
        pi = xp.take(derivatives.proba, rows, axis=0)
        sampled = xp.take(features, rows, axis=features.ndim - 2)
        by_class = [sampled if sampled.ndim == 2 else sampled[k, ...] for k in range(n_classes)]

        def weight(k: int, j: int) -> Array:
            product = row_weights * pi[:, k] * ((1.0 if j == k else 0.0) - pi[:, j])
            return xp.astype(product, sampled.dtype, copy=False)

        diagonal = xp.stack([1.0 + (own * own).mT @ weight(k, k) for k, own in enumerate(by_class)], axis=1)
        diagonal = xp.astype(diagonal, pi.dtype, copy=False)
        orders = [xp.argsort(-diagonal[:, k], stable=True) for k in range(n_classes)]
        max_size = min(MAX_DENSE_SIZE, int((4 * MAX_COST * n * m * n_classes / rows.shape[0]) ** 0.5))
        n_large = [int(xp.sum(xp.astype(diagonal[:, k] > 1.0 + MIN_DIAGONAL, xp.int64))) for k in range(n_classes)]
        sizes = [min(max(1, size), max(1, max_size // n_classes)) for size in n_large]
        leading = [xp.take(by_class[k], orders[k][: sizes[k]], axis=1) for k in range(n_classes)]
        identity = xp.eye(sum(sizes), dtype=pi.dtype, device=device(pi))
        try:
            root = lower_root(xp.astype(curvature_matrix(leading, weight), pi.dtype) + identity)
        except np.linalg.LinAlgError:  # rounding errors of single precision exceed 1
            leading = [xp.astype(own, pi.dtype) for own in leading]
            root = lower_root(curvature_matrix(leading, weight) + identity)
        return cls(orders, sizes, root, diagonal)

    def solve(self, residual: Array) -> Array:
        """Return the solution for a residual, (m, K)."""
        xp = array_namespace(residual)
        ordered = [xp.take(residual[:, k], order) for k, order in enumerate(self.orders)]
        right = xp.concat([values[:size] for values, size in zip(ordered, self.sizes, strict=True)])
        dense = solve_lower(self.root, solve_lower(self.root, right[:, None]), transposed=True)[:, 0]
        columns = []
        for k, block in enumerate(consecutive_slices(self.sizes)):
            others = ordered[k][self.sizes[k] :] / xp.take(self.diagonal[:, k], self.orders[k][self.sizes[k] :])
            columns.append(xp.take(xp.concat([dense[block], others]), xp.argsort(self.orders[k])))
        return xp.stack(columns, axis=1)


def sample_rows(sizes: Array) -> tuple[Array, Array]:
    """Return indices of rows and their weights: a systematic sample with probabilities proportional to their sizes.

    A row that is drawn several times has the sum of its weights. With few rows, all of them have a weight of 1.
    """
    xp, n = array_namespace(sizes), sizes.shape[0]
    if n <= MAX_SAMPLED_ROWS:
        return xp.arange(n, device=device(sizes)), xp.ones_like(sizes)
    sizes = sizes + MIN_SIZE * xp.mean(sizes) + float(xp.finfo(sizes.dtype).smallest_normal)
    ends = as_numpy(xp.cumulative_sum(sizes))
    spacing = float(ends[-1]) / MAX_SAMPLED_ROWS
    drawn = np.searchsorted(ends, (np.arange(MAX_SAMPLED_ROWS) + 0.5) * spacing)
    rows, counts = np.unique(np.minimum(drawn, n - 1), return_counts=True)
    rows, counts = (xp.asarray(values, device=device(sizes)) for values in (rows, counts))
    return rows, xp.astype(counts, sizes.dtype) * spacing / xp.take(sizes, rows)
