"""The estimate of quality counts rows drawn at random, and nothing else."""

import numpy as np
import pytest
from scipy.optimize import brentq

from oneof.labeling.answer_state import AnswerState
from oneof.labeling.answer_log import Entry
from oneof.labeling.quality import WINDOW, estimate, collect_checks, wilson


def ledger_of(*entries):
    ledger = AnswerState()
    for number, (row, kind, labels, more) in enumerate(entries, 1):
        ledger.add(Entry(str(number), "Ann", row, kind, labels, number=number, **more))
    return ledger


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (10, 10), (49, 50)])
def test_the_interval_holds_the_probabilities_that_are_not_refuted(k, n):
    """Its ends solve |k/n - p| = z sqrt(p (1 - p) / n)."""
    z = 1.959963984540054

    def off(p):
        return abs(k / n - p) - z * np.sqrt(p * (1 - p) / n)

    low, high = wilson(k, n)
    assert low == pytest.approx(0 if k == 0 else brentq(off, 1e-9, k / n - 1e-9), abs=1e-6)
    assert high == pytest.approx(1 if k == n else brentq(off, k / n + 1e-9, 1 - 1e-9), abs=1e-6)


def test_only_checks_count():
    """Not rows that were asked for being hard, nor checks without a guess, without an answer, skipped or taken back."""
    check, query = {"purpose": "check", "guess": 1}, {"purpose": "query", "guess": 1}
    ledger = ledger_of(
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
    assert collect_checks(ledger, 3) == [(2, True, True), (3, False, False), (4, True, False)]
    found = estimate(collect_checks(ledger, 3))
    assert (found.n_checks, found.n_covered, found.n_exact, found.rate) == (3, 2, 1, 2 / 3)


def test_a_corrected_answer_counts_as_corrected():
    check = {"purpose": "check", "guess": 1}
    ledger = ledger_of((0, "one of", (0,), check), (0, "one of", (1,), {"purpose": "free", "guess": 0}))
    assert collect_checks(ledger, 3) == [(1, True, True)]


def test_the_estimate_is_of_the_latest_checks():
    """What the model guessed long ago says nothing of it now."""
    checks = [(n, n >= 30, True) for n in range(30 + WINDOW)]
    assert estimate(checks).rate == 1
    assert estimate([]).rate is None
    assert (estimate([]).low, estimate([]).high) == (0, 1)
