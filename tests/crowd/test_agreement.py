"""Krippendorff's alpha against krippendorff, Cohen's kappa against scikit-learn, and both against sums over pairs."""

import json
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from oneof.crowd import Answers, krippendorff_alpha, krippendorff_interval, pairwise_agreement
from tests.crowd.simulated import crowd
from tests.fixtures.write_annotators import FILE
from tests.oracles import annotators as oracle

PEERS = json.loads(FILE.read_text(encoding="utf-8"))
SETS = [[0, {0, 1}, None], [1, 1, {1, 2}], [{0, 2}, 2, 0], [2, None, None], [{0, 1, 2}, 1, 1]]


def as_set(answer):
    return frozenset(answer if isinstance(answer, set) else {answer})


def test_nominal_alpha_is_that_of_krippendorff():
    table = np.array(PEERS["answers"])
    assert krippendorff_alpha(table) == pytest.approx(PEERS["alpha"], rel=1e-12)


DISTANCES = pytest.mark.parametrize(
    ("distance", "function"), [("nominal", lambda a, b: float(a != b)), ("masi", oracle.masi)], ids=["nominal", "masi"]
)


@DISTANCES
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


@DISTANCES
def test_agreement_of_pairs_equals_the_oracle(distance, function):
    """Pairs are listed in the order of the annotators, also with missing answers and sets."""
    _, table, _ = crowd(["honest", "doubter", "doubter", "honest", "spammer"], np.random.default_rng(0), n_rows=60)
    columns = [[None if a is None else frozenset(np.atleast_1d(a).tolist()) for a in column] for column in table.T]
    pairs = pairwise_agreement(table, distance)
    expected = [(j, h, *oracle.pair_kappa(columns[j], columns[h], function)) for j, h in combinations(range(5), 2)]
    np.testing.assert_allclose(np.transpose(pairs), expected, rtol=1e-12)


def test_kappa_is_that_of_scikit_learn():
    """Cohen's kappa of every pair, over their common rows."""
    table = np.array(PEERS["answers"])
    pairs = pairwise_agreement(table)
    for j, h, n, kappa in zip(pairs.first, pairs.second, pairs.n_shared, pairs.kappa, strict=True):
        both = (table[:, [j, h]] >= 0).all(axis=1)
        assert n == both.sum()
        assert kappa == pytest.approx(cohen_kappa_score(*table[both][:, [j, h]].T), rel=1e-12, nan_ok=True)


def test_pairs_without_common_rows_are_omitted_and_equal_answers_have_no_kappa():
    pairs = pairwise_agreement([["a", "a", None], ["a", "a", None], [None, None, "b"]])
    assert [(pairs.first[0], pairs.second[0])] == [(0, 1)]
    assert pairs.agreement.tolist() == [1.0]
    assert np.isnan(pairs.kappa).all()
    assert len(pairwise_agreement([["a", None], [None, "b"]]).kappa) == 0
