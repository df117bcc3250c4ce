"""Solver of graph-prior logistic regression: M-steps alternate with updates of the precisions.

`solve_graph_logistic` fits the weights of one view, or of several views together. `fit_views` selects coupled or
uncoupled views, and the weights of the views, by the predictive gain on left-out labels.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.solvers.graph_logistic.bohning import bound_mstep
from oneof.solvers.graph_logistic.coordinates import Coordinates, choose_coordinates, rotate_term, row_space_basis
from oneof.solvers.graph_logistic.evidence import AndersonAcceleration, GammaHyperprior, laplace_evidence
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import newton_mstep
from oneof.solvers.graph_logistic.posterior import LogisticPosterior, leave_one_out_scores, predictive_gain
from oneof.solvers.graph_logistic.prior import Prior, PriorTerm
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

MAX_STEPS = {"newton": 200, "block": 50_000, "sequential": 50_000}
"""Maximum number of steps of an M-step."""
MAX_STEPS_PER_ITERATION = 1000
"""Maximum number of bound steps in one of several M-steps, so that slow M-steps do not delay the precisions."""
INITIAL_PRECISION = {"evidence": 1e-1, "em": 1e-3, "fixed": 1.0}
"""Initial precisions, in units of the curvature of the labeled rows; low for "em", which may degenerate to w = 0."""
INITIAL_MSTEP_TOL = 1e-3
"""Tolerance of the first of Newton's M-steps under "evidence"."""
MSTEP_TOL_RATIO = 0.01
"""Tolerance of the next M-step, relative to the residual of the precisions: far from the fixed point a rough M-step
is enough."""
DECREASE_TOL = 2.0
"""Decrease of the log evidence at which an accelerated step is rejected, for up to 100 determined directions.

Above 100 it grows in proportion. Plain steps decrease the evidence a little as well, since they fix the curvature.
"""
SCORE_TOL = 1e-6
"""Largest score of the labeled rows below which weights count as 0."""


@dataclass(frozen=True)
class Settings:
    """Settings of `solve_graph_logistic`."""

    precision: Literal["evidence", "em", "fixed"] = "evidence"
    """Rule for the precisions; "fixed" uses the initial ones."""
    solver: Literal["newton", "block", "sequential"] = "newton"
    """Algorithm of the M-step."""
    alpha: float = 0.0
    """First parameter of the Gamma hyper-prior of all precisions, >= 0."""
    beta: float = 0.0
    """Second parameter of the hyper-prior, >= 0."""
    tol: float = 1e-6
    """The last M-step stops at a relative error of the scores of about `tol`; earlier ones with "evidence" are rougher
    (`MSTEP_TOL_RATIO`). The iterations stop if the derivative by the logarithm of each precision is at most `tol` times
    the number of directions under it."""
    max_iter: int = 200
    """Maximum number of iterations of M-step and update."""


@dataclass(frozen=True)
class GraphLogisticSolution:
    """Solution of `solve_graph_logistic`."""

    weights: Floats
    """(K-1, D); class K has 0."""
    precisions: dict[str, Floats]
    """Name of the term -> its precision, (), or with `per_weight` (D,)."""
    objective_path: Floats
    """Value after each M-step: F under "em", the Laplace log evidence under "evidence", else the penalized l."""
    n_iter: int
    """Number of M-steps."""
    converged: bool
    degenerate: bool
    """Whether "em" ended at w = 0 in all penalized directions."""


