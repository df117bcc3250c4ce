"""Answers of annotators, from a table or from records, encoded for the solvers."""

import os
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.stats import binom

from oneof.candidates.labels import MISSING
from oneof.candidates.readers.annotations import EncodedAnswers
from oneof.crowd.encoding import (
    RECORD_COLUMNS,
    Export,
    check_field,
    check_no_names,
    column_annotators,
    encode,
    encode_records,
    flatten_table,
    has_record_columns,
    name_vector,
    rows_in,
    selected_rows,
    warn_of_joined_labels,
)
from oneof.errors import InputError
from oneof.files import as_path
from oneof.io.formats.annotations import read_doccano, read_label_studio
from oneof.solvers.annotators import AnswerColumns
from oneof.typing import Ints, Labels, Mask

SelectRows: TypeAlias = Literal["auto"] | bool
RULE_LEVEL = 0.01
"""Level of the tests by which a source is a rule, of the first one for all sources of a table together."""


def _check_select_rows(select_rows: Any) -> SelectRows:
    """Return the argument; raise unless it is "auto" or a bool."""
    if isinstance(select_rows, str) and select_rows == "auto":
        return "auto"
    if not isinstance(select_rows, bool | np.bool_):
        raise InputError(f'`select_rows` must be "auto", True or False; got {select_rows!r}.')
    return bool(select_rows)


