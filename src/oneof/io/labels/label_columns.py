"""Columns of labels of a table: separators, candidate sets, true labels, and warnings about classes."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.candidates.columns import (
    DEFAULT_SEPARATOR,
    detect_separator,
    fold_case,
    fold_labels,
    read_label_columns,
    unwrap_cells,
)
from oneof.candidates.labels import labels_with_weights
from oneof.candidates.readers.collections import separators_of
from oneof.candidates.readers.literals import LISTS
from oneof.candidates.readers.pairs import read_weight
from oneof.candidates.readers.unreadable import raise_together
from oneof.candidates.spellings import describe_spellings
from oneof.errors import DataError, LabelError
from oneof.io.columns import find_column
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS, missing_numbers
from oneof.io.notes.findings import UnreadableCells
from oneof.io.notes.unreadable_labels import add_unreadable_labels
from oneof.io.table import Table
from oneof.messages import enumerate_items, shorten

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = (";", ",", "/", "|", "+", "&")
_MAX_LISTED = 6
"""Maximum number of labels listed in a warning; the rest are counted."""
_HAS_WEIGHT = re.compile(r":\s*\d*\.?\d|\(\s*\d*\.?\d+\s*%?\s*\)", re.ASCII)
"""A weight in a cell: text such as "finch:0.7" or "finch (66 %)", or JSON."""
_EXCLUSION = re.compile(r"(?i:not\s+|[!~\u2260]\s*)(.+)")
_DOUBT = re.compile(r"(.+?)\s*\?+")
_MANY_CLASSES = 20
"""Number of classes from which most of them should have several rows."""
_MIN_WORDS, _MIN_SENTENCES, _MIN_SHARE = 4, 3, 0.2
"""Number of words of a sentence; number of sentences in one row only, and their share of all classes, for a note."""


def find_separator(
    table: Table, columns: Sequence[str], *, classes: Sequence[str] | None = None, weighted: bool = False
) -> str:
    """Return the text between two labels of the cells of a column, "|" if no other occurs; see `detect_separator`.

    Raises
    ------
    LabelError
        If a cell may be a set of labels or one class.
    """
    import polars as pl

    if len(columns) != 1:
        return DEFAULT_SEPARATOR
    cells = label_frame(table, columns)[find_column(columns[0], table.frame.columns, table.path)]
    cells = unwrap_cells(cells, DEFAULT_SEPARATOR, weighted=weighted)
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return DEFAULT_SEPARATOR
    if table.cell_format.folds_labels:
        cells, classes = fold_labels(cells), None if classes is None else [fold_case(name) for name in classes]
    try:
        return detect_separator(cells.cast(pl.String).to_list(), classes, weighted=weighted)
    except LabelError as error:
        raise error.at(f"labels {columns[0]!r} of {table.path}") from None


def label_frame(table: Table, columns: Sequence[str]) -> "pl.DataFrame":
    """Return columns of labels in which the user's tokens of missing values are null."""
    import polars as pl
    import polars.selectors as cs

    names = [find_column(name, table.frame.columns, table.path) for name in columns]
    frame = table.frame.select(names)
    if not table.cell_format.missing:
        return frame
    tokens, numbers = [token.lower() for token in table.cell_format.missing], missing_numbers(table.cell_format)
    text, values = pl.col(pl.String), cs.numeric()
    return frame.with_columns(
        pl.when(~text.str.strip_chars().str.to_lowercase().is_in(tokens)).then(text),
        pl.when(~values.cast(pl.Float64).is_in(numbers)).then(values),
    )


def merge_ranked_columns(
    table: Table, labels: Sequence[str], weights: Sequence[str], unreadable: UnreadableCells | None = None
) -> Table:
    """Return a table in which the first of several columns of labels, and the first of their weights, have lists.

    Such columns are the first, second and third label of a row with their probabilities. Empty labels are left out.
    Rows with a label without a weight are an error, or are empty and counted in `unreadable`; see `read_labels`.

    Raises
    ------
    DataError
        If a column does not exist, or the numbers of columns differ.
    LabelError
        If a label has no weight; the error names the row.
    """
    import polars as pl

    names, numbers = ([find_column(n, table.frame.columns, table.path) for n in part] for part in (labels, weights))
    if len(names) != len(numbers):
        raise DataError(
            f"--labels and --weights must name as many columns; got {len(names)} and {len(numbers)}.",
            source=str(table.path),
        )
    pairs: list[list[tuple[str, float]]] = []
    errors: dict[int, LabelError] = {}
    for row, cells in enumerate(table.frame.select(*names, *numbers).iter_rows()):
        pairs.append([])
        for label, weight in zip(cells[: len(names)], cells[len(names) :], strict=True):
            if label is None or not str(label).strip():
                continue
            number = None if weight is None else read_weight(weight)
            if number is None:
                errors[row] = LabelError(
                    f"the label {label!r} must have a number as its weight; got {weight!r}.",
                    source=str(table.path),
                    row=row,
                    label=label,
                )
                pairs[-1] = []
                break
            pairs[-1].append((str(label).strip(), number))
    if table.cell_format.label_errors == "raise":
        raise_together(errors)
    elif errors and unreadable is not None:
        add_unreadable_labels(unreadable, names[0], errors)
    merged = [
        pl.Series(names[0], [[k for k, _ in row] or None for row in pairs], dtype=pl.List(pl.String)),
        pl.Series(numbers[0], [[w for _, w in row] or None for row in pairs], dtype=pl.List(pl.Float64)),
    ]
    return replace(table, frame=table.frame.with_columns(merged))


