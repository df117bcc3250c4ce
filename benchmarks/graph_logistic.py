"""Graph-prior logistic regression: what its parts cost.

`python benchmarks/graph_logistic.py solver` times the three M-steps from w = 0 to one optimum, K = 10 classes, d = 100
features, 500 labeled rows of 2,000, in one run: at the precisions that the evidence sets, and at weaker ones. "alike"
is how far the weights of block and sequential are from Newton's, in units of the largest.

`python benchmarks/graph_logistic.py wide` times whole fits by the evidence on 5,000 sparse columns, 100 labeled rows.
"""

import resource
import sys
import time

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.solvers.graph_logistic import LogisticPosterior, PriorTerm, solve_graph_logistic


def rows_and_terms(n=2000, m=500, d=100, n_classes=10):
    """Return m labeled rows with a constant column, their labels as a mask, and a prior of graph and ridge."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(n_classes, d))
    X = random.normal(size=(n, d)) @ (np.eye(d) + 0.3 * random.normal(size=(d, d)) / np.sqrt(d))
    y = (X @ centers.T / np.sqrt(d) * 2.0 + random.gumbel(size=(n, n_classes))).argmax(axis=1)
    affinity = sp.csr_array(kneighbors_graph(X, 5))
    laplacian = sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T)))
    X = np.hstack([X, np.ones((n, 1))])
    matrix = X.T @ (laplacian @ X)
    matrix = (matrix + matrix.T) / 2.0
    matrix[-1], matrix[:, -1] = 0.0, 0.0
    ridge = sp.csr_array(np.diag(np.append(np.ones(d), 0.0)))
    return X[:m], np.eye(n_classes, dtype=bool)[y[:m]], [PriorTerm("graph", matrix), PriorTerm("ridge", ridge)]


def fastest(X, mask, terms, precisions, solver, n_runs):
    """Return the solution and the least time of some runs."""
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        found = solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, solver=solver)
        seconds.append(time.perf_counter() - start)
    return found, min(seconds)


def msteps():
    """Time the M-steps."""
    X, mask, terms = rows_and_terms()
    for solver in ("newton", "block", "sequential"):  # compiles
        solve_graph_logistic(
            X[:20], mask[:20], terms[1:], precision="fixed", precisions={"ridge": np.array(10.0)}, solver=solver
        )
        solve_graph_logistic(
            X[:20],
            mask[:20],
            terms,
            precision="fixed",
            precisions={t.name: np.array(10.0) for t in terms},
            solver=solver,
        )
    start = time.perf_counter()
    evidence = solve_graph_logistic(X, mask, terms)
    print(f"evidence: {time.perf_counter() - start:.2f} s, {evidence.n_iter} rounds, converged {evidence.converged}")
    for share in (1.0, 0.1):
        precisions = {name: share * value for name, value in evidence.precisions.items()}
        newton, own = fastest(X, mask, terms, precisions, "newton", 5)
        told = ", ".join(f"{name} {float(value):.3g}" for name, value in precisions.items())
        print(f"{told}: newton {own:.3f} s", end="")
        for solver, n_runs in (("block", 3), ("sequential", 1)):
            found, seconds = fastest(X, mask, terms, precisions, solver, n_runs)
            apart = np.abs(found.weights - newton.weights).max() / np.abs(newton.weights).max()
            print(f" | {solver} {seconds:.2f} s = {seconds / own:.0f} times (asked 5), alike to {apart:.0e}", end="")
        print(flush=True)


def wide():
    """Time fits of sparse text-like rows."""
    random = np.random.default_rng(0)
    n, d, m = 1000, 5000, 100
    X = sp.random_array((n, d), density=0.01, rng=random, format="csr")
    y = np.asarray(X @ random.normal(size=(d, 4)) * 3).argmax(axis=1)
    affinity = sp.csr_array(kneighbors_graph(X, 5))
    laplacian = sp.csr_array(sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T))))
    graph = (X.T @ laplacian @ X).toarray()
    mask = np.eye(4, dtype=bool)[y[:m]]
    ridge = sp.csr_array(sp.eye_array(d))
    priors = {
        "ridge": [PriorTerm("ridge", ridge)],
        "graph+ridge": [PriorTerm("graph", graph), PriorTerm("ridge", ridge)],
    }
    for name, terms in priors.items():
        start = time.perf_counter()
        found = solve_graph_logistic(X[:m], mask, terms, tol=1e-4)
        seconds = time.perf_counter() - start
        posterior = LogisticPosterior.from_mode(X[:m], found.weights, terms, found.precisions)
        start = time.perf_counter()
        posterior.covariance(X)
        print(
            f"{name}, {m} x {d} CSR, K = 4: {seconds:.1f} s, {found.n_iter} rounds, converged {found.converged}; "
            f"covariances of {n} rows {time.perf_counter() - start:.1f} s; peak memory "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    parts = sys.argv[1:] or ["solver", "wide"]
    if "solver" in parts:
        msteps()
    if "wide" in parts:
        wide()
