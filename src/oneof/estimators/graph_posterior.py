"""What a fit of graph-prior logistic regression leaves besides the weights: their posterior, and the worth of views."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from oneof.estimators.graph_encoding import Labelled
from oneof.estimators.view_model import shares_of_views
from oneof.solvers.graph_logistic import GraphLogisticSolution, LaplacePosterior, Term, solve_graph_logistic
from oneof.solvers.graph_logistic.left_out import gain, left_out_scores
from oneof.typing import Floats


@dataclass(frozen=True)
class Learnt:
    """The labelled rows, the prior, and the solution.

    Attributes
    ----------
    labelled : Labelled
    terms : tuple of Term
    n_views : int
    solution : GraphLogisticSolution
    """

    labelled: Labelled
    terms: tuple[Term, ...]
    n_views: int
    solution: GraphLogisticSolution

    @classmethod
    def of(
        cls,
        labelled: Labelled,
        terms: tuple[Term, ...],
        n_views: int,
        *,
        agreement: bool | Literal["auto"],
        **settings: Any,
    ) -> "Learnt":
        """Solve, with the agreement of views or without; by "auto" with it if labels left out are foretold as well."""

        def solved(kept: tuple[Term, ...]) -> Learnt:
            found = solve_graph_logistic(
                labelled.instances, labelled.mask, kept, sample_weight=labelled.weight, **settings
            )
            return cls(labelled, kept, n_views, found)

        apart = tuple(term for term in terms if not term.couples)
        if not agreement or len(apart) == len(terms):
            return solved(apart)
        together = solved(terms)
        if agreement != "auto":
            return together
        alone = solved(apart)
        return together if together.foretells >= alone.foretells else alone

    @cached_property
    def posterior(self) -> LaplacePosterior:
        """The Laplace approximation of the weights' distribution."""
        rows, found = self.labelled, self.solution
        return LaplacePosterior.of(rows.instances, found.weights, self.terms, found.precisions, rows.weight, rows.mask)

    @cached_property
    def left_out(self) -> Floats:
        """What the views say of each labelled instance without its label, (m, K-1)."""
        rows = self.labelled
        return left_out_scores(self.posterior, rows.instances, rows.mask, rows.weight)

    @cached_property
    def trust(self) -> Floats:
        """By how much each view, without a label, foretells it better than the frequencies do, as shares, (V,)."""
        if self.n_views == 1:
            return np.ones(1)
        rows = self.labelled
        gains = np.zeros(self.n_views)
        for place in np.unique(rows.place):
            own = rows.place == place
            gains[place] = gain(self.left_out[own], rows.mask[own], rows.weight[own])
        return gains / gains.sum() if gains.any() else np.full(self.n_views, 1.0 / self.n_views)

    @cached_property
    def foretells(self) -> float:
        """By how much all views together, without a label, foretell it better than the frequencies do."""
        rows = self.labelled
        known, first, number = np.unique(rows.row, return_index=True, return_inverse=True)
        have = np.zeros((len(known), self.n_views), dtype=bool)
        have[number, rows.place] = True
        share = shares_of_views(have, self.trust)
        scores = np.zeros((len(known), self.left_out.shape[1]))
        np.add.at(scores, number, share[number, rows.place][:, None] * self.left_out)
        return gain(scores, rows.mask[first], rows.weight[first])
