"""Rows with their candidate sets, read block by block where they lie."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from oneof.candidates import as_candidates, as_classes, collect_values, common_classes
from oneof.distributed.collections import Parts, parts_of_labels, parts_of_rows, require_dask
from oneof.distributed.reduction import compute, persist, shared, task
from oneof.errors import InputError, LabelError
from oneof.typing import FeatureMatrix, Ints, Labels, Mask
from oneof.validation import check_finite


@dataclass(frozen=True)
class Block:
    """What a worker holds."""

    number: int
    X: FeatureMatrix
    """(n_b, d): checked, in the precision that all blocks have."""
    mask: Mask
    """(n_b, K)."""

    @property
    def told(self) -> Mask:
        """(n_b,): the rows whose set does not hold every class."""
        return np.asarray(~self.mask.all(axis=1))

    def told_rows(self) -> tuple[FeatureMatrix, Mask]:
        """Return them with their sets."""
        told = self.told
        return (self.X, self.mask) if told.all() else (self.X[told], self.mask[told])


@dataclass(frozen=True)
class Facts:
    """What is known of a block without looking at it again."""

    n_rows: int
    n_told: int
    dtype: Any
    n_features: int
    names: tuple[str, ...] | None
    """Of the features, where they have some."""


@dataclass(frozen=True)
class Blocks:
    """All blocks that hold rows."""

    parts: list[Any]
    """Each is a `Block`, persisted: the workers hold it."""
    facts: list[Facts]
    classes: Labels
    """(K,)."""

    @classmethod
    def read(cls, estimator: Any, X: Any, y: Any, classes: Any) -> "Blocks":
        """Read and check the blocks as the estimator would read them.

        Raises
        ------
        InputError
            If they cannot be read, or do not fit together.
        """
        require_dask()
        given = None if classes is None else as_classes(classes)
        rows = parts_of_rows(X)
        labels = parts_of_labels(y, rows, given)
        agreed = _agreed_classes(labels) if given is None else given
        reader = shared(clone(estimator))
        read = [
            task(_read, number, part, sets, reader, agreed, nout=2)
            for number, (part, sets) in enumerate(zip(rows.parts, labels.parts, strict=True))
        ]
        held = persist([block for block, _ in read] + [facts for _, facts in read])
        facts = _sound(compute(held[len(read) :]))
        full = [number for number, own in enumerate(facts) if own.n_rows]
        blocks = cls([held[number] for number in full], [facts[number] for number in full], agreed)
        blocks._check(full)
        return blocks._in_one_precision()

    @property
    def n_rows(self) -> int:
        """N."""
        return sum(own.n_rows for own in self.facts)

    @property
    def n_told(self) -> int:
        """Rows that say something of their label."""
        return sum(own.n_told for own in self.facts)

    @property
    def told(self) -> "Blocks":
        """The blocks in which some row says something."""
        kept = [number for number, own in enumerate(self.facts) if own.n_told]
        return Blocks([self.parts[number] for number in kept], [self.facts[number] for number in kept], self.classes)

    @property
    def dtype(self) -> Any:
        """Of the rows."""
        return self.facts[0].dtype

    def describe(self, estimator: Any) -> None:
        """Set what an estimator keeps of the rows of fit."""
        estimator._read_rows(compute(task(_head, self.parts[0])), reset=True)
        if self.facts[0].names is not None:
            estimator.feature_names_in_ = np.array(self.facts[0].names, dtype=object)

    def take(self, told: Ints) -> tuple[FeatureMatrix, Mask]:
        """Return some of the rows that say something, counted over all blocks, in rising order."""
        ends = np.cumsum([own.n_told for own in self.facts])
        cuts = np.split(told, np.searchsorted(told, ends[:-1]))
        wanted = [
            task(_taken, part, own - (end - facts.n_told))
            for part, own, end, facts in zip(self.parts, cuts, ends, self.facts)
            if len(own)
        ]
        taken = compute(wanted)
        rows, masks = [X for X, _ in taken], [mask for _, mask in taken]
        joined = sp.vstack(rows, format="csr") if any(map(sp.issparse, rows)) else np.concatenate(rows)
        return joined, np.concatenate(masks)

    def _check(self, numbers: list[int]) -> None:
        if not self.facts:
            raise InputError("X has no rows: every block is empty.")
        first = self.facts[0]
        for number, own in zip(numbers, self.facts):
            if (own.n_features, own.names) != (first.n_features, first.names):
                raise InputError(
                    f"block {number} of X has {own.n_features} features, block {numbers[0]} has {first.n_features}, or "
                    "they have other names: give all blocks the same columns."
                )
        if len(self.classes) < 2:
            raise LabelError(
                f"y names only one class ({self.classes.tolist()[0]!r}): a classifier needs at least two classes."
            )
        if not self.n_told:
            raise LabelError(
                "every row of every block of y is unlabeled (its set holds all classes), so there is nothing to learn "
                "from: give some row a label or a smaller set."
            )

    def _in_one_precision(self) -> "Blocks":
        """Return blocks of one precision, as one array of all rows would have."""
        dtype = np.result_type(*(own.dtype for own in self.facts))
        other = [number for number, own in enumerate(self.facts) if own.dtype != dtype]
        if not other:
            return self
        parts, facts = list(self.parts), list(self.facts)
        for number, part in zip(other, persist([task(_cast, parts[number], dtype) for number in other])):
            parts[number], facts[number] = part, replace(facts[number], dtype=dtype)
        return Blocks(parts, facts, self.classes)


@contextmanager
def in_block(number: int) -> Iterator[None]:
    """Say of an error in which block it is."""
    try:
        yield
    except ValueError as error:
        kind = type(error) if isinstance(error, InputError) else InputError
        raise kind(f"block {number}: {error}") from error


def _sound(answers: list[Any]) -> list[Any]:
    """Return the answers of all blocks, or raise the error of the first that has one, whichever was met first."""
    for answer in answers:
        if isinstance(answer, InputError):
            raise answer
    return answers


def _agreed_classes(labels: Parts) -> Labels:
    return common_classes(_sound(compute([task(_named, number, part) for number, part in enumerate(labels.parts)])))


def _named(number: int, y: Any) -> Any:
    try:
        with in_block(number):
            return collect_values(y)
    except InputError as error:
        return error


def _read(number: int, X: Any, y: Any, reader: Any, classes: Labels) -> tuple[Block | None, Facts | InputError]:
    try:
        return _checked(number, X, y, reader, classes)
    except InputError as error:
        return None, error


def _checked(number: int, X: Any, y: Any, reader: Any, classes: Labels) -> tuple[Block, Facts]:
    with in_block(number):
        if len(y) if not sp.issparse(y) else y.shape[0]:
            candidates = as_candidates(y, classes=classes)
        else:
            candidates = None
        n_rows, n_sets = X.shape[0], 0 if candidates is None else len(candidates)
        if n_rows != n_sets:
            raise InputError(f"X has {n_rows} rows, but y has {n_sets} candidate sets: give them the same blocks.")
        if candidates is None:
            empty = Block(number, np.zeros((0, X.shape[1])), np.zeros((0, len(classes)), dtype=bool))
            return empty, Facts(0, 0, np.dtype(np.float64), X.shape[1], None)
        own = clone(reader)
        rows = own._read_rows(X, reset=True, finite=False)
        check_finite(rows)
        names = tuple(own.feature_names_in_) if hasattr(own, "feature_names_in_") else None
        block = Block(number, rows, np.array(candidates.mask))
        return block, Facts(n_rows, int(block.told.sum()), rows.dtype, rows.shape[1], names)


def _cast(block: Block, dtype: Any) -> Block:
    return replace(block, X=block.X.astype(dtype))


def _head(block: Block) -> Any:
    head = block.X[:1]
    return head.toarray() if sp.issparse(head) else head


def _taken(block: Block, told: Ints) -> tuple[FeatureMatrix, Mask]:
    rows, mask = block.told_rows()
    return rows[told], mask[told]