def solve_graph_logistic(
    features: FeatureMatrix,
    evidence: Evidence,
    terms: list[PriorTerm] | tuple[PriorTerm, ...],
    *,
    precisions: dict[str, Floats] | None = None,
    sample_weight: Floats | None = None,
    span: FeatureMatrix | None = None,
    initial: Floats | None = None,
    **settings: Any,
) -> GraphLogisticSolution:
    """Estimate the weights and the precisions.

    Parameters
    ----------
    features : ndarray or csr_array of shape (m, D), float64
        Instances of the labeled rows.
    evidence : ndarray of shape (m, K), bool or float64
        Their candidate sets, or the weights of the candidates; rows of equal weights have no effect.
    terms : sequence of PriorTerm
        The terms of the prior.
    precisions : dict, optional
        Initial precisions of all terms, or with precision="fixed" the precisions themselves.
    sample_weight : ndarray of shape (m,), optional
        At least 0; a weight of 2 is equivalent to two equal rows.
    span : ndarray or csr_array of shape (n, D), optional
        Rows whose span contains the labeled rows, and outside of which all terms are 0 but ridge and ARD. With
        Newton's method and few of them, the iterations are in their span (`row_space_basis`), with the same result up
        to `tol`, if the precisions are identified.
    initial : ndarray of shape (K-1, D), optional
        Initial weights; 0 by default.
    **settings
        Fields of `Settings`.

    Returns
    -------
    GraphLogisticSolution

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17.
    MacKay (1992), The evidence framework applied to classification networks, Neural Computation.
    """
    rule, terms = Settings(**settings), tuple(terms)
    likelihood = CandidateLikelihood.from_evidence(features, evidence, sample_weight)
    hyperprior = GammaHyperprior.from_likelihood(terms, likelihood, rule.alpha, rule.beta)
    # "em" counts all directions under a precision, also those outside the span.
    use_weights = span is None or rule.solver != "newton" or rule.precision == "em"
    basis = None if use_weights else row_space_basis(terms, span)
    if basis is not None:
        terms = tuple(rotate_term(term, basis) for term in terms)
        likelihood = replace(likelihood, features=np.asarray(likelihood.features @ basis))
        initial = None if initial is None else initial @ basis
    prior = Prior.from_terms(terms, likelihood)
    start = INITIAL_PRECISION[rule.precision] * hyperprior.reference
    if precisions is not None:
        start = prior.from_names(precisions)
    problem = _Problem(likelihood, prior, hyperprior, rule)
    weights = np.zeros((prior.n_vectors, prior.n_weights)) if initial is None else np.array(initial, dtype=np.float64)
    is_fixed = rule.precision == "fixed" or len(likelihood.evidence) == 0
    solution = problem.solve_fixed(weights, start) if is_fixed else problem.estimate(weights, start)
    return solution if basis is None else replace(solution, weights=solution.weights @ basis.T)


