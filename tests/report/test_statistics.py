"""Tests of the statistics and texts of the report."""

import dataclasses
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.audit.accuracy import AccuracyEstimate
from oneof.candidates import CandidateSets
from oneof.comparison import MethodResult
from oneof.comparison.results import FoldResult
from oneof.errors import InputError
from oneof.report import choose_headline, statistics, templating
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
    """Decisions and truth must have one entry per row."""
    with pytest.raises(InputError, match="must have one entry per row"):
        dataclasses.replace(sample(), **changes)


def test_label_summary_adds_up():
    """Exact, partial and unlabeled rows sum to all rows, and the mean size is over the partial sets."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["a", "b", "c"], None, ["d"]])
    assert statistics.label_summary(y) == (5, 4, 2, 2, 1, 2.5, 0)


def test_weighted_rows_are_partial():
    """Rows with weights are partial, also if all classes are candidates; a constant row is unlabeled."""
    W = [[1.0, 0.5, 0.25], [0.1, 0.1, 0.1], [0, 2, 0], [1, 1, 0]]
    summary = statistics.label_summary(CandidateSets.from_weights(W, classes=["a", "b", "c"]))
    assert (summary.exact, summary.partial, summary.weighted, summary.unlabeled) == (1, 2, 1, 1)
    share = np.array([4, 2, 1]) / 7
    assert summary.mean_size == pytest.approx((np.exp(-(share * np.log(share)).sum()) + 2) / 2)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3).filter(any), min_size=2, max_size=12))
def test_statistics_are_continuous_at_sets(rows):
    """Weights of nearly 0 outside the sets give the numbers of the sets, except for the counts of row kinds."""
    mask = np.array(rows)
    sets = CandidateSets(mask, ["a", "b", "c"])
    y = CandidateSets.from_weights(np.where(mask, 1.0, 1e-12), classes=["a", "b", "c"])
    assert statistics.label_summary(y).unlabeled == statistics.label_summary(sets).unlabeled
    if (base := statistics.baseline(sets)) is not None:
        near = statistics.baseline(y)
        second, first = np.sort(sets.mask[~sets.is_unlabeled].sum(axis=0))[-2:]
        assert near.majority_label == base.majority_label or first == second  # equal counts differ by roundings
        assert near[:2] == pytest.approx(base[:2], abs=1e-9)
    for near, exact in zip(statistics.class_rows(y), statistics.class_rows(sets), strict=True):
        assert near[:2] == (exact[0], pytest.approx(exact[1], abs=1e-9))
    n_rows = [sum(row[1:]) for row in statistics.size_rows(y)]
    assert n_rows == [sum(row[1:]) for row in statistics.size_rows(sets)]
    truth = ["abc"[int(row.argmax())] for row in mask]
    near, exact = (statistics.compare_with_truth(c, truth, truth) for c in (y, sets))
    if sets.is_exact.sum() == 0 and exact.n_partial:  # an exact row with weights is partial
        assert near.chance_partial == pytest.approx(exact.chance_partial)


def test_the_class_of_largest_weight_is_compared_with_the_truth():
    """Its accuracy is over the rows with weights and a known truth; a tie of two counts half."""
    W = [[1, 0.5, 0], [0.5, 1, 0.1], [1, 1, 0.5], [1, 0, 0], [1, 0.9, 0]]
    y = CandidateSets.from_weights(W, classes=["a", "b", "c"])
    result = statistics.compare_with_truth(y, ["a"] * 5, ["a", "a", "b", "a", None])
    assert (result.n_weighted, result.top_weighted) == (3, 0.5)
    assert result.chance_partial == pytest.approx(np.mean([1 / 1.5, 0.5 / 1.6, 1 / 2.5]))


def test_weights_are_written_beside_the_candidates():
    """Weights are shares, the largest first; small ones are not rounded to 0."""
    W = [[0.3, 0.7, 0], [1, 1, 1], [1, 0.001, 0.2], [0, 1, 1]]
    y = CandidateSets.from_weights(W, classes=["wren", "finch", "owl"])
    assert [statistics.name_candidates(y, row) for row in range(4)] == [
        "finch 0.70, wren 0.30", "any", "wren 0.83, owl 0.17, finch <0.01", "finch, owl"
    ]  # fmt: skip


def test_baselines():
    """The majority label is in most sets; a random label covers the mean fraction of the classes."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["b"], ["a", "c"], None], classes=["a", "b", "c", "d"])
    result = statistics.baseline(y)
    assert (result.majority_rate, result.majority_label) == (0.75, "a")
    assert result.random_rate == pytest.approx(np.mean([1, 2, 1, 2]) / 4)
    assert statistics.baseline(CandidateSets.from_sets([None, None], classes=["a", "b"])) is None


