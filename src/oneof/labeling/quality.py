"""Estimated accuracy of the model, from rows drawn at random that were answered after the model's prediction.

Rows selected by the strategy are the hardest ones, and predicted probabilities are not an independent estimate. Some
of the questions are therefore rows drawn at random from the remaining rows. The prediction for such a row is stored
before the row is answered. The fraction of these predictions that the answers allow estimates the rate on all remaining
rows. The estimate is conservative, since the model has been fitted to more answers afterwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oneof.labeling.answers.state import AnswerState, allowed_classes

WINDOW = 50
"""Number of latest checks in the estimate, since the model changes."""
_Z = 1.959963984540054  # 0.975 quantile of the normal distribution


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
    """

    n_checks: int
    n_covered: int
    n_exact: int
    low: float
    high: float

    @property
    def rate(self) -> float | None:
        """Fraction of covered checks; None without checks."""
        return self.n_covered / self.n_checks if self.n_checks else None


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


def collect_checks(state: AnswerState, n_classes: int) -> list[tuple[int, bool, bool]]:
    """Return for each check, in order, the number of answers so far, whether covered, and whether exact.

    Undone checks, "don't know" answers and checks without a model do not count. A corrected answer counts as corrected.
    """
    checks = []
    n_answers = 0
    for entry in state.entries.values():
        if entry.kind in ("undo", "skip") or state.is_undone(entry.number):
            continue
        n_answers += 1
        if entry.purpose == "check" and entry.guess is not None:
            allowed = allowed_classes(state.answers(entry.row).get(entry.annotator, entry), n_classes)
            if allowed:
                checks.append((n_answers, entry.guess in allowed, len(allowed) == 1))
    return checks


def estimate(checks: Iterable[tuple[int, bool, bool]]) -> Estimate:
    """Estimate the covering rate of the model from the last checks.

    Parameters
    ----------
    checks : iterable of (number of answers, covered, exact)
        Result of `collect_checks`.
    """
    last = list(checks)[-WINDOW:]
    n_covered = sum(covered for _, covered, _ in last)
    return Estimate(len(last), n_covered, sum(exact for _, _, exact in last), *wilson(n_covered, len(last)))
