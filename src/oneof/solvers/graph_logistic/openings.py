"""Directions of the weights that no term of the prior penalizes: the intercept, the null space of a graph's A.

The prior is improper there. A direction that the labeled rows see is left to them, but for a vague precision of
`VAGUE` times their curvature, so that an optimum exists where they could be told apart without end, or where a class
has no row. In a direction that they do not see either nothing is known: the weights are 0 there, and determinants,
inverses and covariances are those of the rest.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.terms import NOTHING, Term
from oneof.typing import FeatureMatrix, Floats

VAGUE = 1e-8
"""Precision of open directions, in units of the labeled rows' curvature there."""
UNSEEN = 1e-5
"""Share of a row's norm below which its score in an open direction counts as 0: the root of `NOTHING`, for of what is
nothing to the prior rows hold the rounding alone."""


@dataclass(frozen=True)
class Openings:
    """The open directions, orthonormal, split by whether the labeled rows see them."""

    seen: Floats
    """(D, r)."""
    curvature: Floats
    """(r,): 1/4 sum_i (x_i^T u)^2 of each, above 0. The directions are uncorrelated in it."""
    unseen: Floats
    """(D, u)."""
    along_axes: bool
    """Whether each direction is that of a single weight."""

    @classmethod
    def of(cls, terms: tuple[Term, ...], features: FeatureMatrix, row_weight: Floats) -> "Openings":
        """Find the null space of the terms' sum, and what the labeled rows see of it."""
        open_, along_axes = _null_space(terms, features.shape[1])
        if open_.shape[1] == 0:
            return cls(open_, np.zeros(0), open_, along_axes=True)
        scores = np.sqrt(row_weight)[:, None] / 2.0 * np.asarray(features @ open_)
        # Rows outside the null space have scores of rounding there, which are no sight of it.
        norms = np.sqrt(np.asarray((features * features).sum(axis=1)).ravel() * row_weight) / 2.0
        scores[np.abs(scores) <= UNSEEN * norms[:, None]] = 0.0
        gram = scores.T @ scores
        hidden = null_vectors(gram)
        if hidden.shape[1] == 0 and along_axes and np.count_nonzero(gram) == np.count_nonzero(gram.diagonal()):
            return cls(open_, gram.diagonal().copy(), open_[:, :0], along_axes=True)
        if hidden.shape[1]:
            turned = scipy.linalg.qr(hidden)[0]  # the first columns span the hidden directions, the others the rest
            hidden, rest = turned[:, : hidden.shape[1]], turned[:, hidden.shape[1] :]
        else:
            rest = np.eye(len(gram))
        curvature, vectors = np.linalg.eigh(rest.T @ gram @ rest) if rest.shape[1] else (np.zeros(0), rest[:0])
        seen, unseen = open_ @ (rest @ vectors), open_ @ hidden
        axes = along_axes and all(
            (np.count_nonzero(np.abs(part) > NOTHING, axis=0) == 1).all() for part in (seen, unseen)
        )
        return cls(seen, np.maximum(curvature, np.finfo(float).tiny), unseen, along_axes=axes)

    def penalized(self, weights: Floats) -> Floats:
        """Return the vague precision times (K-1, D) weights, with 1 for what is not seen."""
        return (weights @ self.seen) * (VAGUE * self.curvature) @ self.seen.T + weights @ self.unseen @ self.unseen.T

    def closed(self, matrix: Any, share: float) -> Any:
        """Add `share` times the curvature of what is seen, and 1 for what is not, to a dense or sparse Lambda."""
        if self.seen.shape[1] + self.unseen.shape[1] == 0:
            return matrix
        roots = np.hstack([self.seen * np.sqrt(share * self.curvature), self.unseen])
        if sp.issparse(matrix):
            roots = sp.csr_array(roots)
            return sp.csr_array(matrix + roots @ roots.T)
        return matrix + roots @ roots.T


def _null_space(terms: tuple[Term, ...], n_weights: int) -> tuple[Floats, bool]:
    """Return an orthonormal basis of what no term penalizes, and whether it lies along single weights."""
    total, covered = np.zeros(n_weights), np.zeros(n_weights, dtype=bool)
    for term in terms:
        diagonal = term.diagonal
        total = total + (diagonal / diagonal.max() if diagonal.max(initial=0.0) > 0 else 0.0)
        if term.is_diagonal:
            covered |= diagonal > 0
    free, left = np.flatnonzero(total <= 0), np.flatnonzero((total > 0) & ~covered)
    axes = np.zeros((n_weights, len(free)))
    axes[free, np.arange(len(free))] = 1.0
    if len(left) == 0:
        return axes, True
    summed = np.zeros((n_weights, n_weights))
    for term in terms:
        largest = term.diagonal.max(initial=0.0)
        if largest > 0:
            summed += (term.matrix.toarray() if sp.issparse(term.matrix) else term.matrix) / largest
    held = np.flatnonzero(total > 0)
    null = null_vectors(summed[np.ix_(held, held)])
    if null.shape[1] == 0:
        return axes, True
    whole = np.zeros((n_weights, null.shape[1]))
    whole[held] = np.linalg.qr(null)[0]
    return np.hstack([axes, whole]), False


def null_vectors(matrix: Floats) -> Floats:
    """Return a basis of the null space of a positive semi-definite matrix, told with its diagonal scaled to 1."""
    diagonal = matrix.diagonal()
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / np.outer(scale, scale)
    try:
        factor = np.linalg.cholesky(scaled)
        if factor.diagonal().min(initial=1.0) ** 2 > 1e-6:
            return np.zeros((len(matrix), 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(scaled)
    return vectors[:, values <= NOTHING * max(values[-1], NOTHING)] / scale[:, None]
