"""Label columns of one table as candidate sets.

The type of a label depends on the entire column: text is read as numbers if all of it is whole numbers. An empty cell
is an unlabeled row, and so is -1 unless it is named as a class.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.columns.cells import (
    ALL_UNLABELED,
    AMBIGUOUS_SIGNS,
    INDICATOR_CLASSES,
    booleans_to_digits,
    check_any_label,
    check_flat_lists,
    check_no_records,
    check_recurring,
    check_texts,
    contains_nested_lists,
    drop_missing_labels,
    fold_labels,
    fold_names,
    label_to_text,
    name_type,
    parse_lists,
    parse_whole_number,
    raise_together,
    strict_numbers,
    texts_or_lists,
    typed_classes,
    whole_numbers,
)
from oneof.candidates.columns.weights import read_weighted_columns
from oneof.candidates.labels import PLACEHOLDERS, fold_case, fold_tokens, sort_labels, unknown_label
from oneof.candidates.readers.collections import read_strings, split_text
from oneof.candidates.readers.literals import LISTS, read_list
from oneof.candidates.readers.pairs import read_pairs_text
from oneof.candidates.row_weights import WeightOptions
from oneof.candidates.sets import CandidateSets
from oneof.errors import DataError, LabelError
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl

_ALL_SETS_FULL = (
    "every row is unlabeled, so there is nothing to learn from: a set of all classes counts as a missing label. "
    "Name the classes (--classes) if there are more than those in the column."
)


def read_label_columns(
    frame: "pl.DataFrame",
    names: Sequence[str],
    *,
    separator: str = "|",
    classes: Sequence[str] | None = None,
    weighted: bool = False,
    weights: str | None = None,
    kind: str = "likelihood",
    prior: Any = None,
    rest: bool | str = False,
    folds_case: bool = False,
    missing: Sequence[str] = (),
) -> CandidateSets:
    """Return the candidate sets in one column, or in several columns of 0 and 1 or of weights.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        One column, whose cells are text ("a|b"), lists or whole numbers; or several columns of 0 and 1, whose names are
        the classes.
    separator : str, default="|"
        The text between two labels; "[]" if cells are lists written as text, such as '["a", "b"]' or "['a', 'b']".
    classes : sequence of str, optional
        The classes, as written in the table; by default those that occur.
    weighted : bool, default=False
        The labels have weights. One column contains text ("a:0.7|b:0.3"), or structs whose fields are the labels;
        several columns contain numbers, the weights of the classes that are their names. Cells without weights are
        sets.
    weights : str, optional
        The column of the weights of the labels in the other column: lists, text ("0.7|0.3"), or one number. It implies
        `weighted`.
    kind, prior, rest
        See `CandidateSets.from_weights`; they apply to weights only.
    folds_case : bool, default=False
        Labels of one column, and `classes`, are read by `fold_case`, without upper case, underscores, hyphens between
        letters and repeated spaces, so that spellings that differ in these only are one class. Their weights in a row
        are those of a repeated label.
    missing : sequence of str
        Labels that are left out of sets and of weights, in any case; a row with no other label is unlabeled.

    Raises
    ------
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    DataError
        If `classes`, `weights` or `folds_case` is given with several columns.
    """
    if folds_case:
        classes, rest = fold_names(names, classes, rest)
    missing = sorted(fold_tokens(missing, folds_case=folds_case))
    options = WeightOptions(kind, prior, rest)
    try:
        if len(names) == 1 and (not weighted or weights is not None):
            frame = frame.with_columns(parse_lists(frame[names[0]], separator))
        if weighted or weights is not None:
            candidates = CandidateSets._from_likelihoods(
                *read_weighted_columns(
                    frame, names, weights, separator, classes, options, folds_case=folds_case, missing=missing
                )
            )
        elif len(names) > 1:
            candidates = read_indicator_columns(frame, names, classes)
        else:
            cells = frame[names[0]]
            if folds_case:
                cells, separator = fold_labels(cells), separator.casefold()
            candidates = _read_column(cells, separator, classes, missing)
    except LabelError as error:
        raise (error.because(AMBIGUOUS_SIGNS) if error.cause == "signs" else error) from None
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(
            f"only one class occurs ({only[0]!r}). A classifier needs at least two." if only else ALL_UNLABELED
        )
    if candidates.is_unlabeled.all():
        raise LabelError(_ALL_SETS_FULL)
    return candidates


def match_true_labels(cells: Iterable[Any], classes: Labels) -> tuple[Labels, dict[int, str]]:
    """Return the class of each cell, None for a missing label, and by row the texts of cells that are not a class."""
    by_text = {_as_written(label): label for label in classes.tolist()}
    values = list(cells)
    truth = np.full(len(values), None, dtype=object)
    unknown: dict[int, str] = {}
    has_numbers = classes.dtype.kind in "iuf"
    for row, cell in enumerate(values):
        text = "" if cell is None else _as_written(cell)
        if has_numbers and text not in by_text and (number := parse_whole_number(text)) is not None:
            text = str(number)
        if text in by_text:
            truth[row] = by_text[text]
        elif text not in ("", "nan"):
            unknown[row] = text
    return truth, unknown


def match_checked_labels(
    cells: "pl.Series",
    classes: Labels,
    *,
    separator: str = "|",
    has_weights: bool = False,
    folds_case: bool = False,
    missing: Sequence[str] = (),
    adds_classes: bool = False,
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each cell, None if it has none, and the sorted labels that are not classes.

    A cell is the name of a class, or is read as a cell of the label column, of which it must have one label.

    Parameters
    ----------
    cells : polars.Series
    classes : ndarray of shape (n_classes,)
        The classes of the label column. New labels are of their type, and -1 is missing unless it is one of them.
    separator, folds_case, missing
        Those of the label column; see `read_label_columns`.
    has_weights : bool, default=False
        Whether a cell of the label column may have weights; that of a single label has no effect.
    adds_classes : bool, default=False
        Whether a label that is not a class is a new class rather than an error.

    Raises
    ------
    LabelError
        If the column or a cell cannot be read, or a cell has several labels or an unknown one; the error names the
        first row, and lists further ones.
    """
    values = texts_or_lists(cells)
    if contains_nested_lists(cells):
        raise LabelError(f"a checked label must be one label; column {cells.name!r} has lists within lists.")
    by_text = {_as_written(label): label for label in classes.tolist()}
    labels: list[Any] = []
    read: dict[Any, Any] = {}
    errors: dict[Any, LabelError] = {}
    for row, value in enumerate(values if isinstance(values, list) else values.to_list()):
        cell = value if value is None or isinstance(value, str) else tuple(value)
        if cell not in read and cell not in errors:
            try:
                text = _single_text(row, cell, by_text, separator, missing, has_weights=has_weights, folds=folds_case)
                read[cell] = None if text is None else _match(row, text, by_text, classes, adds_classes=adds_classes)
            except LabelError as error:
                errors[cell] = error
        labels.append(cell)
    raise_together([*errors.values()], sum(cell in errors for cell in labels))
    known = set(classes.tolist())
    new = sort_labels({label for label in read.values() if label is not None and label not in known})
    return [read[cell] for cell in labels], new


