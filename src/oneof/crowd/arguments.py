"""Arguments of `fit`: answers in any form, joined with the rows of a data set, and the known labels of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneof.candidates import as_candidates
from oneof.candidates.labels import MISSING, is_missing
from oneof.candidates.readers.annotations import check_classes
from oneof.crowd.answers import Answers, has_record_columns
from oneof.crowd.encoding import index_of, is_in_order, name_vector, positions_in
from oneof.errors import InputError, LabelError
from oneof.typing import Floats


def as_answers(answers: Any, classes: Any = None) -> Answers:
    """Return answers given as `Answers`, a table, or a DataFrame of records."""
    if isinstance(answers, Answers):
        check_classes(classes, answers.classes)
        return answers
    read = Answers.from_records if has_record_columns(answers) else Answers.from_table
    return read(answers, classes=classes)


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
    rows, is_named = answers.rows.tolist(), isinstance(gold, Mapping)
    if getattr(gold, "ndim", 0) == 1 and index_of(gold) is not None:  # a Series of pandas
        names = gold.index.tolist()
        has_other_names = rows == list(range(len(rows))) and set(names).isdisjoint(rows)
        is_named = not is_in_order(names, rows, index_is_unnamed=has_other_names)
    if is_named:
        names, labels = zip(*gold.items(), strict=True) if len(gold) else ((), ())
        unknown = sorted(set(names).difference(rows), key=names.index)
        if unknown:
            raise InputError(
                f"`gold` names the row {unknown[0]!r}, which the answers do not have. Correct the name; or, if no "
                "annotator answered the row, leave it out, or name all rows by Answers.from_records(index=)."
            )
        position = positions_in(name_vector(names, "gold"), rows, "gold")
        gold = [None if i == MISSING or is_missing(labels[i]) else labels[i] for i in position]
    try:
        candidates = as_candidates(gold, classes=answers.classes)
    except LabelError as error:
        if is_named and error.row is not None:
            raise LabelError(error.reason, label=error.label, source=f"`gold`, row {rows[error.row]!r}") from None
        raise error.at("`gold`") from None
    if len(candidates) != len(answers):
        raise InputError(f"`gold` must have one label for each of the {len(answers)} rows; got {len(candidates)}.")
    return None if candidates.is_unlabeled.all() else candidates.weights


def join_rows(answers: Answers, rows: Any, table: bool) -> Answers:
    """Return the answers over the rows of X, by the names of the rows or by their order; see `CrowdClassifier.fit`."""
    if len(rows.shape) == 0:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    n, own = rows.shape[0], index_of(rows)
    index = name_vector(np.arange(n) if own is None else own, "index")
    names, known = answers.rows.tolist(), index.tolist()
    if is_in_order(names, known, index_is_unnamed=answers._in_order and not table and own is None):
        return answers
    is_numbered = names == list(range(len(names)))
    if table and is_numbered and len(names) != n:
        raise InputError(f"`answers` are about {len(names)} rows, but `X` has {n}. Give one row of answers for each.")
    is_guess = (table or answers._in_order) and is_numbered and set(names) == set(known)
    if is_guess or (table and own is None) or (names and set(names).isdisjoint(known)):
        raise InputError(
            f"the rows of `answers`, such as {names[0]!r}, cannot be found in `X`, which has "
            f"{'no names of rows' if own is None else 'other names, or the same numbers in another order'}. Give X and "
            "the table the same index, such as X.set_index(names), or pass index= to Answers. If a table is in the "
            "order of X, pass answers.to_numpy() and X.reset_index(drop=True)."
        )
    return answers.align(index)
