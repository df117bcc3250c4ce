"""Which data sets there are, told without loading them."""

import os
from dataclasses import dataclass
from pathlib import Path

from oneof.datasets import cache
from oneof.datasets.bundled import BUNDLED
from oneof.datasets.npz import read_extent
from oneof.datasets.registry import ELSEWHERE, OPENML
from oneof.errors import DataError


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    Attributes
    ----------
    name : str
    n_samples, n_classes : int or None
        None where a file cannot be read.
    n_features : int or None
        None also where the set is raw text alone.
    source : {"file", "cache", "scikit-learn", "OpenML", "elsewhere"}
        Where `load` takes it from; "elsewhere": nowhere until the user gets it, `note` says how.
    at_hand : bool
        Whether `load` works without a network.
    path : Path or None
        The file, where there is one.
    note : str

    Examples
    --------
    >>> from oneof.datasets import describe
    >>> {found.name for found in describe() if found.at_hand} >= {"digits", "iris"}
    True
    """

    name: str
    n_samples: int | None
    n_features: int | None
    n_classes: int | None
    source: str
    at_hand: bool
    path: Path | None = None
    note: str = ""


def names(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the sorted names of the data sets that can be loaded, if need be from OpenML.

    Parameters
    ----------
    data_home : path-like, optional
        A folder with ``.npz`` files, looked into besides ``$ONEOF_DATA`` and the user's cache.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If `data_home` is not a folder.

    Examples
    --------
    >>> from oneof.datasets import names
    >>> {"digits", "iris", "wine", "breast_cancer"} <= set(names())
    True
    """
    return [info.name for info in describe(data_home) if info.at_hand or info.source == "OpenML"]


def describe(data_home: str | os.PathLike[str] | None = None) -> list[DatasetInfo]:
    """Return what is known of every data set, by name; of files only the headers are read.

    Parameters
    ----------
    data_home : path-like, optional
        A folder with ``.npz`` files, looked into besides ``$ONEOF_DATA`` and the user's cache.

    Returns
    -------
    list of DatasetInfo
        Also of sets that have to be got elsewhere, and of files that cannot be read, with the reason.

    Raises
    ------
    DataError
        If `data_home` is not a folder.

    Examples
    --------
    >>> from oneof.datasets import describe
    >>> iris = next(found for found in describe() if found.name == "iris")
    >>> iris.n_samples, iris.n_features, iris.n_classes
    (150, 4, 3)
    """
    found: dict[str, DatasetInfo] = {}
    for folder in cache.data_folders(data_home):
        source = "cache" if folder == cache.cache_folder() else "file"
        for path in sorted(folder.glob("*.npz")) if folder.is_dir() else ():
            if path.stem not in found and not path.name.startswith("."):
                found[path.stem] = _of_file(path, source)
    for name, extent in BUNDLED.items():
        found.setdefault(name, DatasetInfo(name, *extent, "scikit-learn", at_hand=True))
    for name, entry in OPENML.items():
        size = (entry.n_samples, entry.n_features, len(entry.class_counts))
        found.setdefault(name, DatasetInfo(name, *size, "OpenML", at_hand=False, note=entry.note))
    for name, other in ELSEWHERE.items():
        size_there = (other.n_samples, other.n_features, other.n_classes)
        found.setdefault(name, DatasetInfo(name, *size_there, "elsewhere", at_hand=False, note=other.advice))
    return [found[name] for name in sorted(found)]


def _of_file(path: Path, source: str) -> DatasetInfo:
    note = OPENML[path.stem].note if path.stem in OPENML else ""
    try:
        return DatasetInfo(path.stem, *read_extent(path), source, at_hand=True, path=path, note=note)
    except DataError as error:
        return DatasetInfo(path.stem, None, None, None, source, at_hand=False, path=path, note=str(error))
