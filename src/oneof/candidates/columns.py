"""Columns of labels in tables and streams as candidate sets.

In a table the type of a label depends on the entire column: text is read as numbers if all of it is whole numbers. In a
stream, which is read batch by batch, a label is its text: 3, 3.0 and "3" are the label "3". An empty cell is an
unlabeled row, and so is -1 unless it is named as a class.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.cells import (
    ALL_UNLABELED,
    INDICATOR_CLASSES,
    booleans_to_digits,
    check_any_label,
    check_flat_lists,
    check_matrix,
    check_nonempty_sets,
    empty_set,
    strict_numbers,
    texts_or_lists,
    typed_classes,
    whole_numbers,
)
from oneof.candidates.labels import format_classes
from oneof.candidates.row_weights import WeightOptions
from oneof.candidates.sets import CandidateSets
from oneof.candidates.weight_columns import read_weight_cells, read_weight_matrix, read_weighted_columns
from oneof.candidates.weight_readers import PairRows, read_pairs
from oneof.errors import DataError, InputError, LabelError
from oneof.typing import Evidence, Floats, Labels, Mask

if TYPE_CHECKING:
    import polars as pl

_ALL_SETS_FULL = (
    "every row is unlabeled, so there is nothing to learn from: a set of all classes counts as a missing label. "
    "Name the classes (--classes) if there are more than those in the column."
)
_SIGNS = (
    "the column contains only -1 and 1, which may mean two classes, or class 1 and rows without a label. "
    "Name the classes (--classes=-1,1), or leave the cells of unlabeled rows empty."
)
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
            candidates = CandidateSets._from_likelihoods(
                *read_weighted_columns(frame, names, weights, separator, classes, options)
            )
        elif len(names) > 1:
            candidates = _read_indicator_columns(frame, names, classes)
        else:
            candidates = _read_column(frame[names[0]], separator, classes)
    except LabelError as error:
        raise (error.because(_SIGNS) if error.cause == "signs" else error) from None
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(
            f"only one class occurs ({only[0]!r}). A classifier needs at least two." if only else ALL_UNLABELED
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
        raise DataError(INDICATOR_CLASSES)
    columns = []
    for name in names:
        numbers = strict_numbers(booleans_to_digits(frame[name]))
        if numbers is None:
            raise LabelError(f"column {name!r} must contain 0 and 1, as one of several label columns.")
        columns.append(numbers.to_numpy())
    return CandidateSets.from_indicator(np.column_stack(columns), classes=np.asarray(names))


def _read_column(cells: "pl.Series", separator: str, classes: Sequence[str] | None) -> CandidateSets:
    import polars as pl

    check_any_label(cells)
    if isinstance(cells.dtype, pl.List | pl.Array):
        sets = cells.to_list()
        check_flat_lists(cells)
        inner = cells.dtype.inner
        numeric = isinstance(inner, pl.DataType | type) and inner.is_numeric()
        return CandidateSets.from_sets(sets, classes=typed_classes(classes, numbers=numeric))
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        numbers = whole_numbers(cells, classes)
        if numbers is None:
            check_nonempty_sets(cells.to_list(), separator)
            return CandidateSets.from_strings(cells, separator=separator, classes=typed_classes(classes, numbers=False))
        cells = numbers
    if cells.dtype == pl.Boolean:
        return CandidateSets.from_strings(cells.cast(pl.String), classes=typed_classes(classes, numbers=False))
    if not cells.dtype.is_numeric():
        raise LabelError(f"labels must be text, whole numbers or lists; got values of type {cells.dtype}.")
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
            check_matrix(None if classes is None or list(classes) == named else classes, weights)
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
            likelihoods, _ = read_weight_matrix(labels, self.columns, options)
            columns = [strict_numbers(labels[name]) for name in self.columns]
            missing = [cells.fill_nan(None).is_null().to_numpy() for cells in columns if cells is not None]
            is_set = np.asarray(np.all(missing, axis=0))
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
        cells = labels if isinstance(labels, list) else texts_or_lists(labels[self.columns[0]])
        sets: dict[Any, Iterable[str]] = {}
        if not isinstance(cells, list):
            check_flat_lists(cells)
            keys = [None if members is None else tuple(map(label_to_text, members)) for members in cells.to_list()]
            for row, key in enumerate(keys):
                if key is not None and (not key or None in key):
                    raise empty_set(row, "the candidate set is empty, or contains a missing label")
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
            texts = texts_or_lists(cells)
            cells = pl.Series(cells.name, texts, dtype=pl.String) if isinstance(texts, list) else texts
            check_flat_lists(cells)
        if cells.dtype == pl.String:
            check_nonempty_sets(cells.to_list(), self.separator)
        weights = None if self.weights is None else labels[self.weights]
        pairs, is_set = read_weight_cells(cells, weights, self.separator)
        rows: PairRows = [row and [(label_to_text(label), weight) for label, weight in row] for row in pairs]
        for i, row in enumerate(rows):
            if row is not None and len(row) == 1 and self._is_unlabeled(row[0][0]):
                rows[i], is_set[i] = None, True
        return rows, is_set

    def _split(self, cells: list[Any], distinct: list[str]) -> CandidateSets:
        try:
            check_nonempty_sets(distinct, self.separator)
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
            else ALL_UNLABELED
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
