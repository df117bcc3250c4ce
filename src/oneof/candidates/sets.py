"""The candidate sets of a data set: one representation of exact, partial and missing labels."""

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Self, overload

import numpy as np
import scipy.sparse as sp

from oneof.candidates.cells import write_cells
from oneof.candidates.constructors import Constructors
from oneof.candidates.encoding import write_sets
from oneof.candidates.labels import pack_classes, sort_labels
from oneof.candidates.matrices import read_indicator
from oneof.candidates.row_weights import RowWeights, same_weights, soften_weights, split_weights
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_array

_REMEDIES = {
    "sklearn.metrics": "Pass scoring=oneof.model_selection.covering_rate_scorer to cross_val_score, cross_validate and "
    "GridSearchCV, or use a metric of oneof.metrics, such as covering_rate.",
    "sklearn.model_selection": "Split the rows by CandidateKFold of oneof.model_selection, as in "
    "`next(CandidateKFold(4).split(X, y))`, and predict them by its cross_val_predict.",
    "": "Fit an estimator of oneof, such as CandidateEM(classifier), or pass the labels of `disambiguate`.",
}
"""What to do in place of a function that needs exact labels, by its module."""
_READ_LABELS = frozenset({"type_of_target", "column_or_1d"})
"""Functions of sklearn.utils that need one label per row; `check_array` alone accepts any targets."""


class _UnorderedSet(set[Any]):
    """Set of an array of sets. It is an error to sort it as a class, or to ask for the type of a target of sets."""

    def __lt__(self, other: object) -> bool:
        _check_reader()
        raise InputTypeError(f"candidate sets cannot be sorted: this function needs exact labels. {_REMEDIES['']}")

    @property
    def __array__(self) -> Any:
        """No array. `type_of_target` of scikit-learn asks for it, which reads any other object as an unknown target."""
        _check_reader()
        raise AttributeError("__array__")

    def __repr__(self) -> str:
        return repr(set(self))


