"""Encoder of the features of a table for scikit-learn's estimators: scaling, imputation, categories and words.

`TextOptions` has the stop words and the stemmer of text columns, `Encoder` is the transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from oneof.errors import DataError
from oneof.io.features import Column
from oneof.io.findings import MAX_CELLS, UnreadableCells
from oneof.text import StopWords, make_vectorizer, stemmer_version
from oneof.typing import FeatureMatrix, Floats

if TYPE_CHECKING:
    import polars as pl

MAX_WORDS = 20_000
"""Number of words of a text column that become features: the most frequent ones."""
NONE = "none"
MIN_INDICATOR_SHARE = 0.05
"""Share of missing values from which a column has an indicator."""
MAX_DENSITY = 0.3
"""Share of nonzero features below which the output is sparse, as in scikit-learn's ColumnTransformer."""
CALENDAR = ("elapsed", "year", "month", "weekday", "hour")
"""Features of a date."""


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
    known: dict[str, Any] = {NONE: None, "english": "english"}
    words = known[stop_words.lower()] if stop_words.lower() in known else _read_words(Path(stop_words))
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


class Encoder(TransformerMixin, BaseEstimator):
    """Transformer from the table that `align_columns` returns to an array.

    * Numbers and durations: a missing value becomes the median, with an indicator feature if a twentieth is missing;
      then mean 0 and variance 1. An indicator of few rows would be far from the others after scaling, so that rows with
      a missing value would have no neighbors.
    * Dates: elapsed time, year, month, day of the week and hour, as numbers.
    * Yes/no: 0 and 1; a missing value becomes the more frequent one.
    * Categories: one feature per value, where missing is a value; an unseen value has none of them.
    * Text: TF-IDF of its words.

    The features are in this order, and the indicators follow the dates. A column without values is 0.

    Parameters
    ----------
    columns : list of (name, kind)
    stop_words, stem : optional
        See `TextOptions`.
    sparse_output : bool, optional
        Whether the output is sparse; by default only if categories and words make it mostly zeros. Folds need one
        choice, since their words differ.

    Attributes
    ----------
    medians_ : ndarray
        The medians of the numbers and durations, then of the dates.
    indicated_ : ndarray of bool
        The columns of `medians_` that have an indicator.
    mean_, scale_ : ndarray
        The means and standard deviations of the features of these columns.
    modes_ : list of float
        The more frequent value of each yes/no column.
    categories_ : list of list of str
        The values of each column of categories.
    vectorizers_ : list of TfidfVectorizer
        The fitted vectorizer of each column of text.
    is_sparse_ : bool
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        stop_words: Any = None,
        stem: str | None = None,
        sparse_output: bool | None = None,
    ) -> None:
        self.columns = columns
        self.stop_words = stop_words
        self.stem = stem
        self.sparse_output = sparse_output

    def fit(self, X: "pl.DataFrame", y: Any = None) -> Self:  # noqa: ARG002 - a step of a pipeline
        """Fit to a table.

        Parameters
        ----------
        X : polars.DataFrame
            Columns of float64 with NaN for missing values, and of text.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: "pl.DataFrame", y: Any = None) -> FeatureMatrix:  # noqa: ARG002
        """Fit to a table and return its features; see `fit`."""
        import polars as pl
        from sklearn.preprocessing import StandardScaler

        self.n_features_in_ = X.width
        imputed = X.select(self._named("number", "duration") + self._named("date"))
        medians = imputed.select(pl.all().fill_nan(None).median().fill_null(0.0))
        self.medians_ = medians.to_numpy().reshape(imputed.width)
        missing = imputed.select(pl.all().is_nan().mean()).to_numpy().reshape(imputed.width)
        self.indicated_ = (missing > 0) & (missing >= MIN_INDICATOR_SHARE)
        numbers = self._impute(X)
        if imputed.width:
            scaler = StandardScaler().fit(numbers)
            self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        booleans = [X[name] for name in self._named("yes/no")]
        self.modes_ = [float(2 * (cells == 1.0).sum() > cells.is_not_nan().sum()) for cells in booleans]
        self.categories_ = [sorted(X[name].unique().to_list()) for name in self._named("category")]
        options, names = TextOptions(self.stop_words, self.stem), self._named("text")
        self.vectorizers_ = [options.vectorizer(sublinear_tf=True, max_features=MAX_WORDS) for _ in names]
        texts = [known.fit_transform(X[name].to_list()) for name, known in zip(names, self.vectorizers_, strict=True)]
        blocks = self._blocks(X, numbers, texts)
        n_nonzero = sum(block.nnz if sp.issparse(block) else block.size for block in blocks)
        n_cells = sum(block.shape[0] * block.shape[1] for block in blocks)
        is_sparse = any(map(sp.issparse, blocks)) and n_nonzero < MAX_DENSITY * n_cells
        self.is_sparse_ = is_sparse if self.sparse_output is None else self.sparse_output
        return self._stack(blocks)

    def transform(self, X: "pl.DataFrame") -> FeatureMatrix:
        """Return the features of a table.

        Parameters
        ----------
        X : polars.DataFrame
            See `fit`.

        Returns
        -------
        ndarray or CSR matrix of shape (n, d)
        """
        numbers = self._impute(X)
        known = zip(self._named("text"), self.vectorizers_, strict=True)
        texts = [vectorizer.transform(X[name].to_list()) for name, vectorizer in known]
        return self._stack(self._blocks(X, numbers, texts))

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002 - as in scikit-learn
        """Return the names of the features: a column, or a column with a part of a date, a category or a word."""
        numbers, dates = self._named("number", "duration"), self._named("date")
        imputed = [*numbers, *(f"{name}_{part}" for name in dates for part in CALENDAR)]
        missing = [f"{name}_missing" for name in np.array([*numbers, *dates])[self.indicated_]]
        categories = zip(self._named("category"), self.categories_, strict=True)
        texts = zip(self._named("text"), self.vectorizers_, strict=True)
        words = [f"{name}_{word}" for name, known in texts for word in known.get_feature_names_out()]
        values = [f"{name}_{value}" for name, known in categories for value in known]
        return np.array([*imputed, *missing, *self._named("yes/no"), *values, *words], dtype=object)

    def _named(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns if kind in kinds]

    def _impute(self, X: "pl.DataFrame") -> Floats:
        """Return numbers and the features of dates without missing values, and the indicators."""
        if not X.height:
            raise DataError("the table has no rows. Add at least one.")
        numbers, dates = self._named("number", "duration"), self._named("date")
        values = X.select(numbers + dates).to_numpy().reshape(X.height, -1)
        features = np.empty((X.height, len(numbers) + len(CALENDAR) * len(dates) + int(self.indicated_.sum())))
        missing, end = np.isnan(values), len(numbers)
        features[:, :end] = values[:, :end]
        np.copyto(features[:, :end], self.medians_[:end], where=missing[:, :end])
        for j in range(len(numbers), values.shape[1]):
            days = np.where(missing[:, j], self.medians_[j], values[:, j])
            features[:, end : end + len(CALENDAR)] = calendar_features(days)
            end += len(CALENDAR)
        features[:, end:] = missing[:, self.indicated_]
        return features

    def _blocks(self, X: "pl.DataFrame", numbers: Floats, texts: list[Any]) -> list[Any]:
        """Return the features of all kinds of columns; the numbers are standardized in place."""
        if numbers.shape[1]:
            numbers -= self.mean_
            numbers /= self.scale_
        booleans = [X[name].fill_nan(mode) for name, mode in zip(self._named("yes/no"), self.modes_, strict=True)]
        categories = map(_indicators, map(X.get_column, self._named("category")), self.categories_)
        dense = np.column_stack([numbers, *(cells.to_numpy() for cells in booleans)]) if booleans else numbers
        return [*([dense] if dense.shape[1] else []), *categories, *texts]

    def _stack(self, blocks: list[Any]) -> FeatureMatrix:
        if self.is_sparse_:
            return sp.hstack(blocks, format="csr")
        if len(blocks) == 1 and not sp.issparse(blocks[0]):
            return blocks[0]
        return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def _indicators(cells: "pl.Series", known: list[str]) -> Any:
    """Return a CSR matrix with a feature for each known category."""
    import polars as pl

    codes = cells.cast(pl.Enum(known), strict=False).to_physical()
    is_known = codes.is_not_null().to_numpy()
    starts = np.concatenate([[0], np.cumsum(is_known)])
    entries = codes.drop_nulls().to_numpy().astype(np.int64)
    return sp.csr_matrix((np.ones(len(entries)), entries, starts), shape=(len(cells), len(known)))


