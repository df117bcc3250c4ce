"""Vocabularies of text columns in a model file: one text for all terms.

A fitted `TfidfVectorizer` has a dict from each term to its column. In a skops archive each entry of a dict is several
objects, and a column that is a NumPy integer is a file of its own, so a model of 25,000 terms took seconds to load. A
model file has the list of terms, in the order of their columns, as the text of a JSON list.
"""

import copy
import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import ModelFileError
from oneof.persistence.loaded_arrays import walk_objects

_NAME = "vocabulary_"


def with_compact_vocabularies(model: Any) -> Any:
    """Return a model in which each vocabulary is text: a copy that shares the arrays, if there is a vocabulary.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> fitted = CountVectorizer().fit(["an owl", "a wren"])
    >>> with_compact_vocabularies(fitted).vocabulary_
    '["an", "owl", "wren"]'
    """
    objects, copies = list(walk_objects(model)), {}
    for item in objects:
        if (terms := _list_terms(getattr(item, "__dict__", {}).get(_NAME))) is not None:
            copies[id(item)] = copied = copy.copy(item)
            vars(copied)[_NAME] = json.dumps(terms)
    shared = {id(item): item for item in objects if isinstance(item, np.ndarray) or sp.issparse(item)}
    return copy.deepcopy(model, shared | copies) if copies else model


def _list_terms(vocabulary: Any) -> list[str] | None:
    """Return the terms of a vocabulary in the order of their columns; None if it has another form."""
    if type(vocabulary) is not dict or not all(type(term) is str for term in vocabulary):
        return None
    try:
        terms = sorted(vocabulary, key=vocabulary.__getitem__)
        is_order = all(vocabulary[term] == column for column, term in enumerate(terms))
    except (TypeError, ValueError):
        return None
    return terms if is_order else None


def restore_vocabularies(model: Any) -> None:
    """Replace each text of a loaded model by its vocabulary, in place.

    Raises
    ------
    ModelFileError
        If a text is not a list of different terms.
    """
    for item in walk_objects(model):
        if isinstance(text := getattr(item, "__dict__", {}).get(_NAME), str):
            vars(item)[_NAME] = _read_terms(text)


def _read_terms(text: str) -> dict[str, int]:
    try:
        terms = json.loads(text)
    except (RecursionError, ValueError):
        terms = None
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
        raise ModelFileError("a vocabulary is not a list of terms.")
    vocabulary = {term: column for column, term in enumerate(terms)}
    if len(vocabulary) < len(terms):
        raise ModelFileError("a vocabulary has a term twice.")
    return vocabulary
