"""Review of rows whose labels are probably wrong: proposed labels, and progress."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.audit import LabelIssue
from oneof.errors import InputError
from oneof.labeling.answers.store import AnswerStore
from oneof.labeling.content.table import is_changed
from oneof.typing import Evidence, Labels


class ReviewSummary(NamedTuple):
    """Progress of a review.

    Attributes
    ----------
    n_flagged : int
        Number of rows to be reviewed.
    n_kept : int
        Number of these rows whose answers give the labels of the table.
    n_changed : int
        Number of these rows whose answers give other labels.
    n_unknown : int
        Number of these rows whose only answers are "don't know".
    """

    n_flagged: int
    n_kept: int
    n_changed: int
    n_unknown: int

    @property
    def n_checked(self) -> int:
        """Number of answered rows."""
        return self.n_kept + self.n_changed + self.n_unknown


class Review:
    """Rows whose labels are probably wrong, with proposed labels.

    Parameters
    ----------
    issues : sequence of LabelIssue
    start : ndarray of shape (n_samples, n_classes)
        Evidence of the labels of the table: a mask of the candidates, or weights.
    classes : ndarray of shape (n_classes,)
    """

    def __init__(self, issues: Sequence[LabelIssue], start: Evidence, classes: Labels) -> None:
        codes = {label: code for code, label in enumerate(classes.tolist())}
        self._proposals: dict[int, dict[str, Any]] = {}
        self._start = start
        for issue in issues:
            code = codes.get(issue.proposed)
            if code is None:
                raise InputError(f"`queue` has a proposal that is not a class: {issue.proposed!r} for row {issue.row}.")
            probability = float(issue.probability)
            known = probability if np.isfinite(probability) else None
            self._proposals[int(issue.row)] = {"label": code, "probability": known}

    def proposal(self, row: int) -> dict[str, Any] | None:
        """Return the code of the proposed label and the probability that the labels are wrong; None for other rows."""
        return self._proposals.get(row)

    def summary(self, answers: AnswerStore) -> ReviewSummary:
        """Return the numbers of flagged rows by their current answers."""
        evidence, state = answers.evidence(), answers.state
        checked = np.array([row for row in self._proposals if state.answers(row)], dtype=np.int64)
        known = np.array(
            [any(entry.kind != "unknown" for entry in state.answers(row).values()) for row in checked.tolist()],
            dtype=bool,
        )
        changed = is_changed(self._start[checked], evidence[checked]) & known
        n_changed, n_unknown = int(changed.sum()), int((~known).sum())
        return ReviewSummary(len(self._proposals), len(checked) - n_changed - n_unknown, n_changed, n_unknown)


def as_issues(queue: Any) -> list[LabelIssue]:
    """Return the issues of a queue; an empty list if it is not a list of issues."""
    is_list = isinstance(queue, list | tuple) and all(isinstance(entry, LabelIssue) for entry in queue)
    return list(queue) if is_list else []
