"""Cells of labels that cannot be read: they are errors, or their rows are unlabeled.

Each cell is judged by itself, or with the given classes, so that a stream has the same unreadable cells in batches of
any size. The readers raise errors about a column as a whole, such as the type of its labels.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneof.candidates.labels import (
    as_classes,
    fold_case,
    is_missing,
    is_token,
    label_to_text,
    label_vector,
    unknown_label,
)
from oneof.candidates.readers.collections import split_labels, split_text
from oneof.candidates.readers.literals import LISTS, check_member_text, read_list
from oneof.candidates.readers.pairs import Pairs, read_pairs_text
from oneof.candidates.row_weights import check_rest, invalid_weight, zero_weights
from oneof.errors import LabelError
from oneof.messages import shorten, warn

_MAX_LISTED = 10
"""Maximum number of cells that an error about several cells lists."""
_MAX_NAMED = 3
"""Maximum number of cells that a warning names."""


@dataclass
class CellChecker:
    """Checks of single cells of a column of labels; see `oneof.candidates.columns.read_label_columns`.

    Attributes
    ----------
    separator : str
    classes : sequence, optional
        Names of all classes: a cell with another label cannot be read.
    weighted : bool
        Whether a text has weights.
    rest : bool or str
    folds_case : bool
    missing : collection of str
        Labels that are left out, as `fold_tokens` returns them.
    is_column : bool
        Whether the texts are cells of a table, in which "[]" and "|" are empty sets.
    exact : bool, optional
        Whether labels are compared as written, as in a column of text. Otherwise 3, 3.0 and "3" are equal, and -1 is an
        unlabeled row unless it is a class. By default as the type of a column requires; see `find_unreadable`.
    is_batch : bool
        Whether the cells are a batch, which does not show all classes.
    """

    separator: str
    classes: Sequence[Any] | None = None
    weighted: bool = False
    rest: bool | str = False
    folds_case: bool = False
    missing: Collection[str] = ()
    is_column: bool = True
    exact: bool | None = None
    is_batch: bool = False

    def __post_init__(self) -> None:
        self.missing = frozenset(self.missing)
        names = None if self.classes is None else [self._key(name) for name in self.classes]
        self._known = None if names is None else frozenset(names)
        self._labels: set[Any] = set()
        self._rest_only: list[tuple[int, set[Any]]] = []
        self._rest = self._key(self.rest) if isinstance(self.rest, str) else None

    def find(self, cells: Iterable[Any], check: Callable[[int, Any], None]) -> dict[int, LabelError]:
        """Return the errors of cells by row; `check` raises the error of a cell, and is called once for equal texts."""
        errors: dict[int, LabelError] = {}
        of_text: dict[str, LabelError | None] = {}
        for row, cell in enumerate(cells):
            is_text = isinstance(cell, str)
            if is_text and cell in of_text:
                error = of_text[cell]
            else:
                error = None
                try:
                    check(row, cell)
                except LabelError as raised:
                    error = raised
                    if is_text and error.cause != "unknown label":
                        error.label = cell
                if is_text:
                    of_text[cell] = error
            if error is not None:
                errors[row] = error.at(first_row=row - error.row) if error.row is not None else error
        return errors

    def rows_without_weight(self, cells: Sequence[Any]) -> dict[int, LabelError]:
        """Return the errors of rows whose weights are all 0 and whose rest has no class, since they list all classes.

        Without given classes, these are the labels of the other cells that can be read; a batch has no such rows.
        """
        if self._known is not None or self.is_batch:
            return {}
        rows: set[int] = set()
        kept = self._rest_only
        while True:  # labels of the rows found so far are not classes
            labels = self._labels.union(*(names for _, names in kept))
            found = {row for row, names in kept if names >= labels}
            if not found:
                break
            rows |= found
            kept = [(row, names) for row, names in kept if row not in found]
        texts = {cells[row] for row in rows if isinstance(cells[row], str)}
        same = [i for i, cell in enumerate(cells) if i in rows or (isinstance(cell, str) and cell in texts)]
        return {i: zero_weights(i) for i in same}

    def check_text(self, row: int, text: Any) -> None:
        """Raise the error of a text with labels, or with labels and weights."""
        if text is None or (isinstance(text, str) and not text.strip()):
            return
        if self.is_column and not (self.weighted and text.strip() in ("[]", "{}")):
            check_nonempty_sets([text], self.separator)
        if self.weighted:
            self.check_pairs(row, *read_pairs_text(row, text, self.separator))
            return
        if self.separator == LISTS and isinstance(text, str):
            self._check_known(row, read_list(row, text) or ())
            return
        folds = self.folds_case and isinstance(text, str)
        separator = self.separator.casefold() if self.folds_case else self.separator
        labels = split_text(row, fold_case(text) if folds else text, separator)[0] or ()
        if not self._is_unlabeled(labels):
            self._check_known(row, labels)

    def check_set(self, row: int, members: Sequence[Any] | None) -> None:
        """Raise the error of a list of labels."""
        if members is None:
            return
        kept = [label for label in members if label is None or not self._is_missing(label)]
        if not members or None in kept:
            raise empty_set(row, "the candidate set is empty, or contains a missing label", members)
        check_member_text(row, members)
        self._check_known(row, kept)

    def check_pairs(self, row: int, pairs: Pairs | None, is_set: bool = False) -> None:
        """Raise the error of labels with weights."""
        kept = [(label, weight) for label, weight in pairs or () if not self._is_missing(label)]
        if not kept or self._is_unlabeled([label for label, _ in kept]):
            return
        check_weights(row, kept)
        others = [(label, weight) for label, weight in kept if self._key(label) != self._rest]
        self._check_known(row, [label for label, _ in others])
        names = {self._key(label) for label, _ in others}
        total = math.fsum(min(weight, 1e300) for _, weight in others)
        if is_set or total > 0.0:
            if self.rest is True and not is_set:
                check_rest(row, total)
            self._labels |= names
            return
        has_rest = self.rest is True or any(w > 0 and self._key(k) == self._rest for k, w in kept)
        if not has_rest or (self._known is not None and names >= self._known):
            raise zero_weights(row)
        self._rest_only.append((row, names))

    def _check_known(self, row: int, labels: Sequence[Any]) -> None:
        if self._known is None or self.classes is None:
            return
        for label in labels:
            if not self._is_missing(label) and self._key(label) not in self._known:
                raise unknown_label(row, label, as_classes(self.classes))

    def _key(self, label: Any) -> Any:
        key = label if self.exact else str(label_to_text(label))
        return fold_case(key) if self.folds_case and isinstance(key, str) else key

    def _is_missing(self, label: Any) -> bool:
        return bool(self.missing) and (is_token(label, self.missing) or is_token(str(self._key(label)), self.missing))

    def _is_unlabeled(self, labels: Sequence[Any]) -> bool:
        """Return whether the labels of a row are the mark -1 of an unlabeled row."""
        if self.exact or (self._known is not None and "-1" in self._known):
            return False
        kept = [label for label in labels if not self._is_missing(label)]
        return len(kept) == 1 and label_to_text(kept[0]) == "-1"


def without_unreadable(y: Any, checker: CellChecker) -> list[Any]:
    """Return texts with None for those that cannot be read, and warn with their number and the first of them."""
    texts = label_vector(y).tolist()
    errors = _find_in_texts(texts, checker)
    if errors:
        warn(f"{describe_unreadable(errors)}, and their rows are unlabeled.")
    return [None if row in errors else text for row, text in enumerate(texts)]


def raise_all_unreadable(y: Any, checker: CellChecker, error: LabelError) -> None:
    """Raise the error of a reader with the other texts that cannot be read, if it is about one."""
    if error.row is not None:
        errors = _find_in_texts(label_vector(y).tolist(), checker)
        raise_together(errors, error, 'Pass errors="unlabeled" to read such rows as unlabeled.')


def _find_in_texts(texts: list[Any], checker: CellChecker) -> dict[int, LabelError]:
    errors = checker.find(["" if is_missing(text) else text for text in texts], checker.check_text)
    return dict(sorted((errors | checker.rows_without_weight(texts)).items()))


def describe_unreadable(errors: Mapping[int, LabelError]) -> str:
    """Return the number of cells that cannot be read, and the first of them, as the beginning of a sentence."""
    rows = sorted(errors)
    shown = ", ".join(f"row {row} ({shorten(repr(errors[row].label))})" for row in rows[:_MAX_NAMED])
    cells = "1 cell" if len(rows) == 1 else f"{len(rows):,} cells"
    return f"{cells} of labels cannot be read: {shown}{', ...' * (len(rows) > _MAX_NAMED)}"


def check_weights(row: int, pairs: Pairs) -> None:
    """Raise unless the weights of a row are finite numbers of at least 0."""
    for label, weight in pairs:
        if not (math.isfinite(weight) and weight >= 0):
            raise invalid_weight(row, label, weight)


def empty_set(row: int, reason: str, label: Any = None) -> LabelError:
    """Return the error for a set without labels."""
    return LabelError(
        f"{reason}. Name at least one label, or leave the cell empty if the row is unlabeled.",
        row=row,
        label=label,
        cause="empty set",
    )


def check_nonempty_sets(texts: Sequence[str | None], separator: str) -> None:
    """Raise if a cell is the text of an empty set, such as "[]" or "|", which is not an empty cell."""
    for row, text in enumerate(texts):
        if text is None or not text.strip():
            continue
        if "".join(split_labels(text, separator)).strip() in ("", "[]", "{}", "()"):
            raise empty_set(row, f"the candidate set is empty ({text!r})", text)


def raise_together(errors: Mapping[int, LabelError], first: LabelError | None = None, remedy: str = "") -> None:
    """Raise the first error, with the number of all cells that cannot be read, and the rows of the first ten.

    Cells of equal text are listed once. Nothing is raised without errors.

    Parameters
    ----------
    errors : dict of int to LabelError
        The error of each cell by its row.
    first : LabelError, optional
        The error of a reader, which is raised unless an earlier row cannot be read.
    remedy : str
        A last sentence.
    """
    if not errors:
        return
    if first is not None and first.row is not None:
        errors = {first.row: first, **errors}
    rows = sorted(errors)
    error = errors[rows[0]] if first is None or first.row != rows[0] else first
    distinct: dict[str, int] = {}
    for row in rows:
        distinct.setdefault(repr(errors[row].label), row)
    listed = [f"row {row} ({shorten(shown)})" for shown, row in list(distinct.items())[1:_MAX_LISTED]]
    if len(rows) > 1:
        more = f" In all, {len(rows):,} cells cannot be read{': also ' * bool(listed)}{', '.join(listed)}"
        error = error.because(f"{error.reason.rstrip()}{more}{', ...' * (len(distinct) > _MAX_LISTED)}.")
    error = error.because(f"{error.reason} {remedy}".rstrip())
    error.rows = tuple(rows)
    raise error
