"""Vocabularies of text columns in a model file: one text for all terms.

A fitted `TfidfVectorizer` has a dict from each term to its column. In a skops archive each entry of a dict is several
objects, and a column that is a NumPy integer is a file of its own, so a model of 25,000 terms took seconds to load. A
model file has the list of terms, in the order of their columns, as the text of a JSON list.
"""

import copy
import json
from typing import Any

from oneof.errors import ModelFileError

_NAME = "vocabulary_"


def with_compact_vocabularies(model: Any) -> Any:
    """Return an estimator in which each vocabulary is text, as a copy of the parts that have one.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> fitted = CountVectorizer().fit(["an owl", "a wren"])
    >>> with_compact_vocabularies(fitted).vocabulary_
    '["an", "owl", "wren"]'
    """
    return _compact(model, {})


def _compact(value: Any, memo: dict[int, Any]) -> Any:
    if id(value) in memo:
        return memo[id(value)]
    memo[id(value)] = value  # also of a reference to itself
    if type(value) in (list, tuple):
        parts = [_compact(part, memo) for part in value]
        is_same = all(new is old for new, old in zip(parts, value, strict=True))
        memo[id(value)] = value if is_same else type(value)(parts)
    elif type(value) is dict:
        entries = {key: _compact(part, memo) for key, part in value.items()}
        memo[id(value)] = value if all(entries[key] is value[key] for key in value) else entries
    elif _has_parts(value):
        state = vars(value)
        changed = {name: new for name, part in state.items() if (new := _compact(part, memo)) is not part}
        if (terms := _list_terms(state.get(_NAME))) is not None:
            changed[_NAME] = json.dumps(terms)
        if changed:
            memo[id(value)] = copied = copy.copy(value)
            vars(copied).update(changed)
    return memo[id(value)]


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
    """Replace each text of a loaded estimator by its vocabulary, in place.

    Raises
    ------
    ModelFileError
        If a text is not a list of different terms.
    """
    pending, seen = [model], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, list | tuple):
            pending.extend(value)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif _has_parts(value):
            pending.extend(vars(value).values())
            if isinstance(text := vars(value).get(_NAME), str):
                vars(value)[_NAME] = _read_terms(text)


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


def _has_parts(value: Any) -> bool:
    """Return whether a value is an estimator, or another object of oneof with attributes."""
    has_state = hasattr(value, "__dict__") and not isinstance(value, type)
    return has_state and (hasattr(value, "fit") or type(value).__module__.startswith("oneof."))
