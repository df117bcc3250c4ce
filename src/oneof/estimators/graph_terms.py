"""The terms of the prior of graph-prior logistic regression, each in a unit of its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.estimators.graph_encoding import View
from oneof.solvers.graph_logistic import Term
from oneof.solvers.graph_logistic.matrices import blocks, disagreement
from oneof.typing import FeatureMatrix, Floats, Mask

_USUAL_FEATURES = 100
"""Number of features beyond which a precision counts in units that grow with it. What scores may be beforehand, of
variance p / lambda, then grows no further."""


@dataclass(frozen=True)
class ScaledTerm:
    """A term in a unit of its own, so that one hyper-prior does for all.

    Attributes
    ----------
    term : Term
    unit : float
        The precision that 1 stands for, with features as they were given.
    weights : slice
        Of all D, those that an ARD term is about.
    """

    term: Term
    unit: float
    weights: slice

    def precision_of_rows(self, found: Floats) -> Floats:
        """Return precisions for features as they were given; those of ARD for the view's features alone."""
        with np.errstate(over="ignore", under="ignore"):
            value = np.asarray(found * np.float64(self.unit))
        return value[..., self.weights] if self.term.per_weight else value


def prior_terms(
    rows: FeatureMatrix, told: Mask, weight: Floats, views: list[View], *, prior: str, per_class: bool, numbered: bool
) -> list[ScaledTerm]:
    """Return the terms of the prior: of each view its graph, and ridge or ARD; and the agreement of the views."""
    sizes = [view.size for view in views]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    terms = []
    for place, view in enumerate(views):
        suffix = f" {place}" if numbered else ""
        own = slice(int(starts[place]), int(starts[place + 1]) - view.features.has_constant)
        changes = view.smoothness.diagonal()
        rough = float(changes[changes > 0].mean()) if (changes > 0).any() else 1.0
        many = max(own.stop - own.start, _USUAL_FEATURES) / _USUAL_FEATURES
        scaled = view.smoothness * (many / rough)
        smooth = Term(f"graph{suffix}", blocks({(place, place): scaled}, sizes), per_class=per_class)
        terms.append(ScaledTerm(smooth, many / rough, own))
        if prior != "graph":
            kind = prior.removeprefix("graph+")
            unit = 1.0 if kind == "ard" else many
            held = np.zeros(starts[-1])
            held[own] = unit
            diagonal = sp.csr_array(sp.diags_array(held, format="csr"))
            term = Term(f"{kind}{suffix}", diagonal, per_weight=kind == "ard", per_class=per_class)
            with np.errstate(over="ignore", under="ignore"):
                terms.append(ScaledTerm(term, float(unit * np.float64(view.features.unit) ** 2), own))
    parts, pairs = _disagreements(rows, told, weight, views)
    if parts:
        # Features have mean variance 1, and so has the diagonal where they are centered, which sparse ones are not.
        rough = 2.0 * pairs / len(views)
        agreement = Term("agreement", blocks(parts, sizes) / rough, couples=True)
        terms.append(ScaledTerm(agreement, 1.0 / rough, slice(None)))
    return terms


def _disagreements(
    rows: FeatureMatrix, told: Mask, weight: Floats, views: list[View]
) -> tuple[dict[tuple[int, int], Any], float]:
    """Return how much views disagree on unlabeled rows that have two, and the total weight of such pairs.

    The former is the blocks on the diagonal and above of C.
    """
    parts: dict[tuple[int, int], Any] = {}
    pairs = 0.0
    for a in range(len(views)):
        for b in range(a + 1, len(views)):
            both = np.flatnonzero(views[a].here & views[b].here & ~told & (weight > 0))
            if not len(both):
                continue
            left, right = views[a].features.instances(rows[both]), views[b].features.instances(rows[both])
            own, across, other = disagreement(left, right, weight[both])
            parts[a, a] = parts[a, a] + own if (a, a) in parts else own
            parts[b, b] = parts[b, b] + other if (b, b) in parts else other
            parts[a, b] = across
            pairs += float(weight[both].sum())
    return parts, pairs
