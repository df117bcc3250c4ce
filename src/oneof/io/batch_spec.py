"""Columns and rows that a reader of batches is asked for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect
from oneof.io.formats.names import match_all
from oneof.io.kinds import Column


@dataclass
class BatchSpec:
    """Columns to read. The features may be set after the first batch; they then apply to all further batches.

    Attributes
    ----------
    labels : tuple of str
        Columns of labels; none for svmlight files, in which each line begins with its labels.
    features : tuple of Column, optional
        By default all columns, with types inferred from the cells of the batch.
    as_text : collection of str
        Columns of text even if the cells look like numbers; used only if the types are inferred.
    drop : collection of str
        Columns, or patterns of their names, that are not read if a file is one batch, unless they have labels.
    labels_required : bool
        Whether a missing column of labels is an error.
    separator : str
        The text between two labels.
    n_columns : int
        The number of columns of the rows of svmlight files.
    dialect : Dialect
        The known properties of delimited text; the others are detected.
    cell_format : CellFormat
        The known tokens of missing values and formats of dates.
    """

    labels: tuple[str, ...] = ()
    features: tuple[Column, ...] | None = None
    as_text: Collection[str] = ()
    drop: Collection[str] = ()
    labels_required: bool = True
    separator: str = "|"
    n_columns: int = 2**18
    dialect: Dialect = Dialect()  # noqa: RUF009 - frozen
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen

    @property
    def names(self) -> list[str] | None:
        """The columns to read; None for all."""
        return None if self.features is None else [*self.labels, *(column.name for column in self.features)]

    def dropped(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a file that are not read."""
        names = match_all(self.drop, columns) - match_all(self.labels, columns)
        return tuple(name for name in columns if name in names)