def calendar_features(days: Floats) -> Floats:
    """Return the features `CALENDAR` of dates, (n, 5); the weekday 0 is Monday, and those of a missing date are NaN.

    Parameters
    ----------
    days : ndarray of shape (n,)
        Days since 1970-01-01; their fraction is the time of the day.
    """
    whole = np.floor(days)
    known = np.isfinite(days)
    dates = np.where(known, whole, 0).astype("datetime64[D]")
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    weekdays = (np.where(known, whole, 0) + 3) % 7  # 1970-01-01 was a Thursday
    features = np.column_stack([days, years, months, weekdays, (days - whole) * 24])
    features[~known] = np.nan
    return features


def make_encoder(columns: Sequence[Column], options: TextOptions | None = None) -> Encoder:
    """Return an unfitted encoder of columns.

    Parameters
    ----------
    columns : sequence of Column
    options : TextOptions, optional
        By default there are neither stop words nor stems.
    """
    options = options or TextOptions()
    return Encoder([(column.name, column.kind) for column in columns], options.stop_words, options.stem)


def find_new_categories(frame: "pl.DataFrame", encoder: Any) -> UnreadableCells:
    """Return the number and the first cells of the categories that an encoder was not fitted to, by column.

    A missing cell is not one. The encoder of a stream hashes its categories, and has none.
    """
    found = UnreadableCells()
    names = [name for name, kind in getattr(encoder, "columns", ()) if kind == "category"]
    for name, known in zip(names, getattr(encoder, "categories_", ()), strict=False):
        new = frame[name].filter(~frame[name].is_in(["", *known])).unique(maintain_order=True)
        if len(new):
            rows = [(int((frame[name] == text).arg_true()[0]), text) for text in new.head(MAX_CELLS).to_list()]
            found.add(name, rows, int(frame[name].is_in(new.implode()).sum()))
    return found


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
