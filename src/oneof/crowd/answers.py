"""Answers of annotators, from a table, records or an export, encoded for the solvers."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.stats import binom

from oneof.candidates.labels import MISSING, label_vector
from oneof.candidates.readers.annotations import EncodedAnswers, encode_cells, read_table
from oneof.crowd.encoding import annotator_vector, factorize, index_of, list_labels, name_vector, positions_in
from oneof.errors import DataError, InputError, InputTypeError
from oneof.files import as_path
from oneof.io.formats.annotations import Annotation, describe_omitted, drop_empty, read_doccano, read_label_studio
from oneof.messages import enumerate_items, warn
from oneof.solvers.annotators import AnswerColumns
from oneof.typing import Ints, Labels, Mask

SelectRows: TypeAlias = Literal["auto"] | bool
RECORD_COLUMNS = ("row", "annotator", "answer")
MIN_NAMES = 20
"""Number of answers, all different and in no other column, from which they are taken for names of rows.

Two annotators who are right in half of their answers agree in a row with a probability of at least 1/4, and in none of
20 rows with at most (3/4)^20 = 0.3 %.
"""
RULE_LEVEL = 0.01
"""Level of the tests by which a source is a rule, of the first one for all sources of a table together."""


def has_record_columns(answers: Any) -> bool:
    """Return whether answers are a DataFrame of records; raise if it is one with other names of the columns."""
    names = set(answers.columns) if hasattr(answers, "columns") else set()
    if names.issuperset(RECORD_COLUMNS):
        return True
    if names & {"annotator", "worker"} and names & {"answer", "label"}:
        raise InputError(
            f"the DataFrame of answers has the columns {enumerate_items(list(map(repr, answers.columns)), 6)}, as with "
            "one answer in each line. Rename those of the row, the annotator and the answer to 'row', 'annotator' and "
            "'answer'."
        )
    return False


@dataclass(eq=False, repr=False, slots=True)
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

    rows: Labels
    annotators: Labels
    classes: Labels
    select_rows: SelectRows
    _row: Ints
    _source: Ints
    _code: Ints
    _sets: Mask
    _in_order: bool = True
    """False if the order of the rows is that of their names, and not one given by the caller."""

    def __post_init__(self) -> None:
        """Check the answers, of which -1 is none, and sort them by rows and annotators; equal answers count once."""
        is_auto = isinstance(self.select_rows, str) and self.select_rows == "auto"
        if not is_auto and not isinstance(self.select_rows, bool | np.bool_):
            raise InputError(f'`select_rows` must be "auto", True or False; got {self.select_rows!r}.')
        row, source, code, annotators = self._row, self._source, self._code, self.annotators.tolist()
        given = np.flatnonzero(code != MISSING)
        silent = np.flatnonzero(np.bincount(source[given], minlength=len(annotators)) == 0)
        if len(silent):
            raise InputError(f"annotator {annotators[silent[0]]!r} has no answer. Remove the annotator.")
        given = given[np.lexsort((source[given], row[given]))]  # stable: the first of equal answers stays
        again = np.flatnonzero((np.diff(row[given]) == 0) & (np.diff(source[given]) == 0))
        differs = again[code[given[again]] != code[given[again + 1]]]
        if len(differs):
            at = differs[np.argmin(given[differs + 1])]
            i, j = given[at], given[at + 1]
            one, other = (" or ".join(map(str, self.classes[self._sets[code[k]]].tolist())) for k in (i, j))
            others = f", as with {len(differs) - 1:,} further answers" if len(differs) > 1 else ""
            raise InputError(
                f"annotator {annotators[source[i]]!r} answered the row {self.rows.tolist()[row[i]]!r} twice, with "
                f"{one!r} and {other!r}{others}. Keep one answer, or give their set.",
                row=int(j),
            )
        given = np.delete(given, again + 1)
        self._row, self._source, self._code = row[given], source[given], code[given]

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
        cells, (n_rows, n_columns) = read_table(table)
        columns = label_vector(list(table.columns)) if hasattr(table, "columns") else np.arange(n_columns)
        rows = np.arange(n_rows) if index_of(table) is None else label_vector(table.index)
        names = _column_annotators(columns, annotators)
        code, sets, known = _encode(cells, n_columns, classes)
        row, source = np.divmod(np.arange(len(code)), max(n_columns, 1))
        read = cls(rows, names, known, select_rows, row, source, code, sets)
        if classes is None:
            _check_no_names(read._source, read._code, names)
        return read

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
                    "`rows` must be a DataFrame with the columns row, annotator and answer; or pass all three."
                )
            rows, annotators, answers = (rows[name] for name in RECORD_COLUMNS)
        columns = name_vector(rows, "rows"), annotator_vector(annotators), label_vector(answers)
        lengths = list(map(len, columns))
        if len(set(lengths)) > 1:
            raise InputError(f"`rows`, `annotators` and `answers` must have the same length; got {lengths}.")
        (row_names, row), (sources, source) = factorize(columns[0], "row"), factorize(columns[1], "annotator")
        code, sets, known = _encode(columns[2], 1, classes)
        read = cls(row_names, sources, known, select_rows, row, source, code, sets, _in_order=False)
        return read if index is None else read.align(index)

    @classmethod
    def from_label_studio(
        cls,
        path: str | os.PathLike[str],
        *,
        row: str = "id",
        choice: str | None = None,
        classes: Any = None,
        index: Any = None,
        select_rows: SelectRows = "auto",
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
        classes, index, select_rows
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
        return cls._from_export(
            lambda: read_label_studio(as_path(path), item=row, choice=choice),
            path,
            row,
            classes=classes,
            index=index,
            select_rows=select_rows,
        )

    @classmethod
    def from_doccano(
        cls,
        path: Any,
        *,
        row: str = "id",
        classes: Any = None,
        index: Any = None,
        select_rows: SelectRows = "auto",
    ) -> "Answers":
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
        classes, index, select_rows
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
        paths = [as_path(one) for one in path] if isinstance(path, list | tuple) else as_path(path)
        named = {"classes": classes, "index": index, "select_rows": select_rows}
        return cls._from_export(lambda: read_doccano(paths, item=row), path, row, **named)

    @classmethod
    def _from_export(cls, read: Callable[[], list[Annotation]], path: Any, row: Any, **named: Any) -> "Answers":
        """Return the answers of an export; errors name the file, and the place of the answer in it."""
        if not isinstance(row, str):
            raise InputTypeError(f"`row` must be the name of a field; got {row!r}.")
        source = ", ".join(map(str, path)) if isinstance(path, list | tuple) else str(path)
        annotations, omitted = drop_empty(read())
        if not annotations:
            raise DataError("the export has no answers.", source=source)
        if omitted:
            warn(describe_omitted(omitted))
        rows, annotators, labels, locations = zip(*annotations, strict=True)
        try:
            return cls.from_records(rows, annotators, list_labels(labels), **named)
        except InputError as error:
            place = source if error.row is None else locations[error.row]
            error.row = None
            raise error.at(place) from None

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
        row = positions_in(names, self.rows.tolist(), "index")[self._row]
        unknown = np.flatnonzero(row == MISSING)
        if len(unknown):
            name, annotator = self.rows.tolist()[self._row[unknown[0]]], self._source[unknown[0]]
            raise InputError(
                f"an answer of annotator {self.annotators.tolist()[annotator]!r} is about the row {name!r}, which the "
                "table does not have. Correct the name, or remove the answer."
            )
        return replace(self, rows=names, _row=row, _in_order=True)

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
        try:
            selected = np.atleast_1d(np.arange(len(self))[rows])
            row = positions_in(selected, range(len(self)), "rows")[self._row]
        except (IndexError, TypeError, ValueError):
            raise InputError(
                f"answers to {len(self)} rows are indexed by a slice, a mask or different rows; got {rows!r}."
            ) from None
        kept = np.flatnonzero(row != MISSING)
        sources, source = np.unique(self._source[kept], return_inverse=True)
        return replace(
            self,
            rows=self.rows[selected],
            annotators=self.annotators[sources],
            select_rows=self.are_rules,  # of all answers: those of a few rows may be equal by chance
            _row=row[kept],
            _source=source.ravel(),
            _code=self._code[kept],
        )

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


def _encode(cells: Any, n_columns: int, classes: Any) -> tuple[Ints, Mask, Labels]:
    """Return the codes of `encode_cells`; warn if a class consists of others separated by "|", as a set in a text."""
    code, sets, known = encode_cells(cells, n_columns, classes)
    names = set(known.tolist())
    for label in known.tolist() if classes is None else ():
        if isinstance(label, str) and "|" in label and names.issuperset(members := label.split("|")):
            warn(f"{label!r} is read as one class. If it is a set, split the text: the answer is then {members}.")
            break
    return code, sets, known


def _column_annotators(columns: Labels, annotators: Any = None) -> Any:
    """Return the annotators of columns, by default their names; columns of one annotator are an error."""
    names = annotator_vector(columns if annotators is None else annotators)
    if not len(set(names.tolist())) == len(names) == len(columns):
        listed = enumerate_items(list(map(repr, names.tolist())), 9) or "none"
        raise InputError(
            f"`annotators` must be {len(columns)} different names, one for each column, by default those of the "
            f"columns; got {listed}. Rename or remove a column, or pass `annotators`."
        )
    return names


def _check_no_names(source: Ints, code: Ints, names: Labels) -> None:
    """Raise if the answers in one of several columns are all different, and occur in no other column, as names do."""
    is_shared = np.bincount(code)[code] > 1
    n_answers, n_shared = (np.bincount(one, minlength=len(names)) for one in (source, source[is_shared]))
    suspects = np.flatnonzero((n_answers >= MIN_NAMES) & (n_shared == 0))
    if len(names) > 1 and len(suspects):
        name, n = names.tolist()[suspects[0]], n_answers[suspects[0]]
        raise InputError(
            f"the {n} answers in column {name!r} are all different, and occur in no other column. If they name the "
            f"rows, make them the index: table.set_index({name!r}). Otherwise pass `classes`.",
            column=int(suspects[0]),
        )
