"""Laws of weighted labels that hold for every estimator."""

import numpy as np
import pytest
from sklearn.base import clone

from oneof import CandidateSets
from tests.estimators.panel import ALL, BATCH, name, same_model, scores, table

every = pytest.mark.parametrize("estimator", ALL, ids=name)
batch = pytest.mark.parametrize("estimator", BATCH, ids=name)
LIKELIHOOD = ("PLEM", "GraphLogisticRegression", "MarkovWalk", "MultinomialEM", "GaussianEM", "PLGP")
likelihood = pytest.mark.parametrize("estimator", [e for e in ALL if name(e) in LIKELIHOOD], ids=name)


def graded_table(estimator, n=60, K=3, seed=0):
    """Return rows, their candidate sets and weights: exact, hard partial, weighted and unlabeled rows."""
    X, mask = table(n=n, K=K, seed=seed, like=estimator)
    rng = np.random.default_rng(seed + 1)
    weights = mask * rng.uniform(0.05, 1.0, mask.shape)
    hard = mask.all(axis=1) | (rng.random(n) < 0.3)
    weights[hard] = mask[hard]
    graded = CandidateSets.from_weights(weights)
    assert graded.is_weighted.sum() > 5
    assert graded.is_unlabeled.any()
    assert (graded.is_exact & ~graded.is_weighted).any()
    return X, mask, graded.weights


def fit_weights(estimator, X, weights):
    """Return the estimator fitted to a matrix of weights."""
    return clone(estimator).fit(X, CandidateSets.from_weights(weights))


@every
def test_weights_of_0_and_1_are_the_candidate_set(estimator):
    """Rows whose weights above 0 are equal give the model of the sets, bit by bit, whatever the weight is."""
    X, mask = table(like=estimator)
    factor = np.random.default_rng(3).uniform(1e-3, 1e3, len(X))
    of_sets = clone(estimator).fit(X, mask)
    for weights in (mask.astype(float), mask * factor[:, None]):
        np.testing.assert_array_equal(scores(fit_weights(estimator, X, weights), X), scores(of_sets, X))


@every
def test_the_factor_of_a_row_does_not_matter(estimator):
    """Weights are likelihoods up to a factor for each row."""
    X, _, weights = graded_table(estimator)
    factor = 2.0 ** np.random.default_rng(3).integers(-30, 30, len(X))
    reference = fit_weights(estimator, X, weights)
    np.testing.assert_array_equal(scores(fit_weights(estimator, X, weights * factor[:, None]), X), scores(reference, X))
    same_model(fit_weights(estimator, X, weights * 0.3), reference, X, rtol=1e-6)


@every
def test_a_row_of_equal_weights_is_an_unlabeled_row(estimator):
    """Equal weights of all classes are no evidence, as is a set of all classes."""
    X, mask, weights = graded_table(estimator)
    unlabeled = mask.all(axis=1)
    constant = np.where(unlabeled[:, None], 0.3, weights)
    np.testing.assert_array_equal(
        scores(fit_weights(estimator, X, constant), X), scores(fit_weights(estimator, X, weights), X)
    )


@batch
def test_permuting_classes_permutes_scores(estimator):
    """Batch methods do not depend on the order of the classes."""
    if name(estimator) in ("PLECOC", "PLGP"):
        pytest.skip("random codings, or draws, are dealt to the classes in their order")
    X, _, weights = graded_table(estimator)
    # The last class of the published model has weights of 0, so that the prior distinguishes it from the others.
    order = [1, 0, 2] if name(estimator) == "GraphLogisticRegression" else [2, 0, 1]
    reference = scores(fit_weights(estimator, X, weights), X)
    permuted = scores(fit_weights(estimator, X, weights[:, order]), X)
    np.testing.assert_allclose(permuted, reference[:, order], rtol=1e-6, atol=1e-6 * np.abs(reference).max())


