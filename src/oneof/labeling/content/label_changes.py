"""Export of a table in which only changed labels are written anew, so that all other cells are those of the file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.cells import separators_of
from oneof.labeling.content.table import LabelTable, check_export, write_frame
from oneof.typing import Evidence, Mask

if TYPE_CHECKING:
    import polars as pl


def is_changed(before: Evidence, after: Evidence) -> Mask:
    """Return for each row whether its candidate sets differ; the weights of the candidates are ignored."""
    changed: Mask = ((before > 0) != (after > 0)).any(axis=1)
    return changed


def export_changes(table: LabelTable, path: Path, candidates: CandidateSets, start: Evidence) -> Path:
    """Write the table with the labels of changed rows; all other cells are written as in the file of the table.

    Parameters
    ----------
    table : LabelTable
    path : Path
        .csv, with the delimiter of the file of the table if it is delimited text, or .parquet.
    candidates : CandidateSets
        The labels after the answers.
    start : ndarray of shape (n_samples, n_classes)
        Evidence of the labels of the table.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the path has another extension or no folder, or if CSV does not support a column.
    """
    check_export(path)
    rows = np.flatnonzero(is_changed(start, candidates.evidence))
    frame, delimiter = table.as_in_file() if path.suffix.lower() == ".csv" else (table.frame, ",")
    write_frame(change_labels(frame, table.label, candidates, rows.tolist(), table.separator), path, delimiter)
    return path


def change_labels(
    frame: "pl.DataFrame", label: str, candidates: CandidateSets, rows: Sequence[int], separator: str
) -> "pl.DataFrame":
    """Return a table with other labels in some rows; all other cells, and the type of the column if possible, are kept.

    Parameters
    ----------
    frame : polars.DataFrame
    label : str
        A table without this column gets it, as text.
    candidates : CandidateSets
        The new labels of all rows.
    rows : sequence of int
        The rows to be changed.
    separator : str
        Text between the labels of a set in a column of text.

    Returns
    -------
    polars.DataFrame
        A column of numbers becomes text if a changed row has several labels.
    """
    import polars as pl

    if label not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(label))
    if not len(rows):
        return frame
    cells, changed = frame[label], candidates[list(rows)]
    if isinstance(cells.dtype, pl.List) and not changed.is_weighted.any():
        new = pl.Series([changed.classes[line].tolist() for line in changed.mask]).cast(cells.dtype)
    else:
        texts = changed.to_strings(separator=separator)
        single = bool(changed.is_exact.all())
        dtype = cells.dtype if single and not cells.dtype.is_nested() else pl.String
        if cells.dtype.is_nested():  # lists cannot have weights
            written = separators_of(separator)[0]
            cells = pl.Series([None if cell is None else written.join(map(str, cell)) for cell in cells.to_list()])
        new, cells = pl.Series(texts, dtype=pl.String).cast(dtype), cells.cast(dtype)
    # Without `scatter`, which does not support lists.
    index = np.arange(frame.height)
    index[list(rows)] = frame.height + np.arange(len(rows))
    return frame.with_columns(pl.concat([cells, new.rename(label)]).gather(index).alias(label))
