"""Laplace approximation to the posterior of the weights, and its leave-one-out scores.

The posterior is N(w, H^-1) with

    H = Lambda + sum_i v_i (diag p_i - p_i p_i^T) kron x_i x_i^T,

p_i over the first K-1 classes (section 5 of Krishnapuram et al. 2004, above (14)). A candidate set has less curvature:
see `CandidateLikelihood.curvatures`. H is formed in the coordinates of `coordinates.py`. Above `newton.MAX_COORDINATES`
only the diagonal block of each class is formed, as if the classes were independent given the rows.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize

from oneof.errors import InputError
from oneof.likelihoods import log_likelihoods, normalize_within_sets
from oneof.solvers.graph_logistic.coordinates import Coordinates
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import MAX_COORDINATES, full_hessian, try_cholesky, weighted_gram
from oneof.typing import Evidence, FeatureMatrix, Floats

CHUNK_ROWS = 20_000
"""Number of rows processed at a time."""
_MAX_EM_ITER = 50


@dataclass(frozen=True)
class LogisticPosterior:
    """Gaussian posterior N(w, H^-1) of the (K-1, D) weights."""

    weights: Floats
    """(K-1, D): the mode w."""
    coordinates: Coordinates
    blocks: dict[tuple[int, int], Floats]
    """H^-1 in these coordinates: (size, size) for each pair c <= k of classes, or for each c = k only."""
    log_determinant: float
    """log |H| in these coordinates."""

    @classmethod
    def at_mode(cls, likelihood: CandidateLikelihood, coordinates: Coordinates, weights: Floats) -> "LogisticPosterior":
        """Compute H at the mode, and invert it.

        Raises
        ------
        InputError
            If H is not positive definite.
        """
        at = likelihood.evaluate(np.asarray(likelihood.features @ weights.T))
        curvatures = likelihood.curvatures(at, convex=True)
        n, r = len(weights), len(coordinates.precision)
        if n * r > MAX_COORDINATES:
            grams = (weighted_gram(coordinates.features, curvatures[:, c, c]) for c in range(n))
            inverses = [_inverse(coordinates.precision + gram) for gram in grams]
            blocks = {(c, c): inverse for c, (inverse, _) in enumerate(inverses)}
            return cls(weights, coordinates, blocks, sum(log_determinant for _, log_determinant in inverses))
        inverse, log_determinant = _inverse(full_hessian(coordinates, curvatures))
        blocks = {(c, k): inverse[c * r : (c + 1) * r, k * r : (k + 1) * r] for c in range(n) for k in range(c, n)}
        return cls(weights, coordinates, blocks, log_determinant)

    def covariance(self, left: FeatureMatrix, right: FeatureMatrix | None = None) -> Floats:
        """Return the posterior covariance of the scores of pairs of instances.

        Parameters
        ----------
        left, right : ndarray or csr_array of shape (t, D)
            Without `right`, each instance is paired with itself.

        Returns
        -------
        ndarray of shape (t, K-1, K-1)
            (I kron l_t)^T H^-1 (I kron r_t).

        Raises
        ------
        InputError
            If a covariance overflows float64.
        """
        right = left if right is None else right
        full = np.zeros((left.shape[0], len(self.weights), len(self.weights)))
        for start in range(0, len(full), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            left_rows = left[chunk]
            with np.errstate(over="ignore", invalid="ignore"):
                full[chunk] = self._covariance(left_rows, left_rows if left is right else right[chunk], pairs=True)
        if not np.isfinite(full).all():
            raise InputError(
                "the covariances of the scores overflow float64. Scale the features, for example with StandardScaler."
            )
        return full

    def cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        """Return the posterior covariance of all pairs: (t, D) and (s, D) instances -> (t, s, K-1, K-1)."""
        return self._covariance(left, right, pairs=False)

    def _covariance(self, left: FeatureMatrix, right: FeatureMatrix, *, pairs: bool) -> Floats:
        a = self.coordinates.transform(left)
        b = a if left is right else self.coordinates.transform(right)
        residual = self.coordinates.residual_covariance(left, right, pairs=pairs)
        full = np.zeros((*residual.shape, len(self.weights), len(self.weights)))

        def product(block: Floats) -> Floats:
            return ((a @ block) * b).sum(axis=1) if pairs else a @ (block @ b.T)

        for (c, k), block in self.blocks.items():
            full[..., c, k] = product(block) + (residual if c == k else 0.0)
            if c != k:
                full[..., k, c] = full[..., c, k] if pairs and left is right else product(block.T)
        return full


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    """Return the inverse of a positive definite matrix, and its log determinant."""
    factor = try_cholesky(matrix)
    if factor is None:
        raise InputError(
            "the posterior precision is not positive definite. Scale the features, for example with StandardScaler, or "
            "increase a precision."
        )
    lower = np.tril(scipy.linalg.lapack.dpotri(factor, lower=True)[0])
    return lower + np.tril(lower, -1).T, 2.0 * float(np.log(factor.diagonal()).sum())


# -- leave-one-out --------------------------------------------------------------------------------------------------


def leave_one_out_scores(
    posterior: LogisticPosterior, instances: FeatureMatrix, evidence: Evidence, sample_weight: Floats
) -> Floats:
    """Return the (m, K-1) scores of labeled instances without their own labels, by one Newton step.

    Row i has the gradient g_i = q_i - p_i by its scores, and the curvature B_i. Without this row the mode shifts by
    -H_i^-1 (g_i kron x_i), with H_i = H - B_i kron x_i x_i^T. With V_i = (I kron x_i)^T H^-1 (I kron x_i), its scores
    become s_i - V_i (I - B_i V_i)^-1 g_i. A row of weight 2 is equivalent to two rows, one of which is left out.
    """
    likelihood = CandidateLikelihood(instances, evidence, np.minimum(sample_weight, 1.0))
    scores = np.asarray(instances @ posterior.weights.T)
    at = likelihood.evaluate(scores)
    gradient, curvatures = likelihood.gradient(at), likelihood.curvatures(at, convex=True)
    covariance = posterior.covariance(instances)
    reduction = np.eye(scores.shape[1]) - curvatures @ covariance
    shift = covariance @ np.linalg.solve(reduction, gradient[:, :, None])
    return scores - shift[:, :, 0]


def predictive_gain(scores: Floats, evidence: Evidence, sample_weight: Floats) -> float:
    """Return the mean log likelihood of left-out labels, minus that of the class frequencies, in nats per row.

    The (m, K-1) leave-one-out scores are multiplied by the best factor from 0 to 1.
    """
    full = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)
    fraction = sample_weight / sample_weight.sum()
    frequencies = np.full(evidence.shape[1], 1.0 / evidence.shape[1])
    for _ in range(_MAX_EM_ITER):  # EM, which converges in one iteration on exact labels
        frequencies = fraction @ normalize_within_sets(np.broadcast_to(frequencies, evidence.shape), evidence)
    baseline = float(fraction @ np.log((frequencies * evidence).sum(axis=1)))
    best = scipy.optimize.minimize_scalar(
        lambda scale: -float(fraction @ log_likelihoods(scale * full, evidence)), bounds=(0.0, 1.0), method="bounded"
    )
    return -float(best.fun) - baseline
