"""Arguments of `fit`: answers in any form, and the known labels of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneof.candidates import as_candidates
from oneof.candidates.labels import as_classes
from oneof.crowd.answers import Answers
from oneof.crowd.encoding import has_record_columns
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
