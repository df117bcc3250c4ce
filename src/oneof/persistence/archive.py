"""Checks of the content that a model file declares, before any object is built."""

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from oneof.archives import check_array, check_members, check_size
from oneof.errors import DataError, ModelFileError
from oneof.lazy import import_extra
from oneof.messages import enumerate_items
from oneof.persistence.trusted import TRUSTED

_SCHEMA = "schema.json"
_JSON_EXPANSION = 20
"""Bytes of memory per byte of JSON, for lists of lists or of numbers."""


def import_skops() -> Any:
    """Return `skops.io`."""
    # While skops searches all of scikit-learn for estimators, None in `sys.modules` hides scikit-learn's helpers for
    # torch and dask. They contain no estimators, and importing them imports torch and dask, which takes three seconds.
    hidden = {f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")} - sys.modules.keys()
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is allowed
    try:
        return import_extra("skops.io", "cli")
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def untrusted_types(data: bytes, skops_io: Any) -> str:
    """Return the names of the first untrusted types in a file, without building objects."""
    untrusted = set(skops_io.get_untrusted_types(data=data)) - set(TRUSTED)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # skops trusts random generators, but their seed may need any amount of memory.
        if b'"RandomGeneratorNode"' in archive.read(_SCHEMA):
            untrusted.add("numpy.random.Generator")
    return enumerate_items(sorted(untrusted), 3)


def declared_format(data: bytes) -> dict[str, Any]:
    """Return the format, its number and the version of oneof that a file declares, without building objects.

    A value that the file does not declare in this way is None.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read(_SCHEMA)).get("content")
    nodes = content if isinstance(content, dict) else {}
    names = ("format", "format_version", "oneof_version")
    return {name: json.loads(nodes[name]["content"]) if name in nodes else None for name in names}


def is_within_bounds(data: bytes) -> bool:
    """Return whether the decompressed size of a model file is within the limit of `read_checked`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        try:
            _check_sizes(archive, len(data))
        except DataError:
            return False
    return True


def read_checked(path: Path) -> bytes:
    """Return the content of a model file after checks of its checksums, declared sizes and limits.

    Raises
    ------
    ModelFileError, DataError
        If a check fails; a DataError does not name the file.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ModelFileError(
                f"{path} is truncated, or is not a model file of oneof. Give a .skops file written by `oneof fit` or "
                "oneof.persistence.save (pickles are never opened)."
            )
        with zipfile.ZipFile(file) as archive:
            if _SCHEMA not in archive.namelist():
                raise ModelFileError(f"{path} is a zip file, but not a model of oneof.")
            file_size = path.stat().st_size
            _check_sizes(archive, file_size)
            damaged = archive.testzip()
            if damaged is not None:
                raise ModelFileError(f"{path} is damaged: the checksum of its member {damaged!r} does not match.")
            _check_members(archive, file_size)
        file.seek(0)
        return file.read()


def _check_sizes(archive: zipfile.ZipFile, file_size: int) -> None:
    n_bytes = sum(member.file_size for member in archive.infolist())
    check_size(n_bytes + _JSON_EXPANSION * archive.getinfo(_SCHEMA).file_size, file_size, "its content")


def _check_members(archive: zipfile.ZipFile, file_size: int) -> None:
    """Raise unless arrays have their declared size, and the indices of sparse matrices are within their shape.

    Compiled code would access memory outside the array.
    """
    pending: list[Any] = [json.loads(archive.read(_SCHEMA))]
    n_bytes = 0
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            loader = node.get("__loader__")
            if isinstance(node.get("file"), str):
                member = archive.getinfo(node["file"])
                n_bytes += member.file_size  # for each reference, because each one is read again
                check_size(n_bytes, file_size, "its content")
                if loader == "NdArrayNode":
                    check_array(archive, member)
                elif loader == "SparseMatrixNode":
                    _check_sparse(archive, member)
            elif str(node.get("__module__")).startswith("scipy.sparse") and "content" in node:
                raise DataError("a sparse matrix in the file has an untrusted structure")
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _check_sparse(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    from scipy.sparse import load_npz

    content = io.BytesIO(archive.read(member))
    with zipfile.ZipFile(content) as inner:
        check_members(inner, member.file_size)
        for array_member in inner.infolist():
            check_array(inner, array_member)
    content.seek(0)
    load_npz(content).check_format(full_check=True)
