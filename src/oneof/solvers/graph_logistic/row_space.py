"""Change of basis to the span of the rows, for more weights than rows.

Let X be all rows, labeled or not. The likelihood and the terms X^T L X and C depend on the components of the weights in
the span of X only. On its orthogonal complement a ridge is the only term; there the weights are 0, and neither the
evidence nor the counts of `precision_updates` depend on the complement. With an orthonormal basis Q of the span, the
weights are thus w = Q v, where v has the instances X Q, the terms Q^T P Q, and the same ridge. Precisions, evidence and
weights are equal in both; a factorization takes r^3 operations for r rows, not D^3 for D weights. Q consists of
eigenvectors of the term of the graph. Lambda is then diagonal, so that no factorization fails if the graph is much
stronger than the ridge.

A precision for each weight has no such basis, and without a ridge the complement is unpenalized. A ridge alone needs no
factorization.
"""

from dataclasses import replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.coordinates import to_dense
from oneof.solvers.graph_logistic.prior import PriorTerm, symmetric_part
from oneof.typing import FeatureMatrix, Floats, Ints

MAX_ROWS_PER_WEIGHT = 0.5
"""Fraction of the weights under a ridge above which the number of rows is too large for a gain."""

ROUNDING_RTOL = 1e-13
"""Fraction of the largest entry of a rotated term below which an entry is a rounding error."""


def row_space_basis(terms: tuple[PriorTerm, ...], rows: FeatureMatrix) -> Floats | None:
    """Return an orthonormal basis of the row space, or None if the weights themselves are to be used.

    Parameters
    ----------
    terms : tuple of PriorTerm
        All that are not diagonal must be 0 outside the span of `rows`, apart from weights without a ridge.
    rows : ndarray or csr_array of shape (n, D)

    Returns
    -------
    ndarray of shape (D, r) or None
        The basis is separate for each ridge, and for weights without a ridge it consists of the unit vectors.
    """
    diagonal = [term for term in terms if term.is_diagonal]
    if len(diagonal) == len(terms) or not all(_is_ridge(term) for term in diagonal):
        return None
    blocks, free = [], np.ones(rows.shape[1], dtype=bool)
    for term in diagonal:
        own = np.flatnonzero(term.diagonal)
        part = rows[:, own]
        present = np.diff(part.indptr) > 0 if sp.issparse(part) else part.any(axis=1)
        if 0 < np.count_nonzero(present) <= MAX_ROWS_PER_WEIGHT * len(own):
            span = scipy.linalg.qr(to_dense(part[present]).T, mode="economic", check_finite=False)[0]
            blocks.append((own, _eigenvectors(terms, own, span)))
            free[own] = False
    if not blocks:
        return None
    blocks.append((np.flatnonzero(free), np.eye(int(np.count_nonzero(free)))))
    basis, start = np.zeros((rows.shape[1], sum(block.shape[1] for _, block in blocks))), 0
    for own, block in blocks:
        basis[own, start : start + block.shape[1]] = block
        start += block.shape[1]
    return basis


def _is_ridge(term: PriorTerm) -> bool:
    """Return whether the entries of a diagonal term are equal where they are not 0."""
    entries = term.diagonal[term.diagonal > 0]
    return not term.per_weight and (entries == entries[:1]).all()


def _eigenvectors(terms: tuple[PriorTerm, ...], own: Ints, span: Floats) -> Floats:
    """Rotate a basis of some weights to the eigenvectors of the first term that is not diagonal on them."""
    for term in terms:
        if not term.is_diagonal and term.diagonal[own].any():
            return span @ np.linalg.eigh(symmetric_part(span.T @ (term.matrix[own][:, own] @ span)))[1]
    return span


def rotate_term(term: PriorTerm, basis: Floats) -> PriorTerm:
    """Return the term for the coefficients of the weights in an orthonormal basis (D, r).

    A term whose entries off the diagonal are rounding errors is diagonal, and its eigenvalues that are rounding errors
    are 0.
    """
    product = symmetric_part(np.asarray(basis.T @ (term.matrix @ basis)))
    diagonal, error = product.diagonal(), ROUNDING_RTOL * np.abs(product).max(initial=0.0)
    if term.is_diagonal or (np.abs(product - np.diag(diagonal)) <= error).all():
        entries = np.where(diagonal > error, term.diagonal.max() if term.is_diagonal else diagonal, 0.0)
        return replace(term, matrix=sp.csr_array(sp.diags_array(entries)))
    return replace(term, matrix=product)
