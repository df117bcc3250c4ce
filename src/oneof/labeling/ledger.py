"""What stands after all entries of the log: the answer of each annotator to each row, and what can be taken back."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from oneof.errors import ConflictError
from oneof.labeling.log import Entry


class Ledger:
    """The entries of a log, added up.

    An answer stands until its annotator gives another to the same row, or takes it back; then the one before it
    stands again, if there is one.
    """

    def __init__(self) -> None:
        self.last = 0
        """Number of the last entry that was added."""
        self.entries: dict[int, Entry] = {}
        self._stacks: dict[tuple[int, str], list[Entry]] = defaultdict(list)
        self._versions: dict[tuple[int, str], int] = {}
        self._answers: dict[int, dict[str, Entry]] = defaultdict(dict)
        self._undone: set[int] = set()

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        place = entry.row, entry.annotator
        self.last = entry.number
        self.entries[entry.number] = entry
        self._versions[place] = entry.number
        if entry.undoes is not None:
            self._undone.add(entry.undoes)
        self._stacks[place] = _stacked(self._stacks[place], entry)
        _put(self._answers[entry.row], entry.annotator, self._stacks[place])

    def after(self, entries: Iterable[Entry]) -> dict[int, dict[str, Entry]]:
        """Return the answers to the rows of the next entries as they will stand; nothing is added."""
        stacks: dict[tuple[int, str], list[Entry]] = {}
        answers: dict[int, dict[str, Entry]] = {}
        for entry in entries:
            place = entry.row, entry.annotator
            stacks[place] = _stacked(stacks.get(place, self._stacks.get(place, ())), entry)
            _put(answers.setdefault(entry.row, dict(self.answers(entry.row))), entry.annotator, stacks[place])
        return answers

    def answers(self, row: int) -> dict[str, Entry]:
        """Return the standing answers to a row by annotator; skips are none."""
        return self._answers.get(row, {})

    def version(self, row: int, annotator: str) -> int:
        """Return the number of the last entry of a row and annotator, 0 if there is none."""
        return self._versions.get((row, annotator), 0)

    def answered_by(self, annotator: str) -> list[int]:
        """Return the rows that an annotator has answered."""
        return [row for row, answers in self._answers.items() if annotator in answers]

    def skipped(self, annotator: str) -> list[int]:
        """Return the rows that an annotator has put off."""
        stacks = ((row, stack) for (row, who), stack in self._stacks.items() if who == annotator)
        return [row for row, stack in stacks if stack and stack[-1].kind == "skip"]

    def is_undone(self, number: int) -> bool:
        """Tell whether an entry was taken back."""
        return number in self._undone

    def undoable(self, annotator: str, number: int | None = None) -> Entry | None:
        """Return the entry that is to be taken back: the annotator's last that stands, or the one named.

        Raises
        ------
        ConflictError
            If the entry named is not the annotator's, or was taken back already.
        """
        if number is not None:
            entry = self.entries.get(number)
            if entry is None or entry.annotator != annotator or entry.kind == "undo":
                raise ConflictError(f"there is no answer {number} of {annotator!r} to take back.")
            if number in self._undone:
                raise ConflictError(f"answer {number} was taken back already.")
            return entry
        for entry in reversed(self.entries.values()):
            if entry.annotator == annotator and entry.kind != "undo" and entry.number not in self._undone:
                return entry
        return None

    def history(self, annotator: str | None, n: int) -> list[Entry]:
        """Return the last entries that stand, the latest first; undone ones and undos are left out."""
        found: list[Entry] = []
        for entry in reversed(self.entries.values()):
            if len(found) == n:
                break
            mine = annotator is None or entry.annotator == annotator
            if mine and entry.kind != "undo" and entry.purpose != "import" and entry.number not in self._undone:
                found.append(entry)
        return found


def _stacked(stack: Sequence[Entry], entry: Entry) -> list[Entry]:
    """Return what an annotator has said of a row and not taken back, after one more entry."""
    if entry.undoes is None:
        return [*stack, entry]
    return [earlier for earlier in stack if earlier.number != entry.undoes]


def _put(answers: dict[str, Entry], annotator: str, stack: Sequence[Entry]) -> None:
    """Have the annotator's last answer of a stack stand; skips are none."""
    given = [earlier for earlier in stack if earlier.kind != "skip"]
    answers.pop(annotator, None)
    if given:
        answers[annotator] = given[-1]
