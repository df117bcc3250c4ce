"""Answers of annotators, from a table or from records, encoded for the solvers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import numpy as np

from oneof.candidates import as_candidates
from oneof.candidates.labels import MISSING, as_classes, encode_labels, is_minus_one, is_missing, label_vector
from oneof.candidates.readers.collections import is_collection, read_sets
from oneof.errors import InputError, LabelError
from oneof.solvers.annotators import AnswerColumns
from oneof.typing import Floats, Ints, Labels, Mask

RECORD_COLUMNS = ("row", "annotator", "answer")
_SIGNS = "the answers are only -1 and 1. Pass classes=[-1, 1] if -1 is a class, or None for no answer."


class Answers:
    """Answers of annotators about rows. An answer is a label or a set of labels that should contain the true one.

    Use `from_table` or `from_records`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The names of the rows; 0, 1, ... for a table without names.
    annotators : ndarray of shape (n_annotators,)
        The names of the annotators; 0, 1, ... for a table without names.
    classes : ndarray of shape (n_classes,)
        The classes.
    select_rows : bool
        Whether the annotators choose the rows that they answer, as rules do.

    Examples
    --------
    >>> from oneof.crowd import Answers
    >>> answers = Answers.from_records([7, 7, 9], ["Ann", "Bob", "Ann"], ["finch", ["finch", "wren"], "wren"])
    >>> answers
    <Answers: 3 by 2 annotators about 2 rows, 2 classes>
    >>> answers.rows.tolist()
    [7, 9]
    """

    __slots__ = ("_code", "_row", "_sets", "_source", "annotators", "classes", "rows", "select_rows")

    rows: Labels
    annotators: Labels
    classes: Labels
    select_rows: bool
    _row: Ints
    _source: Ints
    _code: Ints
    _sets: Mask

    @classmethod
    def _from_codes(
        cls, codes: tuple[Ints, Ints, Ints], sets: Mask, names: tuple[Any, Any, Any], *, select: bool
    ) -> Self:
        """Return answers from codes of rows, annotators and distinct answers, and the names of all three."""
        out = object.__new__(cls)
        out._row, out._source, out._code = codes
        out._sets = sets
        out.rows, out.annotators, out.classes = names
        out.select_rows = select
        return out

    @classmethod
    def from_table(cls, table: Any, *, classes: Any = None, annotators: Any = None, select_rows: bool = False) -> Self:
        """Read a table with a row for each row of the data and a column for each annotator.

        Parameters
        ----------
        table : array-like or DataFrame of shape (n_rows, n_annotators)
            Labels, or sets of labels as lists, tuples or sets. None, NaN, and -1 among integers mean "no answer".
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        annotators : array-like of shape (n_annotators,), optional
            The names; by default the column names of a DataFrame, else 0, 1, ...
        select_rows : bool, default=False
            Whether the annotators choose the rows that they answer. See `AnnotatorModel`.

        Returns
        -------
        Answers

        Raises
        ------
        LabelError
            If an answer is not a label or a set of labels, or not one of the classes; the error names the row.
        InputError
            If the table is not 2-D, or an annotator has no answer.
        """
        flat, (n_rows, n_columns), names, row_names = _flatten_table(table)
        if annotators is not None:
            names = label_vector(annotators)
            if len(names) != n_columns or len(set(names.tolist())) < n_columns:
                raise InputError(f"`annotators` must be {n_columns} different names, one for each column.")
        code, sets, known = _encode(flat, classes, n_columns)
        given = np.flatnonzero(code != MISSING)
        row, source = np.divmod(given, n_columns)
        empty = np.flatnonzero(np.bincount(source, minlength=n_columns) == 0)
        if len(empty):
            raise InputError(
                f"annotator {names.tolist()[empty[0]]!r} has no answer. Remove the column.", column=int(empty[0])
            )
        row_names = np.arange(n_rows) if row_names is None else row_names
        return cls._from_codes((row, source, code[given]), sets, (row_names, names, known), select=select_rows)

    @classmethod
    def from_records(
        cls,
        rows: Any,
        annotators: Any = None,
        answers: Any = None,
        *,
        classes: Any = None,
        index: Any = None,
        select_rows: bool = False,
    ) -> "Answers":
        """Read one record for each answer: the row, the annotator and the answer.

        Parameters
        ----------
        rows : array-like of shape (n_answers,), or DataFrame
            The name of the row of each answer. A DataFrame has all three, in the columns "row", "annotator" and
            "answer".
        annotators : array-like of shape (n_answers,), optional
            The name of the annotator of each answer.
        answers : array-like of length n_answers, optional
            Labels, or sets of labels as lists, tuples or sets. Records without an answer (None, NaN, and -1 among
            integers) are ignored.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        index : array-like of shape (n_rows,), optional
            The names of all rows, in order, also of rows without answers; by default the rows that occur, sorted.
        select_rows : bool, default=False
            Whether the annotators choose the rows that they answer. See `AnnotatorModel`.

        Returns
        -------
        Answers

        Raises
        ------
        LabelError
            If an answer is not a label or a set of labels, or not one of the classes.
        InputError
            If the lengths differ, a row is not in `index`, or an annotator has no answer.

        Notes
        -----
        Two answers of an annotator to one row are two answers; the model takes them for independent.
        """
        if annotators is None and answers is None:
            if not hasattr(rows, "columns") or not set(RECORD_COLUMNS) <= set(rows.columns):
                raise InputError(
                    "`rows` must be a DataFrame with the columns row, annotator and answer, or `annotators` and "
                    "`answers` must be given."
                )
            rows, annotators, answers = (rows[name] for name in RECORD_COLUMNS)
        flat = label_vector(answers)
        row_values, source_values = label_vector(rows), label_vector(annotators)
        if not len(row_values) == len(source_values) == len(flat):
            raise InputError(
                f"`rows`, `annotators` and `answers` must have the same length; got {len(row_values)}, "
                f"{len(source_values)} and {len(flat)}."
            )
        row_names, row = _factorize(row_values, "row")
        source_names, source = _factorize(source_values, "annotator")
        code, sets, known = _encode(flat, classes, 1)
        given = np.flatnonzero(code != MISSING)
        empty = np.flatnonzero(np.bincount(source[given], minlength=len(source_names)) == 0)
        if len(empty):
            raise InputError(
                f"annotator {source_names.tolist()[empty[0]]!r} has no answer. Remove the records of this annotator."
            )
        codes = (row[given], source[given], code[given])
        given_answers = cls._from_codes(codes, sets, (row_names, source_names, known), select=select_rows)
        return given_answers if index is None else given_answers.align(index)

    def align(self, index: Any) -> "Answers":
        """Return the answers over all rows of a data set.

        Parameters
        ----------
        index : array-like of shape (n_rows,)
            The names of the rows, in order; all rows of the answers are among them.

        Returns
        -------
        Answers

        Raises
        ------
        InputError
            If the answers have a row that is not in `index`, or a name is repeated.
        """
        names = label_vector(index)
        position = {name: i for i, name in enumerate(names.tolist())}
        if len(position) < len(names):
            raise InputError("`index` must contain different names of rows; one is repeated.")
        own = self.rows.tolist()
        used = np.zeros(len(own), dtype=bool)
        used[self._row] = True
        new = np.array([position.get(name, MISSING) for name in own], dtype=np.int64)
        unknown = np.flatnonzero((new == MISSING) & used)
        if len(unknown):
            raise InputError(
                f"an answer is about the row {own[unknown[0]]!r}, which the table does not have. Correct the name, or "
                "remove the answer."
            )
        codes = (new[self._row], self._source, self._code)
        return Answers._from_codes(codes, self._sets, (names, self.annotators, self.classes), select=self.select_rows)

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self._row)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> "Answers":
        """Return the answers to some rows, selected by a slice, a mask or an array, by the annotators who gave them."""
        selected = np.atleast_1d(np.arange(len(self))[rows])
        position = np.full(len(self), MISSING)
        position[selected] = np.arange(len(selected))
        kept = np.flatnonzero(position[self._row] != MISSING)
        sources, source = np.unique(self._source[kept], return_inverse=True)
        codes = (position[self._row[kept]], source.ravel(), self._code[kept])
        names = (self.rows[selected], self.annotators[sources], self.classes)
        return Answers._from_codes(codes, self._sets, names, select=self.select_rows)

    def __repr__(self) -> str:
        return (
            f"<Answers: {self.n_answers} by {len(self.annotators)} annotators about {len(self)} rows, "
            f"{len(self.classes)} classes>"
        )

    def _columns(self) -> AnswerColumns:
        """Return the answers that do not name all classes, for the solvers."""
        informative = np.flatnonzero(~self._sets[self._code].all(axis=1))
        codes = (self._row[informative], self._source[informative], self._code[informative])
        return AnswerColumns.from_answers(*codes, self._sets, len(self), len(self.annotators))


def as_answers(answers: Any, classes: Any = None) -> Answers:
    """Return answers given as `Answers`, a table, or a DataFrame of records."""
    if isinstance(answers, Answers):
        if classes is not None and not np.array_equal(as_classes(classes), answers.classes):
            raise InputError(
                f"`classes` must be the classes of the answers, {answers.classes.tolist()}; got {classes!r}. Pass them "
                "to Answers.from_table or from_records."
            )
        return answers
    if hasattr(answers, "columns") and set(RECORD_COLUMNS) <= set(answers.columns):
        return Answers.from_records(answers, classes=classes)
    return Answers.from_table(answers, classes=classes)


def is_table(answers: Any) -> bool:
    """Return whether answers are a table, with a row for each row of X."""
    is_records = hasattr(answers, "columns") and set(RECORD_COLUMNS) <= set(answers.columns)
    return not isinstance(answers, Answers) and not is_records


def check_answers(answers: Answers) -> Answers:
    """Return the answers; raise unless there are two classes and an answer."""
    if len(answers.classes) < 2:
        raise LabelError(
            f"the answers must contain at least two classes; got {answers.classes.tolist()!r}. Pass `classes`."
        )
    if not answers.n_answers:
        raise InputError("`answers` must contain at least one answer.")
    return answers


def read_gold(gold: Any, answers: Answers) -> Floats | None:
    """Return the weights of the classes in the rows with known labels, (n, K), 1 in other rows; None without any.

    `gold` has a label, or any other evidence, for each row, or is a mapping from names of rows.
    """
    if gold is None:
        return None
    if isinstance(gold, Mapping):
        position = {name: i for i, name in enumerate(answers.rows.tolist())}
        listed = [None] * len(answers)
        for name, label in gold.items():
            if name not in position:
                raise InputError(f"`gold` names the row {name!r}, which the answers do not have. Correct the name.")
            listed[position[name]] = label
        gold = listed
    try:
        candidates = as_candidates(gold, classes=answers.classes)
    except LabelError as error:
        raise error.at("`gold`") from None
    if len(candidates) != len(answers):
        raise InputError(f"`gold` must have one label for each of the {len(answers)} rows; got {len(candidates)}.")
    return None if candidates.is_unlabeled.all() else candidates.weights


def _flatten_table(table: Any) -> tuple[Any, tuple[int, int], Labels, Labels | None]:
    """Return the cells by rows, the shape, the names of the columns, and those of the rows if there are any."""
    row_names = None
    if hasattr(table, "columns"):
        names = label_vector(list(table.columns))
        columns = [label_vector(table[name]).tolist() for name in table.columns]
        shape = (len(table), len(columns))
        if hasattr(table, "index") and not callable(table.index):
            row_names = label_vector(table.index)
        return label_vector([cell for cells in zip(*columns) for cell in cells]), shape, names, row_names
    if not isinstance(table, np.ndarray):
        try:
            rows = list(table)
            listed = [] if any(isinstance(row, str | bytes | set | Mapping) for row in rows) else list(map(list, rows))
        except TypeError:
            rows, listed = [None], []
        if len(listed) < len(rows):
            raise InputError("`answers` must be a table with a row for each row of X and a column for each annotator.")
        width = len(listed[0]) if listed else 0
        for i, row in enumerate(listed):
            if len(row) != width:
                raise InputError(f"got {len(row)} answers; other rows have {width}. Use None for no answer.", row=i)
        return label_vector([cell for row in listed for cell in row]), (len(listed), width), np.arange(width), None
    if table.ndim != 2:
        raise InputError(f"`answers` must have shape (n_rows, n_annotators); got {table.shape}.")
    return table.ravel(), table.shape, np.arange(table.shape[1]), None


def _encode(flat: Any, classes: Any, n_columns: int) -> tuple[Ints, Mask, Labels]:
    """Return the code of each answer, -1 for no answer, the distinct answers as sets, (D, K), and the classes."""
    listed = flat.tolist() if flat.dtype.kind == "O" else None
    if classes is None and all(is_missing(value) or is_minus_one(value) for value in flat.tolist()):
        raise InputError("`answers` must contain at least one answer.")
    try:
        if listed is None or not any(is_collection(value) for value in listed):
            code, known = encode_labels(flat, classes)
            return code, np.eye(len(known), dtype=bool), known
        return _encode_sets(listed, classes)
    except LabelError as error:
        if error.cause == "signs":
            raise error.because(_SIGNS) from None
        if error.row is None or n_columns == 1:
            raise
        raise error.at(first_row=error.row // n_columns - error.row) from None


def _encode_sets(listed: list[Any], classes: Any) -> tuple[Ints, Mask, Labels]:
    minus_one_is_class = classes is not None and any(is_minus_one(value) for value in list(classes))
    code = np.full(len(listed), MISSING)
    distinct: dict[Any, int] = {}
    first = []
    for i, value in enumerate(listed):
        if is_collection(value):
            members = value.ravel().tolist() if isinstance(value, np.ndarray) else list(value)
            if not members:
                raise LabelError("the answer is an empty set. Use None for no answer.", row=i, cause="empty set")
        elif is_missing(value) or (is_minus_one(value) and not minus_one_is_class):
            continue
        else:
            members = [value]
        try:
            key = frozenset(members)
        except TypeError:
            raise LabelError(f"{value!r} is not a label or a set of labels.", row=i, label=value) from None
        if key not in distinct:
            distinct[key] = len(distinct)
            first.append(i)
        code[i] = distinct[key]
    try:
        sets, known = read_sets([list(key) for key in distinct], classes)
    except LabelError as error:
        raise (error if error.row is None else error.at(first_row=first[error.row] - error.row)) from None
    return code, sets, known


def _factorize(values: Any, kind: str) -> tuple[Labels, Ints]:
    """Return the distinct names, sorted if they can be, and the index of each value."""
    if values.dtype.kind in "iub":
        names, codes = np.unique(values, return_inverse=True)
        return names, codes.ravel()
    listed = values.tolist()
    try:
        distinct = list(dict.fromkeys(listed))
    except TypeError:
        raise InputError(f"the names of the {kind}s must be strings or numbers.") from None
    if any(is_missing(name) for name in distinct):
        missing = next(i for i, name in enumerate(listed) if is_missing(name))
        raise InputError(f"the name of the {kind} is missing. Name it, or remove the record.", row=missing)
    with suppress(TypeError):  # names of several types
        distinct.sort()
    position = {name: i for i, name in enumerate(distinct)}
    codes = np.fromiter(map(position.__getitem__, listed), dtype=np.int64, count=len(listed))
    return label_vector(distinct), codes
