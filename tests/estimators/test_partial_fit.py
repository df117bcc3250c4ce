"""Tests of the online classifiers: the published algorithms, and one stream for any split into batches."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron
from oneof.errors import InputError, LabelError
from tests.estimators.panel import ONLINE, name, same_model, scores, table
from tests.oracles import online as oracle

online = pytest.mark.parametrize("estimator", ONLINE, ids=name)


@online
def test_permuting_classes_permutes_scores_from_a_random_start(estimator):
    """From a start without ties, online classifiers do not depend on the order of the classes."""
    X, mask = table(like=estimator)
    order = [2, 0, 1]
    start = clone(estimator).partial_fit(X[:1], mask[:1])
    V = np.random.default_rng(0).normal(size=start._state.V.shape)
    models = []
    for columns in ([0, 1, 2], order):
        model = clone(estimator).partial_fit(X[:1], mask[:1][:, columns])
        square = float((V**2).sum())
        model._state = dataclasses.replace(model._state, V=V[columns], square=square, scale=1e-3)
        models.append(model.partial_fit(X, mask[:, columns]))
    reference = scores(models[0], X)
    np.testing.assert_allclose(
        scores(models[1], X), reference[:, order], rtol=1e-9, atol=1e-9 * np.abs(reference).max()
    )


@online
@pytest.mark.parametrize("options", [{}, {"average": True, "fit_intercept": True}], ids=["plain", "mean, intercept"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_partial_fit_in_any_split_is_one_call(estimator, options, weighted, rows):
    """Any split gives the weights of one pass of fit bit by bit, also if no row of some parts has weights."""
    X, mask = table(200, like=estimator)
    X, y = rows(X), mask
    if weighted:
        weights = np.where(np.arange(200)[:, None] % 3 == 0, np.random.default_rng(0).random(mask.shape), 1.0) * mask
        weights[100:140] = mask[100:140]
        y = CandidateSets.from_weights(weights)
    if options and hasattr(estimator, "shrink"):
        options = {**options, "shrink": "always"}
    one_call = clone(estimator).set_params(**options).fit(X, y)
    for cuts in ([100, 120], [1, 2, 3], [17, 17, 150]):
        model = clone(estimator).set_params(**options)
        for part in np.split(np.arange(200), cuts):
            if len(part):
                model.partial_fit(X[part], y[part])
        np.testing.assert_array_equal(model.coef_, one_call.coef_)
        np.testing.assert_array_equal(model.intercept_, one_call.intercept_)
        assert model.t_ == one_call.t_ == 200
        assert model.progressive_loss_ == pytest.approx(one_call.progressive_loss_, rel=1e-12)


@online
def test_partial_fit_requires_all_classes_in_the_first_call(estimator):
    """Labels require `classes` in the first call, an indicator does not; -1 is unlabeled unless it is a class."""
    X, _ = table(like=estimator)
    with pytest.raises(InputError, match="classes must be passed"):
        clone(estimator).partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(LabelError, match="row 1: label 'dog'"):
        clone(estimator).partial_fit(X[:2], ["ant", "dog"], classes=["ant", "bee", "cat"])
    unlabeled = clone(estimator).partial_fit(X[:3], [-1, -1, -1], classes=[0, 1])
    assert unlabeled.progressive_loss_ == 0
    np.testing.assert_array_equal(unlabeled.coef_, 0)
    signs = clone(estimator).partial_fit(X[:3], [-1, -1, 1], classes=[-1, 1])
    assert np.any(signs.coef_ != 0)
    with pytest.raises(InputError, match="must be those of the first call"):
        signs.partial_fit(X[:1], [1], classes=[1, 2])


@online
def test_rows_of_weight_zero_are_ignored(estimator):
    """Rows of weight 0 change neither weights nor counts."""
    X, mask = table(like=estimator)
    weight = np.arange(len(X)) % 3 / 2.0
    shrinks = [{"shrink": value} for value in ("on_loss", "always")] if hasattr(estimator, "shrink") else [{}]
    for options in shrinks:
        for rows in (X, sp.csr_array(X)):
            model, alone = (clone(estimator).set_params(average=True, **options) for _ in range(2))
            model.partial_fit(rows, mask, sample_weight=weight)
            alone.partial_fit(rows[weight > 0], mask[weight > 0], sample_weight=weight[weight > 0])
            np.testing.assert_array_equal(model._state.weights, alone._state.weights)
            np.testing.assert_array_equal(model.coef_, alone.coef_)
            assert (model.t_, model.progressive_loss_) == (alone.t_, alone.progressive_loss_)
            assert model.t_ == 40
    with pytest.raises(InputError, match="row 0: `sample_weight` must be finite and at least 0; got -1"):
        model.partial_fit(X, mask, sample_weight=-np.ones(len(X)))


@online
def test_classes_of_a_stream_keep_their_order(estimator):
    """`classes` stay in the given order, that of an indicator's columns in every call."""
    X, mask = table(like=estimator)
    expected = clone(estimator).partial_fit(X, CandidateSets(mask, ["c", "a", "b"]))
    model = clone(estimator).partial_fit(X[:20], mask[:20].astype(int), classes=["c", "a", "b"])
    assert model.classes_.tolist() == ["c", "a", "b"]
    model.partial_fit(X[20:40], mask[20:40].astype(int))
    model.partial_fit(X[40:], mask[40:][:, [1, 2, 0]].astype(int), classes=["a", "b", "c"])
    same_model(model, expected, X, rtol=1e-14)
    for wrong, message in (
        (["a", None], "must be strings or numbers, none of them missing; got None"),
        (["a", 1], "labels must have one type"),
        (["a"], "at least two classes"),
    ):
        with pytest.raises(InputError, match=message):
            clone(estimator).partial_fit(X, mask[:, : len(wrong)], classes=wrong)


