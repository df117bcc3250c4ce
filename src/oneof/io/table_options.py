"""Options for reading a table, which training and prediction have in common."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.io.columns import align_columns
from oneof.io.findings import UnreadableCells
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect
from oneof.io.kinds import Column
from oneof.io.table import Table, read_table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TableOptions:
    """Options of the file of a table: known properties of its text and cells, and the refusal of unreadable cells."""

    dialect: Dialect = Dialect()  # noqa: RUF009 - frozen
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen
    strict: bool = False
    format: str | None = None
    sheet: str | None = None

    def read(self, path: Path, **columns: Collection[str]) -> Table:
        """Read a table; `columns` are `as_text`, `labels` and `drop` of `oneof.io.read_table`."""
        form, cells = self.format, self.cell_format
        return read_table(path, dialect=self.dialect, cell_format=cells, format=form, sheet=self.sheet, **columns)

    def align(self, table: Table, columns: Sequence[Column], unreadable: UnreadableCells) -> "pl.DataFrame":
        """Return the features of a table; see `oneof.io.align_columns`. Unreadable cells are errors if `strict`."""
        counted = None if self.strict else unreadable
        return align_columns(table.frame, columns, table.path, cell_format=table.cell_format, unreadable=counted)
