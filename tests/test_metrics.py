"""Metrics with and without true labels."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from oneof import CandidateSets
from oneof.errors import InputError, LabelError
from oneof.metrics import (
    ambiguous_zero_one_loss,
    approximated_accuracy,
    covering_rate,
    exact_accuracy,
    paired_p_values,
    precision_recall_breakeven_point,
    win_tie_loss,
)
from tests.oracles.break_even import break_even

seeds = st.integers(0, 2**32 - 1)
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def draw(seed, *, full=True):
    """Return candidate sets, predictions, and matching probabilities with ties and zeros."""
    rng = np.random.default_rng(seed)
    n, K = rng.integers(2, 15), rng.integers(3, 6)
    mask = rng.random((n, K)) < rng.choice([0.1, 0.4])
    mask[np.arange(n), rng.integers(0, K, n)] = True
    filled = mask.all(axis=1)
    mask[filled, 0] = False
    if full:
        mask[rng.random(n) < 0.3] = True
        mask[0] = np.arange(K) == 1  # at least one row is labeled
    proba = rng.integers(0, 4, (n, K)).astype(float)
    proba[:, 0] += proba.sum(axis=1) == 0
    proba /= proba.sum(axis=1, keepdims=True)
    candidates = CandidateSets(mask, NAMES[:K])
    return candidates, candidates.classes[proba.argmax(axis=1)], proba


def metrics_of(predicted, proba):
    """Return pairs of a metric and the predictions or probabilities that it compares with the sets."""
    return (covering_rate, predicted), (ambiguous_zero_one_loss, predicted), (approximated_accuracy, proba)


@given(seed=seeds)
@settings(deadline=None)
def test_order_and_repetition_of_rows(seed):
    """The order of rows does not matter, and an integer weight is a repetition."""
    candidates, predicted, proba = draw(seed)
    rng = np.random.default_rng(seed)
    order, times = rng.permutation(len(predicted)), rng.integers(1, 4, len(predicted))
    again = np.repeat(np.arange(len(predicted)), times)
    for metric, values in metrics_of(predicted, proba):
        expected = pytest.approx(metric(candidates, values))
        assert metric(candidates[order], values[order]) == expected
        repeated = metric(candidates[again], values[again])
        assert metric(candidates, values, sample_weight=times) == pytest.approx(repeated)


@given(seed=seeds)
@settings(deadline=None)
def test_every_form_of_y_has_equal_scores(seed):
    """Sets of names, CSR and dense indicators, DataFrames and CandidateSets give equal rates."""
    candidates, predicted, proba = draw(seed)
    classes = candidates.classes
    for y in (
        candidates.to_sets(),
        [None if full else sorted(names) for full, names in zip(candidates.is_unlabeled, candidates.to_sets())],
        candidates.to_indicator(),
        candidates.to_indicator(sparse=True),
        sp.csc_array(candidates.to_indicator()),
        pl.DataFrame(candidates.to_indicator(), schema=classes.tolist()),
    ):
        for metric, values in metrics_of(predicted, proba):
            assert metric(y, values, classes=classes.tolist()) == metric(candidates, values)


def test_exact_accuracy_excludes_partial_rows():
    """Only exact rows count; without an exact row an error is raised."""
    y, predicted = [["a"], ["a", "b"], ["b"], None, ["c"]], ["a", "c", "a", "a", "c"]
    assert exact_accuracy(y, predicted) == pytest.approx(2 / 3)
    with pytest.raises(LabelError, match="must have an exact row"):
        exact_accuracy([["a", "b"], ["b", "c"]], ["a", "b"])


def test_unknown_labels_are_never_covered():
    """A label of y outside the classes has probability 0; its row counts as wrong and raises no error."""
    y, classes = ["a", "b", "new"], np.array(["a", "b"])
    assert covering_rate(y, ["a", "b", "b"], classes=classes) == pytest.approx(2 / 3)
    assert approximated_accuracy(y, [[1, 0], [0.2, 0.8], [0.5, 0.5]], classes=classes) == pytest.approx(2 / 3)
    sets = CandidateSets.from_sets([["a", "new"], ["b"]], classes=["a", "b", "new"])
    assert approximated_accuracy(sets, [[0.6, 0.4], [0.1, 0.9]], classes=["b", "a"]) == 0.0
    assert approximated_accuracy(sets, [[0.6, 0.4], [0.1, 0.9]], classes=["a", "b"]) == 1.0
    assert approximated_accuracy(sets, [[0.6, 0.4], [0.1, 0.9]], classes=iter("ab")) == 1.0, "classes of any form"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: covering_rate([None, "a", "b"], ["a", "a", "a"], sample_weight=[1, 0, 0]),
            "must have a labeled row with weight above 0",
        ),
        (
            lambda: ambiguous_zero_one_loss(["a", "b"], ["a", "a"], sample_weight=[0, 0]),
            "must have a labeled row with weight above 0",
        ),
        (lambda: covering_rate(["a", "b"], ["a"]), r"`y_pred` must have shape \(2,\).*got \(1,\)"),
        (lambda: covering_rate(["a", "b"], ["a", "b"], sample_weight=[1]), "`sample_weight` must have shape"),
        (
            lambda: covering_rate(["a", "b"], ["a", "b"], sample_weight=[1, -1]),
            "row 1: `sample_weight` must be finite and at least 0; got -1",
        ),
        (lambda: covering_rate(np.eye(3, dtype=int), [0, 1, 2], classes=["a", "b"]), "3 columns"),
        (lambda: covering_rate(CandidateSets.from_labels(["a", "b"]), [0, 1], classes=[0, 1]), "same classes"),
        (lambda: approximated_accuracy(["a", "b"], [[1.0], [0.0]]), "`proba` must have shape"),
        (lambda: approximated_accuracy(["a", "b"], [[1.0, 0.0], [2.0, -1.0]]), "row 1: `proba` must be nonnegative"),
        (lambda: approximated_accuracy(["a", "b"], [[1.0, 0.0], [np.nan, 1.0]]), "row 1: `proba` must be nonnegative"),
        (lambda: approximated_accuracy(["a", "b"], np.eye(2), classes=iter("a")), r"must have shape \(2, 1\)"),
        (lambda: precision_recall_breakeven_point([0, 1], [0.1]), "must have the same shape"),
        (lambda: precision_recall_breakeven_point([0, 2], [0.1, 0.2]), "must be 1 for positives and 0 otherwise"),
        (lambda: precision_recall_breakeven_point([0, 1], [0.1, np.nan]), "NaN in row 1"),
        (lambda: win_tie_loss([1.0], [2.0]), "`ours` and `theirs` must have the same shape"),
        (lambda: win_tie_loss([1.0, np.nan], [2.0, 3.0]), "scores must be finite"),
    ],
)
def test_invalid_inputs_raise(call, message):
    """Errors state the cause and the place."""
    with pytest.raises(InputError, match=message):
        call()


@given(seed=seeds)
@settings(deadline=None)
def test_break_even_equals_the_oracle(seed):
    """With ties and infinite scores, each column has the oracle's fraction; a column without positives has NaN."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    truth = rng.random((n, 3)) < rng.random(3)
    truth[:, 0], truth[rng.integers(n), 1:] = False, True
    scores = rng.integers(0, rng.integers(1, 12), (n, 3)).astype(float)
    scores[scores == 3] = np.inf
    scores[scores == 5] = -np.inf
    values = precision_recall_breakeven_point(truth, scores)
    assert np.isnan(values[0])
    for k in (1, 2):
        assert values[k] == pytest.approx(float(break_even(truth[:, k], scores[:, k])), abs=1e-15)
        assert precision_recall_breakeven_point(truth[:, k], scores[:, k]) == values[k]


