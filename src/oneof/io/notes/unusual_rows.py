"""Rows of a table whose texts or vectors differ from those of training, such as texts in another language.

`oneof fit` stores limits of the training rows (`describe_rows`), with which each row of another table is compared on
its own. Therefore a row has the same finding in a table, in a request of one row, and in a request of many.

* Empty: a text without words, or a vector without a number other than 0.
* Words: the share of the words of a text that the fitted vocabulary has. The limit is a part of a low quantile of the
  training texts. The words of a training text are in the vocabulary by construction, so its share is that of the other
  training texts.
* Norm: the logarithm of the norm of a vector without missing numbers. The limits are two quantiles of the training
  vectors, with a margin as wide as the range between them.

A row is not unusual if at least the fraction `MIN_USUAL` of the training rows (of the different texts, for words) is
like it: then the measured accuracy includes such rows.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from oneof.io.columns import Column
from oneof.io.notes.findings import MAX_CELLS
from oneof.io.vectors import vector_name
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

    from oneof.typing import Floats, Mask

MAX_MEASURED_TEXTS = 5_000
"""Number of different training texts from which the limit of known words is computed."""
MIN_USUAL = 0.05
"""Fraction of the training rows from which rows of a kind are usual; also the quantiles of the limits."""
MIN_FRACTION = 0.5
"""Limit of the share of known words, as a fraction of the quantile of the training texts."""
MAX_NORM_RATIO = 1.5
"""Ratio of a norm to the largest or the smallest usual one from which it is far, if all usual norms are equal."""
_MAX_LISTED = 5

Reason = Literal["empty_text", "words", "empty_vector", "norm"]


@dataclass(frozen=True)
class UnusualRows:
    """Rows whose text or vector differs from those of training, for one reason.

    Attributes
    ----------
    column : str
        The column of texts, or the name of the vectors.
    reason : {"empty_text", "words", "empty_vector", "norm"}
        A text without words; few or no words of the vocabulary; a vector without a number other than 0; a norm far from
        those of training.
    rows : tuple of int
        All such rows, counted from 0.
    n_rows : int
        Number of rows of the table.
    """

    column: str
    reason: Reason
    rows: tuple[int, ...]
    n_rows: int


def describe_rows(
    frame: "pl.DataFrame", columns: Sequence[Column], transformer: Any, vectors: Collection[str]
) -> dict[str, Any]:
    """Return the limits of the training rows, in the types of JSON, which a saved model has in its summary.

    Parameters
    ----------
    frame : polars.DataFrame
        The features of training, as `align_columns` returns them.
    columns : sequence of Column
    transformer : transformer
        The fitted transformer of the table.
    vectors : collection of str
        The names of the vectors.

    Returns
    -------
    dict
        ``texts``: the fraction of empty texts and the limit of the share of known words, for each column of texts.
        ``vectors``: the fraction of empty vectors and the two limits of the logarithm of the norm, for each name of
        vectors. A limit is None without rows from which it is computed.
    """
    texts = {
        name: _text_limits(frame[name].to_list(), vectorizer)
        for name, vectorizer in _vectorizers(columns, transformer).items()
    }
    norms = {name: _norm_limits(_log_norms(frame, members)) for name, members in _members(columns, vectors).items()}
    return {"texts": texts, "vectors": norms}


def find_unusual_rows(
    cells: "Mapping[str, Any] | pl.DataFrame", columns: Sequence[Column], transformer: Any, limits: Any
) -> list[UnusualRows]:
    """Return the rows whose texts or vectors differ from those of training; whether a row does depends on it alone.

    Parameters
    ----------
    cells : polars.DataFrame or mapping of str to cells
        The features, as `align_columns` returns them.
    columns : sequence of Column
    transformer : transformer
        The fitted transformer of the table of training.
    limits : object
        The result of `describe_rows` in a model file. A model of an earlier version has none, and no rows are found.
    """
    masks: list[tuple[str, Reason, Mask]] = []
    for name, vectorizer in _vectorizers(columns, transformer).items():
        numbers = _read_numbers(limits, "texts", name, 2)
        if numbers is None:
            continue
        n_empty, limit = numbers
        analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
        shares = np.array([_share(set(analyze(text)), vocabulary) for text in cells[name]])
        masks += [(name, "empty_text", np.isnan(shares) & (n_empty < MIN_USUAL)), (name, "words", shares < limit)]
    stored = limits.get("vectors") if isinstance(limits, dict) else None
    for name, members in _members(columns, stored if isinstance(stored, dict) else ()).items():
        numbers = _read_numbers(limits, "vectors", name, 3)
        if numbers is None:
            continue
        n_empty, low, high = numbers
        norms = _log_norms(cells, members)
        is_empty = np.isneginf(norms)
        masks += [
            (name, "empty_vector", is_empty & (n_empty < MIN_USUAL)),
            (name, "norm", ~is_empty & ((norms < low) | (norms > high))),
        ]
    return [
        UnusualRows(name, reason, tuple(np.flatnonzero(is_unusual).tolist()), len(is_unusual))
        for name, reason, is_unusual in masks
        if is_unusual.any()
    ]


def sentences(found: Sequence[UnusualRows]) -> list[str]:
    """Return a note about the unusual rows of each column and reason."""
    return [_sentence(unusual) for unusual in found]


def to_dict(found: Sequence[UnusualRows]) -> dict[str, Any]:
    """Return the number of the unusual rows and the first ones by column, in the types of JSON."""
    rows: dict[str, list[int]] = {}
    for unusual in found:
        rows.setdefault(unusual.column, []).extend(unusual.rows)
    return {column: {"count": len(listed), "rows": sorted(listed)[:MAX_CELLS]} for column, listed in rows.items()}


def _sentence(unusual: UnusualRows) -> str:
    count, total = len(unusual.rows), unusual.n_rows
    plural = count != 1
    subject = f"{count:,} of {total:,} row{'s' * (total != 1)} {'have' if plural else 'has'}"
    rows = enumerate_items([str(row) for row in unusual.rows], _MAX_LISTED)
    listed = f"(row{'s' * plural} {rows})"
    content = {
        "empty_text": f"an empty text, or one without words, in column {unusual.column!r} {listed}",
        "words": f"few or no words of the training texts in column {unusual.column!r} {listed}",
        "empty_vector": f"no vector, or only zeros, in column {unusual.column!r} {listed}",
        "norm": f"a vector in column {unusual.column!r} whose norm is far from those of training {listed}",
    }[unusual.reason]
    remedy = {
        "empty_text": "Add their texts, or fit the model to labeled rows without texts.",
        "words": "Check their language, or fit the model to labeled rows with such texts.",
        "empty_vector": "Compute their vectors.",
        "norm": "Check that their vectors are computed as in training.",
    }[unusual.reason]
    return (
        f"{subject} {content}. The measured accuracy, the probabilities and the coverage of prediction sets do not "
        f"apply to {'them' if plural else 'it'}. {remedy}"
    )


def _vectorizers(columns: Sequence[Column], transformer: Any) -> dict[str, Any]:
    """Return the fitted vectorizer of each column of texts; none without a vocabulary."""
    return {
        columns[selected].name: fitted
        for _, fitted, selected in getattr(transformer, "transformers_", ())
        if isinstance(selected, int) and isinstance(getattr(fitted, "vocabulary_", None), dict)
    }


def _share(words: set[str], vocabulary: Mapping[str, int]) -> float:
    """Return the share of words that a vocabulary has; NaN without words."""
    return sum(word in vocabulary for word in words) / len(words) if words else np.nan


def _text_limits(texts: Sequence[str], vectorizer: Any) -> list[float | None]:
    """Return the fraction of texts without words, and the limit of the share of known words of the other texts."""
    multiplicity, analyze, vocabulary = Counter(texts), vectorizer.build_analyzer(), vectorizer.vocabulary_
    totals: Counter[str] = Counter()
    with_words = []
    for text, repeats in multiplicity.items():
        counts = Counter(analyze(text))
        with_words += [text] * bool(counts)
        for word, count in counts.items():
            totals[word] += repeats * count
    # A limited vocabulary has the words above a frequency, and a part of those with it.
    least, part = 1, 1.0
    if vectorizer.max_features is not None and len(vocabulary) == vectorizer.max_features:
        least = min(totals[word] for word in vocabulary)
        n_least = sum(count == least for count in totals.values())
        part = sum(totals[word] == least for word in vocabulary) / n_least

    def share(text: str) -> float:
        """Return the share of words that the vocabulary would have without the rows of this text."""
        counts = Counter(analyze(text))
        others = [totals[word] - multiplicity[text] * count for word, count in counts.items()]
        return sum(1.0 if count > least else part if count == least else 0.0 for count in others) / len(others)

    # Each different text is measured once: a text of many rows, such as "none", counts as one text.
    measured = np.linspace(0, len(with_words) - 1, min(len(with_words), MAX_MEASURED_TEXTS)).round().astype(int)
    shares = [share(with_words[index]) for index in measured.tolist()]
    n_empty = len(texts) - sum(multiplicity[text] for text in with_words)
    return [n_empty / len(texts), MIN_FRACTION * float(np.quantile(shares, MIN_USUAL)) if shares else None]


def _members(columns: Sequence[Column], vectors: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the columns of each vector."""
    members: dict[str, list[str]] = {}
    for column in columns:
        name = vector_name(column.name) if column.kind == "number" else None
        if name is not None and name in vectors:
            members.setdefault(name, []).append(column.name)
    return members


