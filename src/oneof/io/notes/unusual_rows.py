"""Rows of a table whose texts or vectors differ from those of training, such as texts in another language.

`oneof fit` stores limits of the training rows (`describe_rows`), with which the rows of another table are compared. A
row has a share of its words that the fitted vocabulary has. The words of a training row are in the vocabulary by
construction, so the share of a training row is that of the other training rows. A vector has its norm.

A few rows outside of a limit are expected if training rows were outside of it too. They have a note only if they are
more than chance explains.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import bdtrc

from oneof.io.columns import Column
from oneof.io.vectors import vector_name
from oneof.messages import enumerate_items

if TYPE_CHECKING:
    import polars as pl

    from oneof.typing import Floats, Mask

MAX_MEASURED_ROWS = 5_000
"""Number of training rows from which the limits of texts are computed."""
LOW_QUANTILE, MIN_FRACTION = 0.05, 0.5
"""Limits of the share of known words: a quantile of the training rows, and a fraction of their minimum."""
MAX_NORM_RATIO = 1.5
"""Ratio of a norm to the largest one of training, or of the smallest one to it, above which a row is unusual."""
MIN_VECTOR_SIZE = 8
"""Number of columns from which the norm of a vector varies little between similar rows."""
SIGNIFICANCE = 1e-4
"""Probability of as many rows outside of a limit below which they have a note."""
_MAX_LISTED = 5

Reason = Literal["words", "empty", "norm"]


@dataclass(frozen=True)
class UnusualRows:
    """Rows whose text or vector differs from those of training.

    Attributes
    ----------
    column : str
        The column of texts, or the name of the vectors.
    reason : {"words", "empty", "norm"}
        Few or no words of the vocabulary; a vector without numbers, or of zeros; a norm far from those of training.
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
    frame: "pl.DataFrame", columns: Sequence[Column], transformer: Any, vectors: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the limits of the training rows, in the types of JSON, which a saved model has in its summary.

    Parameters
    ----------
    frame : polars.DataFrame
        The features of training, as `align_columns` returns them.
    columns : sequence of Column
    transformer : transformer
        The fitted transformer of the table.
    vectors : collection of str, optional
        The names of the vectors; by default all names of columns such as NAME[0].

    Returns
    -------
    dict
        ``texts``: the pairs of a limit and the share of training rows below it, for each column of texts. ``norms``:
        the share of empty vectors, the smallest norm and the largest norm, for each name of vectors.
    """
    texts = {
        name: _text_limits(frame[name].to_list(), vectorizer)
        for name, vectorizer in _vectorizers(columns, transformer).items()
    }
    known = {name: members for name, members in _vectors(columns).items() if vectors is None or name in vectors}
    norms = {name: _norm_limits(_norms(frame, members)) for name, members in known.items()}
    return {"texts": texts, "norms": norms}


def find_unusual_rows(
    cells: "Mapping[str, Any] | pl.DataFrame", columns: Sequence[Column], transformer: Any, limits: Any
) -> list[UnusualRows]:
    """Return the rows whose texts or vectors differ from those of training.

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
    found = []
    limits = limits if isinstance(limits, dict) else {}
    for name, vectorizer in _vectorizers(columns, transformer).items():
        pairs = _read_numbers(limits, "texts", name, (-1, 2))
        if pairs is None:
            continue
        analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
        shares = np.array([_share(set(analyze(text)), vocabulary) for text in cells[name]])
        for limit, rate in pairs:
            is_outside = (shares < limit) | (shares == 0)
            if _exceeds(is_outside, rate):
                found.append(_unusual(name, "words", is_outside))
                break
    for name, members in _vectors(columns).items():
        numbers = _read_numbers(limits, "norms", name, (3,))
        if numbers is None:
            continue
        rate, smallest, largest = numbers
        norms = _norms(cells, members)
        is_empty = norms == 0
        if _exceeds(is_empty, rate):
            found.append(_unusual(name, "empty", is_empty))
        is_far = ~is_empty & ((norms * MAX_NORM_RATIO < smallest) | (norms > MAX_NORM_RATIO * largest))
        if largest > 0 and is_far.any():
            found.append(_unusual(name, "norm", is_far))
    return found


def sentences(found: Sequence[UnusualRows]) -> list[str]:
    """Return a note about the unusual rows of each column."""
    return [_sentence(unusual) for unusual in found]


def to_dict(found: Sequence[UnusualRows]) -> dict[str, Any]:
    """Return the number of the unusual rows and the rows by column, in the types of JSON."""
    rows: dict[str, list[int]] = {}
    for unusual in found:
        rows.setdefault(unusual.column, []).extend(unusual.rows)
    return {column: {"count": len(listed), "rows": sorted(listed)} for column, listed in rows.items()}


