"""Downloads from OpenML through scikit-learn, accepted only if they match the registry."""

from typing import Any

import numpy as np

from oneof.datasets.npz import Arrays
from oneof.datasets.registry import OpenMLDataset
from oneof.errors import DataError
from oneof.typing import Floats, Ints, Labels


def download(name: str, entry: OpenMLDataset) -> Arrays:
    """Download a data set and return it as the arrays of the stored form.

    scikit-learn compares the file with OpenML's MD5; here its shape and class counts are compared with the registry.

    Raises
    ------
    DataError
        If the download fails or does not match the registry.
    """
    from sklearn.datasets import fetch_openml

    try:
        # liac-arff does not need pandas. scikit-learn caches nothing, since the result is cached here.
        bunch = fetch_openml(data_id=entry.data_id, as_frame=False, parser="liac-arff", cache=False)
    except Exception as error:  # network, server, checksum and parser errors get the same message
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(
            f"data set {name!r} could not be downloaded from OpenML, number {entry.data_id} ({reason}). Check the "
            f"network and try again, or put {name}.npz into a folder and pass the folder as `data_home` or $ONEOF_DATA."
        ) from error
    try:
        return _as_arrays(bunch, entry)
    except DataError as error:
        raise DataError(
            f"the download of number {entry.data_id} from OpenML is not the data set {name!r}: {error} It was not "
            "stored."
        ) from error


def _as_arrays(bunch: Any, entry: OpenMLDataset) -> Arrays:
    X = _features(bunch, entry)
    codes, classes = _labels(bunch.target)
    counts = tuple(sorted(np.bincount(codes).tolist()))
    if X.shape[0] != len(codes) or counts != entry.class_counts:
        raise DataError(f"its {len(codes)} rows have class counts {counts}, expected {entry.class_counts}.")
    arrays = {"X": X, "y": codes, "classes": classes}
    # If OpenML has the rows in another order than the official one, there is no official training set.
    if entry.n_train is not None:
        head = np.bincount(codes[: entry.n_train], minlength=len(classes))
        if tuple(sorted(head.tolist())) == entry.train_counts:
            arrays["n_train"] = np.asarray(entry.n_train)
    return arrays


def _features(bunch: Any, entry: OpenMLDataset) -> np.ndarray[Any, Any]:
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
        raise DataError(f"it has values that do not fit the type {entry.dtype} of its pixels.")
    return X


def _decode(column: str, codes: Floats, categories: list[str]) -> Floats:
    """Return the numbers of a column that OpenML declares as nominal."""
    try:
        numbers = np.asarray([float(category) for category in categories])
    except (TypeError, ValueError):
        raise DataError(f"its column {column!r} has text values, expected numbers.") from None
    known = ~np.isnan(codes)
    decoded = np.full(len(codes), np.nan)
    decoded[known] = numbers[codes[known].astype(np.int64)]
    return decoded


def _labels(target: Any) -> tuple[Ints, Labels]:
    """Return codes and class names (strings); names that are numbers are in numerical order."""
    names = [str(int(label)) if isinstance(label, float) else str(label).strip("'\" ") for label in list(target)]
    classes = sorted(set(names), key=_natural_sort_key)
    code = {label: k for k, label in enumerate(classes)}
    return np.array([code[label] for label in names], dtype=np.int64), np.asarray(classes)


def _natural_sort_key(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return np.inf, label
