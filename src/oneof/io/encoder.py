"""Encoder of the features of a table for scikit-learn's estimators: scaling, imputation, categories and words.

`TextOptions` has the stop words and the stemmer of text columns, `make_encoder` builds the transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.errors import DataError
from oneof.io.columns import Column
from oneof.text import StopWords, make_vectorizer, stemmer_version

if TYPE_CHECKING:
    import polars as pl

MAX_WORDS = 20_000
"""Number of words of a text column that become features: the most frequent ones."""
NONE = "none"


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

    * Numbers: a missing value becomes the median, with an indicator feature if a twentieth is missing; then mean 0 and
      variance 1.
    * Durations: as numbers.
    * Dates: elapsed time, year, month, day of the week and hour, as numbers.
    * Yes/no: 0 and 1; a missing value becomes the more frequent one.
    * Categories: one feature per value, where missing is a value; an unseen value has none of them.
    * Text: TF-IDF of its words.

    The transformer consists of scikit-learn's components, `MedianImputer`, `CalendarFeatures`, and the tokenizer of
    `oneof.text` if words are stemmed, so a model file can contain it. Its output is sparse only if categories and words
    make it mostly zeros.

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

    from oneof.io.imputer import CalendarFeatures, MedianImputer

    # By index, since scikit-learn before 1.9 cannot select polars columns by name; `align_columns` keeps their order.
    numbers, dates, booleans, categories, texts = (
        [index for index, column in enumerate(columns) if column.kind in kinds]
        for kinds in (("number", "duration"), ("date",), ("yes/no",), ("category",), ("text",))
    )
    transformers: list[tuple[str, Any, Any]] = []
    if numbers:
        # The imputer returns a new array, which the scaler may change.
        transformers.append(("numbers", make_pipeline(MedianImputer(), StandardScaler(copy=False)), numbers))
    if dates:
        transformers.append(("dates", make_pipeline(CalendarFeatures(), StandardScaler(copy=False)), dates))
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