@dataclass(frozen=True)
class _Problem:
    """Likelihood, prior and hyper-prior of one fit, with its iterations."""

    likelihood: CandidateLikelihood
    prior: Prior
    hyperprior: GammaHyperprior
    settings: Settings

    def solve_fixed(self, weights: Floats, precisions: Floats) -> GraphLogisticSolution:
        """Return the solution for given precisions: one M-step."""
        weights, converged = self._mstep(weights, precisions, None, self.settings.tol)
        path = np.array([self.likelihood.value(weights) - self.prior.penalty(weights, precisions)])
        return GraphLogisticSolution(weights, self.prior.by_term(precisions), path, 1, converged, degenerate=False)

    def estimate(self, weights: Floats, precisions: Floats) -> GraphLogisticSolution:
        """Return the solution for estimated precisions."""
        settings, prior, hyperprior = self.settings, self.prior, self.hyperprior
        by_evidence = settings.precision == "evidence"
        counts = np.zeros(0) if by_evidence else prior.counts()
        acceleration = AndersonAcceleration(np.log(hyperprior.lower), np.log(hyperprior.upper))
        plain, path = None, []  # the plain update, if an accelerated one replaces it
        best = weights, precisions  # weights with the precisions of their M-step
        converged, n_iter, strictest = False, 0, 0.1 * settings.tol
        mstep_tol = INITIAL_MSTEP_TOL if by_evidence and settings.solver == "newton" else strictest
        while n_iter < settings.max_iter and not converged:
            n_iter += 1
            coordinates = choose_coordinates(prior, precisions, self.likelihood) if by_evidence else None
            weights, mstep_converged = self._mstep(weights, precisions, coordinates, max(mstep_tol, strictest))
            if coordinates is None:
                path.append(self._integrated_objective(weights, counts))
            else:
                value, counts = laplace_evidence(self.likelihood, coordinates, weights, hyperprior)
                limit = DECREASE_TOL * max(1.0, counts.sum() / 100.0)
                # With uncoupled evidence the fixed point is not a maximum of one objective, which could decrease.
                if self._uncoupled is None and plain is not None and value < path[-1] - limit:
                    acceleration.restart()
                    precisions, plain = plain, None
                    continue
                path.append(value)
                counts = self._with_uncoupled_counts(counts, weights, precisions)
            best = weights, precisions
            squares = prior.quadratics(weights)
            gradient = hyperprior.gradient(precisions, counts, squares)
            residual = float(np.abs(gradient).max(initial=0.0) / counts.max(initial=1.0))
            converged = mstep_converged and residual <= settings.tol and mstep_tol <= strictest
            mstep_tol = min(mstep_tol, MSTEP_TOL_RATIO * residual)
            updated = hyperprior.update(counts, squares)
            if by_evidence:
                plain = updated
                proposed = acceleration.extrapolate(np.log(precisions), np.log(plain), gradient)
                updated = np.clip(np.exp(proposed), hyperprior.lower, hyperprior.upper)
            precisions = updated
        weights, precisions = best
        degenerate = not by_evidence and self._is_degenerate(weights)
        if degenerate:
            weights = weights @ prior.observed @ prior.observed.T
        by_term = prior.by_term(precisions)
        return GraphLogisticSolution(weights, by_term, np.array(path), n_iter, converged, degenerate)

    def _mstep(
        self, weights: Floats, precisions: Floats, coordinates: Coordinates | None, tol: float
    ) -> tuple[Floats, bool]:
        """Return the weights of the next M-step, and whether it converged."""
        solver = self.settings.solver
        if len(self.likelihood.evidence) == 0:
            return np.zeros_like(weights), True
        if solver == "newton":
            coordinates = coordinates or choose_coordinates(self.prior, precisions, self.likelihood)
            return newton_mstep(self.likelihood, coordinates, weights, tol=tol, max_iter=MAX_STEPS[solver])
        max_steps = MAX_STEPS[solver] if self.settings.precision == "fixed" else MAX_STEPS_PER_ITERATION
        return bound_mstep(solver, self.likelihood, self.prior, precisions, weights, tol=tol, max_iter=max_steps)

    @cached_property
    def _uncoupled(self) -> Prior | None:
        """The prior without the terms that couple views; None if there are no such terms."""
        terms = tuple(term for term in self.prior.terms if not term.couples_views)
        return None if len(terms) == len(self.prior.terms) else Prior.from_terms(terms, self.likelihood)

    def _with_uncoupled_counts(self, counts: Floats, weights: Floats, precisions: Floats) -> Floats:
        """Return the counts with those of the uncoupled terms under the prior without coupling."""
        if self._uncoupled is None:
            return counts
        own = np.concatenate([np.full(term.n_precisions, not term.couples_views) for term in self.prior.terms])
        coordinates = choose_coordinates(self._uncoupled, precisions[own], self.likelihood)
        counts[own] = laplace_evidence(self.likelihood, coordinates, weights, self.hyperprior)[1]
        return counts

    def _integrated_objective(self, weights: Floats, counts: Floats) -> float:
        """Return F(w) = l(w) - sum_j (alpha + n_j / 2) log(2 beta + w^T P_j w).

        For a precision at its upper bound, the logarithm is replaced by its tangent lambda / 2 w^T P w, as in Q. F thus
        keeps increasing if EM runs to w = 0, and stays finite.
        """
        half = self.hyperprior.alpha + counts / 2.0
        knee = np.where(half > 0, 2.0 * half / self.hyperprior.upper, 1.0)
        squares = 2.0 * self.hyperprior.beta + self.prior.quadratics(weights)
        logarithms = np.log(np.maximum(squares, knee)) + np.minimum(squares / knee - 1.0, 0.0)
        unpenalized = 0.5 * self.prior.vague_quadratic(weights)
        return self.likelihood.value(weights) - unpenalized - float(half @ logarithms)

    def _is_degenerate(self, weights: Floats) -> bool:
        """Return whether the weights are 0 in all penalized directions."""
        observed = self.prior.observed
        if observed.shape[1] + self.prior.unobserved.shape[1] == self.prior.n_weights:
            return False  # no direction is penalized
        penalized = weights - weights @ observed @ observed.T
        return bool(np.abs(np.asarray(self.likelihood.features @ penalized.T)).max(initial=0.0) <= SCORE_TOL)


