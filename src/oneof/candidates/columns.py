"""Columns of labels in tables and streams as candidate sets.

In a table the type of a label depends on the entire column: text is read as numbers if all of it is whole numbers. In a
stream, which is read batch by batch, a label is its text: 3, 3.0 and "3" are the label "3". An empty cell is an
unlabeled row, and so is -1 unless it is named as a class.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.labels import format_classes
from oneof.candidates.sets import CandidateSets
from oneof.candidates.weight_columns import drop_minus_one, read_weight_cells, read_weight_matrix, strict_numbers
from oneof.candidates.weight_readers import PairRows, WeightOptions, read_pairs
from oneof.errors import DataError, InputError, LabelError
from oneof.typing import Evidence, Floats, Labels, Mask

if TYPE_CHECKING:
    import polars as pl

_ALL_UNLABELED = "every row is unlabeled, so there is nothing to learn from."
_ALL_SETS_FULL = (
    "every row is unlabeled, so there is nothing to learn from: a set of all classes counts as a missing label. "
    "Name the classes (--classes) if there are more than those in the column."
)
_SIGNS = (
    "the column contains only -1 and 1, which may mean two classes, or class 1 and rows without a label. "
    "Name the classes (--classes=-1,1), or leave the cells of unlabeled rows empty."
)
_INDICATOR_CLASSES = "classes cannot be given with several label columns, whose names are the classes."
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.0+)?")
_DECIMAL_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SIGNED_INTEGER = re.compile(r"([+-]?\d{1,18})(\.0*)?")
_FLOAT_OF_INTEGER = re.compile(r"(-?\d{1,18})\.0+")


# -- one table ----------------------------------------------------------------------------------------------------


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
) -> CandidateSets:
    """Return the candidate sets in one column, or in several columns of 0 and 1 or of weights.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        One column, whose cells are text ("a|b"), lists or whole numbers; or several columns of 0 and 1, whose names are
        the classes.
    separator : str, default="|"
        The text between two labels.
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

    Raises
    ------
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    DataError
        If `classes` or `weights` is given with several columns.
    """
    options = WeightOptions(kind, prior, rest)
    try:
        if weighted or weights is not None:
            candidates = _read_weighted_columns(frame, names, weights, separator, classes, options)
        elif len(names) > 1:
            candidates = _read_indicator_columns(frame, names, classes)
        else:
            candidates = _read_column(frame[names[0]], separator, classes)
    except LabelError as error:
        raise (error.because(_SIGNS) if error.cause == "signs" else error) from None
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(
            f"only one class occurs ({only[0]!r}). A classifier needs at least two." if only else _ALL_UNLABELED
        )
    if candidates.is_unlabeled.all():
        raise LabelError(_ALL_SETS_FULL)
    return candidates


def match_true_labels(cells: Iterable[Any], classes: Labels) -> tuple[Labels, "LabelError | None"]:
    """Return the class of each cell, None for a missing label, and the error of the first cell that is not a class."""
    by_text = {_as_written(label): label for label in classes.tolist()}
    values = list(cells)
    truth = np.full(len(values), None, dtype=object)
    for row, cell in enumerate(values):
        text = "" if cell is None else _as_written(cell)
        if text in by_text:
            truth[row] = by_text[text]
        elif text not in ("", "nan"):
            return truth, LabelError(f"{text!r} is not one of the classes.", row=row, label=text, cause="unknown label")
    return truth, None


def _read_indicator_columns(
    frame: "pl.DataFrame", names: Sequence[str], classes: Sequence[str] | None = None
) -> CandidateSets:
    if classes is not None:
        raise DataError(_INDICATOR_CLASSES)
    columns = []
    for name in names:
        numbers = strict_numbers(_booleans_to_digits(frame[name]))
        if numbers is None:
            raise LabelError(f"column {name!r} must contain 0 and 1, as one of several label columns.")
        columns.append(numbers.to_numpy())
    return CandidateSets.from_indicator(np.column_stack(columns), classes=np.asarray(names))


def _read_weighted_columns(
    frame: "pl.DataFrame",
    names: Sequence[str],
    weights: str | None,
    separator: str,
    classes: Sequence[str] | None,
    options: WeightOptions,
) -> CandidateSets:
    import polars as pl

    if len(names) > 1:
        _check_matrix(classes, weights)
        return CandidateSets._from_likelihoods(*read_weight_matrix(frame, names, options))
    cells = frame[names[0]]
    _check_any_label(cells)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        cells = cells.cast(pl.String)
    numeric = cells.dtype.is_numeric()
    if isinstance(cells.dtype, pl.List | pl.Array):
        _check_flat_lists(cells)
        numeric = isinstance(cells.dtype.inner, pl.DataType) and cells.dtype.inner.is_numeric()
    elif cells.dtype == pl.String:
        _check_nonempty_sets(cells.to_list(), separator)
        numbers = _whole_numbers(cells, classes)
        cells, numeric = (cells, False) if numbers is None else (numbers, True)
    elif not numeric and (weights is not None or not isinstance(cells.dtype, pl.Struct)):
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {cells.dtype}.")
    known = _typed_classes(classes, numbers=numeric)
    rows, is_set = read_weight_cells(cells, None if weights is None else frame[weights], separator)
    if numeric:
        rows, is_set = drop_minus_one(rows, is_set, known)
    return CandidateSets._from_likelihoods(*read_pairs(rows, is_set, known, options))


def _check_matrix(classes: Any, weights: str | None) -> None:
    if classes is not None:
        raise DataError(_INDICATOR_CLASSES)
    if weights is not None:
        raise DataError(f"a column of weights ({weights!r}) requires one label column, but there are several.")


def _check_any_label(cells: "pl.Series") -> None:
    import polars as pl

    if cells.null_count() == len(cells) or (cells.dtype == pl.String and not (cells.str.strip_chars() != "").any()):
        raise LabelError(_ALL_UNLABELED)


def _read_column(cells: "pl.Series", separator: str, classes: Sequence[str] | None) -> CandidateSets:
    import polars as pl

    _check_any_label(cells)
    if isinstance(cells.dtype, pl.List | pl.Array):
        sets = cells.to_list()
        _check_flat_lists(cells)
        inner = cells.dtype.inner
        numeric = isinstance(inner, pl.DataType | type) and inner.is_numeric()
        return CandidateSets.from_sets(sets, classes=_typed_classes(classes, numbers=numeric))
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        numbers = _whole_numbers(cells, classes)
        if numbers is None:
            _check_nonempty_sets(cells.to_list(), separator)
            return CandidateSets.from_strings(
                cells, separator=separator, classes=_typed_classes(classes, numbers=False)
            )
        cells = numbers
    if cells.dtype == pl.Boolean:
        return CandidateSets.from_strings(cells.cast(pl.String), classes=_typed_classes(classes, numbers=False))
    if not cells.dtype.is_numeric():
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {cells.dtype}.")
    return _read_numbers(cells, classes)


def _read_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> CandidateSets:
    values = cells.to_numpy() if cells.null_count() == 0 else cells.cast(float).fill_null(float("nan")).to_numpy()
    known = _typed_classes(classes, numbers=True)
    candidates = CandidateSets.from_labels(values, classes=known)
    if known is None and candidates.classes.dtype.kind == "f":  # whole numbers with missing values are floats
        return CandidateSets(candidates.mask, candidates.classes.astype(np.int64))
    return candidates


def _whole_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> "pl.Series | None":
    """Return text as numbers if every cell, and every class, is a whole number or empty."""
    import polars as pl

    texts = {text: text.strip() for text in cells.drop_nulls().unique().to_list()}
    labels = [*texts.values(), *(classes or [])]
    if all(not text or _WHOLE_NUMBER.fullmatch(text) for text in labels):
        numbers = {text: int(float(stripped)) if stripped else None for text, stripped in texts.items()}
        return pl.Series(cells.name, [numbers.get(text) for text in cells.to_list()], dtype=pl.Int64)
    if classes is None and all(not text or _DECIMAL_NUMBER.fullmatch(text) for text in labels):
        row, text = next((i, t) for i, t in enumerate(cells.to_list()) if t and not _WHOLE_NUMBER.fullmatch(t.strip()))
        raise LabelError(
            f"labels must not be continuous; got {text!r}. Name the classes (--classes) if the numbers are classes.",
            row=row,
            label=text,
        )
    return None


def _typed_classes(classes: Sequence[str] | None, *, numbers: bool) -> Labels | None:
    if classes is None:
        return None
    if not numbers:
        return np.asarray(list(classes))
    try:
        return np.asarray([int(name) for name in classes])
    except ValueError:
        raise LabelError(f"the labels are numbers, but the classes {', '.join(classes)} are not.") from None


def _as_written(label: Any) -> str:
    """Return a label as text, so that the numbers 3 and 3.0 and the text "3" are equal."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def _booleans_to_digits(cells: "pl.Series") -> "pl.Series":
    """Return "true" and "false", the booleans of CSV files, as 1 and 0."""
    import polars as pl

    if cells.dtype != pl.String:
        return cells
    return cells.str.strip_chars().replace({"true": "1", "True": "1", "false": "0", "False": "0"})


