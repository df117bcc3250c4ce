"""Label columns of one table as candidate sets.

The type of a label depends on the entire column: text is read as numbers if all of it is whole numbers. An empty cell
is an unlabeled row, and so is -1 unless it is named as a class.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.columns.cells import (
    ALL_UNLABELED,
    INDICATOR_CLASSES,
    ONE_CLASS,
    booleans_to_digits,
    check_any_label,
    check_flat_lists,
    check_no_records,
    check_recurring,
    check_texts,
    count_cell_spellings,
    drop_missing_labels,
    fold_labels,
    fold_names,
    name_type,
    parse_lists,
    strict_numbers,
    typed_classes,
    whole_numbers,
)
from oneof.candidates.columns.unreadable import OnUnreadable, blank_rows, find_unreadable
from oneof.candidates.columns.weights import read_weighted_columns
from oneof.candidates.columns.wrapped import unwrap_cells
from oneof.candidates.labels import fold_tokens
from oneof.candidates.readers.collections import name_classes, read_sets, read_strings
from oneof.candidates.readers.unreadable import CellChecker, describe_unreadable, raise_together
from oneof.candidates.row_weights import WeightOptions
from oneof.candidates.sets import CandidateSets
from oneof.candidates.spellings import Spellings
from oneof.errors import DataError, LabelError

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
    on_unreadable: OnUnreadable | None = None,
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
        letters and repeated spaces, so that spellings that differ in these only are one class. It is named as in
        `classes`, or else by its most frequent spelling. Their weights in a row are those of a repeated label.
    missing : sequence of str
        Labels that are left out of sets and of weights, in any case; a row with no other label is unlabeled.
    on_unreadable : callable, optional
        Rows whose labels cannot be read are unlabeled, and the function is called with their errors by row, if there
        are any. Without it they are one error.

    Raises
    ------
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    DataError
        If `classes`, `weights` or `folds_case` is given with several columns.
    """

    def find() -> dict[int, LabelError]:
        has_weights = weighted or weights is not None
        tokens = fold_tokens(missing, folds_case=folds_case)
        checker = CellChecker(separator, classes, has_weights, rest, folds_case, tokens)
        return find_unreadable(frame, names, checker, weights)

    def read() -> CandidateSets:
        return _read_columns(
            frame, names, separator, classes, WeightOptions(kind, prior, rest), weighted, weights, folds_case, missing
        )

    if on_unreadable is not None:
        errors = find()
        if errors:
            on_unreadable(errors)
            frame = blank_rows(frame, [*names, *([] if weights is None else [weights])], [*errors])
        try:
            return read()
        except LabelError as error:
            if error.row is None and errors:
                raise error.because(f"{error.reason} {describe_unreadable(errors)}".rstrip(".") + ".") from None
            raise
    try:
        return read()
    except LabelError as error:
        errors = find() if error.row is not None or len(names) > 1 else {}
        if error.row is not None or 2 * len(errors) <= frame.height:
            raise_together(errors, error)
        raise  # an error of the column as a whole


def _read_columns(
    frame: "pl.DataFrame",
    names: Sequence[str],
    separator: str,
    classes: Sequence[str] | None,
    options: WeightOptions,
    weighted: bool,
    weights: str | None,
    folds_case: bool,
    missing: Sequence[str],
) -> CandidateSets:
    given = classes
    if folds_case:
        folded, _ = fold_names(names, classes, options.rest)
        classes = classes if weighted or weights is not None else folded
    missing = sorted(fold_tokens(missing, folds_case=folds_case))
    has_pairs = weighted and weights is None
    if len(names) == 1:
        frame = frame.with_columns(unwrap_cells(frame[names[0]], separator, weighted=has_pairs))
    if len(names) == 1 and not has_pairs:
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
        written, spelled = separator, cells
        if folds_case:
            cells, separator = fold_labels(cells), separator.casefold()
        candidates = _read_column(cells, separator, classes, missing)
        if folds_case:
            candidates = _name_classes(candidates, spelled, written, given)
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(ONE_CLASS.format(only[0]) if only else ALL_UNLABELED)
    if candidates.is_unlabeled.all():
        raise LabelError(_ALL_SETS_FULL)
    return candidates


def _name_classes(
    candidates: CandidateSets, cells: "pl.Series", separator: str, classes: Sequence[str] | None
) -> CandidateSets:
    """Return sets whose classes are by `fold_case` with the given names of the classes, or those of the cells."""
    spellings = Spellings(classes or ())
    count_cell_spellings(cells, separator, spellings)
    return CandidateSets._from_validated(
        *name_classes(candidates.mask, candidates.classes, spellings, is_sorted=classes is None)
    )


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
        return CandidateSets._from_validated(*read_sets(sets, typed_classes(classes, numbers=numeric)))
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
