"""Work of each annotator: number and rate of the answers, fractions of sets, "don't know" and skips."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from oneof.labeling.annotators.gold import GoldAccuracy
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState, allowed_classes

RATE_SECONDS = 3600.0
"""The rate of answers is that of this time."""
MIN_RATE_SECONDS = 60.0
"""Minimum time between the first of these answers and now for a rate."""
NO_GOLD = GoldAccuracy(0, 0, 0.0, 1.0)


class AnnotatorProgress(NamedTuple):
    """Work of an annotator.

    Attributes
    ----------
    name : str
    n_answers : int
        Number of rows with an answer of the annotator, including "don't know".
    n_sets, n_unknown : int
        Number of these that are a set of several labels, and that are "don't know".
    n_skipped : int
        Number of rows that the annotator has skipped, and not answered afterwards.
    rate : float or None
        Answers per hour: those of the last hour, divided by the time since the first of them. None if there are
        fewer than two, or if this time is less than a minute.
    seconds_since_last : float or None
        Time since the last answer; None if all answers are imported.
    gold : GoldAccuracy
    """

    name: str
    n_answers: int
    n_sets: int
    n_unknown: int
    n_skipped: int
    rate: float | None
    seconds_since_last: float | None
    gold: GoldAccuracy


def measure_progress(
    state: AnswerState, gold: Mapping[str, GoldAccuracy], n_classes: int, now: float
) -> tuple[AnnotatorProgress, ...]:
    """Return the work of each annotator with an answer or a skip, by name.

    Parameters
    ----------
    state : AnswerState
    gold : dict of annotator to GoldAccuracy
    n_classes : int
    now : float
        Seconds since 1970.
    """
    current: dict[str, list[Entry]] = defaultdict(list)
    for answers in state.all_answers().values():
        for name, entry in answers.items():
            current[name].append(entry)
    times: dict[str, list[float]] = defaultdict(list)
    names = set(current)
    for entry in state.entries.values():
        if entry.kind != "undo" and not state.is_undone(entry.number):
            names.add(entry.annotator)
            if entry.kind != "skip" and entry.purpose != "import":
                times[entry.annotator].append(entry.at)
    return tuple(
        AnnotatorProgress(
            name=name,
            n_answers=len(current[name]),
            n_sets=sum(len(allowed_classes(entry, n_classes)) > 1 for entry in current[name]),
            n_unknown=sum(not allowed_classes(entry, n_classes) for entry in current[name]),
            n_skipped=len(set(state.skipped(name)) - set(state.answered_by(name))),
            rate=answer_rate(times[name], now),
            seconds_since_last=max(now - max(times[name]), 0.0) if times[name] else None,
            gold=gold.get(name, NO_GOLD),
        )
        for name in sorted(names)
    )


def to_dict(progress: AnnotatorProgress) -> dict[str, Any]:
    """Return the work of an annotator as JSON types; ``"gold"`` is None without an answer to a gold row."""
    gold = progress.gold._asdict() | {"rate": progress.gold.rate} if progress.gold.n_rows else None
    return progress._asdict() | {"gold": gold}


def answer_rate(times: list[float], now: float) -> float | None:
    """Return the answers per hour since the first answer of the last hour.

    Examples
    --------
    >>> answer_rate([0.0, 5000.0, 5600.0, 6200.0], now=6800.0)
    6.0
    """
    recent = [at for at in times if at > now - RATE_SECONDS]
    if len(recent) < 2 or now - min(recent) < MIN_RATE_SECONDS:
        return None
    return len(recent) / (now - min(recent)) * 3600.0