# -- batches of a stream ------------------------------------------------------------------------------------------


class LabelReader:
    """Reader of the labels of batches.

    Parameters
    ----------
    columns : sequence of str
        One column of text, lists or whole numbers; several columns of 0 and 1, or of weights, whose names are the
        classes; or none if the labels are a list of text, as in svmlight files.
    separator : str
        The text between two labels.
    classes : sequence of str, optional
        All classes; without them, only `names` can be called.
    weighted, weights, kind, prior, rest
        See `read_label_columns`. Posteriors require a prior, because a batch has no mean of all rows.

    Attributes
    ----------
    has_minus_one : bool
        True if a row was marked as unlabeled by -1 so far.
    """

    def __init__(
        self,
        columns: Sequence[str],
        separator: str,
        classes: Sequence[str] | None = None,
        *,
        weighted: bool = False,
        weights: str | None = None,
        kind: str = "likelihood",
        prior: Any = None,
        rest: bool | str = False,
    ) -> None:
        self.options = WeightOptions(kind, prior, rest)
        if kind == "posterior" and prior is None:
            raise InputError('`prior` must be given for kind="posterior"; a batch does not contain all rows.')
        self.weighted = weighted or weights is not None
        self.weights = weights
        if len(columns) > 1:
            named = [name for name in columns if name != rest]
            _check_matrix(None if classes is None or list(classes) == named else classes, weights)
        self.columns = tuple(columns)
        self.separator = separator
        self.classes = None if classes is None else [label_to_text(name) for name in classes]
        self._code = {name: k for k, name in enumerate(self.classes or [])}
        if self.classes is not None and len(self._code) < max(2, len(self.classes)):
            raise LabelError(f"the classes must be two or more distinct names; got {', '.join(self.classes)}.")
        self.has_minus_one = False

    def mask(self, labels: Any) -> Mask:
        """Return the (n, K) mask of a batch; the candidates of an unlabeled row are all classes.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        if self.weighted:
            return np.asarray(self.evidence(labels) > 0)
        if len(self.columns) > 1:
            return _read_indicator_columns(labels, self.columns).mask
        keys, sets = self._sets(labels)
        codes: dict[Any, int] = {}
        table = np.ones((len(sets) + 1, len(self._code)), dtype=bool)
        for number, (key, names) in enumerate(sets.items(), 1):
            codes[key] = number
            table[number] = False
            for name in names:
                if name not in self._code:
                    raise self._unknown_label(keys.index(key), name)
                table[number, self._code[name]] = True
        return table[[codes.get(key, 0) for key in keys]]

    def evidence(self, labels: Any) -> Evidence:
        """Return the mask of a batch, or its (n, K) weights, with row maxima of 1, if a row has any.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        if not self.weighted:
            return self.mask(labels)
        if len(self.columns) > 1:
            likelihoods, _ = read_weight_matrix(labels, self.columns, self.options)
        else:
            rows, is_set = self._pairs(labels)
            try:
                likelihoods, _ = read_pairs(rows, is_set, np.array(list(self._code)), self.options)
            except LabelError as error:
                if error.cause != "unknown label" or error.row is None:
                    raise
                raise self._unknown_label(error.row, error.label) from None
        return CandidateSets._from_likelihoods(likelihoods, np.arange(likelihoods.shape[1])).evidence

    def posterior_sum(self, labels: Any) -> tuple[Floats, int]:
        """Return the sum over the rows with weights of their probabilities, (K,), and the number of these rows.

        The mean over all batches is the prior of ``kind="posterior"``.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        options = WeightOptions(rest=self.options.rest)
        if len(self.columns) > 1:
            columns = [strict_numbers(labels[name]) for name in self.columns]
            is_set = np.all([cells is not None and cells.fill_nan(None).is_null() for cells in columns], axis=0)
            likelihoods, _ = read_weight_matrix(labels, self.columns, options)
        else:
            rows, is_set = self._pairs(labels)
            likelihoods, _ = read_pairs(rows, is_set, np.array(list(self._code)), options)
        posterior = likelihoods[~is_set]
        posterior = posterior / posterior.max(axis=1, keepdims=True, initial=0)  # their sum may overflow
        return (posterior / posterior.sum(axis=1, keepdims=True)).sum(axis=0), len(posterior)

    def names(self, labels: Any) -> set[str]:
        """Return the labels that occur in a batch.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        if self.weighted:
            rows, _ = self._pairs(labels)
            return {label for row in rows for label, _ in row or ()} - {self.options.rest}
        _, sets = self._sets(labels)
        return {name for names in sets.values() for name in names}

    def _sets(self, labels: Any) -> tuple[list[Any], dict[Any, Iterable[str]]]:
        """Return a key for each row, and the labels of each distinct key of a labeled row."""
        cells = labels if isinstance(labels, list) else _texts_or_lists(labels[self.columns[0]])
        sets: dict[Any, Iterable[str]] = {}
        if not isinstance(cells, list):
            _check_flat_lists(cells)
            keys = [None if members is None else tuple(map(label_to_text, members)) for members in cells.to_list()]
            for row, key in enumerate(keys):
                if key is not None and (not key or None in key):
                    raise _empty_set(row, "the candidate set is empty, or contains a missing label")
                if key is not None:
                    sets[key] = key
            return keys, sets
        distinct = [text for text in dict.fromkeys(cells) if text is not None and text.strip()]
        distinct = [text for text in distinct if not self._is_unlabeled(text)]
        if distinct:
            candidates = self._split(cells, distinct)
            names = np.array([label_to_text(name) for name in candidates.classes.tolist()], dtype=object)
            sets = {text: names[row].tolist() for text, row in zip(distinct, candidates.mask, strict=True)}
        return cells, sets

    def _pairs(self, labels: Any) -> tuple[PairRows, Mask]:
        """Return the pairs of each row of one column, whose labels are text, and a mask of the rows without weights."""
        import polars as pl

        cells = pl.Series(labels, dtype=pl.String) if isinstance(labels, list) else labels[self.columns[0]]
        if not isinstance(cells.dtype, pl.Struct):
            texts = _texts_or_lists(cells)
            cells = pl.Series(cells.name, texts, dtype=pl.String) if isinstance(texts, list) else texts
            _check_flat_lists(cells)
        if cells.dtype == pl.String:
            _check_nonempty_sets(cells.to_list(), self.separator)
        weights = None if self.weights is None else labels[self.weights]
        pairs, is_set = read_weight_cells(cells, weights, self.separator)
        rows: PairRows = [row and [(label_to_text(label), weight) for label, weight in row] for row in pairs]
        for i, row in enumerate(rows):
            if row is not None and len(row) == 1 and self._is_unlabeled(row[0][0]):
                rows[i], is_set[i] = None, True
        return rows, is_set

    def _split(self, cells: list[Any], distinct: list[str]) -> CandidateSets:
        try:
            _check_nonempty_sets(distinct, self.separator)
            return CandidateSets.from_strings(distinct, separator=self.separator)
        except LabelError as error:
            if error.row is not None:  # of the distinct texts
                error = error.at(first_row=cells.index(distinct[error.row]) - error.row)
            raise error from None

    def _is_unlabeled(self, text: str) -> bool:
        if label_to_text(text) != "-1" or "-1" in self._code:
            return False
        self.has_minus_one = True
        return True

    def _unknown_label(self, row: int, name: str) -> LabelError:
        return LabelError(
            f"label {name!r} is not one of the classes {format_classes(list(self._code))}. Name all classes beforehand "
            "(--classes).",
            row=row,
            label=name,
            cause="unknown label",
        )


