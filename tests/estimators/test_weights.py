"""Laws of weighted labels that hold for every estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from oneof import (
    IPAL,
    PLEM,
    PLGP,
    PLSVM,
    CandidateSets,
    GaussianEM,
    GraphLogisticRegression,
    HarmonicField,
    LOORidge,
    MultinomialEM,
    SpectralGraphTransducer,
    TransductiveSVM,
    make_partial_labels,
)
from oneof.estimators.online import OnlineClassifier
from tests.estimators.panel import ALL, fit_table, further, name, same_model, scores, table, weighted_table

# Parameters by which weights take another path through the code.
VARIANTS = [
    PLEM(entropy_weight=0.5, fit_intercept=True),
    GraphLogisticRegression(solver="sequential", tol=1e-9),
    GraphLogisticRegression(views=[[0, 1], [2, 3]], coregularization=True, tol=1e-9),
    MultinomialEM("cv", tol=1e-10),
    GaussianEM("cv", tol=1e-10),
    PLGP(sharpness=1.0, optimizer=None, tol=1e-10, n_mc_samples=50, random_state=0),
    HarmonicField(0.5, 0.1, class_mass=False, tol=1e-12),
    TransductiveSVM(kernel="rbf", gamma=0.3, tol=1e-9),
    SpectralGraphTransducer(n_eigenvectors=15, n_neighbors=10),
    IPAL(class_mass=True, prediction="votes"),
    LOORidge("rbf", "cooccurring", features="standard"),
    LOORidge("rbf", "confusable", features="standard"),
    LOORidge(unlabeled="class_mass"),
    LOORidge(approximation="nystroem", n_components=25, random_state=0),
]
every = pytest.mark.parametrize("estimator", ALL, ids=name)
variants = pytest.mark.parametrize("estimator", [*ALL, *VARIANTS], ids=name)
batch = pytest.mark.parametrize(
    "estimator", [e for e in [*ALL, *VARIANTS] if not isinstance(e, OnlineClassifier)], ids=name
)
LIKELIHOOD = ("LOORidge", "PLEM", "GraphLogisticRegression", "MarkovWalk", "MultinomialEM", "GaussianEM", "PLGP")
likelihood = pytest.mark.parametrize("estimator", [e for e in [*ALL, *VARIANTS] if name(e) in LIKELIHOOD], ids=name)


def fit_weights(estimator, X, weights):
    """Return the estimator fitted to a matrix of weights."""
    return clone(estimator).fit(X, CandidateSets.from_weights(weights))


@variants
def test_the_factor_of_a_row_does_not_matter(estimator):
    """Weights are likelihoods up to a factor for each row: the roundings of a factor do not move the model."""
    X, _, weights = weighted_table(like=estimator)
    same_model(fit_weights(estimator, X, weights * 0.3), fit_table(estimator, weighted=True), X, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_of_a_row_does_not_matter_among_many_minima(seed):
    """Nor do the last digits that a factor changes, where PLSVM could end in many minima."""
    rng = np.random.default_rng(seed)
    n, K = 160, 10
    truth = rng.integers(K, size=n)
    X = StandardScaler().fit_transform(rng.normal(size=(K, 8))[truth] + rng.normal(size=(n, 8)))
    X = np.column_stack([X, np.ones(n)])
    mask = make_partial_labels(truth, n_distractors=2, random_state=seed).mask
    weights = mask * (rng.random((n, K)) ** 2 + 0.02)
    reference = fit_weights(PLSVM(), X, weights)
    scaled = fit_weights(PLSVM(), X, weights * rng.uniform(0.1, 9.0, (n, 1)))
    np.testing.assert_array_equal(scores(scaled, X), scores(reference, X))


@batch
def test_permuting_classes_permutes_scores(estimator):
    """Batch methods do not depend on the order of the classes, of sets and of weights."""
    if name(estimator) in ("PLECOC", "PLGP"):
        pytest.skip(
            "random codings, or draws, are dealt to the classes in their order; tests/solvers/test_ecoc.py and "
            "tests/estimators/test_plgp.py have the laws they keep"
        )
    X, mask, weights = weighted_table(like=estimator)
    # The last class of the published model has weights of 0, so that the prior distinguishes it from the others.
    order = [1, 0, 2] if name(estimator) == "GraphLogisticRegression" else [2, 0, 1]
    for evidence in (mask.astype(float), weights):
        model, fitted = clone(estimator), fit_table(estimator, weighted=evidence is weights)
        if name(estimator) == "LOORidge" and evidence is weights:  # Pegasos, its judge, breaks ties by the order
            fitted = fit_weights(model.set_params(judge=None), X, evidence)
        reference = scores(fitted, X)
        permuted = scores(fit_weights(model, X, evidence[:, order]), X)
        np.testing.assert_allclose(permuted, reference[:, order], rtol=1e-6, atol=1e-6 * np.abs(reference).max())


@variants
def test_small_weights_outside_a_set_give_the_model_of_the_set(estimator):
    """As the weights outside the sets go to 0, scores and disambiguations go to those of the sets."""
    X, mask = table(like=estimator)
    labeled = ~mask.all(axis=1)
    sets = fit_table(estimator)
    expected, labels = scores(sets, X), sets.disambiguate()
    difference = []
    for size in (1e-3, 1e-12, 1e-300):
        weights = np.where(mask, 1.0, size * np.random.default_rng(3).random(mask.shape))
        candidates = CandidateSets.from_weights(weights)
        assert candidates.is_weighted[labeled].all()
        model = clone(estimator).fit(X, candidates)
        difference.append(np.abs(scores(model, X) - expected).max())
    assert max(difference[1:]) <= 1e-6 * np.abs(expected).max()
    assert max(difference[1:]) <= max(difference[0], 1e-9 * np.abs(expected).max())
    # The scores of a Perceptron are not bounded, so that only the smallest weights exclude a class.
    np.testing.assert_array_equal(model.disambiguate().labels, labels.labels)
    np.testing.assert_allclose(model.disambiguate().confidence, labels.confidence, atol=1e-6)


@every
def test_negligible_weights_do_not_break_ties(estimator):
    """Weights of 1e-300 outside the sets give the model of the sets, also with many classes and few rows."""
    X, mask = table(n=30, K=7, like=estimator)
    weights = np.where(mask, 1.0, 1e-300 * np.random.default_rng(3).random(mask.shape))
    same_model(fit_weights(estimator, X, weights), clone(estimator).fit(X, mask), X, rtol=1e-6)


@every
def test_less_weight_for_the_others_raises_the_confidence(estimator):
    """Halving the weights of the other candidates keeps the label of a row, and does not lower its confidence."""
    X, _, weights = weighted_table(like=estimator)
    model = fit_table(estimator, weighted=True)
    labels, confidence = model.disambiguate(X, CandidateSets.from_weights(weights))
    halved = np.where(np.arange(weights.shape[1]) == labels[:, None], weights, weights / 2)
    again, raised = model.disambiguate(X, CandidateSets.from_weights(halved))
    np.testing.assert_array_equal(again, labels)
    assert (raised >= confidence - 1e-12).all()
    assert (raised > confidence + 1e-3).any()


@likelihood
def test_disambiguation_multiplies_probabilities_and_weights(estimator):
    """In likelihood methods the distribution of a row is its class probabilities times its weights, normalized."""
    weights = weighted_table(like=estimator)[2]
    model = fit_table(estimator, weighted=True)
    rows = np.abs(further())
    new = np.random.default_rng(4).uniform(0.1, 1.0, (len(rows), weights.shape[1]))
    q = model.predict_proba(rows) * new
    q /= q.sum(axis=1, keepdims=True)
    labels, confidence = model.disambiguate(rows, CandidateSets.from_weights(new))
    np.testing.assert_array_equal(labels, q.argmax(axis=1))
    np.testing.assert_allclose(confidence, q.max(axis=1), rtol=1e-10)


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
