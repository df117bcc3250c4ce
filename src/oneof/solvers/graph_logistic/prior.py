"""The prior of graph-prior logistic regression: the sum of its terms, over all weight vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.solvers.graph_logistic.openings import Openings
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import Floats


@dataclass(frozen=True)
class Prior:
    """The terms over K-1 weight vectors, with what closes the directions that they leave open."""

    terms: tuple[Term, ...]
    n_vectors: int
    """K-1."""
    openings: Openings

    @property
    def n_weights(self) -> int:
        """D."""
        return int(self.openings.seen.shape[0])

    @property
    def n_distinct(self) -> int:
        """1 where all classes have one Lambda, K-1 otherwise."""
        return self.n_vectors if any(term.per_class for term in self.terms) else 1

    @property
    def is_diagonal(self) -> bool:
        """Whether every term is diagonal, and closed so."""
        return all(term.is_diagonal for term in self.terms) and self.openings.along_axes

    def penalized(self, weights: Floats, precisions: Precisions) -> Floats:
        """Return Lambda w with the vague precision of what is open, (K-1, D)."""
        total = self.openings.penalized(weights)
        for term in self.terms:
            precision = precisions[term.name]
            if term.per_weight:
                total = total + precision * term.diagonal * weights
            else:
                total = total + np.reshape(precision, (-1, 1)) * term.times(weights)
        return total

    def penalty(self, weights: Floats, precisions: Precisions) -> float:
        """Return 1/2 sum_c w^(c)T Lambda_c w^(c)."""
        return 0.5 * float((weights * self.penalized(weights, precisions)).sum())

    def matrix(self, precisions: Precisions, c: int) -> Any:
        """Return sum_j lambda_j P_j of class c, nothing closed: csr_array if all terms are, else ndarray."""
        total: Any = sp.csr_array((self.n_weights, self.n_weights))
        for term in self.terms:
            precision = precisions[term.name]
            own = precision[c] if term.per_class else precision
            if term.per_weight:
                total = total + sp.dia_array(((own * term.diagonal)[None], 0), shape=total.shape).tocsr()
            else:
                total = total + float(own) * term.matrix
        return sp.csr_array(total) if sp.issparse(total) else np.asarray(total)
