"""Solver of graph-prior logistic regression: M-steps alternate with updates of the precisions.

`solve_graph_logistic` fits the weights of one view, or of several views together. `fit_views` selects coupled or
uncoupled views, and the weights of the views, by the predictive gain on left-out labels.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.solvers.graph_logistic.bohning import bohning_mstep, coordinate_mstep
from oneof.solvers.graph_logistic.coordinates import Coordinates, choose_coordinates
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import newton_mstep
from oneof.solvers.graph_logistic.posterior import LogisticPosterior, leave_one_out_scores, predictive_gain
from oneof.solvers.graph_logistic.precision_updates import (
    GammaHyperprior,
    LaplaceEvidence,
    PrecisionUpdater,
    reference_precision,
)
from oneof.solvers.graph_logistic.prior import Precisions, Prior, PriorTerm
from oneof.solvers.graph_logistic.row_space import rotate_term, row_space_basis
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints, Mask

BOUND_MSTEPS = {"block": bohning_mstep, "sequential": coordinate_mstep}
MAX_STEPS = {"newton": 200, "block": 50_000, "sequential": 50_000}
"""Maximum number of steps of an M-step."""
MAX_STEPS_PER_ITERATION = 1000
"""Maximum number of bound steps in one of several M-steps, so that slow M-steps do not delay the precisions."""
INITIAL_PRECISION = {"evidence": 1e-1, "em": 1e-3}
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
    precisions: Precisions
    """Name of the term -> () or (D,)."""
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
    precisions: Precisions | None = None,
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
        Initial precisions, or with precision="fixed" the precisions themselves.
    sample_weight : ndarray of shape (m,), optional
        At least 0; a weight of 2 is equivalent to two equal rows.
    span : ndarray or csr_array of shape (n, D), optional
        Rows whose span contains the labeled rows, and outside of which all terms are 0 but ridge and ARD. With
        Newton's method and few of them, the iterations are in their span (`row_space`), with the same result up to
        `tol`, if the precisions are identified.
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
    rule = Settings(**settings)
    terms = tuple(terms)
    likelihood = CandidateLikelihood.from_evidence(features, evidence, sample_weight)
    hyperprior = GammaHyperprior.from_likelihood(terms, likelihood, rule.alpha, rule.beta)
    start = _initial_precisions(terms, likelihood, hyperprior, rule.precision, precisions)
    # "em" counts all directions under a precision, also those outside the span.
    use_weights = span is None or rule.solver != "newton" or rule.precision == "em"
    basis = None if use_weights else row_space_basis(terms, span)
    if basis is not None:
        terms = tuple(rotate_term(term, basis) for term in terms)
        likelihood = replace(likelihood, features=np.asarray(likelihood.features @ basis))
        initial = None if initial is None else initial @ basis
    problem = _Problem(likelihood, Prior.from_terms(terms, likelihood), hyperprior, rule)
    weights = np.zeros(problem.prior.shape) if initial is None else np.array(initial, dtype=np.float64)
    if rule.precision == "fixed" or len(likelihood.evidence) == 0:
        solution = problem.solve_fixed(weights, start)
    else:
        solution = problem.estimate(weights, start)
    return solution if basis is None else replace(solution, weights=solution.weights @ basis.T)


def _initial_precisions(
    terms: tuple[PriorTerm, ...],
    likelihood: CandidateLikelihood,
    hyperprior: GammaHyperprior,
    rule: str,
    precisions: Precisions | None,
) -> Precisions:
    initial = {}
    for term in terms:
        if precisions is not None and term.name in precisions:
            value = np.asarray(precisions[term.name], dtype=np.float64)
        else:
            scaled = INITIAL_PRECISION.get(rule, 1.0) * reference_precision(term, likelihood)
            value = np.asarray(min(scaled, hyperprior.max_precision[term.name]))
        value = np.array(np.broadcast_to(value, term.shape))
        initial[term.name] = np.where(term.diagonal > 0, value, 0.0) if term.per_weight else value
    return initial


@dataclass(frozen=True)
class _Problem:
    """Likelihood, prior and hyper-prior of one fit, with its iterations."""

    likelihood: CandidateLikelihood
    prior: Prior
    hyperprior: GammaHyperprior
    settings: Settings

    def solve_fixed(self, weights: Floats, precisions: Precisions) -> GraphLogisticSolution:
        """Return the solution for given precisions: one M-step."""
        weights, converged = self._mstep(weights, precisions, None, self.settings.tol)
        value = self._log_likelihood(weights) - self.prior.penalty(weights, precisions)
        return GraphLogisticSolution(weights, precisions, np.array([value]), 1, converged, degenerate=False)

    def estimate(self, weights: Floats, current: Precisions) -> GraphLogisticSolution:
        """Return the solution for estimated precisions."""
        settings, terms, hyperprior = self.settings, self.prior.terms, self.hyperprior
        by_evidence = settings.precision == "evidence"
        counts = {} if by_evidence else {term.name: term.counts(self.prior.n_vectors) for term in terms}
        path: list[float] = []
        updater = PrecisionUpdater(hyperprior, terms, current)
        best = weights, current  # weights with the precisions of their M-step
        converged, n_iter, strictest = False, 0, 0.1 * settings.tol
        mstep_tol = INITIAL_MSTEP_TOL if by_evidence and settings.solver == "newton" else strictest
        while n_iter < settings.max_iter and not converged:
            n_iter += 1
            coordinates = choose_coordinates(self.prior, current, self.likelihood) if by_evidence else None
            weights, mstep_converged = self._mstep(weights, current, coordinates, max(mstep_tol, strictest))
            if coordinates is None:
                path.append(self._integrated_objective(weights, counts))
            else:
                laplace = LaplaceEvidence.at_mode(self.likelihood, coordinates, current, weights, hyperprior)
                # With uncoupled evidence the fixed point is not a maximum of one objective, which could decrease.
                limit = DECREASE_TOL * max(1.0, laplace.total_count / 100.0)
                decreased = bool(path) and laplace.value < path[-1] - limit
                if self._uncoupled is None and updater.plain is not None and decreased:
                    current = updater.reject()
                    continue
                path.append(laplace.value)
                counts = {**laplace.posterior_counts, **self._uncoupled_counts(weights, current)}
            best = weights, current
            squares = {term.name: term.quadratic(weights) for term in terms}
            gradients = {
                term.name: hyperprior.gradient(term, current[term.name], counts[term.name], squares[term.name])
                for term in terms
            }
            steepest = max((float(np.abs(gradient).max()) for gradient in gradients.values()), default=0.0)
            residual = steepest / max([1.0, *(float(count.max()) for count in counts.values())])
            converged = mstep_converged and residual <= settings.tol and mstep_tol <= strictest
            mstep_tol = min(mstep_tol, MSTEP_TOL_RATIO * residual)
            if not converged:
                plain = {term.name: hyperprior.update(term, counts[term.name], squares[term.name]) for term in terms}
                current = updater.propose(current, plain, gradients) if by_evidence else plain
        weights, current = best
        degenerate = not by_evidence and self._is_degenerate(weights)
        if degenerate:
            weights = weights @ self.prior.unpenalized.observed @ self.prior.unpenalized.observed.T
        return GraphLogisticSolution(weights, current, np.array(path), n_iter, converged, degenerate)

    def _mstep(
        self, weights: Floats, precisions: Precisions, coordinates: Coordinates | None, tol: float
    ) -> tuple[Floats, bool]:
        """Return the weights of the next M-step, and whether it converged."""
        if len(self.likelihood.evidence) == 0:
            return np.zeros(self.prior.shape), True
        solver = self.settings.solver
        if solver == "newton":
            if coordinates is None:
                coordinates = choose_coordinates(self.prior, precisions, self.likelihood)
            return newton_mstep(self.likelihood, coordinates, weights, tol=tol, max_iter=MAX_STEPS[solver])
        max_steps = MAX_STEPS[solver] if self.settings.precision == "fixed" else MAX_STEPS_PER_ITERATION
        return BOUND_MSTEPS[solver](self.likelihood, self.prior, precisions, weights, tol=tol, max_iter=max_steps)

    @cached_property
    def _uncoupled(self) -> Prior | None:
        """The prior without the terms that couple views; None if there are no such terms."""
        terms = tuple(term for term in self.prior.terms if not term.couples_views)
        return None if len(terms) == len(self.prior.terms) else Prior.from_terms(terms, self.likelihood)

    def _uncoupled_counts(self, weights: Floats, precisions: Precisions) -> Precisions:
        """Return the counts of the uncoupled terms under the prior without coupling."""
        if self._uncoupled is None:
            return {}
        coordinates = choose_coordinates(self._uncoupled, precisions, self.likelihood)
        laplace = LaplaceEvidence.at_mode(self.likelihood, coordinates, precisions, weights, self.hyperprior)
        return laplace.posterior_counts

    def _log_likelihood(self, weights: Floats) -> float:
        return self.likelihood.evaluate(np.asarray(self.likelihood.features @ weights.T)).log_likelihood

    def _integrated_objective(self, weights: Floats, counts: Precisions) -> float:
        """Return F(w) = l(w) - sum_j (alpha + n_j / 2) log(2 beta + w^T P_j w).

        For a precision at its upper bound, the logarithm is replaced by its tangent lambda / 2 w^T P w, as in Q. F thus
        keeps increasing if EM runs to w = 0, and stays finite.
        """
        hyperprior, unpenalized = self.hyperprior, self.prior.unpenalized
        value = self._log_likelihood(weights) - 0.5 * float((weights * unpenalized.matvec(weights)).sum())
        for term in self.prior.terms:
            square = 2.0 * hyperprior.beta + term.quadratic(weights)
            half = hyperprior.alpha + counts[term.name] / 2.0
            knee = 2.0 * half / hyperprior.max_precision[term.name]
            logarithm = np.log(np.maximum(square, np.where(knee > 0, knee, 1.0)))
            tangent = np.where(knee > 0, np.minimum(square / np.where(knee > 0, knee, 1.0) - 1.0, 0.0), 0.0)
            value -= float((half * (logarithm + tangent)).sum())
        return value

    def _is_degenerate(self, weights: Floats) -> bool:
        """Return whether the weights are 0 in all penalized directions."""
        observed, unobserved = self.prior.unpenalized.observed, self.prior.unpenalized.unobserved
        if observed.shape[1] + unobserved.shape[1] == self.prior.n_weights:
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
    row : ndarray of shape (m,)
        Index of the row among the training rows.
    span : ndarray or csr_array of shape (n, D) or None
        See `solve_graph_logistic`.
    """

    instances: FeatureMatrix
    evidence: Evidence
    weight: Floats
    view: Ints
    row: Ints
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
        rows, solution = self.labeled, self.solution
        return LogisticPosterior.from_mode(
            rows.instances, solution.weights, self.terms, solution.precisions, rows.weight, rows.evidence
        )

    @cached_property
    def loo_scores(self) -> Floats:
        """The leave-one-out scores of the labeled instances, (m, K-1)."""
        rows = self.labeled
        return leave_one_out_scores(self.posterior, rows.instances, rows.evidence, rows.weight)

    @cached_property
    def predictive_gains(self) -> Floats:
        """Predictive gain of each view on left-out labels over the class frequencies, in nats per row, (V,)."""
        rows, gains = self.labeled, np.zeros(self.n_views)
        for view in np.unique(rows.view):
            in_view = rows.view == view
            gains[view] = predictive_gain(self.loo_scores[in_view], rows.evidence[in_view], rows.weight[in_view])
        return gains

    @cached_property
    def view_weights(self) -> Floats:
        """Weights of the views, (V,), which sum to 1: proportional to the positive predictive gains."""
        if self.n_views == 1:
            return np.ones(1)
        gains = np.maximum(self.predictive_gains, 0.0)
        return gains / gains.sum() if gains.any() else np.full(self.n_views, 1.0 / self.n_views)

    @cached_property
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

    def solve(selected: tuple[PriorTerm, ...], initial: Floats | None = None) -> FittedViews:
        solution = solve_graph_logistic(
            labeled.instances,
            labeled.evidence,
            selected,
            sample_weight=labeled.weight,
            span=labeled.span,
            initial=initial,
            **settings,
        )
        return FittedViews(labeled, selected, n_views, solution)

    uncoupled_terms = tuple(term for term in terms if not term.couples_views)
    if len(uncoupled_terms) == len(terms) or coregularization is True:
        return solve(terms)
    uncoupled = solve(uncoupled_terms)
    if not coregularization:
        return uncoupled
    coupled = solve(terms, uncoupled.solution.weights)
    return coupled if coupled.total_predictive_gain >= uncoupled.total_predictive_gain else uncoupled


def normalize_view_weights(available: Mask, view_weights: Floats) -> Floats:
    """Return the (n, V) weights of the available views in each row, which sum to 1; equal if all of them are 0."""
    weights = available * view_weights
    weights = np.where(weights.any(axis=1, keepdims=True), weights, available.astype(np.float64))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
