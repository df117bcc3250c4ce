"""The estimate of quality uses rows drawn at random only."""

import numpy as np
import pytest
from scipy.optimize import brentq

from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState
from oneof.labeling.quality import WINDOW, Check, collect_checks, estimate, wilson


def state_of(*entries):
    state = AnswerState()
    for number, (row, kind, labels, more) in enumerate(entries, 1):
        state.add(Entry(str(number), "Ann", row, kind, labels, number=number, **more))
    return state


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (10, 10), (49, 50)])
def test_the_interval_has_the_probabilities_that_are_not_rejected(k, n):
    """The bounds of the interval solve |k/n - p| = z sqrt(p (1 - p) / n)."""
    z = 1.959963984540054

    def excess(p):
        return abs(k / n - p) - z * np.sqrt(p * (1 - p) / n)

    low, high = wilson(k, n)
    assert low == pytest.approx(0 if k == 0 else brentq(excess, 1e-9, k / n - 1e-9), abs=1e-6)
    assert high == pytest.approx(1 if k == n else brentq(excess, k / n + 1e-9, 1 - 1e-9), abs=1e-6)


def test_only_checks_count():
    """Queries, and checks without a prediction, without an answer, skipped or undone, do not count."""
    check, query = {"purpose": "check", "guess": 1}, {"purpose": "query", "guess": 1}
    state = state_of(
        (0, "one of", (1,), query),
        (1, "one of", (1,), check),
        (2, "one of", (0, 2), check),
        (3, "none of", (0,), check),
        (4, "unknown", (), check),
        (5, "skip", (), check),
        (6, "one of", (0,), {"purpose": "check", "guess": None}),
        (7, "one of", (0,), check),
        (7, "undo", (), {"undoes": 8}),
    )
    assert collect_checks(state, 3) == [(2, True, 1, 3), (3, False, 2, 3), (4, True, 2, 3)]
    result = estimate(collect_checks(state, 3))
    assert (result.n_checks, result.n_covered, result.n_exact, result.rate) == (3, 2, 1, 2 / 3)
    assert result.chance == pytest.approx((1 + 2 + 2) / 9)


def test_a_corrected_answer_counts_as_corrected():
    """The current answer is compared with the prediction before the first answer."""
    check = {"purpose": "check", "guess": 1}
    state = state_of((0, "one of", (0,), check), (0, "one of", (1,), {"purpose": "free", "guess": 0}))
    assert collect_checks(state, 3) == [(1, True, 1, 3)]


def test_the_estimate_uses_the_latest_checks():
    """Checks before the window do not change the estimate."""
    checks = [Check(n, n >= 30, 1, 3) for n in range(30 + WINDOW)]
    assert estimate(checks).rate == 1
    assert (estimate([]).rate, estimate([]).chance) == (None, None)
    assert (estimate([]).low, estimate([]).high) == (0, 1)
