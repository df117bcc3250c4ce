"""Answers of annotators, from a table, records or an export; their rows among those of a data set; known labels."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from oneof.candidates import as_candidates
from oneof.candidates.encoding import (
    MISSING,
    EncodedAnswers,
    check_classes,
    encode_answer_cells,
    encode_table,
    other_columns,
)
from oneof.candidates.labels import as_classes, is_missing, label_vector
from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.files import as_path
from oneof.io.answers import (
    DOCCANO,
    AnswerOptions,
    Form,
    ParsedAnswers,
    parse_answers,
    read_answer_file,
)
from oneof.messages import MAX_NAMED, enumerate_items, warn
from oneof.solvers.annotators.dawid_skene import AnswerColumns, are_rules
from oneof.typing import Floats, Ints, Labels, Mask

SelectRows: TypeAlias = Literal["auto"] | bool
RECORD_COLUMNS = ("row", "annotator", "answer")


@dataclass(eq=False, repr=False, slots=True)
class Answers:
    """Answers of annotators about rows. An answer is a label or a set of labels that should contain the true one.

    Use `from_table`, `from_records`, `from_label_studio` or `from_doccano`. Annotators without answers are omitted,
    with a UserWarning.

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
    select_rows: SelectRows
    _codes: EncodedAnswers
    _in_order: bool = True
    """False if the order of the rows is that of their names, and not one given by the caller."""

    def __post_init__(self) -> None:
        """Sort the answers by rows and annotators; equal answers count once, and annotators without any are omitted."""
        is_auto = isinstance(self.select_rows, str) and self.select_rows == "auto"
        if not is_auto and not isinstance(self.select_rows, bool | np.bool_):
            raise InputError(f'`select_rows` must be "auto", True or False; got {self.select_rows!r}.')
        codes, names = self._codes, self.annotators.tolist()
        given = np.lexsort((codes.annotator, codes.row))  # stable: the first of equal answers stays
        given = given[codes.answer[given] != MISSING]
        row, annotator, answer = codes.row[given], codes.annotator[given], codes.answer[given]
        is_again = (np.diff(row, prepend=-1) == 0) & (np.diff(annotator, prepend=-1) == 0)
        differs = np.flatnonzero(is_again & (np.diff(answer, prepend=-1) != 0))
        if len(differs):
            at = differs[np.argmin(given[differs])]
            one, other = (" or ".join(map(str, self._labels_of(answer[k]))) for k in (at - 1, at))
            others = f", as with {len(differs) - 1:,} further answers" if len(differs) > 1 else ""
            raise InputError(
                f"annotator {names[annotator[at]]!r} answered the row {self.rows.tolist()[row[at]]!r} twice, with "
                f"{one!r} and {other!r}{others}. Keep one answer, or give their set.",
                row=int(given[at]),
            )
        active, annotator = np.unique(annotator[~is_again], return_inverse=True)
        if len(active) < len(names):
            omitted = [repr(names[j]) for j in np.setdiff1d(np.arange(len(names)), active)]
            listed = enumerate_items(omitted, MAX_NAMED, conjunction=False)
            warn(f"annotators without informative answers are omitted: {listed}.")
        self.annotators = self.annotators[active]
        shape = (len(self.rows), len(active))
        self._codes = EncodedAnswers(row[~is_again], annotator, answer[~is_again], codes.sets, codes.classes, shape)

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
            If the table is not 2-D, or a column has almost no label of another column, as names of rows, dates and
            comments do, and neither `classes` nor ``select_rows=True`` are given.
        """
        codes = encode_table(table, classes)
        n_rows, n_columns = codes.shape
        rows = np.arange(n_rows) if index_of(table) is None else label_vector(table.index)
        columns = label_vector(list(table.columns)) if hasattr(table, "columns") else np.arange(n_columns)
        names = annotator_vector(columns if annotators is None else annotators)
        if not len(set(names.tolist())) == len(names) == n_columns:
            listed = enumerate_items(list(map(repr, names.tolist())), 9) or "none"
            raise InputError(
                f"`annotators` must be {n_columns} different names, one for each column, by default those of the "
                f"columns; got {listed}. Rename or remove a column, or pass `annotators`."
            )
        if classes is None and select_rows is not True:
            remedy = "Remove other columns than those of annotators, make names of rows the index, or pass `classes`."
            _check_columns(codes, names, remedy)
        return cls(rows, names, select_rows, codes)

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
            If the lengths differ, a row is not in `index`, or an annotator gave different answers to a row. Equal
            answers count once.
        """
        if annotators is None and answers is None:
            if not has_record_columns(rows):
                raise InputError(
                    "`rows` must be a DataFrame with the columns row, annotator and answer; or pass all three."
                )
            rows, annotators, answers = (rows[name] for name in RECORD_COLUMNS)
        values = label_vector(answers)
        lengths = [len(name_vector(rows, "rows")), len(annotator_vector(annotators)), len(values)]
        if len(set(lengths)) > 1:
            raise InputError(f"`rows`, `annotators` and `answers` must have the same length; got {lengths}.")
        return cls._from_codes(rows, annotators, *encode_answer_cells(values, 1, classes), index, select_rows)

    @classmethod
    def _from_codes(
        cls, rows: Any, annotators: Any, code: Ints, sets: Mask, classes: Labels, index: Any, select_rows: SelectRows
    ) -> "Answers":
        """Return the answers with these codes of their sets, -1 without an answer; see `from_records`."""
        row_names, row = factorize(name_vector(rows, "rows"), "row")
        sources, source = factorize(annotator_vector(annotators), "annotator")
        codes = EncodedAnswers(row, source, code, sets, classes, (len(row_names), len(sources)))
        read = cls(row_names, sources, select_rows, codes, _in_order=False)
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
        >>> task = {"id": 1, "data": {"name": "b7"}, "annotations": [choose(1, "wren"), choose(2, "finch", "owl")]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "export.json")
        ...     _ = path.write_text(json.dumps([task]))
        ...     Answers.from_label_studio(path, row="name")
        <Answers: 2 by 2 annotators about 1 rows, 3 classes>
        """
        return cls._from_export([as_path(path)], None, row, choice, classes, index=index, select_rows=select_rows)

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
            The .zip file with a file of each annotator, such as Ann.jsonl; its unpacked folder; or these files.
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
        ...     for name, labels in (("Ann", ["wren"]), ("Bob", ["finch", "owl"])):
        ...         document = {"id": 1, "text": "small and brown", "label": labels, "Comments": []}
        ...         _ = pathlib.Path(folder, f"{name}.jsonl").write_text(json.dumps(document))
        ...     Answers.from_doccano(folder)
        <Answers: 2 by 2 annotators about 1 rows, 3 classes>
        """
        paths = [as_path(one) for one in (path if isinstance(path, list | tuple) else [path])]
        return cls._from_export(paths, DOCCANO, row, None, classes, index=index, select_rows=select_rows)

    @classmethod
    def _from_export(
        cls, paths: Sequence[Path], form: Form | None, row: str, choice: str | None, classes: Any, **named: Any
    ) -> "Answers":
        """Return the answers of an export; errors name the file, and the place of the answer in it."""
        if not isinstance(row, str):
            raise InputTypeError(f"`row` must be the name of a field; got {row!r}.")
        options = AnswerOptions(paths[0], row, answer=choice, answers_row=row)
        file = read_answer_file(options, paths=paths, form=form)
        if not file.is_export:
            raise DataError("the file is not an export of Label Studio: it has no choices.", source=file.path)
        names = None if classes is None else [str(name) for name in as_classes(classes).tolist()]
        return answers_of_file(parse_answers(file, classes=names), **named)

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
        names, codes = name_vector(index, "index"), self._codes
        row = positions_in(names, self.rows.tolist(), "index")[codes.row]
        unknown = np.flatnonzero(row == MISSING)
        if len(unknown):
            name, annotator = self.rows.tolist()[codes.row[unknown[0]]], codes.annotator[unknown[0]]
            raise InputError(
                f"an answer of annotator {self.annotators.tolist()[annotator]!r} is about the row {name!r}, which the "
                "table does not have. Correct the name, or remove the answer."
            )
        return replace(self, rows=names, _codes=codes._replace(row=row), _in_order=True)

    @property
    def classes(self) -> Labels:
        """The classes."""
        return self._codes.classes

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
        return are_rules(self._columns(), len(self._codes.sets))

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self._codes.row)

    @property
    def has_sets(self) -> bool:
        """True if an answer names several classes."""
        return bool((np.count_nonzero(self._codes.sets, axis=1) > 1)[self._codes.answer].any())

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
        names, codes = self.annotators.tolist(), self._codes
        given = np.flatnonzero(codes.row == row)
        return {names[codes.annotator[i]]: self._labels_of(codes.answer[i]) for i in given}

    def _labels_of(self, answer: int) -> list[Any]:
        """Return the classes of a distinct answer."""
        return list(self.classes[self._codes.sets[answer]].tolist())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> "Answers":
        """Return the answers to different rows, selected by a slice, a mask or an array.

        Annotators without an answer to these rows are omitted.
        """
        codes = self._codes
        try:
            selected = np.atleast_1d(np.arange(len(self))[rows])
            row = positions_in(selected, range(len(self)), "rows")[codes.row]
        except (IndexError, TypeError, ValueError):
            raise InputError(
                f"answers to {len(self)} rows are indexed by a slice, a mask or different rows; got {rows!r}."
            ) from None
        kept = row != MISSING
        sources, source = np.unique(codes.annotator[kept], return_inverse=True)
        return replace(
            self,
            rows=self.rows[selected],
            annotators=self.annotators[sources],
            select_rows=self.are_rules,  # of all answers: those of a few rows may be equal by chance
            _codes=codes._replace(row=row[kept], annotator=source, answer=codes.answer[kept]),
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
        return self._codes

    def _columns(self, evidence: Floats | None = None) -> AnswerColumns:
        """Return the answers that do not name all classes, with the evidence of known labels, for the solvers."""
        codes = self._codes
        informative = np.flatnonzero(~codes.sets[codes.answer].all(axis=1))
        row, source, answer = (one[informative] for one in (codes.row, codes.annotator, codes.answer))
        known = np.ones((len(self), len(self.classes))) if evidence is None else evidence
        return AnswerColumns.from_answers(row, source, answer, codes.sets, len(self.annotators), known)


def answers_of_file(given: ParsedAnswers, *, index: Any, select_rows: SelectRows = "auto") -> Answers:
    """Return the answers of a file, as `Answers.from_records`; errors name the place of the answer.

    If the names of the index are text, those of the file are compared as text.
    """
    records = given.file.answers
    rows, annotators = [one.row for one in records], [one.annotator for one in records]
    rows = [*map(str, rows)] if index is not None and all(isinstance(name, str) for name in index) else rows
    try:
        answers = Answers._from_codes(rows, annotators, given.code, given.sets, given.classes, index, select_rows)
        if given.file.is_wide and not given.are_named and select_rows is not True:
            remedy = "Leave out other columns than those of annotators by --exclude-annotator, or add --classes."
            _check_columns(answers._codes, answers.annotators, remedy)
    except InputError as error:
        place = given.file.path if error.row is None else records[error.row].place
        error.row = None
        raise error.at(place) from None
    return answers


def _check_columns(codes: EncodedAnswers, names: Labels, remedy: str) -> None:
    """Raise if a column is not that of an annotator."""
    if len(others := other_columns(codes)):
        listed = enumerate_items([*map(repr, names[others].tolist())], MAX_NAMED)
        raise InputError(
            f"almost no label of {listed} is in another column, as with names, dates and comments. {remedy}",
            column=int(others[0]),
        )


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


def as_answers(answers: Any, classes: Any = None) -> Answers:
    """Return answers given as `Answers`, a table, or a DataFrame of records."""
    if isinstance(answers, Answers):
        check_classes(classes, answers.classes)
        return answers
    read = Answers.from_records if has_record_columns(answers) else Answers.from_table
    return read(answers, classes=classes)


def name_vector(values: Any, name: str) -> Any:
    """Return names of rows or annotators as a 1-D array."""
    try:
        names = label_vector(values)
        set(names.tolist())
    except (LabelError, TypeError):
        raise InputError(f"`{name}` must be a 1-D array of names, strings or numbers; got {values!r}.") from None
    return names


def annotator_vector(values: Any) -> Any:
    """Return names of annotators as a 1-D array, in which text has no surrounding spaces, as in files of answers.

    An empty name is an error.
    """
    names = name_vector(values, "annotators")
    if names.dtype.kind not in "OU":
        return names
    stripped = [name.strip() if isinstance(name, str) else name for name in names.tolist()]
    if "" in stripped:
        raise InputError(f"the name of annotator {stripped.index('')} is empty. Name it, or remove its answers.")
    return label_vector(stripped)


def factorize(values: Any, kind: str) -> tuple[Labels, Ints]:
    """Return the distinct names, sorted if they can be, and the index of each value."""
    listed = values.tolist()
    distinct = list(dict.fromkeys(listed))
    if any(map(is_missing, distinct)):
        missing = next(i for i, name in enumerate(listed) if is_missing(name))
        raise InputError(f"the name of the {kind} is missing. Name it, or remove the record.", row=missing)
    with suppress(TypeError):  # names of several types
        distinct.sort()
    names = label_vector(distinct)
    return names, positions_in(names, listed, kind)


def positions_in(names: Labels, requested: Iterable[Any], what: str) -> Ints:
    """Return the position of each requested name among different names, -1 if it is none of them."""
    position: dict[Any, int] = {}
    for i, name in enumerate(names.tolist()):
        if position.setdefault(name, i) < i:
            raise InputError(f"`{what}` must contain different rows; {name!r} is repeated. Remove or rename one.")
    return np.array([position.get(name, MISSING) for name in requested], dtype=np.int64)


def index_of(table: Any) -> Any:
    """Return the index of a DataFrame or a Series of pandas, which names its rows; None if there is none."""
    index = getattr(table, "index", None)
    return None if callable(index) else index


def is_in_order(names: Sequence[Any], index: Sequence[Any], *, index_is_unnamed: bool) -> bool:
    """Return whether two sequences of names are of the same rows in the same order; otherwise names are matched.

    The numbers 0, 1, ... are not names, unless both have the same numbers in another order: then the order counts, as
    it does if the rows of the index have no names.
    """
    if names == index or len(names) != len(index):
        return names == index
    return (index_is_unnamed or names == list(range(len(names)))) and set(names) != set(index)


def read_gold(gold: Any, answers: Answers) -> Floats:
    """Return the weights of the classes in the rows with known labels, (n, K), 1 in other rows.

    `gold` has a label, or any other evidence, for each row, or is a mapping or a Series from names of rows.
    """
    gold = {} if gold is None else gold
    rows, is_named = answers.rows.tolist(), isinstance(gold, Mapping)
    if getattr(gold, "ndim", 0) == 1 and index_of(gold) is not None:  # a Series of pandas
        names = gold.index.tolist()
        has_other_names = rows == list(range(len(rows))) and set(names).isdisjoint(rows)
        is_named = not is_in_order(names, rows, index_is_unnamed=has_other_names)
    if is_named:
        names, labels = zip(*gold.items(), strict=True) if len(gold) else ((), ())
        if unknown := sorted(set(names).difference(rows), key=names.index):
            raise InputError(
                f"`gold` names the row {unknown[0]!r}, which the answers do not have. Correct the name; or, if no "
                "annotator answered the row, leave it out, or name all rows by Answers.from_records(index=)."
            )
        position = positions_in(name_vector(names, "gold"), rows, "gold")
        gold = [None if i == MISSING or is_missing(labels[i]) else labels[i] for i in position]
    try:
        candidates = as_candidates(gold, classes=answers.classes)
    except LabelError as error:
        if is_named and error.row is not None:
            raise LabelError(error.reason, label=error.label, source=f"`gold`, row {rows[error.row]!r}") from None
        raise error.at("`gold`") from None
    if len(candidates) != len(answers):
        raise InputError(f"`gold` must have one label for each of the {len(answers)} rows; got {len(candidates)}.")
    return candidates.weights


def join_rows(answers: Answers, rows: Any, *, is_table: bool) -> Answers:
    """Return the answers over the rows of X, by the names of the rows or by their order; see `CrowdClassifier.fit`.

    `is_table` says whether the caller gave a table, with a row for each row of X.
    """
    if len(rows.shape) == 0:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    n, own = rows.shape[0], index_of(rows)
    index = name_vector(np.arange(n) if own is None else own, "index")
    names, known = answers.rows.tolist(), index.tolist()
    if is_in_order(names, known, index_is_unnamed=answers._in_order and not is_table and own is None):
        return answers
    is_numbered = names == list(range(len(names)))
    if is_table and is_numbered and len(names) != n:
        raise InputError(f"`answers` are about {len(names)} rows, but `X` has {n}. Give one row of answers for each.")
    is_guess = answers._in_order and is_numbered and set(names) == set(known)
    if is_guess or (is_table and own is None) or (names and set(names).isdisjoint(known)):
        raise InputError(
            f"the rows of `answers`, such as {names[0]!r}, cannot be found in `X`, which has "
            f"{'no names of rows' if own is None else 'other names, or the same numbers in another order'}. Give X and "
            "the table the same index, such as X.set_index(names), or pass index= to Answers. If a table is in the "
            "order of X, pass answers.to_numpy() and X.reset_index(drop=True)."
        )
    return answers.align(index)
