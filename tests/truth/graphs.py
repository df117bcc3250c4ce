"""Errors of the graph-based methods."""

import numpy as np
import scipy.sparse as sp

import oneof
from oneof.graphs import NeighborGraph, check_affinity
from oneof.solvers.diffusion.label_propagation import solve_local_global_consistency
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import Prior, smoothness_matrix
from oneof.solvers.transducer import solve_transduction
from tests.oracles import diffusion, exact
from tests.oracles.precision import matrix
from tests.truth.problems import affinity, fit, half_labeled


def consistency(problem):
    """LocalGlobalConsistency: largest error compared with the linear system; with 10,000 rows, a bound on it."""
    labels, half = half_labeled(problem)
    model = fit(oneof.LocalGlobalConsistency(tol=1e-12), half)
    if len(labels) < 1000:
        Y = matrix(half.mask & (labels >= 0)[:, None])
        F = diffusion.consistency(matrix(model.affinity_.toarray()), Y, model.alpha)
        return exact.difference(model.label_distributions_, F / F.sum(axis=1, keepdims=True))
    solution = solve_local_global_consistency(model.affinity_, half.mask, alpha=model.alpha, tol=1e-12, max_iter=10_000)
    F = solution.distributions * solution.mass[:, None]
    return exact.consistency_bound(model.affinity_, labels, F, model.alpha)


def walk(problem):
    """MarkovWalk: largest error of a posterior, compared with powers of P and as many EM iterations."""
    half = half_labeled(problem)[1]
    model = fit(oneof.MarkovWalk(), half)
    Q = diffusion.start_probabilities(matrix(model.affinity_.toarray()), model.n_steps)
    starts, _ = diffusion.walk_em(Q, matrix(half.mask), model.n_iter_)
    ends = Q.T @ starts
    return max(
        exact.difference(model.start_label_posteriors_, starts),
        exact.difference(model.label_distributions_, ends / ends.sum(axis=1, keepdims=True)),
    )


def transducer(problem):
    """SpectralGraphTransducer: violation of the optimality conditions of the minimum cut."""
    labels, half = half_labeled(problem)
    W = affinity(problem)
    solution = solve_transduction(check_affinity(W), half.mask, n_eigenvectors=80, C=3200.0, max_iter=1, tol=0.01)
    return exact.cut_error(W, labels, solution.relative_scores, 80, 3200)


def graph_logistic(problem):
    """GraphLogisticRegression, on exact labels: error of X^T L X, and of the weights for given precisions."""
    half = problem.exact if len(problem.X) >= 1000 else half_labeled(problem)[1]
    model = fit(oneof.GraphLogisticRegression(), half)
    views = model._fitted_views
    rows, precisions = views.labeled, views.solution.precisions
    likelihood = CandidateLikelihood.from_evidence(rows.instances, rows.evidence, rows.weight)
    prior = Prior.from_terms(views.terms, likelihood)
    Lambda = prior.matrix(prior.from_names(precisions))
    Lambda = Lambda.toarray() if sp.issparse(Lambda) else Lambda
    columns = np.hstack([rows.instances, rows.evidence])
    _, first, count = np.unique(columns, axis=0, return_index=True, return_counts=True)
    weights = exact.weight_error(rows.instances[first], rows.evidence[first], count, views.solution.weights, Lambda)
    vertices, counts = np.unique(half.X, axis=0, return_counts=True)
    features, links = model._view_model.features[0].instances(vertices), NeighborGraph().graph(vertices).affinity
    smoothness = smoothness_matrix(features, links, counts.astype(float))
    return max(weights, exact.smoothness_error(features, links.toarray(), counts, smoothness))
