"""Finding a data set by its name."""

import difflib
import os
import re
import warnings
from pathlib import Path

from oneof.datasets import cache
from oneof.datasets.bundled import BUNDLED, load_bundled
from oneof.datasets.dataset import Dataset
from oneof.datasets.npz import from_arrays, read_npz
from oneof.datasets.openml import download
from oneof.datasets.registry import ELSEWHERE, OPENML
from oneof.errors import DataError, InputTypeError


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by its name.

    The first that is there is taken: the file ``<name>.npz`` in `data_home`, in the folder ``$ONEOF_DATA``, in the
    user's cache (``$XDG_CACHE_HOME/oneof``, else ``~/.cache/oneof``); a set that comes with scikit-learn (digits, iris,
    wine, breast_cancer), which needs no network; a download from OpenML, which is kept in the cache. A download counts
    only if it has the shape and class counts that are known of the set; from then on its SHA-256 is checked whenever it
    is loaded. Downloaded classes are named as OpenML names them.

    Parameters
    ----------
    name : str
        One of `names()`.
    data_home : path-like, optional
        A folder with ``.npz`` files.

    Returns
    -------
    Dataset
        With `X`, `y`, `candidates`, `classes`, and `n_train`, `splits`, `Y`, `answers`, `text` where the set has them.

    Raises
    ------
    DataError
        If there is no such set, its file is damaged or was changed, or it cannot be downloaded.

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
        raise InputTypeError(f"the name of a data set is text, got {type(name).__name__}.")
    folders = cache.data_folders(data_home)
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise DataError(f"{name!r} is no name of a data set: names are letters, digits, '_', '-' and '.'.")
    for folder in folders:
        path = folder / f"{name}.npz"
        if path.is_file():
            if folder == cache.cache_folder():
                cache.verify(path)
            return read_npz(path, name)
    if name in BUNDLED:
        return load_bundled(name)
    if name in OPENML:
        return _fetch(name)
    raise _absent(name, folders)


def _fetch(name: str) -> Dataset:
    arrays = download(name, OPENML[name])
    try:
        cache.store(name, arrays)
    except OSError as error:
        warnings.warn(
            f"data set {name!r} could not be kept in {cache.cache_folder()} ({error}): it will be downloaded again.",
            UserWarning,
            stacklevel=3,
        )
    return from_arrays(name, arrays)


def _absent(name: str, folders: list[Path]) -> DataError:
    looked = f"no {name}.npz in {', '.join(map(str, folders))}"
    if name in ELSEWHERE:
        return DataError(
            f"data set {name!r} is not at hand ({looked}) nor at OpenML: {ELSEWHERE[name].advice}, "
            f"or put {name}.npz into a folder and name it by data_home or $ONEOF_DATA."
        )
    held = {path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.npz")}
    known = sorted(held | {*BUNDLED, *OPENML, *ELSEWHERE})
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "oneof.datasets.names() lists what there is."
    return DataError(f"there is no data set {name!r} ({looked}; it is not at OpenML either): {hint}")
