"""Label columns of tables and streams as candidate sets, and columns of true and checked labels.

`LabelColumns.read` turns the columns of a table or of a batch into values and calls `read_cells`, in which a label is
its text. The labels of a table are then numbers if all of them are whole numbers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oneof.candidates.cells import (
    DEFAULT_SEPARATOR,
    LabelFormat,
    ParsedCells,
    at_row,
    describe_unreadable,
    empty_set,
    parse_number,
    raise_together,
    read_cells,
    with_number,
)
from oneof.candidates.encoding import WeightOptions, encode_cells
from oneof.candidates.labels import (
    AMBIGUOUS_SIGNS,
    PLACEHOLDERS,
    clean,
    label_to_text,
    sort_labels,
    unknown_label,
    warn_of_minus_one,
)
from oneof.candidates.matrices import read_indicator, read_weights
from oneof.candidates.row_weights import split_weights, zero_weights
from oneof.candidates.sets import CandidateSets
from oneof.candidates.spellings import Spellings
from oneof.errors import DataError, InputError, LabelError
from oneof.messages import shorten
from oneof.typing import Evidence, Floats, Labels, Mask

if TYPE_CHECKING:
    import polars as pl

OnUnreadable: TypeAlias = Callable[[dict[int, LabelError]], None]
"""Function that is called with the errors of the rows that cannot be read, by row."""

_ALL_UNLABELED = "every row is unlabeled. Label some rows."
_ALL_SETS_FULL = (
    "every row is unlabeled: a set of all classes counts as a missing label. "
    "Name the classes (--classes) if there are more than those in the column."
)
_ONE_CLASS = (
    "only one class occurs ({!r}). A classifier needs at least two: name all classes (`classes` in Python, --classes "
    "on the command line)."
)
_MAX_TYPE = 60
"""Number of characters of a type in errors."""
_MAX_CLASSES_OF_ROWS = 1_000
"""Number of labels up to which they may be as many as rows."""
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.0+)?", re.ASCII)
_SIGNED_INTEGER = re.compile(r"([+-]?\d{1,18})(\.0*)?", re.ASCII)


@dataclass(frozen=True)
class LabelColumns:
    """The label columns of a table or a stream, and the meaning of their cells.

    Attributes
    ----------
    names : sequence of str
        One column of text, lists or whole numbers; several columns of 0 and 1, or of weights, whose names are the
        classes; or none if the labels are a list of text, as in svmlight files.
    form : LabelFormat
        The form of the cells. If it is weighted, one column contains text ("a:0.7|b:0.3"), or structs whose fields are
        the labels, and several columns contain numbers. Cells without weights are sets.
    weights : str, optional
        The column of the weights of the labels in the other column: lists, text ("0.7|0.3"), or one number. The labels
        are then weighted.
    kind, prior
        See `CandidateSets.from_weights`; they apply to weights only.

    Raises
    ------
    DataError
        If classes, `weights` or `folds_case` is given with several columns.
    """

    names: Sequence[str]
    form: LabelFormat = LabelFormat()  # noqa: RUF009 - frozen
    weights: str | None = None
    kind: str = "likelihood"
    prior: Any = None

    def __post_init__(self) -> None:
        WeightOptions(self.kind, self.prior, self.form.rest)  # raises if one of them is invalid
        if self.weights is not None and not self.form.weighted:
            object.__setattr__(self, "form", replace(self.form, weighted=True))
        if len(self.names) < 2:
            return
        if self.form.classes is not None and list(self.form.classes) != [n for n in self.names if n != self.form.rest]:
            raise DataError("classes cannot be given with several label columns, whose names are the classes.")
        if self.weights is not None:
            raise DataError(f"a column of weights ({self.weights!r}) requires one label column, but there are several.")
        if self.form.folds_case:
            raise DataError("--fold-case needs one label column; with several columns, rename those of one class.")

    @property
    def options(self) -> WeightOptions:
        """The meaning of the weights."""
        return WeightOptions(self.kind, self.prior, self.form.rest)

    def read(self, labels: Any, form: LabelFormat, *, is_column: bool = True) -> "ParsedCells | MatrixRows":
        """Return the rows of a table, of a batch, or of a list of cells."""
        if len(self.names) > 1:
            return _read_matrix(labels, self.names, form)
        weights = None if self.weights is None else _weight_values(labels[self.weights])
        cells = labels if isinstance(labels, list) else _values(labels[self.names[0]])
        return read_cells(cells, form, weights=weights, is_column=is_column)

    def encode(
        self, rows: "ParsedCells | MatrixRows", form: LabelFormat, options: WeightOptions | None = None
    ) -> tuple[Evidence, Labels]:
        """Return the mask of rows of sets, or the likelihoods of rows with weights, and the classes."""
        options = options or self.options
        if isinstance(rows, ParsedCells):
            return encode_cells(rows, form, form.classes, options)
        if form.weighted:
            return read_weights(np.ma.masked_invalid(rows.values), [*self.names], options)
        return read_indicator(rows.values, [*self.names])


# -- tables ------------------------------------------------------------------------------------------------------------


def read_label_columns(
    frame: "pl.DataFrame", columns: LabelColumns, on_unreadable: OnUnreadable | None = None
) -> CandidateSets:
    """Return the candidate sets in one column, or in several columns of 0 and 1 or of weights.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : LabelColumns
    on_unreadable : callable, optional
        Rows whose labels cannot be read are unlabeled, and the function is called with their errors by row, if there
        are any. Without it they are one error.

    Raises
    ------
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    """
    import polars as pl

    form = columns.form
    rows = columns.read(frame, form)
    errors = rows.errors_of_rows()
    if errors and on_unreadable is None:
        raise_together(errors)
    if errors and on_unreadable is not None:
        on_unreadable(errors)
    try:
        if isinstance(rows, ParsedCells):
            rows, form = _use_numbers(rows, form)
            _check_column(rows, form, is_listed=isinstance(frame[columns.names[0]].dtype, pl.List | pl.Array))
        evidence, known = columns.encode(rows, form)
        build = CandidateSets._from_validated if evidence.dtype == bool else CandidateSets._from_likelihoods
        return _check_classes(build(evidence, known))
    except LabelError as error:
        if not errors or error.row is not None:
            raise
        if rows.is_empty or 2 * len(errors) > frame.height:
            raise_together(errors)
        raise error.because(f"{error.reason} {describe_unreadable(errors)}.") from None


def _use_numbers(cells: ParsedCells, form: LabelFormat) -> tuple[ParsedCells, LabelFormat]:
    """Return cells and classes whose labels are numbers, if all of them are whole numbers."""
    rest = form.key(form.rest) if isinstance(form.rest, str) else None
    labels = [label for label in cells.counts_of_labels if form.key(label) != rest]
    texts = [*labels, *(form.classes or ())]
    if not labels or not all(_is_whole(str(text)) for text in texts):
        if form.classes is None:
            check_categories(labels, cells)
        return cells, form
    number = {label: parse_whole_number(str(label)) for label in texts}
    pairs = [row and [(number.get(label, label), weight) for label, weight in row] for row in cells.pairs]
    classes = None if form.classes is None else [number[name] for name in form.classes]
    return replace(cells, pairs=pairs), replace(form, classes=classes)


def check_categories(labels: Iterable[str], cells: ParsedCells | None = None) -> None:
    """Raise if all labels are numbers, and some are fractions; the error names the row of the cells."""
    numbers = {label: parse_number(label) for label in labels}
    fraction = next((label for label, number in numbers.items() if number and not number.is_integer()), None)
    if fraction is not None and None not in numbers.values():
        raise LabelError(
            f"labels must not be continuous; got {fraction!r}. Name the classes (--classes) if numbers are classes.",
            row=None if cells is None else cells.first_row(fraction),
            label=fraction,
        )


def _values(cells: "pl.Series") -> list[Any]:
    """Return the values of a column of labels; categories and booleans are text."""
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        cells = cells.cast(pl.String)
    if cells.dtype.is_temporal() or cells.dtype in (pl.Binary, pl.Object):
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {name_type(cells.dtype)}.")
    return cells.to_list()


def _weight_values(cells: "pl.Series") -> list[Any]:
    import polars as pl

    if not isinstance(cells.dtype, pl.List | pl.Array) and not (cells.dtype == pl.String or cells.dtype.is_numeric()):
        raise LabelError(f"weights must be numbers, text or lists; column {cells.name!r} has type {cells.dtype}.")
    return cells.to_list()


def _is_whole(text: str) -> bool:
    return _WHOLE_NUMBER.fullmatch(text) is not None


def parse_whole_number(text: str) -> int | None:
    """Return text such as "3" or "3.0" as an integer; None for other text, such as "0.7", "inf" and "03"."""
    return int(text.partition(".")[0]) if _is_whole(text) else None


def _check_column(cells: ParsedCells, form: LabelFormat, *, is_listed: bool) -> None:
    """Raise if the labels of a column as a whole are names of rows, or -1 and 1; warn if -1 looks like a class."""
    counts = cells.counts_of_labels
    n_labeled = sum(n for row, n in zip(cells.pairs, cells.counts(), strict=True) if row)
    if not counts:
        raise LabelError(_ALL_UNLABELED)
    if form.classes is not None or form.weighted:
        return
    if len(counts) > max(_MAX_CLASSES_OF_ROWS, n_labeled // 2) and not is_listed:
        first = next(iter(counts))
        raise LabelError(
            f"the {n_labeled:,} cells have {len(counts):,} different labels, such as {shorten(repr(first))}, and most "
            "classes cannot be learned. Check the label column and --separator, or name the classes (--classes).",
            label=first,
        )
    check_marks(counts, cells.n_marks)


def check_marks(counts: Mapping[Any, int], n_marks: int) -> None:
    """Raise or warn if -1, with which rows are marked as unlabeled, may be a class of these labels."""
    if n_marks and {str(label) for label in counts} == {"1"}:
        raise LabelError(AMBIGUOUS_SIGNS, cause="signs")
    if n_marks and counts and all(_is_whole(str(label)) for label in counts):
        warn_of_minus_one([*map(int, counts)], n_marks, max(counts.values()))


def _check_classes(candidates: CandidateSets) -> CandidateSets:
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(_ONE_CLASS.format(only[0]) if only else _ALL_UNLABELED)
    if candidates.is_unlabeled.all():
        raise LabelError(_ALL_SETS_FULL)
    return candidates


def name_type(dtype: Any) -> str:
    """Return the name of a type of polars; the fields of objects are left out."""
    return str(dtype).partition("(")[0] if len(str(dtype)) > _MAX_TYPE else str(dtype)


def number_to_text(text: str) -> str:
    """Return +1, 1 and 1.0, the labels of svmlight files, as the same text; other text is unchanged."""
    match = _SIGNED_INTEGER.fullmatch(text)
    return str(int(match[1])) if match else text


# -- several columns of numbers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixRows:
    """Columns of 0 and 1, or of weights.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        NaN in rows that are unlabeled or cannot be read.
    errors : dict of int to LabelError
        The errors of the rows that cannot be read.
    """

    values: Floats
    errors: dict[int, LabelError]

    @property
    def is_set(self) -> Mask:
        """(n,): True for rows without numbers."""
        return np.asarray(np.isnan(self.values).all(axis=1))

    @property
    def is_empty(self) -> bool:
        """Whether no row has labels."""
        return bool(self.is_set.all())

    def errors_of_rows(self) -> dict[int, LabelError]:
        """Return the errors of the rows that cannot be read, in the order of the rows."""
        return dict(sorted(self.errors.items()))


def _read_matrix(frame: "pl.DataFrame", names: Sequence[str], form: LabelFormat) -> MatrixRows:
    """Return columns of 0 and 1, or of weights; a row of empty cells is unlabeled, any other empty cell an error."""
    import polars as pl

    columns = [frame[name] for name in names]
    if not form.weighted:  # the booleans of CSV files
        digits = {"true": "1", "True": "1", "false": "0", "False": "0"}
        columns = [cells.str.strip_chars().replace(digits) if cells.dtype == pl.String else cells for cells in columns]
    filled = [cells.fill_nan(None) if cells.dtype.is_float() else cells for cells in columns]
    is_unlabeled = np.all([cells.is_null().to_numpy() for cells in filled], axis=0)
    values = np.column_stack([cells.cast(pl.Float64, strict=False).to_numpy() for cells in filled]).astype(np.float64)
    is_valid = np.isfinite(values) & (values >= 0 if form.weighted else np.isin(values, (0, 1)))
    is_wrong = ~(is_valid | is_unlabeled[:, None])
    requirement = "numbers of at least 0, the weights of its class" if form.weighted else "0 and 1"
    errors: dict[int, LabelError] = {}
    for row in np.flatnonzero(is_wrong.any(axis=1)).tolist():
        column = int(np.argmax(is_wrong[row]))
        cell = columns[column][row]
        shown = "an empty cell" if cell is None else repr(cell)
        errors[row] = LabelError(
            f"column {names[column]!r} must contain {requirement}, as one of several label columns; got {shown}. Leave "
            "all label columns of the row empty if it is unlabeled; if the columns have labels, not numbers, join them "
            "in one column, such as 'finch|wren'.",
            row=row,
            label=cell,
        )
    is_class = np.array([name != form.rest for name in names])
    has_rest = (values[:, ~is_class] > 0).any(axis=1) | (form.rest is True)
    is_empty = ~is_wrong.any(axis=1) & ~is_unlabeled & ~(values[:, is_class] > 0).any(axis=1) & ~has_rest
    for row in np.flatnonzero(is_empty).tolist():
        errors[row] = zero_weights(row) if form.weighted else at_row(empty_set("the candidate set is empty"), row)
    values[list(errors)] = np.nan
    return MatrixRows(values, errors)


# -- streams -----------------------------------------------------------------------------------------------------------


class LabelReader:
    """Reader of the labels of batches.

    Parameters
    ----------
    columns : LabelColumns
        Without classes, only `count` can be called. Posteriors require a prior, because a batch has no mean of all
        rows.
    on_unreadable : callable, optional
        See `read_label_columns`; its rows are those of a batch, and only `evidence` calls it. Without it, a
        batch ends at the first row that cannot be read.

    Attributes
    ----------
    classes : list of str or None
    """

    def __init__(self, columns: LabelColumns, on_unreadable: OnUnreadable | None = None) -> None:
        if columns.kind == "posterior" and columns.prior is None:
            raise InputError('`prior` must be given for kind="posterior"; a batch does not contain all rows.')
        given = columns.form.classes
        self.classes = None if given is None else [str(label_to_text(name)) for name in given]
        self._columns, self._on_unreadable = columns, on_unreadable
        self._form = replace(columns.form, classes=self.classes)
        if self.classes is not None and len({*map(self._form.key, self.classes)}) < max(2, len(self.classes)):
            raise LabelError(f"the classes must be two or more distinct names; got {', '.join(self.classes)}.")

    def evidence(self, labels: Any) -> Evidence:
        """Return the mask of a batch, or its (n, K) weights, with row maxima of 1, if a row has any.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        evidence, _ = self._columns.encode(self._read(labels, self._on_unreadable), self._form)
        if not self._form.weighted:
            return evidence
        mask, row_weights = split_weights(evidence)
        return mask if row_weights is None else row_weights.over(mask)

    def posterior_sum(self, labels: Any) -> tuple[Floats, int]:
        """Return the sum over the rows with weights of their probabilities, (K,), and the number of these rows.

        The mean over all batches is the prior of ``kind="posterior"``.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        rows, rest = self._read(labels, None), self._form.rest
        n_classes = len(self.classes or [name for name in self._columns.names if name != rest])
        likelihoods, _ = self._columns.encode(rows, self._form, WeightOptions("posterior", np.ones(n_classes), rest))
        posterior = likelihoods[~rows.is_set]
        posterior = posterior / posterior.max(axis=1, keepdims=True, initial=0)  # their sum may overflow
        return (posterior / posterior.sum(axis=1, keepdims=True)).sum(axis=0), len(posterior)

    def count(self, labels: Any) -> "LabelCounts":
        """Return the numbers of rows of the labels of a batch.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        cells, of_weights = self._read(labels, None), self._columns.weights is not None
        assert isinstance(cells, ParsedCells)
        counts: Counter[tuple[str, str]] = Counter()
        for pairs, count in zip(cells.pairs, cells.counts(), strict=True):
            for label, weight in pairs or ():
                counts[label, "" if of_weights else with_number(label, weight) or ""] += count
        return LabelCounts(counts, cells.n_marks)

    def _read(self, labels: Any, on_unreadable: OnUnreadable | None) -> ParsedCells | MatrixRows:
        """Return the rows of a batch, of which those that cannot be read are unlabeled or an error."""
        rows = self._columns.read(labels, self._form, is_column=False)
        errors = rows.errors_of_rows()
        if errors and on_unreadable is not None:
            on_unreadable(errors)
        if errors and self._on_unreadable is None:
            is_unknown = next(iter(errors.values())).cause == "unknown label"
            raise_together(errors, "Name all classes beforehand (--classes)." * is_unknown)
        return rows


