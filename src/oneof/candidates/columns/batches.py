"""Label columns of a stream as candidate sets, batch by batch.

A label is its text, because a batch does not show the type of the entire column: 3, 3.0 and "3" are the label "3". An
empty cell is an unlabeled row, and so is -1 unless it is named as a class.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.columns.cells import (
    ALL_UNLABELED,
    ONE_CLASS,
    check_flat_lists,
    check_matrix,
    contains_nested_lists,
    count_cell_spellings,
    drop_empty_json,
    drop_missing_labels,
    fold_labels,
    fold_names,
    parse_lists,
    parse_whole_number,
    strict_numbers,
    texts_or_lists,
)
from oneof.candidates.columns.tables import read_indicator_columns
from oneof.candidates.columns.unreadable import OnUnreadable, blank_rows, find_unreadable
from oneof.candidates.columns.weights import read_weight_cells, read_weight_matrix
from oneof.candidates.columns.wrapped import unwrap_cells, unwrap_texts
from oneof.candidates.labels import AMBIGUOUS_SIGNS, fold_tokens, format_classes, label_to_text, warn_of_minus_one
from oneof.candidates.readers.collections import read_strings
from oneof.candidates.readers.pairs import PairRows, drop_missing_pairs, fold_pairs
from oneof.candidates.readers.unreadable import CellChecker, check_nonempty_sets, empty_set
from oneof.candidates.readers.weights import read_pairs
from oneof.candidates.row_weights import WeightOptions, general_warnings
from oneof.candidates.sets import CandidateSets
from oneof.candidates.spellings import Spellings
from oneof.errors import InputError, LabelError
from oneof.typing import Evidence, Floats, Mask

if TYPE_CHECKING:
    import polars as pl


class LabelReader:
    """Reader of the labels of batches.

    Parameters
    ----------
    columns : sequence of str
        One column of text, lists or whole numbers; several columns of 0 and 1, or of weights, whose names are the
        classes; or none if the labels are a list of text, as in svmlight files.
    separator : str
        The text between two labels; "[]" if cells are lists written as text.
    classes : sequence of str, optional
        All classes; without them, only `names` can be called.
    weighted, weights, kind, prior, rest, folds_case, missing, on_unreadable
        See `read_label_columns`. Posteriors require a prior, because a batch has no mean of all rows. The rows of
        `on_unreadable` are those of a batch, and only `mask` and `evidence` call it. Without it, a batch ends at the
        first row that cannot be read.

    Attributes
    ----------
    has_minus_one : bool
        True if a row was marked as unlabeled by -1 so far.
    counts : Counter
        The number of rows of each cell without weights that `names` has read.
    spellings : Spellings
        With `folds_case`, the names of the classes by the spellings that `names` has counted so far.
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
        folds_case: bool = False,
        missing: Sequence[str] = (),
        on_unreadable: OnUnreadable | None = None,
    ) -> None:
        tokens = fold_tokens(missing, folds_case=folds_case)
        names = None if classes is None else [label_to_text(name) for name in classes]
        has_weights = weighted or weights is not None
        self._new_checker = partial(
            CellChecker, separator, names, has_weights, rest, folds_case, tokens, exact=False, is_batch=True
        )
        self._on_unreadable = on_unreadable
        folded = classes
        if folds_case:
            folded, rest = fold_names(columns, classes, rest)
        self.spellings = Spellings(classes or () if folds_case else ())
        self.folds_case, self.missing = folds_case, sorted(tokens)
        self.options = WeightOptions(kind, prior, rest)
        if kind == "posterior" and prior is None:
            raise InputError('`prior` must be given for kind="posterior"; a batch does not contain all rows.')
        self.weighted = weighted or weights is not None
        self.weights = weights
        if len(columns) > 1:
            named = [name for name in columns if name != rest]
            check_matrix(None if classes is None or list(classes) == named else classes, weights)
        self.columns = tuple(columns)
        self._written_separator = separator
        self.separator = separator.casefold() if folds_case and not self.weighted else separator
        self.classes = None if classes is None else [label_to_text(name) for name in classes]
        self._code = {label_to_text(name): k for k, name in enumerate(folded or [])}
        if self.classes is not None and len(self._code) < max(2, len(self.classes)):
            raise LabelError(f"the classes must be two or more distinct names; got {', '.join(self.classes)}.")
        self.has_minus_one = False
        self.counts: Counter[str] = Counter()

    def mask(self, labels: Any) -> Mask:
        """Return the (n, K) mask of a batch; the candidates of an unlabeled row are all classes.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        if self.weighted:
            return np.asarray(self.evidence(labels) > 0)
        with self._naming_rows(labels):
            return self._mask(self._readable(labels, self._on_unreadable))

    def _mask(self, labels: Any) -> Mask:
        if len(self.columns) > 1:
            return read_indicator_columns(labels, self.columns).mask
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
        with general_warnings(), self._naming_rows(labels):
            likelihoods = self._likelihoods(self._readable(labels, self._on_unreadable))
        return CandidateSets._from_likelihoods(likelihoods, np.arange(likelihoods.shape[1])).evidence

    def _likelihoods(self, labels: Any) -> Floats:
        if len(self.columns) > 1:
            return read_weight_matrix(labels, self.columns, self.options)[0]
        rows, is_set = self._pairs(labels)
        try:
            return read_pairs(rows, is_set, np.array(list(self._code)), self.options)[0]
        except LabelError as error:
            if error.cause != "unknown label" or error.row is None:
                raise
            raise self._unknown_label(error.row, error.label) from None

    def posterior_sum(self, labels: Any) -> tuple[Floats, int]:
        """Return the sum over the rows with weights of their probabilities, (K,), and the number of these rows.

        The mean over all batches is the prior of ``kind="posterior"``.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        with self._naming_rows(labels):
            return self._posterior_sum(self._readable(labels))

    def _posterior_sum(self, labels: Any) -> tuple[Floats, int]:
        n_classes = len(self.columns) - isinstance(self.options.rest, str) if len(self.columns) > 1 else len(self._code)
        options = WeightOptions("posterior", np.ones(n_classes), self.options.rest)
        if len(self.columns) > 1:
            with general_warnings():
                likelihoods, _ = read_weight_matrix(labels, self.columns, options)
            columns = [strict_numbers(labels[name]) for name in self.columns]
            missing = [cells.fill_nan(None).is_null().to_numpy() for cells in columns if cells is not None]
            is_set = np.asarray(np.all(missing, axis=0))
        else:
            rows, is_set = self._pairs(labels)
            with general_warnings():
                likelihoods, _ = read_pairs(rows, is_set, np.array(list(self._code)), options)
        posterior = likelihoods[~is_set]
        posterior = posterior / posterior.max(axis=1, keepdims=True, initial=0)  # their sum may overflow
        return (posterior / posterior.sum(axis=1, keepdims=True)).sum(axis=0), len(posterior)

    def names(self, labels: Any) -> set[str]:
        """Return the labels that occur in a batch, by `fold_case` if `folds_case`.

        Parameters
        ----------
        labels : polars.DataFrame or list of str
        """
        with self._naming_rows(labels):
            return self._names(self._readable(labels))

    def _names(self, labels: Any) -> set[str]:
        if self.weighted:
            rows, _ = self._pairs(labels, counts_spellings=True)
            return {label for row in rows for label, _ in row or ()} - {self.options.rest}
        keys, sets = self._sets(labels, counts_spellings=True)
        for key, n in Counter(keys).items():
            self.counts[label_to_text(key)] += n
        return {name for names in sets.values() for name in names}

    def _readable(self, labels: Any, on_unreadable: OnUnreadable | None = None) -> Any:
        """Return the labels of a batch in which rows that cannot be read are empty, if these are not errors."""
        if not isinstance(labels, list) and len(self.columns) == 1:
            has_pairs = self.weighted and self.weights is None
            cells = unwrap_cells(labels[self.columns[0]], self._written_separator, weighted=has_pairs)
            if not has_pairs:
                cells = unwrap_texts(cells, self._written_separator, self.classes or ())
            labels = labels.with_columns(cells)
        errors = {} if self._on_unreadable is None else self._find_unreadable(labels)
        if not errors:
            return labels
        if on_unreadable is not None:
            on_unreadable(errors)
        if isinstance(labels, list):
            return [None if row in errors else text for row, text in enumerate(labels)]
        columns = [*self.columns, *([] if self.weights is None else [self.weights])]
        return blank_rows(labels, columns, [*errors])

    def _find_unreadable(self, labels: Any) -> dict[int, LabelError]:
        import polars as pl

        if isinstance(labels, list):
            column = pl.Series("labels", labels, dtype=pl.String)
            return find_unreadable(column.to_frame(), [column.name], self._new_checker())
        return find_unreadable(labels, list(self.columns), self._new_checker(), self.weights)

    @contextmanager
    def _naming_rows(self, labels: Any) -> Iterator[None]:
        """Give an error about a cell all rows of the batch that cannot be read."""
        try:
            yield
        except LabelError as error:
            if error.row is not None and error.row in (found := self._find_unreadable(labels)):
                error.rows = tuple(found)
            raise

    def _sets(self, labels: Any, *, counts_spellings: bool = False) -> tuple[list[Any], dict[Any, Iterable[str]]]:
        """Return a key for each row, and the labels of each distinct key of a labeled row."""
        import polars as pl

        if isinstance(labels, list) and not (self.missing or self.folds_case):
            cells: Any = labels
        else:
            if isinstance(labels, list):
                column = pl.Series(labels, dtype=pl.String)
            else:
                column = parse_lists(labels[self.columns[0]], self.separator)
            if self.folds_case and counts_spellings:
                count_cell_spellings(column, self._written_separator, self.spellings)
            column = fold_labels(column) if self.folds_case else column
            cells = texts_or_lists(self._drop_missing(column) if self.missing else column)
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

    def _pairs(self, labels: Any, *, counts_spellings: bool = False) -> tuple[PairRows, Mask]:
        """Return the pairs of each row of one column, whose labels are text, and a mask of the rows without weights."""
        import polars as pl

        cells = pl.Series(labels, dtype=pl.String) if isinstance(labels, list) else labels[self.columns[0]]
        weights = None if self.weights is None else labels[self.weights]
        if weights is not None:
            cells = parse_lists(cells, self.separator)
        if not (isinstance(cells.dtype, pl.Struct) or (self.weights is None and contains_nested_lists(cells))):
            texts = texts_or_lists(cells)
            cells = pl.Series(cells.name, texts, dtype=pl.String) if isinstance(texts, list) else texts
            check_flat_lists(cells)
        if cells.dtype == pl.String:
            cells = drop_empty_json(cells)
            check_nonempty_sets(cells.to_list(), self.separator)
        pairs, is_set = read_weight_cells(cells, weights, self.separator)
        rows: PairRows = [row and [(label_to_text(label), weight) for label, weight in row] for row in pairs]
        if self.folds_case:
            for label in (label for row in rows * counts_spellings for label, _ in row or ()):
                self.spellings.add(label)
            rows = fold_pairs(rows)
        if self.missing:
            rows, is_set = drop_missing_pairs(rows, is_set, self.missing)
        for i, row in enumerate(rows):
            if row is not None and len(row) == 1 and self._is_unlabeled(row[0][0]):
                rows[i], is_set[i] = None, True
        return rows, is_set

    def _drop_missing(self, column: "pl.Series") -> "pl.Series":
        """Return whole numbers, texts or lists of texts without missing labels."""
        import polars as pl

        text = (pl.Categorical, pl.Enum, pl.String)
        if column.dtype.is_integer():
            numbers = [number for token in self.missing if (number := parse_whole_number(token)) is not None]
            is_missing = column.is_in(pl.Series(numbers, dtype=column.dtype, strict=False))
            return pl.select(pl.when(~is_missing).then(column)).to_series().alias(column.name)
        if column.dtype in text:
            column = column.cast(pl.String)
        elif isinstance(column.dtype, pl.List | pl.Array) and column.dtype.inner in text:
            column = column.cast(pl.List(pl.String))
        return drop_missing_labels(column, self.separator, self.missing)

    def _split(self, cells: list[Any], distinct: list[str]) -> CandidateSets:
        try:
            check_nonempty_sets(distinct, self.separator)
            return CandidateSets._from_validated(*read_strings(distinct, self.separator))
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
            f"label {name!r} is not one of the classes {format_classes(self.classes or [])}. Name all classes "
            "beforehand (--classes).",
            row=row,
            label=name,
            cause="unknown label",
        )


def resolve_classes(names: Iterable[str], counts: Counter[str], *, has_minus_one: bool) -> list[str]:
    """Return the classes of a stream, sorted by number if all are whole numbers, else by text.

    Parameters
    ----------
    names : iterable of str
        The labels that occur.
    counts : Counter
        The number of rows of each cell, as in `LabelReader`.
    has_minus_one : bool
        Whether a row was marked by -1.

    Raises
    ------
    LabelError
        If there are fewer than two classes.
    """
    labels = set(names)
    if has_minus_one and labels == {"1"}:
        raise LabelError(AMBIGUOUS_SIGNS, cause="signs")
    if len(labels) < 2:
        raise LabelError(ONE_CLASS.format(min(labels)) if labels else ALL_UNLABELED)
    numbers = all(re.fullmatch(r"-?\d{1,18}", name) for name in labels)
    if has_minus_one and numbers:
        warn_of_minus_one(list(map(int, labels)), counts["-1"], max(map(counts.__getitem__, labels)))
    return sorted(labels, key=int) if numbers else sorted(labels)
