"""Columns that make held-out rates too high: they reveal the labels, or name groups of similar rows.

Reading order: `find_leaks` returns the findings of `class_name_columns`, `label_columns` and `set_columns`: columns
that have class names, determine the label, or identify the candidate sets. `find_groups` returns those of recordings or
patients: the rates of held-out rows of the same groups are too high for rows of new groups. `find_copies` returns that
of copied texts, whose rates are too high for new texts.
"""

import re
import shlex
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from oneof.candidates import CandidateSets
from oneof.cli.terminal import format_percent
from oneof.comparison.folds import MAX_HELD_OUT_ROWS
from oneof.io import Column, Finding
from oneof.typing import Ints

MIN_CLASS_NAMES = 0.9
"""Share of the distinct values of a column that must be class names."""
MIN_DETERMINED = 0.99
"""Share of the rows whose label a column must predict to determine it, of the rows with a value that recurs."""
MAX_CONSTANT = 0.9
"""Share of the rows with the most frequent candidate up to which columns are compared with the labels."""
MIN_SET_ACCURACY = 0.7
"""Share of the candidate sets that columns must predict for a note."""
MIN_ABOVE_CLASSES = 0.1
"""Difference of this share from the share that the true labels could predict at most."""
_MIN_GAIN = 0.05
"""Difference of this share from which a further column is named."""
_MIN_RECURRING = 30
"""Number of rows with a recurring value, also half of the rows, from which labels are predicted."""
_MIN_ROWS = 100
"""Number of rows with several candidates from which sets are predicted."""
_MAX_ROWS = 20_000
"""Number of rows that are read; for sets the first ones, since rows of one set are often next to each other."""
_MAX_ENTRIES = 5_000_000
"""Number of rows times classes that are read at once."""
_MAX_COLUMNS = 3
"""Number of columns that identify the sets together."""
_GROUP = re.compile(
    "(account|animal|article|author|batch|camera|client|clinic|cluster|colony|customer|device|doc|document|experiment|"
    "farm|field|file|filename|group|hospital|household|image|individual|location|nest|participant|patient|person|photo|"
    "picture|plate|plot|recorder|recording|scene|school|sensor|session|site|source|speaker|station|subject|transect|"
    "user|video)s?"
)
"""Words in the names of columns whose values are usually groups."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MIN_GROUPS = 3
_MIN_ROWS_PER_GROUP = 2.0
"""Number of values of a column of groups, and the mean number of rows of a value."""


def find_leaks(frame: pl.DataFrame, columns: Sequence[Column], candidates: CandidateSets) -> list[Finding]:
    """Return the features that reveal the labels.

    Parameters
    ----------
    frame : polars.DataFrame
        The features in the types of the encoder; see `oneof.io.align_columns`.
    columns : sequence of Column
    candidates : CandidateSets

    Returns
    -------
    list of Finding
        Of the kind "class leak" if a column has class names or determines the label, and of the kind "set leak" if
        columns identify the candidate sets together.
    """
    named = class_name_columns(frame, columns, candidates.classes.tolist())
    others = [column for column in columns if column.name not in named]
    identifying, accuracy = set_columns(frame, others, candidates)
    others = [column for column in others if column.name not in identifying]
    determining = label_columns(frame, others, candidates)
    share = format_percent(accuracy)
    return [
        *(Finding("class leak", name, detail="class names") for name in named),
        *(Finding("class leak", name, detail="determines") for name in determining),
        *(Finding("set leak", name, detail=share) for name in identifying),
    ]


def class_name_columns(frame: pl.DataFrame, columns: Sequence[Column], classes: Sequence[Any]) -> list[str]:
    """Return the columns of categories or text whose values are class names, with at least two different ones.

    Classes that are numbers are not compared: categories such as "1" and "2" need not be labels.
    """
    names = {label.strip().casefold() for label in classes if isinstance(label, str)}
    found = []
    for column in columns:
        if column.kind not in ("category", "text"):
            continue
        values = {text.strip().casefold() for text in frame[column.name].unique().to_list()} - {""}
        common = len(values & names)
        if common >= 2 and common >= MIN_CLASS_NAMES * len(values):
            found.append(column.name)
    return found


def label_columns(frame: pl.DataFrame, columns: Sequence[Column], candidates: CandidateSets) -> list[str]:
    """Return the columns that determine the label, or are determined by it.

    The label of each row is predicted by the most frequent candidate of the other rows with an equal value, if there is
    a single one. Columns of true labels, or of their numbers, do this. Numbers with decimals are measurements. A column
    of categories is determined by the label if all exact rows of each class have one value, as the genus of a species,
    or if all rows of each set have one of more values than classes, as the text of which sets are made: measured values
    have errors.
    """
    used = np.flatnonzero(~candidates.is_unlabeled)
    limit = min(_MAX_ROWS, _MAX_ENTRIES // len(candidates.classes))
    used = used[:: max(1, -(-len(used) // limit))]  # the rows may be sorted by label
    mask = candidates.mask[used].astype(np.int32)
    if len(used) < _MIN_RECURRING or mask.mean(axis=0).max() > MAX_CONSTANT:
        return []
    sets = np.unique(np.packbits(candidates.mask[used], axis=1), axis=0, return_inverse=True)[1].ravel()
    found = []
    for column in columns:
        values = frame[column.name][used]
        if column.kind in ("date", "duration") or (column.kind == "number" and (values.fill_nan(None) % 1 > 0).any()):
            continue
        codes = values.rank("dense").fill_null(0).cast(int).to_numpy()
        if column.kind in ("category", "text"):
            known = (values.cast(str).fill_null("") != "").to_numpy()
            exact = known & candidates.is_exact[used]
            identifies_sets = len(np.unique(codes[known])) > mask.shape[1] and _is_function(sets[known], codes[known])
            if identifies_sets or _is_function(mask[exact].argmax(axis=1), codes[exact]):
                found.append(column.name)
                continue
        recurs = np.bincount(codes)[codes] > 1
        if recurs.sum() < max(_MIN_RECURRING, len(used) / 2):
            continue
        rows = sp.csr_array((np.ones(len(used), np.int32), (codes, np.arange(len(used)))))
        counts = (rows @ mask)[codes] - mask
        last = np.partition(counts, -2, axis=1)[:, -2:]
        is_right = (last[:, 1] > last[:, 0]) & (mask[np.arange(len(used)), counts.argmax(axis=1)] > 0)
        if is_right[recurs].mean() >= MIN_DETERMINED:
            found.append(column.name)
    return found


def _is_function(labels: Ints, values: Ints) -> bool:
    """Return whether all rows of a label have one value, in so many rows that this is no coincidence.

    Of n rows with K labels, n - K could have another value than an earlier row of their label. If the most frequent
    value has a share of 0.9 at most, all 30 of such rows agree by chance with a probability of 0.9^30 = 4 % at most.
    """
    n_labels = len(np.unique(labels))
    if len(labels) < n_labels + _MIN_RECURRING or np.bincount(values).max() > MAX_CONSTANT * len(values):
        return False
    return len(np.unique(np.stack([labels, values]), axis=1)[0]) == n_labels


def set_columns(frame: pl.DataFrame, columns: Sequence[Column], candidates: CandidateSets) -> tuple[list[str], float]:
    """Return the columns of categories, text or dates that nearly identify the sets, and the share that they predict.

    The set of each row with several candidates is predicted by the most frequent set of the other rows with equal
    values. A feature that depends on the set by the true label only predicts at most one set for each class, and so at
    most the share of the most frequent sets, as many as there are classes. The columns are found if they predict
    clearly more. This is the case if each set has all labels of a scene, such as a recording, and the columns identify
    the scene. At most three are added, the one with the largest gain first. Then those without a gain are removed.

    Returns
    -------
    columns : list of str
        In the order of the table; empty if no columns identify the sets.
    accuracy : float
        The share of the sets that they predict, 0 without columns.
    """
    used = np.flatnonzero((candidates.sizes > 1) & ~candidates.is_unlabeled)[:_MAX_ROWS]
    n_rows, n_classes = len(used), len(candidates.classes)
    keys = {
        column.name: _to_key(frame[column.name][used])
        for column in columns
        if column.kind in ("category", "text", "date")
    }
    if n_rows < _MIN_ROWS or not keys:
        return [], 0.0
    _, codes = np.unique(np.packbits(candidates.mask[used], axis=1), axis=0, return_inverse=True)
    frequencies = np.sort(np.bincount(codes.ravel()))[::-1]
    threshold = max(MIN_SET_ACCURACY, frequencies[:n_classes].sum() / n_rows + MIN_ABOVE_CLASSES)
    if threshold > 1:
        return [], 0.0
    rows = pl.DataFrame({"set": codes.ravel(), **{f"key {name}": values for name, values in keys.items()}})
    chosen: list[str] = []
    accuracy = 0.0
    while len(chosen) < min(_MAX_COLUMNS, len(keys)):
        rates = {name: _set_accuracy(rows, [*chosen, name]) for name in keys if name not in chosen}
        best = max(rates, key=lambda name: rates[name])
        if rates[best] < accuracy + _MIN_GAIN:
            break
        chosen.append(best)
        accuracy = rates[best]
    if accuracy < threshold:
        return [], 0.0
    for name in tuple(chosen[:-1]):  # the best single column may depend on the label only
        others = [other for other in chosen if other != name]
        if (rate := _set_accuracy(rows, others)) > accuracy - _MIN_GAIN:
            chosen, accuracy = others, rate
    return [name for name in keys if name in chosen], accuracy


def _to_key(values: pl.Series) -> pl.Series:
    """Return values that are compared: texts, and dates without the time of day if most times occur once."""
    if values.dtype.is_float() and values.n_unique() > len(values) // 2:
        return values.floor()
    return values


def _set_accuracy(rows: pl.DataFrame, names: Sequence[str]) -> float:
    """Return the share of the rows whose set is the most frequent one of the other rows with equal keys."""
    keys = [f"key {name}" for name in names]
    counts = rows.group_by([*keys, "set"]).agg(pl.len().cast(pl.Int64).alias("n")).sort("n", descending=True)
    groups = counts.group_by(keys, maintain_order=True).agg(
        pl.col("n").first().alias("first"), pl.col("n").slice(1, 1).sum().alias("second")
    )
    # Only rows of the most frequent set can be predicted, and without the row itself it must still be that.
    predicted = groups.filter(pl.col("first") - 1 > pl.col("second"))
    return int(predicted["first"].sum()) / rows.height


def find_groups(
    frame: pl.DataFrame,
    exclude: Collection[str],
    dropped: Collection[str] = (),
    *,
    identifiers: Collection[str] = (),
    given: str | None = None,
) -> list[Finding]:
    """Return findings about columns that probably name groups of rows.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as read, with columns that are not features.
    exclude : collection of str
        Columns of labels and of true labels.
    dropped : collection of str
        Columns of the file that were not read; one that is dropped may still name the groups of the folds.
    identifiers : collection of str
        Columns that are not features, since nearly all their values differ. One with the name of groups, such as a
        patient, may have a group of several rows, whether or not most groups have one.
    given : str, optional
        The column of groups, among the excluded ones. The findings are then about further groups that are features.
    """
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    few = set(identifiers) if given is None else set()
    sizes = {
        cells.name: _count_groups(cells, 1.0 if cells.name in few else _MIN_ROWS_PER_GROUP)
        for cells in frame.iter_columns()
        if cells.name.strip() not in stripped
    }
    names = sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])
    if given is not None:
        return [Finding("further groups", name) for name in names]
    return [Finding("groups", name) for name in names or filter(_has_name_of_groups, dropped)]


def find_copies(frame: pl.DataFrame, columns: Sequence[Column], candidates: CandidateSets) -> list[Finding]:
    """Return a finding if labeled rows with a text have the features of others, and can change a rate beyond chance.

    The number of right predictions of n held-out rows has a standard deviation of at most sqrt(n) / 2. Copies of
    categories and numbers alone are usual in new rows as well.
    """
    texts = [column.name for column in columns if column.kind == "text"]
    if not texts:
        return []
    rows = frame.filter(~candidates.is_unlabeled & (frame.select(texts) != "").to_numpy().any(axis=1))
    n_copies = int(rows.is_duplicated().sum())
    if n_copies * np.sqrt(min(len(rows), MAX_HELD_OUT_ROWS)) <= len(rows):
        return []
    full = [name for name in texts if (frame[name].str.strip_chars() != "").all()]
    quoted = shlex.quote(max(full, key=lambda name: frame[name].n_unique(), default=""))
    remedy = f"add --groups {quoted} --text {quoted}" if full else "number the distinct texts in a column of --groups"
    return [Finding("copies", count=n_copies, detail=remedy)]


def _has_name_of_groups(name: str) -> bool:
    return any(_GROUP.fullmatch(word.lower()) for word in _WORD.findall(name))


def _count_groups(cells: pl.Series, rows_per_group: float) -> int:
    """Return the number of values of a column of texts or whole numbers with the name of groups, 0 for another one."""
    if not (cells.dtype in (pl.String, pl.Categorical, pl.Enum) or cells.dtype.is_integer()):
        return 0
    values = cells.cast(pl.String).str.strip_chars().replace("", None).drop_nulls()
    n_values = values.n_unique()
    recurs = n_values >= _MIN_GROUPS and len(values) >= rows_per_group * n_values and len(values) > n_values
    return n_values if recurs and _has_name_of_groups(cells.name) else 0
