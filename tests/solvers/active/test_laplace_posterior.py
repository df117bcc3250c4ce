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


@pytest.fixture(
    params=[(2, 30, 6), (3, 30, 6), (3, 5, 30)], ids=["two classes", "three classes", "fewer rows than weights"]
)
def posteriors(request):
    """Return a function from added instances to the posterior, the dense posterior without them, and a pool's views.

    Some rows of the pool lack the second view.
    """
    K, m, D = request.param
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
    present = np.sort(rng.permutation(40)[:25])
    views = [ViewInstances(np.arange(40), in_view(40, 0)), ViewInstances(present, in_view(25, 1))]

    def posterior_with(more):
        return make_posterior(np.concatenate([labeled, *more]), weights, terms, precisions)

    return posterior_with, DensePosterior(weights, H), views


def test_information_equals_that_of_the_dense_matrix(posteriors):
    """The information under the solver's posterior equals that of the dense one."""
    posterior_with, dense, views = posteriors
    information = mutual_information(posterior_with([]), views, 40)
    np.testing.assert_allclose(information, mutual_information(dense, views, 40), rtol=1e-8)


def test_the_batch_equals_that_of_the_dense_matrix(posteriors):
    """The batch under the solver's posterior equals that of the dense one."""
    posterior_with, dense, views = posteriors
    posterior = posterior_with([])
    batch, expected = (select_batch(p, view_lookup(views), 40, 15) for p in (posterior, dense))
    assert batch.rows.tolist() == expected.rows.tolist()
    np.testing.assert_allclose(batch.information, expected.information, rtol=1e-7)


def test_the_batch_equals_selection_with_a_new_posterior(posteriors):
    """Each selected row has the largest information under a posterior with the rows before it."""
    posterior_with, _, views = posteriors
    get_views, selected = view_lookup(views), []
    batch = select_batch(posterior_with(selected), get_views, 40, 8)
    for row, gain in zip(*batch, strict=True):
        information = mutual_information(posterior_with(selected), views, 40)
        assert information[row] == pytest.approx(gain, rel=1e-8)
        assert information[np.setdiff1d(np.arange(40), batch.rows)].max() <= gain * (1 + 1e-9)
        selected.extend(view.features for view in get_views([row]))


def test_sparse_instances_give_the_batch_of_dense_ones(posteriors):
    """CSR instances give the batch of dense instances."""
    posterior_with, _, views = posteriors
    posterior = posterior_with([])
    sparse_views = [ViewInstances(view.rows, sp.csr_array(view.features)) for view in views]
    dense, sparse = (select_batch(posterior, view_lookup(v), 40, 10) for v in (views, sparse_views))
    assert dense.rows.tolist() == sparse.rows.tolist()
    np.testing.assert_allclose(dense.information, sparse.information, rtol=1e-9)
