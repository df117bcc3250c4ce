"""Loading of data sets by name, and the list of data sets that can be loaded."""

import difflib
import os

import numpy as np

from oneof.datasets.cache import cache_folder, data_folders, find_files, store, verify
from oneof.datasets.dataset import Dataset, from_codes
from oneof.datasets.npz import from_arrays, read_npz, read_shape
from oneof.datasets.openml import download
from oneof.datasets.registry import KNOWN, OPENML, DatasetInfo
from oneof.errors import DataError, InputTypeError
from oneof.messages import warn


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by its name.

    The first of these sources that has the data set is used:

    1. the file ``<name>.npz`` in `data_home`, in the folder ``$ONEOF_DATA``, or in the user's cache
       (``$XDG_CACHE_HOME/oneof``, else ``~/.cache/oneof``);
    2. scikit-learn (digits, iris, wine, breast_cancer), without a network;
    3. a download from OpenML, which is stored in the cache.

    A download is accepted only if it has the known shape and class counts of the data set. The name of its file has its
    SHA-256, which is checked at every load. Downloaded classes have their OpenML names.

    Parameters
    ----------
    name : str
        One of `list_datasets()`.
    data_home : path-like, optional
        A folder with ``.npz`` files.

    Returns
    -------
    Dataset
        With `X`, `y`, `candidates`, `classes`, and `n_train`, `splits`, `Y`, `annotations`, `text` if the data set has
        them.

    Raises
    ------
    DataError
        If there is no such data set, its file is damaged, changed or not a data set, or the download fails.

    Examples
    --------
    >>> from oneof.datasets import load
    >>> iris = load("iris")
    >>> iris
    <Dataset 'iris': 150 rows, 4 features, 3 classes>
    >>> iris.classes.tolist()
    ['setosa', 'versicolor', 'virginica']
    >>> iris.candidates.is_exact.all()
    np.True_
    """
    if not isinstance(name, str):
        raise InputTypeError(f"`name` must be a string; got {type(name).__name__}.")
    files = find_files(data_home)
    if path := files.get(name):
        verify(path)
        return read_npz(path, name)
    source = KNOWN[name].source if name in KNOWN else ""
    if source == "scikit-learn":
        return _load_bundled(name)
    if source == "OpenML":
        return _fetch(name)
    folders = data_folders(data_home)
    if name.endswith(".mat") or any((folder / f"{name}.mat").is_file() for folder in folders):
        raise DataError(f"{name!r} is a MATLAB file. Read it by `oneof.datasets.load_mat(path)`.")
    searched = f"no {f'{name}.npz'!r} in {', '.join(map(str, folders))}"
    if source:
        raise DataError(
            f"data set {name!r} is not available ({searched}) and not at OpenML: {KNOWN[name].note}, or put "
            f"{name}.npz into a folder and pass the folder as `data_home` or $ONEOF_DATA."
        )
    close = difflib.get_close_matches(name, sorted({*files, *KNOWN}), n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "see oneof.datasets.list_datasets()."
    raise DataError(f"there is no data set {name!r} ({searched}; it is not at OpenML either): {hint}")


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the sorted names of the data sets that can be loaded, including downloads from OpenML.

    Parameters
    ----------
    data_home : path-like, optional
        A folder with ``.npz`` files, searched in addition to ``$ONEOF_DATA`` and the user's cache.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If `data_home` is not a folder.

    Examples
    --------
    >>> from oneof.datasets import list_datasets
    >>> {"digits", "iris", "wine", "breast_cancer"} <= set(list_datasets())
    True
    """
    return [info.name for info in dataset_info(data_home) if info.available or info.source == "OpenML"]


def dataset_info(data_home: str | os.PathLike[str] | None = None) -> list[DatasetInfo]:
    """Return the name, size and source of every data set, sorted by name; only the headers of files are read.

    Parameters
    ----------
    data_home : path-like, optional
        A folder with ``.npz`` files, searched in addition to ``$ONEOF_DATA`` and the user's cache.

    Returns
    -------
    list of DatasetInfo
        Includes data sets that have to be obtained elsewhere, and files that cannot be read, with the reason. Archives
        without labels `y`, or without features and text, are not data sets and are skipped.

    Raises
    ------
    DataError
        If `data_home` is not a folder.

    Examples
    --------
    >>> from oneof.datasets import dataset_info
    >>> iris = next(info for info in dataset_info() if info.name == "iris")
    >>> iris.n_samples, iris.n_features, iris.n_classes
    (150, 4, 3)
    """
    infos = dict(KNOWN)
    for name, path in find_files(data_home).items():
        source = "cache" if path.parent == cache_folder() else "file"
        try:
            shape = read_shape(path)
        except DataError as error:
            infos[name] = DatasetInfo(name, None, None, None, source, available=False, path=path, note=str(error))
            continue
        infos.pop(name, None)
        if shape is not None:
            note = KNOWN[name].note if name in OPENML else ""
            infos[name] = DatasetInfo(name, *shape, source, available=True, path=path, note=note)
    return [info for _, info in sorted(infos.items())]


def _load_bundled(name: str) -> Dataset:
    """Return a data set of scikit-learn, with its class names (digits: the numbers 0 to 9)."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return from_codes(name, bunch.data, bunch.target.astype(np.int64), np.asarray(bunch.target_names))


def _fetch(name: str) -> Dataset:
    arrays = download(name)
    try:
        store(name, arrays)
    except OSError as error:
        warn(f"data set {name!r} could not be stored in {cache_folder()} ({error}). It will be downloaded again.")
    return from_arrays(name, arrays)
