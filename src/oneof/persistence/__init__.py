"""Model files: saved atomically, and loaded without executing code.

A model file is a skops archive (a zip of JSON and plain arrays), never a pickle. Loading builds only the types that
skops trusts by default (scikit-learn's estimators, built-in containers, NumPy arrays) and those in `TRUSTED`.

Reading order: `saved_model` (a model with the columns of its table, and the rows of another table as its input),
`prediction_sets` (their calibration), this file (`save` and `load`), `archive` (checks before anything is built),
`trusted` (the allowed types), `vocabularies` (those of text columns), `loaded_arrays` (checks of the arrays that
compiled code follows).
"""

import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from oneof.errors import InputError, InputTypeError, ModelFileError
from oneof.files import as_path, atomic_write
from oneof.messages import warn
from oneof.persistence import archive
from oneof.persistence.loaded_arrays import inconsistent_part, walk_objects
from oneof.persistence.saved_model import SavedModel
from oneof.persistence.trusted import TRUSTED
from oneof.persistence.vocabularies import restore_vocabularies, with_compact_vocabularies

__all__ = ["SavedModel", "load", "save"]

FORMAT = "oneof-model"
FORMAT_VERSION = 11
"""11: a family of estimators is one module, whose name is in the file; older files cannot be read."""

_PICKLE_SUFFIXES = frozenset({".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle"})
_COMPRESSED_SUFFIXES = frozenset({".gz", ".bz2", ".xz", ".lzma", ".z", ".lz4", ".zst", ".zip"})
_TABLE_FIELDS = [f.name for f in fields(SavedModel) if f.name not in ("pipeline", "calibration")]


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Save a fitted estimator, or a `SavedModel`, to a file.

    The file is written atomically and replaces an existing one. The rows given to `fit` are not written.

    Parameters
    ----------
    path : str or path-like
        By convention it ends in ``.skops``. The suffixes of pickles, such as ``.pkl`` and ``.joblib``, are errors,
        since `pickle` and `joblib` cannot read the file.
    model : fitted estimator or SavedModel

    Raises
    ------
    InputError
        If the folder does not exist, or the file has the suffix of a pickle.
    InputTypeError
        If `model` is not a fitted estimator, contains types that `load` does not trust, or is a `SavedModel` of a table
        without a `Pipeline`.
    WriteError
        If the file cannot be written, for example because the disk is full.
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
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    skops_io = archive.import_skops()
    saved = isinstance(model, SavedModel)
    estimator = model.pipeline if saved else model
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"`model` must be a fitted estimator; got {estimator!r}. Call save(path, model).")
    name = type(estimator).__name__
    if saved and model.columns and not isinstance(estimator, Pipeline):
        raise InputTypeError(
            "the `pipeline` of a SavedModel must be a Pipeline whose first step reads the columns of a table; got "
            f"{name}. Wrap the last step of a pipeline instead of the whole one."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputTypeError(f"{name} is not fitted. Fit it before saving.") from None
    if any(map(is_torch_array, walk_objects(estimator))):
        raise InputTypeError(f"{name} was fitted to tensors, which a file cannot contain. Fit it to X.cpu().numpy().")
    if part := inconsistent_part(estimator):
        raise InputTypeError(
            f"{name} cannot be saved: {part} are inconsistent, or have splits of categorical "
            "features. Encode the categories, for example by OneHotEncoder."
        )
    if type(estimator).__module__.startswith("oneof.crowd."):
        part = "classifier, `model.estimator_`" if hasattr(model, "estimator_") else "attributes, such as `posterior_`"
        raise InputTypeError(f"{name} cannot be saved, because it contains the answers. Save its {part}.")
    path = as_path(path)
    _check_suffix(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist. Create it before saving.")
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "oneof_version": version("oneof"),
        "sklearn_version": version("scikit-learn"),
        "estimator": with_compact_vocabularies(estimator),
        "table": {name: getattr(model, name) for name in _TABLE_FIELDS} if saved else None,
        "calibration": model.calibration if saved else None,
    }
    try:
        data = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        if not archive.is_within_bounds(data):  # mostly zeros: `load` would reject the compression ratio
            data = skops_io.dumps(content, compression=zipfile.ZIP_STORED)
        untrusted = archive.untrusted_types(data, skops_io)
    except Exception as error:  # skops raises exceptions of many types
        raise InputTypeError(f"{name} cannot be saved: {_first_line(error)}") from error
    if untrusted:
        remedy = " Save its best_estimator_." if hasattr(estimator, "best_estimator_") else ""
        raise InputTypeError(f"the model cannot be saved, because `load` does not trust {untrusted}.{remedy}")
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file written by `save`.

    First the declared sizes and the checksums are checked, then the names of all types in the file; objects are built
    only afterwards. Checksums detect damage, not attacks: an attacker can renew them, but cannot build untrusted types.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator or SavedModel
        The argument of `save`.

    Warns
    -----
    UserWarning
        If the model was saved with another version of scikit-learn.

    Raises
    ------
    ModelFileError
        If the file does not exist, is damaged, was not written by oneof, has an older format, or contains an untrusted
        type.
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
        raise ModelFileError(f"the model file {path} does not exist.") from None
    except OSError as error:
        raise ModelFileError(f"the model file {path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # a damaged archive raises exceptions of any type
        raise ModelFileError(f"{path} is damaged, or is not a model file of oneof: {_first_line(error)}") from error
    saved_version, installed_version = content.get("sklearn_version"), version("scikit-learn")
    if saved_version != installed_version:
        warn(
            f"{path} was written with scikit-learn {saved_version}, and {installed_version} is installed. Check some "
            "predictions, or fit the model again.",
        )
    return _unpack(path, content)


def _check_suffix(path: Path) -> None:
    """Raise if a file has the suffix of a pickle, possibly of a compressed one."""
    suffixes = [suffix for suffix in path.suffixes if suffix.lower() not in _COMPRESSED_SUFFIXES]
    if suffixes and suffixes[-1].lower() in _PICKLE_SUFFIXES:
        raise InputError(
            f"the name {path.name} is that of a pickle, but `save` writes a skops file, which pickle and joblib cannot "
            "read. Let the name end in .skops, and load the file by oneof.persistence.load."
        )


def _read(path: Path, skops_io: Any) -> dict[str, Any]:
    """Return the content of a model file; nothing is built before its format and its types are checked."""
    data = archive.read_checked(path)
    declared = archive.declared_format(data)
    if declared["format"] != FORMAT:
        raise ModelFileError(f"{path} is a skops file, but not a model of oneof.")
    if declared["format_version"] != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format {declared['format_version']}, written by oneof {declared['oneof_version']}; this "
            f"version reads the format {FORMAT_VERSION}. Fit the model again, or use the version that wrote it."
        )
    untrusted = archive.untrusted_types(data, skops_io)
    if untrusted:
        raise ModelFileError(
            f"{path} was not loaded, because it contains types that oneof does not trust: {untrusted}."
        )
    with warnings.catch_warnings():
        from sklearn.exceptions import InconsistentVersionWarning

        warnings.simplefilter("ignore", InconsistentVersionWarning)  # `load` warns once
        content: dict[str, Any] = skops_io.loads(data, trusted=list(TRUSTED))
    if part := inconsistent_part(content):
        raise ModelFileError(f"{path} is damaged: {part} are inconsistent. Fit the model again.")
    try:
        restore_vocabularies(content["estimator"])
    except ModelFileError as error:
        raise ModelFileError(f"{path} is damaged: {error} Fit the model again.") from None
    return content


def _unpack(path: Path, content: Mapping[str, Any]) -> Any:
    estimator, table = content.get("estimator"), content.get("table")
    if not hasattr(estimator, "predict"):
        raise ModelFileError(f"{path} does not contain an estimator.")
    if table is None:
        return estimator
    try:
        model = SavedModel(pipeline=estimator, calibration=content.get("calibration"), **table)
        names = [part for name, kind in model.columns for part in (name, kind)]
        valid = all(isinstance(name, str) for name in (*names, *model.label_columns, model.method))
        valid &= model.calibration is None or _is_calibration(model.calibration, len(model.classes))
    except (AttributeError, KeyError, TypeError, ValueError):
        valid = False
    if not valid:
        raise ModelFileError(f"{path} lacks the description of its table.")
    return model


def _is_calibration(calibration: Any, n_classes: int) -> bool:
    """Return whether the calibration of a file has finite arrays of consistent shapes."""
    rows, proba, evidence = (calibration[name] for name in ("rows", "proba", "evidence"))
    valid = proba.ndim == 2 and proba.shape == evidence.shape == (len(rows), n_classes) and len(rows) > 0
    valid &= proba.dtype.kind == "f" and evidence.dtype.kind in "bf" and rows.dtype.kind in "iu"
    return bool(valid and all(np.isfinite(a).all() and (a >= 0).all() for a in (proba, evidence)))


def _first_line(error: BaseException) -> str:
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text if text.endswith(".") else text + "."