def _single_text(
    row: int,
    cell: str | tuple[Any, ...] | None,
    by_text: Mapping[str, Any],
    separator: str,
    missing: Sequence[str],
    *,
    has_weights: bool,
    folds: bool,
) -> str | None:
    """Return the one label of a cell as text, None if it has none."""
    if cell is None:
        return None
    members: Sequence[Any]
    if isinstance(cell, tuple):
        members = [label_to_text(member) for member in cell if member is not None]
    elif (fold_case(cell) if folds else cell.strip()) in by_text:
        members = [cell]
    elif has_weights:
        members = [label for label, _ in read_pairs_text(row, cell, separator)[0] or ()]
    else:
        members = (read_list(row, cell) if separator == LISTS else split_text(row, cell, separator)[0]) or ()
    texts = [fold_case(member) if folds else member.strip() for member in members]
    kept = dict.fromkeys(text for text in texts if text.lower() not in {"", "nan", *missing} or text in by_text)
    if len(kept) > 1:
        shown = cell if isinstance(cell, str) else [*cell]
        raise LabelError(
            f"{shown!r} has several labels. Give the one that was checked, or leave the cell empty.",
            row=row,
            label=shown,
        )
    return next(iter(kept), None)


def _match(row: int, text: str, by_text: Mapping[str, Any], classes: Labels, *, adds_classes: bool) -> Any:
    """Return the class of a text, or its label in the type of the classes; None for -1 among other numbers."""
    if text in by_text:
        return by_text[text]
    has_numbers = classes.dtype.kind in "iuf"
    number = parse_whole_number(text) if has_numbers else None
    if number is not None and str(number) in by_text:
        return by_text[str(number)]
    if number == -1:
        return None
    if adds_classes and has_numbers and number is None:
        raise LabelError(
            f"{text!r} is not a whole number, and all labels are. Correct it, or name all classes (--classes).",
            row=row,
            label=text,
        )
    if adds_classes and text.lower() in PLACEHOLDERS:
        raise LabelError(
            f"{text!r} is not a class. Leave the cells of rows without a checked label empty, or add --missing {text}.",
            row=row,
            label=text,
        )
    if adds_classes and (has_numbers or all(isinstance(label, str) for label in classes.tolist())):
        return number if has_numbers else text
    raise unknown_label(row, text, classes)


