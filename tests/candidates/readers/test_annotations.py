"""Answers of annotators with known accuracies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.errors import InputError


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_reliable_annotations_equal_the_literal_likelihood(n_classes, n_annotators, seed):
    """The weight of a class is the product over the answers of their probabilities if the class is the true one."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(-1, n_classes, (8, n_annotators))
    accuracy = rng.uniform(1 / n_classes + 0.01, 0.99, n_annotators)
    y = CandidateSets.from_annotations(answers, classes=range(n_classes), reliabilities=accuracy)
    expected = np.ones((8, n_classes))
    for (i, j), answer in np.ndenumerate(answers):
        for k in range(n_classes):
            if answer >= 0:
                expected[i, k] *= accuracy[j] if answer == k else (1 - accuracy[j]) / (n_classes - 1)
    np.testing.assert_allclose(y.weights, expected / expected.max(axis=1, keepdims=True), rtol=1e-9)


def test_many_reliable_annotators_do_not_underflow():
    """The weights of thousands of answers are finite and above 0; a row without answers is unlabeled."""
    answers = np.vstack([np.zeros((1, 5000), dtype=int), np.full((1, 5000), -1), [np.arange(5000) % 2]])
    y = CandidateSets.from_annotations(answers, classes=[0, 1], reliabilities=np.full(5000, 0.999))
    assert y.weights[0, 0] == 1
    assert 0 < y.weights[0, 1] < 1e-300
    assert y.is_unlabeled.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reliabilities": [0.9]}, r"one number for each of the 2 annotators; got shape \(1,\)"),
        ({"reliabilities": [0.9, 0.5]}, "column 1: `reliabilities` must be above 1/2.*; got 0.5"),
        ({"reliabilities": [1.0, 0.9]}, "column 0: .*below 1; got 1.0"),
        ({"reliabilities": [np.nan, 0.9]}, "column 0: .*got nan"),
        ({"reliabilities": [0.9, 0.9], "min_votes": 2}, "pass only one of them"),
        ({"reliabilities": [0.9, 0.9], "top_k": 1}, "pass only one of them"),
    ],
)
def test_bad_reliabilities_are_errors(options, message):
    """Accuracies are above those of guesses and below 1, one for each annotator."""
    with pytest.raises(InputError, match=message):
        CandidateSets.from_annotations([["a", "b"], ["b", "b"]], **options)