@dataclass(frozen=True)
class LabelCounts:
    """Numbers of rows of the labels of a stream.

    Attributes
    ----------
    counts : Counter
        By the label and, if its weight is a whole number, the label with the number as a part of its name.
    n_marks : int
        The number of rows marked as unlabeled by -1.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    n_marks: int = 0

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        return LabelCounts(self.counts + other.counts, self.n_marks + other.n_marks)

    def classes(self, form: LabelFormat) -> dict[str, int]:
        """Return the classes with their numbers of rows, sorted by number if all are whole numbers, else by text.

        With `folds_case`, a class has its most frequent spelling. The number of a label is a part of the name if there
        is a label of this name, as in "CHEBI:15377".

        Raises
        ------
        LabelError
            If there are fewer than two classes, or the labels are fractions.
        """
        keys = {form.key(label) for label, _ in self.counts}
        rest = form.key(form.rest) if isinstance(form.rest, str) else None
        spellings, rows = Spellings(), Counter[str]()
        for (label, name), count in self.counts.items():
            if form.key(label) != rest and not (name and form.key(name) in keys):
                rows[form.key(label)] += count
                spellings.add(label, count)
        counts = {spellings.name(key) if form.folds_case else key: count for key, count in rows.items()}
        check_marks(counts, self.n_marks)
        check_categories(sorted(counts))
        if len(counts) < 2:
            raise LabelError(_ONE_CLASS.format(min(counts)) if counts else _ALL_UNLABELED)
        return dict(sorted(counts.items(), key=(lambda x: int(x[0])) if all(map(_is_whole, counts)) else None))


# -- true and checked labels -------------------------------------------------------------------------------------------


def match_true_labels(
    cells: Iterable[Any],
    classes: Labels,
    *,
    separator: str = DEFAULT_SEPARATOR,
    folds_case: bool = False,
    missing: Sequence[str] = (),
) -> tuple[Labels, dict[int, str]]:
    """Return the class of each cell, None for a missing label, and by row the texts of cells that are not a class.

    The parameters are those of `match_checked_labels`.
    """
    values = list(cells)
    form = _form_of_one(classes, separator, folds_case=folds_case, missing=missing)
    labels, errors = _read_single(values, form)
    unknown = {row: clean(str(values[row])) for row in errors}
    unknown |= {row: label for row, label in enumerate(labels) if label is not None and form.match(label) is None}
    truth = np.array([label and form.match(label) for label in labels] + [None], dtype=object)[:-1]
    return truth, dict(sorted(unknown.items()))


def match_checked_labels(
    cells: "pl.Series",
    classes: Labels,
    *,
    separator: str = DEFAULT_SEPARATOR,
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
    form = _form_of_one(classes, separator, has_weights, folds_case=folds_case, missing=missing)
    labels, errors = _read_single(_values(cells), form)
    spellings = Spellings()
    for label in labels:
        spellings.add(label)
    matched: list[Any] = []
    for row, label in enumerate(labels):
        name = None if label is None else form.match(label)
        if label is not None and name is None:
            try:
                name = _new_class(spellings.name(label) if folds_case else label, classes, adds_classes=adds_classes)
            except LabelError as error:
                errors[row] = at_row(error, row)
        matched.append(name)
    raise_together(errors)
    return matched, sort_labels({label for label in matched if label is not None and form.match(label) is None})


def _form_of_one(
    classes: Labels, separator: str, weighted: bool = False, *, folds_case: bool, missing: Sequence[str]
) -> LabelFormat:
    """Return the format of cells with one label."""
    return LabelFormat(
        separator,
        classes.tolist(),
        weighted,
        folds_case=folds_case,
        missing=[*missing, "nan"],
        is_open=True,
        is_single=True,
    )


def _read_single(values: list[Any], form: LabelFormat) -> tuple[list[str | None], dict[int, LabelError]]:
    """Return the label of each cell as text, None if it has none, and the errors of cells by their rows."""
    cells = read_cells(values, form)
    errors, labels = cells.errors_of_rows(), []
    for row, pairs in enumerate(map(cells.pairs.__getitem__, cells.code.tolist())):
        names = {form.key(label): str(label) for label, _ in reversed(pairs or [])}
        labels.append(next(iter(names.values())) if len(names) == 1 else None)
        if len(names) > 1:
            error = LabelError(
                f"{values[row]!r} has several labels. Give the one that was checked, or leave the cell empty.",
                label=values[row],
            )
            errors[row] = at_row(error, row)
    return labels, errors


def _new_class(label: str, classes: Labels, *, adds_classes: bool) -> Any:
    """Return a label that is not a class in the type of the classes; raise if it cannot be one."""
    has_numbers = classes.dtype.kind in "iuf"
    number = parse_whole_number(label) if has_numbers else None
    if adds_classes and has_numbers and number is None:
        raise LabelError(
            f"{label!r} is not a whole number, and all labels are. Correct it, or name all classes (--classes).",
            label=label,
        )
    if adds_classes and label.lower() in PLACEHOLDERS:
        raise LabelError(
            f"{label!r} is not a class. Leave the cells of rows without a checked label empty, or add --missing "
            f"{label}.",
            label=label,
        )
    if not adds_classes or not (has_numbers or all(isinstance(name, str) for name in classes.tolist())):
        raise unknown_label(None, label, classes)
    return number if has_numbers else label