def read_labels(
    table: Table,
    columns: Sequence[str],
    *,
    separator: str = "|",
    classes: Sequence[str] | None = None,
    weighted: bool = False,
    weights: str | None = None,
    kind: str = "likelihood",
    rest: bool | str = False,
    unreadable: UnreadableCells | None = None,
) -> CandidateSets:
    """Return the candidate sets of a table.

    Rows whose labels cannot be read are an error, or unlabeled, by the `label_errors` of the table's cell format.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        One column, whose cells are text ("a|b"), lists, or whole numbers (-1 or empty: unlabeled); or several columns
        of 0 and 1, whose names are the classes.
    separator : str, default="|"
        The text between two labels; "[]" for lists written as text.
    classes : sequence of str, optional
        The classes, as written in the table; by default those that occur.
    weighted : bool, default=False
        The labels have weights: one column of text ("finch:0.7|wren:0.3") or of mappings from labels to weights, or
        several columns of numbers, whose names are the classes. Cells without numbers are sets.
    weights : str, optional
        The column of the weights of one label column, in the order of its labels: text ("0.7|0.3"), lists or numbers.
    kind, rest
        See `CandidateSets.from_weights`.
    unreadable : UnreadableCells, optional
        Counts the rows that are unlabeled since their labels cannot be read.

    Returns
    -------
    CandidateSets
        Labels are numbers only if the text of every cell is a whole number.

    Raises
    ------
    DataError
        If a column does not exist or is named twice.
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    """
    names = [find_column(name, table.frame.columns, table.path) for name in columns]
    weights = None if weights is None else find_column(weights, table.frame.columns, table.path)
    if weights in names:
        raise DataError(f"the column of weights must not be a label column; got {weights!r}.")
    if len(set(names)) < len(names):
        raise DataError(
            f"the label columns must be named once; got {next(n for n in names if names.count(n) > 1)!r} twice."
        )
    quoted = repr(names[0]) if len(names) == 1 else f"{names[0]!r} to {names[-1]!r}"

    name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"

    def count(errors: dict[int, LabelError]) -> None:
        if unreadable is not None:
            add_unreadable_labels(unreadable, name, errors)

    try:
        return read_label_columns(
            label_frame(table, [*names, *([] if weights is None else [weights])]),
            names,
            separator=separator,
            classes=classes,
            weighted=weighted,
            weights=weights,
            kind=kind,
            rest=rest,
            folds_case=table.cell_format.folds_labels,
            missing=table.cell_format.missing,
            on_unreadable=count if table.cell_format.label_errors == "unlabeled" else None,
        )
    except LabelError as error:
        if error.cause == "unknown label" and classes is not None:
            remedy = "--missing leaves out labels that are not classes"
            remedy += "." if table.cell_format.folds_labels else ", and --fold-case reads other cases."
            error = error.because(f"{error.reason} {remedy}")
        raise error.at(f"labels {quoted} of {table.path}") from None


def check_no_weights(classes: Iterable[Any], source: Any) -> None:
    """Raise if most classes are labels with a weight, such as "finch:0.7", although weights are not requested."""
    pairs = labels_with_weights(classes)
    if pairs:
        raise LabelError(
            f"the labels of {source} have weights, such as {min(pairs)!r}. Add --weighted; or name the classes "
            "(--classes) if the numbers belong to their names.",
            label=pairs[0],
        )


def suspicious_labels(classes: Iterable[Any], separator: str, *, source: str = "") -> list[str]:
    """Return a warning for each group of classes that may be a set, a missing label, or another class misspelled.

    `source` names the table of the labels, if there may be another one.
    """
    labels = [label for label in classes if isinstance(label, str)]
    notes = [_read_as_class(["-1"], source)] if "-1" in labels else []
    if missing := [label for label in labels if label.strip().lower() in (*MISSING, *MISSING_NUMBERS)]:
        notes.append(_read_as_class(missing, source))
    lists = [label for label in labels if label[:1] in tuple("[({") and label[-1:] in tuple("])}")]
    if lists and separator != LISTS:
        notes.append(
            _read_as_one_class(
                lists, "write sets of labels as 'a|b', or add --separator '[]' to read the cells as lists"
            )
        )
    for other in _SEPARATORS if not lists else ():
        single = {label for label in labels if other not in label}
        joined = [label for label in labels if _is_joined(label, other, single)]
        if joined and other not in separators_of(separator):
            condition = "if they are sets" if len(joined) > 1 else "if it is a set"
            advice = f"{condition} of labels, add --separator '{other}'"
            both = [*separators_of(separator), other]
            if separators_of(" ".join(both)) == both:
                advice += f", or --separator '{' '.join(both)}' if other cells are separated by {separator!r}"
            notes.append(_read_as_one_class(joined, advice))
    return notes + _remarks(labels) + _misspelled(labels)


