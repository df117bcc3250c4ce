"""Laws of the information that a label gives of the weights, and of batches chosen by it."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import greedy
from oneof.solvers.graph_logistic.greedy import choose_batch
from oneof.solvers.graph_logistic.information import View, curvature_roots, information
from tests.active.dense import DensePosterior, added, brute, draw, lookup

CASES = [
    pytest.param(2, 1, (), id="two classes"),
    pytest.param(3, 1, (), id="three classes"),
    pytest.param(2, 2, (), id="two classes, two views"),
    pytest.param(3, 2, (1, 4), id="three classes, two views, some rows with one"),
    pytest.param(4, 3, (0, 1, 2), id="four classes, three views, some rows with one"),
]


def step_by_step(posterior, views, n_rows, n):
    """Choose a batch with a new posterior after every choice."""
    rows, gains = [], []
    for _ in range(n):
        left = [row for row in range(n_rows) if row not in rows]
        told = [brute(posterior, views, row) for row in left]
        rows.append(left[int(np.argmax(told))])
        gains.append(max(told))
        posterior = DensePosterior(posterior.weights, posterior.precision + added(posterior, views, rows[-1]))
    return rows, gains


@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_the_information_is_half_of_what_the_log_determinant_grows_by(n_classes, n_views, lacking):
    posterior, views = draw(8, n_classes, n_views=n_views, lacking=lacking)
    expected = [brute(posterior, views, row) for row in range(8)]
    np.testing.assert_allclose(information(posterior, views, 8), expected, rtol=1e-10)


def test_two_classes_and_one_view_give_the_equation_of_the_paper():
    posterior, views = draw(6, 2)
    x, H = views[0].features, posterior.precision
    p = 1 / (1 + np.exp(-x @ posterior.weights[0]))
    expected = 0.5 * np.log1p(p * (1 - p) * np.einsum("td,td->t", x, np.linalg.solve(H, x.T).T))
    np.testing.assert_allclose(information(posterior, views, 6), expected, rtol=1e-12)


def test_a_row_without_any_view_tells_nothing():
    posterior, views = draw(5, 3)
    held = [View(views[0].rows[1:], views[0].features[1:])]
    assert information(posterior, held, 5)[0] == 0
    assert (information(posterior, held, 5)[1:] > 0).all()


def test_the_roots_give_the_curvature_even_where_a_class_is_certain():
    weights = np.array([[0.3], [-1.0], [800.0], [-800.0]])
    for x in (0.0, 0.7, 1.0, -1.0):
        root = curvature_roots(weights, np.array([[x]]))[0]
        scores = np.append(weights[:, 0] * x, 0.0)
        p = np.exp(scores - scores.max())
        p = (p / p.sum())[:-1]
        np.testing.assert_allclose(root @ root.T, np.diag(p) - np.outer(p, p), atol=1e-15)


def test_the_information_grows_with_the_variance_and_is_never_negative():
    told = [information(*draw(9, 3, prior=prior), 9) for prior in (1e12, 10.0, 1.0, 0.1, 1e-6)]
    assert (np.diff(told, axis=0) > 0).all()
    assert (told[0] >= 0).all()


def test_at_one_variance_the_information_is_largest_where_both_classes_are_as_likely():
    scores = np.linspace(-6, 6, 41)
    # A second weight without variance moves the probability and nothing else.
    posterior = DensePosterior(np.array([[0.0, 1.0]]), np.diag([0.5, 1e18]))
    told = information(posterior, [View(np.arange(41), np.column_stack([np.ones(41), scores]))], 41)
    assert np.argmax(told) == 20
    assert (np.diff(told[:21]) > 0).all()
    assert (np.diff(told[20:]) < 0).all()


@pytest.mark.parametrize("kept", [True, False], ids=["matrices kept", "matrices made again"])
@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_a_greedy_batch_is_that_of_step_by_step_recomputation(n_classes, n_views, lacking, kept, monkeypatch):
    posterior, views = draw(30, n_classes, n_views=n_views, lacking=lacking, prior=0.1)
    monkeypatch.setattr(greedy, "_FIRST_STALE", 3)
    monkeypatch.setattr(greedy, "_BLOCK", 200)
    if not kept:
        monkeypatch.setattr(greedy, "_KEPT", 0)
    rows, gains = step_by_step(posterior, views, 30, 12)
    found = choose_batch(posterior, lookup(views), 30, 12)
    assert found.rows.tolist() == rows
    np.testing.assert_allclose(found.information, gains, rtol=1e-9)


def test_the_whole_pool_can_be_chosen_and_its_informations_sum_to_that_of_all_labels():
    posterior, views = draw(12, 3, n_views=2, lacking=(3,), prior=0.1)
    found = choose_batch(posterior, lookup(views), 12, 12)
    assert sorted(found.rows) == list(range(12))
    grown = posterior.precision + sum(added(posterior, views, row) for row in range(12))
    total = 0.5 * (np.linalg.slogdet(grown)[1] - np.linalg.slogdet(posterior.precision)[1])
    assert found.information.sum() == pytest.approx(total, rel=1e-10)
    assert (np.diff(found.information) <= 1e-12).all()


def test_of_two_copies_the_first_is_chosen_and_the_second_tells_less_afterwards():
    posterior, views = draw(10, 3, prior=0.05)
    x = np.concatenate([views[0].features, views[0].features])
    found = choose_batch(posterior, lookup([View(np.arange(20), x)]), 20, 20)
    order = {int(row): at for at, row in enumerate(found.rows)}
    assert all(order[row] < order[row + 10] for row in range(10))


def test_a_permutation_of_the_pool_permutes_the_batch():
    posterior, views = draw(25, 3, n_views=2, prior=0.1)
    order = np.random.default_rng(1).permutation(25)
    moved = [View(view.rows, view.features[order]) for view in views]
    found, again = (choose_batch(posterior, lookup(v), 25, 10) for v in (views, moved))
    assert order[again.rows].tolist() == found.rows.tolist()
    np.testing.assert_allclose(again.information, found.information, rtol=1e-10)


def test_sparse_instances_are_dense_ones_with_less_memory():
    posterior, views = draw(10, 3)

    class Sparse(DensePosterior):
        def covariance(self, left, right=None):
            return super().covariance(left.toarray(), None if right is None else right.toarray())

    light = [View(views[0].rows, sp.csr_array(views[0].features))]
    found = choose_batch(Sparse(posterior.weights, posterior.precision), lookup(light), 10, 5)
    assert found.rows.tolist() == choose_batch(posterior, lookup(views), 10, 5).rows.tolist()


def test_where_nothing_can_be_told_rows_come_in_their_order():
    posterior, views = draw(6, 2)
    silent = [View(views[0].rows, np.zeros_like(views[0].features))]
    found = choose_batch(posterior, lookup(silent), 6, 3)
    assert found.rows.tolist() == [0, 1, 2]
    assert (found.information == 0).all()
