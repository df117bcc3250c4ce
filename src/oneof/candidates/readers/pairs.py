"""(label, weight) pairs of one row: mappings, lists of pairs or of records, text, and JSON in text.

An empty mapping or list, such as the answer of a language model that refused, is an unlabeled row. In every form, a
weight may be text such as "0.85" or "85%".
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from oneof.candidates.labels import distinct_labels, fold_case, is_missing, is_token, label_vector
from oneof.candidates.readers.collections import check_separator, is_collection, split_text
from oneof.candidates.readers.literals import as_record, is_plainly_list, parse_text, unwrap, wraps_number
from oneof.candidates.spellings import Spellings
from oneof.errors import InputError, LabelError
from oneof.typing import Mask

Pairs: TypeAlias = list[tuple[Any, float]]
PairRows: TypeAlias = list[Pairs | None]
"""The (label, weight) pairs of each row; None for an unlabeled row."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_MAX_SHOWN = 200
"""Maximum number of characters of invalid JSON in an error."""
_LABEL_KEYS = frozenset({"label", "name", "class"})
_WEIGHT_KEYS = frozenset({"probability", "prob", "score", "weight", "confidence"})
_BROKEN_JSON = re.compile(r"\s*[\[{]\s*[\[{(\"']")
"""The beginning of JSON, or of a list or dict of Python, rather than of a label in brackets."""
_FORMS = (
    "a mapping from labels to weights, a list of (label, weight) pairs, a list of records such as "
    '{"label": "finch", "probability": 0.7}, or None for an unlabeled row'
)
_JSON_FORMS = '{"finch": 0.7, "wren": 0.3}, [["finch", 0.7], ["wren", 0.3]] or [{"label": "finch", "probability": 0.7}]'


# -- one row -----------------------------------------------------------------------------------------------------------


def as_pairs(i: int, row: Any) -> Pairs | None:
    """Return a row as (label, weight) pairs; None if it is unlabeled."""
    if isinstance(row, Mapping):
        # A struct of Arrow or polars has all labels; those without a weight are None.
        members: Any = [member for member in row.items() if member[1] is not None]
        if isinstance(_find(row, _LABEL_KEYS), str) and _find(row, _WEIGHT_KEYS) is not None:
            members = [row]
    elif is_collection(row):
        members = row
    elif is_missing(row):
        return None
    else:
        raise LabelError(f"a row of weights must be {_FORMS}; got {row!r}.", row=i)
    pairs = []
    for member in members:
        label, weight = member if type(member) in (tuple, list) and len(member) == 2 else _read_member(i, member)
        number = weight if type(weight) is float else read_weight(weight)
        if number is None:
            raise LabelError(
                f'the weight of {label!r} must be a number, or text such as "0.85" or "85%"; got {weight!r}.',
                row=i,
                label=label,
            )
        pairs.append((label, number))
    return pairs or None


def read_weight(weight: Any) -> float | None:
    """Return a number, or the text of a number or of a percentage, as a float; None for other values."""
    if isinstance(weight, str):
        text = weight.strip()
        if not text.endswith("%"):
            return parse_number(text)
        percentage = parse_number(text[:-1].rstrip())
        return None if percentage is None else percentage / 100.0
    if isinstance(weight, bytes):
        return None
    try:
        return float(weight)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return None


def parse_number(text: str) -> float | None:
    """Return a decimal number; None for other text, such as "nan" and "1_000"."""
    return float(text) if _NUMBER.fullmatch(text) else None


def _find(record: Mapping[Any, Any], names: frozenset[str]) -> Any:
    """Return the value of the one key that is a name, None if there is not exactly one."""
    if names.isdisjoint(record):
        return None
    values = [value for key, value in record.items() if key in names and value is not None]
    return values[0] if len(values) == 1 else None


def _read_member(i: int, member: Any) -> tuple[Any, Any]:
    """Return the label and the weight of a member of a row that is not a list or tuple of two."""
    if isinstance(member, Mapping):
        label, weight = _find(member, _LABEL_KEYS), _find(member, _WEIGHT_KEYS)
        if label is None or weight is None:
            raise LabelError(
                f"{member!r} must have one label and one weight: one of the keys label, name and class, and one of "
                "probability, prob, score, weight and confidence.",
                row=i,
            )
        return label, weight
    if isinstance(member, list | tuple | np.ndarray) and len(member) == 2:
        return member[0], member[1]
    raise LabelError(f"a row of weights must be {_FORMS}; got {member!r} in the row.", row=i)


# -- text --------------------------------------------------------------------------------------------------------------


def read_pairs_text(row: int, text: Any, separator: str) -> tuple[Pairs | None, bool]:
    """Return the pairs of a text, None if it is unlabeled, and whether it is a set or unlabeled."""
    content = unwrap(text) if isinstance(text, str) else ""
    if isinstance(text, str) and not content.strip():
        return None, True
    if content.lstrip()[:1] in ("{", "["):
        is_json, members = _parse_json(row, content, is_fenced=content != text)
        if is_json and is_plainly_list(text.strip()):
            return _as_texts(row, text, [(label, 1.0) for label in members]), True
        if is_json:
            pairs = as_pairs(row, members)
            return _as_texts(row, text, pairs), pairs is None
    labels, numbers = split_text(row, text, separator, colons=True)
    if labels is None:
        return None, True
    pairs = []
    for label, number in zip(labels, numbers, strict=True):
        weight = 1.0 if number is None else read_weight(number)
        if weight is None:
            raise LabelError(
                f"{text!r} has {number!r} after a colon, which is not a number. Escape a colon within a label by a "
                "backslash.",
                row=row,
                label=text,
            )
        pairs.append((label, weight))
    return pairs, not any(numbers)


