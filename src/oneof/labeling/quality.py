"""Estimated accuracy of the model, from rows drawn at random that were answered after the model's prediction.

Rows selected by the strategy are the hardest ones, and predicted probabilities are not an independent estimate. Some
of the questions are therefore rows drawn at random from the remaining rows. The prediction for such a row is stored
before the row is answered. The fraction of these predictions that the answers allow estimates the rate on all remaining
rows. The estimate is conservative, since the model has been fitted to more answers afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from oneof.labeling.answers.state import AnswerState, allowed_classes

WINDOW = 50
"""Number of latest checks in the estimate, since the model changes."""
_Z = 1.959963984540054  # 0.975 quantile of the normal distribution


class Check(NamedTuple):
    """A random row with a prediction that was stored before the row was answered.

    Attributes
    ----------
    n_answers : int
        Number of answers of the session so far.
    is_covered : bool
        Whether the answer allows the prediction.
    n_allowed, n_classes : int
        Number of classes that the answer allows, and of all classes.
    """

    n_answers: int
    is_covered: bool
    n_allowed: int
    n_classes: int


@dataclass(frozen=True)
class Estimate:
    """Fraction of predictions for random rows that the answers allow.

    Attributes
    ----------
    n_checks : int
        Number of checks, at most the last 50.
    n_covered : int
        Number of checks whose answer allows the prediction.
    n_exact : int
        Number of checks whose answer has one class. If it is less than `n_checks`, the rate is only an upper bound of
        the accuracy.
    low, high : float
        Bounds of Wilson's 95 % interval, in [0, 1]; 0 and 1 without checks.
    rate : float or None
        Fraction of covered checks; None without checks.
    chance : float or None
        Fraction that labels drawn at random would cover on average; None without checks.
    """

    n_checks: int
    n_covered: int
    n_exact: int
    low: float
    high: float
    rate: float | None
    chance: float | None


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a probability.

    Parameters
    ----------
    successes, n : int

    Returns
    -------
    tuple of float
        (0, 1) if n is 0.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    if n == 0:
        return 0.0, 1.0
    rate, correction = successes / n, _Z**2 / n
    center = (rate + correction / 2) / (1 + correction)
    half = _Z / (1 + correction) * np.sqrt(rate * (1 - rate) / n + correction / (4 * n))
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def collect_checks(state: AnswerState, n_classes: int) -> list[Check]:
    """Return the checks in order.

    Undone checks, "don't know" answers and checks without a model do not count. A corrected answer counts as corrected.
    """
    checks = []
    answers = [entry for entry in state.standing() if entry.kind != "skip"][::-1]
    for n_answers, entry in enumerate(answers, 1):
        if entry.purpose == "check" and entry.guess is not None:
            allowed = allowed_classes(state.answers(entry.row).get(entry.annotator, entry), n_classes)
            if allowed:
                checks.append(Check(n_answers, entry.guess in allowed, len(allowed), n_classes))
    return checks


def estimate(checks: Sequence[Check]) -> Estimate:
    """Estimate the covering rate of the model from the last checks."""
    last = checks[-WINDOW:]
    n, n_covered, n_exact = len(last), sum(one.is_covered for one in last), sum(one.n_allowed == 1 for one in last)
    rate, chance = (n_covered / n, sum(one.n_allowed / one.n_classes for one in last) / n) if n else (None, None)
    return Estimate(n, n_covered, n_exact, *wilson(n_covered, n), rate, chance)
