"""Names of the rows of a table and of a file of answers, by which their rows are joined."""

import contextlib
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneof.io import Table

ROW = "row"
"""Default column of the names of the rows."""
OWN_ID = "id"
"""Field of an export that is the number of a task or a document in its tool, unless the data have such a field."""


def name_rows(table: "Table", column: str | None) -> tuple[list[str], str]:
    """Return the names of the rows of a table, and their column, empty if the rows are numbered."""
    from oneof.io import find_column

    if column is None and (table.rows is not None or ROW not in table.frame.columns):
        n_rows = table.frame.height if table.rows is None else table.rows.shape[0]
        return [str(row) for row in range(n_rows)], ""
    return read_names(table, column or ROW, "row"), find_column(column or ROW, table.frame.columns, table.path)


def read_names(table: "Table", column: str, kind: str) -> list[str]:
    """Return a column of names as text; names of annotators have no surrounding spaces."""
    from oneof.errors import DataError
    from oneof.io import find_column

    cells = table.frame[find_column(column, table.frame.columns, table.path)].to_list()
    for i, cell in enumerate(cells):
        if cell is None or not str(cell).strip():
            raise DataError(f"column {column!r} is empty. Name the {kind}.", source=str(table.path), row=i)
    return [str(cell).strip() if kind == "annotator" else str(cell) for cell in cells]


def check_row_column(table: "Table", column: str | None, answers: Path) -> None:
    """Raise if a table does not have the given column of the names of its rows.

    A column is suggested only if the file of the answers has it, too.
    """
    from oneof.errors import DataError, OneofError
    from oneof.io import read_table
    from oneof.io.formats.annotations import is_export
    from oneof.io.formats.names import matching
    from oneof.messages import enumerate_items

    columns = table.frame.columns
    if column is None or table.rows is not None or matching(column, columns, patterns=False):
        return
    shared: list[str] = []
    with contextlib.suppress(OneofError):
        shared = [] if is_export(answers) else read_table(answers, as_text=("*",)).frame.columns
    close = difflib.get_close_matches(column, [name for name in shared if name in columns], n=1)
    listed = enumerate_items(columns, 10, conjunction=False)
    hint = f"did you mean {close[0]!r}?" if close else f"the columns are {listed}."
    raise DataError(
        f"column {column!r} does not exist: {hint} {describe_row_option(table.path, answers)}", source=str(table.path)
    )


def describe_row_option(path: Path, answers: Path) -> str:
    """Return a sentence on the option that names the column of the names of rows."""
    return (
        f"--row names a column of row names, which must have the same name in {path} and {answers}, unless "
        "--answers-row names that of the answers."
    )


def describe_own_id() -> str:
    """Return a sentence on the options by which rows are matched if the data of an export have no field "id"."""
    return (
        f"The field {OWN_ID!r} beside the data is a number of the tool. If the table has these numbers, add "
        f"--answers-row {OWN_ID}; otherwise name the field of the data with the names of the rows by --answers-row."
    )