def _sentence(unusual: UnusualRows) -> str:
    count, total = len(unusual.rows), unusual.n_rows
    plural = count != 1
    subject = f"{count:,} of {total:,} row{'s' * (total != 1)} {'have' if plural else 'has'}"
    rows = enumerate_items([str(row) for row in unusual.rows], _MAX_LISTED)
    listed = f"(row{'s' * plural} {rows})"
    content = {
        "words": f"few or no words of the training texts in column {unusual.column!r} {listed}",
        "empty": f"no vector, or only zeros, in column {unusual.column!r} {listed}",
        "norm": f"a vector in column {unusual.column!r} whose norm is far from those of training {listed}",
    }[unusual.reason]
    remedy = {
        "words": "Check their language, or fit the model to labeled rows with such texts.",
        "empty": "Compute their vectors.",
        "norm": "Check that their vectors are computed as in training.",
    }[unusual.reason]
    return (
        f"{subject} {content}. The measured accuracy, the probabilities and the coverage of prediction sets do not "
        f"apply to {'them' if plural else 'it'}. {remedy}"
    )


def _unusual(column: str, reason: Reason, is_unusual: "Mask") -> UnusualRows:
    return UnusualRows(column, reason, tuple(np.flatnonzero(is_unusual).tolist()), len(is_unusual))


def _exceeds(is_outside: "Mask", rate: float) -> bool:
    """Return whether more rows are outside of a limit than chance explains, given the share of training rows."""
    count = int(is_outside.sum())
    return count > 0 and float(bdtrc(count - 1, len(is_outside), min(max(rate, 0.0), 1.0))) < SIGNIFICANCE


def _vectorizers(columns: Sequence[Column], transformer: Any) -> dict[str, Any]:
    """Return the fitted vectorizer of each column of texts; none without a vocabulary."""
    return {
        columns[selected].name: fitted
        for _, fitted, selected in getattr(transformer, "transformers_", ())
        if isinstance(selected, int) and isinstance(getattr(fitted, "vocabulary_", None), dict)
    }


def _share(words: set[str], vocabulary: Mapping[str, int]) -> float:
    """Return the share of words that a vocabulary has; 0 without words."""
    return sum(word in vocabulary for word in words) / len(words) if words else 0.0


def _text_limits(texts: Sequence[str], vectorizer: Any) -> list[list[float]]:
    """Return the limits of the share of known words, each with the share of training rows outside of it."""
    multiplicity, analyze, vocabulary = Counter(texts), vectorizer.build_analyzer(), vectorizer.vocabulary_
    totals: Counter[str] = Counter()
    for text, repeats in multiplicity.items():
        for word, count in Counter(analyze(text)).items():
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
        known = [1.0 if count > least else part if count == least else 0.0 for count in others]
        return sum(known) / len(known) if known else 0.0

    measured = np.linspace(0, len(texts) - 1, min(len(texts), MAX_MEASURED_ROWS)).round().astype(int).tolist()
    shares = np.array([share(texts[row]) for row in measured])
    limits = [float(np.quantile(shares, LOW_QUANTILE)), MIN_FRACTION * float(shares.min())]
    return [[limit, float(((shares < limit) | (shares == 0)).mean())] for limit in limits]


def _vectors(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the names of the columns of each vector."""
    members: dict[str, list[str]] = {}
    for column in columns:
        name = vector_name(column.name) if column.kind == "number" else None
        if name is not None:
            members.setdefault(name, []).append(column.name)
    return {name: names for name, names in members.items() if len(names) >= MIN_VECTOR_SIZE}


def _norms(cells: "Mapping[str, Any] | pl.DataFrame", members: Sequence[str]) -> "Floats":
    """Return the norm of each vector: 0 without numbers, and NaN if a part of them is missing."""
    values = np.column_stack([np.asarray(cells[name], dtype=np.float64) for name in members])
    is_missing = np.isnan(values)
    with np.errstate(over="ignore"):  # a huge number makes it infinite, hence far
        norms = np.sqrt(np.square(values).sum(axis=1))
    return np.where(is_missing.all(axis=1), 0.0, norms)


def _norm_limits(norms: "Floats") -> list[float]:
    """Return the share of empty vectors, and the smallest and the largest norm of the complete ones."""
    known = norms[norms > 0]
    return [float((norms == 0).mean()), *((float(known.min()), float(known.max())) if len(known) else (0.0, 0.0))]


def _read_numbers(limits: dict[str, Any], key: str, name: str, shape: tuple[int, ...]) -> "Floats | None":
    """Return stored limits as an array; None if the model has none."""
    stored = limits.get(key)
    try:
        return np.asarray(stored[name], dtype=np.float64).reshape(shape) if isinstance(stored, dict) else None
    except (KeyError, TypeError, ValueError):
        return None
