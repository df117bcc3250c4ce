"""Cells of labels as candidate sets over classes that are fixed before the first row is learned from.

In a stream a label is its text: whether all labels are numbers, as in a table, would be known only at its end. 3, 3.0
and "3" are the label "3"; an empty cell, and -1 unless it is named as a class, is a row without a label.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import DataError, LabelError
from oneof.stream.indexed import IndexedRows
from oneof.tables.labels import read_indicator, reject_lists_in_lists, reject_sets_of_nothing
from oneof.typing import Mask

if TYPE_CHECKING:
    import polars as pl

_WHOLE = re.compile(r"(-?\d{1,18})\.0+")


class LabelReader:
    """Reads the labels of batches.

    Parameters
    ----------
    columns : sequence of str
        One column of text, lists or whole numbers; several of 0 and 1, whose names are the classes; none for svmlight
        files.
    separator : str
        What stands between two labels in text.
    classes : sequence of str, optional
        All classes. Without them only `names` can be asked for.
    """

    def __init__(self, columns: Sequence[str], separator: str, classes: Sequence[str] | None = None) -> None:
        if len(columns) > 1 and classes is not None and list(classes) != list(columns):
            raise DataError("classes cannot be given with several label columns: their names are the classes.")
        self.columns = tuple(columns)
        self.separator = separator
        self.classes = None if classes is None else [plain(name) for name in classes]
        self._code = {name: k for k, name in enumerate(self.classes or [])}
        if self.classes is not None and len(self._code) < max(2, len(self.classes)):
            raise LabelError(f"the classes {', '.join(self.classes)} are not two or more, each named once.")
        self.saw_minus_one = False

    def mask(self, content: Any) -> Mask:
        """Return the (n, K) mask of a batch, whose rows without a label are full."""
        if len(self.columns) > 1:
            return read_indicator(content, list(self.columns)).mask
        texts, found = self._sets(content)
        codes: dict[Any, int] = {}
        table = np.ones((len(found) + 1, len(self._code)), dtype=bool)
        for number, (text, names) in enumerate(found.items(), 1):
            codes[text] = number
            table[number] = False
            for name in names:
                if name not in self._code:
                    raise self._unknown(texts.index(text), name)
                table[number, self._code[name]] = True
        return table[[codes.get(text, 0) for text in texts]]

    def names(self, content: Any) -> set[str]:
        """Return the labels that occur in a batch."""
        _, found = self._sets(content)
        return {name for names in found.values() for name in names}

    def _sets(self, content: Any) -> tuple[list[Any], dict[Any, Iterable[str]]]:
        """Return a key for each row, and the labels of every key but the empty ones."""
        cells = content.labels if isinstance(content, IndexedRows) else _cells(content[self.columns[0]])
        found: dict[Any, Iterable[str]] = {}
        if not isinstance(cells, list):  # a column of lists
            reject_lists_in_lists(cells)
            keys = [None if members is None else tuple(map(plain, members)) for members in cells.to_list()]
            for row, key in enumerate(keys):
                if key is not None and (not key or None in key):
                    raise LabelError(f"row {row} has an empty candidate set, or one with a missing label: name at least"
                                     " one label, or leave it null if nothing is known.")  # fmt: skip
                if key is not None:
                    found[key] = key
            return keys, found
        distinct = [text for text in dict.fromkeys(cells) if text is not None and text.strip()]
        distinct = [text for text in distinct if not self._is_unlabeled(text)]
        if distinct:
            sets = self._split(cells, distinct)
            names = np.array([plain(name) for name in sets.classes.tolist()], dtype=object)
            found = {text: names[row].tolist() for text, row in zip(distinct, sets.mask, strict=True)}
        return cells, found

    def _split(self, cells: list[Any], distinct: list[str]) -> CandidateSets:
        try:
            reject_sets_of_nothing(distinct, self.separator)
            return CandidateSets.from_strings(distinct, separator=self.separator)
        except LabelError:
            for text in distinct:
                try:
                    reject_sets_of_nothing([text], self.separator)
                    CandidateSets.from_strings([text], separator=self.separator)
                except LabelError as error:
                    row = cells.index(text)
                    raise LabelError(str(error).replace("row 0", f"row {row}", 1)) from None
            raise

    def _is_unlabeled(self, text: str) -> bool:
        if plain(text.strip()) != "-1" or "-1" in self._code:
            return False
        self.saw_minus_one = True
        return True

    def _unknown(self, row: int, name: str) -> LabelError:
        known = list(self._code)
        shown = ", ".join(known[:8]) + (f", ... ({len(known)} in all)" if len(known) > 8 else "")
        return LabelError(
            f"row {row}: label {name!r} is not one of the classes {shown}: name all classes beforehand (--classes)."
        )


def settle(names: Iterable[str], *, saw_minus_one: bool) -> list[str]:
    """Return the classes of a stream in order: by number where all are whole numbers, else by text."""
    found = set(names)
    if saw_minus_one and found == {"1"}:
        raise LabelError(
            "the labels are only -1 and 1, which may mean two classes, or class 1 and rows without a label: name the "
            "classes (--classes=-1,1), or leave the labels of rows without one empty."
        )
    if len(found) < 2:
        raise LabelError(
            f"only one class occurs ({min(found)!r}): a classifier needs at least two; name all classes (--classes)."
            if found
            else "every row is unlabeled, so there is nothing to learn from."
        )
    numbers = all(re.fullmatch(r"-?\d{1,18}", name) for name in found)
    return sorted(found, key=int) if numbers else sorted(found)


def plain(label: Any) -> Any:
    """Return a label as text, so that 3, 3.0 and "3" are one; None stays None."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if label is None:
        return None
    text = str(label).strip()
    whole = _WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


def _cells(cells: "pl.Series") -> Any:
    """Return a column as a list of text, or as it is where it holds lists."""
    import polars as pl

    if isinstance(cells.dtype, pl.List | pl.Array):
        return cells
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
        if (cells.drop_nulls() % 1 != 0).any():
            row = int((cells % 1 != 0).fill_null(value=False).arg_true()[0])
            raise LabelError(f"row {row} holds {cells[row]}: continuous values are no labels; use whole numbers.")
        cells = cells.cast(pl.Int64)
    if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Binary:
        raise LabelError(f"column {cells.name!r} holds values of type {cells.dtype}; labels are text or lists.")
    return cells.cast(pl.String).to_list()
