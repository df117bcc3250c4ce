"""Rules: functions that vote for the labels of rows, as sources of answers."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.labels import is_collection
from oneof.crowd.answers import Answers
from oneof.errors import InputError, InputTypeError


def apply_rules(
    rules: Mapping[Any, Callable[[Any], Any]] | Sequence[Callable[[Any], Any]], rows: Any, *, classes: Any = None
) -> Answers:
    """Apply rules to rows, and return their votes as answers.

    Parameters
    ----------
    rules : sequence of callable, or dict from names to callables
        ``rule(row)`` returns a label, or a list, tuple or set of labels that should contain the true one. It returns
        None if it does not apply. The rules of a sequence are named by ``__name__``, with a number if it is repeated.
    rows : sequence, array, sparse matrix or DataFrame of length n_rows
        The rows, such as texts. A row of a DataFrame is passed as a dict.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.

    Returns
    -------
    Answers
        With ``select_rows=True``: a rule chooses the rows on which it votes. Rules without a vote are omitted, with a
        UserWarning.

    Raises
    ------
    InputError
        If a rule raises an exception, no rule votes, or a vote is not a label.

    Examples
    --------
    >>> from oneof.crowd import apply_rules
    >>> def has_free(text):
    ...     return "spam" if "free" in text else None
    >>> def is_short(text):
    ...     return ["ham", "question"] if len(text) < 20 else None
    >>> apply_rules([has_free, is_short], ["free money for everyone here", "lunch?", "a free one"])
    <Answers: 4 by 2 annotators about 3 rows, 3 classes>
    """
    named, listed = _name_rules(rules), _list_rows(rows)
    votes: dict[Any, list[Any]] = {}
    for name, rule in named.items():
        for i, row in enumerate(listed):
            try:
                vote = rule(row)
            except Exception as error:  # the code of a user may raise anything
                raise InputError(f"rule {name!r} raised {type(error).__name__}: {error}. Correct it.", row=i) from error
            is_empty = is_collection(vote) and not (vote.size if isinstance(vote, np.ndarray) else len(vote))
            votes.setdefault(name, []).append(None if is_empty else vote)
    if all(vote is None for column in votes.values() for vote in column):
        raise InputError("no rule votes on any row. Check the rules, or the rows.")
    table = list(zip(*votes.values(), strict=True))
    return Answers.from_table(table, classes=classes, annotators=list(votes), select_rows=True)


def _name_rules(rules: Any) -> dict[Any, Callable[[Any], Any]]:
    """Return rules by their names; those of a sequence that have one name are numbered."""
    try:
        listed = [(getattr(rule, "__name__", type(rule).__name__), rule) for rule in rules]
    except TypeError:
        raise InputTypeError(f"`rules` must be a list or a dict of functions of a row; got {rules!r}.") from None
    if not listed:
        raise InputError("`rules` must contain at least one rule; got none.")
    named: dict[Any, Callable[[Any], Any]] = {}
    for name, rule in rules.items() if isinstance(rules, Mapping) else listed:
        if not callable(rule):
            raise InputTypeError(f"`rules` must be functions of a row; {name!r} is {rule!r}.")
        numbered = (f"{name}_{number}" for number in count(2))
        named[next(key for key in chain([name], numbered) if key not in named)] = rule
    return named


def _list_rows(rows: Any) -> list[Any]:
    """Return the rows of a sequence, an array, a sparse matrix or a DataFrame."""
    if hasattr(rows, "to_dicts"):  # polars
        return list(rows.to_dicts())
    if hasattr(rows, "columns"):  # pandas
        return list(rows.to_dict("records"))
    if sp.issparse(rows):
        rows = rows.tocsr()
        return [rows[i : i + 1] for i in range(rows.shape[0])]
    try:
        return list(np.asarray(rows) if isinstance(rows, memoryview) else rows)
    except TypeError:
        raise InputTypeError(f"`rows` must be a sequence, an array or a DataFrame; got {rows!r}.") from None
