"""Properties of the synthetic rows of two sensors."""

import numpy as np
import pytest

from reproduction.sensors import make_two_sensors


def test_sizes_are_as_requested_and_views_are_missing_completely_or_not_at_all():
    rows = make_two_sensors(random_state=0)
    first, second = (np.isfinite(rows.X[:, columns]) for columns in rows.views)
    assert [first.shape[1], second.shape[1]] == [420, 9]
    for present in (first, second):
        assert (present.all(axis=1) == present.any(axis=1)).all()
    first, second = first[:, 0], second[:, 0]
    assert [(first & ~second).sum(), (second & ~first).sum(), (first & second).sum()] == [123, 398, 316]
    assert (rows.y == "mine").sum() == round(0.25 * 837)


def test_a_seed_gives_the_same_rows_and_another_seed_others():
    first, again, other = (make_two_sensors(random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert (first.y != other.y).any()


def test_visible_mines_have_the_requested_distance_from_clutter():
    rows = make_two_sensors((0, 0, 20_000), (15, 9), separation=(4.0, 2.0), fraction=0.5, random_state=0)
    for sensor, (columns, distance) in enumerate(zip(rows.views, (4.0, 2.0), strict=True)):
        x, seen = rows.X[:, columns], rows.seen[:, sensor]
        clutter = x[~seen]
        moved = x[seen].mean(axis=0) - clutter.mean(axis=0)
        assert np.sqrt(moved @ np.linalg.solve(np.cov(clutter.T), moved)) == pytest.approx(distance, rel=0.05)


def test_the_sensors_see_mines_independently():
    rows = make_two_sensors((0, 0, 20_000), (2, 2), visible=(0.8, 0.5), fraction=0.5, random_state=0)
    assert not rows.seen[rows.y == "clutter"].any()
    first, second = rows.seen[rows.y == "mine"].T
    assert first.mean() == pytest.approx(0.8, abs=0.02)
    assert second[first].mean() == pytest.approx(0.5, abs=0.02)
    assert second[~first].mean() == pytest.approx(0.5, abs=0.03)
