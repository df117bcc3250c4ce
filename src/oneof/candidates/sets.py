"""The candidate sets of a data set: one representation of exact, partial and missing labels."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.candidates import annotations, collections, indicator
from oneof.candidates.labels import codes_to_mask, encode_labels
from oneof.candidates.row_weights import RowWeights, read_weights, same_weights, split_weights
from oneof.errors import InputError, InputTypeError
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_array


class CandidateSets:
    """Candidate sets: for each row, the classes that may be its true label.

    Row i has a non-empty set of classes, one of which is its true label. A set of one class is an exact label. A set of
    all classes represents a missing label, and still does if the sets are later converted to more classes.

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
        mask, classes = indicator.read_indicator(as_array(mask, "the mask"), classes)
        self._set_fields(mask, classes)

    @classmethod
    def _from_validated(cls, mask: Mask, classes: Labels, row_weights: RowWeights | None = None) -> "CandidateSets":
        """Return candidate sets of a valid mask, which is copied only if it is not C-contiguous."""
        out = object.__new__(cls)
        out._set_fields(mask, classes, row_weights)
        return out

    def _set_fields(self, mask: Mask, classes: Labels, row_weights: RowWeights | None = None) -> None:
        self._mask: Mask = np.ascontiguousarray(mask)  # numba compiles a loop for each memory layout
        self._classes: Labels = classes.view()  # estimators return it as `classes_`; selections of rows share it
        self._mask.flags.writeable = self._classes.flags.writeable = False
        self._row_weights = row_weights

    # -- constructors ---------------------------------------------------------------------------------------------

    @classmethod
    def from_labels(cls, y: Any, *, classes: Any = None) -> "CandidateSets":
        """Build candidate sets from one label per row.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels. None and NaN mean "unlabeled"; so does -1 among other integers, unless `classes` lists it.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): one class in each labeled row, all classes in the others.

        Raises
        ------
        LabelError
            If a label is unknown, continuous or infinite, or if `y` contains only -1 and +1 and `classes` is not given.
        """
        codes, known = encode_labels(y, classes)
        return cls._from_validated(codes_to_mask(codes, len(known)), known)

    @classmethod
    def from_sets(cls, sets: Any, *, classes: Any = None) -> "CandidateSets":
        """Build candidate sets from one collection of labels per row.

        Parameters
        ----------
        sets : sequence of length n_samples
            Each a list, tuple, set or array of labels; also a single label, or None for "unlabeled". List columns of
            pandas, polars and Arrow are accepted. A label that is repeated within a set counts once.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the labels of each row, all classes in unlabeled rows.

        Raises
        ------
        LabelError
            If a set is empty or contains an unknown or missing label; the error names the row.
        """
        return cls._from_validated(*collections.read_sets(sets, classes))

    @classmethod
    def from_indicator(cls, Y: Any, *, classes: Any = None) -> "CandidateSets":
        """Build candidate sets from a 0/1 matrix with one column per class.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_classes)
            1 (or True) if the class is a candidate. A row that is all NaN is unlabeled.
        classes : array-like of shape (n_classes,), optional
            The classes, in the order of the columns; by default the column names of a DataFrame, else 0, 1, ...

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the ones of `Y`, all classes in rows of NaN.

        Raises
        ------
        LabelError
            If a value is neither 0 nor 1 or a row has no 1; the error names the row.
        """
        return cls._from_validated(*indicator.read_indicator(Y, classes))

    @classmethod
    def from_weights(
        cls,
        W: Any,
        classes: Any = None,
        *,
        kind: Literal["likelihood", "posterior"] = "likelihood",
        prior: Any = None,
    ) -> "CandidateSets":
        """Build candidate sets with weights, such as probabilities that a classifier or a language model printed.

        Parameters
        ----------
        W : array-like, sparse matrix or DataFrame of shape (n_samples, n_classes)
            Numbers of at least 0. A weight of 0 rules out the class. A row of equal weights is unlabeled, and a row
            whose weights above 0 are equal is a candidate set.
        classes : array-like of shape (n_classes,), optional
            The classes, in the order of the columns; by default the column names of a DataFrame, else 0, 1, ...
        kind : {"likelihood", "posterior"}, default="likelihood"
            "likelihood": proportional to p(evidence | class), such as the votes of annotators or the accuracy of a
            rule. "posterior": p(class | evidence), which contains a prior, such as the output of a classifier; it is
            divided by the prior.
        prior : array-like of shape (n_classes,), optional
            The class frequencies on which the posteriors are based; by default the mean of `W` over the rows. Only for
            ``kind="posterior"``.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes).

        Raises
        ------
        LabelError
            If a weight is negative, NaN or infinite, or a row is all 0; the error names the row.
        InputError
            If `kind` is unknown or the prior is invalid.
        """
        weights, known = read_weights(W, classes, kind, prior)
        mask, row_weights = split_weights(weights)
        return cls._from_validated(mask, known, row_weights)

    @classmethod
    def from_annotations(
        cls, answers: Any, *, classes: Any = None, min_votes: int = 1, top_k: int | None = None
    ) -> "CandidateSets":
        """Build candidate sets from the answers of several annotators.

        Parameters
        ----------
        answers : array-like of shape (n_samples, n_annotators)
            Labels; None, NaN, or -1 among integers for a missing answer.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        min_votes : int, default=1
            Number of votes, at least 1, that a label needs to be a candidate.
        top_k : int, optional
            Retain only the labels with the `top_k` highest vote counts of the row, and all labels that tie with the
            last of them.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes). A row in which no label has enough votes is unlabeled.

        Raises
        ------
        InputError
            If `min_votes` or `top_k` is not an integer above 0, or `min_votes` exceeds the number of annotators.
        LabelError
            If an answer is unknown or not a label, rows have different lengths, or `answers` contains only -1 and +1
            and `classes` is not given.
        """
        return cls._from_validated(*annotations.read_annotations(answers, classes, min_votes=min_votes, top_k=top_k))

    @classmethod
    def from_complementary(cls, y: Any, *, classes: Any = None) -> "CandidateSets":
        """Build candidate sets from complementary labels, which are ruled out; all other classes are candidates.

        Parameters
        ----------
        y : sequence of length n_samples
            A label, or a collection of labels, that is ruled out for the row; None if no label is.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur. Required if some class is never ruled out.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the classes that are not ruled out.

        Raises
        ------
        LabelError
            If all classes of a row are ruled out; the error names the row.
        """
        return cls._from_validated(*collections.read_complementary(y, classes))

    @classmethod
    def from_hierarchy(cls, y: Any, hierarchy: Any, *, classes: Any = None) -> "CandidateSets":
        """Build candidate sets from the labels of a tree: a coarse label stands for all leaves below it.

        Parameters
        ----------
        y : sequence of length n_samples
            Coarse labels or leaves, or collections of them; None for an unlabeled row.
        hierarchy : mapping
            From a coarse label to its children, which may be coarse labels themselves.
        classes : array-like of shape (n_classes,), optional
            The leaves in the requested order; by default all leaves, sorted.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes), with a column per leaf: in each row the leaves below its labels, all leaves
            in unlabeled rows.

        Raises
        ------
        LabelError
            If a label is neither in the hierarchy nor a leaf (the error names row and label), or if the hierarchy has a
            cycle.
        """
        return cls._from_validated(*collections.read_hierarchy(y, hierarchy, classes))

    @classmethod
    def from_strings(cls, y: Any, *, separator: str = "|", classes: Any = None) -> "CandidateSets":
        r"""Build candidate sets from delimited text such as ``"sparrow|finch"``.

        Parameters
        ----------
        y : sequence of str of length n_samples
            Labels joined by the separator; spaces around a label are removed. Empty text, None and NaN mean
            "unlabeled". A separator or backslash within a label is escaped by a backslash.
        separator : str, default="|"
            The text between two labels.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the labels of each text, all classes in unlabeled rows.

        Raises
        ------
        LabelError
            If a label is empty (``"a||b"``) or unknown; the error names the row.
        """
        return cls._from_validated(*collections.read_strings(y, separator, classes))

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

        Returns
        -------
        list of set
        """
        return collections.write_sets(self._mask, self._classes)

    def to_strings(self, *, separator: str = "|") -> list[str]:
        """Return text that `from_strings` reads back, except for spaces around labels; an unlabeled row is empty text.

        Parameters
        ----------
        separator : str, default="|"
            The text between two labels of a set; within a label it is escaped by a backslash.

        Returns
        -------
        list of str
        """
        return collections.write_strings(self._mask, self._classes, separator)

    # -- sequence protocol ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._mask.shape[0]

    def __getitem__(self, rows: Any) -> "CandidateSets":
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool | np.bool_):
            raise InputTypeError(
                f"the index of candidate sets must be a slice, mask or array; got {rows}. Use "
                f"candidates[{rows}:{rows + 1}], or to_sets()[{rows}]."
            )
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
        weighted = "" if self._row_weights is None else f", {int(self.is_weighted.sum())} weighted"
        return (
            f"<CandidateSets of {len(self)} rows, {len(self._classes)} classes: "
            f"{exact} exact, {partial} partial{weighted}, {unlabeled} unlabeled>"
        )
