"""What a fit of graph-prior logistic regression leaves besides the weights: their posterior, and the worth of views."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneof.estimators.graph_encoding import Labelled
from oneof.solvers.graph_logistic import GraphLogisticSolution, LaplacePosterior, Term
from oneof.solvers.graph_logistic.left_out import gain, left_out_scores
from oneof.typing import Floats


@dataclass(frozen=True)
class Learnt:
    """The labelled rows, the prior, and the solution.

    Attributes
    ----------
    labelled : Labelled
    terms : tuple of Term
    solution : GraphLogisticSolution
    """

    labelled: Labelled
    terms: tuple[Term, ...]
    solution: GraphLogisticSolution

    @cached_property
    def posterior(self) -> LaplacePosterior:
        """The Laplace approximation of the weights' distribution."""
        rows, found = self.labelled, self.solution
        return LaplacePosterior.of(rows.instances, found.weights, self.terms, found.precisions, rows.weight, rows.mask)

    def trust(self, n_views: int) -> Floats:
        """Return by how much each view, without a label, foretells it better than the frequencies do, as shares."""
        if n_views == 1:
            return np.ones(1)
        rows = self.labelled
        scores = left_out_scores(self.posterior, rows.instances, rows.mask, rows.weight)
        gains = np.zeros(n_views)
        for place in np.unique(rows.place):
            own = rows.place == place
            gains[place] = gain(scores[own], rows.mask[own], rows.weight[own])
        return gains / gains.sum() if gains.any() else np.full(n_views, 1.0 / n_views)
