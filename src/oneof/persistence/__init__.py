"""Model files: written whole or not at all, read without executing anything that they bring along.

A model file is a skops archive (a zip of JSON and plain arrays), never a pickle. Reading one builds only types that
skops trusts by itself (scikit-learn's estimators, plain containers, NumPy arrays) and those that `TRUSTED` names.
"""

import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from array_api_compat import is_torch_array

from oneof.errors import InputError, InputTypeError, ModelFileError
from oneof.files import as_path, atomic_write
from oneof.persistence import archive
from oneof.persistence.machines import machines_fit
from oneof.persistence.trusted import TRUSTED

__all__ = ["SavedModel", "load", "save"]

FORMAT = "oneof-model"
FORMAT_VERSION = 4
"""4: LOORidge keeps the average of several kernels."""


@dataclass(frozen=True)
class SavedModel:
    """A fitted pipeline, and what one needs to apply it to another table.

    Attributes
    ----------
    pipeline : estimator
        From the columns of a table to one of `classes`.
    classes : list
        The classes, in the order of the pipeline's probabilities or scores.
    columns : list of (name, kind)
        The columns of the table that the pipeline reads, and what kind of feature each is.
    label_columns : list of str
        The columns that held the labels.
    method : str
        Name of the method.
    summary : dict
        Facts about the training, as far as JSON can hold them.
    oneof_version, sklearn_version : str
        What the model was made with.

    Examples
    --------
    >>> from oneof.persistence import SavedModel
    >>> model = SavedModel(None, ["finch", "wren"], [("span", "number")], ["species"], "CLPL")
    >>> model.method, model.summary
    ('CLPL', {})
    """

    pipeline: Any
    classes: list[Any]
    columns: list[tuple[str, str]]
    label_columns: list[str]
    method: str
    summary: dict[str, Any] = field(default_factory=dict)
    oneof_version: str = field(default_factory=lambda: version("oneof"))
    sklearn_version: str = field(default_factory=lambda: version("scikit-learn"))


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Write a fitted estimator, or a `SavedModel`, to a file.

    The file appears under its name only when it is complete; a file that was there before is replaced then. The rows
    given to `fit` are not written.

    Parameters
    ----------
    path : str or path-like
        By custom it ends in ``.skops``.
    model : fitted estimator or SavedModel

    Raises
    ------
    InputTypeError
        If `model` is no estimator, or holds objects that `load` would not trust.
    WriteError
        If the file cannot be written: the disk is full, or the folder cannot be written to.
    MissingExtraError
        If skops is not installed.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from oneof.persistence import load, save
    >>> X, y = np.eye(4), ["a", "a", "b", "b"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(pathlib.Path(folder) / "model.skops", LogisticRegression().fit(X, y))
    ...     load(pathlib.Path(folder) / "model.skops").predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    skops_io = archive.import_skops()
    saved = isinstance(model, SavedModel)
    estimator = model.pipeline if saved else model
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"only a fitted estimator can be saved, got {estimator!r}: call save(path, model).")
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputTypeError(f"{type(estimator).__name__} is not fitted: fit it before it is saved.") from None
    if any(is_torch_array(value) for value in vars(estimator).values()):
        raise InputTypeError(
            f"{type(estimator).__name__} was fitted to tensors, which no model file holds: fit it to X.cpu().numpy()."
        )
    path = as_path(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to save the model in: make it first.")
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "oneof_version": version("oneof"),
        "sklearn_version": version("scikit-learn"),
        "estimator": estimator,
        "table": {f.name: getattr(model, f.name) for f in fields(model) if f.name != "pipeline"} if saved else None,
    }
    try:
        data = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        if not archive.is_within_bounds(data):  # mostly zeros: `load` could not tell it from a file made to harm
            data = skops_io.dumps(content, compression=zipfile.ZIP_STORED)
        foreign = archive.foreign_types(data, skops_io)
    except Exception as error:  # skops raises errors of many kinds for what it cannot write
        raise InputTypeError(f"{type(estimator).__name__} cannot be saved: {_first_line(error)}") from error
    if foreign:
        raise InputTypeError(f"the model cannot be saved, since loading it would not trust {foreign}.")
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a file that `save` wrote.

    Sizes are added up first and checksums compared, then the names of all types in the file with those that are
    trusted; only then is anything built. Checksums find damage, not malice: whoever can write the file can also renew
    them, but can build no other types.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator or SavedModel
        What `save` was given.

    Warns
    -----
    UserWarning
        If the model was made with another version of scikit-learn.

    Raises
    ------
    ModelFileError
        If the file is absent, damaged, not a model of oneof, or holds a type that is not trusted.
    MissingExtraError
        If skops is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof import CLPL
    >>> from oneof.persistence import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(pathlib.Path(folder, "model.skops"), CLPL().fit([[0.0], [1.0]], ["finch", "wren"]))
    ...     load(pathlib.Path(folder, "model.skops")).predict([[2.0]]).tolist()
    ['wren']
    """
    skops_io = archive.import_skops()
    path = as_path(path)
    try:
        content = _read(path, skops_io)
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}.") from None
    except OSError as error:
        raise ModelFileError(f"the model file {path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # a damaged archive can fail in any way
        raise ModelFileError(f"{path} is damaged, or no model file of oneof: {_first_line(error)}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a skops file, but no model that oneof wrote.")
    written = content.get("format_version")
    if written != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by oneof {content.get('oneof_version')} in format {written}, and this version reads "
            f"format {FORMAT_VERSION}: fit the model again, or use the version that wrote it."
        )
    if not machines_fit(content):
        raise ModelFileError(
            f"{path} is damaged: the arrays of a support vector machine in it do not fit together; fit the model again."
        )
    _compare_versions(path, content)
    return _unpack(path, content)


def _read(path: Path, skops_io: Any) -> Any:
    data = archive.read_checked(path)
    foreign = archive.foreign_types(data, skops_io)
    if foreign:
        raise ModelFileError(f"{path} was not opened, since it holds types that oneof does not trust: {foreign}.")
    with warnings.catch_warnings():
        from sklearn.exceptions import InconsistentVersionWarning

        warnings.simplefilter("ignore", InconsistentVersionWarning)  # _compare_versions says it once
        return skops_io.loads(data, trusted=list(TRUSTED))


def _unpack(path: Path, content: Mapping[str, Any]) -> Any:
    estimator, table = content.get("estimator"), content.get("table")
    if not hasattr(estimator, "predict"):
        raise ModelFileError(f"{path} holds no estimator.")
    if table is None:
        return estimator
    try:
        model = SavedModel(pipeline=estimator, **table)
        sound = all(isinstance(part, str) for column in model.columns for part in column)
        sound &= all(len(column) == 2 for column in model.columns)
        sound &= all(isinstance(name, str) for name in (*model.label_columns, model.method))
    except TypeError:
        sound = False
    if not sound:
        raise ModelFileError(f"{path} lacks the facts about its table that oneof writes.")
    return model


def _compare_versions(path: Path, content: Mapping[str, Any]) -> None:
    then, now = content.get("sklearn_version"), version("scikit-learn")
    if then != now:
        warnings.warn(
            f"{path} was made with scikit-learn {then}, and {now} is installed: if predictions matter, "
            "check some of them or fit again.",
            UserWarning,
            stacklevel=3,
        )


def _first_line(error: BaseException) -> str:
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text if text.endswith(".") else text + "."
