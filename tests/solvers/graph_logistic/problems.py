"""Problems for the solver: a table with a constant column, its smoothness matrix, and its labels."""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.graph_logistic import LogisticPosterior, PriorTerm
from oneof.solvers.graph_logistic.coordinates import choose_coordinates
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import Prior


def make_problem(m=60, d=6, K=3, seed=0, n=150):
    """Return m labeled instances (the last column constant), exact labels as a mask, A and the matrix of the ridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    X = np.hstack([X, np.ones((n, 1))])
    affinity = sp.csr_array(kneighbors_graph(X[:, :-1], 5))
    laplacian = sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T)))
    A = X.T @ (laplacian @ X)
    A = (A + A.T) / 2
    A[-1], A[:, -1] = 0.0, 0.0
    ridge = sp.csr_array(np.diag(np.append(np.ones(d), 0.0)))
    return X[:m], np.eye(K, dtype=bool)[y[:m]], A, ridge


def make_terms(prior, A, ridge):
    """Return the terms of a named prior."""
    matrices = {"graph": A, "ridge": ridge, "ard": ridge}
    return [PriorTerm(name, matrices[name], per_weight=name == "ard") for name in prior.split("+")]


def draw_precisions(terms, seed=0):
    """Return random precisions of the right shapes."""
    rng = np.random.default_rng(seed)
    precisions = {}
    for term in terms:
        shape = term.diagonal.shape if term.per_weight else ()
        value = rng.uniform(0.3, 3.0, size=shape) * (0.01 if term.name == "graph" else 1.0)
        precisions[term.name] = np.where(term.diagonal > 0, value, 0.0) if term.per_weight else np.asarray(value)
    return precisions


def soften(mask, seed=0):
    """Widen some exact labels to candidate sets, one of them full."""
    widened = mask.copy()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(mask))[: len(mask) // 3]
    widened[rows, rng.integers(mask.shape[1], size=len(rows))] = True
    widened[rows[0]] = True
    return widened


def make_posterior(X, W, terms, precisions, weight=None, evidence=None):
    """Return the Laplace posterior at W; by default every row has an exact label."""
    exact = np.eye(len(W) + 1, dtype=bool)[np.zeros(X.shape[0], dtype=int)]
    likelihood = CandidateLikelihood.from_evidence(X, exact if evidence is None else evidence, weight)
    prior = Prior.from_terms(tuple(terms), likelihood)
    coordinates = choose_coordinates(prior, prior.from_names(precisions), likelihood)
    return LogisticPosterior.at_mode(likelihood, coordinates, W)
