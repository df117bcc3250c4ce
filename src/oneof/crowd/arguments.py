"""Arguments of `fit`: answers in any form, joined with the rows of a data set, and the known labels of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneof.candidates import as_candidates
from oneof.candidates.labels import as_classes
from oneof.crowd.answers import Answers
from oneof.crowd.encoding import has_record_columns, name_vector
from oneof.errors import InputError, LabelError
from oneof.typing import Floats


def as_answers(answers: Any, classes: Any = None) -> Answers:
    """Return answers given as `Answers`, a table, or a DataFrame of records."""
    if isinstance(answers, Answers):
        if classes is not None and not np.array_equal(as_classes(classes), answers.classes):
            raise InputError(
                f"`classes` must be the classes of the answers, {answers.classes.tolist()}; got {classes!r}. Pass them "
                "to Answers.from_table or from_records."
            )
        return answers
    if has_record_columns(answers):
        return Answers.from_records(answers, classes=classes)
    return Answers.from_table(answers, classes=classes)


def is_table(answers: Any) -> bool:
    """Return whether answers are a table, with a row for each row of X."""
    return not isinstance(answers, Answers) and not has_record_columns(answers)


def check_answers(answers: Answers) -> Answers:
    """Return the answers; raise unless there are two classes and an answer."""
    if len(answers.classes) < 2:
        raise LabelError(
            f"the answers must contain at least two classes; got {answers.classes.tolist()!r}. Pass `classes`."
        )
    if not answers.n_answers:
        raise InputError("`answers` must contain at least one answer.")
    return answers


def read_gold(gold: Any, answers: Answers) -> Floats | None:
    """Return the weights of the classes in the rows with known labels, (n, K), 1 in other rows; None without any.

    `gold` has a label, or any other evidence, for each row, or is a mapping or a Series from names of rows.
    """
    if gold is None:
        return None
    gold = _as_mapping(gold, answers)
    named = isinstance(gold, Mapping)
    if named:
        position = {name: i for i, name in enumerate(answers.rows.tolist())}
        listed = [None] * len(answers)
        for name, label in gold.items():
            if name not in position:
                raise InputError(
                    f"`gold` names the row {name!r}, which the answers do not have. Correct the name; or, if no "
                    "annotator answered the row, leave it out, or name all rows by Answers.from_records(index=)."
                )
            listed[position[name]] = label
        gold = listed
    try:
        candidates = as_candidates(gold, classes=answers.classes)
    except LabelError as error:
        if named and error.row is not None:
            raise LabelError(
                error.reason, label=error.label, source=f"`gold`, row {answers.rows.tolist()[error.row]!r}"
            ) from None
        raise error.at("`gold`") from None
    if len(candidates) != len(answers):
        raise InputError(f"`gold` must have one label for each of the {len(answers)} rows; got {len(candidates)}.")
    return None if candidates.is_unlabeled.all() else candidates.weights


def _as_mapping(gold: Any, answers: Answers) -> Any:
    """Return a Series of pandas as a mapping if its index names rows of the answers, and other values unchanged.

    A Series with a label for each row is in their order if it is numbered from 0, or if the answers are and it has
    other names.
    """
    is_series = getattr(gold, "ndim", 0) == 1 and hasattr(gold, "index") and hasattr(gold, "items")
    if not is_series:
        return gold
    names, rows = gold.index.tolist(), answers.rows.tolist()
    numbers = list(range(len(rows)))
    has_other_names = rows == numbers and set(names).isdisjoint(rows)
    if len(names) == len(rows) and (names in (numbers, rows) or has_other_names):
        return gold
    if not gold.index.is_unique:
        repeated = gold.index[gold.index.duplicated()][0]
        raise InputError(f"`gold` names the row {repeated!r} twice. Give each row one label.")
    return {name: None if is_missing else label for (name, label), is_missing in zip(gold.items(), gold.isna())}


def join_rows(answers: Answers, rows: Any, table: bool) -> Answers:
    """Return the answers over the rows of X, by the names of the rows or by their order; see `CrowdClassifier.fit`."""
    if len(rows.shape) == 0:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    n = rows.shape[0]
    has_index = hasattr(rows, "index") and not callable(rows.index)
    index = name_vector(rows.index if has_index else np.arange(n), "index")
    names, known = answers.rows.tolist(), set(index.tolist())
    if table:
        if _is_named_alike(names, index.tolist(), has_index=has_index):
            return answers.align(index)._in_row_order()
        if len(answers) != n:
            raise InputError(
                f"`answers` are about {len(answers)} rows, but `X` has {n}. Give one row of answers for each."
            )
        return answers
    is_in_order = len(names) == n and (
        names == list(range(n)) or (answers._in_order and not has_index and known != set(names))
    )
    if is_in_order:
        return answers
    if names and known.isdisjoint(names):
        remedy = (
            "Name the rows of X by its index, such as X.set_index(names)" if has_index
            else "Pass index= to Answers, with the names of all rows in the order of X"
        )  # fmt: skip
        raise InputError(f"`answers` name rows such as {names[0]!r}, and `X` has no row of these names. {remedy}.")
    return answers.align(index)


def _is_named_alike(names: list[Any], index: list[Any], *, has_index: bool) -> bool:
    """Return whether the rows of a table of answers are found by the index of X; False if both have the same order.

    Raises
    ------
    InputError
        If the names differ in such a way that the order of the rows would be a guess.
    """
    is_numbered = names == list(range(len(names)))
    if names == index or not names:
        return False
    if not is_numbered:
        _check_names(names, index, has_index=has_index)
        return True
    if set(index) == set(names):
        raise InputError(
            "the index of `X` has the numbers of the rows of `answers` in another order. Give the table of answers the "
            "index of its rows, or reset that of X: X.reset_index(drop=True)."
        )
    return False


def _check_names(names: list[Any], index: list[Any], *, has_index: bool) -> None:
    """Raise unless X has all rows that a table of answers names: the order of the rows would be a guess."""
    known = set(index)
    if not has_index:
        problem, remedy = "`X` has no names of rows", "name the rows of X, such as pandas.DataFrame(X, index=names)"
    elif known.issuperset(names):
        return
    elif known.isdisjoint(names) and index == list(range(len(index))):
        problem, remedy = "`X` has no row of these names", "name the rows of X by its index, such as X.set_index(names)"
    else:
        strange = next(name for name in names if name not in known)
        raise InputError(
            f"`answers` have the row {strange!r}, which the index of `X` does not have. Give both the same names, or "
            "pass answers.to_numpy() if its rows are in the order of X."
        )
    raise InputError(
        f"`answers` name rows such as {names[0]!r}, and {problem}. Pass answers.to_numpy() if its rows are in the "
        f"order of X; otherwise {remedy}."
    )
