"""What callers give a session, refused in one sentence before anything of it is written."""

from typing import Any

import numpy as np

from oneof.errors import InputError, InputTypeError
from oneof.labeling.asking import Question
from oneof.labeling.table import LabelTable
from oneof.validation import check_positive


def check_counts(**counts: Any) -> None:
    """Raise unless all of some parameters are integers above 0."""
    for name, value in counts.items():
        check_positive(name, value, integer=True)


def check_table(table: Any, n_rows: int) -> None:
    """Raise unless this is None, or shows a row for each of X."""
    if table is None:
        return
    if not isinstance(table, LabelTable):
        raise InputTypeError(f"table is a {type(table).__name__}: give a oneof.labeling.LabelTable, or None.")
    if table.frame.height != n_rows:
        raise InputError(f"X has {n_rows} rows, but the table has {table.frame.height}: give one for each row of X.")


def check_name(annotator: Any) -> None:
    """Raise unless this can be the name of an annotator."""
    if not isinstance(annotator, str) or not annotator.strip() or len(annotator) > 100:
        raise InputError(f"annotator={annotator!r} is no name: give 1 to 100 characters.")


def check_window(annotator: Any, window: Any) -> None:
    """Raise unless a question can be put before this window of an annotator."""
    check_name(annotator)
    check_text("window", window)


def check_text(name: str, value: Any) -> None:
    """Raise unless a parameter is text, by which things are found again."""
    if not isinstance(value, str):
        raise InputTypeError(f"`{name}` must be text; got {value!r}.")


def check_row(row: Any, n_rows: int) -> None:
    """Raise unless there is such a row."""
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
        raise InputError(f"there is no row {row!r}: rows are 0 to {n_rows - 1}.")


def check_question(question: Any, n_rows: int) -> None:
    """Raise unless this is a question about a row that there is; another session may have others."""
    if not isinstance(question, Question):
        raise InputTypeError(f"question={question!r} is none: give what ask or look returned.")
    check_row(question.row, n_rows)
