"""Laws of the adapter for single rows."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from oneof import CLPL, AvgPegasos, AvgPerceptron
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


def test_what_is_no_row_or_no_class_is_refused():
    """A list for a row, a class that was not named, a learner of batches, and asking before learning."""
    model = RiverClassifier(AvgPerceptron(), ["a", "b"])
    with pytest.raises(NotFittedError, match="learn_one"):
        model.fitted()
    with pytest.raises(InputTypeError, match="CLPL does not learn online"):
        RiverClassifier(CLPL(), ["a", "b"])
    with pytest.raises(InputTypeError, match="a row is a dict of features"):
        model.learn_one([1.0], "a")
    with pytest.raises(LabelError, match="'c'"):
        model.learn_one({"x": 1.0}, {"c"})


def test_a_row_that_cannot_be_learnt_changes_nothing():
    """After a value that is no number, infinity, and a step that overflows, the weights are what they were."""
    model = RiverClassifier(AvgPegasos(lam=1e-3), ["a", "b"], hash_bits=4)
    for x, y in (({"u": 1.0, "v": 2.0}, "a"), ({"u": -1.0}, "b"), ({"v": 0.5}, None)):
        model.learn_one(x, y)
    before = model.fitted()
    for x, said in (
        ({"u": [1.0]}, "feature 'u' cannot be read as a number: it is of type list"),
        ({"u": np.inf}, "infinity"),
        ({"u": 1e200}, "[Ss]cale the features"),
        ({"u": 10**400}, "too large"),
    ):
        with pytest.raises((InputError, InputTypeError), match=said):
            model.learn_one(x, "b")
    after = model.fitted()
    assert np.array_equal(after.coef_, before.coef_)
    assert (after.t_, after.progressive_loss_) == (before.t_, before.progressive_loss_)


def test_labels_that_are_equal_but_not_the_same_are_read_anew():
    """A set that was met before is remembered; True is not taken for 1 because of it."""
    model = RiverClassifier(AvgPerceptron(), [0, 1])
    model.learn_one({"x": 1.0}, [1]).learn_one({"x": 1.0}, [1])
    with pytest.raises(LabelError):
        model.learn_one({"x": 1.0}, [2])
    assert [model._mask(y).tolist() for y in (1, [1], {0, 1}, None)] == [
        [[False, True]],
        [[False, True]],
        [[True, True]],
        [[True, True]],
    ]


@pytest.mark.parametrize("y", [{0: 0.7, 1: 0.3}, b"\x00\x01", [0, True], np.array(1), np.array([0, 1]), range(2)])
def test_what_was_seen_does_not_change_how_labels_are_read(y):
    """A row of labels is a set, or an error, after the set it resembles was learned as it is before."""

    def read(model):
        try:
            return model._mask(y).tolist()
        except LabelError as error:
            return str(error)

    fresh = RiverClassifier(AvgPerceptron(), [0, 1])
    taught = RiverClassifier(AvgPerceptron(), [0, 1]).learn_one({"x": 1.0}, {0, 1}).learn_one({"x": 1.0}, {1})
    assert read(taught) == read(fresh)


@pytest.mark.parametrize("average", [False, True])
def test_predictions_are_those_of_the_fitted_learner(average):
    """With an intercept and a mean of weights too, a row's class and shares are those of the fitted estimator."""
    rng = np.random.default_rng(1)
    model = RiverClassifier(AvgPerceptron(fit_intercept=True, average=average), ["a", "b", "c"], hash_bits=5)
    rows = [dict(enumerate(x.tolist())) for x in rng.normal(size=(40, 9))]
    for x in rows:
        model.learn_one(x, "abc"[int(np.argmax([x[0], x[1], x[2]]))])
    hashed = model._hasher.transform([{str(k): v for k, v in x.items()} for x in rows])
    assert [model.predict_one(x) for x in rows] == model.fitted().predict(hashed).tolist()


def test_what_cannot_be_learnt_is_told():
    """Classes, sizes and features that make no sense are told in a sentence, and nothing is learned."""
    for classes, said in ((["a"], "only one class"), (["a", "a"], "twice")):
        with pytest.raises(InputError, match=said):
            RiverClassifier(AvgPerceptron(), classes)
    for bits in (0, 31, True, 4.0):
        with pytest.raises(InputError, match="hash_bits"):
            RiverClassifier(AvgPerceptron(), ["a", "b"], hash_bits=bits)
    model = RiverClassifier(AvgPerceptron(), ["a", "b"])
    for value in ([1], 10**400, object()):
        with pytest.raises(InputTypeError, match="feature 'x' cannot be read as a number"):
            model.learn_one({"x": value}, "a")
    assert model.predict_one({"x": 1.0}) is None
