"""Copied answers: the pairs that are reported, and no effect on the labels."""

import numpy as np
import pytest

from oneof.crowd import AnnotatorModel


def crowd(seed, n_annotators=8, n_rows=300, copied=0.0, n_classes=4):
    """Return answers of annotators, of whom the last one copies a fraction of the answers of the first one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    wrong = (y[:, None] + rng.integers(1, n_classes, (n_rows, n_annotators))) % n_classes
    table = np.where(rng.random((n_rows, n_annotators)) < rng.uniform(0.6, 0.85, n_annotators), y[:, None], wrong)
    table[:, -1] = np.where(rng.random(n_rows) < copied, table[:, 0], table[:, -1])
    return np.where(rng.random(table.shape) < 0.7, table, -1)


@pytest.mark.parametrize("copied", [0.8, 1.0])
def test_a_copy_among_independent_annotators_is_reported(copied):
    """It is the first pair, with about the fraction of copied answers, and a note names it."""
    for seed in range(4):
        model = AnnotatorModel(classes=range(4)).fit(crowd(seed, copied=copied))
        [pair, *others] = model.copied_pairs_
        assert pair.annotators == (0, 7)
        assert others == []
        assert pair.agreement > pair.expected_agreement
        assert pair.copied == pytest.approx(copied, abs=0.3)
        assert model.notes_[-1].startswith("0 and 7 agree on")


def test_errors_that_honest_annotators_share_are_not_reported():
    """With the same wrong answer on a fifth of the rows, and many rows, no pair is reported."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y, decoy = rng.integers(4, size=(2, 4000))
        accuracy = np.where(rng.random(4000) < 0.2, 0.35, 0.85)[:, None]
        table = np.where(rng.random((4000, 10)) < accuracy, y[:, None], decoy[:, None])
        assert AnnotatorModel(classes=range(4)).fit(table).copied_pairs_ == []


def test_independent_annotators_are_seldom_reported():
    """The level of the test of all pairs is 0.01: in 40 crowds, at most one pair."""
    pairs = [AnnotatorModel(classes=range(4)).fit(crowd(seed)).copied_pairs_ for seed in range(40)]
    assert sum(map(len, pairs)) <= 1
