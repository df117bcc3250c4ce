"""Registry of the public data sets: their sizes and sources, and the expected content of downloads.

It is stored in `registry.json`.
Class counts are sorted, so that they do not depend on the names or the order of the classes. The counts of `satimage`
are those of OpenML's version, which has 6430 rows; the original has 6435.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal


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


@dataclass(frozen=True)
class OpenMLDataset:
    """A data set at OpenML: its number, and the content that a download must have.

    Attributes
    ----------
    size : tuple of int
        Numbers of rows, features and classes.
    data_id : int
        OpenML's number.
    class_counts : list of int
        Numbers of rows of the classes that occur, in ascending order.
    train_counts : list of int
        Numbers of rows of the classes in the official training set, in ascending order; empty if there is none. They
        identify the official row order, in which the training set comes first.
    drop_first : bool
        True if OpenML's first column is not a feature (abalone's sex, leaf's specimen number).
    dtype : {"float32", "uint8"}
        Type of `X`; uint8 for pixels.
    """

    size: tuple[int, int, int]
    data_id: int
    class_counts: list[int]
    train_counts: Sequence[int] = ()
    drop_first: bool = False
    dtype: Literal["float32", "uint8"] = "float32"


_ENTRIES: dict[str, Any] = json.loads(resources.files("oneof.datasets").joinpath("registry.json").read_text("utf-8"))

KNOWN = {name: DatasetInfo(name, *entry["size"], **entry["info"]) for name, entry in _ENTRIES.items()}
"""Every data set that is not a file of the user, by name."""

OPENML = {name: OpenMLDataset(entry["size"], **entry["openml"]) for name, entry in _ENTRIES.items() if entry["openml"]}