def _remarks(labels: Sequence[str]) -> list[str]:
    """Return warnings of labels that exclude another class, such as "not owl", or doubt it, such as "owl?"."""
    names = {label.strip().casefold() for label in labels}
    notes = []
    for pattern, advice in (
        (_EXCLUSION, "to exclude a class, write the labels that remain"),
        (_DOUBT, "if a label is in doubt, write all labels that are possible, or leave the cell empty"),
    ):
        found = [label for label in labels if (match := pattern.fullmatch(label)) and match[1].casefold() in names]
        if found and len(labels) > 2:  # "spam" and "not spam" may be the classes
            notes.append(_read_as_one_class(found, advice))
    return notes


def has_several_classes(text: str, names: Collection[str]) -> bool:
    """Return whether a text is several names of classes with a usual separator between them."""
    return any(_is_joined(text, separator, names) for separator in _SEPARATORS)


def _is_joined(text: str, separator: str, names: Collection[str]) -> bool:
    return separator in text and all(part.strip() in names for part in text.split(separator))


def cells_without_weights(cells: Iterable[str | None], classes: Iterable[Any]) -> list[str]:
    """Return a warning if most cells of weighted labels have weights, and others a class that is in no such cell."""
    counts = Counter(text.strip() for text in cells if text is not None and text.strip())
    weighted = [text for text in counts if _HAS_WEIGHT.search(text)]
    known = {label for label in classes if isinstance(label, str)}
    plain = [text for text in counts if text in known and not any(text in other for other in weighted)]
    n_weighted = sum(counts[text] for text in weighted)
    if not plain or 2 * n_weighted <= counts.total():
        return []
    n_plain = sum(counts[text] for text in plain)
    cells_are = "1 cell has no weights and is" if n_plain == 1 else f"{n_plain:,} cells have no weights and are"
    return [
        f"{cells_are} read as a class that no other cell has: {_quote(plain)}. If it is a refusal or a comment, add "
        f"--missing {plain[0]!r}: the row is then unlabeled."
    ]


def certain_rows(candidates: CandidateSets, kind: str) -> list[str]:
    """Return a warning if most rows have one class of a posterior above 0, as probabilities rounded to 0 and 1 give."""
    n_exact, n_labeled = int(candidates.is_exact.sum()), int((~candidates.is_unlabeled).sum())
    if kind != "posterior" or 2 * n_exact <= n_labeled:
        return []
    return [
        f"{n_exact:,} of {n_labeled:,} labeled rows are exact, because the weights of all other classes are 0. If "
        "these are rounded probabilities, some labels are wrong: write more digits, or add --noise-rate auto to fit."
    ]


def single_row_classes(candidates: CandidateSets) -> list[str]:
    """Return a warning if classes that are candidates of one row only are sentences, or are most of many classes.

    These are answers such as "I think it is a robin", names of rows, or other free text.
    """
    counts = candidates.mask[~candidates.is_unlabeled].sum(axis=0)
    n_single, n_classes = int((counts == 1).sum()), len(counts)
    texts = [label for label in candidates.classes[counts == 1].tolist() if isinstance(label, str)]
    sentences = [text for text in texts if len(text.split()) >= _MIN_WORDS]
    if len(sentences) >= max(_MIN_SENTENCES, _MIN_SHARE * n_classes):
        return [
            f"{len(sentences):,} of {n_classes:,} classes are texts of {_MIN_WORDS} words or more in one row only, "
            f"such as {shorten(sentences[0])!r}. If they are comments rather than labels, name the "
            "classes (--classes), and add --unreadable-labels unlabeled: these rows are then unlabeled."
        ]
    if n_classes < _MANY_CLASSES or 2 * n_single <= n_classes:
        return []
    example = candidates.classes[counts == 1].tolist()[0]
    return [
        f"{n_single:,} of {n_classes:,} classes, such as {example!r}, are in one row only and cannot be learned. Check "
        "that --labels names the column of labels, and that its labels are names without numbers, dates or comments."
    ]


def _quote(labels: Iterable[str]) -> str:
    return enumerate_items([*map(repr, labels)], _MAX_LISTED)


def _read_as_class(labels: Sequence[str], source: str) -> str:
    verb = "are read as classes" if len(labels) > 1 else "is read as a class"
    place = f"in {source}, " * bool(source)
    return f"{place}{_quote(labels)} {verb}: leave the cells of unlabeled rows empty, or add --missing with their text."


def _read_as_one_class(labels: Sequence[str], advice: str) -> str:
    verb = "are each read as one class" if len(labels) > 1 else "is read as one class"
    return f"{_quote(labels)} {verb}: {advice}."


def _misspelled(labels: Sequence[str]) -> list[str]:
    return describe_spellings(labels, "add --fold-case, or use one spelling")