class CandidateSets(Constructors):
    """Candidate sets: for each row, the classes that may be its true label.

    Row i has a non-empty set of classes, one of which is its true label. A set of one class is an exact label. A set of
    all classes represents a missing label, and still does if the sets are later converted to more classes. A row may
    have weights, which are proportional to the probability of its evidence if the class is the true one; its set is
    then the classes with a weight above 0. Rows without weights are stored as a mask.

    Parameters
    ----------
    mask : array-like of shape (n_samples, n_classes), bool
        True if the class is a candidate of the row.
    classes : array-like of shape (n_classes,)
        The classes, in the order of the columns.

    Examples
    --------
    >>> from oneof import CandidateSets
    >>> y = CandidateSets.from_sets([["finch", "wren"], ["wren"], None])
    >>> y.classes.tolist()
    ['finch', 'wren']
    >>> y.sizes
    array([2, 1, 2])
    >>> y.is_exact
    array([False,  True, False])
    """

    __slots__ = ("_classes", "_mask", "_row_weights")

    def __init__(self, mask: Any, classes: Any) -> None:
        mask, classes = read_indicator(as_array(mask, "the mask"), classes)
        self._set_fields(mask, classes)

    @classmethod
    def _from_validated(cls, mask: Mask, classes: Labels, row_weights: RowWeights | None = None) -> Self:
        """Return candidate sets of a valid mask, which is copied only if it is not C-contiguous."""
        out = object.__new__(cls)
        out._set_fields(mask, classes, row_weights)
        return out

    def _set_fields(self, mask: Mask, classes: Labels, row_weights: RowWeights | None = None) -> None:
        self._mask: Mask = np.ascontiguousarray(mask)  # numba compiles a loop for each memory layout
        self._classes: Labels = classes.view()  # estimators return it as `classes_`; selections of rows share it
        self._mask.flags.writeable = self._classes.flags.writeable = False
        self._row_weights = row_weights

    # -- attributes -----------------------------------------------------------------------------------------------

    @property
    def mask(self) -> Mask:
        """Candidates of each row as a boolean array of shape (n_samples, n_classes), read-only."""
        return self._mask

    @property
    def weights(self) -> Floats:
        """Weights of the classes, a new array of shape (n_samples, n_classes): 1 at the best classes of each row.

        A weight is proportional to the probability of the row's evidence if the class is the true one. In a row without
        weights it is 1 for the candidates. It is 0 for all classes that are not candidates.
        """
        return self._mask.astype(np.float64) if self._row_weights is None else self._row_weights.over(self._mask)

    @property
    def evidence(self) -> Evidence:
        """The argument of the solvers: `mask` if no row has weights, otherwise `weights`."""
        return self._mask if self._row_weights is None else self.weights

    @property
    def is_weighted(self) -> Mask:
        """Mask of the rows whose candidates have different weights, of shape (n_samples,)."""
        return np.zeros(len(self), dtype=bool) if self._row_weights is None else self._row_weights.is_weighted.copy()

    @property
    def classes(self) -> Labels:
        """Classes in the order of the mask's columns, of shape (n_classes,), read-only."""
        return self._classes

    @property
    def sizes(self) -> Ints:
        """Number of candidates of each row, of shape (n_samples,)."""
        return np.count_nonzero(self._mask, axis=1)

    @property
    def is_exact(self) -> Mask:
        """Mask of the rows with one candidate, of shape (n_samples,)."""
        return self.sizes == 1

    @property
    def is_unlabeled(self) -> Mask:
        """Mask of the rows whose candidates are all classes, with equal weights, of shape (n_samples,)."""
        full = np.asarray(self._mask.all(axis=1))
        return full if self._row_weights is None else full & ~self._row_weights.is_weighted

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of classes, (n_samples, n_classes)."""
        rows, columns = self._mask.shape
        return rows, columns

    # -- conversions ----------------------------------------------------------------------------------------------

    def to_indicator(self, *, sparse: bool = False) -> Any:
        """Return a 0/1 matrix of int8, dense or CSR, as scikit-learn's cross-validation expects.

        In weighted rows it is 1 for all weights above 0; `weights` has the weights themselves.

        Parameters
        ----------
        sparse : bool, default=False
            Return a CSR array instead of a dense one.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_classes), int8
        """
        return sp.csr_array(self._mask, dtype=np.int8) if sparse else self._mask.astype(np.int8)

    def to_sets(self) -> list[set[Any]]:
        """Return a list of Python sets of labels; the set of an unlabeled row contains every class.

        The set of a weighted row has all classes with a weight above 0.

        Returns
        -------
        list of set
        """
        return write_sets(self._mask, self._classes)

    def to_strings(self, *, separator: str = "|", write_full: bool = False) -> list[str]:
        """Return text that `from_strings` reads back, except for spaces around labels.

        An unlabeled row is empty text, and so is a set of all classes, which is the same. Pass `classes` to read back
        classes that occur in such rows only. Weights are written after colons, as in ``"finch:1.0|wren:0.3"``, for
        ``from_strings(y, weighted=True)``.

        Parameters
        ----------
        separator : str, default="|"
            Text between labels, in which it is escaped by a backslash; the first one of several signs, such as "| ;".
            "[]" writes lists of JSON, and objects for rows with weights.
        write_full : bool, default=False
            Write sets of all classes in full, as those of predictions, and no weights.

        Returns
        -------
        list of str
        """
        return write_cells(self._mask, self._classes, self._row_weights, separator, write_full=write_full)

    def soften(self, noise_rate: Any) -> "CandidateSets":
        """Return weights for sets that may exclude the true class.

        Let e be the noise rate and s < n_classes the size of a set. A class of the set gets the weight 1, any other
        class e / (1 - e) * s / (n_classes - s). This is the likelihood of the set if it contains the true class with
        probability 1 - e and if all sets of size s that contain it, or exclude it, have equal probability. In a
        weighted row, each level set {k : w_k >= a} is softened in the same way.

        Parameters
        ----------
        noise_rate : float or array-like of shape (n_samples,)
            The probability that the set of a row excludes the true class, at least 0 and below 1.

        Returns
        -------
        CandidateSets
            Of the same shape. Unlabeled rows and rows with noise rate 0 do not change.

        Raises
        ------
        InputError
            If a noise rate is not in [0, 1).

        Examples
        --------
        >>> from oneof import CandidateSets
        >>> CandidateSets.from_labels(["finch", "wren", None]).soften(0.2).weights
        array([[1.  , 0.25],
               [0.25, 1.  ],
               [1.  , 1.  ]])
        """
        mask, row_weights = split_weights(soften_weights(self.evidence, noise_rate))
        return CandidateSets._from_validated(mask, self._classes, row_weights)

    @classmethod
    def concatenate(cls, blocks: Iterable["CandidateSets"]) -> Self:
        """Join the rows of several candidate sets, with their weights.

        The classes are those of the first block if it has all classes, otherwise the sorted union. A row of all classes
        of its block, with equal weights, is unlabeled, and remains unlabeled. In other rows, a class that is not in the
        block is not a candidate, and has the weight 0. If it may be the true class, or if a set of all classes of a
        block is not a missing label, build all blocks with the same `classes`.

        Parameters
        ----------
        blocks : iterable of CandidateSets
            At least one, with or without weights.

        Returns
        -------
        CandidateSets
            Of shape (total number of rows, n_classes); the rows are in the order of the blocks.

        Raises
        ------
        InputTypeError
            If a block is not a `CandidateSets`.
        InputError
            If `blocks` is empty, or a block has one class and others have more.
        LabelError
            If the classes of the blocks are of different types, such as strings and numbers.

        Examples
        --------
        >>> from oneof import CandidateSets
        >>> first = CandidateSets.from_labels(["finch", "wren", None])
        >>> second = CandidateSets.from_weights([{"owl": 1.0, "wren": 0.2}])
        >>> y = CandidateSets.concatenate([first, second])
        >>> y.classes.tolist()
        ['finch', 'owl', 'wren']
        >>> y.weights
        array([[1. , 0. , 0. ],
               [0. , 0. , 1. ],
               [1. , 1. , 1. ],
               [0. , 1. , 0.2]])
        """
        if isinstance(blocks, CandidateSets) or not isinstance(blocks, Iterable):
            raise InputTypeError(f"`blocks` must be a list of CandidateSets; got {blocks!r}.")
        listed = list(blocks)
        for number, block in enumerate(listed):
            if not isinstance(block, CandidateSets):
                raise InputTypeError(
                    f"`blocks` must be a list of CandidateSets; got a {type(block).__name__} at position {number}. "
                    "Build each block with a constructor such as CandidateSets.from_labels."
                )
        if not listed:
            raise InputError("`blocks` must have at least one CandidateSets; got none.")
        classes = listed[0].classes
        labels = {label for block in listed for label in block.classes.tolist()}
        if not labels <= set(classes.tolist()):
            classes = pack_classes(sort_labels(labels))
        for number, block in enumerate(listed):
            if len(block.classes) == 1 < len(classes) and len(block):
                raise InputError(
                    f"block {number} has the class {block.classes.tolist()[0]!r} only, so that its labels cannot be "
                    "distinguished from missing ones. Pass all classes to its constructor, as `classes`."
                )
        aligned = [align(block, classes) for block in listed]
        mask = np.concatenate([block._mask for block in aligned])
        values = [block._row_weights.values for block in aligned if block._row_weights is not None]
        if not values:
            return cls._from_validated(mask, classes)
        is_weighted = np.concatenate([block.is_weighted for block in aligned])
        return cls._from_validated(mask, classes, RowWeights(is_weighted, np.concatenate(values)))

    # -- sequence protocol ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._mask.shape[0]

    @overload
    def __getitem__(self, rows: int) -> set[Any]: ...

    @overload
    def __getitem__(self, rows: Any) -> "CandidateSets": ...

    def __getitem__(self, rows: Any) -> "CandidateSets | set[Any]":
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool | np.bool_):
            if not -len(self) <= rows < len(self):
                raise InputError(f"candidate sets of {len(self)} rows cannot be indexed by {rows}.")
            return write_sets(self._mask[rows][None, :], self._classes)[0]
        try:
            mask = self._mask[rows]
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(f"candidate sets of {len(self)} rows cannot be indexed by {rows!r}: {error}.") from None
        if mask.ndim != 2 or mask.shape[1] != len(self._classes):
            raise InputTypeError(
                "candidate sets are indexed by rows only: a slice, a boolean mask or an array of rows."
            )
        row_weights = None if self._row_weights is None else self._row_weights.select(rows)
        return CandidateSets._from_validated(mask, self._classes, row_weights)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return an array of Python sets: the form in which scikit-learn inspects labels."""
        if (dtype is not None and np.dtype(dtype) != object) or copy is False:
            raise InputTypeError(
                f"candidate sets are converted to a new array of sets only; got dtype={dtype}, copy={copy}. For "
                "numbers use `mask`, `weights` or to_indicator()."
            )
        _check_reader()
        return np.fromiter(map(_UnorderedSet, self.to_sets()), dtype=object, count=len(self))

    def __iter__(self) -> Iterator[set[Any]]:
        return iter(self.to_sets())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return NotImplemented
        return (
            np.array_equal(self._classes, other._classes)
            and np.array_equal(self._mask, other._mask)
            and same_weights(self._row_weights, other._row_weights)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by value, and not hashable, like ndarray

    def __getstate__(self) -> tuple[Any, ...]:
        return self._mask, self._classes, self._row_weights

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set_fields(*state)  # without the weights in states of earlier versions

    def __repr__(self) -> str:
        exact, unlabeled = int(self.is_exact.sum()), int(self.is_unlabeled.sum())
        partial = len(self) - int((self.is_exact | self.is_unlabeled).sum())
        weighted = "" if self._row_weights is None else f" ({int(self.is_weighted.sum())} weighted)"
        return (
            f"<CandidateSets of {len(self)} rows, {len(self._classes)} classes: "
            f"{exact} exact, {partial} partial{weighted}, {unlabeled} unlabeled>"
        )


def _check_reader() -> None:
    """Raise if a function of scikit-learn reads the sets as exact labels.

    Its own error, "Unknown label type: unknown", would not name the remedy. The outermost function of scikit-learn is
    named. `check_cv` only asks whether the labels can be stratified.
    """
    frame: FrameType | None = sys._getframe(2)
    utilities: set[str] = set()
    readers: list[tuple[str, str]] = []
    while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith(("sklearn.", "numpy.")):
        if module.startswith(("sklearn.utils", "sklearn.externals", "sklearn.base", "numpy.")):
            utilities |= {frame.f_code.co_name} if not readers else set()
        else:
            owner = frame.f_locals.get("self")
            readers.append((module, frame.f_code.co_name if owner is None else type(owner).__name__))
        frame = frame.f_back
    if not readers or readers[0][1] == "check_cv":
        return
    modules = [".".join(module.split(".")[:2]) for module, _ in readers]
    if "check_array" in utilities and not utilities & _READ_LABELS and modules[0] != "sklearn.metrics":
        return
    name = next(name for _, name in [*reversed(readers), readers[0]] if name.strip("_") == name)
    remedy = _REMEDIES[next((module for module in modules if module in _REMEDIES), "")]
    raise InputTypeError(f"{name} of scikit-learn needs one exact label per row, not candidate sets. {remedy}")


def align(candidates: CandidateSets, classes: Labels) -> CandidateSets:
    """Return the same sets, or weights, over other classes, which must include every candidate of a labeled row.

    An unlabeled row stays unlabeled, even if there are now more classes.
    """
    if np.array_equal(candidates.classes, classes):
        return candidates
    column = {value: k for k, value in enumerate(classes.tolist())}
    unlabeled = candidates.is_unlabeled
    evidence = candidates.evidence
    aligned: Evidence = np.zeros((len(candidates), len(classes)), dtype=evidence.dtype)
    for k, value in enumerate(candidates.classes.tolist()):
        if value in column:
            aligned[:, column[value]] = evidence[:, k]
        elif (candidates.mask[:, k] & ~unlabeled).any():
            row = int(np.flatnonzero(candidates.mask[:, k] & ~unlabeled)[0])
            raise LabelError(
                f"label {value!r} is not one of the {len(classes)} classes seen in fit.",
                row=row,
                label=value,
                cause="unknown label",
            )
    aligned[unlabeled] = 1
    if aligned.dtype == bool:
        return CandidateSets._from_validated(aligned, classes)
    mask, row_weights = split_weights(aligned)
    return CandidateSets._from_validated(mask, classes, row_weights)
