"""Current answers by row and annotator, and their aggregation to candidate sets."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, islice

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import ConflictError
from oneof.labeling.answers.log import INFORMED, Entry
from oneof.typing import Evidence, Labels


class AnswerState:
    """Current answers after a sequence of log entries.

    An answer is current until its annotator gives another one for the row or undoes it. After an undo, the previous
    answer is current again.

    Parameters
    ----------
    excluded : collection of str, optional
        Annotators whose entries are ignored.

    Attributes
    ----------
    last : int
        Number of the last added entry.
    entries : dict of int to Entry
        All entries by number.
    has_degrees : bool
        Whether an entry states a degree of certainty.
    """

    def __init__(self, excluded: Collection[str] = ()) -> None:
        self.last = 0
        self._excluded = frozenset(excluded)
        self.has_degrees = False
        self.entries: dict[int, Entry] = {}
        self._stacks: dict[tuple[int, str], list[Entry]] = defaultdict(list)
        self._versions: dict[tuple[int, str], int] = {}
        self._answers: dict[int, dict[str, Entry]] = defaultdict(dict)
        self._undone: set[int] = set()
        self._n_answers: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        self.last = entry.number
        if entry.annotator in self._excluded:
            return
        pair = entry.row, entry.annotator
        self.entries[entry.number] = entry
        self.has_degrees |= entry.degree is not None
        self._versions[pair] = entry.number
        if entry.undoes is not None:
            self._undone.add(entry.undoes)
            self._stacks[pair] = [earlier for earlier in self._stacks[pair] if earlier.number != entry.undoes]
        else:
            self._stacks[pair].append(entry)
        answers, standing = self._answers[entry.row], [one for one in self._stacks[pair] if one.kind != "skip"]
        self._n_answers[entry.annotator] += bool(standing) - (entry.annotator in answers)
        answers.pop(entry.annotator, None)
        if standing:
            answers[entry.annotator] = standing[-1]

    def answers(self, row: int) -> dict[str, Entry]:
        """Return the current answers to a row by annotator; a skip is not an answer."""
        return self._answers.get(row, {})

    def all_answers(self) -> dict[int, dict[str, Entry]]:
        """Return a copy of the current answers by row and annotator."""
        return {row: dict(answers) for row, answers in self._answers.items()}

    def first_answers(self) -> dict[int, dict[str, Entry]]:
        """Return the first answer of each annotator by row, as far as it was given without knowing other answers.

        A later answer is a correction, or a second look at a row in dispute. An annotator to whom the answers of the
        others were shown before the first answer has none.
        """
        first: dict[int, dict[str, Entry]] = defaultdict(dict)
        for (row, name), stack in self._stacks.items():
            answered = [entry for entry in stack if entry.kind != "skip"]
            if answered and answered[0].purpose != INFORMED:
                first[row][name] = answered[0]
        return dict(first)

    def annotators(self) -> list[str]:
        """Return the names of the annotators with a current answer."""
        return sorted(name for name, n in self._n_answers.items() if n)

    def version(self, row: int, annotator: str) -> int:
        """Return the number of the last entry of a row and annotator, 0 if there is none."""
        return self._versions.get((row, annotator), 0)

    def answered_by(self, annotator: str) -> list[int]:
        """Return the rows that an annotator has answered."""
        return [row for row, answers in self._answers.items() if annotator in answers]

    def skipped(self, annotator: str) -> list[int]:
        """Return the rows that an annotator has skipped."""
        stacks = ((row, stack) for (row, name), stack in self._stacks.items() if name == annotator)
        return [row for row, stack in stacks if stack and stack[-1].kind == "skip"]

    def standing(self, annotator: str | None = None) -> Iterator[Entry]:
        """Yield the entries of an annotator, or of all, without undone entries and undos; the latest is the first."""
        for entry in reversed(self.entries.values()):
            if annotator in (None, entry.annotator) and entry.kind != "undo" and entry.number not in self._undone:
                yield entry

    def last_undoable(self, annotator: str, number: int | None = None) -> Entry | None:
        """Return the entry to undo: the annotator's last one that is not undone, or the entry of a number.

        Raises
        ------
        ConflictError
            If the entry of this number is from another annotator, or is already undone.
        """
        if number is not None:
            entry = self.entries.get(number)
            if entry is None or entry.annotator != annotator or entry.kind == "undo":
                raise ConflictError(f"`number` must be the number of an answer of {annotator!r}; got {number}.")
            if number in self._undone:
                raise ConflictError(f"answer {number} is already undone.")
            return entry
        return next(self.standing(annotator), None)

    def history(self, annotator: str | None, n: int) -> list[Entry]:
        """Return the last `n` entries, latest first, without undone entries, undos and imports."""
        return list(islice((entry for entry in self.standing(annotator) if entry.purpose != "import"), n))


def allowed_classes(entry: Entry, n_classes: int) -> tuple[int, ...]:
    """Return the classes that an answer leaves possible; an empty tuple for an uninformative answer."""
    if entry.kind == "one of":
        return entry.labels if len(entry.labels) < n_classes else ()
    if entry.kind == "none of":
        return tuple(k for k in range(n_classes) if k not in entry.labels)
    return ()


def informative_sets(answers: Mapping[str, Entry], n_classes: int) -> dict[str, tuple[int, ...]]:
    """Return the classes that each informative answer allows, by annotator."""
    allowed = {name: allowed_classes(entry, n_classes) for name, entry in answers.items()}
    return {name: classes for name, classes in allowed.items() if classes}


def have_conflict(sets: Collection[Sequence[int]]) -> bool:
    """Return whether two of the sets have no class in common."""
    return any(set(one).isdisjoint(other) for one, other in combinations(sets, 2))


def combine(
    answered: Mapping[int, Mapping[str, Entry]],
    start: Evidence,
    classes: Labels,
    *,
    min_votes: int = 1,
    top_k: int | None = 1,
) -> CandidateSets:
    """Combine the current answers by `CandidateSets.from_annotations`.

    An answer is a vote for each class that it leaves possible. With ``top_k=1`` the candidates of a row are the classes
    with the most votes. If the answers have common classes, this is their intersection. Otherwise it is the classes
    that most annotators consider possible.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
    start : ndarray of shape (n_samples, n_classes)
        Evidence of rows without an answer: a mask of the candidates, or weights.
    classes : ndarray of shape (n_classes,)
    min_votes, top_k
        As for `CandidateSets.from_annotations`.

    Returns
    -------
    CandidateSets
    """
    evidence = start.copy()
    rows: list[int] = []
    votes: list[list[int]] = []
    for row, answers in answered.items():
        row_votes = [k for entry in answers.values() for k in allowed_classes(entry, len(classes))]
        if row_votes:
            rows.append(row)
            votes.append(row_votes)
    n_columns = max(map(len, votes), default=0)
    if rows and n_columns >= min_votes:  # otherwise no class can have enough votes yet
        # One column per vote, not per annotator: an answer of several classes is several votes.
        table = np.full((len(rows), n_columns), None, dtype=object)
        for line, row_votes in zip(table, votes, strict=True):
            line[: len(row_votes)] = row_votes
        combined = CandidateSets.from_annotations(
            table, classes=np.arange(len(classes)), min_votes=min_votes, top_k=top_k
        )
        informative = ~combined.is_unlabeled
        evidence[np.array(rows)[informative]] = combined.mask[informative]
    return from_evidence(evidence, classes)


def from_evidence(evidence: Evidence, classes: Labels) -> CandidateSets:
    """Return the candidate sets of a mask, or of weights."""
    if evidence.dtype == bool:
        return CandidateSets(evidence, classes)
    return CandidateSets.from_weights(evidence, classes)
