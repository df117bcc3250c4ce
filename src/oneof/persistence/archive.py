"""What a model file says that it holds: looked through before anything is built."""

import contextlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oneof.errors import DataError, MissingExtraError, ModelFileError
from oneof.files import check_array, check_members, check_size
from oneof.persistence.trusted import TRUSTED

_SCHEMA = "schema.json"
_BYTES_OF_JSON = 20
"""What a byte of JSON takes in memory, as lists of lists or of numbers."""


def import_skops() -> Any:
    """Return `skops.io`."""
    try:
        with _without_other_arrays():
            import skops.io
    except ImportError:
        raise MissingExtraError("skops", "cli") from None
    return skops.io


@contextlib.contextmanager
def _without_other_arrays() -> Iterator[None]:
    """Hide scikit-learn's helpers for torch and dask while skops walks through all of scikit-learn for estimators.

    They hold none, and importing them imports torch and dask: three seconds of each process that opens a model. None
    in `sys.modules` is Python's own way to say that a module is not to be imported; who needs one afterwards gets it.
    """
    hidden = {f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")} - sys.modules.keys()
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is allowed, and meant
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def foreign_types(data: bytes, skops_io: Any) -> str:
    """Return the names of the first few types in a file that are not trusted; nothing is built."""
    found = set(skops_io.get_untrusted_types(data=data)) - set(TRUSTED)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if b'"RandomGeneratorNode"' in archive.read(_SCHEMA):  # which skops trusts; its seed may ask for any memory
            found.add("numpy.random.Generator")
    names = sorted(found)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def is_within_bounds(data: bytes) -> bool:
    """Tell whether a model file unfolds to no more than `read_checked` takes from a file of its size."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        try:
            _check_sizes(archive, len(data))
        except DataError:
            return False
    return True


def read_checked(path: Path) -> bytes:
    """Return the content of a model file, if its parts are whole, of the size that they say, and within bounds.

    Raises
    ------
    ModelFileError, DataError
        If they are not; a DataError does not name the file.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ModelFileError(
                f"{path} is no model file of oneof, or is cut short: expected a .skops file written by `oneof fit` or "
                "oneof.persistence.save (pickles are never opened)."
            )
        with zipfile.ZipFile(file) as archive:
            if _SCHEMA not in archive.namelist():
                raise ModelFileError(f"{path} is a zip file, but no model that oneof wrote.")
            held = path.stat().st_size
            _check_sizes(archive, held)
            damaged = archive.testzip()
            if damaged is not None:
                raise ModelFileError(f"{path} is damaged: the checksum of its part {damaged!r} does not match.")
            _check_parts(archive, held)
        file.seek(0)
        return file.read()


def _check_sizes(archive: zipfile.ZipFile, held: int) -> None:
    parts = sum(member.file_size for member in archive.infolist())
    check_size(parts + _BYTES_OF_JSON * archive.getinfo(_SCHEMA).file_size, held, "what it holds")


def _check_parts(archive: zipfile.ZipFile, held: int) -> None:
    """Raise unless arrays are as they say, and sparse matrices have no indices beyond their shape.

    Compiled code would follow such indices out of the array.
    """
    waiting: list[Any] = [json.loads(archive.read(_SCHEMA))]
    n_bytes = 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            loader = node.get("__loader__")
            if isinstance(node.get("file"), str):
                member = archive.getinfo(node["file"])
                n_bytes += member.file_size  # at each mention, since each is read anew
                check_size(n_bytes, held, "what it holds")
                if loader == "NdArrayNode":
                    check_array(archive, member)
                elif loader == "SparseMatrixNode":
                    _check_sparse(archive, member)
            elif str(node.get("__module__")).startswith("scipy.sparse") and "content" in node:
                raise DataError("a sparse matrix in it is put together in a way that is not trusted")
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _check_sparse(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    from scipy.sparse import load_npz

    content = io.BytesIO(archive.read(member))
    with zipfile.ZipFile(content) as inner:
        check_members(inner, member.file_size)
        for part in inner.infolist():
            check_array(inner, part)
    content.seek(0)
    load_npz(content).check_format(full_check=True)
