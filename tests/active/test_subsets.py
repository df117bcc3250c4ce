"""Laws of the question "is the label in this subset?"."""

import itertools

import numpy as np
import pytest

import oneof
from oneof.active import query, query_subsets
from oneof.errors import InputError, LabelError
from oneof.solvers.graph_logistic.information import View, information
from oneof.solvers.graph_logistic.questions import question_information
from tests.active.dense import RidgeLogistic, draw

SUBSETS = np.array([[True, False, False, False], [False, True, False, True], [False, False, False, True]])


def brute_force(posterior, views, row, subset):
    """Return what the mean curvature of an answer, by finite differences of its probability, adds to log det."""
    grown = posterior.precision.copy()
    for view in views:
        for at in np.flatnonzero(view.rows == row):

            def yes(w, x=view.features[at]):
                scores = np.append(w.reshape(posterior.weights.shape) @ x, 0.0)
                return (np.exp(scores) / np.exp(scores).sum())[subset].sum()

            w, step = posterior.weights.ravel(), 1e-5
            slope = np.array([(yes(w + d) - yes(w - d)) / (2 * step) for d in step * np.eye(len(w))])
            grown += np.outer(slope, slope) / (yes(w) * (1 - yes(w)))
    return 0.5 * (np.linalg.slogdet(grown)[1] - np.linalg.slogdet(posterior.precision)[1])


@pytest.mark.parametrize("n_views", [1, 2])
def test_the_information_of_an_answer_is_half_of_what_the_log_determinant_grows_by(n_views):
    posterior, views = draw(6, 4, n_views=n_views, lacking=(2,))
    expected = [[brute_force(posterior, views, row, subset) for subset in SUBSETS] for row in range(6)]
    np.testing.assert_allclose(question_information(posterior, views, 6, SUBSETS), expected, rtol=1e-6)


@pytest.mark.parametrize("n_views", [1, 2])
def test_an_answer_tells_no_more_than_the_label_and_for_two_classes_the_same(n_views):
    posterior, views = draw(10, 4, n_views=n_views)
    told = question_information(posterior, views, 10, SUBSETS)
    assert (told <= information(posterior, views, 10)[:, None] * (1 + 1e-12)).all()
    assert (told >= 0).all()
    np.testing.assert_allclose(question_information(posterior, views, 10, ~SUBSETS), told, rtol=1e-10)
    posterior, views = draw(10, 2, n_views=n_views)
    told = question_information(posterior, views, 10, np.array([[True, False]]))
    np.testing.assert_allclose(told[:, 0], information(posterior, views, 10), rtol=1e-10)


@pytest.fixture(scope="module")
def fitted():
    """Return a model of four classes, and a pool."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    return RidgeLogistic().fit(rng.normal(size=(40, 3)) + np.eye(4)[y][:, :3], np.array(list("abcd"))[y]), rng.normal(
        size=(30, 3)
    )


def test_the_best_questions_are_those_of_all_subsets(fitted):
    model, pool = fitted
    masks = np.array([m for m in itertools.product([True, False], repeat=4) if 0 < sum(m) < 4])
    told = question_information(model.posterior_, [View(*model.posterior_features(pool)[0])], 30, masks)
    found = query_subsets(model, pool, 5)
    np.testing.assert_allclose(found.scores, np.sort(told.max(axis=1))[::-1][:5])
    for row, mask, score in zip(found.indices, found.subsets.mask, found.scores, strict=True):
        assert told[row][(masks == mask).all(axis=1)] == pytest.approx(score)
    assert found.subsets.classes.tolist() == list("abcd")


def test_only_subsets_that_were_given_are_asked_about(fitted):
    model, pool = fitted
    found = query_subsets(model, pool, 30, subsets=[{"a", "b"}, {"c"}, {"a", "b", "c", "d"}])
    assert sorted(found.indices.tolist()) == list(range(30))
    assert {tuple(sorted(s)) for s in found.subsets.to_sets()} <= {("a", "b"), ("c",)}
    assert (np.diff(found.scores) <= 0).all()


def test_two_classes_are_asked_for_as_labels_are():
    rng = np.random.default_rng(0)
    model, pool = RidgeLogistic().fit(rng.normal(size=(20, 3)), np.arange(20) % 2), rng.normal(size=(15, 3))
    asked, plain = query_subsets(model, pool), query(model, pool)
    assert asked.indices.tolist() == plain.indices.tolist()
    np.testing.assert_allclose(asked.scores, plain.scores)


def test_many_classes_are_asked_about_one_by_one():
    rng = np.random.default_rng(0)
    model = RidgeLogistic().fit(rng.normal(size=(40, 2)), np.arange(40) % 10)
    assert (query_subsets(model, rng.normal(size=(9, 2)), 9).subsets.sizes == 1).all()


def test_what_cannot_be_asked_is_said_in_one_sentence(fitted):
    model, pool = fitted
    with pytest.raises(InputError, match="nothing that can be asked"):
        query_subsets(model, pool, subsets=[set("abcd")])
    with pytest.raises(LabelError):
        query_subsets(model, pool, subsets=[{"e"}])
    with pytest.raises(InputError, match="n=31 rows are asked for"):
        query_subsets(model, pool, 31)
    with pytest.raises(InputError, match="PLEM has no posterior"):
        query_subsets(oneof.PLEM().fit([[0.0], [1.0]], [0, 1]), [[0.0]])
