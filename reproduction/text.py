"""Documents as counts of words, for the experiments with texts."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import DataError


def vocabulary(name: str) -> list[str]:
    """Return the word of each column of a text set, which a `Dataset` does not hold.

    Raises
    ------
    DataError
        If the set's file is not at hand, or has no words.
    """
    from oneof.datasets import dataset_info

    path = next((info.path for info in dataset_info() if info.name == name), None)
    if path is None:
        raise DataError(f"{name}.npz is not at hand: put it into a folder and name it by $ONEOF_DATA.")
    with np.load(path, allow_pickle=False) as archive:
        if "vocabulary" not in archive:
            raise DataError(f"{path} has no array 'vocabulary': the words of its columns are needed here.")
        return [str(word) for word in archive["vocabulary"]]


def without_stop_words(counts: Any, words: list[str], *, stems: bool) -> Any:
    """Return the counts of all words but the English stop words, as float64 CSR; of stems if asked for."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    kept = [j for j, word in enumerate(words) if word not in ENGLISH_STOP_WORDS]
    terms = [words[j] for j in kept]
    if stems:
        from oneof.text import StemTokenizer

        stemmed = StemTokenizer("english")
        terms = [stemmed(term)[0] for term in terms]
    _, columns = np.unique(terms, return_inverse=True)
    merge = sp.csr_array((np.ones(len(kept)), (kept, columns)), shape=(len(words), int(columns.max()) + 1))
    return sp.csr_array(sp.csr_array(counts).astype(np.float64) @ merge)
