"""Agreement and progress of the annotators as the page shows them, as JSON types.

The lead of a team sees the statistics of all annotators, and the answers to the rows in dispute. Annotators see their
own progress, without an accuracy, and the rows in dispute. They see the others' answers to a row that they may still
be asked, without names, only if they open it with these answers shown, which the log records.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.labeling.annotators.agreement import MIN_SHARED_ROWS, Agreement, Conflict
from oneof.labeling.annotators.pairs import PairwiseAgreement
from oneof.labeling.annotators.progress import to_dict
from oneof.labeling.answers.log import INFORMED, Entry
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.scheduler import Question
from oneof.labeling.session import LabelingSession

MAX_MATRIX_ANNOTATORS, MAX_CONFUSED = 10, 10
"""Numbers of annotators of the matrix, those with the most shared rows, and of pairs of confused classes."""


def agreement_to_dict(
    session: LabelingSession, annotator: str, summary: Callable[[int], str], *, is_lead: bool
) -> dict[str, Any]:
    """Return the agreement of the annotators, as one of them or the lead may see it."""
    agreement = session.agreement(None if is_lead else annotator)
    progress = [to_dict(one) for one in session.progress()]
    return {
        "statistics": _statistics_to_dict(agreement) if is_lead else None,
        "n_shared": agreement.n_shared,
        "n_conflicts": agreement.n_conflicts,
        "n_hidden": agreement.n_hidden,
        "conflicts": [
            {"row": conflict.row, "summary": summary(conflict.row), "n_answers": len(conflict.answers)}
            | (_opinions(conflict, len(session.classes)) if is_lead else {"label": None, "answers": []})
            for conflict in agreement.conflicts
        ],
        "progress": progress if is_lead else [one | {"gold": None} for one in progress if one["name"] == annotator],
    }


def others_to_dict(session: LabelingSession, question: Question, *, is_lead: bool) -> list[dict[str, Any]]:
    """Return the current answers of the others to the row of a question, if they are shown; names only for the lead."""
    if question.purpose != INFORMED:
        return []
    with session.answers.lock:
        answers = dict(session.answers.state.answers(question.row))
    others = {name: entry for name, entry in sorted(answers.items()) if name != question.annotator}
    if is_lead:
        return [{"annotator": name} | answer_to_dict(entry) for name, entry in others.items()]
    anonymous = sorted(others.values(), key=lambda entry: (entry.kind, entry.labels))  # not in the order of the names
    return [{"annotator": None} | answer_to_dict(entry) for entry in anonymous]


def answer_to_dict(entry: Entry) -> dict[str, Any]:
    """Return an answer with its degree of certainty, as JSON types."""
    return {"kind": entry.kind, "labels": list(entry.labels), "degree": entry.degree}


def _statistics_to_dict(agreement: Agreement) -> dict[str, Any]:
    """Return the statistics from which the annotators can be compared."""
    return {
        "alpha": agreement.alpha,
        "alpha_interval": agreement.alpha_interval,
        "masi_alpha": agreement.masi_alpha,
        "masi_interval": agreement.masi_interval,
        "annotators": [estimate._asdict() for estimate in agreement.annotators],
        "copies": [list(group) for group in agreement.copies],
        "min_shared_rows": MIN_SHARED_ROWS,
        "pairs": _pairs_to_dict(agreement.pairs),
        "confused": [one._asdict() for one in agreement.pairs.confused[:MAX_CONFUSED]],
    }


def _pairs_to_dict(pairs: PairwiseAgreement) -> dict[str, Any]:
    n_shared = pairs.n_shared.sum(axis=1) - np.diag(pairs.n_shared)
    listed = np.sort(np.argsort(-n_shared, kind="stable")[:MAX_MATRIX_ANNOTATORS])
    matrices = {name: getattr(pairs, name)[np.ix_(listed, listed)] for name in ("n_shared", "n_equal", "n_compatible")}
    return {
        "names": [pairs.names[j] for j in listed],
        "n_hidden": len(pairs.names) - len(listed),
    } | {name: matrix.tolist() for name, matrix in matrices.items()}


def _opinions(conflict: Conflict, n_classes: int) -> dict[str, Any]:
    return {
        "label": conflict.label,
        "probability": conflict.probability,
        "answers": [
            {"annotator": name}
            | answer_to_dict(entry)
            | {"differs": conflict.label not in allowed_classes(entry, n_classes)}
            for name, entry in sorted(conflict.answers.items())
        ],
    }