def test_known_truths_are_compared():
    """Fractions equal plain counting; missing truths are ignored, truths outside their set are never right."""
    sets = [["a", "b"], ["a", "b"], ["b", "c", "d"], None, None, ["a"], ["c", "d"], ["a"]]
    y = CandidateSets.from_sets(sets, classes=["a", "b", "c", "d", "e"])
    decided = ["a", "b", "c", "d", "e", "a", "c", "a"]
    truth = ["a", "a", "c", "d", "a", "e", None, "z"]
    result = statistics.compare_with_truth(y, decided, truth)
    assert (result.n_known, result.outside) == (7, 2)
    assert (result.n_partial, result.right_partial) == (3, pytest.approx(2 / 3))
    assert result.chance_partial == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert (result.n_unlabeled, result.right_unlabeled) == (2, 0.5)
    assert statistics.compare_with_truth(y, decided, [None] * 8) is None


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=40), st.integers(0, 12), st.randoms())
def test_least_confident_rows_are_ordered(sizes, limit, random):
    """Each kind has its lowest confidences in ascending order, no exact row is listed, and the limit is used."""
    mask = np.arange(4) < np.array(sizes)[:, None]
    confidence = np.array([random.random() for _ in sizes])
    partial, unlabeled = statistics.least_confident(CandidateSets(mask, list("abcd")), confidence, limit)
    for kind, listed in (((2, 3), partial), ((4,), unlabeled)):
        every = sorted((confidence[i], i) for i, size in enumerate(sizes) if size in kind)
        assert listed.tolist() == [i for _, i in every[: len(listed)]]
    assert len(partial) + len(unlabeled) == min(limit, sum(size > 1 for size in sizes))
    if min(sum(size in kind for size in sizes) for kind in ((2, 3), (4,))) >= limit:
        assert len(unlabeled) == limit // 2


def test_uncertain_rows_count_from_zero():
    """Row i of the arrays is row i of the report, with the preview cells of row i."""
    data = sample()
    columns, groups = statistics.uncertain_rows(data)
    assert columns == ["wing", "song"]
    for _, rows in groups:
        for row in rows:
            assert row.cells == [f"{row.number} mm", "tsip"]
    listed = statistics.uncertain_rows(sample(preview=[{"wing": f"{row} mm", "song": "tsip"} for row in range(60)]))
    assert listed == (columns, groups)


@pytest.mark.parametrize(
    ("rates", "std", "text"),
    [
        ([0.5, 0.6, 0.8], 0.01, "should still help"),
        ([0.5, 0.6, 0.65], 0.10, "may help a little"),
        ([0.5, 0.8, 0.801], 0.01, "would help little"),
        ([0.5, 0.8, 0.7], 0.01, "fell by 10.0 points, more than"),
        ([0.5, 0.8, 0.7], 0.20, "within its standard deviation"),
        ([np.nan, np.nan, 0.7], 0.20, "is unknown"),
        ([0.5, np.nan, 0.7], 0.01, "Between 50 and 200"),
    ],
)
def test_the_description_of_a_curve_uses_its_last_doubling(rates, std, text):
    """The sentence depends on the sign of the change and on whether it exceeds the standard deviation."""
    assert text in templating.describe_learning_curve(curve(rates, std=std))
    shuffled = curve(rates[::-1], train_sizes=(200, 100, 50), std=std)
    assert templating.describe_learning_curve(shuffled) == templating.describe_learning_curve(curve(rates, std=std))


