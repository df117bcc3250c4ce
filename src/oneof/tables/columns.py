"""Which columns of a table are features, and of what kind; and bringing another table to the same form."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from oneof.errors import DataError
from oneof.tables.reader import Table, find_column

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["number", "yes/no", "category", "text"]

_MOST_CATEGORIES = 50
_WORDS_OF_TEXT = 3.0
"""Mean number of words from which a column is text however few distinct values it has beyond `_FEW_CATEGORIES`."""
_FEW_CATEGORIES = 12


class Column(NamedTuple):
    """A column that is a feature."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Overrides:
    """What the user says about columns, against what their values look like."""

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def choose_columns(
    table: Table, *, exclude: Collection[str], overrides: Overrides | None = None, among: str = ""
) -> tuple[list[Column], list[str]]:
    """Choose the features of a table.

    Numbers are numbers; true/false is yes/no; text of few distinct values is a category, other text is text. Left out
    are: columns without a value, or with one value only; dates and nested values; whole numbers that count the rows,
    and text with another word in each row, since both name the row rather than describe it.

    Parameters
    ----------
    table : Table
    exclude : collection of str
        Columns that must not be features: labels and truth.
    overrides : Overrides, optional
    among : str
        What sentences say of the rows of the table, where they are not all.

    Returns
    -------
    columns : list of Column
        In the order of the table.
    notes : list of str
        A sentence for each column that was left out without having been named by the user.

    Raises
    ------
    DataError
        If a column that `overrides` names is absent or cannot be read so, or if no feature is left.
    """
    overrides = overrides or Overrides()
    forced = _forced_kinds(table, overrides)
    dropped = {find_column(name, table.frame.columns, table.path) for name in overrides.drop}
    columns: list[Column] = []
    notes: list[str] = []
    for cells in table.frame.iter_columns():
        if cells.name in dropped or cells.name in exclude or cells.name in table.label_like:
            continue
        if cells.name in forced:
            columns.append(Column(cells.name, forced[cells.name]))
            continue
        kind, reason = _kind_of(cells)
        if kind is not None:
            columns.append(Column(cells.name, kind))
        elif reason:
            notes.append(f"column {cells.name!r} is left out: {reason}{among}.")
    if not columns:
        raise DataError(f"{table.path} has no column left to learn from, beside labels and columns left out{among}.")
    return columns, notes


def conform(frame: "pl.DataFrame", columns: Sequence[Column], path: Path) -> "pl.DataFrame":
    """Return the features in the types that the encoder reads: numbers as floats, all else as text.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : sequence of Column
        Other columns of `frame` are ignored.
    path : Path
        For messages.

    Raises
    ------
    DataError
        If columns are missing, or a number is infinite or no number; the message names row and column.
    """
    missing = [column.name for column in columns if column.name not in frame.columns]
    if missing:
        named_otherwise = {name.lower() for name in missing} & {name.lower() for name in frame.columns}
        why = " (upper and lower case tell names apart)" * bool(named_otherwise)
        shown = ", ".join(repr(name) for name in missing[:5]) + (f" and {len(missing) - 5} more" * (len(missing) > 5))
        which = f"the columns {shown}" if len(missing) > 1 else f"the column {shown}"
        raise DataError(f"{path} lacks {which}, which the model was trained on{why}.")
    return frame.select([_CONFORM[column.kind](frame[column.name], path) for column in columns])


def _forced_kinds(table: Table, overrides: Overrides) -> dict[str, Kind]:
    forced: dict[str, Kind] = {}
    kinds: list[tuple[tuple[str, ...], Kind]] = [
        (overrides.numbers, "number"),
        (overrides.categories, "category"),
        (overrides.texts, "text"),
    ]
    for names, kind in kinds:
        for name in names:
            if forced.setdefault(find_column(name, table.frame.columns, table.path), kind) != kind:
                raise DataError(f"column {name!r} cannot be {forced[name]} and {kind} at once.")
    return forced


