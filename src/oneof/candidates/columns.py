"""Label columns of tables and streams as candidate sets, and columns of true and checked labels.

`LabelColumns.read` turns the columns of a table or of a batch into values and calls `read_cells`, in which a label is
its text. `LabelCounts.classes` finds the classes in the labels of a table, or of all batches of a stream. The labels of
a table are then numbers if all of them are whole numbers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from oneof.candidates import encoding
from oneof.candidates.cells import (
    LabelFormat,
    ParsedCells,
    at_row,
    describe_unreadable,
    empty_set,
    parse_number,
    raise_together,
    read_cells,
    zero_weights,
)
from oneof.candidates.labels import (
    AMBIGUOUS_SIGNS,
    PLACEHOLDERS,
    clean,
    label_to_text,
    most_frequent_spellings,
    object_vector,
    parse_whole_number,
    sort_labels,
    unknown_label,
    warn_of_minus_one,
)
from oneof.candidates.sets import CandidateSets
from oneof.errors import DataError, InputError, LabelError
from oneof.messages import shorten
from oneof.typing import Evidence, Floats, Labels, Mask

if TYPE_CHECKING:
    import polars as pl

OnUnreadable: TypeAlias = Callable[[dict[int, LabelError]], None]
"""Function that is called with the errors of the rows that cannot be read, by row."""

_ALL_UNLABELED = (
    "every row is unlabeled. Label some rows; a set of all classes counts as a missing label, unless there are more "
    "classes than those in the column (--classes)."
)
_ONE_CLASS = (
    "only one class occurs ({!r}). A classifier needs at least two: name all classes (`classes` in Python, --classes "
    "on the command line)."
)
_MAX_TYPE = 60
"""Number of characters of a type in errors."""
_MAX_CLASSES_OF_ROWS = 1_000
"""Number of labels up to which they may be as many as rows."""
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
        encoding.WeightOptions(self.kind, self.prior, self.form.rest)  # raises if one of them is invalid
        if self.weights is not None and not self.form.weighted:
            object.__setattr__(self, "form", replace(self.form, weighted=True))
        classes = [name for name in self.names if name != self.form.rest]
        has_others = self.form.classes is not None and list(self.form.classes) != classes
        if len(self.names) > 1 and (has_others or self.weights is not None or self.form.folds_case):
            raise DataError(
                "the names of several label columns are the classes. Name one column of labels, or remove --classes, "
                "--weights and --fold-case."
            )

    def read(self, labels: Any, form: LabelFormat) -> "ParsedCells | MatrixRows":
        """Return the rows of a table, of a batch, or of a list of cells."""
        if len(self.names) > 1:
            return _read_matrix(labels, self.names, form)
        weights = None if self.weights is None else _values(labels[self.weights])
        cells = labels if isinstance(labels, list) else _values(labels[self.names[0]])
        return read_cells(cells, form, weights=weights)

    def encode(self, rows: "ParsedCells | MatrixRows", form: LabelFormat) -> tuple[Evidence, Labels]:
        """Return the mask of rows of sets, or the likelihoods of rows with weights, and the classes."""
        options = encoding.WeightOptions(self.kind, self.prior, form.rest)
        if isinstance(rows, ParsedCells):
            return encoding.encode_cells(rows, form, form.classes, options)
        if form.weighted:
            return encoding.read_weights(np.ma.masked_invalid(rows.values), [*self.names], options)
        return encoding.read_indicator(rows.values, [*self.names])


# -- tables ------------------------------------------------------------------------------------------------------------


def read_label_columns(
    frame: "pl.DataFrame", columns: LabelColumns, on_unreadable: OnUnreadable | None = None
) -> CandidateSets:
    """Return the candidate sets in one column, or in several columns of 0 and 1 or of weights.

    The classes of one column are numbers if all labels are whole numbers.

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
    form = columns.form
    rows = columns.read(frame, form)
    errors = rows.errors
    if on_unreadable is None:
        raise_together(errors)
    elif errors:
        on_unreadable(errors)
    try:
        if isinstance(rows, ParsedCells) and form.classes is None:
            form = replace(form, classes=_classes_of(rows, form, is_listed=frame[columns.names[0]].dtype.is_nested()))
        evidence, known = columns.encode(rows, form)
        numbers = [parse_whole_number(str(name)) for name in known.tolist()]
        if isinstance(rows, ParsedCells) and None not in numbers:
            known = np.array(numbers)
        return _check_classes(CandidateSets._from_weights(evidence, known))
    except LabelError as error:
        if not errors or error.row is not None:
            raise
        if error.reason == _ALL_UNLABELED or 2 * len(errors) > frame.height:
            raise_together(errors)
        raise error.because(f"{error.reason} {describe_unreadable(errors)}.") from None