def test_a_curve_over_several_doublings_is_described_by_each():
    """If the rows grow by more than a factor of 4, the change is per doubling, and one split has a standard error."""
    sizes = (1000, 64_000)
    rising = templating.describe_learning_curve(curve([0.5, 0.62], sizes), templating.describe_spread(1))
    assert "rose by 12.0 points (2.0 for each doubling), more than its binomial standard error" in rising
    assert "hardly changed (+1.2 points, 6.0 doublings)" in templating.describe_learning_curve(
        curve([0.5, 0.512], sizes)
    )


@given(st.floats(0, 1e5))
def test_times_are_within_their_rounding(value):
    """A formatted time, parsed again, equals the time to two significant digits."""
    formatted = templating.format_seconds(value).replace("\N{NO-BREAK SPACE}", " ")
    if value < 0.01:
        assert formatted == "< 0.01 s"
    else:
        number, unit = formatted.split()
        assert float(number.replace(",", "")) * {"s": 1, "min": 60}[unit] == pytest.approx(value, rel=0.0501)


# -- The first number of a report, with its name and meaning ---------------------------------------------------------


RESULT = MethodResult("CLPL", 0.8, 0.02, 0.7, 0.03, 1.0, None, None, None, ())
EXACT = CandidateSets.from_sets([["a"], ["b"], None])
PARTIAL = CandidateSets.from_sets([["a"], ["a", "b"], ["b", "c"]])
ESTIMATE = AccuracyEstimate(0.9, (0.85, 0.94), 0.12, (0.08, 0.17), 500)
VAGUE = ESTIMATE._replace(interval=(0.4, 0.91))


def test_the_best_known_rate_is_the_headline():
    """The accuracy by true labels comes first, then its estimate, the expected accuracy, and the covering rate."""
    known, few = (
        replace(RESULT, accuracy=0.88, accuracy_std=0.01, expected_accuracy=0.86, folds=(FoldResult(n_true=n),))
        for n in (50, 3)
    )
    compared = replace(RESULT, expected_accuracy=0.86)
    for result, estimate, measure, value in (
        (known, ESTIMATE, "accuracy", 0.88),
        (few, ESTIMATE, "estimated accuracy", 0.9),
        (compared, ESTIMATE, "estimated accuracy", 0.9),
        (compared, None, "expected accuracy", 0.86),
        (RESULT, None, "covering rate", 0.8),
        (compared, VAGUE, "covering rate", 0.8),
    ):
        headline = choose_headline(result, estimate, PARTIAL)
        assert (headline.measure, headline.value) == (measure, value)
    assert choose_headline(RESULT, ESTIMATE, PARTIAL).interval == (0.85, 0.94)


@pytest.mark.parametrize("is_exact", [True, False])
def test_the_meaning_names_the_assumptions(is_exact):
    """The sentence has the errors that are not recognized, the direction of an error, and new groups; no rate."""
    candidates = EXACT if is_exact else PARTIAL
    headline = choose_headline(RESULT, ESTIMATE, candidates, is_grouped=True)
    assert "Wrong labels that the features predict are not recognized" in headline.meaning
    assert "%" not in headline.meaning
    assert headline.meaning.startswith("of rows of new groups")
    meaning = choose_headline(RESULT, None, candidates).meaning
    assert ("equal the label" in meaning) == is_exact
    assert ("lower if wrong predictions" in meaning) != is_exact
    assert "higher if labels are wrong" in meaning
    assert "too few held-out rows for an estimate" in choose_headline(RESULT, VAGUE, candidates).meaning