def resolve_classes(names: Iterable[str], *, has_minus_one: bool) -> list[str]:
    """Return the classes of a stream, sorted by number if all are whole numbers, else by text.

    Parameters
    ----------
    names : iterable of str
        The labels that occur.
    has_minus_one : bool
        Whether a row was marked by -1.

    Raises
    ------
    LabelError
        If there are fewer than two classes.
    """
    labels = set(names)
    if has_minus_one and labels == {"1"}:
        raise LabelError(_SIGNS, cause="signs")
    if len(labels) < 2:
        raise LabelError(
            f"only one class occurs ({min(labels)!r}). A classifier needs at least two; name all classes (--classes)."
            if labels
            else _ALL_UNLABELED
        )
    numbers = all(re.fullmatch(r"-?\d{1,18}", name) for name in labels)
    return sorted(labels, key=int) if numbers else sorted(labels)


def label_to_text(label: Any) -> Any:
    """Return a label as text, so that 3, 3.0 and "3" are equal; None stays None."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if label is None:
        return None
    text = str(label).strip()
    match = _FLOAT_OF_INTEGER.fullmatch(text)
    return str(int(match[1])) if match else text


def number_to_text(text: str) -> str:
    """Return +1, 1 and 1.0, the labels of svmlight files, as the same text; other text is unchanged."""
    match = _SIGNED_INTEGER.fullmatch(text)
    return str(int(match[1])) if match else text


def _texts_or_lists(cells: "pl.Series") -> Any:
    """Return a column as a list of text, or unchanged if it is a column of lists."""
    import polars as pl

    if isinstance(cells.dtype, pl.List | pl.Array):
        return cells
    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
        if (cells.drop_nulls() % 1 != 0).any():
            row = int((cells % 1 != 0).fill_null(value=False).arg_true()[0])
            raise LabelError(
                f"labels must not be continuous; got {cells[row]}. Use whole numbers.", row=row, label=cells[row]
            )
        cells = cells.cast(pl.Int64)
    if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Binary:
        raise LabelError(f"labels must be text or lists; column {cells.name!r} has values of type {cells.dtype}.")
    return cells.cast(pl.String).to_list()


# -- checks for tables and streams
# -----------------------------------------------------------------------------------------------


def _check_flat_lists(cells: "pl.Series") -> None:
    """Raise if the members of sets are lists."""
    import polars as pl

    if isinstance(getattr(cells.dtype, "inner", None), pl.List | pl.Array):
        for row, cell in enumerate(cells.to_list()):
            if cell is not None and any(member is not None for member in cell):
                raise LabelError(
                    f"a set must be one list of labels; got lists within a list, {cell!r}.", row=row, label=cell
                )


def _check_nonempty_sets(texts: Sequence[str | None], separator: str) -> None:
    """Raise if a cell is the text of an empty set, such as "[]" or "|", which is not an empty cell."""
    for row, text in enumerate(texts):
        if text is not None and text.strip() and text.replace(separator, "").strip() in ("", "[]", "{}", "()"):
            raise _empty_set(row, f"the candidate set is empty ({text!r})", text)


def _empty_set(row: int, reason: str, label: Any = None) -> LabelError:
    return LabelError(
        f"{reason}. Name at least one label, or leave the cell empty if the row is unlabeled.",
        row=row,
        label=label,
        cause="empty set",
    )