@every
def test_small_weights_outside_a_set_give_the_model_of_the_set(estimator):
    """As the weights outside the sets go to 0, the model goes to that of the sets."""
    X, mask = table(like=estimator)
    labeled = ~mask.all(axis=1)
    expected = scores(clone(estimator).fit(X, mask), X)
    difference = []
    for size in (1e-3, 1e-12):
        weights = np.where(mask, 1.0, size * np.random.default_rng(3).random(mask.shape))
        candidates = CandidateSets.from_weights(weights)
        assert candidates.is_weighted[labeled].all()
        difference.append(np.abs(scores(clone(estimator).fit(X, candidates), X) - expected).max())
    assert difference[1] <= 1e-6 * np.abs(expected).max()
    assert difference[1] <= max(difference[0], 1e-9 * np.abs(expected).max())


@every
def test_hard_and_weighted_rows_in_one_fit(estimator):
    """One row with weights close to its set does not change how the hard rows are read."""
    X, mask = table(like=estimator)
    weights = mask.astype(float)
    row = int(np.flatnonzero(mask.sum(axis=1) == 2)[0])
    weights[row, np.flatnonzero(mask[row])[1]] = 1.0 - 1e-12
    assert CandidateSets.from_weights(weights).is_weighted.sum() == 1
    same_model(fit_weights(estimator, X, weights), clone(estimator).fit(X, mask), X, rtol=1e-6)


@every
def test_disambiguation_is_within_the_support(estimator):
    """The label is a class of weight above 0, and its confidence is a probability."""
    X, mask, weights = graded_table(estimator)
    model = fit_weights(estimator, X, weights)
    for labels, confidence in (model.disambiguate(), model.disambiguate(X, CandidateSets.from_weights(weights))):
        assert mask[np.arange(len(X)), labels].all()
        assert ((confidence > 0) & (confidence <= 1 + 1e-12)).all()


@every
def test_less_weight_for_the_others_raises_the_confidence(estimator):
    """Halving the weights of the other candidates keeps the label of a row, and does not lower its confidence."""
    X, _, weights = graded_table(estimator)
    model = fit_weights(estimator, X, weights)
    labels, confidence = model.disambiguate(X, CandidateSets.from_weights(weights))
    halved = np.where(np.arange(weights.shape[1]) == labels[:, None], weights, weights / 2)
    again, raised = model.disambiguate(X, CandidateSets.from_weights(halved))
    np.testing.assert_array_equal(again, labels)
    assert (raised >= confidence - 1e-12).all()
    assert (raised > confidence + 1e-3).any()


@likelihood
def test_evidence_multiplies(estimator):
    """In likelihood methods the distribution of a row given two pieces of evidence is the product, normalized."""
    X, _, first = graded_table(estimator)
    model = fit_weights(estimator, X, first)
    rows = model._validate_rows(X)
    second = np.random.default_rng(4).uniform(0.1, 1.0, first.shape)

    def distribution(weights):
        return model._candidate_proba(rows, CandidateSets.from_weights(weights), training=False)

    product = distribution(first) * second
    np.testing.assert_allclose(
        distribution(first * second), product / product.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
    )


@every
def test_score_is_the_mean_weight_of_the_predictions(estimator):
    """The covering rate of weighted rows is the mean weight of the predicted classes over the informative rows."""
    X, mask, weights = graded_table(estimator)
    model = clone(estimator).fit(X, mask)
    informative = ~mask.all(axis=1)
    expected = weights[np.arange(len(X)), model.predict(X)][informative].mean()
    np.testing.assert_allclose(model.score(X, CandidateSets.from_weights(weights)), expected, rtol=1e-12)


@every
def test_weights_move_the_model(estimator):
    """Weights that favor the other candidate give another model: they are used, not ignored."""
    if name(estimator) in ("SpectralGraphTransducer", "TransductiveSVM"):
        pytest.skip("exact rows alone have labels in these methods; weighted rows are labeled by them")
    X, mask = table(like=estimator)
    partial = mask.sum(axis=1) == 2
    low = mask & partial[:, None] & (np.cumsum(mask, axis=1) == 1)
    high = mask & partial[:, None] & (np.cumsum(mask, axis=1) == 2)
    one = scores(fit_weights(estimator, X, np.where(low, 0.01, mask)), X)
    other = scores(fit_weights(estimator, X, np.where(high, 0.01, mask)), X)
    assert np.abs(one - other).max() > 1e-3 * np.abs(one).max()
