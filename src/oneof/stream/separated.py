"""Blocks of CSV and TSV files as tables, checked line by line where polars would pad, rename or guess in silence."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.stream.lines import Block
from oneof.tables import Column
from oneof.tables.separated import MISSING, check_header, long_cells, separator_of

if TYPE_CHECKING:
    import polars as pl


def read_columns(header: bytes, path: Path, *, tab: bool) -> tuple[str, list[str]]:
    """Return the separator and the names of the columns that the first line of a file gives."""
    try:
        line = header.decode()
        separator = separator_of(line, tab=tab)
        with long_cells:
            columns = next(csv.reader([line], delimiter=separator, strict=True), [])
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8 (line 1): save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{path}, line 1: {error}.") from None
    check_header(path, columns)
    return separator, columns


def read_block(
    block: Block,
    separator: str,
    columns: Sequence[str],
    *,
    verbatim: Collection[str],
    as_text: Collection[str] = (),
    features: Sequence[Column] | None = None,
) -> "pl.DataFrame":
    """Return the rows of a block.

    Parameters
    ----------
    block : Block
    separator : str
    columns : sequence of str
        Those of the file.
    verbatim : collection of str
        Columns of labels: text, in which only empty cells are missing.
    as_text : collection of str
        Columns that are text even if they look like numbers; matters only where the types are guessed.
    features : sequence of Column, optional
        The features to read, in their types; by default all columns, in the types that their cells look like.
    """
    import polars as pl

    records = _check(block, separator.encode(), len(columns))
    # polars leaves quotation marks within a name doubled, so that columns are asked for by their places.
    place = {name: str(number) for number, name in enumerate(columns)}
    content = io.BytesIO(b"".join([separator.join(place.values()).encode(), b"\n", *records]))
    kinds = {} if features is None else {column.name: column.kind for column in features}
    wanted = [name for name in columns if name not in verbatim and (features is None or name in kinds)]
    text = {name for name in wanted if name in as_text}
    numbers = {name for name, kind in kinds.items() if kind == "number"}

    def parse(names: Sequence[str], types: Mapping[str, Any], missing: list[str] | None, *, guess: bool) -> Any:
        """Read some columns as the given types, and all others as text or as what their cells look like."""
        content.seek(0)
        read = pl.read_csv(
            content,
            columns=[place[name] for name in names],
            separator=separator,
            infer_schema_length=None if guess else 0,
            schema_overrides={place[name]: kind for name, kind in types.items()},
            try_parse_dates=guess,
            null_values=missing,
        )
        return read.rename({place[name]: name for name in names})

    try:
        labels = [name for name in columns if name in verbatim]
        parts = [parse(labels, {}, None, guess=False)] if labels else []
        if wanted:
            try:
                floats = {name: pl.Float64 for name in wanted if name in numbers}
                types = floats | dict.fromkeys(text, pl.String)
                parts.append(parse(wanted, types, MISSING, guess=features is None))
            except pl.exceptions.PolarsError:
                if features is None:
                    raise
                # A cell is no number: read as text, the cells show which one.
                parts.append(parse(wanted, {}, MISSING, guess=False))
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{block.path}, lines from {block.start.line} on: {str(error).splitlines()[0]}.") from None
    return pl.concat(parts, how="horizontal")


def _check(block: Block, separator: bytes, n_columns: int) -> list[bytes]:
    """Return the records without blank lines at the end; raise at the first line that is no row of the table."""
    expected = n_columns - 1
    records = block.records
    blank = [i for i, record in enumerate(records) if not record.strip(b" \r\n")] if n_columns > 1 else []
    if blank:
        kept = len(records) - len(blank)
        if blank[0] < kept:
            raise DataError(f"{block.path}, line {_line(block, blank[0])}: the line is blank; remove it.")
        records = records[:kept]
    with long_cells:
        for i, record in enumerate(records):
            if b'"' in record or record.count(separator) != expected:
                _check_record(block, i, separator.decode(), n_columns)
    try:
        b"".join(records).decode()
    except UnicodeDecodeError:
        wrong = next(i for i, record in enumerate(records) if not _is_text(record))
        raise DataError(f"{block.path} is not text in UTF-8 (line {_line(block, wrong)}): save it as UTF-8.") from None
    return records


def _check_record(block: Block, i: int, separator: str, n_columns: int) -> None:
    text = block.records[i].decode(errors="replace")
    try:
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise DataError(f"{block.path}, line {_line(block, i)}: {error}; correct the line.") from None
    if len(cells) != n_columns:
        raise DataError(
            f"{block.path}, line {_line(block, i)}: found {len(cells)} cells, but the header has {n_columns}; "
            "correct the line."
        )


def _is_text(record: bytes) -> bool:
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True


def _line(block: Block, i: int) -> int:
    return block.start.line + sum(record.count(b"\n") for record in block.records[:i])
