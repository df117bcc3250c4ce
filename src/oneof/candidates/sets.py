"""Candidate sets: the one representation of exact, partial and missing labels."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates import annotations, indicator, named_sets, strings
from oneof.candidates.labels import encode_labels, mask_of_codes
from oneof.errors import InputError, InputTypeError
from oneof.typing import Ints, Labels, Mask
from oneof.validation import as_array


class CandidateSets:
    """What is known of each row's label: one label, several, or nothing.

    Row i carries a non-empty set of classes, one of which is its true label. A set of one class is an exact label;
    a set of all classes says nothing, and is how a missing label is kept, also where the sets are later read over more
    classes.

    Parameters
    ----------
    mask : array-like of shape (n_samples, n_classes), bool
        True where the class is a candidate of the row.
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

    __slots__ = ("_classes", "_mask")

    def __init__(self, mask: Any, classes: Any) -> None:
        mask, classes = indicator.read_indicator(as_array(mask, "the mask"), classes)
        self._keep(mask, classes)

    @classmethod
    def _wrap(cls, mask: Mask, classes: Labels) -> "CandidateSets":
        """Take a mask that is known to be sound, without a copy, but for one whose columns lie together."""
        out = object.__new__(cls)
        out._keep(mask, classes)
        return out

    def _keep(self, mask: Mask, classes: Labels) -> None:
        self._mask: Mask = np.ascontiguousarray(mask)  # loops compile anew for each layout
        self._classes: Labels = classes.view()  # estimators hand it on as `classes_`, and selections of rows share it
        self._mask.flags.writeable = self._classes.flags.writeable = False

    # -- constructors ---------------------------------------------------------------------------------------------

    @classmethod
    def from_labels(cls, y: Any, *, classes: Any = None) -> "CandidateSets":
        """Read one label a row.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels. None and NaN mean "unlabeled"; so does -1 among other integers, unless `classes` lists it.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): one class in each row that has a label, all in the others.

        Raises
        ------
        LabelError
            If a label is unknown, continuous or infinite, or if `y` holds only -1 and +1 and `classes` is not given.
        """
        codes, found = encode_labels(y, classes)
        return cls._wrap(mask_of_codes(codes, len(found)), found)

    @classmethod
    def from_sets(cls, sets: Any, *, classes: Any = None) -> "CandidateSets":
        """Read one collection of labels a row.

        Parameters
        ----------
        sets : sequence of length n_samples
            Each a list, tuple, set or array of labels; also a single label, or None for "unlabeled". Columns of lists
            of pandas, polars and Arrow are read too. A label that is repeated within a set counts once.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the classes that each row names, all in rows without a set.

        Raises
        ------
        LabelError
            If a set is empty or holds an unknown or missing label; the message names the row.
        """
        return cls._wrap(*named_sets.read_sets(sets, classes))

    @classmethod
    def from_indicator(cls, Y: Any, *, classes: Any = None) -> "CandidateSets":
        """Read a 0/1 matrix, a column a class.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_classes)
            1 (or True) where the class is a candidate. A row that is all NaN is unlabeled.
        classes : array-like of shape (n_classes,), optional
            The classes, in the order of the columns; by default the column names of a DataFrame, else 0, 1, ...

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the ones of `Y`, all classes in rows of NaN.

        Raises
        ------
        LabelError
            If a value is neither 0 nor 1 or a row has no 1; the message names the row.
        """
        return cls._wrap(*indicator.read_indicator(Y, classes))

    @classmethod
    def from_annotations(
        cls, answers: Any, *, classes: Any = None, min_votes: int = 1, top: int | None = None
    ) -> "CandidateSets":
        """Collect the answers of several annotators.

        Parameters
        ----------
        answers : array-like of shape (n_samples, n_annotators)
            Labels; None, NaN, or -1 among integers where an annotator gave no answer.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        min_votes : int, default=1
            A label needs this many votes to be a candidate, at least 1.
        top : int, optional
            Keep only the labels with the `top` highest vote counts of the row; labels that tie with the last of them
            stay, so that no arbitrary order decides.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes). A row in which no label has enough votes is unlabeled.
        """
        return cls._wrap(*annotations.read_annotations(answers, classes, min_votes=min_votes, top=top))

    @classmethod
    def from_complementary(cls, y: Any, *, classes: Any = None) -> "CandidateSets":
        """Read what a row is *not*: its candidates are all the other classes.

        Parameters
        ----------
        y : sequence of length n_samples
            A label, or a collection of labels, that the row does not have; None where nothing is ruled out.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur. Give them if some class is never ruled out.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the classes that are not ruled out.

        Raises
        ------
        LabelError
            If everything is ruled out in a row; the message names the row.
        """
        return cls._wrap(*named_sets.read_complementary(y, classes))

    @classmethod
    def from_hierarchy(cls, y: Any, hierarchy: Any, *, classes: Any = None) -> "CandidateSets":
        """Read labels of a tree: a coarse label stands for all leaves below it.

        Parameters
        ----------
        y : sequence of length n_samples
            Coarse labels or leaves, or collections of them; None where nothing is known.
        hierarchy : mapping
            From a coarse label to its children, which may be coarse labels themselves.
        classes : array-like of shape (n_classes,), optional
            The leaves in the wanted order; by default all leaves, sorted.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes), a column a leaf: in each row the leaves below what it names, all where
            nothing is known.

        Raises
        ------
        LabelError
            If a label is neither in the hierarchy nor a leaf (the message names row and label), or if the hierarchy
            runs in a circle.
        """
        return cls._wrap(*named_sets.read_hierarchy(y, hierarchy, classes))

    @classmethod
    def from_strings(cls, y: Any, *, separator: str = "|", classes: Any = None) -> "CandidateSets":
        r"""Read text such as ``"sparrow|finch"``.

        Parameters
        ----------
        y : sequence of str of length n_samples
            Labels joined by the separator; spaces around a label are dropped. Empty text, None and NaN mean
            "unlabeled". A separator or backslash that belongs to a label is written with a backslash before it.
        separator : str, default="|"
            What stands between two labels.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the classes that each text names, all where there is none.

        Raises
        ------
        LabelError
            If a label is empty (``"a||b"``) or unknown; the message names the row.
        """
        return cls._wrap(*strings.read_strings(y, separator, classes))

    # -- what is known --------------------------------------------------------------------------------------------

    @property
    def mask(self) -> Mask:
        """(n_samples, n_classes) bool, read-only: True where the class is a candidate of the row."""
        return self._mask

    @property
    def classes(self) -> Labels:
        """(n_classes,), read-only: the classes, in the order of the mask's columns."""
        return self._classes

    @property
    def sizes(self) -> Ints:
        """(n_samples,): how many candidates each row has."""
        return np.count_nonzero(self._mask, axis=1)

    @property
    def is_exact(self) -> Mask:
        """(n_samples,) bool: rows whose set holds one class."""
        return self.sizes == 1

    @property
    def is_unlabeled(self) -> Mask:
        """(n_samples,) bool: rows whose set holds every class."""
        return np.asarray(self._mask.all(axis=1))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_classes)."""
        rows, columns = self._mask.shape
        return rows, columns

    # -- and back -------------------------------------------------------------------------------------------------

    def to_indicator(self, *, sparse: bool = False) -> Any:
        """Return a 0/1 matrix of int8, dense or CSR: the form that scikit-learn's cross-validation takes.

        Parameters
        ----------
        sparse : bool, default=False
            CSR, in place of a dense array.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_classes), int8
        """
        return sp.csr_array(self._mask, dtype=np.int8) if sparse else self._mask.astype(np.int8)

    def to_sets(self) -> list[set[Any]]:
        """Return a list of Python sets of labels; an unlabeled row holds every class.

        Returns
        -------
        list of set
        """
        return named_sets.write_sets(self._mask, self._classes)

    def to_strings(self, *, separator: str = "|") -> list[str]:
        """Return text that `from_strings` reads back, but for spaces around labels; an unlabeled row is empty text.

        Parameters
        ----------
        separator : str, default="|"
            Between the labels of a set; within a label it is written with a backslash before it.

        Returns
        -------
        list of str
        """
        return strings.write_strings(self._mask, self._classes, separator)

    # -- as a sequence --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._mask.shape[0]

    def __getitem__(self, rows: Any) -> "CandidateSets":
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool | np.bool_):
            raise InputTypeError(
                f"candidates[{rows}] asks for one row: use candidates[{rows}:{rows + 1}], or to_sets()[{rows}]."
            )
        try:
            picked = self._mask[rows]
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(f"candidates of {len(self)} rows cannot be indexed by {rows!r}: {error}.") from None
        if picked.ndim != 2 or picked.shape[1] != len(self._classes):
            raise InputTypeError("candidates are indexed by rows alone: a slice, a boolean mask or an array of rows.")
        return CandidateSets._wrap(picked, self._classes)

    def __iter__(self) -> Iterator[set[Any]]:
        return iter(self.to_sets())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return NotImplemented
        return np.array_equal(self._classes, other._classes) and np.array_equal(self._mask, other._mask)

    __hash__ = None  # type: ignore[assignment]  # equal by value and holding arrays, like ndarray itself

    def __getstate__(self) -> tuple[Mask, Labels]:
        return self._mask, self._classes

    def __setstate__(self, state: tuple[Mask, Labels]) -> None:
        self._keep(*state)

    def __repr__(self) -> str:
        exact, unlabeled = int(self.is_exact.sum()), int(self.is_unlabeled.sum())
        partial = len(self) - int((self.is_exact | self.is_unlabeled).sum())
        return (
            f"<CandidateSets of {len(self)} rows, {len(self._classes)} classes: "
            f"{exact} exact, {partial} partial, {unlabeled} unlabeled>"
        )
