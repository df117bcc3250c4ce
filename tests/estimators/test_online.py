"""Tests of the four online estimators against the published algorithms, with every parameter."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import check_random_state

from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron
from oneof.errors import InputError
from tests.estimators.panel import table
from tests.oracles import online as oracle

CASES = [
    (AvgPerceptron(eta0=0.3), {"method": "perceptron", "prediction": "average", "eta": 0.3}),
    (MaxPerceptron(eta0=3.0), {"method": "perceptron", "prediction": "max", "eta": 3.0}),
    (AvgPegasos(lam=0.2), {"method": "pegasos", "prediction": "average", "lam": 0.2}),
    (MaxPegasos(lam=0.02), {"method": "pegasos", "prediction": "max", "lam": 0.02}),
    (AvgPegasos(), {"method": "pegasos", "prediction": "average", "lam": 1e-4}),
    (
        MaxPegasos(lam=0.05, shrink="always"),
        {"method": "pegasos", "prediction": "max", "lam": 0.05, "shrink_always": True},
    ),
]
every = pytest.mark.parametrize(("estimator", "options"), CASES, ids=lambda case: case.__class__.__name__)


@every
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_pass_is_the_published_algorithm(estimator, options, average, fit_intercept):
    """Weights, their mean, the intercept and the progressive loss equal those of the oracle."""
    X, mask = table(150)
    model = clone(estimator).set_params(average=average, fit_intercept=fit_intercept).fit(X, mask)
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    history, mistakes, decided = oracle.run(rows, mask, **options)
    assert decided == len(X)
    expected = np.mean(history, axis=0) if average else history[-1]
    learned = np.column_stack([model.coef_, model.intercept_]) if fit_intercept else model.coef_
    np.testing.assert_allclose(learned, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    assert model.progressive_loss_ == pytest.approx(np.mean(mistakes))
    assert 0 < np.mean(mistakes) < 1
    assert model.t_ == len(X)


@every
def test_every_epoch_draws_its_own_order(estimator, options):
    """Shuffled epochs equal the oracle over the rows in successive permutations of random_state."""
    X, mask = table(50)
    model = clone(estimator).set_params(shuffle=True, n_epochs=3, random_state=7).fit(X, mask)
    rng = check_random_state(7)
    order = np.concatenate([rng.permutation(50) for _ in range(3)])
    history, _, decided = oracle.run(X[order], mask[order], **options)
    assert decided == 150
    np.testing.assert_allclose(model.coef_, history[-1], rtol=1e-9, atol=1e-10 * np.abs(history[-1]).max())


@every
def test_sample_weights_multiply_the_steps(estimator, options):
    """partial_fit multiplies each row's step by its weight."""
    X, mask = table(80)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 80)
    model = clone(estimator).partial_fit(X, mask, sample_weight=weight)
    counted = weight > 0
    history, _, decided = oracle.run(X[counted], mask[counted], sample_weight=weight[counted], **options)
    assert decided == counted.sum()
    np.testing.assert_allclose(model.coef_, history[-1], rtol=1e-9, atol=1e-10 * np.abs(history[-1]).max())


@every
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [[3, 1, 7], [-1, 1, 4]])
def test_plain_batches_are_learned_like_checked_ones(estimator, options, average, classes):
    """Arrays of whole numbers, which are read without other checks, give the same bits as lists and candidate sets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    labels = rng.choice([*classes, -1], size=60)
    batches = [clone(estimator).set_params(average=average, fit_intercept=True) for _ in range(3)]
    for i in range(60):
        rows, y = X[i : i + 1], labels[i : i + 1]
        given = [y.tolist(), y, CandidateSets.from_labels(y, classes=classes)]
        for model, label in zip(batches, given, strict=True):
            model.partial_fit(rows, label, classes=classes if i == 0 else None)
    for model in batches[1:]:
        assert np.array_equal(model.coef_, batches[0].coef_)
        assert np.array_equal(model.intercept_, batches[0].intercept_)
        assert (model.t_, model.progressive_loss_) == (batches[0].t_, batches[0].progressive_loss_)


def test_plain_batches_are_checked():
    """Unknown labels, other widths, lengths and numbers that are not finite are errors; the model is unchanged."""
    model = AvgPerceptron().partial_fit(np.eye(3), np.arange(3), classes=[0, 1, 2])
    before = model.coef_.copy()
    for X, y in (
        (np.eye(3), np.array([0, 1, 5])),
        (np.eye(2), np.array([0, 1])),
        (np.eye(3), np.array([0, 1])),
        (np.full((1, 3), np.nan), np.array([1])),
    ):
        with pytest.raises(InputError):
            model.partial_fit(X, y)
        assert np.array_equal(model.coef_, before)
