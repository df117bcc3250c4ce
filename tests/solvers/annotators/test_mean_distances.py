"""Distances of scores from the means of the classes, without the row itself."""

import numpy as np
import pytest

from oneof.solvers.annotators.temper import mean_distances


def test_each_mean_is_that_of_the_other_rows_and_one_correct_row():
    """The closed form is equal to a loop that leaves out each row."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(12, 3)), rng.dirichlet(np.ones(3), size=12)
    labels[3] = 0.0
    squares = np.empty((12, 3))
    for i in range(12):
        for k in range(3):
            weights = np.append(np.delete(labels[:, k], i), 1.0)
            rows = np.vstack([np.delete(scores, i, axis=0), np.eye(3)[k]])
            squares[i, k] = ((scores[i] - weights @ rows / weights.sum()) ** 2).sum()
    variance = (labels * squares).sum() / (labels.sum() * 2)
    np.testing.assert_allclose(mean_distances(scores, labels), -0.5 * squares / variance, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_a_class_that_is_often_confused_have_the_smallest_distance_from_it(n_classes):
    """Rows of class 0 with a smaller score of 0 than of 1 are still the closest to class 0."""
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(n_classes), 50)
    expected = np.eye(n_classes)
    expected[0, :2] = 0.45, 0.55
    scores = expected[y] + 0.03 * rng.normal(size=(len(y), n_classes))
    assert (scores.argmax(axis=1) == y)[:50].mean() < 0.2
    assert (mean_distances(scores, expected[y]).argmax(axis=1) == y).all()


def test_a_class_without_rows_is_finite():
    """A class that no label has is the class of a row with the score 1, and equal scores give finite distances."""
    labels = np.eye(3)[[0, 0, 1]]
    distances = mean_distances(np.eye(3)[[0, 2, 1]], labels)
    assert distances[1].argmax() == 2
    assert np.isfinite(mean_distances(np.zeros((3, 3)), labels)).all()
    assert np.isfinite(mean_distances(np.ones((2, 1)), np.ones((2, 1)))).all()