def read_indicator_columns(
    frame: "pl.DataFrame", names: Sequence[str], classes: Sequence[str] | None = None
) -> CandidateSets:
    """Return the candidate sets in columns of 0 and 1, whose names are the classes."""
    if classes is not None:
        raise DataError(INDICATOR_CLASSES)
    columns = []
    for name in names:
        numbers = strict_numbers(booleans_to_digits(frame[name]))
        if numbers is None:
            raise LabelError(f"column {name!r} must contain 0 and 1, as one of several label columns.")
        columns.append(numbers.to_numpy())
    return CandidateSets.from_indicator(np.column_stack(columns), classes=np.asarray(names))


def _read_column(
    cells: "pl.Series", separator: str, classes: Sequence[str] | None, missing: Sequence[str]
) -> CandidateSets:
    import polars as pl

    if missing:
        cells = drop_missing_labels(cells, separator, missing)
    check_any_label(cells)
    if classes is None or cells.dtype != pl.String:
        check_no_records(cells)
    if isinstance(cells.dtype, pl.List | pl.Array):
        sets = cells.to_list()
        check_flat_lists(cells)
        inner = cells.dtype.inner
        numeric = isinstance(inner, pl.DataType | type) and inner.is_numeric()
        return CandidateSets.from_sets(sets, classes=typed_classes(classes, numbers=numeric))
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if classes is None and (cells.dtype == pl.String or cells.dtype.is_numeric()):
        check_recurring(cells, separator)
    if cells.dtype == pl.String:
        numbers = whole_numbers(cells, classes)
        if numbers is None:
            known = typed_classes(classes, numbers=False)
            check_texts(cells.to_list(), separator, known)
            return CandidateSets._from_validated(*read_strings(cells, separator, known))
        cells = numbers
    if cells.dtype == pl.Boolean:
        return CandidateSets._from_validated(
            *read_strings(cells.cast(pl.String), "|", typed_classes(classes, numbers=False))
        )
    if not cells.dtype.is_numeric():
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {name_type(cells.dtype)}.")
    return _read_numbers(cells, classes)


def _read_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> CandidateSets:
    values = cells.to_numpy() if cells.null_count() == 0 else cells.cast(float).fill_null(float("nan")).to_numpy()
    known = typed_classes(classes, numbers=True)
    candidates = CandidateSets.from_labels(values, classes=known)
    if known is None and candidates.classes.dtype.kind == "f":  # whole numbers with missing values are floats
        return CandidateSets(candidates.mask, candidates.classes.astype(np.int64))
    return candidates


def _as_written(label: Any) -> str:
    """Return a label as text, so that the numbers 3 and 3.0 and the text "3" are equal."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()
