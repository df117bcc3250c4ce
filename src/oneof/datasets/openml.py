"""Downloads from OpenML through scikit-learn, accepted only if they hold what the registry says."""

from typing import Any

import numpy as np

from oneof.datasets.npz import Arrays
from oneof.datasets.registry import OpenMLSet
from oneof.errors import DataError
from oneof.typing import Floats, Ints, Labels


def download(name: str, entry: OpenMLSet) -> Arrays:
    """Fetch a data set and return it as the arrays of oneof's own form.

    scikit-learn holds the file against OpenML's MD5; here its shape and class counts are held against the registry.

    Raises
    ------
    DataError
        If it cannot be fetched, or is not what the registry says.
    """
    from sklearn.datasets import fetch_openml

    try:
        # liac-arff needs no pandas; nothing is cached there, since the result is cached here.
        bunch = fetch_openml(data_id=entry.data_id, as_frame=False, parser="liac-arff", cache=False)
    except Exception as error:  # network, server, checksum, parser: to the user all the same
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(
            f"data set {name!r} could not be downloaded from OpenML, number {entry.data_id} ({reason}): check the "
            f"network and try again, or put {name}.npz into a folder and name it by data_home or $ONEOF_DATA."
        ) from error
    try:
        return _as_arrays(bunch, entry)
    except DataError as error:
        raise DataError(
            f"what OpenML sent as number {entry.data_id} is not the data set {name!r}: {error} It was not kept."
        ) from error


def _as_arrays(bunch: Any, entry: OpenMLSet) -> Arrays:
    X = _features(bunch, entry)
    codes, classes = _labels(bunch.target)
    counts = tuple(sorted(np.bincount(codes).tolist()))
    if X.shape[0] != len(codes) or counts != entry.class_counts:
        raise DataError(f"its {len(codes)} rows fall into classes of {counts} rows, expected {entry.class_counts}.")
    arrays = {"X": X, "y": codes, "classes": classes}
    # OpenML may hold the rows in another order than the official one: then there is no official training part.
    if entry.n_train is not None:
        head = np.bincount(codes[: entry.n_train], minlength=len(classes))
        if tuple(sorted(head.tolist())) == entry.train_counts:
            arrays["n_train"] = np.asarray(entry.n_train)
    return arrays


def _features(bunch: Any, entry: OpenMLSet) -> np.ndarray[Any, Any]:
    data, columns = np.asarray(bunch.data), list(bunch.feature_names)
    widths = (entry.n_features, entry.n_features + 1) if entry.drop_first else (entry.n_features,)
    if data.ndim != 2 or data.shape[0] != entry.n_samples or data.shape[1] not in widths:
        raise DataError(f"its shape is {data.shape}, expected ({entry.n_samples}, {widths[-1]}).")
    if data.shape[1] > entry.n_features:
        data, columns = data[:, 1:], columns[1:]
    values: Floats = np.array(data, dtype=np.float64)
    for j, column in enumerate(columns):
        if (bunch.categories or {}).get(column):
            values[:, j] = _decode(column, values[:, j], bunch.categories[column])
    X = values.astype(entry.dtype)
    if entry.dtype != "float32" and not np.array_equal(X, values):
        raise DataError(f"it holds values that do not fit the type {entry.dtype} of its pixels.")
    return X


def _decode(column: str, codes: Floats, categories: list[str]) -> Floats:
    """Turn the codes of a column that OpenML declares as nominal back into the numbers it stands for."""
    try:
        numbers = np.asarray([float(category) for category in categories])
    except (TypeError, ValueError):
        raise DataError(f"its column {column!r} holds names, expected numbers.") from None
    known = ~np.isnan(codes)
    decoded = np.full(len(codes), np.nan)
    decoded[known] = numbers[codes[known].astype(np.int64)]
    return decoded


def _labels(target: Any) -> tuple[Ints, Labels]:
    """Return codes and classes, which are text; numbers among them in their natural order."""
    names = [str(int(label)) if isinstance(label, float) else str(label).strip("'\" ") for label in list(target)]
    classes = sorted(set(names), key=_natural)
    code = {label: k for k, label in enumerate(classes)}
    return np.array([code[label] for label in names], dtype=np.int64), np.asarray(classes)


def _natural(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return np.inf, label
