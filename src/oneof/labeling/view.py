"""What the page is told, in the types of JSON."""

from typing import Any

import numpy as np

from oneof.labeling import quality
from oneof.labeling.asking import Question
from oneof.labeling.log import Entry
from oneof.labeling.session import LabelingSession

_NEAR, _REMEMBERED, _ABOUT, _POINTS = 3, 6, 120, 60
"""Neighbors, entries of the history with their letters, and points of the curve of quality that are shown."""


def show_question(session: LabelingSession, question: Question | None) -> dict[str, Any] | None:
    """Return a question with its row, what the model guesses, and the nearest rows with labels."""
    if question is None:
        return None
    standing = session.answers.standing(question.row, question.annotator)
    left = session.answers.start[question.row]
    return {
        "id": question.id,
        "row": question.row,
        "purpose": question.purpose,
        "score": question.score,
        "shares": None if question.shares is None else np.round(question.shares, 4).tolist(),
        "learned": question.n_told,
        "item": session.table.item(question.row),
        "possible": None if left.all() else np.flatnonzero(left).tolist(),
        "standing": None if standing is None else {"kind": standing.kind, "labels": list(standing.labels)},
        "near": [
            {
                "row": neighbor.row,
                "labels": [str(label) for label in neighbor.labels.tolist()],
                "item": session.table.item(neighbor.row),
            }
            for neighbor in session.nearest(question.row, _NEAR)
        ],
    }


def show_state(session: LabelingSession, annotator: str) -> dict[str, Any]:
    """Return how far the labeling has come, and how good the model is."""
    checks = session.answers.checks()
    found = quality.estimate(checks)
    learned = session.learned
    return {
        "rows": session.n_rows,
        "left": session.n_left(),
        "learned": 0 if learned is None else learned.n_told,
        "trouble": session.trouble,
        "estimate": {
            "checks": found.n_checks,
            "covered": found.n_covered,
            "exact": found.n_exact,
            "rate": found.rate,
            "low": found.low,
            "high": found.high,
        },
        "curve": _curve(checks),
        "history": [_show_entry(session, entry) for entry in session.answers.history(annotator, _REMEMBERED)],
    }


def _curve(checks: list[tuple[int, bool, bool]]) -> list[dict[str, float | int | None]]:
    """Return the estimate as it was after each check, thinned out where there are many."""
    step = -(-len(checks) // _POINTS) or 1
    ends = list(range(len(checks), 0, -step))[::-1]
    points = []
    for end in ends:
        then = quality.estimate(checks[max(0, end - quality.WINDOW) : end])
        points.append({"answers": checks[end - 1][0], "rate": then.rate, "low": then.low, "high": then.high})
    return points


def _show_entry(session: LabelingSession, entry: Entry) -> dict[str, Any]:
    item = session.table.item(entry.row)
    return {
        "number": entry.number,
        "row": entry.row,
        "kind": entry.kind,
        "labels": list(entry.labels),
        "about": (item.get("text") or ", ".join([cell for _, cell in item.get("cells", []) if cell][:3]))[:_ABOUT],
    }
