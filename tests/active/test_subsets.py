"""Properties of queries of the form "is the label in this subset?"."""

import itertools

import numpy as np
import pytest

import oneof
from oneof.active import query_subsets
from oneof.errors import InputError, LabelError
from oneof.solvers.active import ViewInstances, mutual_information, subset_information
from tests.solvers.active.dense import RidgeLogistic, make_pool

SUBSETS = np.array([[True, False, False, False], [False, True, False, True], [False, False, False, True]])


def brute_force(posterior, views, row, subset):
    """Return half of the increase of log det H by the mean curvature of an answer, by finite differences."""
    updated = posterior.precision.copy()
    for view in views:
        for at in np.flatnonzero(view.rows == row):

            def yes(w, x=view.features[at]):
                scores = np.append(w.reshape(posterior.weights.shape) @ x, 0.0)
                return (np.exp(scores) / np.exp(scores).sum())[subset].sum()

            w, step = posterior.weights.ravel(), 1e-5
            gradient = np.array([(yes(w + d) - yes(w - d)) / (2 * step) for d in step * np.eye(len(w))])
            updated += np.outer(gradient, gradient) / (yes(w) * (1 - yes(w)))
    return 0.5 * (np.linalg.slogdet(updated)[1] - np.linalg.slogdet(posterior.precision)[1])


@pytest.mark.parametrize("n_views", [1, 2])
def test_information_of_an_answer_is_half_the_increase_of_the_log_determinant(n_views):
    """The information of an answer equals that of brute force."""
    posterior, views = make_pool(6, 4, n_views=n_views, lacking=(2,))
    expected = [[brute_force(posterior, views, row, subset) for subset in SUBSETS] for row in range(6)]
    np.testing.assert_allclose(subset_information(posterior, views, 6, SUBSETS), expected, rtol=1e-6)


@pytest.mark.parametrize("n_views", [1, 2])
def test_an_answer_is_at_most_as_informative_as_the_label(n_views):
    """An answer and its complement have equal information, at most that of the label, and equal for two classes."""
    posterior, views = make_pool(10, 4, n_views=n_views)
    information = subset_information(posterior, views, 10, SUBSETS)
    assert (information <= mutual_information(posterior, views, 10)[:, None] * (1 + 1e-12)).all()
    assert (information >= 0).all()
    np.testing.assert_allclose(subset_information(posterior, views, 10, ~SUBSETS), information, rtol=1e-10)
    posterior, views = make_pool(10, 2, n_views=n_views)
    information = subset_information(posterior, views, 10, np.array([[True, False]]))
    np.testing.assert_allclose(information[:, 0], mutual_information(posterior, views, 10), rtol=1e-10)


@pytest.fixture(scope="module")
def fitted():
    """Return a model of four classes, and a pool."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    return RidgeLogistic().fit(rng.normal(size=(40, 3)) + np.eye(4)[y][:, :3], np.array(list("abcd"))[y]), rng.normal(
        size=(30, 3)
    )


def test_the_best_questions_are_those_of_all_subsets(fitted):
    """By default the best question over all subsets is selected for each row."""
    model, pool = fitted
    masks = np.array([m for m in itertools.product([True, False], repeat=4) if 0 < sum(m) < 4])
    views = [ViewInstances(*model.posterior_features(pool)[0])]
    information = subset_information(model.posterior_, views, 30, masks)
    result = query_subsets(model, pool, 5)
    np.testing.assert_allclose(result.utilities, np.sort(information.max(axis=1))[::-1][:5])
    for row, mask, utility in zip(result.indices, result.subsets.mask, result.utilities, strict=True):
        assert information[row][(masks == mask).all(axis=1)] == pytest.approx(utility)
    assert result.subsets.classes.tolist() == list("abcd")


def test_only_given_subsets_are_asked_about(fitted):
    """With `subsets`, questions are about these, and never about the full set."""
    model, pool = fitted
    result = query_subsets(model, pool, 30, subsets=[{"a", "b"}, {"c"}, {"a", "b", "c", "d"}])
    assert sorted(result.indices.tolist()) == list(range(30))
    assert {tuple(sorted(s)) for s in result.subsets.to_sets()} <= {("a", "b"), ("c",)}
    assert (np.diff(result.utilities) <= 0).all()


def test_many_classes_are_asked_about_one_at_a_time():
    """With more than 8 classes the default subsets are single classes."""
    rng = np.random.default_rng(0)
    model = RidgeLogistic().fit(rng.normal(size=(40, 2)), np.arange(40) % 10)
    assert (query_subsets(model, rng.normal(size=(9, 2)), 9).subsets.sizes == 1).all()


def test_errors_name_the_argument(fitted):
    """An error names the argument that is not valid, and its value."""
    model, pool = fitted
    with pytest.raises(InputError, match="`subsets` must have a set that excludes"):
        query_subsets(model, pool, subsets=[set("abcd")])
    with pytest.raises(LabelError):
        query_subsets(model, pool, subsets=[{"e"}])
    with pytest.raises(InputError, match="which PLEM does not have"):
        query_subsets(oneof.PLEM().fit([[0.0], [1.0]], [0, 1]), [[0.0]])
