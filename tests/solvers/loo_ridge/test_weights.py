"""LOORidge on candidates with weights: the selection, the blocks, and the laws of the weights."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import (
    CandidateGroups,
    ExactRidge,
    fit_group_shares,
    select_distractor_models,
)
from oneof.solvers.loo_ridge.distractors import (
    ConfusableDistractors,
    CooccurringDistractors,
    IterationState,
    UniformDistractors,
    model_for,
)
from oneof.solvers.loo_ridge.selection import predictive_gains
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of, small_problem, weights_of


def select(X, evidence, max_iter=7, **options):
    """Return the selection for rows with an RBF kernel."""
    ridge = ExactRidge.from_gram(gram_of(X), 0.05)
    return select_distractor_models(ridge, CandidateGroups.from_evidence(evidence), max_iter=max_iter, **options)


@pytest.mark.parametrize("distractors", ["cooccurring", "dictionary", "partners"])
def test_the_selection_equals_the_oracle(distractors):
    """Averaged labels, z-scores and the concentration equal those of loops over rows with weights."""
    X, mask = small_problem(distractors)
    weights = weights_of(mask)
    result = select(X, weights)
    P, cooccurring, confusable, concentration = oracle.select(gram_of(X), weights, 0.05, 7)
    assert result.concentration == concentration
    assert result.z_scores["cooccurring"] == pytest.approx(cooccurring, abs=1e-6)
    assert result.z_scores["confusable"] == pytest.approx(confusable, abs=1e-6)
    np.testing.assert_allclose(result.label_distributions, P, rtol=0, atol=1e-8)


def test_gains_and_group_shares_equal_the_oracle():
    """The weights multiply the class fractions of the gain, and the density ratios of the shares."""
    _, truth = blobs(50, 5)
    rng = np.random.default_rng(0)
    weights = weights_of(sets_of(truth, n_distractors=2))
    weights = weights[(weights == 0).any(axis=1)]
    P = rng.dirichlet(np.ones(5), len(weights)) * weights
    P /= P.sum(axis=1, keepdims=True)
    scores, sets = rng.normal(0.2, 0.3, P.shape), CandidateGroups.from_evidence(weights)
    gains = predictive_gains(P, scores, sets)
    np.testing.assert_allclose(gains, oracle.predictive_gains(P, scores, weights), rtol=1e-10)
    values, exponent, concentration = oracle.fit_group_shares(P, scores, weights)
    result = fit_group_shares(P, scores, sets)
    np.testing.assert_allclose(result.log_likelihood, values, rtol=0, atol=1e-10)
    assert (result.exponent, result.concentration) == (exponent, concentration)


@pytest.mark.parametrize("distractors", ["cooccurring", "dictionary", "partners"])
def test_weights_of_zero_and_one_give_the_result_of_the_sets(distractors):
    """Rows of sets in a table with weights are computed as weighted ones, without a difference."""
    X, mask = small_problem(distractors)
    sets, pairs = CandidateGroups.from_evidence(mask), mask.sum()
    weighted = CandidateGroups(mask, sets.group, np.ones(pairs))
    ridge = ExactRidge.from_gram(gram_of(X), 0.05)
    expected, result = (select_distractor_models(ridge, s, max_iter=7) for s in (sets, weighted))
    np.testing.assert_allclose(result.label_distributions, expected.label_distributions, rtol=0, atol=1e-10)
    assert result.z_scores == pytest.approx(expected.z_scores, abs=1e-8)
    assert result.concentration == expected.concentration


def test_small_weights_count_as_zero():
    """Weights below 1e-6 give exactly the sets, and weights above are continuous where the support is the same."""
    X, mask = small_problem("cooccurring")
    near = np.where(mask, 1.0, 1e-12 * np.random.default_rng(0).random(mask.shape))
    sets = CandidateGroups.from_evidence(near)
    assert sets.weights is None
    np.testing.assert_array_equal(sets.mask, mask)
    np.testing.assert_array_equal(select(X, near).label_distributions, select(X, mask).label_distributions)


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
    np.testing.assert_allclose(sets.to_dense(sets.initial), weights / weights.sum(axis=1, keepdims=True))
    part = sets.select(np.array([0, 4, 6]))
    np.testing.assert_array_equal(part.to_dense(part.weights), weights[[0, 4, 6]])
    assert sets.select(np.array([2, 3, 6])).weights is None


def test_rows_of_all_classes_keep_their_predictions_times_their_weights():
    """Sets of all classes have no observable distractors, whatever the model."""
    weights = weights_of(small_problem("cooccurring")[1])
    sets = CandidateGroups.from_evidence(weights)
    rng = np.random.default_rng(0)
    state = IterationState(rng.random(len(sets.rows)) + 0.1, sets.initial, sets, 9)
    claims = weights * sets.to_dense(state.loo_predictions)
    assert sets.full.any()
    for model, exponent in ((UniformDistractors(), 1), (CooccurringDistractors(), 2), (ConfusableDistractors(), 1)):
        labels = sets.to_dense(sets.normalize(model.update(state)))
        expected = weights * sets.to_dense(state.loo_predictions) ** exponent
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(labels[sets.full], expected[sets.full], rtol=1e-12)
    np.testing.assert_allclose(sets.to_dense(UniformDistractors().update(state)), claims, rtol=1e-12)


@pytest.mark.parametrize("model", [None, "uniform", "cooccurring", "confusable"])
def test_a_softened_set_is_treated_like_the_set(model):
    """With small weights outside the sets most labels are those of the sets, and the groups are the same."""
    X, truth = blobs(80, 5, spread=4.0)
    mask = sets_of(truth, "cooccurring")
    softened = np.where(mask, 1.0, 1e-5)
    hard, soft = select(X, mask, model=model), select(X, softened, model=model)
    assert np.abs(soft.label_distributions - hard.label_distributions).sum(axis=1).mean() / 2 < 0.05
    sets, main = CandidateGroups.from_evidence(mask), CandidateGroups.from_evidence(softened).main
    np.testing.assert_array_equal(main.mask, sets.mask)
    np.testing.assert_array_equal(main.group, sets.group)
    assert main.weights is None


@pytest.mark.parametrize(
    "model", [UniformDistractors(), CooccurringDistractors(), ConfusableDistractors()], ids=lambda m: type(m).__name__
)
def test_classes_of_small_weights_have_the_mass_of_their_predictions(model):
    """The distractor model divides only the mass of the main candidates."""
    mask = small_problem("cooccurring")[1]
    weights = np.maximum(weights_of(mask), 0.05)
    sets = CandidateGroups.from_evidence(weights)
    rng = np.random.default_rng(0)
    F, P = rng.random(weights.shape) + 0.1, rng.dirichlet(np.ones(5), len(weights))
    state = IterationState(sets.values(F), sets.values(P), sets, 9)
    labels = sets.to_dense(model_for(model, sets).update(state))
    is_main = weights >= 0.1
    uniform = weights * F / (weights * F).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(labels[~is_main], uniform[~is_main], rtol=1e-12)
    main = CandidateGroups.from_evidence(np.where(is_main, weights, 0.0))
    inside = main.normalize(main.values(P))
    expected = main.to_dense(main.normalize(model.update(IterationState(main.values(F), inside, main, 9))))
    expected *= np.where(is_main, uniform, 0.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(labels[is_main], expected[is_main], rtol=1e-12)
    np.testing.assert_allclose(labels.sum(axis=1), 1, rtol=1e-12)
