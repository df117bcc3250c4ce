"""Files of answers: records, tables with a column for each annotator, exports and archives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.annotator_names import MAX_NAMED, note_spellings, other_columns, without_excluded
from oneof.cli.answers.answer_options import ANNOTATOR, ANSWER, AnswerOptions
from oneof.cli.answers.row_names import (
    OWN_ID,
    check_row_column,
    describe_own_id,
    describe_row_option,
    name_rows,
    read_names,
)

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.crowd import Answers
    from oneof.io import CellFormat, Table, UnreadableCells


@dataclass(frozen=True)
class TableAnswers:
    """Answers about the rows of a table, which are numbered; their names; and the checked labels, None if not checked.

    The separator is the text between two labels of an answer. The row column is that of the names in the table, empty
    if the rows are numbered.
    """

    answers: "Answers"
    row_names: list[str]
    gold: list[Any] | None
    notes: tuple[str, ...]
    separator: str
    row_column: str = ""


def read_answers(
    options: AnswerOptions,
    table: "Table",
    *,
    separator: str | None,
    classes: tuple[str, ...] | None,
    gold: str | None = None,
    unreadable: "UnreadableCells | None" = None,
    other_uses: frozenset[str] = frozenset(),
) -> TableAnswers:
    """Read the answers about the rows of a table, with the checked labels of a column `gold` of it.

    If the table itself has the answers, its columns `other_uses`, such as that of true labels, are not annotators.
    Defects raise errors of `oneof.errors`. `unreadable` counts the answers that cannot be read and are missing; see
    `oneof.io.read_labels`.
    """
    import numpy as np

    from oneof.crowd import Answers
    from oneof.crowd.annotator_model import RULES_NOTE
    from oneof.errors import DataError, InputError
    from oneof.io.formats.annotations import is_export

    if options.path.suffix.lower() == ".npz":
        return _read_archive(options, table, gold)
    if options.path.suffix.lower() == ".sqlite":
        raise InputError(
            f"{options.path} stores a labeling session. Write its answers by oneof label {table.path} "
            "--export-answers FILE, and pass that file as --answers."
        )
    check_row_column(table, options.row, options.path)
    row_names, column = name_rows(table, options.row)
    position: dict[str, int] = {}
    for i, name in enumerate(row_names):
        if position.setdefault(name, i) < i:
            raise DataError(
                f"column {column!r} contains {name!r} twice. Name each row of the table differently.",
                source=str(table.path),
                row=i,
            )
    if is_export(options.path):
        records = _read_export(options, classes, table.cell_format)
    else:
        is_same_file = options.path.resolve() == Path(table.path).resolve()
        unused = other_uses if is_same_file else frozenset[str]()
        records = _read_records(options, table.path, separator, classes, table.cell_format, unreadable, unused)
    kept, excluded = without_excluded(records.annotators, options.excluded, options.path)
    records = records.keep(kept)
    records, omitted = _omit_unknown_rows(records, position, table)
    try:
        answers = Answers.from_records(
            records.rows,
            records.annotators,
            records.answers,
            classes=records.classes,
            index=row_names,
            select_rows=options.select_rows,
        )
    except InputError as error:
        raise _locate(error, records, options.path) from None
    answers.rows = np.arange(len(row_names))  # the rows of the features
    notes = [*records.notes, *excluded, *omitted, *note_spellings(answers.annotators.tolist())]
    notes += [RULES_NOTE] if options.rules == "auto" and answers.are_rules else []
    repeated = sum(answer is not None for answer in records.answers) - answers.n_answers
    if repeated:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    checked = None if gold is None else _read_gold(table, gold, answers.classes, records.separator)
    return TableAnswers(answers, row_names, checked, tuple(notes), records.separator, column)


def _omit_unknown_rows(
    records: "_Records", position: Mapping[str, int], table: "Table"
) -> "tuple[_Records, list[str]]":
    """Return the records about rows of the table, with a note about the others; raise if there are none."""
    from oneof.errors import DataError

    kept = [i for i, name in enumerate(records.rows) if name in position]
    if len(kept) == len(records.rows):
        return records, []
    first = next(i for i, name in enumerate(records.rows) if name not in position)
    if not kept:
        raise DataError(
            f"no answer is about a row of {table.path}: the answers name rows such as {records.rows[first]!r}, and the "
            f"table {next(iter(position), None)!r}. Give both the same names, or name their column by --row "
            "and --answers-row.",
            source=records.locations[first],
        )
    n_unknown, n_omitted = len(set(records.rows) - position.keys()), len(records.rows) - len(kept)
    rows = "row" if n_unknown == 1 else f"{n_unknown:,} rows, such as"
    note = (
        f"{n_omitted:,} of {len(records.rows):,} answers {'is' if n_omitted == 1 else 'are'} omitted, since "
        f"{table.path} does not have {'its' if n_omitted == 1 else 'their'} {rows} {records.rows[first]!r} "
        f"({records.locations[first]})."
    )
    return records.keep(kept), [note]


def _read_archive(options: AnswerOptions, table: "Table", gold: str | None) -> TableAnswers:
    """Read the answers of a NumPy archive; row i has the answers about row i of the table."""
    import numpy as np

    from oneof.candidates.columns import DEFAULT_SEPARATOR
    from oneof.crowd import Answers
    from oneof.errors import DataError, InputError
    from oneof.io import read_answers_npz

    if options.answers_row is not None:
        raise InputError(
            f"--answers-row has no use with the archive {options.path}, whose rows are those of the table in their "
            "order. Remove it."
        )
    if table.cell_format.folds_labels:
        raise InputError(f"--fold-case reads answers that are text; {options.path} has numbered classes. Remove it.")
    given = read_answers_npz(options.path)
    n_rows = table.frame.height if table.rows is None else table.rows.shape[0]
    if len(given.codes) > n_rows:
        raise DataError(
            f"{options.path} has answers about {len(given.codes):,} rows; {table.path} has {n_rows:,}. Give the table "
            "that the annotators labeled."
        )
    rows, annotators = np.nonzero(given.codes >= 0)
    names = np.asarray(given.annotators)[annotators]
    kept, notes = without_excluded([str(name) for name in names.tolist()], options.excluded, options.path)
    answers = Answers.from_records(
        rows[kept],
        names[kept],
        given.classes[given.codes[rows, annotators]][kept],
        classes=given.classes,
        index=np.arange(n_rows),
        select_rows=options.select_rows,
    )
    checked = None if gold is None else _read_gold(table, gold, given.classes, DEFAULT_SEPARATOR)
    silent = len(given.annotators) - len(set(annotators.tolist()))
    notes += [f"{silent:,} annotator{'s have' if silent > 1 else ' has'} no answer."] if silent else []
    return TableAnswers(answers, [str(row) for row in range(n_rows)], checked, tuple(notes), DEFAULT_SEPARATOR)


@dataclass(frozen=True)
class _Records:
    """The records of a file: a row, an annotator, an answer or None, and a location for each; classes and notes.

    The separator is the text between two labels of an answer.
    """

    rows: list[str]
    annotators: list[str]
    answers: list[Any]
    locations: list[str]
    classes: Any
    separator: str
    notes: tuple[str, ...] = ()

    def keep(self, kept: Sequence[int]) -> "_Records":
        """Return the records of these positions."""
        lists = (self.rows, self.annotators, self.answers, self.locations)
        rows, annotators, answers, locations = ([values[i] for i in kept] for values in lists)
        return replace(self, rows=rows, annotators=annotators, answers=answers, locations=locations)


def _read_records(
    options: AnswerOptions,
    table_path: Path,
    separator: str | None,
    classes: tuple[str, ...] | None,
    label_format: "CellFormat",
    unreadable: "UnreadableCells | None" = None,
    unused: frozenset[str] = frozenset(),
) -> _Records:
    """Read a table of answers about a table, with a line for each answer or a column for each annotator.

    `label_format` is the format of the labels of the table: tokens of missing labels, and whether case is folded.
    """
    from oneof.errors import DataError
    from oneof.io import describe, find_separator, label_findings, read_labels, read_table, select_column

    records = read_table(options.path, as_text=("*",), drop_units=False)
    # Only labels have these tokens: the name of a row or of an annotator may be one of them.
    cell_format = replace(label_format, dates=(), decimal=".")
    used = [name for name in records.frame.columns if name not in unused]
    records = replace(records, cell_format=cell_format, frame=records.frame.select(used))
    columns = records.frame.columns
    try:
        row = select_column(None, options.row_columns, columns, options.path)
    except DataError as error:
        remedy = describe_row_option(table_path, options.path)
        if options.row is None and options.answers_row is None:
            remedy = (
                "--row COLUMN names the column of the rows in both files, and --answers-row COLUMN that of "
                f"{options.path} if it has another name. If the lines are in the order of {table_path}, add a column "
                "'row' with the numbers from 0."
            )
        raise error.because(f"{error.reason} {remedy}") from None
    if options.annotator is None and options.answer is None and not {*ANNOTATOR, *ANSWER} & set(columns):
        return _read_wide(records, row, separator, classes, unreadable)
    annotator = select_column(options.annotator, ANNOTATOR, columns, options.path)
    answer = select_column(options.answer, ANSWER, columns, options.path)
    rows, annotators = read_names(records, row, "row"), read_names(records, annotator, "annotator")
    separator = separator or find_separator(records, [answer], classes=classes)
    labels = read_labels(records, [answer], separator=separator, classes=classes, unreadable=unreadable)
    answers = _list_answers(labels)
    active = {name for name, given in zip(annotators, answers, strict=True) if given is not None}
    kept = [i for i, name in enumerate(annotators) if name in active]
    return _Records(
        [rows[i] for i in kept],
        [annotators[i] for i in kept],
        [answers[i] for i in kept],
        [f"{options.path}, row {i}" for i in kept],
        labels.classes,
        separator,
        (
            *describe(label_findings(labels, separator, unit="answer", source=str(options.path))),
            *_note_omitted(records, answer, labels, separator, annotators, active),
        ),
    )


def _read_wide(
    table: "Table",
    row: str,
    separator: str | None,
    classes: tuple[str, ...] | None,
    unreadable: "UnreadableCells | None",
) -> _Records:
    """Return the records of a table with a column for each annotator."""
    from oneof.io import describe, find_separator, label_findings, read_labels
    from oneof.messages import enumerate_items

    columns = [name for name in table.frame.columns if name != row]
    rows = read_names(table, row, "row")
    other = other_columns(table, columns, separator, classes)
    columns = [name for name in columns if name not in other]
    records = replace(table, frame=table.frame.select(columns).unpivot(variable_name="annotator", value_name="answer"))
    separator = separator or find_separator(records, ["answer"], classes=classes)
    labels = read_labels(records, ["answer"], separator=separator, classes=classes, unreadable=unreadable)
    answers = _list_answers(labels)
    given = [i for i, answer in enumerate(answers) if answer is not None]
    given.sort(key=lambda i: i % len(rows))  # as records, which are usually in the order of the rows
    annotators = records.frame["annotator"].to_list()
    names = ", ".join(columns[:MAX_NAMED]) + (", ..." if len(columns) > MAX_NAMED else "")
    notes = [f"{table.path} is read as a table with a column for each of {len(columns)} annotators: {names}."]
    if other:
        notes.append(
            f"{enumerate_items(other, MAX_NAMED)} {'have' if len(other) > 1 else 'has'} almost no label of another "
            "column, and no annotator of this name is read. If it is one, pass a file with one answer per line."
        )
    notes += describe(label_findings(labels, separator, unit="answer", source=str(table.path)))
    active = {annotators[i] for i in given}
    notes += _note_omitted(records, "answer", labels, separator, annotators, active)
    return _Records(
        [rows[i % len(rows)] for i in given],
        [annotators[i] for i in given],
        [answers[i] for i in given],
        [f"{table.path}, row {i % len(rows)}, column {annotators[i]!r}" for i in given],
        labels.classes,
        separator,
        tuple(notes),
    )


def _note_omitted(
    table: "Table", column: str, labels: "CandidateSets", separator: str, annotators: list[str], active: set[str]
) -> list[str]:
    """Return notes on annotators who are not active: they have no answers, or all of these name all classes."""
    from collections import Counter

    from oneof.candidates.cells import LabelFormat, read_cells
    from oneof.io.formats.annotations import describe_omitted, describe_uninformative

    n_full: Counter[str] = Counter()
    form = LabelFormat(
        separator, folds_case=table.cell_format.folds_labels, missing=table.cell_format.missing, reads_lists=True
    )
    cells = read_cells(table.frame[column].to_list(), form)
    for name, code in zip(annotators, cells.code.tolist(), strict=True):
        if name not in active:
            n_full[name] += len(cells.pairs[code] or ()) >= len(labels.classes)
    omitted = [name for name in dict.fromkeys(annotators) if name not in active and not n_full[name]]
    notes = [describe_omitted(omitted)] if omitted else []
    return notes + [describe_uninformative(name, n) for name, n in n_full.items() if n]


def _read_export(options: AnswerOptions, classes: tuple[str, ...] | None, label_format: "CellFormat") -> _Records:
    """Read an export of Label Studio or doccano; see `_read_records` for the format of the labels."""
    from oneof.candidates.cells import DEFAULT_SEPARATOR, LabelFormat, raise_together, read_cells
    from oneof.candidates.spellings import Spellings
    from oneof.errors import DataError, InputError
    from oneof.io.formats.annotations import UnnamedItemError, describe_omitted, drop_empty, read_export

    if options.annotator is not None:
        raise InputError(
            f"--annotator has no use with the export {options.path}, which names its annotators. Remove it."
        )
    item = options.row_columns[0]
    try:
        exported = read_export(options.path, item=item, choice=options.answer, own_id=options.answers_row is not None)
    except UnnamedItemError as error:
        if item != OWN_ID or options.answers_row is not None:
            raise
        raise error.because(f"{error.reason} {describe_own_id()}") from None
    form = LabelFormat(folds_case=label_format.folds_labels, missing=label_format.missing)
    cells = read_cells([list(one.labels) or None for one in exported], form)
    raise_together(cells.errors_of_rows())
    parsed = map(cells.pairs.__getitem__, cells.code.tolist())
    known = [
        one._replace(labels=tuple(str(label) for label, _ in pairs or ()))
        for one, pairs in zip(exported, parsed, strict=True)
    ]
    given, omitted = drop_empty(known)
    if not given:
        raise DataError("the export has no answers.", source=str(options.path))
    rows, annotators, labels, locations = zip(*given, strict=True)
    if label_format.folds_labels:
        spellings = Spellings(classes or ())
        for label in (label for one in labels for label in one):
            spellings.add(label)
        labels = tuple(list(dict.fromkeys(map(spellings.name, one))) for one in labels)
    notes = (describe_omitted(omitted),) if omitted else ()
    names = sorted({label for one in labels for label in one}) if classes is None else list(classes)
    return _Records(
        list(map(str, rows)), list(annotators), list(labels), list(locations), names, DEFAULT_SEPARATOR, notes
    )


def _locate(error: Any, records: _Records, path: Path) -> Any:
    """Return an error of `Answers` with the location of its record."""
    if error.row is None:
        return error.at(path)
    located = error.at(records.locations[error.row])
    located.row = None
    return located.because(located.reason)


def _list_answers(labels: "CandidateSets") -> list[Any]:
    """Return a label or a list of labels for each record, None if it is missing."""
    import numpy as np

    listed: list[Any] = [None] * len(labels)
    names = labels.classes.tolist()
    missing = labels.is_unlabeled
    for i in np.flatnonzero(~missing):
        members = [names[k] for k in np.flatnonzero(labels.mask[i])]
        listed[i] = members[0] if len(members) == 1 else members
    return listed


def _read_gold(table: "Table", column: str, classes: Any, separator: str) -> list[Any]:
    """Return the checked labels of the rows, None if they are not checked."""
    from oneof.io import read_checked_labels

    return read_checked_labels(table, column, classes, separator=separator)[0]
