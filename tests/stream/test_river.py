"""Adapter for single rows."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from oneof import CLPL, AvgPegasos, AvgPerceptron, CandidateSets
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.stream import RiverClassifier


@pytest.mark.parametrize("learner", [AvgPerceptron, AvgPegasos])
def test_it_is_partial_fit_on_hashed_rows(learner):
    """Rows one by one give the weights of the same hashed rows at once; text is a category, None is missing."""
    rng = np.random.default_rng(0)
    rows = [{"x": float(x), "color": "rb"[int(x > 0)], "gap": None} for x in rng.normal(size=50)]
    sets = [["a"] if row["x"] > 0 else None if i % 5 == 0 else ["b", "c"] for i, row in enumerate(rows)]
    model, peer = RiverClassifier(learner(), ["a", "b", "c"], hash_bits=6), learner()
    assert (model.predict_one(rows[0]), model.predict_proba_one(rows[0])) == (None, {})
    for x, y in zip(rows, sets, strict=True):
        assert model.learn_one(x, y) is model
    hashed = model._hasher.transform([{k: v for k, v in x.items() if v is not None} for x in rows])
    peer.partial_fit(hashed, sets, classes=["a", "b", "c"])
    assert np.array_equal(model.fitted().coef_, peer.coef_)
    assert [model.predict_one(x) for x in rows] == peer.predict(hashed).tolist()
    shares = model.predict_proba_one(rows[0])
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=shares.get) == model.predict_one(rows[0])


@pytest.mark.parametrize("learner", [AvgPerceptron, AvgPegasos])
def test_a_mapping_of_labels_to_weights_is_a_weighted_row(learner):
    """Rows with weights, one by one, give the weights of the same rows at once."""
    rng = np.random.default_rng(0)
    classes, values = ["a", "b", "c"], rng.normal(size=50)
    weights = rng.random((50, 3)) * (rng.random((50, 3)) < 0.7) + np.eye(3)[rng.integers(3, size=50)]
    model, peer = RiverClassifier(learner(), classes, hash_bits=6), learner()
    for x, row in zip(values, weights, strict=True):
        model.learn_one({"x": x}, {label: w for label, w in zip(classes, row, strict=True) if w > 0})
    hashed = model._hasher.transform([{"x": x} for x in values])
    peer.partial_fit(hashed, CandidateSets.from_weights(weights, classes))
    assert np.array_equal(model.fitted().coef_, peer.coef_)
    for y in ({"d": 1.0}, {"a": -1.0}, {"a": 0.0}):
        with pytest.raises(LabelError):
            model.learn_one({"x": 1.0}, y)
    model.learn_one({"x": 1.0}, {})  # unlabeled
    assert np.array_equal(model.fitted().coef_, peer.coef_)


def test_invalid_rows_and_classes_are_errors():
    """A list as a row, an undeclared class, a batch learner, and predictions before learning are errors."""
    model = RiverClassifier(AvgPerceptron(), ["a", "b"])
    with pytest.raises(NotFittedError, match="learn_one"):
        model.fitted()
    with pytest.raises(InputTypeError, match="CLPL is not an online classifier"):
        RiverClassifier(CLPL(), ["a", "b"])
    with pytest.raises(InputTypeError, match="`x` must be a dict"):
        model.learn_one([1.0], "a")
    with pytest.raises(LabelError, match="'c'"):
        model.learn_one({"x": 1.0}, {"c"})


def test_an_invalid_row_does_not_change_the_model():
    """A value that is not a number, infinity and an overflowing step leave the weights unchanged."""
    model = RiverClassifier(AvgPegasos(lam=1e-3), ["a", "b"], hash_bits=4)
    for x, y in (({"u": 1.0, "v": 2.0}, "a"), ({"u": -1.0}, "b"), ({"v": 0.5}, None)):
        model.learn_one(x, y)
    before = model.fitted()
    for x, message in (
        ({"u": [1.0]}, "feature 'u' must be a number that fits float64, text or None; got list"),
        ({"u": np.inf}, "infinity"),
        ({"u": 1e200}, "[Ss]cale the features"),
        ({"u": 10**400}, "got int"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            model.learn_one(x, "b")
    after = model.fitted()
    assert np.array_equal(after.coef_, before.coef_)
    assert (after.t_, after.progressive_loss_) == (before.t_, before.progressive_loss_)


def test_the_cache_of_sets_distinguishes_equal_labels():
    """A cached set of 1 is not used for True."""
    model = RiverClassifier(AvgPerceptron(), [0, 1])
    model.learn_one({"x": 1.0}, [1]).learn_one({"x": 1.0}, [1])
    with pytest.raises(LabelError):
        model.learn_one({"x": 1.0}, [2])
    assert [model._evidence(y).tolist() for y in (1, [1], {0, 1}, None)] == [
        [[False, True]],
        [[False, True]],
        [[True, True]],
        [[True, True]],
    ]


@pytest.mark.parametrize("y", [{0: 0.7, 1: 0.3}, b"\x00\x01", [0, True], np.array(1), np.array([0, 1]), range(2)])
def test_the_cache_does_not_change_the_reading_of_labels(y):
    """Labels have the same mask, or the same error, before and after a similar set was cached."""

    def read(model):
        try:
            return model._evidence(y).tolist()
        except LabelError as error:
            return str(error)

    fresh = RiverClassifier(AvgPerceptron(), [0, 1])
    cached = RiverClassifier(AvgPerceptron(), [0, 1]).learn_one({"x": 1.0}, {0, 1}).learn_one({"x": 1.0}, {1})
    assert read(cached) == read(fresh)


@pytest.mark.parametrize("average", [False, True])
def test_predictions_are_those_of_the_fitted_estimator(average):
    """The predicted classes equal those of the fitted estimator, also with an intercept and averaged weights."""
    rng = np.random.default_rng(1)
    model = RiverClassifier(AvgPerceptron(fit_intercept=True, average=average), ["a", "b", "c"], hash_bits=5)
    rows = [dict(enumerate(x.tolist())) for x in rng.normal(size=(40, 9))]
    for x in rows:
        model.learn_one(x, "abc"[int(np.argmax([x[0], x[1], x[2]]))])
    hashed = model._hasher.transform([{str(k): v for k, v in x.items()} for x in rows])
    assert [model.predict_one(x) for x in rows] == model.fitted().predict(hashed).tolist()


def test_invalid_arguments_are_errors():
    """Invalid classes, sizes and features are errors, and nothing is learned."""
    for classes, message in ((["a"], "at least two classes"), (["a", "a"], "distinct")):
        with pytest.raises(InputError, match=message):
            RiverClassifier(AvgPerceptron(), classes)
    for bits in (0, 31, True, 4.0):
        with pytest.raises(InputError, match="hash_bits"):
            RiverClassifier(AvgPerceptron(), ["a", "b"], hash_bits=bits)
    model = RiverClassifier(AvgPerceptron(), ["a", "b"])
    for value in ([1], 10**400, object()):
        with pytest.raises(InputTypeError, match="feature 'x' must be a number"):
            model.learn_one({"x": value}, "a")
    assert model.predict_one({"x": 1.0}) is None