@online
def test_a_batch_with_an_error_leaves_the_model_unchanged(estimator):
    """After an error in any call the model is unchanged, and a correct call works."""
    X, mask = table(like=estimator)
    model = clone(estimator)
    for rows, y in ((X, mask[:-1]), (X * 1e300, mask), (X, np.zeros_like(mask))):
        with pytest.raises(InputError):
            model.partial_fit(rows, y)
        with pytest.raises(NotFittedError):
            model.predict(X)
    model.partial_fit(X[:, :2], mask)
    before = model.coef_.copy(), model.t_
    with pytest.raises(InputError):
        model.partial_fit(X[:, :2] * 1e300, mask)
    with pytest.raises(InputError, match="must not change"):
        model.set_params(average=True).partial_fit(X[:, :2], mask)
    model.set_params(average=False)
    np.testing.assert_array_equal(model.coef_, before[0])
    assert model.t_ == before[1]


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
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_epochs_are_those_of_the_published_algorithm(estimator, options, average, fit_intercept, shuffle, form):
    """The model and its counts are the oracle's over the epochs, shuffled by successive permutations.

    An intercept is the weight of a constant feature.
    """
    X, mask = table(50)
    parameters = {"average": average, "fit_intercept": fit_intercept, "shuffle": shuffle, "random_state": 7}
    model = clone(estimator).set_params(n_epochs=3, **parameters).fit(form(X), mask)
    rng = check_random_state(7)
    order = np.concatenate([rng.permutation(50) if shuffle else np.arange(50) for _ in range(3)])
    rows = np.column_stack([X, np.ones(50)]) if fit_intercept else X
    history, mistakes, decided = oracle.run(rows[order], mask[order], **options)
    assert decided == model.t_ == 150
    expected = np.mean(history, axis=0) if average else history[-1]
    learned = np.column_stack([model.coef_, model.intercept_]) if fit_intercept else model.coef_
    np.testing.assert_allclose(learned, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    assert model.progressive_loss_ == pytest.approx(np.mean(mistakes))


@every
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [[3, 1, 7], [-1, 1, 4]])
def test_plain_batches_are_learned_like_checked_ones(estimator, options, average, classes):
    """Arrays of whole numbers, which are read without other checks, give the same bits and errors as other forms."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    labels = rng.choice([*classes, -1], size=60)
    batches = [clone(estimator).set_params(average=average, fit_intercept=True) for _ in range(3)]
    for i in range(60):
        rows, y = X[i : i + 1], labels[i : i + 1]
        given = [y.tolist(), y, CandidateSets.from_labels(y, classes=classes)]
        for model, label in zip(batches, given, strict=True):
            model.partial_fit(rows, label, classes=classes if i == 0 else None)
            wrong = ((rows, np.array([5])), (rows[:, :2], np.array([1])), (rows * np.nan, np.array([1])))
            for invalid, of in wrong if i % 10 == 0 else ():
                with pytest.raises(InputError):  # the model does not change
                    model.partial_fit(invalid, of)
    for model in batches[1:]:
        assert np.array_equal(model.coef_, batches[0].coef_)
        assert np.array_equal(model.intercept_, batches[0].intercept_)
        assert (model.t_, model.progressive_loss_) == (batches[0].t_, batches[0].progressive_loss_)
