"""The information under the posterior of the solver is that under the same precision formed as one matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import LaplacePosterior, Term
from oneof.solvers.graph_logistic.greedy import choose_batch
from oneof.solvers.graph_logistic.information import View, information
from tests.active.dense import DensePosterior, curvature, lookup


def agreement(x, columns, D):
    """Return the matrix of the squared differences between two views' scores."""
    signed = np.zeros((len(x), D))
    signed[:, columns[0]], signed[:, columns[1]] = x[:, columns[0]], -x[:, columns[1]]
    return signed.T @ signed


@pytest.fixture(
    params=[(2, 30, 6), (3, 30, 6), (3, 5, 30)], ids=["two classes", "three classes", "fewer rows than weights"]
)
def posteriors(request):
    """Return what gives the posterior with further instances, the same without them as a matrix, and views of a pool.

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
    C = agreement(rng.normal(size=(12, D)), columns, D)
    terms = [Term("ridge", np.eye(D)), Term("agreement", C)]
    precisions = {"ridge": np.array(0.3), "agreement": np.array(0.1)}
    weights = rng.normal(size=(K - 1, D))
    H = np.kron(np.eye(K - 1), 0.3 * np.eye(D) + 0.1 * C) + sum(curvature(weights, x) for x in labeled)
    held = np.sort(rng.permutation(40)[:25])
    views = [View(np.arange(40), in_view(40, 0)), View(held, in_view(25, 1))]

    def having(more):
        return LaplacePosterior.of(np.concatenate([labeled, *more]), weights, terms, precisions)

    return having, DensePosterior(weights, H), views


def test_the_information_is_that_of_the_matrix(posteriors):
    having, matrix, views = posteriors
    posterior = having([])
    np.testing.assert_allclose(information(posterior, views, 40), information(matrix, views, 40), rtol=1e-8)


def test_the_batch_is_that_of_the_matrix(posteriors):
    having, matrix, views = posteriors
    posterior = having([])
    found, expected = (choose_batch(p, lookup(views), 40, 15) for p in (posterior, matrix))
    assert found.rows.tolist() == expected.rows.tolist()
    np.testing.assert_allclose(found.information, expected.information, rtol=1e-7)


def test_the_batch_is_that_of_posteriors_formed_anew_after_every_choice(posteriors):
    having, _, views = posteriors
    views_of, chosen = lookup(views), []
    found = choose_batch(having(chosen), views_of, 40, 8)
    for row, gain in zip(*found, strict=True):
        told = information(having(chosen), views, 40)
        assert told[row] == pytest.approx(gain, rel=1e-8)
        assert told[np.setdiff1d(np.arange(40), found.rows)].max() <= gain * (1 + 1e-9)
        chosen.extend(view.features for view in views_of([row]))


def test_sparse_instances_give_the_batch_of_dense_ones(posteriors):
    having, _, views = posteriors
    posterior = having([])
    light = [View(view.rows, sp.csr_array(view.features)) for view in views]
    plain, sparse = (choose_batch(posterior, lookup(v), 40, 10) for v in (views, light))
    assert plain.rows.tolist() == sparse.rows.tolist()
    np.testing.assert_allclose(plain.information, sparse.information, rtol=1e-9)
