"""Corrected labels of the training rows of each fold, such as those of an audit, in place of the given ones."""

from collections.abc import Callable, Sequence

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.typing import Ints

Correction = Callable[[Ints], CandidateSets]
"""``correct(rows)`` returns the candidate sets to which the methods are fitted on these training rows."""


class TrainingSets:
    """Candidate sets of the training rows of each fold, corrected when the first method needs them.

    Parameters
    ----------
    candidates : CandidateSets
        The sets of all rows.
    rows : sequence of ndarray of int
        The training rows of each fold.
    correct : callable or None
        None leaves all sets as they are.
    """

    def __init__(self, candidates: CandidateSets, rows: Sequence[Ints], correct: Correction | None) -> None:
        self._candidates, self._rows, self._correct = candidates, rows, correct
        self._corrected: dict[int, CandidateSets] = {}

    def __call__(self, fold: int) -> CandidateSets | None:
        """Return the corrected sets of the training rows of a fold; None without a correction."""
        if self._correct is None:
            return None
        if fold not in self._corrected:
            self._corrected[fold] = correct_rows(self._correct, self._rows[fold], self._candidates)
        return self._corrected[fold]


def correct_rows(correct: Correction, rows: Ints, candidates: CandidateSets) -> CandidateSets:
    """Return the corrected sets of some rows; raise if their number or their classes differ from the given ones."""
    corrected = correct(rows)
    if not isinstance(corrected, CandidateSets):
        raise InputError(
            f"`correct` must return a CandidateSets, such as `issues.corrected()`; got {type(corrected).__name__}."
        )
    if len(corrected) != len(rows):
        raise InputError(f"`correct` must return one set for each of its {len(rows)} rows; got {len(corrected)} sets.")
    if corrected.classes.tolist() != candidates.classes.tolist():
        raise InputError(
            "`correct` must return sets over the classes of `y`. Index a CandidateSets, `y[rows]`, which keeps them."
        )
    return corrected
