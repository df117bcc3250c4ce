"""Downloads from OpenML through scikit-learn, accepted only if they match the registry."""

from typing import Any

import numpy as np

from oneof.datasets.npz import Arrays, read_written_integers
from oneof.datasets.registry import OPENML
from oneof.errors import DataError


def download(name: str) -> Arrays:
    """Download a data set and return it as the arrays of the stored form.

    scikit-learn compares the file with OpenML's MD5; here its shape and class counts are compared with the registry.

    Raises
    ------
    DataError
        If the download fails or does not match the registry.
    """
    from sklearn.datasets import fetch_openml

    number = OPENML[name].data_id
    try:
        # liac-arff does not need pandas. scikit-learn caches nothing, since the result is cached here.
        bunch = fetch_openml(data_id=number, as_frame=False, parser="liac-arff", cache=False)
    except Exception as error:  # network, server, checksum and parser errors get the same message
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(
            f"data set {name!r} could not be downloaded from OpenML, number {number} ({reason}). Check the "
            f"network and try again, or put {name}.npz into a folder and pass the folder as `data_home` or $ONEOF_DATA."
        ) from error
    try:
        return {"X": _features(bunch, name), **_labels(bunch.target, name)}
    except DataError as error:
        raise DataError(
            f"the download of number {number} from OpenML is not the data set {name!r}: {error} It was not stored."
        ) from error


def _features(bunch: Any, name: str) -> np.ndarray[Any, Any]:
    entry, data = OPENML[name], np.asarray(bunch.data)
    n_samples, n_features, _ = entry.size
    if data.shape not in {(n_samples, n_features), (n_samples, n_features + entry.drop_first)}:
        raise DataError(f"its shape is {data.shape}, expected ({n_samples}, {n_features + entry.drop_first}).")
    columns = bunch.feature_names[-n_features:]
    values = np.array(data[:, -n_features:], dtype=np.float64)
    for j, column in enumerate(columns):
        # A column that OpenML declares as nominal has the codes of its categories, which are numbers as text.
        if categories := (bunch.categories or {}).get(column):
            try:
                numbers = np.array([*categories, "nan"], dtype=np.float64)
            except (TypeError, ValueError):
                raise DataError(f"its column {column!r} has text values, expected numbers.") from None
            values[:, j] = numbers[np.nan_to_num(values[:, j], nan=len(categories)).astype(np.int64)]
    X = values.astype(entry.dtype)
    if entry.dtype == "uint8" and not np.array_equal(X, values):
        raise DataError(f"it has values that do not fit the type {entry.dtype} of its pixels.")
    return X


def _labels(target: Any, name: str) -> Arrays:
    """Return the class codes, the class names in their (numerical) order, and the size of an official training set."""
    entry = OPENML[name]
    names = [str(int(label)) if isinstance(label, float) else str(label).strip("'\" ") for label in target]
    classes, codes = np.unique(read_written_integers(np.array(names)), return_inverse=True)
    counts = sorted(np.bincount(codes).tolist())
    if counts != entry.class_counts:
        raise DataError(f"its {len(codes)} rows have class counts {counts}, expected {entry.class_counts}.")
    arrays = {"y": codes, "classes": classes}
    n_train = sum(entry.train_counts)
    head = np.bincount(codes[:n_train], minlength=len(classes))
    if n_train and sorted(head.tolist()) == entry.train_counts:
        arrays["n_train"] = np.asarray(n_train)
    return arrays
