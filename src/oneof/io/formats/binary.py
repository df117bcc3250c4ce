"""Readers of binary files: Parquet and Arrow files by slices of rows, and NumPy archives.

A NumPy archive has the form of the project's data sets. Its features become the columns x0, x1, ..., and raw text
becomes the column `text`. The arrays `y` (an index into `classes`, -1 if unknown) and `candidates` (packed bits) become
columns of labels. A sparse matrix (`X_data`, `X_indices`, `X_indptr`, `X_shape`) has no columns: its rows are features.
The answers of annotators are in `answers`, with their names in `worker_id`.

The compiled code of polars allocates the lengths that a damaged page declares, and ends the process if there is not
enough memory. Python cannot catch that. Parquet and Arrow files are therefore decoded once by another process, whose
result is discarded: if it ends abnormally, the file is rejected with an error. Ordinary errors are left to the actual
reading, which has the message.
"""

import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.archives import CSR_KEYS, read_arrays, unpack_classes, unpack_csr, unpack_masks, unpack_texts
from oneof.errors import DataError
from oneof.io.formats.source import file_errors_as_data_errors, polars_errors_as_data_errors
from oneof.io.table import Table
from oneof.trial import run_trial
from oneof.typing import Ints

if TYPE_CHECKING:
    import polars as pl

_GROUP_BYTES = 2**28
_GROUP_FILES = 256
"""Files are tried in groups, so that many small files do not start a process each."""

_TRIAL = """
import polars as pl
scan = {"parquet": lambda file: pl.scan_parquet(file, hive_partitioning=False), "arrow": pl.scan_ipc}[request["kind"]]
for number, file in enumerate(request["files"]):
    print(number, flush=True)
    try:
        for _ in scan(file).collect_batches():
            pass
    except BaseException:
        pass
"""

_decoded: set[tuple[str, int, int]] = set()
"""Path, size and modification time of the files that were decoded."""
_FETCH_BYTES = 2**24
_MAX_FETCHED_BATCHES = 16
_TEXT_CELL_BYTES = 256
"""Estimated size of a cell of text before it is read."""


