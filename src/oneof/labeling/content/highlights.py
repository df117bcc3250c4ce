"""Words of a text that distinguish the most probable label of the model from the runner-up.

The model of a session may have any features, so its weights are not weights of words. The words are those of a
multinomial naive Bayes model that is fitted to the predictions of the session's model: each text counts for every class
in proportion to its predicted probability. A word is marked if it is at least twice as frequent in texts that the model
predicts as the most probable label as in those that it predicts as the runner-up.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.labeling.content.table import LabelTable
from oneof.typing import Floats

MAX_TEXTS = 10_000
"""Maximum number of texts, evenly spaced in the table, whose words are counted."""
MAX_CHARACTERS = 20_000
"""Maximum number of characters of a text in which words are counted and marked."""
MAX_WORDS = 5
"""Maximum number of different words that are marked in a text."""
_MIN_TEXTS = 2
"""Words in fewer texts are not marked."""
_SMOOTHING = 1.0
_MIN_DIFFERENCE = np.log(2)
"""Minimum difference of the log frequencies of a marked word."""
_WORD = re.compile(r"[^\W\d_]\w+")


class Highlight(NamedTuple):
    """Marked words of a text.

    Attributes
    ----------
    label, runner_up : int
        Codes of the most probable class and of the runner-up.
    spans : list of (int, int)
        Begin and end of each occurrence of a marked word in the text, in UTF-16 code units, as in JavaScript.
    """

    label: int
    runner_up: int
    spans: list[tuple[int, int]]


class Highlighter:
    """Naive Bayes model of the words of the texts, fitted to the predictions of the model of a session.

    Parameters
    ----------
    texts : Series or sequence of str or None
        The texts of all rows.
    """

    def __init__(self, texts: Any) -> None:
        self._texts = texts
        self._rows = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), MAX_TEXTS)).astype(np.int64))
        self._vocabulary: dict[str, int] = {}
        self._counts: Any = None
        self._log_frequency: Floats | None = None

    def fit(self, proba: Floats) -> None:
        """Fit the frequencies of the words to predicted probabilities, shape (n_samples, n_classes)."""
        if self._counts is None:
            self._counts, self._vocabulary = count_words([self._texts[row] for row in self._rows.tolist()])
        self._log_frequency = log_frequencies(self._counts, proba[self._rows])

    def highlight(self, text: str, proba: Floats | None) -> Highlight | None:
        """Return the words of a text that are in favor of its most probable class; None before the first fit."""
        log_frequency = self._log_frequency
        if log_frequency is None or proba is None:
            return None
        label, runner_up = (int(code) for code in np.argsort(-proba, kind="stable")[:2])
        difference = log_frequency[:, label] - log_frequency[:, runner_up]
        text = text[:MAX_CHARACTERS]
        n_times = Counter(word for word, _ in find_words(text) if word in self._vocabulary)
        gains = {word: float(difference[self._vocabulary[word]]) for word in n_times}
        scores = {word: n_times[word] * gain for word, gain in gains.items() if gain >= _MIN_DIFFERENCE}
        strongest = sorted(scores, key=lambda word: (-scores[word], word))
        marked = set(strongest[:MAX_WORDS])
        return Highlight(label, runner_up, [_utf16(text, *span) for word, span in find_words(text) if word in marked])


def make_highlighter(table: LabelTable | None) -> Highlighter | None:
    """Return a model of the words of a table that is shown as texts, and None for other tables."""
    if table is None or table.show != "text":
        return None
    return Highlighter(table.frame[str(table.column)])


def find_words(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the words of a text in lower case, each with its begin and end."""
    return ((match[0].lower(), match.span()) for match in _WORD.finditer(text))


def count_words(texts: Sequence[str | None]) -> tuple[Any, dict[str, int]]:
    """Return the counts of words as a CSR matrix (n_texts, n_words), and the column of each word."""
    counted = [Counter(word for word, _ in find_words(str(text or "")[:MAX_CHARACTERS])) for text in texts]
    n_texts = Counter(word for counts in counted for word in counts)
    vocabulary = {word: j for j, word in enumerate(sorted(word for word in n_texts if n_texts[word] >= _MIN_TEXTS))}
    kept = [
        (i, vocabulary[word], n) for i, counts in enumerate(counted) for word, n in counts.items() if word in vocabulary
    ]
    rows, columns, values = np.array(kept, dtype=np.float64).reshape(-1, 3).T
    matrix = sp.csr_matrix((values, (rows.astype(int), columns.astype(int))), shape=(len(texts), len(vocabulary)))
    return matrix, vocabulary


def log_frequencies(counts: Any, proba: Floats) -> Floats:
    """Return the log frequencies (n_words, n_classes) of multinomial naive Bayes with probabilities of the classes."""
    total = np.asarray(counts.T @ proba) + _SMOOTHING
    return np.log(total / total.sum(axis=0))


def _utf16(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return positions in UTF-16 code units."""
    before = len(text[:begin].encode("utf-16-le", "surrogatepass")) // 2
    return before, before + len(text[begin:end].encode("utf-16-le", "surrogatepass")) // 2
