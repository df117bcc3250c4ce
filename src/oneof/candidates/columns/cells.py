"""Cells of label columns: text, numbers and lists, and the sets that are empty."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.labels import fold_case, is_token, unknown_label
from oneof.candidates.readers.collections import count_spellings, separators_of, split_labels, split_text
from oneof.candidates.readers.literals import (
    LISTS,
    WRAPPER_KEYS,
    check_member_text,
    is_record,
    no_list,
    parse_object,
    read_list,
    unwrap_object,
)
from oneof.candidates.readers.pairs import parse_number, read_pairs_text, read_weight
from oneof.candidates.readers.unreadable import check_nonempty_sets
from oneof.candidates.spellings import Spellings
from oneof.errors import DataError, LabelError
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl

ALL_UNLABELED = "every row is unlabeled, so there is nothing to learn from."
ONE_CLASS = (
    "only one class occurs ({!r}). A classifier needs at least two: name all classes (`classes` in Python, --classes "
    "on the command line)."
)
INDICATOR_CLASSES = "classes cannot be given with several label columns, whose names are the classes."
EMPTY_JSON = ("[]", "{}")
"""Text of a list or an object without members."""
_MAX_SAMPLED, _MAX_SHOWN, _MAX_TYPE = 1_000, 80, 60
"""Number of cells that show whether a column has weights, and numbers of characters of a cell and a type in errors."""
_MAX_CLASSES_OF_ROWS = 1_000
"""Number of labels up to which they may be as many as rows."""
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.0+)?")
_SIGNED_INTEGER = re.compile(r"([+-]?\d{1,18})(\.0*)?")


def check_any_label(cells: "pl.Series") -> None:
    """Raise if every cell of a column is empty."""
    import polars as pl

    if cells.null_count() == len(cells) or (cells.dtype == pl.String and not (cells.str.strip_chars() != "").any()):
        raise LabelError(ALL_UNLABELED)


def whole_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> "pl.Series | None":
    """Return text as numbers if every cell, and every class, is a whole number or empty."""
    import polars as pl

    texts = {text: text.strip() for text in cells.drop_nulls().unique().to_list()}
    labels = [*texts.values(), *(classes or [])]
    if all(not text or _WHOLE_NUMBER.fullmatch(text) for text in labels):
        numbers = {text: parse_whole_number(stripped) for text, stripped in texts.items()}
        return pl.Series(cells.name, [numbers.get(text) for text in cells.to_list()], dtype=pl.Int64)
    if classes is None and all(not text or parse_number(text) is not None for text in labels):
        row, text = next((i, t) for i, t in enumerate(cells.to_list()) if t and not _WHOLE_NUMBER.fullmatch(t.strip()))
        raise LabelError(
            f"labels must not be continuous; got {text!r}. Name the classes (--classes) if the numbers are classes.",
            row=row,
            label=text,
        )
    return None


def parse_whole_number(text: str) -> int | None:
    """Return text such as "3" or "3.0" as an integer; None for other text, such as "0.7", "inf" and "03"."""
    return int(text.partition(".")[0]) if _WHOLE_NUMBER.fullmatch(text) else None


def typed_classes(classes: Sequence[str] | None, *, numbers: bool) -> Labels | None:
    """Return the named classes as text or, if `numbers`, as integers."""
    if classes is None:
        return None
    if not numbers:
        return np.asarray(list(classes))
    try:
        return np.asarray([int(name) for name in classes])
    except ValueError:
        raise LabelError(f"the labels are numbers, but the classes {', '.join(classes)} are not.") from None


def booleans_to_digits(cells: "pl.Series") -> "pl.Series":
    """Return "true" and "false", the booleans of CSV files, as 1 and 0."""
    import polars as pl

    if cells.dtype != pl.String:
        return cells
    return cells.str.strip_chars().replace({"true": "1", "True": "1", "false": "0", "False": "0"})


def contains_nested_lists(cells: "pl.Series") -> bool:
    """Return whether the cells of a column are lists of lists or of records."""
    import polars as pl

    return isinstance(getattr(cells.dtype, "inner", None), pl.List | pl.Array | pl.Struct)


def has_member_text(cells: "pl.Series") -> bool:
    """Return whether a list of one text, in a column of lists, contains a bracket, so that it may be a list itself."""
    import polars as pl

    if not isinstance(cells.dtype, pl.List | pl.Array) or cells.dtype.inner != pl.String:
        return False
    lists = cells.cast(pl.List(pl.String))
    texts = lists.filter(lists.list.len() == 1).list.first()
    return bool(texts.str.contains(r"[\[{]").any())


def parse_lists(cells: "pl.Series", separator: str) -> "pl.Series":
    """Return a column of lists for text such as '["finch", "wren"]' if `separator` is `LISTS`, else the column itself.

    An empty list is null, an unlabeled row.
    """
    import polars as pl

    if separator != LISTS or cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return cells
    texts = cells.cast(pl.String).to_list()
    lists: dict[str | None, list[str] | None] = {None: None}
    for row, text in enumerate(texts):
        if text not in lists:
            lists[text] = read_list(row, str(text))
    return pl.Series(cells.name, [lists[text] for text in texts], dtype=pl.List(pl.String))


def check_flat_lists(cells: "pl.Series") -> None:
    """Raise if the members of sets are lists, or the text of one is a list or an object that cannot be read."""
    import polars as pl

    inner = getattr(cells.dtype, "inner", None)
    if isinstance(inner, pl.List | pl.Array):
        for row, cell in enumerate(cells.to_list()):
            if cell is not None and any(member is not None for member in cell):
                pairs = all(member is not None and len(member) == 2 for member in cell)
                remedy = " If they are labels with weights, add --weighted (in Python, weighted=True)." * pairs
                raise LabelError(
                    f"a set must be one list of labels; got lists within a list, {cell!r}.{remedy}", row=row, label=cell
                )
    elif has_member_text(cells):
        for row, cell in enumerate(cells.to_list()):
            check_member_text(row, cell)


def drop_empty_json(cells: "pl.Series") -> "pl.Series":
    """Return a column of labels with weights in which an empty list or object of JSON is null, a missing label."""
    import polars as pl

    if cells.dtype != pl.String:
        return cells
    return cells.set(cells.str.strip_chars().is_in(EMPTY_JSON), None)


def check_texts(
    texts: Sequence[str | None], separator: str, classes: Labels | None = None, *, weighted: bool = False
) -> None:
    """Raise the error of the first cell that is not a set of the classes.

    Parameters
    ----------
    texts : sequence of str or None
    separator : str
    classes : ndarray of str, optional
        Without them any label is valid.
    weighted : bool
        Whether a cell may have weights: a label is followed by a colon and a weight, or the cell is JSON.
    """
    known = None if classes is None else set(classes.tolist())
    checked: set[str] = set()
    for row, text in enumerate(texts):
        if text is None or not text.strip() or text in checked:
            continue
        checked.add(text)
        try:
            check_nonempty_sets([text], separator)
        except LabelError as error:
            raise error.at(first_row=row) from None
        if weighted:
            read_pairs_text(row, text, separator)
            continue
        labels, _ = split_text(row, text, separator)
        if known is None or classes is None or known.issuperset(labels or ()):
            continue
        raise unknown_label(row, next(label for label in labels or () if label not in known), classes)


def drop_missing_labels(cells: "pl.Series", separator: str, missing: Sequence[str]) -> "pl.Series":
    """Return texts, or lists of texts, without these labels, which are in lower case; an empty set becomes null."""
    import polars as pl

    def remaining(labels: Sequence[str]) -> list[str]:
        return [label for label in labels if not is_token(label, missing)]

    if cells.dtype == pl.String:
        texts = {text: split_labels(text, separator) for text in cells.drop_nulls().unique().to_list()}
        kept = {text: labels if "\\" in text else remaining(labels) for text, labels in texts.items()}
        if all(len(kept[text]) == len(labels) for text, labels in texts.items()):
            return cells
        written = separators_of(separator)[0]
        joined = {
            text: text if kept[text] == labels else written.join(kept[text]) or None for text, labels in texts.items()
        }
        return pl.Series(cells.name, [joined.get(text) for text in cells.to_list()], dtype=pl.String)
    if isinstance(cells.dtype, pl.List) and cells.dtype.inner == pl.String:
        lists = [cell and (remaining(cell) or None) for cell in cells.to_list()]
        return pl.Series(cells.name, lists, dtype=pl.List(pl.String))
    return cells


def check_no_records(cells: "pl.Series") -> None:
    """Raise if labels are objects, or JSON of objects or pairs, which have weights; most of the first cells decide."""
    import polars as pl

    if isinstance(cells.dtype, pl.Struct) or isinstance(getattr(cells.dtype, "inner", None), pl.Struct):
        example, is_weighted = next((cell for cell in cells.head(_MAX_SAMPLED).to_list() if cell), None), True
        if isinstance(example, dict):
            example = _without_null(example)
            for row, cell in enumerate(cells.to_list()):
                if cell is not None and _has_other_keys(_without_null(cell)):
                    raise no_list(row, repr(_without_null(cell)))
    elif cells.dtype == pl.String:
        texts = cells.drop_nulls().head(_MAX_SAMPLED).to_list()
        records = [text for text in texts if is_record(text)]
        example, is_weighted = next(iter(records), None), 2 * len(records) > len(texts)
        if example is not None and is_weighted and _has_other_keys(parse_object(example)):
            raise no_list(cells.to_list().index(example), example)
    else:
        return
    if is_weighted:
        shown = example if isinstance(example, str) else repr(example)
        raise LabelError(
            f"the labels have weights, such as {shown[:_MAX_SHOWN]}{'...' * (len(shown) > _MAX_SHOWN)}. Add "
            "--weighted, and --kind posterior if they are probabilities of the classes."
        )


def _without_null(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def _has_other_keys(record: Any) -> bool:
    """Return whether an object has labels under a key that it cannot be read by, rather than weights.

    It has other keys than that of the labels, or a number as the only label, which may be a weight.
    """
    if not isinstance(record, dict) or unwrap_object(record) is not None:
        return False
    if len(record) == 1:
        return next(iter(record)) in WRAPPER_KEYS
    has_labels = any(isinstance(record.get(name), list | str) for name in WRAPPER_KEYS)
    return has_labels and not (len(record) == 2 and any(read_weight(value) is not None for value in record.values()))


def check_recurring(cells: "pl.Series", separator: str) -> None:
    """Raise if there are more than 1,000 labels and more than half as many as cells, such as names of rows."""
    import polars as pl

    n_cells = len(cells) - cells.null_count()
    if cells.n_unique() <= max(_MAX_CLASSES_OF_ROWS, n_cells // 2):
        return
    values = cells.drop_nulls().unique(maintain_order=True).to_list()
    labels = dict.fromkeys(values)
    if cells.dtype == pl.String:
        labels = dict.fromkeys(label.strip() for text in values for label in split_labels(text, separator))
    if len(labels) > max(_MAX_CLASSES_OF_ROWS, n_cells // 2):
        shown = repr(next(iter(labels)))
        raise LabelError(
            f"the {n_cells:,} cells have {len(labels):,} different labels, such as {shown[:_MAX_SHOWN]}, and most "
            "classes cannot be learned. Check the label column and --separator, or name the classes (--classes).",
            label=next(iter(labels)),
        )


def name_type(dtype: Any) -> str:
    """Return the name of a type of polars; the fields of objects are left out."""
    return str(dtype).partition("(")[0] if len(str(dtype)) > _MAX_TYPE else str(dtype)


def texts_or_lists(cells: "pl.Series") -> Any:
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


def strict_numbers(cells: "pl.Series") -> "pl.Series | None":
    """Return a column as float64; None if a cell is not a number."""
    import polars as pl

    try:
        return cells.cast(pl.Float64, strict=True)
    except pl.exceptions.PolarsError:
        return None


def check_matrix(classes: Any, weights: str | None) -> None:
    """Raise if classes, or a column of weights, are given with several label columns."""
    if classes is not None:
        raise DataError(INDICATOR_CLASSES)
    if weights is not None:
        raise DataError(f"a column of weights ({weights!r}) requires one label column, but there are several.")


def fold_names(columns: Sequence[str], classes: Any, rest: bool | str) -> tuple[Any, bool | str]:
    """Return the names of classes by `fold_case`; raise `DataError` if there are several label columns."""
    if len(columns) > 1:
        raise DataError("--fold-case needs one label column; with several columns, rename those of one class.")
    return None if classes is None else [*map(fold_case, classes)], fold_case(rest) if isinstance(rest, str) else rest


def fold_labels(cells: "pl.Series") -> "pl.Series":
    """Return cells of text, or lists of text, by `fold_case`; other cells are unchanged."""
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        folded = {text: fold_case(text) for text in cells.drop_nulls().unique().to_list()}
        return pl.Series(cells.name, [folded.get(text) for text in cells.to_list()], dtype=pl.String)
    if isinstance(cells.dtype, pl.List | pl.Array) and cells.dtype.inner in (pl.String, pl.Categorical, pl.Enum):
        sets = [None if cell is None else [text and fold_case(text) for text in cell] for cell in cells.to_list()]
        return pl.Series(cells.name, sets, dtype=pl.List(pl.String))
    return cells


def count_cell_spellings(cells: "pl.Series", separator: str, spellings: Spellings) -> None:
    """Count the labels of cells of text, or of lists of text, as they are written."""
    import polars as pl

    text = (pl.String, pl.Categorical, pl.Enum)
    if cells.dtype in text:
        count_spellings(cells.cast(pl.String).to_list(), separator, spellings)
    elif isinstance(cells.dtype, pl.List | pl.Array) and cells.dtype.inner in text:
        for cell in cells.to_list():
            for label in cell or ():
                spellings.add(label)


def number_to_text(text: str) -> str:
    """Return +1, 1 and 1.0, the labels of svmlight files, as the same text; other text is unchanged."""
    match = _SIGNED_INTEGER.fullmatch(text)
    return str(int(match[1])) if match else text
