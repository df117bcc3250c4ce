"""Types of the columns of a whole CSV file, which is parsed one part after the other.

A column is numbers until one of its cells is not a number, and text from there on; its earlier cells are then parsed
again. A cell that is a number in the sense of polars but has leading zeros, such as 007, makes a column text as well.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneof.io.formats.cells import CellFormat, read_numbers, strip_text
from oneof.io.formats.csv.dialect import Dialect
from oneof.io.formats.csv.records import Header, are_complete
from oneof.io.formats.records import IrregularRecordsError

if TYPE_CHECKING:
    import polars as pl

_LEADING_ZERO = r"^\s*[+-]?0\d+\s*$"
_MAX_EMPTY_SHARE = 0.1
"""Number of missing numbers per row from which polars separates them from cells that are not numbers.

It raises an error for the latter, and the part is parsed again. Below this share, single rows are parsed again.
"""


class ParseRecords(Protocol):
    """Function that parses records as columns of the given types, and of text."""

    def __call__(
        self, records: bytes, types: Mapping[str, Any], names: Sequence[str], *, ignore_errors: bool = False
    ) -> "pl.DataFrame":
        """Return columns; cells that are not of the given type are null, or an error."""
        ...


class TableParser:
    """Parser of the parts of a CSV file as columns of numbers and text.

    Parameters
    ----------
    parse : callable
        See `ParseRecords`.
    types : dict
        The types of the columns of numbers in the first rows of the file; other columns are text.
    names : sequence of str
        The columns to parse.
    text : collection of str
        Columns that are text even if all cells are numbers.
    header : Header
    dialect : Dialect
    """

    def __init__(
        self,
        parse: ParseRecords,
        types: Mapping[str, Any],
        names: Sequence[str],
        *,
        text: Collection[str],
        header: Header,
        dialect: Dialect,
    ) -> None:
        self._parse = parse
        self._types = dict(types)
        self._names = list(names)
        self._text = set(text)
        self._header = header
        self._dialect = dialect
        self._last = header.columns[header.n_named - 1]
        self._began: dict[str, int] = {}
        self._has_empty_cells = False

    def read(self, parts: Callable[[], Iterable[bytes]], *, checked: bool, extra: Sequence[str] = ()) -> "pl.DataFrame":
        """Return the columns of all parts.

        Parameters
        ----------
        parts : callable
            Returns an iterator over the parts, each of which ends with a complete record; may be called twice.
        checked : bool
            Whether each record was checked. If not, the parsed cells show whether a check is necessary.
        extra : sequence of str
            Columns beyond those of the header, which are empty.

        Raises
        ------
        IrregularRecordsError
            If the records must be checked.
        """
        import polars as pl

        self._began = {}
        names = list(dict.fromkeys([*self._names, self._last, *extra]))
        frames = []
        for number, part in enumerate(parts()):
            frame = self._read_part(part, names, number)
            if not checked:
                self._check_part(part, frame, extra)
            frames.append(frame.select(self._names))
        for number, columns in self._read_again(parts):
            frames[number] = frames[number].with_columns(columns)
        frame = pl.concat(frames, rechunk=False)
        numbers = [
            plain_numbers(frame[name], str(self._dialect.decimal))
            for name in self._names
            if frame[name].dtype == pl.String and name not in self._text
        ]
        return frame.with_columns([cells for cells in numbers if cells is not None])

    def _read_part(self, part: bytes, names: Sequence[str], number: int) -> "pl.DataFrame":
        """Return the columns of a part, in the types of the parts before it as far as its cells allow."""
        import polars as pl

        numbers = list(self._types)
        is_strict = self._has_empty_cells or str(self._dialect.quote).encode() in part
        try:
            frame = self._parse(part, self._types, names, ignore_errors=not is_strict)
        except pl.exceptions.PolarsError as error:
            if not str(error).startswith("could not parse"):  # a line with more cells, or a misplaced quotation mark
                raise IrregularRecordsError from None
            is_strict = False
            try:
                frame = self._parse(part, self._types, names, ignore_errors=True)
            except pl.exceptions.PolarsError:
                raise IrregularRecordsError from None
        if not numbers:
            return frame
        is_float = [name for name in numbers if self._types[name] == pl.Float64]
        infinite = frame.select(pl.col(is_float).is_finite().not_().any()).row(0) if is_float else ()
        suspects = {name for name, found in zip(is_float, infinite, strict=True) if found}
        n_empty = dict(zip(frame.columns, frame.null_count().row(0), strict=True))
        self._has_empty_cells = sum(n_empty[name] for name in numbers) > _MAX_EMPTY_SHARE * len(frame)
        if not is_strict:  # a missing value is an empty cell, or one that is not a number
            suspects |= {name for name in numbers if n_empty[name]}
        has_codes = has_leading_zeros(part, self._dialect)
        changed = self._text_columns(part, frame.select(numbers), numbers if has_codes else sorted(suspects))
        for name in changed:
            del self._types[name]
            self._began[name] = number
        return frame.with_columns(self._parse(part, {}, changed)) if changed else frame

    def _text_columns(self, part: bytes, frame: "pl.DataFrame", suspects: Sequence[str]) -> list[str]:
        """Return those of the columns of numbers that have a cell of text or a code with leading zeros."""
        import polars as pl

        if not suspects:
            return []
        missing = pl.any_horizontal(~pl.col(suspects).is_finite().fill_null(value=False))
        zeros = pl.any_horizontal(pl.col(suspects).cast(pl.Float64) % 1 == 0).fill_null(value=False)
        rows = frame.select(missing | zeros).to_series().arg_true()
        lines = _lines_of(part, rows.to_numpy(), len(frame))
        if lines is not None:  # rows without a suspect cell are not parsed again
            part, frame = b"\n".join(lines), frame[rows]
        changed = []
        for cells in self._parse(part, {}, suspects).iter_columns():
            is_code = has_leading_zero(cells)
            if is_code or not _same_missing(cells, frame[cells.name]):
                changed.append(cells.name)
                if is_code or plain_numbers(cells, str(self._dialect.decimal)) is None:
                    self._text.add(cells.name)
        return changed

    def _read_again(self, parts: Callable[[], Iterable[bytes]]) -> "Iterator[tuple[int, pl.DataFrame]]":
        """Yield the columns of text in the parts before the first one in which they are text."""
        for number, part in enumerate(itertools.islice(parts(), max(self._began.values(), default=0))):
            yield number, self._parse(part, {}, [name for name, first in self._began.items() if first > number])

    def _check_part(self, part: bytes, frame: "pl.DataFrame", extra: Sequence[str]) -> None:
        """Raise if polars may have read another table than the csv module.

        Otherwise no line has too many cells, since polars refuses it. A line with too few cells, or a blank line, has
        a missing value in the last column. A misplaced quotation mark is in the text of a cell, with line ends if the
        cell extends over several lines, or makes a number unreadable.
        """
        import polars as pl

        if not part.isascii():
            try:
                part.decode()
            except UnicodeDecodeError:
                raise IrregularRecordsError from None
        if any(frame[name].null_count() < len(frame) for name in extra):
            raise IrregularRecordsError
        quote = str(self._dialect.quote)
        if quote.encode() in part:
            texts = frame.select(pl.col(pl.String).str.contains_any([quote, "\n", "\r"]).any())
            if len(texts) and any(texts.row(0)):
                raise IrregularRecordsError
        last = frame[self._last]
        if last.null_count():
            incomplete = _lines_of(part, last.is_null().arg_true().to_numpy(), len(frame))
            if incomplete is None:
                incomplete = part.removesuffix(b"\n").split(b"\n")
            if not are_complete(incomplete, self._header, self._dialect):
                raise IrregularRecordsError


def number_types(sample: "pl.DataFrame", text: Collection[str], decimal: str) -> "list[pl.Series]":
    """Return the columns of text that are numbers, except those of `text` and codes with leading zeros."""
    numbers = [
        plain_numbers(cells, decimal)
        for cells in sample.iter_columns()
        if cells.name not in text and not has_leading_zero(cells)
    ]
    return [cells for cells in numbers if cells is not None]


def as_plain_numbers(frame: "pl.DataFrame", cell_format: CellFormat) -> "pl.DataFrame":
    """Return a table in which tokens of missing values such as NA are null, and text that is numbers is numbers."""
    import polars as pl

    columns = []
    for cells in frame.select(pl.col(pl.String)).iter_columns():
        text = cells.set(strip_text(cells, cell_format).is_null(), None)
        numbers = None if text.null_count() == cells.null_count() else plain_numbers(text, cell_format.decimal)
        columns.append(text if numbers is None else numbers)
    return frame.with_columns(columns)


def plain_numbers(cells: "pl.Series", decimal: str) -> "pl.Series | None":
    """Return text as integers, or as floats, if every cell is a finite number or empty, and one is a number."""
    import polars as pl

    text = cells.str.strip_chars()
    text = text.set((text == "").fill_null(value=False), None)
    n_present = len(text) - text.null_count()
    if not n_present or (n_present > 1 and _first_is_text(text, decimal)):
        return None
    integers = text.cast(pl.Int64, strict=False)
    if integers.null_count() == len(text) - n_present:
        return integers
    numbers = read_numbers(text, "," if decimal == "," else ".")
    return numbers if numbers.null_count() == len(text) - n_present else None


def has_leading_zero(cells: "pl.Series") -> bool:
    """Return whether a cell of text is a code such as 007."""
    import polars as pl

    return cells.dtype == pl.String and bool(cells.str.contains(_LEADING_ZERO).any())


def has_leading_zeros(content: bytes, dialect: Dialect) -> bool:
    """Return whether records have a cell such as 007, with or without a sign, spaces or quotation marks.

    Text with such a word, such as "born 07", has the same result: the cells decide.
    """
    if not _may_have_code(content, ord(str(dialect.delimiter))):
        return False
    kinds = np.zeros(256, dtype=np.uint8)
    kinds[[*b"0123456789"]] = _DIGIT
    kinds[[*b"+-"]] = _SIGN
    kinds[[*f"{dialect.delimiter}{dialect.quote}\n\r ".encode()]] = _BORDER
    return bool(_compiled_search()(np.frombuffer(content, dtype=np.uint8), kinds))


def _may_have_code(content: bytes, delimiter: int) -> bool:
    """Return whether a zero is before a digit, and after a border or a sign; an exponent such as e-05 is also found.

    All borders and signs, apart from some delimiters, are less than the decimal point.
    """
    if content[:1] == b"0" and content[1:2].isdigit():
        return True
    cells = np.frombuffer(content, dtype=np.uint8)
    for start in range(0, len(cells), _SLICE_BYTES):
        part = cells[start : start + _SLICE_BYTES + 2]
        may_be = part[1:-1] == _ZERO
        may_be &= (part[2:] - _ZERO) < 10  # smaller bytes wrap around
        before = part[:-2]
        may_be &= (before < ord(".")) if delimiter < ord(".") else ((before < ord(".")) | (before == delimiter))
        if may_be.any():
            return True
    return False


_ZERO = np.uint8(ord("0"))
_SLICE_BYTES = 2**17
"""Number of bytes that are searched at once, which fit in the cache of a processor."""
_DIGIT, _SIGN, _BORDER = 1, 2, 3
"""Kinds of bytes; others are 0."""


@cache
def _compiled_search() -> Callable[..., bool]:
    """Return `_search_code`, compiled on first use: importing numba takes longer than reading a small table."""
    from oneof.jit import compiled

    return compiled(_search_code)


def _search_code(content: Any, kinds: Any) -> bool:
    """Return whether a border, possibly a sign, a zero, further digits and a border follow each other."""
    n = len(content)
    for i in range(n - 1):
        if content[i] != _ZERO or kinds[content[i + 1]] != _DIGIT:
            continue
        begin = i - 1
        if begin >= 0 and kinds[content[begin]] == _SIGN:
            begin -= 1
        if begin >= 0 and kinds[content[begin]] != _BORDER:
            continue
        end = i + 2
        while end < n and kinds[content[end]] == _DIGIT:
            end += 1
        if end == n or kinds[content[end]] == _BORDER:
            return True
    return False


def _lines_of(part: bytes, rows: Any, n_rows: int) -> list[bytes] | None:
    """Return the lines of some rows; None if the number of lines is not that of the rows."""
    ends = np.flatnonzero(np.frombuffer(part, dtype=np.uint8) == ord("\n"))
    if not part.endswith(b"\n"):
        ends = np.append(ends, len(part))
    if len(ends) != n_rows:
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    return [part[start:end] for start, end in zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)]


def _same_missing(text: "pl.Series", numbers: "pl.Series") -> bool:
    """Return whether the cells without a finite number are empty."""
    is_empty = (text.str.strip_chars() == "").fill_null(value=True)
    finite = numbers.is_finite() if numbers.dtype.is_float() else numbers.is_not_null()
    return bool((is_empty == ~finite.fill_null(value=False)).all())


def _first_is_text(text: "pl.Series", decimal: str) -> bool:
    """Return whether the first cells are not numbers, which spares the reading of all."""
    first = text.drop_nulls().head(100)
    return read_numbers(first, "," if decimal == "," else ".").null_count() > 0