class Answers:
    """Answers of annotators about rows. An answer is a label or a set of labels that should contain the true one.

    Use `from_table`, `from_records`, `from_label_studio` or `from_doccano`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The names of the rows; 0, 1, ... for a table without names.
    annotators : ndarray of shape (n_annotators,)
        The names of the annotators; 0, 1, ... for a table without names.
    classes : ndarray of shape (n_classes,)
        The classes.
    select_rows : "auto" or bool
        Whether the sources choose the rows that they answer, as rules do.
    are_rules : bool
        Whether the sources are rules; with ``select_rows="auto"``, if some of them give one answer only.
    n_answers : int
        Number of answers.
    has_sets : bool
        Whether an answer names several classes.

    Examples
    --------
    >>> from oneof.crowd import Answers
    >>> answers = Answers.from_records([7, 7, 9], ["Ann", "Bob", "Ann"], ["finch", ["finch", "wren"], "wren"])
    >>> answers
    <Answers: 3 by 2 annotators about 2 rows, 2 classes>
    >>> answers.rows.tolist()
    [7, 9]
    """

    __slots__ = ("_code", "_in_order", "_row", "_sets", "_source", "annotators", "classes", "rows", "select_rows")

    rows: Labels
    annotators: Labels
    classes: Labels
    select_rows: SelectRows
    _row: Ints
    _source: Ints
    _code: Ints
    _sets: Mask
    _in_order: bool

    @classmethod
    def _from_codes(
        cls,
        codes: tuple[Ints, Ints, Ints],
        sets: Mask,
        names: tuple[Any, Any, Any],
        *,
        select: SelectRows,
        in_order: bool = True,
    ) -> Self:
        """Return answers from codes of rows, annotators and distinct answers, and the names of all three.

        `in_order` is False if the order of the rows is that of their names, and not one given by the caller.
        """
        out = object.__new__(cls)
        out._in_order = in_order
        out._row, out._source, out._code = codes
        out._sets = sets
        out.rows, out.annotators, out.classes = names
        out.select_rows = _check_select_rows(select)
        return out

    @classmethod
    def from_table(
        cls, table: Any, *, classes: Any = None, annotators: Any = None, select_rows: SelectRows = "auto"
    ) -> Self:
        """Read a table with a row for each row of the data and a column for each annotator.

        Parameters
        ----------
        table : array-like or DataFrame of shape (n_rows, n_annotators)
            Labels, or sets of labels as lists, tuples or sets. None, NaN, masked entries, and -1 among integers mean
            "no answer".
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        annotators : array-like of shape (n_annotators,), optional
            The names, without surrounding spaces; by default the column names of a DataFrame, else 0, 1, ...
        select_rows : "auto" or bool, default="auto"
            Whether the sources are rules, which choose the rows that they answer; see `are_rules`.

        Returns
        -------
        Answers

        Raises
        ------
        LabelError
            If an answer is not a label or a set of labels, or not one of the classes; the error names the row.
        InputError
            If the table is not 2-D, an annotator has no answer, or the answers in a column all differ from one another
            and from those in other columns, as names of rows do.
        """
        flat, (n_rows, n_columns), names, row_names = flatten_table(table)
        names = column_annotators(names, annotators)
        code, sets, known = encode(flat, classes, n_columns)
        if classes is None:
            warn_of_joined_labels(known)
        given = np.flatnonzero(code != MISSING)
        row, source = np.divmod(given, n_columns)
        empty = np.flatnonzero(np.bincount(source, minlength=n_columns) == 0)
        if len(empty):
            raise InputError(
                f"annotator {names.tolist()[empty[0]]!r} has no answer. Remove the column.", column=int(empty[0])
            )
        if classes is None:
            check_no_names(source, code[given], names)
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
        select_rows: SelectRows = "auto",
    ) -> "Answers":
        """Read one record for each answer: the row, the annotator and the answer.

        Parameters
        ----------
        rows : array-like of shape (n_answers,), or DataFrame
            The name of the row of each answer. A DataFrame has all three, in the columns "row", "annotator" and
            "answer".
        annotators : array-like of shape (n_answers,), optional
            The name of the annotator of each answer; surrounding spaces are removed.
        answers : array-like of length n_answers, optional
            Labels, or sets of labels as lists, tuples or sets. Records without an answer (None, NaN, and -1 among
            integers) are ignored.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        index : array-like of shape (n_rows,), optional
            The names of all rows, in order, also of rows without answers; by default the rows that occur, sorted.
        select_rows : "auto" or bool, default="auto"
            Whether the sources are rules, which choose the rows that they answer; see `are_rules`.

        Returns
        -------
        Answers

        Raises
        ------
        LabelError
            If an answer is not a label or a set of labels, or not one of the classes.
        InputError
            If the lengths differ, a row is not in `index`, an annotator has no answer, or an annotator gave different
            answers to a row. Equal answers count once.
        """
        if annotators is None and answers is None:
            if not has_record_columns(rows):
                raise InputError(
                    "`rows` must be a DataFrame with the columns row, annotator and answer, or `annotators` and "
                    "`answers` must be given."
                )
            rows, annotators, answers = (rows[name] for name in RECORD_COLUMNS)
        codes, sets, names = encode_records(rows, annotators, answers, classes)
        if classes is None:
            warn_of_joined_labels(names[2])
        read = cls._from_codes(codes, sets, names, select=select_rows, in_order=False)
        return (read if index is None else read.align(index))._in_row_order()

    @classmethod
    def from_label_studio(
        cls,
        path: str | os.PathLike[str],
        *,
        row: str = "id",
        choice: str | None = None,
        classes: Any = None,
        index: Any = None,
    ) -> "Answers":
        """Read a JSON export of Label Studio, in its full form or the short one ("JSON-MIN").

        The labels of several choices are a set. Canceled annotations, drafts and predictions are ignored, and
        annotations marked as ground truth are answers of their annotator. Annotators without answers are omitted, with
        a UserWarning.

        Parameters
        ----------
        path : path-like
            The file.
        row : str, default="id"
            The field of the data that names the row; "id" is the number of the task if the data have no such field.
        choice : str, optional
            The name of the tag whose choices are the answers; by default the only one. The short form needs it if
            no task has several choices, because a single choice is then plain text.
        classes, index : array-like, optional
            See `from_records`.

        Returns
        -------
        Answers

        Raises
        ------
        DataError
            If the file is not such an export, a task has no such field, there are several tags, or an annotator has two
            different annotations of a task.
        InputError
            As in `from_records`.

        Examples
        --------
        >>> import json, pathlib, tempfile
        >>> from oneof.crowd import Answers
        >>> def choose(annotator, *labels):
        ...     result = {"type": "choices", "from_name": "bird", "to_name": "text", "value": {"choices": labels}}
        ...     return {"completed_by": annotator, "result": [result]}
        >>> task = {"id": 1, "data": {"name": "b7"}, "annotations": [choose(1, "wren"), choose(2, "finch", "wren")]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "export.json")
        ...     _ = path.write_text(json.dumps([task]))
        ...     Answers.from_label_studio(path, row="name")
        <Answers: 2 by 2 annotators about 1 rows, 2 classes>
        """
        check_field(row)
        annotations = read_label_studio(as_path(path), item=row, choice=choice)
        return Export(annotations, path).read(cls.from_records, classes=classes, index=index)

    @classmethod
    def from_doccano(cls, path: Any, *, row: str = "id", classes: Any = None, index: Any = None) -> "Answers":
        """Read an export of doccano, of a project in which the annotators do not share their labels.

        Several labels of an annotator for a document are a set. Annotators without labels are omitted, with a
        UserWarning.

        Parameters
        ----------
        path : path-like or list of path-like
            The .zip file with a file of each annotator, such as Ann.jsonl; its unpacked folder; or these files. Files
            of doccano before version 1.1, which name the annotators of each document, can be read as well.
        row : str, default="id"
            The key that names the document, such as a column of the imported table; by default doccano's number.
        classes, index : array-like, optional
            See `from_records`.

        Returns
        -------
        Answers

        Raises
        ------
        DataError
            If a file is not such an export, or has the labels of all annotators together.
        InputError
            As in `from_records`.

        Examples
        --------
        >>> import json, pathlib, tempfile
        >>> from oneof.crowd import Answers
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name, labels in (("Ann", ["wren"]), ("Bob", ["finch", "wren"])):
        ...         document = {"id": 1, "text": "small and brown", "label": labels, "Comments": []}
        ...         _ = pathlib.Path(folder, f"{name}.jsonl").write_text(json.dumps(document))
        ...     Answers.from_doccano(folder)
        <Answers: 2 by 2 annotators about 1 rows, 2 classes>
        """
        check_field(row)
        paths = [as_path(one) for one in path] if isinstance(path, list | tuple) else as_path(path)
        return Export(read_doccano(paths, item=row), path).read(cls.from_records, classes=classes, index=index)

    def _in_row_order(self) -> "Answers":
        """Return the same answers, sorted by rows and annotators, so that results do not depend on their order."""
        order = np.lexsort((self._source, self._row))
        codes = (self._row[order], self._source[order], self._code[order])
        names = (self.rows, self.annotators, self.classes)
        return Answers._from_codes(codes, self._sets, names, select=self.select_rows, in_order=self._in_order)

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
        names = name_vector(index, "index")
        row = rows_in(names, self._row, self._source, (self.rows, self.annotators))
        codes = (row, self._source, self._code)
        return Answers._from_codes(codes, self._sets, (names, self.annotators, self.classes), select=self.select_rows)

    @property
    def are_rules(self) -> bool:
        """True if the sources are rules, which choose the rows that they answer.

        With ``select_rows="auto"``, a source looks like a rule if all its answers are equal, although answers at
        random, with the frequencies of the sources with different answers, would not be (level 0.01 for all sources).
        The sources of a table are rules if at least half of them look like rules for different answers; or if at least
        two do, and other sources give their answers more often in their rows than elsewhere (level 0.01): a careless
        annotator does not choose rows. If no source has different answers, the level is that of all sources together.
        """
        if not isinstance(self.select_rows, str):
            return self.select_rows
        J, used = len(self.annotators), ~self._sets[self._code].all(axis=1)  # full sets have no information
        row, source, code = self._row[used], self._source[used], self._code[used]
        first = np.zeros(J, dtype=np.int64)
        first[source] = code
        is_constant = np.ones(J, dtype=bool)
        is_constant[source[code != first[source]]] = False
        varied = ~is_constant[source] | is_constant.all()
        times = np.bincount(code[varied], minlength=len(self._sets)) + 1.0
        log_proba = np.log(times / times.sum())[first] * np.maximum(np.bincount(source, minlength=J) - 1, 0)
        if is_constant.all():
            log_proba[:] = log_proba.sum() - np.log(J)
        is_rule = is_constant & (log_proba < np.log(RULE_LEVEL / J))
        if 2 * is_rule.sum() < J:
            for j in np.flatnonzero(is_rule):
                others = source != j
                shared = others & np.isin(row, row[source == j])
                rate = (code[others] == first[j]).mean()
                is_rule[j] = (code[shared] == first[j]).sum() > binom.isf(RULE_LEVEL, shared.sum(), rate)
        return len(np.unique(first[is_rule])) > 1

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self._row)

    @property
    def has_sets(self) -> bool:
        """True if an answer names several classes."""
        return bool((np.count_nonzero(self._sets, axis=1) > 1)[self._code].any())

    def of_row(self, row: int) -> dict[Any, list[Any]]:
        """Return the answers to a row.

        Parameters
        ----------
        row : int
            The position of the row, from 0.

        Returns
        -------
        dict
            The classes of each answer, by the name of the annotator.

        Raises
        ------
        InputError
            If there is no such row.
        """
        if not 0 <= row < len(self):
            raise InputError(f"`row` must be from 0 to {len(self) - 1}; got {row!r}.")
        names = self.annotators.tolist()
        return {
            names[self._source[i]]: self.classes[self._sets[self._code[i]]].tolist()
            for i in np.flatnonzero(self._row == row)
        }

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> "Answers":
        """Return the answers to different rows, selected by a slice, a mask or an array.

        Annotators without an answer to these rows are omitted.
        """
        selected = selected_rows(rows, len(self))
        position = np.full(len(self), MISSING)
        position[selected] = np.arange(len(selected))
        kept = np.flatnonzero(position[self._row] != MISSING)
        sources, source = np.unique(self._source[kept], return_inverse=True)
        codes = (position[self._row[kept]], source.ravel(), self._code[kept])
        names = (self.rows[selected], self.annotators[sources], self.classes)
        select = self.are_rules  # of all answers: those of a few rows may be equal by chance
        return Answers._from_codes(codes, self._sets, names, select=select, in_order=self._in_order)

    def __repr__(self) -> str:
        return (
            f"<Answers: {self.n_answers} by {len(self.annotators)} annotators about {len(self)} rows, "
            f"{len(self.classes)} classes>"
        )

    def to_codes(self) -> EncodedAnswers:
        """Return the codes of the answers, which `CandidateSets.from_annotations` reads.

        Returns
        -------
        EncodedAnswers
        """
        shape = (len(self), len(self.annotators))
        return EncodedAnswers(self._row, self._source, self._code, self._sets, self.classes, shape)

    def _columns(self) -> AnswerColumns:
        """Return the answers that do not name all classes, for the solvers."""
        informative = np.flatnonzero(~self._sets[self._code].all(axis=1))
        codes = (self._row[informative], self._source[informative], self._code[informative])
        return AnswerColumns.from_answers(*codes, self._sets, len(self), len(self.annotators))
