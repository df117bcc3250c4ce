"""Rows with their candidate sets, read block by block on the workers that store them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from oneof.candidates import as_candidates, as_classes, collect_values, common_classes
from oneof.distributed.reduction import compute, delayed_task, persist, shared
from oneof.errors import InputError, InputTypeError, LabelError, MissingExtraError
from oneof.likelihoods import constant_rows, support
from oneof.typing import Evidence, FeatureMatrix, Ints, Labels, Mask
from oneof.validation import check_finite


class DelayedBlocks(NamedTuple):
    """Blocks of rows of a dask collection."""

    blocks: list[Any]
    """Delayed objects of dask: each is computed to an array, a CSR matrix, a DataFrame or a Series."""
    lengths: list[int] | None
    """Number of rows of each block, if dask has it."""


def require_dask() -> None:
    """Raise an error with the command that installs dask, unless it is installed."""
    try:
        import dask.array  # noqa: F401 - dask alone has no arrays

        import distributed  # noqa: F401 - its defaults must be read before any of them is set
    except ImportError as error:
        raise MissingExtraError("dask", "dask") from error


def rows_to_delayed(X: Any) -> DelayedBlocks:
    """Return the blocks of X."""
    require_dask()
    rows = _to_delayed(X)
    if rows is None or getattr(X, "ndim", 2) != 2:
        raise InputTypeError(
            "`X` must be a dask array or DataFrame of shape (n_samples, n_features); got "
            f"{type(X).__name__}. Make one, for example by dask.array.from_array(X, chunks=(10_000, -1))."
        )
    return rows


def labels_to_delayed(y: Any, rows: DelayedBlocks, classes: Labels | None) -> DelayedBlocks:
    """Return y in the blocks of X; labels in memory are split in the same way as X.

    Raises
    ------
    InputError
        If the blocks of y are not those of X, or have unknown lengths.
    """
    labels = _to_delayed(y)
    if labels is None:
        candidates = as_candidates(y, classes=classes)
        if rows.lengths is None:
            raise InputError(
                "`X` must have blocks of known lengths if y is in memory, since y is split in the same way. Call "
                "X.compute_chunk_sizes(), or pass y as a dask array or Series with the same blocks."
            )
        if len(candidates) != sum(rows.lengths):
            raise InputError(
                f"`y` must have one candidate set for each row of X; got {len(candidates)} candidate sets for "
                f"{sum(rows.lengths)} rows."
            )
        cuts = pairwise(accumulate(rows.lengths, initial=0))
        return DelayedBlocks([shared(candidates[a:b]) for a, b in cuts], rows.lengths)
    if len(labels.blocks) != len(rows.blocks):
        raise InputError(
            f"`y` must have the same blocks as X; got {len(labels.blocks)} blocks for {len(rows.blocks)} of X. Use "
            "y.rechunk({0: X.chunks[0]}), or y.repartition for DataFrames."
        )
    return labels


def _to_delayed(collection: Any) -> DelayedBlocks | None:
    """Return the blocks of a dask collection or of a list of delayed blocks, or None for any other object."""
    from dask.delayed import Delayed

    if isinstance(collection, list | tuple) and collection and all(isinstance(b, Delayed) for b in collection):
        return DelayedBlocks(list(collection), None)
    if not hasattr(collection, "__dask_graph__") or not hasattr(collection, "to_delayed"):
        return None
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        lengths = collection.chunks[0]
        is_known = not any(np.isnan(length) for length in lengths)
        blocks = np.ravel(collection.to_delayed()).tolist()
        return DelayedBlocks(blocks, [int(n) for n in lengths] if is_known else None)
    return DelayedBlocks(list(collection.to_delayed()), None)


@dataclass(frozen=True)
class RowBlock:
    """Block of rows on a worker."""

    number: int
    X: FeatureMatrix
    """(n_b, d): validated, in the common precision of all blocks."""
    evidence: Evidence
    """(n_b, K)."""

    @property
    def labeled(self) -> Mask:
        """Mask of the rows that are not unlabeled, (n_b,)."""
        return np.asarray(~constant_rows(self.evidence))

    def labeled_rows(self) -> tuple[FeatureMatrix, Evidence]:
        """Return the labeled rows with their evidence."""
        labeled = self.labeled
        return (self.X, self.evidence) if labeled.all() else (self.X[labeled], self.evidence[labeled])


@dataclass(frozen=True)
class BlockMetadata:
    """Sizes and types of a block, available without access to the block."""

    n_rows: int
    n_labeled: int
    n_partial: int
    """Number of labeled rows with several candidates."""
    dtype: Any
    n_features: int
    names: tuple[str, ...] | None
    """Names of the features, if they have names."""


@dataclass(frozen=True)
class RowBlocks:
    """All blocks that have rows."""

    blocks: list[Any]
    """Each is a persisted `RowBlock`, stored on a worker."""
    metadata: list[BlockMetadata]
    classes: Labels
    """(K,)."""

    @classmethod
    def read(cls, estimator: Any, X: Any, y: Any, classes: Any) -> "RowBlocks":
        """Read the blocks, and validate them as the estimator does.

        Raises
        ------
        InputError
            If the blocks are invalid, or do not match.
        """
        given_classes = None if classes is None else as_classes(classes)
        rows = rows_to_delayed(X)
        labels = labels_to_delayed(y, rows, given_classes)
        all_classes = _union_of_classes(labels) if given_classes is None else given_classes
        template = shared(clone(estimator))
        tasks = [
            delayed_task(_read_block, number, row_block, label_block, template, all_classes, nout=2)
            for number, (row_block, label_block) in enumerate(zip(rows.blocks, labels.blocks, strict=True))
        ]
        persisted = persist([block for block, _ in tasks] + [metadata for _, metadata in tasks])
        metadata = compute(persisted[len(tasks) :])
        nonempty = [number for number, entry in enumerate(metadata) if entry.n_rows]
        blocks = cls([persisted[number] for number in nonempty], [metadata[number] for number in nonempty], all_classes)
        blocks._check(nonempty)
        return blocks._in_one_precision()

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return sum(entry.n_rows for entry in self.metadata)

    @property
    def n_labeled(self) -> int:
        """Number of rows that are not unlabeled."""
        return sum(entry.n_labeled for entry in self.metadata)

    @property
    def labeled(self) -> "RowBlocks":
        """Blocks that have a labeled row."""
        selected = [number for number, entry in enumerate(self.metadata) if entry.n_labeled]
        return RowBlocks(
            [self.blocks[number] for number in selected], [self.metadata[number] for number in selected], self.classes
        )

    @property
    def dtype(self) -> Any:
        """Precision of the rows."""
        return self.metadata[0].dtype

    def set_input_attributes(self, estimator: Any) -> None:
        """Set ``n_features_in_`` and ``feature_names_in_`` of an estimator."""
        estimator.n_features_in_, names = self.metadata[0].n_features, self.metadata[0].names
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)

    def select(self, indices: Ints) -> tuple[FeatureMatrix, Evidence]:
        """Return some labeled rows with their evidence, which is float64 if that of any of them is.

        Parameters
        ----------
        indices : ndarray of int
            Ascending indices among the labeled rows of all blocks.
        """
        ends = np.cumsum([entry.n_labeled for entry in self.metadata])
        by_block = np.split(indices, np.searchsorted(indices, ends[:-1]))
        tasks = [
            delayed_task(_select_rows, block, block_indices - (end - entry.n_labeled))
            for block, block_indices, end, entry in zip(self.blocks, by_block, ends, self.metadata)
            if len(block_indices)
        ]
        results = compute(tasks)
        rows, evidence = [X for X, _ in results], [own for _, own in results]
        joined = sp.vstack(rows, format="csr") if any(map(sp.issparse, rows)) else np.concatenate(rows)
        return joined, np.concatenate(evidence)

    def _check(self, numbers: list[int]) -> None:
        if not self.metadata:
            raise InputError("`X` must have at least one row; all of its blocks are empty.")
        first = self.metadata[0]
        for number, entry in zip(numbers, self.metadata):
            if (entry.n_features, entry.names) != (first.n_features, first.names):
                raise InputError(
                    f"all blocks of `X` must have the same columns; block {number} of X has {entry.n_features} "
                    f"features, block {numbers[0]} has {first.n_features}, or their names differ."
                )
        if len(self.classes) < 2:
            raise LabelError(f"`y` must have at least two classes; got only one class ({self.classes.tolist()[0]!r}).")
        if not self.n_labeled:
            raise LabelError(
                "`y` must have at least one row with a label or a smaller set; every row of every block of y is "
                "unlabeled (its set contains all classes)."
            )

    def _in_one_precision(self) -> "RowBlocks":
        """Return blocks of one precision, that of a single array of all rows."""
        dtype = np.result_type(*(entry.dtype for entry in self.metadata))
        if all(entry.dtype == dtype for entry in self.metadata):
            return self
        blocks = persist([delayed_task(_cast, block, dtype) for block in self.blocks])
        return RowBlocks(blocks, [replace(entry, dtype=dtype) for entry in self.metadata], self.classes)


@contextmanager
def block_error_context(number: int) -> Iterator[None]:
    """Add the number of the block to the message of an error."""
    try:
        yield
    except ValueError as error:
        error_type = type(error) if isinstance(error, InputError) else InputError
        raise error_type(f"block {number}: {error}") from error


def _union_of_classes(labels: DelayedBlocks) -> Labels:
    return common_classes(compute([delayed_task(_label_values, number, y) for number, y in enumerate(labels.blocks)]))


def _label_values(number: int, y: Any) -> Any:
    with block_error_context(number):
        return collect_values(y)


def _read_block(number: int, X: Any, y: Any, template: Any, classes: Labels) -> tuple[RowBlock, BlockMetadata]:
    """Return a block that is validated as the estimator does; an empty block is not read."""
    with block_error_context(number):
        n_rows, n_sets = X.shape[0], y.shape[0] if hasattr(y, "shape") else len(y)
        candidates = as_candidates(y, classes=classes) if n_sets else None
        if n_rows != n_sets:
            raise InputError(
                f"`y` must have the same number of rows as X; got {n_sets} for {n_rows}. Use "
                "y.rechunk({0: X.chunks[0]})."
            )
        if candidates is None:
            empty = RowBlock(number, np.zeros((0, X.shape[1])), np.zeros((0, len(classes)), dtype=bool))
            return empty, BlockMetadata(0, 0, 0, np.dtype(np.float64), X.shape[1], None)
        estimator = clone(template)
        rows = estimator._validate_rows(X, reset=True, finite=False)
        check_finite(rows)
        names = tuple(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else None
        block = RowBlock(number, rows, np.array(candidates.evidence))
        labeled = block.labeled
        n_partial = int((labeled & (support(block.evidence).sum(axis=1) > 1)).sum())
        return block, BlockMetadata(n_rows, int(labeled.sum()), n_partial, rows.dtype, rows.shape[1], names)


def _cast(block: RowBlock, dtype: Any) -> RowBlock:
    return replace(block, X=block.X.astype(dtype, copy=False))


def _select_rows(block: RowBlock, indices: Ints) -> tuple[FeatureMatrix, Evidence]:
    rows, evidence = block.labeled_rows()
    return rows[indices], evidence[indices]
