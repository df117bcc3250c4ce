"""The cheap form of the posterior covariances: as many features for each class as its data can tell apart.

With D_k = diag pi_.k, let Z_k hold the eigenvectors of A_k = D_k^1/2 K_k D_k^1/2 whose eigenvalues are above eps / 2,
as far as the Lanczos method finds them. The functionals Z_k^T D_k^1/2 f_k of the latents take the place of landmarks in
a Nystrom approximation,

    phi_k(x) = P_k^T k_x,     P_k = D_k^1/2 Z_k (Z_k^T A_k Z_k)^-1/2.

What they miss of the prior is a process r of its own, independent of the features' g, and D^1/2 cov(r) D^1/2 <= eps I
over the rows of fit, which is verified: there the data say next to nothing of r, and it keeps its prior R. With cov^ =
cov^_g + R for the covariances that result, in the order of positive semi-definite matrices

    (1 - s) cov^ <= cov <= (1 + s + eps) cov^,     s = sqrt(eps).

The data are z = W^1/2 (g + r) + n with Cov n = I, and W <= D, so that Cov(W^1/2 r) <= eps I. Below: split n into
independent n1 + n2 with covariances (1 - s) I and s I, and let W^1/2 g + n1 and W^1/2 r + n2 be seen one by one, which
says more than their sum. The first leaves g at least (1 - s) cov^_g, the second leaves r at least (1 - eps / (s + eps))
R = R / (1 + s) >= (1 - s) R. Above: predict by the linear rule G z that is best for r = 0. Its error is that of g, plus
r - G W^1/2 r, and is at most cov^_g + (1 + s) R + (1 + 1/s) eps G G^T with G G^T <= cov^_g.

That is the worst case; docs/plgp.md has what was measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import lower_root, solve_lower
from oneof.solvers.laplace.lanczos import large_eigenpairs
from oneof.solvers.laplace.prior import GramPrior
from oneof.solvers.laplace.weights import WeightCovariance
from oneof.typing import Array

EPS = 0.01
LARGEST_BLOCK = 64
"""Most vectors of a block of the Lanczos method."""
LARGEST_SPACE = 0.3
"""Of a class's Lanczos method, in units of n."""
MOST_FEATURES, MOST_FOR_EACH = 1.3, 0.2
"""Of all classes, in units of n, and for each class. Beyond, preparing the published form takes less time."""
ROUGH_SHARE = 0.1
"""Of eps: largest rounding error of products for which single precision will do."""
POWERS = 8
"""Steps of the power method that estimates what the features leave over."""


@dataclass(frozen=True)
class ReducedCovariance:
    """What is needed of the rows of fit."""

    roots: list[Array]
    """P_k, (n, m_k)."""
    weights: WeightCovariance

    @classmethod
    def of(
        cls, prior: GramPrior, shares: Array, random: np.random.Generator, *, eps: float = EPS
    ) -> "ReducedCovariance | None":
        """Find the features of each class, or return None where they would be so many that nothing is gained."""
        n, n_classes = shares.shape
        mass = array_namespace(shares).sum(shares, axis=0)
        roots: dict[int, Array] = {}
        features: dict[int, Array] = {}
        left = int(min(MOST_FEATURES, MOST_FOR_EACH * n_classes) * n)
        for k in sorted(range(n_classes), key=lambda k: -float(mass[k])):  # those that should need most come first
            found = _root_and_features(prior, k, shares[:, k], eps, min(int(LARGEST_SPACE * n), left), random)
            if found is None:
                return None
            roots[k], features[k] = found
            left -= roots[k].shape[1]
        weights = WeightCovariance.of([features[k] for k in range(n_classes)], shares)
        return cls([roots[k] for k in range(n_classes)], weights)

    def astype(self, dtype: Any) -> "ReducedCovariance":
        """Return itself in another precision."""
        xp = array_namespace(self.roots[0])
        return ReducedCovariance([xp.astype(root, dtype) for root in self.roots], self.weights.astype(dtype))

    def of_rows(self, cross: Array, variances: Array) -> Array:
        """Return the covariances of t rows, as those of `LatentCovariance`."""
        cross = array_namespace(cross).astype(cross, self.roots[0].dtype, copy=False)
        features = [(cross if cross.ndim == 2 else cross[k, ...]) @ root for k, root in enumerate(self.roots)]
        return self.weights.of_each(features, variances)


def _root_and_features(
    prior: GramPrior, k: int, share: Array, eps: float, most: int, random: np.random.Generator
) -> tuple[Array, Array] | None:
    """Return P_k and Phi_k = K_k P_k, or None if they would have too many columns, or leave too much over."""
    xp = array_namespace(share)
    n, gram, rough = share.shape[0], prior.of_class(k), prior.rough_of_class(k)
    scale = xp.sqrt(share)
    width = min(LARGEST_BLOCK, max(n // 32, 1))
    largest = float(xp.sum(share * xp.linalg.diagonal(gram)))  # the trace: no eigenvalue is above it
    is_rough = float(xp.finfo(rough.dtype).eps) * largest <= ROUGH_SHARE * eps
    used = rough if is_rough else gram
    own = xp.astype(scale, used.dtype, copy=False)[:, None]

    def draw() -> Array:
        return xp.asarray(random.standard_normal((n, width)), dtype=used.dtype, device=device(share))

    def product(V: Array) -> Array:
        return own * (used @ (own * V))

    pairs = large_eigenpairs(product, draw, eps, most)
    if pairs is None:
        return None
    values, vectors = (xp.astype(part, gram.dtype, copy=False) for part in pairs)
    roots = scale[:, None] * vectors / xp.sqrt(values)
    features = gram @ roots
    if values.shape[0] == 0:  # the rows say nothing of this class
        return roots, features
    # The pairs are not exact: mend P^T K P to be I, so that phi(x) never has more than the prior variance.
    square = lower_root(roots.mT @ features)
    roots, features = solve_lower(square, roots.mT).mT, solve_lower(square, features.mT).mT
    scaled = xp.astype(scale[:, None] * features, used.dtype, copy=False)
    # By new vectors: those of the Krylov space are blind to what it has missed.
    missed = _largest_eigenvalue(lambda V: product(V) - scaled @ (scaled.mT @ V), draw()[:, :4])
    return (roots, features) if missed <= eps else None


def _largest_eigenvalue(product: Callable[[Array], Array], vectors: Array) -> float:
    """Return an estimate from below, by the power method."""
    xp = array_namespace(vectors)
    for _ in range(POWERS):
        lengths = xp.sqrt(xp.sum(vectors * vectors, axis=0))
        vectors = product(vectors / xp.where(lengths > 0, lengths, 1.0))
    return float(xp.max(xp.sqrt(xp.sum(vectors * vectors, axis=0))))
