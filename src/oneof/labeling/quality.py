"""How good the model is, judged by rows that were drawn at random and answered after the model had guessed.

Rows that are asked because they tell most are the hardest ones, and the model's own probabilities are its own opinion:
neither judges it. So a share of the questions are rows drawn at random from those without an answer. What the model
says of such a row is kept before anybody answers; the share of these guesses that the answers allow is an estimate for
all rows that are left, and a cautious one, for the model has learned more since.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oneof.labeling.ledger import Ledger
from oneof.labeling.log import Entry
from oneof.labeling.votes import members

WINDOW = 50
"""The estimate is over so many of the latest checks, since the model changes."""
_Z = 1.959963984540054  # of an interval that holds 95 %


@dataclass(frozen=True)
class Estimate:
    """How often the model's guesses were allowed by the answers to rows drawn at random.

    Attributes
    ----------
    n_checks : int
        Checks that are counted: at most the last 50.
    n_covered : int
        Of these, how many answers allowed the guess.
    n_exact : int
        Of these, how many answers named one class. Where it is less than `n_checks`, the rate bounds the accuracy
        from above only.
    low, high : float
        The ends of Wilson's 95 % interval; 0 and 1 where there is no check.
    """

    n_checks: int
    n_covered: int
    n_exact: int
    low: float
    high: float

    @property
    def rate(self) -> float | None:
        """The share; None where there is no check."""
        return self.n_covered / self.n_checks if self.n_checks else None


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a probability.

    Parameters
    ----------
    successes, n : int

    Returns
    -------
    tuple of float
        (0, 1) where n is 0.

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
    share, spread = successes / n, _Z**2 / n
    center = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * np.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def judged(ledger: Ledger, n_classes: int) -> list[tuple[int, bool, bool]]:
    """Return of each check, in order: how many answers there were before it, whether covered, whether exact.

    Checks that were taken back, that the annotator could not answer, or before which there was no model, do not count.
    An answer that was corrected later counts as corrected.
    """
    found = []
    n_answers = 0
    for entry in ledger.entries.values():
        if entry.kind in ("undo", "skip") or ledger.is_undone(entry.number):
            continue
        n_answers += 1
        if entry.purpose == "check" and entry.guess is not None:
            left = members(_standing(ledger, entry), n_classes)
            if left:
                found.append((n_answers, entry.guess in left, len(left) == 1))
    return found


def estimate(checks: Iterable[tuple[int, bool, bool]]) -> Estimate:
    """Estimate from the last checks.

    Parameters
    ----------
    checks : iterable of (number of answers, covered, exact)
        As `judged` returns them.
    """
    last = list(checks)[-WINDOW:]
    n_covered = sum(covered for _, covered, _ in last)
    return Estimate(len(last), n_covered, sum(exact for _, _, exact in last), *wilson(n_covered, len(last)))


def _standing(ledger: Ledger, entry: Entry) -> Entry:
    return ledger.answers(entry.row).get(entry.annotator, entry)
