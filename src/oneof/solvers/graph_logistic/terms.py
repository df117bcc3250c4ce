"""The terms of the prior of graph-prior logistic regression: known matrices, each times a precision that sets itself.

Each weight vector w^(c), c = 1..K-1, has a prior N(0, Lambda_c^-1) with

    Lambda_c = sum_j lambda_j P_j,

P_j a graph's X^T Laplacian X, the identity (ridge), a mask of weights with a precision for each (ARD), or the agreement
of views. What is in no term (the intercept) is open, and `openings` says what becomes of it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats

Precisions = dict[str, Floats]
"""The name of a term -> its precisions: () or per class (K-1,), per weight (D,), or both (K-1, D)."""
NOTHING = 1e-10
"""Share of the largest eigenvalue, of a matrix scaled to a diagonal of 1, below which one counts as 0."""


@dataclass(frozen=True)
class Term:
    """One part of the prior precision: the same matrix for each class, times a precision that sets itself."""

    name: str
    matrix: Any
    """(D, D): symmetric positive semi-definite, ndarray or csr_array. With `per_weight` a diagonal of 0 and 1."""
    per_weight: bool = False
    """A precision for each weight where the diagonal is 1."""
    per_class: bool = False
    """A precision for each class, in place of one for all."""
    largest: float = np.inf
    """The precision does not rise above this."""
    couples: bool = False
    """It ties parts of the weights together that are models of the same labels: the evidence of the other terms leaves
    it out, for the tied parts would count each label several times."""

    @property
    def diagonal(self) -> Floats:
        """P_uu, (D,)."""
        return np.asarray(self.matrix.diagonal(), dtype=np.float64)

    @property
    def is_diagonal(self) -> bool:
        """Whether nothing is stored beside the diagonal."""
        if not sp.issparse(self.matrix):
            return self.per_weight
        found = sp.coo_array(self.matrix)
        return bool(np.all((found.coords[0] == found.coords[1]) | (found.data == 0)))

    def shape(self, n_vectors: int) -> tuple[int, ...]:
        """Return the shape of its precisions."""
        return (n_vectors,) * self.per_class + (self.matrix.shape[0],) * self.per_weight

    def summed(self, numbers: Floats) -> Floats:
        """Sum (K-1, D) numbers of the weights, or (K-1,) of the classes, to the shape of the precisions."""
        return np.asarray(numbers if self.per_class else numbers.sum(axis=0))

    def quadratic(self, weights: Floats) -> Floats:
        """Return w^T P w in the shape of its precisions."""
        if self.per_weight:
            return self.summed(self.diagonal * weights**2)
        return self.summed(np.maximum((weights * self.times(weights)).sum(axis=1), 0.0))

    def times(self, weights: Floats) -> Floats:
        """Return P w for each class, (K-1, D)."""
        return np.asarray((self.matrix @ weights.T).T)

    def rank(self) -> int:
        """Return the rank of P, to rounding."""
        if self.is_diagonal:
            return int(np.count_nonzero(self.diagonal))
        scale = self.diagonal
        seen = scale > 0
        if not seen.any():
            return 0
        dense = self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix
        values = np.linalg.eigvalsh(dense[np.ix_(seen, seen)] / np.sqrt(np.outer(scale[seen], scale[seen])))
        return int(np.count_nonzero(values > NOTHING * values[-1]))

    def counts(self, n_vectors: int) -> Floats:
        """Return the number of weights' directions that each of its precisions governs, in their shape."""
        if self.per_weight:
            return self.summed(np.tile((self.diagonal > 0).astype(np.float64), (n_vectors, 1)))
        return self.summed(np.full(n_vectors, float(self.rank())))
