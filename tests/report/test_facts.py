"""What the report says is what plain counting says."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.report import facts, words
from tests.report.data import curve, sample


@pytest.mark.parametrize(
    "changes",
    [
        {"truth": ["finch"]},
        {"decisions": SimpleNamespace(labels=["finch"], confidence=np.ones(60))},
        {"decisions": SimpleNamespace(labels=["finch"] * 60, confidence=np.ones(2))},
    ],
)
def test_lengths_must_agree(changes):
    """Decisions and truth need one entry for each row."""
    with pytest.raises(InputError, match="for 60 rows"):
        dataclasses.replace(sample(), **changes)


def test_supervision_adds_up():
    """Exact, partial and unlabeled rows are all rows, and the mean size is that of the partial sets."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["a", "b", "c"], None, ["d"]])
    assert facts.supervision(y) == (5, 4, 2, 2, 1, 2.5, 1)


def test_baselines_are_what_constant_and_random_answers_cover():
    """The constant answer is the label in most sets; a guess covers the mean share of the classes."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["b"], ["a", "c"], None], classes=["a", "b", "c", "d"])
    found = facts.baseline(y)
    assert (found.constant, found.answer) == (0.75, "a")
    assert found.guess == pytest.approx(np.mean([1, 2, 1, 2]) / 4)
    assert facts.baseline(CandidateSets.from_sets([None, None], classes=["a", "b"])) is None


def test_truth_is_compared_where_it_is_known():
    """Shares equal plain counting: missing truths count nowhere, truths outside their set are never right."""
    sets = [["a", "b"], ["a", "b"], ["b", "c", "d"], None, None, ["a"], ["c", "d"], ["a"]]
    y = CandidateSets.from_sets(sets, classes=["a", "b", "c", "d", "e"])
    decided = ["a", "b", "c", "d", "e", "a", "c", "a"]
    truth = ["a", "a", "c", "d", "a", "e", None, "z"]
    found = facts.compare_with_truth(y, decided, truth)
    assert (found.n_known, found.outside) == (7, 2)
    assert (found.n_partial, found.right_partial) == (3, pytest.approx(2 / 3))
    assert found.chance_partial == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert (found.n_unlabeled, found.right_unlabeled) == (2, 0.5)
    assert facts.compare_with_truth(y, decided, [None] * 8) is None


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=40), st.integers(0, 12), st.randoms())
def test_least_sure_rows_are_open_and_in_order(sizes, limit, random):
    """No exact row is listed, each kind is ascending and the lowest of its kind, and all places are used."""
    mask = np.arange(4) < np.array(sizes)[:, None]
    confidence = np.array([random.random() for _ in sizes])
    partial, unlabeled = facts.least_sure(CandidateSets(mask, list("abcd")), confidence, limit)
    for kind, listed in (((2, 3), partial), ((4,), unlabeled)):
        every = sorted((confidence[i], i) for i, size in enumerate(sizes) if size in kind)
        assert listed.tolist() == [i for _, i in every[: len(listed)]]
    assert len(partial) + len(unlabeled) == min(limit, sum(size > 1 for size in sizes))
    if min(sum(size in kind for size in sizes) for kind in ((2, 3), (4,))) >= limit:
        assert len(unlabeled) == limit // 2


def test_unsure_rows_are_counted_from_zero_and_previewed():
    """Row i of the arrays is row i of the report, with the cells that the preview gives for i."""
    data = sample()
    columns, groups = facts.unsure_rows(data)
    assert columns == ["wing", "song"]
    for _, rows in groups:
        for row in rows:
            assert row.cells == [f"{row.number} mm", "tsip"]
            assert row.label == data.decisions.labels[row.number]
    listed = facts.unsure_rows(sample(preview=[{"wing": f"{row} mm", "song": "tsip"} for row in range(60)]))
    assert listed == (columns, groups)


@pytest.mark.parametrize(
    ("rates", "std", "says"),
    [
        ([0.5, 0.6, 0.8], 0.01, "should still help"),
        ([0.5, 0.6, 0.65], 0.10, "may help a little"),
        ([0.5, 0.8, 0.801], 0.01, "would help little"),
        ([0.5, 0.8, 0.7], 0.01, "fell by 10.0 points, more than"),
        ([0.5, 0.8, 0.7], 0.20, "within its spread"),
        ([np.nan, np.nan, 0.7], 0.20, "cannot say"),
        ([0.5, np.nan, 0.7], 0.01, "Between 50 and 200"),
    ],
)
def test_curve_is_read_by_its_last_doubling(rates, std, says):
    """The sentence follows the sign of the change and whether it exceeds the spread."""
    assert says in words.read_curve(curve(rates, std=std))
    shuffled = curve(rates[::-1], train_sizes=(200, 100, 50), std=std)
    assert words.read_curve(shuffled) == words.read_curve(curve(rates, std=std))


@given(st.floats(0, 1e5))
def test_times_are_within_their_rounding(value):
    """A time as written, read back, is the time to two significant digits."""
    text = words.seconds(value).replace("\N{NO-BREAK SPACE}", " ")
    if value < 0.01:
        assert text == "< 0.01 s"
    else:
        number, unit = text.split()
        assert float(number.replace(",", "")) * {"s": 1, "min": 60}[unit] == pytest.approx(value, rel=0.0501)