def read_slices(
    path: Path, kind: str, n_rows: int, first_row: int, columns: Callable[[], Sequence[str] | None]
) -> Iterator["pl.DataFrame"]:
    """Yield the rows of a Parquet or Arrow file from `first_row` on, `n_rows` at a time.

    The function `columns` is called before each fetch and returns the requested columns, or None for all. Several small
    slices are fetched at once, because a slice of a Parquet file costs more the later it begins in its row group.
    """
    with polars_errors_as_data_errors(path):
        rows = _scan(path, kind)
        schema = rows.collect_schema()
        while True:
            names = columns()
            selected = [name for name in schema if names is None or name in names]
            width = sum(8 if schema[name].is_numeric() else _TEXT_CELL_BYTES for name in selected)
            fetch = n_rows * min(max(_FETCH_BYTES // (n_rows * max(width, 1)), 1), _MAX_FETCHED_BATCHES)
            fetch = n_rows if names is None else fetch
            fetched = rows.select(selected).slice(first_row, fetch).collect()
            yield from fetched.iter_slices(n_rows) if fetched.height else ()
            if fetched.height < fetch:
                return
            first_row += fetched.height


def count_rows(path: Path, kind: str) -> int:
    """Return the number of rows that the metadata of a Parquet or Arrow file declares."""
    import polars as pl

    with polars_errors_as_data_errors(path):
        return int(_scan(path, kind).select(pl.len()).collect().item())


def read_answers_npz(path: Path) -> tuple[Ints, list[Any], list[str]]:
    """Return the answers of a NumPy archive: indices into the classes, -1 for no answer; classes; and annotators.

    Raises
    ------
    DataError
        If the archive has no answers or no classes, or an answer is not the index of a class.
    """
    with _archive(path, ("answers", "classes", "worker_id")) as arrays:
        for key in ("answers", "classes"):
            if key not in arrays:
                raise DataError(f"the archive has no array {key!r}, which answers of annotators need.")
        codes, classes = arrays["answers"], unpack_classes(arrays["classes"])
        if codes.ndim != 2 or not _are_codes(codes, classes):
            raise DataError(
                f"the array answers must contain indices into the {len(classes)} classes, or -1, and have the shape "
                f"(rows, annotators); got {codes.dtype} of shape {codes.shape}."
            )
        workers = arrays.get("worker_id", np.arange(codes.shape[1]))
        names = [str(name).strip() for name in workers.ravel().tolist()]
        if workers.shape != (codes.shape[1],) or len(set(names)) < len(names):
            raise DataError(f"the array worker_id must have {codes.shape[1]} different names.")
        return codes.astype(np.int64), classes.tolist(), names


def _are_codes(codes: Any, classes: Sized) -> bool:
    """Return whether all numbers of an array are indices into the classes, or -1."""
    is_integer = codes.dtype.kind in "iu"
    return is_integer and (not codes.size or -1 <= int(codes.min()) <= int(codes.max()) < len(classes))


def read_npz(path: Path) -> Table:
    """Return the features and the labels of a NumPy archive: a table, or a sparse matrix with columns of labels."""
    import polars as pl

    with _archive(path, ("X", "y", "candidates", "classes", "text", "text_offsets", *CSR_KEYS)) as arrays:
        is_sparse = not {"X", "text"} & set(arrays) and bool(set(CSR_KEYS) & set(arrays))
        rows = _sparse_rows(arrays) if is_sparse else None
        frame = pl.DataFrame() if is_sparse else _npz_features(arrays)
        labels = pl.DataFrame(_npz_labels(arrays, frame.height if rows is None else rows.shape[0]))
        frame = pl.concat([frame, labels], how="horizontal")
        return Table(frame, path, label_columns=tuple(labels.columns), rows=rows)


@contextmanager
def _archive(path: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Open the arrays of an archive; errors begin with its path."""
    with polars_errors_as_data_errors(path):
        try:
            arrays = read_arrays(path, names.__contains__)
        except DataError as error:
            raise DataError(
                f"{path} is damaged, or is not an archive of plain NumPy arrays (pickles are never opened): {error}."
            ) from None
        try:
            yield arrays
        except DataError as error:
            raise error.at(path) from None


def _scan(path: Path, kind: str) -> "pl.LazyFrame":
    import polars as pl

    return pl.scan_parquet(path, hive_partitioning=False) if kind == "parquet" else pl.scan_ipc(path)


def _sparse_rows(arrays: dict[str, Any]) -> Any:
    rows = unpack_csr(arrays)
    rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    infinite = np.flatnonzero(~np.isfinite(rows.data))
    if len(infinite):
        row = int(np.searchsorted(rows.indptr, infinite[0], side="right")) - 1
        raise DataError("the array X_data must contain finite numbers.", row=row)
    return rows


def _npz_labels(arrays: dict[str, Any], n_rows: int) -> "list[pl.Series]":
    import polars as pl

    labels: list[pl.Series] = []
    classes = unpack_classes(arrays["classes"]).tolist() if "classes" in arrays else None
    if "y" in arrays:
        labels.append(pl.Series("y", _codes_to_labels(arrays["y"], classes, n_rows)))
    if "candidates" in arrays:
        if classes is None:
            raise DataError("the array candidates requires the array classes.")
        mask = unpack_masks(arrays["candidates"], n_rows, len(classes))
        sets = [None if row.all() else [classes[k] for k in np.flatnonzero(row)] for row in mask]
        labels.append(pl.Series("candidates", sets))
    return labels


def _npz_features(arrays: dict[str, Any]) -> "pl.DataFrame":
    import polars as pl

    if "text" in arrays and "text_offsets" in arrays:
        return pl.DataFrame({"text": unpack_texts(arrays["text"], arrays["text_offsets"])})
    X = arrays.get("X", np.array(None))
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(
            "the archive must contain an array X of numbers of shape (rows, features). Write it with the labels, if "
            "there are any, by numpy.savez(FILE, X=features, y=labels)."
        )
    return pl.DataFrame({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


def _codes_to_labels(y: Any, classes: list[Any] | None, n_rows: int) -> list[Any]:
    if y.ndim < 1 or len(y) != n_rows:
        raise DataError(f"the array y must have {n_rows} rows; got shape {y.shape}.")
    if classes is None:
        return list(y.tolist())
    if y.ndim != 1 or not _are_codes(y, classes):
        raise DataError(f"the array y must contain indices into the {len(classes)} classes, or -1.")
    return [classes[code] if code >= 0 else None for code in y.tolist()]


def check_decodable(files: Sequence[Path], kind: str) -> None:
    """Raise if the process that decodes the first of some Parquet or Arrow files ends abnormally.

    The next files may be decoded by the same process. A file that has not changed since is not decoded again. Where
    no second Python can be started (an embedded or frozen interpreter), nothing is checked.

    Raises
    ------
    DataError
        If the first file cannot be decoded.
    """
    if not files or _identity(files[0]) in _decoded:
        return
    sizes = itertools.accumulate(_identity(file)[1] for file in files[:_GROUP_FILES])
    group = files[: max(sum(size <= _GROUP_BYTES for size in sizes), 1)]
    trial = run_trial(_TRIAL, {"kind": kind, "files": [os.fspath(file.absolute()) for file in group]})
    begun = 0 if trial is None else trial.stdout.count(b"\n")
    if trial is None or not begun:  # no polars, which the actual reading reports
        return
    n_decoded = begun - (trial.returncode != 0)
    _decoded.update(_identity(file) for file in group[:n_decoded])
    if n_decoded == 0:
        code = trial.returncode
        raise DataError(
            f"{files[0]} cannot be read: the process that decoded it ended with "
            f"{'signal' if code < 0 else 'exit code'} {abs(code)}. The file is damaged, or needs more memory than "
            "there is. Write it again, or convert it to CSV elsewhere."
        )


def _identity(file: Path) -> tuple[str, int, int]:
    with file_errors_as_data_errors(file):
        status = file.stat()
    return (str(file.absolute()), status.st_size, status.st_mtime_ns)
