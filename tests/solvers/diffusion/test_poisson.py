"""Poisson learning: the equation, its sweeps, components, sets, and cuts of given sizes."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.poisson import solve_poisson, solve_poisson_cuts
from tests.oracles import poisson as oracle
from tests.solvers.diffusion.problems import problem
from tests.weights import draw_weights

TIGHT = {"tol": 1e-12, "max_iter": 20_000}


@pytest.mark.parametrize("weights", [False, True])
def test_rows_of_several_candidates_are_sources_of_their_weights(weights):
    """Label vectors may be distributions; the labels of such rows are among the candidates."""
    W, mask = problem("partial")
    evidence = draw_weights(mask) if weights else mask
    constant = (evidence == 1).all(axis=1)
    y = evidence[~constant] / evidence[~constant].sum(axis=1, keepdims=True)
    solution = solve_poisson(W, evidence, **TIGHT)
    expected = oracle.scores(W.toarray(), np.flatnonzero(~constant), y)
    np.testing.assert_allclose(solution.scores, expected, atol=1e-8 * np.abs(expected).max())
    several = ~constant & (mask.sum(axis=1) > 1)
    for distributions in (solution.distributions, solve_poisson_cuts(W, evidence, "labels").distributions):
        np.testing.assert_allclose(distributions.sum(axis=1), 1)
        assert not distributions[several][~mask[several]].any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_first", [15, 30, 50])
def test_cuts_are_those_of_algorithm_2(seed, n_first):
    """With two classes, the rows of the first are the `n_first` rows that prefer it most."""
    W, mask = problem(n=60, K=2, seed=seed)
    labeled = np.flatnonzero(mask.sum(axis=1) == 1)
    expected = oracle.cuts_of_two(W.toarray(), labeled, mask[labeled].astype(float), n_first)
    unlabeled = np.array([n_first, 60 - n_first]) - mask[labeled].sum(axis=0)
    labels = solve_poisson_cuts(W, mask, unlabeled, **TIGHT).distributions.argmax(axis=1)
    np.testing.assert_array_equal(labels, expected)


def test_cuts_of_several_classes_have_the_given_sizes():
    """The sizes are exact up to half a row: those of the labels, and those of the prior in the unlabeled rows."""
    W, mask = problem(n=120, K=4, fraction=0.1)
    sizes = np.array([60, 30, 20, 10])
    unlabeled = sizes - mask[mask.sum(axis=1) == 1].sum(axis=0)
    labels = solve_poisson_cuts(W, mask, unlabeled / unlabeled.sum()).distributions.argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(labels), sizes)


def test_cuts_prefer_the_candidates_of_large_weights():
    """Of two equal rows between two clusters, each gets the candidate of its larger weight."""
    W = sp.csr_array(np.ones((6, 6)) - np.eye(6))
    evidence = np.array([[1, 0], [0, 1], [1, 1], [1, 1], [1, 0.2], [0.2, 1]])
    labels = solve_poisson_cuts(W, evidence, "labels").distributions.argmax(axis=1)
    assert labels[[4, 5]].tolist() == [0, 1]
