"""Mutual information between labels and weights, and batches selected by it."""

import numpy as np
import pytest

from oneof.solvers import active
from oneof.solvers.active import ViewInstances, mutual_information, select_batch
from tests.solvers.active.dense import DensePosterior, brute_force, make_pool, row_curvature, view_lookup

CASES = [
    pytest.param(2, 1, (), id="two classes"),
    pytest.param(3, 1, (), id="three classes"),
    pytest.param(2, 2, (), id="two classes, two views"),
    pytest.param(3, 2, (1, 4), id="three classes, two views, some rows with one"),
    pytest.param(4, 3, (0, 1, 2), id="four classes, three views, some rows with one"),
]


def select_by_refit(posterior, views, n_rows, n):
    """Select a batch with a new posterior after every selection."""
    rows, gains = [], []
    for _ in range(n):
        pool = [row for row in range(n_rows) if row not in rows]
        information = [brute_force(posterior, views, row) for row in pool]
        rows.append(pool[int(np.argmax(information))])
        gains.append(max(information))
        updated = posterior.precision + row_curvature(posterior, views, rows[-1])
        posterior = DensePosterior(posterior.weights, updated)
    return rows, gains


@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_information_is_half_the_increase_of_the_log_determinant(n_classes, n_views, lacking):
    """The information of a label equals half of the increase of log det H, by dense matrices."""
    posterior, views = make_pool(8, n_classes, n_views=n_views, lacking=lacking)
    expected = [brute_force(posterior, views, row) for row in range(8)]
    np.testing.assert_allclose(mutual_information(posterior, views, 8), expected, rtol=1e-10)


def test_two_classes_and_one_view_give_the_equation_of_the_paper():
    """For two classes the information is 1/2 log(1 + p (1 - p) x^T H^-1 x)."""
    posterior, views = make_pool(6, 2)
    x, H = views[0].features, posterior.precision
    p = 1 / (1 + np.exp(-x @ posterior.weights[0]))
    expected = 0.5 * np.log1p(p * (1 - p) * np.einsum("td,td->t", x, np.linalg.solve(H, x.T).T))
    np.testing.assert_allclose(mutual_information(posterior, views, 6), expected, rtol=1e-12)


def test_a_row_without_any_view_has_no_information():
    """The information of a row without a view is exactly 0, that of the others is positive."""
    posterior, views = make_pool(5, 3)
    shortened = [ViewInstances(views[0].rows[1:], views[0].features[1:])]
    assert mutual_information(posterior, shortened, 5)[0] == 0
    assert (mutual_information(posterior, shortened, 5)[1:] > 0).all()


def test_information_increases_with_the_variance_and_is_nonnegative():
    """A lower prior precision gives a higher information."""
    information = [mutual_information(*make_pool(9, 3, prior=prior), 9) for prior in (1e12, 10.0, 1.0, 0.1, 1e-6)]
    assert (np.diff(information, axis=0) > 0).all()
    assert (information[0] >= 0).all()


def test_at_equal_variance_information_is_largest_for_equal_probabilities():
    """At one variance of the score, the information decreases with the distance of p from 1/2."""
    scores = np.linspace(-6, 6, 41)
    # A second weight without variance changes the probability and nothing else.
    posterior = DensePosterior(np.array([[0.0, 1.0]]), np.diag([0.5, 1e18]))
    views = [ViewInstances(np.arange(41), np.column_stack([np.ones(41), scores]))]
    information = mutual_information(posterior, views, 41)
    assert np.argmax(information) == 20
    assert (np.diff(information[:21]) > 0).all()
    assert (np.diff(information[20:]) < 0).all()


@pytest.mark.parametrize("cached", [True, False], ids=["matrices cached", "matrices recomputed"])
@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_a_greedy_batch_equals_selection_with_a_new_posterior(n_classes, n_views, lacking, cached, monkeypatch):
    """Downdates give the batch of a posterior that is recomputed after every selection."""
    posterior, views = make_pool(30, n_classes, n_views=n_views, lacking=lacking, prior=0.1)
    monkeypatch.setattr(active, "_LAZY_BATCH", 3)
    monkeypatch.setattr(active, "_BLOCK_SIZE", 200)
    if not cached:
        monkeypatch.setattr(active, "_CACHE_SIZE", 0)
    rows, gains = select_by_refit(posterior, views, 30, 12)
    batch = select_batch(posterior, view_lookup(views), 30, 12)
    assert batch.rows.tolist() == rows
    np.testing.assert_allclose(batch.information, gains, rtol=1e-9)


def test_the_information_of_the_full_pool_is_that_of_all_labels():
    """The increments of the full pool decrease, and sum to the joint information of all labels."""
    posterior, views = make_pool(12, 3, n_views=2, lacking=(3,), prior=0.1)
    batch = select_batch(posterior, view_lookup(views), 12, 12)
    assert sorted(batch.rows) == list(range(12))
    updated = posterior.precision + sum(row_curvature(posterior, views, row) for row in range(12))
    total = 0.5 * (np.linalg.slogdet(updated)[1] - np.linalg.slogdet(posterior.precision)[1])
    assert batch.information.sum() == pytest.approx(total, rel=1e-10)
    assert (np.diff(batch.information) <= 1e-12).all()


def test_rows_without_information_are_selected_in_their_order():
    """Instances of 0 have no information, and ties go to the lowest index."""
    posterior, views = make_pool(6, 2)
    zero = [ViewInstances(views[0].rows, np.zeros_like(views[0].features))]
    batch = select_batch(posterior, view_lookup(zero), 6, 3)
    assert batch.rows.tolist() == [0, 1, 2]
    assert (batch.information == 0).all()
