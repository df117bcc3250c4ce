"""Equality of the information under the solver's posterior with that under the same precision as one dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.active import ViewInstances, mutual_information, select_batch
from oneof.solvers.graph_logistic import PriorTerm
from tests.solvers.active.dense import DensePosterior, curvature, view_lookup
from tests.solvers.graph_logistic.problems import make_posterior


def disagreement(x, columns, D):
    """Return the matrix of the squared differences between two views' scores."""
    signed = np.zeros((len(x), D))
    signed[:, columns[0]], signed[:, columns[1]] = x[:, columns[0]], -x[:, columns[1]]
    return signed.T @ signed


@pytest.mark.parametrize(
    ("K", "m", "D"),
    [(2, 30, 6), (3, 30, 6), (3, 5, 30)],
    ids=["two classes", "three classes", "fewer rows than weights"],
)
def test_information_and_batches_equal_those_of_the_dense_matrix(K, m, D):
    """Information and batches of dense and CSR instances are those of the dense matrix; some rows lack a view."""
    rng = np.random.default_rng(0)
    columns = [np.arange(D // 2), np.arange(D // 2, D)]

    def in_view(rows, v):
        x = np.zeros((rows, D))
        x[:, columns[v]] = rng.normal(size=(rows, len(columns[v])))
        return x

    labeled = np.concatenate([in_view(m, 0), in_view(m // 2, 1)])
    C = disagreement(rng.normal(size=(12, D)), columns, D)
    terms = [PriorTerm("ridge", np.eye(D)), PriorTerm("coregularization", C)]
    precisions = {"ridge": np.array(0.3), "coregularization": np.array(0.1)}
    weights = rng.normal(size=(K - 1, D))
    H = np.kron(np.eye(K - 1), 0.3 * np.eye(D) + 0.1 * C) + sum(curvature(weights, x) for x in labeled)
    posterior, dense = make_posterior(labeled, weights, terms, precisions), DensePosterior(weights, H)
    views = [(np.arange(40), in_view(40, 0)), (np.sort(rng.permutation(40)[:25]), in_view(25, 1))]
    expected = select_batch(dense, view_lookup([ViewInstances(*view) for view in views]), 40, 15)
    for form in (np.asarray, sp.csr_array):
        given = [ViewInstances(rows, form(x)) for rows, x in views]
        batch = select_batch(posterior, view_lookup(given), 40, 15)
        assert batch.rows.tolist() == expected.rows.tolist()
        np.testing.assert_allclose(batch.information, expected.information, rtol=1e-7)
    dense_views = [ViewInstances(*view) for view in views]
    information = mutual_information(posterior, dense_views, 40)
    np.testing.assert_allclose(information, mutual_information(dense, dense_views, 40), rtol=1e-8)
