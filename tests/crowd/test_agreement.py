"""Krippendorff's alpha against krippendorff, and against sums over pairs of answers."""

import json

import numpy as np
import pytest

from oneof.crowd import Answers, krippendorff_alpha, krippendorff_interval
from oneof.errors import InputError
from tests.fixtures.write_annotators import FILE
from tests.oracles import annotators as oracle

PEERS = json.loads(FILE.read_text(encoding="utf-8"))
SETS = [[0, {0, 1}, None], [1, 1, {1, 2}], [{0, 2}, 2, 0], [2, None, None], [{0, 1, 2}, 1, 1]]


def as_set(answer):
    return frozenset(answer if isinstance(answer, set) else {answer})


def test_nominal_alpha_is_that_of_krippendorff():
    table = np.array(PEERS["answers"])
    assert krippendorff_alpha(table) == pytest.approx(PEERS["alpha"], rel=1e-12)


@pytest.mark.parametrize(
    ("distance", "function"), [("nominal", lambda a, b: float(a != b)), ("masi", oracle.masi)], ids=["nominal", "masi"]
)
def test_alpha_of_sets_equals_the_oracle(distance, function):
    units = [[as_set(answer) for answer in row if answer is not None] for row in SETS]
    assert krippendorff_alpha(SETS, distance) == pytest.approx(oracle.krippendorff_alpha(units, function), rel=1e-12)


def test_interval_contains_alpha_and_is_reproducible():
    table = np.array(PEERS["answers"])
    low, high = krippendorff_interval(table, random_state=0, n_samples=200)
    assert low < krippendorff_alpha(table) < high
    assert (low, high) == krippendorff_interval(table, random_state=0, n_samples=200)
    inner = krippendorff_interval(table, random_state=0, n_samples=200, coverage=0.5)
    assert low < inner[0] < inner[1] < high


def test_alpha_is_undefined_without_pairs_or_with_equal_answers():
    assert np.isnan(krippendorff_alpha([["a", None], [None, "b"]]))
    assert np.isnan(krippendorff_alpha([["a", "a"], ["a", "a"]], classes=["a", "b"]))
    single = Answers.from_records([0, 1], ["Ann", "Bob"], ["a", "b"])
    assert np.isnan(krippendorff_interval(single, random_state=0)).all()


def test_invalid_arguments_are_errors():
    with pytest.raises(InputError, match="`distance` must be"):
        krippendorff_alpha(SETS, "interval")
    with pytest.raises(InputError, match="`coverage` must be above 0 and below 1"):
        krippendorff_interval(SETS, coverage=1.0)