@pytest.mark.parametrize("ratio", [0.0, 0.25])
def test_win_tie_loss_is_the_corrected_test_of_nadeau_and_bengio(ratio):
    """The statistic is mean / sqrt((1/J + ratio) s^2); 0 gives scipy's paired t-test; constants are significant."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.5, 1, (40, 10)), rng.normal(0, 1, (40, 10))
    difference = ours - theirs
    t = difference.mean(axis=1) / np.sqrt((1 / 10 + ratio) * difference.var(axis=1, ddof=1))
    p = stats.ttest_rel(ours, theirs, axis=1).pvalue if ratio == 0 else 2 * stats.t.sf(np.abs(t), 9)
    np.testing.assert_allclose(paired_p_values(ours, theirs, test_train_ratio=ratio), p)
    for alpha in (0.05, 0.3):
        wins, losses = ((p < alpha) & (t > 0)).sum(), ((p < alpha) & (t < 0)).sum()
        result = win_tie_loss(ours, theirs, alpha=alpha, test_train_ratio=ratio)
        assert result == (wins, 40 - wins - losses, losses)
    assert result != win_tie_loss(ours, theirs, alpha=0.05, test_train_ratio=ratio)
    np.testing.assert_array_equal(paired_p_values([[0.1, 0.2], [0.3, 0.5]], [[0.0, 0.1], [0.3, 0.5]]), [0.0, 1.0])
    assert win_tie_loss([0.1, 0.2, 0.3], [0.0, 0.1, 0.2]) == (1, 0, 0)


@given(seeds)
def test_metrics_of_weights_equal_literal_loops(seed):
    """Weighted rows count with the weight of the prediction, and with the posterior of the prediction."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 12)), int(rng.integers(2, 5))
    raw = rng.choice([0.0, 0.25, 0.5, 1.0], (n, K))
    raw[np.arange(n), rng.integers(0, K, n)] = 1.0
    raw[0], raw[-1] = np.arange(K) == 0, 1.0
    y = CandidateSets.from_weights(raw, NAMES[:K])
    predicted = rng.integers(0, K, n)
    proba = rng.choice([0.0, 0.2, 0.3, 1.0], (n, K))
    informative = [i for i in range(n) if len(set(raw[i].tolist())) > 1]
    labels = NAMES[predicted]
    covering = np.mean([raw[i, predicted[i]] for i in informative])
    assert covering_rate(y, labels) == pytest.approx(covering, abs=1e-12)
    loss = np.mean([1.0 - raw[i, predicted[i]] if i in informative else 0.0 for i in range(n)])
    assert ambiguous_zero_one_loss(y, labels) == pytest.approx(loss, abs=1e-12)
    exact = [raw[i, predicted[i]] for i in range(n) if np.count_nonzero(raw[i]) == 1]
    assert exact_accuracy(y, labels) == pytest.approx(np.mean(exact), abs=1e-12)
    values = []
    for i in informative:
        best, joint = proba[i].argmax(), raw[i] * proba[i]
        values.append(joint[best] / joint.sum() if joint.sum() else 0.0)
    assert approximated_accuracy(y, proba) == pytest.approx(np.mean(values), abs=1e-12)
    assert covering_rate(y, np.array(["fly"] * n)) == 0.0


def test_predictions_that_are_no_columns_of_an_indicator():
    """Names, or numbers from 1, are not columns of an indicator without names."""
    y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(InputError, match=r"`y_pred` has 'a' in row 0, but the classes of the indicator `y` are 0 to 2"):
        covering_rate(y, ["a", "b", "c"])
    with pytest.warns(UserWarning, match="Pass the names of its columns as `classes`"):
        ambiguous_zero_one_loss(y, [1, 2, 3])
    assert covering_rate(y, ["a", "b", "c"], classes=["a", "b", "c"]) == 1
