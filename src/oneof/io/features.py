"""Features: the choice of columns and their kinds, and their encoding for scikit-learn's estimators.

Reading order: `choose_columns` infers the kinds, `align_columns` converts another table to the same types,
`TextOptions` has the stop words and the stemmer, `make_encoder` builds the transformer.
"""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from oneof.errors import DataError
from oneof.text import StopWords, make_vectorizer, stemmer_version

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.table import Table

Kind = Literal["number", "yes/no", "category", "text"]

_MAX_CATEGORIES = 50
_MIN_MEAN_WORDS = 3.0
"""Mean number of words from which a column with more than `_FEW_CATEGORIES` distinct values is text."""
_FEW_CATEGORIES = 12
_MIN_INDEX_ROWS = 20
MAX_WORDS = 20_000
"""Number of words of a text column that become features: the most frequent ones."""
NONE = "none"


class Column(NamedTuple):
    """A feature: the name and the kind of a column."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Overrides:
    """Kinds of columns set by the user, which take precedence over the inferred kinds.

    Attributes
    ----------
    numbers, categories, texts, drop : tuple of str
        Names of columns.
    """

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def choose_columns(
    table: "Table", *, exclude: Collection[str], overrides: Overrides | None = None, scope: str = ""
) -> tuple[list[Column], list[str]]:
    """Choose the features of a table and infer their kinds.

    Columns of true and false have the kind yes/no. Text with few distinct values is a category, other text is text.
    These columns are excluded:

    * columns without a value or with a single value
    * dates
    * nested values
    * whole numbers that count the rows, and text with a different word in each row, which only identify a row

    Parameters
    ----------
    table : Table
    exclude : collection of str
        Columns that must not be features: labels and truth.
    overrides : Overrides, optional
    scope : str
        Clause for messages if the table is not the full data set.

    Returns
    -------
    columns : list of Column
        In the order of the table.
    notes : list of str
        A sentence for each column that is excluded and was not named by the user.

    Raises
    ------
    DataError
        If a column in `overrides` does not exist or has two kinds, or if no feature remains.
    """
    overrides = overrides or Overrides()
    forced = _forced_kinds(table, overrides)
    dropped = {find_column(name, table.frame.columns, table.path) for name in overrides.drop}
    columns: list[Column] = []
    notes: list[str] = []
    for cells in table.frame.iter_columns():
        if cells.name in dropped or cells.name in exclude or cells.name in table.label_columns:
            continue
        if cells.name in forced:
            columns.append(Column(cells.name, forced[cells.name]))
            continue
        kind, reason = _kind_of(cells)
        if kind is not None:
            columns.append(Column(cells.name, kind))
        elif reason:
            notes.append(f"column {cells.name!r} is excluded: {reason}{scope}.")
    if not columns:
        raise DataError(
            f"no feature column remains: every column is excluded or has labels{scope}. Add a column, or include one "
            "by --numeric, --categorical or --text.",
            source=str(table.path),
        )
    return columns, notes


def align_columns(frame: "pl.DataFrame", columns: Sequence[Column], path: Path) -> "pl.DataFrame":
    """Return the features with the types that the encoder expects: numbers as floats, all others as text.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : sequence of Column
        The features; other columns of `frame` are ignored.
    path : Path
        For messages.

    Raises
    ------
    DataError
        If a column is missing, or a cell is not a finite number; the error names row and column.
    """
    missing = [column.name for column in columns if column.name not in frame.columns]
    if missing:
        differ_in_case = {name.lower() for name in missing} & {name.lower() for name in frame.columns}
        hint = " (names are case-sensitive)" * bool(differ_in_case)
        names = f"columns {format_names(missing)}" if len(missing) > 1 else f"column {format_names(missing)}"
        raise DataError(f"missing {names}, which the model was trained on{hint}.", source=str(path))
    try:
        return frame.select([_CONVERTERS[column.kind](frame[column.name]) for column in columns])
    except DataError as error:
        raise error.at(path) from None


def format_names(names: Sequence[str]) -> str:
    """Return the first 5 names, and the number of omitted names."""
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5} more" * (len(names) > 5))


def find_column(name: str, columns: Sequence[str], path: Path) -> str:
    """Return `name` if the table has such a column; otherwise raise an error that names the closest column."""
    if name in columns:
        return name
    lower = {column.lower(): column for column in columns}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    if close:
        hint = f"did you mean {lower[close[0]]!r}?"
    else:
        listed = ", ".join(columns[:10]) or "none"
        hint = f"the columns are {listed}" + (f" and {len(columns) - 10} more." if len(columns) > 10 else ".")
    raise DataError(f"column {name!r} does not exist: {hint}", source=str(path))


def _forced_kinds(table: "Table", overrides: Overrides) -> dict[str, Kind]:
    forced: dict[str, Kind] = {}
    kinds: list[tuple[tuple[str, ...], Kind]] = [
        (overrides.numbers, "number"),
        (overrides.categories, "category"),
        (overrides.texts, "text"),
    ]
    for names, kind in kinds:
        for name in names:
            if forced.setdefault(find_column(name, table.frame.columns, table.path), kind) != kind:
                raise DataError(f"column {name!r} must have one kind; got {forced[name]} and {kind}.")
    return forced


def _kind_of(cells: "pl.Series") -> tuple[Kind | None, str]:
    """Return the kind, or None and the reason why the column is excluded."""
    import polars as pl

    present = cells.drop_nulls()
    if cells.dtype.is_float():
        present = present.drop_nans()
    if len(present) == 0:
        return None, "it has no values"
    if cells.dtype.is_temporal():
        return None, "it has dates or times, which are not supported as features; convert them to numbers"
    if cells.dtype == pl.Boolean:
        return ("yes/no", "") if _varies(cells) else (None, "")
    if cells.dtype.is_numeric():
        if cells.dtype.is_integer() and _is_row_index(cells):
            return None, "it counts the rows (add --numeric to include it)"
        return ("number", "") if _varies(cells) else (None, "")
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None, f"values of type {cells.dtype} are not supported as features"
    return _kind_of_text(present.cast(pl.String), len(cells)) if _varies(cells) else (None, "")


def _kind_of_text(present: "pl.Series", n_rows: int) -> tuple[Kind | None, str]:
    distinct = present.n_unique()
    words = present.str.count_matches(r"\w+")
    mean_words = float(words.mean())  # type: ignore[arg-type]  # a column of counts that is not empty
    if distinct <= _FEW_CATEGORIES and distinct < len(present):
        return "category", ""
    if distinct <= min(_MAX_CATEGORIES, n_rows // 2) and mean_words < _MIN_MEAN_WORDS:
        return "category", ""
    if distinct == len(present) and mean_words <= 1:
        return (
            None,
            "it has a different word in each row, such as a name or an identifier (add --text or --categorical to "
            "include it)",
        )
    return "text", ""


def _varies(cells: "pl.Series") -> bool:
    return cells.n_unique() > 1


def _is_row_index(cells: "pl.Series") -> bool:
    if cells.null_count() or len(cells) < _MIN_INDEX_ROWS:
        return False
    steps = cells.cast(float).diff().drop_nulls()
    return bool((steps == 1).all())


def _to_numbers(cells: "pl.Series") -> "pl.Series":
    import polars as pl

    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.String, pl.Null)):
        raise DataError(f"column {cells.name!r} must contain numbers; got values of type {cells.dtype}.")
    numbers = cells.cast(pl.Float64, strict=False).fill_null(float("nan"))
    unread = (numbers.is_nan() & cells.is_not_null()).arg_true().to_list() if cells.dtype == pl.String else []
    for row in unread:
        if cells[row].strip().lower() not in ("", "nan"):
            raise DataError(f"column {cells.name!r} must contain numbers; got {cells[row]!r}.", row=row)
    infinite = numbers.is_infinite().arg_true()
    if len(infinite):
        raise DataError(
            f"column {cells.name!r} must contain finite numbers; got {numbers[infinite[0]]}. Use a finite number, or "
            "leave the cell empty.",
            row=int(infinite[0]),
        )
    return numbers


def _booleans_to_numbers(cells: "pl.Series") -> "pl.Series":
    import polars as pl

    if cells.dtype == pl.String:
        lower = cells.str.strip_chars().str.to_lowercase()
        cells = lower.replace_strict({"true": 1.0, "false": 0.0}, default=lower, return_dtype=pl.String)
    return _to_numbers(cells.alias(cells.name))


def _to_text(cells: "pl.Series") -> "pl.Series":
    """Return the cells as text; a missing cell is the empty text, which is a separate category."""
    import polars as pl

    if cells.dtype.is_nested():
        raise DataError(f"column {cells.name!r} must contain text; got values of type {cells.dtype}.")
    if cells.dtype.is_float() and (cells.drop_nulls().drop_nans() % 1 == 0).all():
        cells = cells.fill_nan(None).cast(pl.Int64, strict=False)  # 3.0 and 3 are the same category
    return cells.cast(pl.String).fill_null("")


_CONVERTERS = {"number": _to_numbers, "yes/no": _booleans_to_numbers, "category": _to_text, "text": _to_text}


@dataclass(frozen=True)
class TextOptions:
    """Stop words and stemmer of the text columns.

    Attributes
    ----------
    stop_words : "english", tuple of str or None
    stem : str or None
        The language of the stemmer.
    """

    stop_words: StopWords = None
    stem: str | None = None

    def vectorizer(self, **options: Any) -> Any:
        """Return an unfitted vectorizer of texts (see `oneof.text.make_vectorizer`)."""
        return make_vectorizer(stop_words=self.stop_words, stem=self.stem, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the options and the version of the stemmer, in the types of JSON."""
        stop_words = list(self.stop_words) if isinstance(self.stop_words, tuple) else self.stop_words
        stemmer = None if self.stem is None else stemmer_version()
        return {"stop_words": stop_words, "stem": self.stem, "stemmer": stemmer}


