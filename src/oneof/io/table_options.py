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

    def read(
        self,
        path: Path,
        *,
        as_text: Collection[str] = (),
        labels: Collection[str] = (),
        drop: Collection[str] = (),
    ) -> Table:
        """Read a table; see `oneof.io.read_table`."""
        return read_table(
            path,
            as_text=as_text,
            labels=labels,
            drop=drop,
            dialect=self.dialect,
            cell_format=self.cell_format,
            format=self.format,
            sheet=self.sheet,
        )

    def align(self, table: Table, columns: Sequence[Column], unreadable: UnreadableCells) -> "pl.DataFrame":
        """Return the features of a table; see `oneof.io.align_columns`. Unreadable cells are errors if `strict`."""
        return align_columns(
            table.frame,
            columns,
            table.path,
            cell_format=table.cell_format,
            unreadable=None if self.strict else unreadable,
        )
