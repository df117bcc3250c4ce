"""Selection and weights of the distractor models."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import (
    CandidateGroups,
    CooccurringDistractors,
    ExactRidge,
    fit_group_shares,
    select_distractor_models,
    self_train,
)
from oneof.solvers.loo_ridge.selection import (
    MIN_CONCENTRATION,
    MIN_INFORMATION,
    clustered_z_score,
    lifts,
    predictive_gains,
)
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import (
    blobs,
    dictionary,
    frequent_partners,
    gram_of,
    recordings,
    sets_of,
    small_problem,
)

ZIPF = 1.0 / np.arange(1, 7) / (1.0 / np.arange(1, 7)).sum()


def select(X, mask, max_iter=25, **options):
    """Return the selection for rows with an RBF kernel."""
    ridge = ExactRidge.from_gram(gram_of(X), 0.05)
    return select_distractor_models(ridge, CandidateGroups.from_evidence(mask), max_iter=max_iter, **options)


PROBLEMS = ("uniform", "cooccurring", "confusable", "dictionary", "partners", "recordings")


@pytest.mark.parametrize("distractors", PROBLEMS)
def test_the_selection_equals_the_oracle(distractors):
    """Averaged labels, z-scores and the concentration equal those of the oracle, which loops over rows."""
    X, mask = small_problem(distractors)
    result = select(X, mask, max_iter=7)
    P, cooccurring, confusable, concentration = oracle.select(gram_of(X), mask, 0.05, 7)
    assert result.concentration == concentration
    assert result.z_scores["cooccurring"] == pytest.approx(cooccurring, abs=1e-6)
    assert result.z_scores["confusable"] == pytest.approx(confusable, abs=1e-6)
    np.testing.assert_allclose(result.label_distributions, P, rtol=0, atol=1e-8)
    assert sum(result.weights.values()) == pytest.approx(1)


def cooccurring_shares(X, mask):
    """Return the class shares of the groups under cooccurring distractors."""
    ridge, sets = ExactRidge.from_gram(gram_of(X), 0.05), CandidateGroups.from_evidence(mask)
    distractors = CooccurringDistractors(exponent=1)
    P = self_train(ridge.pair_predictor(sets), sets, distractors, max_iter=7, tol=0.0).label_distributions
    return fit_group_shares(P, ridge.predict_without_groups(P, sets), sets)


def test_all_cases_of_the_rule_are_compared_with_the_oracle():
    """The problems have concentrations, and for small ones information, on both sides of the limits."""
    cases = set()
    for name in PROBLEMS:
        shares = cooccurring_shares(*small_problem(name))
        is_small = shares.concentration < MIN_CONCENTRATION
        cases.add((is_small, is_small and shares.information > MIN_INFORMATION))
    assert cases == {(False, False), (True, False), (True, True)}


def test_gains_equal_the_oracle():
    """Gains are the logarithms of the sums, and the z-score takes the rows of one set as one cluster."""
    _, truth = blobs(50, 5)
    mask = sets_of(truth, n_distractors=2)
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(5), 50) * mask
    P /= P.sum(axis=1, keepdims=True)
    scores = rng.normal(0.2, 0.3, (50, 5))
    sets = CandidateGroups.from_evidence(mask)
    result = predictive_gains(P, scores, sets)
    np.testing.assert_allclose(result, oracle.predictive_gains(P, scores, mask), rtol=1e-10)
    assert clustered_z_score(result, sets) == pytest.approx(oracle.clustered_z_score(result, mask))


@pytest.mark.parametrize("distractors", PROBLEMS)
def test_lifts_equal_the_oracle(distractors):
    """The lift is the logarithm of the ratio of two sums over the set."""
    _, mask = small_problem(distractors)
    n, K = mask.shape
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(K), n) * mask
    P /= P.sum(axis=1, keepdims=True)
    scores = rng.normal(0.2, 0.3, (n, K))
    expected = oracle.lifts(P, scores, mask)
    np.testing.assert_allclose(lifts(P, scores, CandidateGroups.from_evidence(mask)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_lists_of_recordings_are_not_taken_for_confusable_labels(seed):
    """If lists lack some labels and rows of a recording are similar, "confusable" is worse, and has no weight."""
    X, truth, mask = recordings(seed=seed)
    result = select(X, mask)
    labels = {model: select(X, mask, model=model).label_distributions for model in ("uniform", "confusable")}
    labels["chosen"] = result.label_distributions
    right = {model: (P.argmax(axis=1) == truth).mean() for model, P in labels.items()}
    assert result.weights["confusable"] == 0
    assert right["confusable"] < right["uniform"] - 0.1
    assert right["chosen"] > right["uniform"] - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_cooccurring_and_uniform_distractors_are_distinguished(seed):
    """With very different class sizes, the weight of "cooccurring" is near 0 for uniform sets and near 1 for scenes."""
    X, truth = blobs(600, 6, d=5, seed=seed, frequencies=ZIPF, spread=3.0)
    uniform = select(X, sets_of(truth, "uniform", n_distractors=2, seed=seed))
    cooccurring = select(X, sets_of(truth, "cooccurring", n_distractors=2, seed=seed))
    assert uniform.weights["cooccurring"] < 0.1
    assert cooccurring.weights["cooccurring"] > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_a_dictionary_is_not_taken_for_scenes(seed):
    """If a main tag is the label of nearly all rows of a set, the weight of "cooccurring" is below one half."""
    X, _, mask = dictionary(seed=seed)
    result = select(X, mask)
    assert result.concentration < MIN_CONCENTRATION
    assert result.weights["cooccurring"] < 0.5


@pytest.mark.parametrize("kind", ["dictionary", "rules"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_dictionaries_and_rules_are_not_taken_for_scenes(seed, kind):
    """Also with the sets of `make_partial_labels`, the weight of "cooccurring" is below one half."""
    X, truth = blobs(600, 6, d=5, seed=seed, frequencies=ZIPF, spread=2.0)
    assert select(X, sets_of(truth, kind, n_distractors=2, seed=seed)).weights["cooccurring"] < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_confusable_distractors_are_detected_and_improve_the_labels(seed):
    """If each class has a frequent partner, "confusable" is selected, and more labels are correct."""
    X, truth, mask = frequent_partners(seed=seed)
    result = select(X, mask)
    assert result.z_scores["confusable"] > 2
    assert result.weights["confusable"] > 0.9
    uniform = select(X, mask, model="uniform").label_distributions
    assert (result.label_distributions.argmax(axis=1) == truth).mean() > (uniform.argmax(axis=1) == truth).mean()


def test_unlabeled_rows_do_not_affect_the_selection():
    """Unlabeled rows change neither z-scores nor weights if the predictions do not depend on them."""

    class ConstantPredictor:
        """Predictions that do not depend on the labels."""

        def __init__(self, scores):
            self.scores = scores

        def predict_loo(self, _):
            return self.scores

        def predict_without_groups(self, *_):
            return self.scores

        def pair_predictor(self, sets):
            return lambda _: sets.values(self.scores)

    rng = np.random.default_rng(0)
    truth = rng.choice(6, 200, p=ZIPF)
    mask = sets_of(truth, "cooccurring", n_distractors=1)
    scores = rng.dirichlet(np.ones(6), 260)
    without = select_distractor_models(
        ConstantPredictor(scores[:200]), CandidateGroups.from_evidence(mask), max_iter=25
    )
    full = np.vstack([mask, np.ones((60, 6), dtype=bool)])
    result = select_distractor_models(ConstantPredictor(scores), CandidateGroups.from_evidence(full), max_iter=25)
    assert result.z_scores == pytest.approx(without.z_scores)
    assert result.weights == pytest.approx(without.weights)
    np.testing.assert_allclose(result.label_distributions[:200], without.label_distributions, atol=1e-9)


def test_confusable_labels_equal_to_uniform_ones_have_no_weight():
    """With uniform distractors both models end at the same labels, and the weight of "confusable" is 0."""
    X, truth = blobs(200, 6, d=5, spread=3.0)
    result = select(X, sets_of(truth, "uniform", n_distractors=1))
    assert result.weights["confusable"] == 0


def test_few_distinct_sets_give_a_weight_far_from_certain():
    """With two distinct sets the weight of "cooccurring" is the distribution function of a Cauchy variable."""
    X, _ = blobs(60, 3, spread=0.5)
    mask = np.zeros((60, 3), dtype=bool)
    mask[:30, :2] = mask[30:, 1:] = True
    result = select(X, mask)
    z = result.z_scores["cooccurring"]
    assert result.weights["cooccurring"] == pytest.approx(0.5 + np.arctan(z) / np.pi, abs=1e-3)


def test_no_selection_without_visible_distractors():
    """With only exact rows, or with a single distinct set, the uniform model is selected."""
    X, truth = blobs(40)
    exact = select(X, np.eye(4, dtype=bool)[truth])
    assert exact.weights == {"uniform": 1.0, "cooccurring": 0.0, "confusable": 0.0}
    assert exact.z_scores == {}
    single_set = select(X, np.tile([True, True, False, False], (40, 1)))
    assert single_set.weights["uniform"] == 1.0