def _log_norms(cells: "Mapping[str, Any] | pl.DataFrame", members: Sequence[str]) -> "Floats":
    """Return the logarithm of the norm of each vector: -inf if it is empty, and NaN if a part of it is missing."""
    values = np.abs(np.column_stack([np.asarray(cells[name], dtype=np.float64) for name in members]))
    is_empty = ~(values > 0).any(axis=1)
    largest = np.where(is_empty, 1.0, np.fmax.reduce(values, axis=1, initial=0.0))[:, np.newaxis]
    # Squares of scaled numbers neither overflow nor underflow to a norm of 0.
    norms = np.log(largest[:, 0]) + 0.5 * np.log(np.where(is_empty, 1.0, np.square(values / largest).sum(axis=1)))
    return np.where(is_empty, -np.inf, norms)


def _norm_limits(norms: "Floats") -> list[float | None]:
    """Return the fraction of empty vectors, and the limits of the logarithms of the norms of the complete ones."""
    known = norms[np.isfinite(norms)]
    n_empty = float(np.isneginf(norms).mean())
    if not len(known):
        return [n_empty, None, None]
    low, high = np.quantile(known, [MIN_USUAL, 1 - MIN_USUAL])
    margin = high - low + np.log(MAX_NORM_RATIO)
    return [n_empty, float(low - margin), float(high + margin)]


def _read_numbers(limits: Any, key: str, name: str, size: int) -> "Floats | None":
    """Return stored limits as an array, NaN for None; None if the model has none."""
    try:
        return np.asarray(limits[key][name], dtype=np.float64).reshape(size)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError):
        return None
