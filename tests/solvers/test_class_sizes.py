"""Class sizes: intervals of proportions, and labels whose numbers are in them."""

import numpy as np
import pytest
from scipy.stats import beta

from oneof.errors import InputError
from oneof.solvers.class_sizes import ClassProportions, balance_classes, class_proportions, constrain_sizes

NOWHERE = np.zeros(0, dtype=int)


def exactly(q):
    """Return known proportions."""
    return ClassProportions(np.asarray(q), np.asarray(q), np.asarray(q))


def sizes_of(scores, proportions):
    """Return the number of rows with each label after the constraint."""
    labels = (scores + constrain_sizes(scores, proportions)).argmax(axis=1)
    return np.bincount(labels, minlength=scores.shape[1])


@pytest.mark.parametrize("labels", [[1, 9], [50, 50], [3, 0]])
def test_two_proportions_are_the_posterior_mean_and_its_standard_deviation(labels):
    """With a uniform prior of the proportions, the posterior of the first is a beta distribution."""
    found = class_proportions("labels", np.array(labels, dtype=float))
    posterior = beta(labels[0] + 1, labels[1] + 1)
    assert found.expected[0] == pytest.approx(posterior.mean())
    assert found.high[0] == pytest.approx(min(posterior.mean() + posterior.std(), 1))
    assert found.low[0] == pytest.approx(max(posterior.mean() - posterior.std(), 0))


def test_the_intervals_of_many_classes_hold_together_as_often_as_those_of_two():
    """Of proportions that are uniform a priori, about two thirds are in all intervals at once, or more."""
    rng = np.random.default_rng(0)
    for K in (2, 5, 20):
        covered = []
        for _ in range(400):
            q = rng.dirichlet(np.ones(K))
            found = class_proportions("labels", rng.multinomial(100, q).astype(float))
            covered.append(((found.low <= q) & (q <= found.high)).all())
        assert 0.6 < np.mean(covered) < 0.85


@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_known_sizes_are_met(K, seed):
    """The labels have the given sizes up to half a row, however far the scores are from them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(500, K)) + 3 * rng.normal(size=K)
    sizes = np.bincount(rng.integers(0, K, 500), minlength=K)
    np.testing.assert_array_equal(sizes_of(scores, exactly(sizes / 500)), sizes)


def test_sizes_inside_their_intervals_do_not_change():
    """Only classes outside are changed, and to the nearest bound."""
    scores = np.log(np.repeat(np.random.default_rng(0).dirichlet([1, 1, 1], 50), 2, axis=0))
    sizes = np.bincount(scores.argmax(axis=1), minlength=3) / 100
    wide = ClassProportions(sizes, sizes - 0.05, sizes + 0.05)
    np.testing.assert_array_equal(constrain_sizes(scores, wide), 0)
    scores = np.random.default_rng(1).normal(size=(1000, 2)) + np.array([0.0, 5.0])
    np.testing.assert_array_equal(
        sizes_of(scores, ClassProportions(np.array([0.3, 0.7]), np.array([0.2, 0.6]), np.array([0.4, 0.8]))), [200, 800]
    )


def test_impossible_labels_are_not_given():
    """A class that no row can have gets none, and its share goes to the others; single rows keep their classes."""
    scores = np.random.default_rng(0).normal(size=(90, 3))
    scores[:, 1] = -np.inf
    scores[:10, 0] = -np.inf
    np.testing.assert_array_equal(sizes_of(scores, exactly([0.5, 0.25, 0.25])), [60, 0, 30])


def test_equal_rows_end_the_search():
    """Rows with the same scores cannot be separated."""
    assert np.isfinite(constrain_sizes(np.zeros((50, 3)), exactly([0.2, 0.3, 0.5]))).all()


def test_only_unlabeled_rows_that_a_label_reaches_are_scaled():
    """Labeled rows, rows of several candidates and unreachable rows do not change; rows sum to 1."""
    rng = np.random.default_rng(0)
    F, mask = rng.dirichlet([1, 1, 4], 60), np.ones((60, 3), dtype=bool)
    mask[:5], mask[5:10] = [True, False, False], [False, True, True]
    fixed = np.arange(60) < 20
    balanced = balance_classes(F, mask, np.arange(10, 20), np.full(3, 1 / 3))
    np.testing.assert_array_equal(balanced[fixed], F[fixed])
    np.testing.assert_allclose(balanced.sum(axis=1), 1)
    assert np.abs(np.bincount(balanced[~fixed].argmax(axis=1), minlength=3) - 40 / 3).max() < 1
    assert balance_classes(F, mask, NOWHERE, None) is F


def test_known_sizes_of_impossible_classes_alone_are_an_error():
    """If no row can have a class whose size is above 0, the sizes cannot hold."""
    scores = np.array([[0.0, 1.0, -np.inf]] * 4)
    with pytest.raises(InputError, match="`class_prior` must have a size above 0"):
        constrain_sizes(scores, exactly([0.0, 0.0, 1.0]))
