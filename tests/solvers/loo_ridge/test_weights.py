"""LOORidge on candidates with weights: the groups, and the laws of the weights."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge.distractors import DISTRACTOR_MODELS, CandidateGroups, IterationState, next_labels
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.solve import SelfTraining
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of, small_problem, weights_of

MODELS = ("uniform", "cooccurring", "confusable")
every_model = pytest.mark.parametrize("model", MODELS)


def labels(X, sets, model):
    """Return the labels of rows with an RBF kernel."""
    ridge = ExactRidge.from_gram(gram_of(X), 0.05)
    return SelfTraining(0.05, 7, distractors=model).run(ridge, sets).label_distributions


def test_the_groups_of_rows_with_weights():
    """Rows with the identical support are a group; those of all classes are another one than unlabeled rows."""
    weights = np.array([[1, 0.5, 0], [0.2, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0.5, 0.5], [0.1, 1, 1], [1, 0, 0]])
    sets = CandidateGroups.from_evidence(weights)
    same = sets.group[:, None] == sets.group
    expected = np.zeros((7, 7), dtype=bool)
    for group in ([0, 1, 2], [3], [4, 5], [6]):
        expected[np.ix_(group, group)] = True
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_array_equal(sets.unlabeled, np.arange(7) == 3)
    np.testing.assert_array_equal(sets.full, np.isin(np.arange(7), [3, 4, 5]))
    np.testing.assert_array_equal(sets.partial, np.arange(7) < 3)
    np.testing.assert_array_equal(sets.to_dense(sets.weights), weights)
    np.testing.assert_allclose(
        sets.to_dense(sets.normalize(sets.weights)), weights / weights.sum(axis=1, keepdims=True)
    )
    part = sets.select(np.array([0, 4, 6]))
    np.testing.assert_array_equal(part.to_dense(part.weights), weights[[0, 4, 6]])
    assert sets.select(np.array([2, 3, 6])).evidence.dtype == bool


def test_rows_of_all_classes_keep_their_predictions_times_their_weights():
    """Sets of all classes have no observable distractors, whatever the model."""
    weights = weights_of(small_problem("cooccurring")[1])
    sets = CandidateGroups.from_evidence(weights)
    rng = np.random.default_rng(0)
    state = IterationState(rng.random(len(sets.rows)) + 0.1, sets.normalize(sets.weights), sets, 9)
    claims = weights * sets.to_dense(state.loo_predictions)
    assert sets.full.any()
    for model, exponent in zip(MODELS, (1, 2, 1), strict=True):
        result = sets.to_dense(sets.normalize(DISTRACTOR_MODELS[model](state)))
        expected = weights * sets.to_dense(state.loo_predictions) ** exponent
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(result[sets.full], expected[sets.full], rtol=1e-12)
    np.testing.assert_allclose(sets.to_dense(DISTRACTOR_MODELS["uniform"](state)), claims, rtol=1e-12)


@every_model
def test_a_softened_set_is_treated_like_the_set(model):
    """With small weights outside the sets most labels are those of the sets, and the groups are the same."""
    X, truth = blobs(80, 5, spread=4.0)
    mask = sets_of(truth, "cooccurring")
    softened = np.where(mask, 1.0, 1e-5)
    hard, soft = (labels(X, CandidateGroups.from_evidence(each), model) for each in (mask, softened))
    assert np.abs(soft - hard).sum(axis=1).mean() / 2 < 0.05
    sets, main = CandidateGroups.from_evidence(mask), CandidateGroups.from_evidence(softened).main
    np.testing.assert_array_equal(main.mask, sets.mask)
    np.testing.assert_array_equal(main.group, sets.group)
    assert main.evidence.dtype == bool


@every_model
def test_classes_of_small_weights_have_the_mass_of_their_predictions(model):
    """The distractor model divides only the mass of the main candidates."""
    mask = small_problem("cooccurring")[1]
    weights = np.maximum(weights_of(mask), 0.05)
    sets = CandidateGroups.from_evidence(weights)
    rng = np.random.default_rng(0)
    F, P = rng.random(weights.shape) + 0.1, rng.dirichlet(np.ones(5), len(weights))
    state = IterationState(sets.values(F), sets.values(P), sets, 9)
    result = sets.to_dense(next_labels(model, state))
    is_main = weights >= 0.1
    uniform = weights * F / (weights * F).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result[~is_main], uniform[~is_main], rtol=1e-12)
    main = CandidateGroups.from_evidence(np.where(is_main, weights, 0.0))
    inside = main.normalize(main.values(P))
    expected = main.to_dense(main.normalize(DISTRACTOR_MODELS[model](IterationState(main.values(F), inside, main, 9))))
    expected *= np.where(is_main, uniform, 0.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result[is_main], expected[is_main], rtol=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)