def _check_classes(candidates: CandidateSets) -> CandidateSets:
    if candidates.shape[1] < 2:
        raise LabelError(_ONE_CLASS.format(candidates.classes.tolist()[0]))
    if candidates.is_unlabeled.all():
        raise LabelError(_ALL_UNLABELED)
    return candidates


def _classes_of(cells: ParsedCells, form: LabelFormat, *, is_listed: bool) -> list[str]:
    """Return the classes of a table; as many labels as rows are names of rows, unless the cells are lists."""
    counts = LabelCounts.from_cells(cells)
    if len(counts.counts) > max(_MAX_CLASSES_OF_ROWS, counts.n_labeled // 2) and not (form.weighted or is_listed):
        first = next(label for label, _ in counts.counts)
        raise LabelError(
            f"the {counts.n_labeled:,} cells have {len(counts.counts):,} different labels, such as "
            f"{shorten(repr(first))}, and most classes cannot be learned. Check the label column and --separator, "
            "or name the classes (--classes).",
            label=first,
        )
    try:
        return [*counts.classes(form)]
    except LabelError as error:
        raise (error if error.label is None else at_row(error, cells.first_row(error.label))) from None


def _values(cells: "pl.Series") -> list[Any]:
    """Return the values of a column of labels or of their weights; categories and booleans are text."""
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        cells = cells.cast(pl.String)
    if cells.dtype.is_temporal() or cells.dtype in (pl.Binary, pl.Object):
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {name_type(cells.dtype)}.")
    return cells.to_list()


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
        The errors of the rows that cannot be read, in the order of the rows.
    """

    values: Floats
    errors: dict[int, LabelError]

    @property
    def is_set(self) -> Mask:
        """(n,): True for rows without numbers."""
        return np.asarray(np.isnan(self.values).all(axis=1))


def _read_matrix(frame: "pl.DataFrame", names: Sequence[str], form: LabelFormat) -> MatrixRows:
    """Return columns of 0 and 1, or of weights; a row of empty cells is unlabeled, any other empty cell an error."""
    import polars as pl

    columns = [frame[name] for name in names]
    booleans = {} if form.weighted else {"true": "1", "True": "1", "false": "0", "False": "0"}  # of CSV files

    def read_text(cells: pl.Series) -> pl.Series:
        text = cells.str.strip_chars()
        missing = [token for token in text.unique() if token == "" or form.is_missing_word(token)]
        return text.replace(booleans | dict.fromkeys(missing))

    columns = [read_text(cells) if cells.dtype == pl.String else cells for cells in columns]
    filled = [cells.fill_nan(None) if cells.dtype.is_float() else cells for cells in columns]
    is_unlabeled = np.all([cells.is_null().to_numpy() for cells in filled], axis=0)
    values = np.column_stack([cells.cast(pl.Float64, strict=False).to_numpy() for cells in filled]).astype(np.float64)
    is_valid = np.isfinite(values) & (values >= 0 if form.weighted else np.isin(values, (0, 1)))
    is_wrong = ~(is_valid | is_unlabeled[:, None])
    requirement = "numbers of at least 0" if form.weighted else "0 and 1"
    errors: dict[int, LabelError] = {}
    for row in np.flatnonzero(is_wrong.any(axis=1)).tolist():
        column = int(np.argmax(is_wrong[row]))
        cell = columns[column][row]
        shown = "an empty cell" if cell is None else repr(cell)
        errors[row] = LabelError(
            f"column {names[column]!r} must contain {requirement}, as one of several label columns; got {shown}. "
            "Leave all of them empty if the row is unlabeled, add --weighted if they have weights, or join labels in "
            "one column, such as 'finch|wren'.",
            row=row,
            label=cell,
        )
    has_label = (values > 0).any(axis=1) | (form.rest is True)
    for row in np.flatnonzero(~(has_label | is_unlabeled | is_wrong.any(axis=1))).tolist():
        errors[row] = zero_weights(row) if form.weighted else empty_set("the candidate set is empty", row=row)
    values[list(errors)] = np.nan
    return MatrixRows(values, dict(sorted(errors.items())))


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
        evidence, known = self._columns.encode(self._read(labels, self._on_unreadable), self._form)
        return CandidateSets._from_weights(evidence, known).evidence

    def posterior_sum(self, labels: Any) -> tuple[Floats, int]:
        """Return the sum over the rows with weights of their probabilities, (K,), and the number of these rows.

        The mean over all batches is the prior of ``kind="posterior"``.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        rows, rest = self._read(labels, None), self._form.rest
        n_classes = len(self.classes or [name for name in self._columns.names if name != rest])
        columns = replace(self._columns, kind="posterior", prior=np.ones(n_classes))
        likelihoods, _ = columns.encode(rows, self._form)
        posterior = likelihoods[~rows.is_set]
        return posterior.sum(axis=0), len(posterior)

    def count(self, labels: Any) -> "LabelCounts":
        """Return the numbers of rows of the labels of a batch.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        cells = self._read(labels, None)
        assert isinstance(cells, ParsedCells)
        return LabelCounts.from_cells(cells, may_be_named=self._columns.weights is None)

    def _read(self, labels: Any, on_unreadable: OnUnreadable | None) -> ParsedCells | MatrixRows:
        """Return the rows of a batch, of which those that cannot be read are unlabeled or an error."""
        rows = self._columns.read(labels, self._form)
        errors = rows.errors
        if errors and self._on_unreadable is None:
            is_unknown = next(iter(errors.values())).cause == "unknown label"
            raise_together(errors, "Name all classes beforehand (--classes)." * is_unknown)
        if errors and on_unreadable is not None:
            on_unreadable(errors)
        return rows


@dataclass(frozen=True)
class LabelCounts:
    """Numbers of rows of the labels of a table or of a stream.

    Attributes
    ----------
    counts : Counter
        By the label and, if its weight is a whole number, the label with the number as a part of its name.
    n_marks : int
        The number of rows marked as unlabeled by -1.
    n_labeled : int
        The number of rows with labels.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    n_marks: int = 0
    n_labeled: int = 0

    @classmethod
    def from_cells(cls, cells: ParsedCells, *, may_be_named: bool = False) -> "LabelCounts":
        """Count the labels of cells, also with their weights as a part of the names."""
        counts: Counter[tuple[str, str]] = Counter()
        n_rows: Counter[bool] = Counter()
        for pairs, count in cells.counted():
            n_rows[bool(pairs)] += count * (pairs is not None)
            for label, weight in pairs or ():
                is_whole = may_be_named and weight and float(weight).is_integer()
                counts[label, f"{label}:{weight:.0f}" if is_whole else ""] += count
        return cls(counts, n_rows[False], n_rows[True])

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        return LabelCounts(self.counts + other.counts, self.n_marks + other.n_marks, self.n_labeled + other.n_labeled)

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
        spellings, counts = Counter[str](), Counter[str]()
        for (label, name), count in self.counts.items():
            if form.key(label) != form.rest_key and not (name and form.key(name) in keys):
                spellings[label] += count
                counts[form.key(label)] += count
        if form.folds_case:
            names = most_frequent_spellings(spellings)
            counts = Counter({names[key]: count for key, count in counts.items()})
        if self.n_marks and [*counts] == ["1"]:
            raise LabelError(AMBIGUOUS_SIGNS, cause="signs")
        numbers = {label: parse_number(label) for label in counts}
        fractions = [label for label, number in numbers.items() if number and not number.is_integer()]
        if fractions and None not in numbers.values():
            reason = f"labels must not be continuous; got {fractions[0]!r}. Name them (--classes) if they are classes."
            raise LabelError(reason, label=fractions[0])
        if len(counts) < 2:
            raise LabelError(_ONE_CLASS.format(min(counts)) if counts else _ALL_UNLABELED)
        are_whole = all(parse_whole_number(label) is not None for label in counts)
        if self.n_marks and are_whole:
            warn_of_minus_one([*map(int, counts)], self.n_marks, max(counts.values()))
        return dict(sorted(counts.items(), key=(lambda item: int(item[0])) if are_whole else None))


# -- true and checked labels -------------------------------------------------------------------------------------------


def match_true_labels(cells: Iterable[Any], classes: Labels, **options: Any) -> tuple[Labels, dict[int, str]]:
    """Return the class of each cell, None for a missing label, and by row the texts of cells that are not a class.

    The options are `separator`, `folds_case` and `missing` of `match_checked_labels`.
    """
    values = list(cells)
    labels, errors, form = _read_single(values, classes, **options)
    unknown = {row: clean(str(values[row])) for row in errors}
    unknown |= {row: label for row, label in enumerate(labels) if label is not None and form.match(label) is None}
    truth = object_vector(None if row in unknown else label for row, label in enumerate(labels))
    return truth, dict(sorted(unknown.items()))


def match_checked_labels(
    cells: "pl.Series", classes: Labels, *, has_weights: bool = False, adds_classes: bool = False, **options: Any
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each cell, None if it has none, and the sorted labels that are not classes.

    A cell is the name of a class, or is read as a cell of the label column, of which it must have one label.

    Parameters
    ----------
    cells : polars.Series
    classes : ndarray of shape (n_classes,)
        The classes of the label column. New labels are of their type, and -1 is missing unless it is one of them.
    has_weights : bool, default=False
        Whether a cell of the label column may have weights; that of a single label has no effect.
    adds_classes : bool, default=False
        Whether a label that is not a class is a new class rather than an error.
    **options
        `separator`, `folds_case` and `missing` of the `LabelFormat` of the label column.

    Raises
    ------
    LabelError
        If the column or a cell cannot be read, or a cell has several labels or an unknown one; the error names the
        first row, and lists further ones.
    """
    labels, errors, form = _read_single(_values(cells), classes, weighted=has_weights, **options)
    counts = Counter(label for label in labels if label is not None and form.match(label) is None)
    names = most_frequent_spellings(counts) if form.folds_case else {}
    new: set[Any] = set()
    for row, label in enumerate(labels):
        if label in counts:
            try:
                labels[row] = _new_class(names.get(form.key(label), label), classes, adds_classes=adds_classes)
                new.add(labels[row])
            except LabelError as error:
                errors[row] = at_row(error, row)
    raise_together(errors)
    return labels, sort_labels(new)


def _read_single(
    values: list[Any], classes: Labels, *, missing: Sequence[str] = (), **options: Any
) -> tuple[list[Any], dict[int, LabelError], LabelFormat]:
    """Return the class or the new label of each cell, None without one, the errors by row, and the format.

    A cell is the name of a class before it is anything else, and an empty list is not a label.
    """
    names, tokens = classes.tolist(), [*missing, "nan"]
    form = LabelFormat(classes=names, missing=tokens, is_single=True, may_be_empty=True, **options)
    cells = read_cells(values, form)
    labels = [pairs[0][0] if pairs else None for pairs in cells.pairs]
    return [labels[code] for code in cells.code.tolist()], cells.errors, form


def _new_class(label: str, classes: Labels, *, adds_classes: bool) -> Any:
    """Return a label that is not a class in the type of the classes; raise if it cannot be one."""
    has_numbers = classes.dtype.kind in "iuf"
    name = parse_whole_number(label) if has_numbers else label
    are_text = all(isinstance(known, str) for known in classes.tolist())
    if not adds_classes or name is None or label.lower() in PLACEHOLDERS or not (has_numbers or are_text):
        raise unknown_label(None, label, classes)
    return name
