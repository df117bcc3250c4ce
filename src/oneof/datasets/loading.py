"""Loading of data sets by name, and the list of data sets that can be loaded."""

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oneof.datasets import cache
from oneof.datasets.dataset import Dataset, from_codes
from oneof.datasets.npz import DatasetShape, from_arrays, read_npz, read_shape
from oneof.datasets.openml import download
from oneof.datasets.registry import MANUAL, OPENML
from oneof.errors import DataError, InputTypeError
from oneof.messages import warn

BUNDLED = {
    "breast_cancer": DatasetShape(569, 30, 2),
    "digits": DatasetShape(1797, 64, 10),
    "iris": DatasetShape(150, 4, 3),
    "wine": DatasetShape(178, 13, 3),
}
"""Data sets that come with scikit-learn, and so are always available."""


@dataclass(frozen=True)
class DatasetInfo:
    """Name, size and source of a data set that is not loaded.

    Attributes
    ----------
    name : str
    n_samples, n_classes : int or None
        None if the file cannot be read.
    n_features : int or None
        None also if the data set is raw text without features.
    source : {"file", "cache", "scikit-learn", "OpenML", "elsewhere"}
        Source that `load` uses; "elsewhere": the user must obtain the data set first, see `note`.
    available : bool
        True if `load` works without a network.
    path : Path or None
        The file, if there is one.
    note : str
        Description of the data set, instructions to obtain it, or the reason why the file cannot be read.

    Examples
    --------
    >>> from oneof.datasets import dataset_info
    >>> {info.name for info in dataset_info() if info.available} >= {"digits", "iris"}
    True
    """

    name: str
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    source: str
    available: bool
    path: Path | None = None
    note: str = ""


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by its name.

    The first of these sources that has the data set is used:

    1. the file ``<name>.npz`` in `data_home`, in the folder ``$ONEOF_DATA``, or in the user's cache
       (``$XDG_CACHE_HOME/oneof``, else ``~/.cache/oneof``);
    2. scikit-learn (digits, iris, wine, breast_cancer), without a network;
    3. a download from OpenML, which is stored in the cache.

    A download is accepted only if it has the known shape and class counts of the data set. Afterwards its SHA-256 is
    checked at every load. Downloaded classes have their OpenML names.

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
    folders = cache.data_folders(data_home)
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise DataError(f"`name` must consist of letters, digits, '_', '-' and '.'; got {name!r}.")
    for folder in folders:
        path = folder / f"{name}.npz"
        if path.is_file():
            if folder == cache.cache_folder():
                cache.verify(path)
            return read_npz(path, name)
    if name in BUNDLED:
        return _load_bundled(name)
    if name in OPENML:
        return _fetch(name)
    for path in (folder / f"{name.removesuffix('.mat')}.mat" for folder in folders):
        if path.is_file() or name.endswith(".mat"):
            raise DataError(f"{name!r} is a MATLAB file. Read it by `oneof.datasets.load_mat(path)`.")
    raise _not_found(name, folders)


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
    infos: dict[str, DatasetInfo | None] = {}
    for folder in cache.data_folders(data_home):
        source = "cache" if folder == cache.cache_folder() else "file"
        for path in sorted(folder.glob("*.npz")) if folder.is_dir() else ():
            if path.stem not in infos and not path.name.startswith("."):
                infos[path.stem] = _file_info(path, source)
    for name, shape in BUNDLED.items():
        infos.setdefault(name, DatasetInfo(name, *shape, "scikit-learn", available=True))
    for name, entry in OPENML.items():
        size = (entry.n_samples, entry.n_features, len(entry.class_counts))
        infos.setdefault(name, DatasetInfo(name, *size, "OpenML", available=False, note=entry.note))
    for name, manual in MANUAL.items():
        manual_size = (manual.n_samples, manual.n_features, manual.n_classes)
        infos.setdefault(name, DatasetInfo(name, *manual_size, "elsewhere", available=False, note=manual.instructions))
    return [info for _, info in sorted(infos.items()) if info is not None]


def _file_info(path: Path, source: str) -> DatasetInfo | None:
    """Return the description of a file; None if it is an archive that is not a data set."""
    note = OPENML[path.stem].note if path.stem in OPENML else ""
    try:
        shape = read_shape(path)
    except DataError as error:
        return DatasetInfo(path.stem, None, None, None, source, available=False, path=path, note=str(error))
    return None if shape is None else DatasetInfo(path.stem, *shape, source, available=True, path=path, note=note)


def _load_bundled(name: str) -> Dataset:
    """Return a data set of `BUNDLED`, with scikit-learn's class names (digits: the numbers 0 to 9)."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return from_codes(name, bunch.data, bunch.target.astype(np.int64), np.asarray(bunch.target_names))


def _fetch(name: str) -> Dataset:
    arrays = download(name, OPENML[name])
    try:
        cache.store(name, arrays)
    except OSError as error:
        warn(
            f"data set {name!r} could not be stored in {cache.cache_folder()} ({error}). It will be downloaded again.",
        )
    return from_arrays(name, arrays)


def _not_found(name: str, folders: list[Path]) -> DataError:
    searched = f"no {name}.npz in {', '.join(map(str, folders))}"
    if name in MANUAL:
        return DataError(
            f"data set {name!r} is not available ({searched}) and not at OpenML: {MANUAL[name].instructions}, or put "
            f"{name}.npz into a folder and pass the folder as `data_home` or $ONEOF_DATA."
        )
    stored = {path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.npz")}
    close = difflib.get_close_matches(name, sorted(stored | {*BUNDLED, *OPENML, *MANUAL}), n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "see oneof.datasets.list_datasets()."
    return DataError(f"there is no data set {name!r} ({searched}; it is not at OpenML either): {hint}")