def read_text_options(stop_words: str = NONE, stem: str = NONE) -> TextOptions:
    """Parse the values of the options --stop-words and --stem.

    Parameters
    ----------
    stop_words : str
        "english", "none", or the name of a file with one word per line; empty lines are ignored.
    stem : str
        "none", or a language of `oneof.text`.

    Raises
    ------
    DataError
        If the file of stop words does not exist, is not text, or contains no word.
    InputError
        If the language has no stemmer.
    MissingExtraError
        If snowballstemmer is not installed and `stem` names a language.
    """
    lower = stop_words.lower()
    words = {NONE: None, "english": "english"}[lower] if lower in (NONE, "english") else _read_words(Path(stop_words))
    options = TextOptions(words, None if stem.lower() == NONE else stem.lower())
    options.vectorizer()  # raises before a table is read
    return options


def check_texts(frame: "pl.DataFrame", columns: Sequence[Column], options: TextOptions, path: Path) -> None:
    """Raise if a text column has no word, or if text options are given for a table without a text column.

    Parameters
    ----------
    frame : polars.DataFrame
        The features, as returned by `align_columns`.
    columns : sequence of Column
    options : TextOptions
    path : Path
        For messages.

    Raises
    ------
    DataError
        The error names the column.
    """
    texts = [column.name for column in columns if column.kind == "text"]
    if not texts and options != TextOptions():
        raise DataError(
            "--stop-words and --stem need a text column. Name one by --text, or omit these options.", source=str(path)
        )
    analyze = options.vectorizer().build_analyzer()
    for name in texts:
        if not any(analyze(text) for text in frame[name]):
            content = "no words" if options.stop_words is None else "only stop words"
            raise DataError(f"column {name!r} has {content}. Exclude it by --drop {name}.", source=str(path))


