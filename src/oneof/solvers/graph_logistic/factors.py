"""A prior precision factorized: by Cholesky, or by the root of a diagonal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.openings import Openings
from oneof.typing import FeatureMatrix, Floats


@dataclass(frozen=True)
class Factor:
    """A positive definite Lambda, closed: its Cholesky factor, or the root of its diagonal."""

    root: Floats
    """(D, D) lower triangular, or (D,)."""

    @classmethod
    def of(cls, matrix: Any, *, is_diagonal: bool) -> "Factor":
        """Factorize a dense or sparse matrix."""
        if is_diagonal:
            return cls(np.sqrt(np.asarray(matrix.diagonal())))
        return cls(scipy.linalg.cholesky(dense(matrix), lower=True, check_finite=False))

    def half(self, rows: FeatureMatrix) -> Floats:
        """Return R with R R^T = x Lambda^-1 x^T for t rows, (t, D); sparse where rows and factor are."""
        if self.root.ndim == 1:
            if sp.issparse(rows):
                return rows @ sp.dia_array((1.0 / self.root[None], 0), shape=(len(self.root),) * 2)
            return rows / self.root
        return scipy.linalg.solve_triangular(self.root, dense(rows).T, lower=True, check_finite=False).T

    def solve_rows(self, rows: FeatureMatrix) -> Floats:
        """Return x Lambda^-1 for t rows, (t, D)."""
        if self.root.ndim == 1:
            return dense(self.half(self.half(rows)))
        return scipy.linalg.cho_solve((self.root, True), dense(rows).T, check_finite=False).T

    @property
    def log_determinant(self) -> float:
        """Log |Lambda|."""
        return 2.0 * float(np.log(self.root if self.root.ndim == 1 else self.root.diagonal()).sum())


def dense(rows: Any) -> Floats:
    """Return rows as an ndarray."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def log_determinants(factors: tuple[Factor, ...], openings: Openings, n_vectors: int) -> float:
    """Return sum_c log |Lambda_c| outside the open directions, of factors closed with the whole curvature."""
    closed = sum(factor.log_determinant for factor in factors) * (n_vectors if len(factors) == 1 else 1)
    return float(closed) - n_vectors * float(np.log(openings.curvature).sum())
