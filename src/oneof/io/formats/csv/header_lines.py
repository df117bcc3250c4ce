"""Lines above the header of a text table: titles, comments, and names of groups of columns in merged cells.

A line is above the header only if the header is plainly below it: a mistake would change the names of all columns.
"""

import contextlib
import csv
import itertools
import re
from collections.abc import Sequence

from oneof.io.formats.cells import MISSING, MISSING_NUMBERS

SAMPLE_RECORDS = 200
"""Number of records from which the properties of a table are detected."""
COMMENT = "#"
"""First character of a comment."""
_MIN_SAME_SHARE = 0.8
"""Share of the records that must have as many cells as a header, or a number in a column."""
_MAX_TITLE_CELLS = 2
_MIN_MERGED = 2
"""Number of empty cells after the names of groups of columns."""

_NUMBER = re.compile(r"[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?")

Record = list[str]


def count_lines_above(lines: list[str], delimiters: Sequence[str], quote: str) -> int:
    """Return the number of lines above the header; 0 in case of doubt.

    Parameters
    ----------
    lines : list of str
        The first lines of the file.
    delimiters : sequence of str
        The possible delimiters.
    quote : str
        The quotation mark.
    """
    return (
        _count_comments(lines, delimiters, quote)
        or _count_titles(lines, delimiters, quote)
        or _count_groups(lines, delimiters, quote)
    )


def _count_comments(lines: list[str], delimiters: Sequence[str], quote: str) -> int:
    """Return the number of comments and blank lines above the header.

    A comment may contain delimiters. It has another number of cells than the rows, unlike a header such as "#id,span".
    The header has names, one of which is above numbers, or the number of cells of each comment is far from its own.
    """
    if not lines[0].lstrip().startswith(COMMENT):
        return 0
    n_comments = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(COMMENT)), 0)
    found = set()
    for delimiter in delimiters:
        begins, records = _read(lines, delimiter, quote)
        widths = [_width(record) for begin, record in zip(begins, records, strict=True) if begin >= n_comments]
        common = max(set(widths), key=widths.count, default=0)
        if common < 2:
            continue
        number = next((i for i, record in enumerate(records) if _width(record) == common), 0)
        header, below = records[number], records[number + 1 :]
        others = [_width(record) for record in records[:number]]
        is_far = all(abs(width - common) > 1 for width in others)
        if _is_header(header, below) and (is_far or _numbers_below(header, below)) and begins[number] <= n_comments:
            found.add(begins[number])
    return found.pop() if len(found) == 1 else 0


def _count_titles(lines: list[str], delimiters: Sequence[str], quote: str) -> int:
    """Return the number of title lines and blank lines above the header.

    The first title line has one cell, and the others have at most two with any delimiter. The header below them has
    names, possibly with empty cells after the last one, and most records have as many cells. A header of two cells
    requires a title that begins with "#", or a blank line. Of several delimiters, the one with the first header counts:
    a row of numbers such as 1,5 may look like a header with commas.
    """
    if any(_n_filled(next(csv.reader(lines[:1], delimiter=other, quotechar=quote), [])) > 1 for other in delimiters):
        return 0
    found = []
    for delimiter in delimiters:
        begins, records = _read(lines, delimiter, quote)
        number = next((i for i, record in enumerate(records) if _n_filled(record) > 1), 0)
        begin, header = (begins[number], records[number]) if records else (0, [])
        if not begin or not _is_header(header, records[number + 1 :]):
            continue
        above = [line.strip() for line in lines[:begin]]
        if len(header) > 2 or "" in above or any(line.startswith(COMMENT) for line in above):
            found.append(begin)
    n_above = min(found, default=0)
    titles = (csv.reader(lines[:n_above], delimiter=delimiter, quotechar=quote) for delimiter in delimiters)
    with contextlib.suppress(csv.Error):
        if all(_n_filled(record) <= _MAX_TITLE_CELLS for reader in titles for record in reader):
            return n_above
    return 0


def _count_groups(lines: list[str], delimiters: Sequence[str], quote: str) -> int:
    """Return 1 if the first line has names of groups of columns, and the second the names of all columns.

    Spreadsheets write a merged cell as a name with empty cells after it. The second line has no empty cell, and all its
    cells above numbers are names.
    """
    for delimiter in delimiters:
        begins, records = _read(lines, delimiter, quote)
        if len(records) < 3 or begins[1] != 1:
            continue
        groups, header, below = records[0], records[1], records[2:]
        names = [i for i, cell in enumerate(groups) if cell.strip()]
        n_merged = sum(not cell.strip() for cell in groups[names[0] :]) if names else 0
        is_complete = len(groups) == len(header) == _n_filled(header)
        if n_merged >= _MIN_MERGED and is_complete and _is_header(header, below) and _numbers_below(header, below):
            return 1
    return 0


def _read(lines: list[str], delimiter: str, quote: str) -> tuple[list[int], list[Record]]:
    """Return the first records, and the line at which each of them begins, counted from 0."""
    begins, records = [], []
    reader = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    begin = 0
    with contextlib.suppress(csv.Error):
        for record in itertools.islice(reader, SAMPLE_RECORDS):
            begins.append(begin)
            records.append(record)
            begin = reader.line_num
    return begins, records


def _is_header(header: Record, below: Sequence[Record]) -> bool:
    """Return whether a record has names, and most records below it have as many cells."""
    filled = [record for record in below if _n_filled(record)]
    n_same = sum(len(record) == len(header) for record in filled)
    return bool(filled) and n_same >= _MIN_SAME_SHARE * len(filled) and _are_names(header)


def _are_names(cells: Record) -> bool:
    """Return whether cells are different names, none of which is a number, apart from empty cells at the end."""
    names = [cell.strip() for cell in cells][: _width(cells)]
    return all(names) and len(set(names)) == len(names) and not any(map(_NUMBER.fullmatch, names))


def _numbers_below(header: Record, below: Sequence[Record]) -> bool:
    """Return whether a column has numbers below its name, and no column has a token of missing values as its name."""
    if any(cell.strip().lower() in (*MISSING, *MISSING_NUMBERS) for cell in header):
        return False
    columns = itertools.zip_longest(*(record[: len(header)] for record in below), fillvalue="")
    for column in columns:
        filled = [cell.strip() for cell in column if cell.strip()]
        if filled and sum(map(bool, map(_NUMBER.fullmatch, filled))) >= _MIN_SAME_SHARE * len(filled):
            return True
    return False


def _n_filled(record: Record) -> int:
    return sum(bool(cell.strip()) for cell in record)


def _width(record: Record) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((number for number, cell in enumerate(record, 1) if cell.strip()), default=0)