# -- several views --------------------------------------------------------------------------------------------------


class LabeledInstances(NamedTuple):
    """Instances of the labeled rows, one for each view that a row has.

    Attributes
    ----------
    instances : ndarray or csr_array of shape (m, D)
        Instances in the columns of all views.
    evidence : ndarray of shape (m, K), bool or float64
        The candidate sets, or the weights of the candidates.
    weight : ndarray of shape (m,)
        The sample weights.
    view : ndarray of shape (m,)
        Index of the view.
    span : ndarray or csr_array of shape (n, D) or None
        See `solve_graph_logistic`.
    """

    instances: FeatureMatrix
    evidence: Evidence
    weight: Floats
    view: Ints
    span: FeatureMatrix | None = None


@dataclass(frozen=True)
class FittedViews:
    """Labeled instances, prior and solution, with quantities that are computed on first access.

    Attributes
    ----------
    labeled : LabeledInstances
    terms : tuple of PriorTerm
    n_views : int
    solution : GraphLogisticSolution
    """

    labeled: LabeledInstances
    terms: tuple[PriorTerm, ...]
    n_views: int
    solution: GraphLogisticSolution

    @cached_property
    def posterior(self) -> LogisticPosterior:
        """The Laplace approximation to the posterior of the weights."""
        likelihood = CandidateLikelihood(self.labeled.instances, self.labeled.evidence, self.labeled.weight)
        prior = Prior.from_terms(self.terms, likelihood)
        coordinates = choose_coordinates(prior, prior.from_names(self.solution.precisions), likelihood)
        return LogisticPosterior.at_mode(likelihood, coordinates, self.solution.weights)

    @cached_property
    def predictive_gains(self) -> Floats:
        """Predictive gain of each view on left-out labels over the class frequencies, in nats per row, (V,)."""
        rows, gains = self.labeled, np.zeros(self.n_views)
        scores = leave_one_out_scores(self.posterior, rows.instances, rows.evidence, rows.weight)
        for view in np.unique(rows.view):
            in_view = rows.view == view
            gains[view] = predictive_gain(scores[in_view], rows.evidence[in_view], rows.weight[in_view])
        return gains

    @cached_property
    def view_weights(self) -> Floats:
        """Weights of the views, (V,), which sum to 1: proportional to the positive predictive gains."""
        if self.n_views == 1:
            return np.ones(1)
        gains = np.maximum(self.predictive_gains, 0.0)
        return gains / gains.sum() if gains.any() else np.full(self.n_views, 1.0 / self.n_views)

    @property
    def total_predictive_gain(self) -> float:
        """Predictive gain on all left-out labels, each view on its own rows, in nats."""
        rows = np.bincount(self.labeled.view, weights=self.labeled.weight, minlength=self.n_views)
        return float(rows @ self.predictive_gains)


def fit_views(
    labeled: LabeledInstances,
    terms: tuple[PriorTerm, ...],
    n_views: int,
    *,
    coregularization: bool | Literal["auto"],
    **settings: Any,
) -> FittedViews:
    """Solve for the weights of all views, with or without the terms that couple views.

    Parameters
    ----------
    labeled : LabeledInstances
    terms : tuple of PriorTerm
    n_views : int
    coregularization : {"auto", True, False}
        Whether views are coupled. With "auto" both problems are solved. The coupled solution is selected unless its
        total predictive gain on left-out labels is lower.
    **settings
        Parameters of `solve_graph_logistic`.

    Returns
    -------
    FittedViews
    """
    X, evidence, weight, _, span = labeled

    def solve(own: tuple[PriorTerm, ...], initial: Floats | None = None) -> FittedViews:
        options = {"sample_weight": weight, "span": span, "initial": initial, **settings}
        return FittedViews(labeled, own, n_views, solve_graph_logistic(X, evidence, own, **options))

    uncoupled_terms = tuple(term for term in terms if not term.couples_views)
    if len(uncoupled_terms) == len(terms) or coregularization is True:
        return solve(terms)
    uncoupled = solve(uncoupled_terms)
    if not coregularization:
        return uncoupled
    coupled = solve(terms, uncoupled.solution.weights)
    return coupled if coupled.total_predictive_gain >= uncoupled.total_predictive_gain else uncoupled
