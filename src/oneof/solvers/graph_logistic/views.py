"""Models of several views of the same rows: how far each is to be believed, and whether they should agree.

Both are told by labels that are left out, one at a time, by one Newton step from the Laplace posterior: see `left_out`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.solvers.graph_logistic.left_out import gain, left_out_scores
from oneof.solvers.graph_logistic.posterior import LaplacePosterior
from oneof.solvers.graph_logistic.solve import GraphLogisticSolution, solve_graph_logistic
from oneof.solvers.graph_logistic.terms import Term
from oneof.typing import FeatureMatrix, Floats, Ints, Mask


class Labeled(NamedTuple):
    """An instance of each labeled row for each view that it has.

    Attributes
    ----------
    instances : ndarray or csr_array of shape (m, D)
        In the columns of all views.
    mask : ndarray of shape (m, K), bool
        The candidate sets.
    weight : ndarray of shape (m,)
    place : ndarray of shape (m,)
        The number of the view.
    row : ndarray of shape (m,)
        The number of the row among those of fit.
    """

    instances: FeatureMatrix
    mask: Mask
    weight: Floats
    place: Ints
    row: Ints


@dataclass(frozen=True)
class Learned:
    """The labeled rows, the prior, and the solution, with what follows from them when it is asked for.

    Attributes
    ----------
    labeled : Labeled
    terms : tuple of Term
    n_views : int
    solution : GraphLogisticSolution
    """

    labeled: Labeled
    terms: tuple[Term, ...]
    n_views: int
    solution: GraphLogisticSolution

    @cached_property
    def posterior(self) -> LaplacePosterior:
        """The Laplace approximation of the weights' distribution."""
        rows, found = self.labeled, self.solution
        return LaplacePosterior.of(rows.instances, found.weights, self.terms, found.precisions, rows.weight, rows.mask)

    @cached_property
    def left_out(self) -> Floats:
        """The scores of each labeled instance without its label, (m, K-1)."""
        rows = self.labeled
        return left_out_scores(self.posterior, rows.instances, rows.mask, rows.weight)

    @cached_property
    def gains(self) -> Floats:
        """By how much each view foretells labels that are left out better than the frequencies do, in nats, (V,)."""
        rows, gains = self.labeled, np.zeros(self.n_views)
        for place in np.unique(rows.place):
            own = rows.place == place
            gains[place] = gain(self.left_out[own], rows.mask[own], rows.weight[own])
        return gains

    @cached_property
    def trust(self) -> Floats:
        """How far the views are to be believed, as shares, (V,): as far as they foretell labels."""
        if self.n_views == 1:
            return np.ones(1)
        gains = np.maximum(self.gains, 0.0)
        return gains / gains.sum() if gains.any() else np.full(self.n_views, 1.0 / self.n_views)

    @cached_property
    def foretells(self) -> float:
        """What the views foretell of all labels that are left out, each of its own rows, in nats."""
        rows = np.bincount(self.labeled.place, weights=self.labeled.weight, minlength=self.n_views)
        return float(rows @ self.gains)


def learn_views(
    labeled: Labeled,
    terms: tuple[Term, ...],
    n_views: int,
    *,
    agreement: bool | Literal["auto"],
    **settings: Any,
) -> Learned:
    """Solve for the weights of all views, with the terms that couple views or without.

    Parameters
    ----------
    labeled : Labeled
    terms : tuple of Term
    n_views : int
    agreement : {"auto", True, False}
        Whether views are coupled. By "auto" both are solved, and kept are the weights by which the views foretell
        labels better that are left out; where they do alike, the coupled ones.
    **settings
        Of `solve_graph_logistic`.
    """

    def solved(kept: tuple[Term, ...], initial: Floats | None = None) -> Learned:
        found = solve_graph_logistic(
            labeled.instances, labeled.mask, kept, sample_weight=labeled.weight, initial=initial, **settings
        )
        return Learned(labeled, kept, n_views, found)

    apart = tuple(term for term in terms if not term.couples)
    if len(apart) == len(terms) or agreement is True:
        return solved(terms)
    alone = solved(apart)
    if not agreement:
        return alone
    together = solved(terms, alone.solution.weights)
    return together if together.foretells >= alone.foretells else alone


def shares_of_views(have: Mask, trust: Floats) -> Floats:
    """Return (n, V) shares of the views in the mean of a row: as trusted, or alike where none of a row's is."""
    share = have * trust
    share = np.where(share.any(axis=1, keepdims=True), share, have.astype(np.float64))
    return share / np.maximum(share.sum(axis=1, keepdims=True), np.finfo(float).tiny)
