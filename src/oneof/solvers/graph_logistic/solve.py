"""Graph-prior logistic regression: M-steps and updates of the precisions, in turn."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from oneof.solvers.graph_logistic.ascent import Ascent
from oneof.solvers.graph_logistic.block import block
from oneof.solvers.graph_logistic.newton import newton
from oneof.solvers.graph_logistic.openings import Openings
from oneof.solvers.graph_logistic.precisions import Evidence, Hyper, scale_of
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.sequential import sequential
from oneof.solvers.graph_logistic.spaces import Space, space_of
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import FeatureMatrix, Floats, Mask

BOUNDS = {"block": block, "sequential": sequential}
MOST_STEPS = {"newton": 200, "block": 50_000, "sequential": 50_000}
"""In an M-step."""
MOST_STEPS_A_ROUND = 1000
"""In an M-step that is followed by others: where it creeps, precisions move on before it has arrived."""
START = {"evidence": 1e-1, "em": 1e-3}
"""First precisions, in units of those that weigh as much as the labeled rows; low for em, which may collapse."""
SETBACK = 2.0
"""Fall of the log evidence in one round, for up to 100 directions that the data determine and in proportion beyond, at
which an accelerated step is taken back. Plain ones lower it a little too, as their equation holds the curvature."""
NO_SCORES = 1e-6
"""Largest score, over the labeled rows, of weights that are as good as 0."""


@dataclass(frozen=True)
class GraphLogisticSolution:
    """What `solve_graph_logistic` found."""

    weights: Floats
    """(K-1, D); class K has 0."""
    precisions: Precisions
    """Name of the term -> (), (K-1,), (D,) or (K-1, D)."""
    objective: Floats
    """A value after each M-step: F under "em", the Laplace log evidence under "evidence", else the penalized l."""
    n_iter: int
    """M-steps."""
    converged: bool
    collapsed: bool
    """Whether "em" has run to w = 0 in all that a term penalizes."""


def solve_graph_logistic(
    features: FeatureMatrix,
    mask: Mask,
    terms: list[Term] | tuple[Term, ...],
    *,
    precision: Literal["evidence", "em", "fixed"] = "evidence",
    solver: Literal["newton", "block", "sequential"] = "newton",
    precisions: Precisions | None = None,
    sample_weight: Floats | None = None,
    alpha: float = 0.0,
    beta: float = 0.0,
    initial: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> GraphLogisticSolution:
    """Find weights and precisions.

    Parameters
    ----------
    features : ndarray or csr_array of shape (m, D), float64
        The labeled instances.
    mask : ndarray of shape (m, K), bool
        Their candidate sets; full ones change nothing.
    terms : sequence of Term
        The prior.
    precision : {"evidence", "em", "fixed"}
        How the precisions are set; "fixed" takes `precisions`.
    solver : {"newton", "block", "sequential"}
    precisions : dict, optional
        Where they start, or with "fixed" what they are.
    sample_weight : ndarray of shape (m,), optional
        At least 0; a weight of 2 is the same as the row twice.
    alpha, beta : float
        Of the Gamma hyper-prior of all precisions, >= 0.
    initial : ndarray of shape (K-1, D), optional
        Where the weights start, in place of 0.
    tol : float
        Each M-step ends where the scores are accurate to about `tol` of theirs. All ends where the derivative by the
        logarithm of each precision is at most `tol` of how many directions it governs.
    max_iter : int
        Rounds of M-step and update, at most.
    """
    terms = tuple(terms)
    likelihood = Likelihood.of(features, mask, sample_weight)
    openings = Openings.of(terms, likelihood.features, likelihood.row_weight)
    prior = Prior(terms, likelihood.n_vectors, openings)
    hyper = Hyper.of(terms, likelihood, alpha, beta)
    shape = (prior.n_vectors, prior.n_weights)
    weights: Floats = np.zeros(shape) if initial is None else np.array(initial, dtype=np.float64)
    current = _start(prior, likelihood, hyper, precision, precisions)
    own_tol = tol if precision == "fixed" else 0.1 * tol

    def maximized(start: Floats, at: Precisions, space: Space | None) -> tuple[Floats, bool]:
        if len(likelihood.mask) == 0:
            return np.zeros(shape), True
        if solver == "newton":
            space = space_of(prior, at, likelihood) if space is None else space
            return newton(likelihood, space, start, tol=own_tol, max_iter=MOST_STEPS[solver])
        most = MOST_STEPS[solver] if precision == "fixed" else MOST_STEPS_A_ROUND
        return BOUNDS[solver](likelihood, prior, at, start, tol=own_tol, max_iter=most)

    if precision == "fixed" or len(likelihood.mask) == 0:
        weights, converged = maximized(weights, current, None)
        at = likelihood.point(np.asarray(likelihood.features @ weights.T))
        value = at.likelihood - prior.penalty(weights, current)
        return GraphLogisticSolution(weights, current, np.array([value]), 1, converged, collapsed=False)
    counts = {term.name: term.counts(prior.n_vectors) for term in terms} if precision == "em" else {}
    own = tuple(term for term in terms if not term.couples)
    coupled = len(own) < len(terms)
    apart = prior
    if coupled:
        apart = Prior(own, prior.n_vectors, Openings.of(own, likelihood.features, likelihood.row_weight))
    trace: list[float] = []
    ascent = Ascent(hyper, terms, current)
    kept = weights, current  # weights with the precisions that led to them
    converged, n_iter = False, 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        space = space_of(prior, current, likelihood) if precision == "evidence" else None
        weights, arrived = maximized(weights, current, space)
        if space is None:
            trace.append(_integrated(likelihood, prior, weights, hyper, counts))
        else:
            evidence = Evidence.of(likelihood, space, current, weights, hyper)
            # With terms apart the update is stationary where no one objective is, that could say it went wrong.
            fallen = evidence.value < trace[-1] - SETBACK * max(1.0, evidence.total / 100.0) if trace else False
            if not coupled and ascent.plain is not None and fallen:
                current = ascent.taken_back()
                continue
            trace.append(evidence.value)
            counts = evidence.learned
            if coupled:
                separate = space_of(apart, current, likelihood)
                counts = {**counts, **Evidence.of(likelihood, separate, current, weights, hyper).learned}
        kept = weights, current
        squares = {term.name: term.quadratic(weights) for term in terms}
        slopes = {
            term.name: hyper.slopes(term, current[term.name], counts[term.name], squares[term.name]) for term in terms
        }
        steepest = max((float(np.abs(slope).max()) for slope in slopes.values()), default=0.0)
        converged = arrived and steepest <= tol * max([1.0, *(float(count.max()) for count in counts.values())])
        if not converged:
            plain = {term.name: hyper.updated(term, counts[term.name], squares[term.name]) for term in terms}
            current = ascent.ahead(current, plain, slopes) if precision == "evidence" else plain
    weights, current = kept
    collapsed = precision == "em" and _is_nothing(likelihood, prior, weights)
    if collapsed:
        weights = weights @ prior.openings.seen @ prior.openings.seen.T
    return GraphLogisticSolution(weights, current, np.array(trace), n_iter, converged, collapsed)


def _start(prior: Prior, likelihood: Likelihood, hyper: Hyper, rule: str, precisions: Precisions | None) -> Precisions:
    started = {}
    for term in prior.terms:
        if precisions is not None and term.name in precisions:
            value = np.asarray(precisions[term.name], dtype=np.float64)
        else:
            value = np.asarray(min(START.get(rule, 1.0) * scale_of(term, likelihood), hyper.largest[term.name]))
        value = np.array(np.broadcast_to(value, term.shape(prior.n_vectors)))
        started[term.name] = np.where(term.diagonal > 0, value, 0.0) if term.per_weight else value
    return started


def _integrated(likelihood: Likelihood, prior: Prior, weights: Floats, hyper: Hyper, counts: Precisions) -> float:
    """Return F(w) = l(w) - sum_j (alpha + n_j / 2) log(2 beta + w^T P_j w).

    A precision that stands at its largest value counts as in Q, lambda / 2 w^T P w, of which the logarithm is the
    tangent there: F goes on to rise where EM runs to w = 0, and stays finite.
    """
    at = likelihood.point(np.asarray(likelihood.features @ weights.T))
    value = at.likelihood - 0.5 * float((weights * prior.openings.penalized(weights)).sum())
    for term in prior.terms:
        largest = hyper.largest[term.name]
        square = 2.0 * hyper.beta + term.quadratic(weights)
        half = hyper.alpha + counts[term.name] / 2.0
        knee = 2.0 * half / largest
        inside = np.log(np.maximum(square, np.where(knee > 0, knee, 1.0)))
        below = np.where(knee > 0, np.minimum(square / np.where(knee > 0, knee, 1.0) - 1.0, 0.0), 0.0)
        value -= float((half * (inside + below)).sum())
    return value


def _is_nothing(likelihood: Likelihood, prior: Prior, weights: Floats) -> bool:
    seen = prior.openings.seen
    if seen.shape[1] + prior.openings.unseen.shape[1] == prior.n_weights:
        return False  # there is nothing that a precision could hold
    held = weights - weights @ seen @ seen.T
    return bool(np.abs(np.asarray(likelihood.features @ held.T)).max(initial=0.0) <= NO_SCORES)