def make_encoder(columns: Sequence[Column], options: TextOptions | None = None) -> Any:
    """Return an unfitted transformer from the table that `align_columns` returns to an array.

    * Numbers: a missing value becomes the median and has an indicator feature; then mean 0 and variance 1.
    * Yes/no: 0 and 1; a missing value becomes the more frequent one.
    * Categories: one feature per value, where missing is a value; an unseen value has none of them.
    * Text: TF-IDF of its words.

    The transformer consists of scikit-learn's components, `MedianImputer`, and the tokenizer of `oneof.text` if words
    are stemmed, so a model file can contain it. Its output is sparse only if categories and words make it mostly zeros.

    Parameters
    ----------
    columns : sequence of Column
    options : TextOptions, optional
        By default there are neither stop words nor stems.

    Returns
    -------
    sklearn.compose.ColumnTransformer
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from oneof.io.imputer import MedianImputer

    # By index, since scikit-learn before 1.9 cannot select polars columns by name; `align_columns` keeps their order.
    numbers, booleans, categories, texts = (
        [index for index, column in enumerate(columns) if column.kind == kind]
        for kind in ("number", "yes/no", "category", "text")
    )
    transformers: list[tuple[str, Any, Any]] = []
    if numbers:
        # The imputer returns a new array, which the scaler may change.
        transformers.append(("numbers", make_pipeline(MedianImputer(), StandardScaler(copy=False)), numbers))
    if booleans:
        imputer = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
        transformers.append(("booleans", imputer, booleans))
    if categories:
        transformers.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    for number, index in enumerate(texts):
        vectorizer = (options or TextOptions()).vectorizer(sublinear_tf=True, max_features=MAX_WORDS)
        transformers.append((f"text{number}", vectorizer, index))
    return ColumnTransformer(transformers)


def _read_words(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise DataError(
            f"the file {path} of stop words does not exist. Give english, none, or a file with one word per line."
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8. Save it as UTF-8.") from None
    words = tuple(sorted({line.strip() for line in lines} - {""}))
    if not words:
        raise DataError(f"{path} must contain stop words, one per line; it is empty.")
    return words