def split_weighted_strings(y: Any, separator: str) -> tuple[PairRows, Mask]:
    """Return the pairs of each text, and a mask of those without numbers; each distinct text is split once."""
    check_weight_separator(separator)
    texts = label_vector(y).tolist()
    distinct_labels(texts, range(len(texts)))
    has_json = any(isinstance(text, str) and text.lstrip()[:1] == "{" for text in texts)
    _check_wrapped(texts)
    read: dict[Any, tuple[Pairs | None, bool]] = {}
    for row, text in enumerate(texts):
        if text not in read:
            is_null = has_json and isinstance(text, str) and text.strip() == "null"
            read[text] = (None, True) if is_null else read_pairs_text(row, text, separator)
    is_set = np.fromiter((read[text][1] for text in texts), dtype=bool, count=len(texts))
    return [read[text][0] for text in texts], is_set


def _check_wrapped(texts: Sequence[Any]) -> None:
    """Raise if an object has a number under the key that has labels in other objects: it is a label or a weight."""
    wrapped = {text: wraps_number(text) for text in dict.fromkeys(texts) if isinstance(text, str)}
    numbers = [text for text, has_number in wrapped.items() if has_number]
    if numbers and False in wrapped.values():
        raise LabelError(
            f"{numbers[0]!r} has a number under the only key, and other rows have labels there. Write a list if it is "
            'a label, such as {"labels": ["3"]}.',
            row=list(texts).index(numbers[0]),
            label=numbers[0],
        )


def check_weight_separator(separator: Any) -> None:
    """Raise unless labels with weights can be joined by the separator."""
    check_separator(separator)
    if ":" in separator:
        raise InputError(f"`separator` must not contain a colon if labels have weights; got {separator!r}.")


def _parse_json(row: int, text: str, *, is_fenced: bool) -> tuple[bool, Any]:
    """Return whether a text is an object or a list, of JSON or Python, and its members.

    Text in a code fence is never a label: if it is neither, this is an error.

    The members of an object do not include labels without a weight, null.
    """
    try:
        if text.lstrip().startswith("["):
            return True, parse_text(text, as_record)
        pairs = parse_text(text, list)  # a list has repeated labels too
    except ValueError:
        if not (is_fenced or _BROKEN_JSON.match(text)):
            return False, None
        raise LabelError(
            f"{text[:_MAX_SHOWN]!r} is neither valid JSON nor Python, such as {_JSON_FORMS}. Write it by json.dumps; "
            "or write a backslash before the bracket if it begins a label.",
            row=row,
            label=text,
        ) from None
    record = dict(pairs)
    return True, record if len(record) == len(pairs) else [pair for pair in pairs if pair[1] is not None]


def _as_texts(row: int, text: str, pairs: Pairs | None) -> Pairs | None:
    """Return the pairs of JSON with labels of text, as those of other text."""
    if pairs is None:
        return None
    labels = [label.strip() if isinstance(label, str) else json.dumps(label) for label, _ in pairs]
    for label, (value, _) in zip(labels, pairs):
        if not label:
            raise LabelError(f"{text!r} contains an empty label.", row=row, label=text)
        if not isinstance(value, str | int | float):
            raise LabelError(f"{text!r} contains {value!r}, which is not a label.", row=row, label=text)
    return [(label, weight) for label, (_, weight) in zip(labels, pairs)]


def fold_pairs(rows: PairRows) -> PairRows:
    """Return the pairs with labels by `fold_case`; spellings of one label are then repetitions of it."""
    return [
        row and [(fold_case(label) if isinstance(label, str) else label, weight) for label, weight in row]
        for row in rows
    ]


def unify_pairs(rows: PairRows, spellings: Spellings) -> PairRows:
    """Return the pairs with the names of their classes; spellings of one label are then repetitions of it.

    The spellings of the rows are counted first.
    """
    for row in rows:
        for label, _ in row or ():
            spellings.add(label)
    return [row and [(spellings.name(label), weight) for label, weight in row] for row in rows]


# -- columns of labels and of weights ----------------------------------------------------------------------------------


def pair_lists(labels: Sequence[Any], weights: Sequence[Any]) -> tuple[PairRows, Mask]:
    """Return the pairs of labels and weights in two columns of lists, and a mask of the rows without weights.

    A row without labels (None, or an empty list) is unlabeled, one without weights (None) is a set.
    """
    rows: PairRows = []
    for i, (names, numbers) in enumerate(zip(labels, weights, strict=True)):
        if names is not None and numbers is not None and len(names) != len(numbers):
            raise LabelError(
                f"the row has {len(names)} labels and {len(numbers)} weights. Give each label one weight.", row=i
            )
        if names is None and numbers:
            raise LabelError("the row has weights, but no labels. Leave both cells empty if it is unlabeled.", row=i)
        rows.append(None if names is None else as_pairs(i, list(zip(names, numbers or [1.0] * len(names)))))
    is_set = [row is None or numbers is None for row, numbers in zip(rows, weights, strict=True)]
    return rows, np.array(is_set, dtype=bool)


def drop_missing_pairs(rows: PairRows, is_set: Mask, missing: Collection[str]) -> tuple[PairRows, Mask]:
    """Return the rows without the pairs of these labels; a row with no other pair is unlabeled."""
    kept: PairRows = [row and ([pair for pair in row if not is_token(pair[0], missing)] or None) for row in rows]
    return kept, is_set | np.fromiter((row is None for row in kept), dtype=bool, count=len(kept))
