"""Dask arrays and DataFrames, cut into the parts that lie in their blocks."""

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import as_candidates
from oneof.distributed.reduction import shared
from oneof.errors import InputError, InputTypeError, MissingExtraError
from oneof.typing import Labels


class Parts(NamedTuple):
    """The blocks of a collection, along the rows."""

    parts: list[Any]
    """What dask calls delayed: each becomes an array, a CSR matrix, a DataFrame or a Series."""
    lengths: list[int] | None
    """Rows of each, where dask knows them."""


def require_dask() -> Any:
    """Return dask, or raise the sentence that says how to get it."""
    try:
        import dask
        import dask.array

        import distributed  # noqa: F401 - its defaults must be read before any of them is set
    except ImportError as error:
        raise MissingExtraError("dask", "dask") from error
    return dask


def parts_of_rows(X: Any) -> Parts:
    """Return the blocks of X."""
    parts = _parts(X)
    if parts is None or getattr(X, "ndim", 2) != 2:
        raise InputTypeError(
            f"X is a {type(X).__name__}, expected a dask array or DataFrame of rows and features: make one, for "
            "example by dask.array.from_array(X, chunks=(10_000, -1))."
        )
    return parts


def parts_of_labels(y: Any, rows: Parts, classes: Labels | None) -> Parts:
    """Return y in the blocks of X; what lies in memory is cut where X is.

    Raises
    ------
    InputError
        If the blocks of y are not those of X, or cannot be told.
    """
    parts = _parts(y)
    if parts is None:
        candidates = as_candidates(y, classes=classes)
        if rows.lengths is None:
            raise InputError(
                "the lengths of the blocks of X are not known, so that y, which lies in memory, cannot be cut like "
                "them: call X.compute_chunk_sizes(), or give y as a dask array or Series with the same blocks."
            )
        if len(candidates) != sum(rows.lengths):
            raise InputError(
                f"X has {sum(rows.lengths)} rows, but y has {len(candidates)} candidate sets: give one set for each "
                "row."
            )
        cuts = pairwise(accumulate(rows.lengths, initial=0))
        return Parts([shared(candidates[a:b]) for a, b in cuts], rows.lengths)
    if len(parts.parts) != len(rows.parts):
        raise InputError(
            f"X has {len(rows.parts)} blocks and y has {len(parts.parts)}: give them the same blocks, as "
            "y.rechunk({0: X.chunks[0]}) does, or y.repartition for DataFrames."
        )
    for block, (own, wanted) in enumerate(zip(parts.lengths or [], rows.lengths or [])):
        if own != wanted:
            raise InputError(
                f"block {block}: X has {wanted} rows and y has {own}: give them the same blocks, as "
                "y.rechunk({0: X.chunks[0]}) does."
            )
    return parts


def _parts(collection: Any) -> Parts | None:
    """Return the blocks of a dask array or DataFrame, None of anything else."""
    if not hasattr(collection, "__dask_graph__") or not hasattr(collection, "to_delayed"):
        return None
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        lengths = collection.chunks[0]
        known = not any(np.isnan(length) for length in lengths)
        return Parts(np.ravel(collection.to_delayed()).tolist(), [int(n) for n in lengths] if known else None)
    return Parts(list(collection.to_delayed()), None)