def _kind_of(cells: "pl.Series") -> tuple[Kind | None, str]:
    """Return the kind, or None and why the column is left out."""
    import polars as pl

    known = cells.drop_nulls()
    if cells.dtype.is_float():
        known = known.drop_nans()
    if len(known) == 0:
        return None, "it holds no values"
    if cells.dtype.is_temporal():
        return None, "it holds dates or times, which are not understood as features; turn them into numbers"
    if cells.dtype == pl.Boolean:
        return ("yes/no", "") if _varies(cells) else (None, "")
    if cells.dtype.is_numeric():
        if cells.dtype.is_integer() and _counts_rows(cells):
            return None, "it counts the rows (--numeric keeps it)"
        return ("number", "") if _varies(cells) else (None, "")
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None, f"values of type {cells.dtype} are not understood as features"
    return _kind_of_text(known.cast(pl.String), len(cells)) if _varies(cells) else (None, "")


def _kind_of_text(known: "pl.Series", n_rows: int) -> tuple[Kind | None, str]:
    distinct = known.n_unique()
    words = known.str.count_matches(r"\w+")
    mean_words = float(words.mean())  # type: ignore[arg-type]  # a column of counts that is not empty
    if distinct <= _FEW_CATEGORIES and distinct < len(known):
        return "category", ""
    if distinct <= min(_MOST_CATEGORIES, n_rows // 2) and mean_words < _WORDS_OF_TEXT:
        return "category", ""
    if distinct == len(known) and mean_words <= 1:
        return None, "it holds another word in each row, as names or identifiers do (--text or --categorical keeps it)"
    return "text", ""


def _varies(cells: "pl.Series") -> bool:
    return cells.n_unique() > 1


def _counts_rows(cells: "pl.Series") -> bool:
    if cells.null_count() or len(cells) < 20:
        return False
    steps = cells.cast(float).diff().drop_nulls()
    return bool((steps == 1).all())


def _as_number(cells: "pl.Series", path: Path) -> "pl.Series":
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.String, pl.Null)):
        raise DataError(f"{path}: column {cells.name!r} holds values of type {cells.dtype}, expected numbers.")
    numbers = cells.cast(pl.Float64, strict=False).fill_null(float("nan"))
    unread = (numbers.is_nan() & cells.is_not_null()).arg_true().to_list() if cells.dtype == pl.String else []
    for row in unread:
        if cells[row].strip().lower() not in ("", "nan"):
            raise DataError(f"{path}, row {row}: column {cells.name!r} holds {cells[row]!r}, expected a number.")
    infinite = numbers.is_infinite().arg_true()
    if len(infinite):
        raise DataError(
            f"{path}, row {infinite[0]}: column {cells.name!r} holds {numbers[infinite[0]]}; use a finite number, or "
            "leave the cell empty."
        )
    return numbers


def _as_yes_no(cells: "pl.Series", path: Path) -> "pl.Series":
    import polars as pl

    if cells.dtype == pl.String:
        found = cells.str.strip_chars().str.to_lowercase()
        cells = found.replace_strict({"true": 1.0, "false": 0.0}, default=found, return_dtype=pl.String)
    return _as_number(cells.alias(cells.name), path)


def _as_category(cells: "pl.Series", path: Path) -> "pl.Series":
    """Return text in which missing cells are a value of their own: the empty text."""
    return _as_text(cells, path)


def _as_text(cells: "pl.Series", path: Path) -> "pl.Series":
    import polars as pl

    if cells.dtype.is_nested():
        raise DataError(f"{path}: column {cells.name!r} holds values of type {cells.dtype}, expected text.")
    if cells.dtype.is_float() and (cells.drop_nulls().drop_nans() % 1 == 0).all():
        cells = cells.fill_nan(None).cast(pl.Int64, strict=False)  # 3.0 and 3 are one category
    return cells.cast(pl.String).fill_null("")


_CONFORM = {"number": _as_number, "yes/no": _as_yes_no, "category": _as_category, "text": _as_text}
