"""The candidate sets of a data set: one representation of exact, partial and missing labels."""

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
import scipy.sparse as sp

from oneof.candidates import encoding
from oneof.candidates.cells import (
    LabelFormat,
    describe_unreadable,
    literal_kind,
    raise_together,
    read_cells,
    write_cells,
)
from oneof.candidates.labels import (
    as_classes,
    has_collections,
    is_collection,
    is_missing,
    label_vector,
    labels_with_weights,
    pack_classes,
    sort_labels,
    unknown_label,
    warn_of_texts,
    without_minus_one_warning,
)
from oneof.candidates.separators import detect_separator, joining_sign, warn_of_syntax
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.messages import shorten, warn
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_array, check_bool, check_choice

_REMEDY = (
    "Fit an estimator of oneof, such as CandidateEM(classifier), or pass the labels of `disambiguate`. Split the rows "
    "by CandidateKFold of oneof.model_selection, and predict them by its cross_val_predict. Pass "
    "scoring=oneof.model_selection.covering_rate_scorer, or use a metric of oneof.metrics."
)
"""What to do in place of a function that needs exact labels."""
_READ_LABELS = frozenset({"type_of_target", "column_or_1d"})
"""Functions of sklearn.utils that need one label per row; `check_array` alone accepts any targets."""


class _UnorderedSet(set[Any]):
    """Set of an array of sets. It is an error to sort it as a class, or to ask for the type of a target of sets."""

    def __lt__(self, other: object) -> bool:
        _check_reader()
        raise InputTypeError(f"candidate sets cannot be sorted: this function needs exact labels. {_REMEDY}")

    @property
    def __array__(self) -> Any:
        """No array. `type_of_target` of scikit-learn asks for it, which reads any other object as an unknown target."""
        _check_reader()
        raise AttributeError("__array__")

    def __repr__(self) -> str:
        return repr(set(self))


class CandidateSets:
    """Candidate sets: for each row, the classes that may be its true label.

    Row i has a non-empty set of classes, one of which is its true label. A set of one class is an exact label. A set of
    all classes represents a missing label, and still does if the sets are later converted to more classes. A row may
    have weights, which are proportional to the probability of its evidence if the class is the true one; its set is
    then the classes with a weight above 0. Sets without weights are stored as a mask.

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

    __slots__ = ("_classes", "_mask", "_weights")

    def __init__(self, mask: Any, classes: Any) -> None:
        self._set_fields(*encoding.read_indicator(as_array(mask, "the mask"), classes))

    @classmethod
    def _from_evidence(cls, evidence: Evidence, classes: Labels) -> Self:
        """Return candidate sets of a valid mask, or of weights with row maxima of 1, which are a mask if all are 1."""
        out = object.__new__(cls)
        is_mask = evidence.dtype == bool or not encoding.has_weights(evidence).any()
        out._set_fields(evidence > 0 if is_mask else evidence, classes)
        return out

    def _set_fields(self, evidence: Evidence, classes: Labels) -> None:
        # numba compiles a loop for each memory layout.
        self._mask: Mask = np.ascontiguousarray(evidence if evidence.dtype == bool else evidence > 0)
        self._weights = None if evidence.dtype == bool else np.ascontiguousarray(evidence)
        self._classes: Labels = classes.view()  # estimators return it as `classes_`; selections of rows share it
        self._mask.flags.writeable = self._classes.flags.writeable = False

    # -- constructors ---------------------------------------------------------------------------------------------

    @classmethod
    def _from_weights(cls, weights: Evidence, classes: Labels) -> Self:
        """Return candidate sets of a valid mask, or of valid weights up to a factor for each row."""
        evidence = weights if weights.dtype == bool else encoding.normalize_weights(weights)
        return cls._from_evidence(evidence, classes)

    @classmethod
    def from_labels(cls, y: Any, *, classes: Any = None) -> Self:
        """Build candidate sets from one label per row.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels. None, NaN and masked entries mean "unlabeled"; so does -1 among other integers, unless `classes`
            lists it. A warning is issued if such a -1 looks like a class. Text is compared as it is, so that
            predictions equal the labels; only `from_strings` removes invisible characters and normalizes it.
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
        codes, known = encoding.encode_labels(y, classes)
        return cls._from_evidence(encoding.codes_to_mask(codes, len(known)), known)

    @classmethod
    def from_sets(cls, sets: Any, *, classes: Any = None) -> Self:
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
            If a set is empty, or contains an unknown or missing label or a (label, weight) pair, which is for
            `from_weights`; the error names the row.
        """
        mask, known = encoding.encode_sets(sets, classes)
        if classes is None:
            warn_of_texts(known)
        return cls._from_evidence(mask, known)

    @classmethod
    def from_indicator(cls, Y: Any, *, classes: Any = None) -> Self:
        """Build candidate sets from a 0/1 matrix with one column per class.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_classes)
            1 (or True) if the class is a candidate. A row that is all NaN or masked is unlabeled.
        classes : array-like of shape (n_classes,), optional
            The classes, in the order of the columns; by default the column names of a DataFrame, else 0, 1, ...

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the ones of `Y`, all classes in rows of NaN.

        Raises
        ------
        LabelError
            If a value is neither 0 nor 1, such as a weight, which is for `from_weights`, or a row has no 1; the error
            names the row.
        """
        return cls._from_evidence(*encoding.read_indicator(Y, classes))

    @classmethod
    def from_weights(
        cls,
        W: Any,
        classes: Any = None,
        *,
        kind: Literal["likelihood", "posterior"] = "likelihood",
        prior: Any = None,
        rest: bool | str = False,
    ) -> Self:
        """Build candidate sets with weights, such as probabilities that a classifier or a language model printed.

        Parameters
        ----------
        W : array-like, sparse matrix or DataFrame of shape (n_samples, n_classes), or sequence of length n_samples
            Numbers of at least 0. A weight of 0 rules out the class. A row of equal weights is unlabeled, and a row
            whose weights above 0 are equal is a candidate set. A row of a table with empty cells only, or of a masked
            array with masked entries only, is unlabeled. In a sequence, each row is a mapping ``{label: weight}``, a
            list of (label, weight) pairs, or a list of records such as ``{"label": "finch", "probability": 0.7}``;
            None, and an empty mapping or list, mean "unlabeled". A record has one of the keys "label", "name", "class"
            and "token", and one of "probability", "prob", "score", "weight", "confidence" and "logprob", the logarithm
            of a probability. A label that a row does not list has the weight 0. The weights of a label that a row
            repeats are added for ``kind="posterior"`` and with `rest`; otherwise the largest one is used. A warning
            is issued in both cases. Weights may be text: "0.85" or "85%".
        classes : array-like of shape (n_classes,), optional
            The classes, in the order of the columns; by default the column names of a DataFrame, else 0, 1, ..., or the
            sorted labels of a sequence. The columns of a DataFrame are matched by name if one of them is a class.
        kind : {"likelihood", "posterior"}, default="likelihood"
            "likelihood": proportional to p(evidence | class), such as the votes of annotators or the accuracy of a
            rule. "posterior": p(class | evidence), which contains a prior, such as the output of a classifier; it is
            divided by the prior, after each row is divided by its sum. A warning counts rows of a sequence whose sum is
            above 1.
        prior : array-like of shape (n_classes,) or mapping of labels to numbers, optional
            The class frequencies on which the posteriors are based; by default the mean of the posteriors over the
            rows that are not None, with a warning if that is less than one of at least 100 rows. Only for
            ``kind="posterior"``.
        rest : bool or str, default=False
            True: the weights of a row are probabilities, and the remainder to a sum of 1 is spread equally over the
            classes that the row does not list. In a matrix these are the classes with the weight 0. Remainders up to
            1e-6, and sums up to 1.01, are rounding errors. Nothing remains for other classes if the sum is larger; a
            warning counts such rows. A string is the label, or the column, of that remainder,
            such as "other", which is not a class. A remainder has no effect in a row that lists all classes.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes). The largest weight of each row is 1.

        Raises
        ------
        LabelError
            If a weight is negative, NaN or infinite, a row is all 0, a label is unknown, or the probabilities of a row
            have a sum above 2 with ``rest=True``, as percentages do; the error names the row.
        InputError
            If `kind` or `rest` is unknown or the prior is invalid.

        Examples
        --------
        >>> from oneof import CandidateSets
        >>> y = CandidateSets.from_weights([{"finch": 0.8, "wren": 0.1}, [("owl", 1.0)], None], rest=True)
        >>> y.classes.tolist()
        ['finch', 'owl', 'wren']
        >>> y.weights
        array([[1.   , 0.125, 0.125],
               [0.   , 1.   , 0.   ],
               [1.   , 1.   , 1.   ]])
        """
        return cls._from_weights(*encoding.read_weights(W, classes, encoding.WeightOptions(kind, prior, rest)))

    @classmethod
    def from_annotations(
        cls,
        answers: Any,
        *,
        classes: Any = None,
        min_votes: int = 1,
        top_k: int | None = None,
        reliabilities: Any = None,
    ) -> Self:
        """Build candidate sets from the answers of several annotators.

        Parameters
        ----------
        answers : array-like or DataFrame of shape (n_samples, n_annotators), or oneof.crowd.Answers
            Labels, or sets of labels as lists, tuples or sets; None, NaN, a masked entry, or -1 among integers for a
            missing answer. A set is a vote for each of its labels.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        min_votes : int, default=1
            Number of votes, at least 1, that a label needs to be a candidate.
        top_k : int, optional
            Retain only the labels with the `top_k` highest vote counts of the row, and all labels that tie with the
            last of them.
        reliabilities : array-like of shape (n_annotators,), optional
            The accuracies of the annotators, above 1 / n_classes and below 1, for weights instead of sets: the weight
            of class k is the product over the answers of r if the answer is k, else (1 - r) / (n_classes - 1), where r
            is the accuracy of the annotator, the probability that an answer contains the true class. All sets of one
            size that contain it have equal probability. An alternative to `min_votes` and `top_k`.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes). A row without answers, or in which no label has enough votes, is unlabeled.

        Raises
        ------
        InputError
            If `min_votes` or `top_k` is not an integer above 0, `min_votes` exceeds the number of annotators, or
            `reliabilities` is invalid or is passed with one of them.
        LabelError
            If an answer is unknown or not a label, rows have different lengths, or `answers` contains only -1 and +1
            and `classes` is not given.
        """
        if reliabilities is not None:
            if min_votes != 1 or top_k is not None:
                raise InputError("`reliabilities` is an alternative to `min_votes` and `top_k`: pass only one of them.")
            return cls._from_weights(*encoding.read_reliable_annotations(answers, classes, reliabilities))
        return cls._from_evidence(*encoding.read_annotations(answers, classes, min_votes=min_votes, top_k=top_k))

    @classmethod
    def from_complementary(cls, y: Any, *, classes: Any = None) -> Self:
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
        return cls._from_evidence(*encoding.encode_sets(y, classes, excluded=True))

    @classmethod
    def from_hierarchy(cls, y: Any, hierarchy: Any, *, classes: Any = None) -> Self:
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
        return cls._from_evidence(*encoding.encode_hierarchy(y, hierarchy, classes))

    @classmethod
    def from_strings(
        cls,
        y: Any,
        *,
        separator: str = "|",
        classes: Any = None,
        fold_case: bool = False,
        missing: Any = (),
        weighted: bool = False,
        kind: Literal["likelihood", "posterior"] = "likelihood",
        prior: Any = None,
        rest: bool | str = False,
        errors: Literal["raise", "unlabeled"] = "raise",
    ) -> Self:
        r"""Build candidate sets from delimited text such as ``"sparrow|finch"``, or ``"sparrow:0.7|finch:0.3"``.

        Parameters
        ----------
        y : sequence of str of length n_samples
            Labels joined by the separator, and lists or whole numbers as in a column of a table; spaces around a label,
            separators at the ends of a text, and invisible characters are removed, and letters are in Unicode NFC.
            Empty text, None and NaN mean "unlabeled", and so does "-1" alone unless it is a class. "3.0" is the label
            "3". A separator or backslash within a label is escaped by a backslash.
        separator : str, default="|"
            The text between two labels; without a colon if `weighted`. Several signs or words with spaces between them,
            such as "| ; or", each separate labels. A list written as text by JSON, Python, NumPy, R or PostgreSQL, such
            as ``'["sparrow", "finch"]'`` or ``"['sparrow', 'finch']"``, is a list with any separator, unless a
            backslash precedes its bracket. With "[]", an empty list is an unlabeled row, and text without a bracket is
            one label.
            "auto" detects lists, or the sign that plainly separates labels, as the command line does.
        classes : array-like of shape (n_classes,), optional
            The classes; by default the sorted labels that occur.
        fold_case : bool, default=False
            Read labels that differ only in case, underscores, hyphens between letters and repeated spaces as one class,
            such as "Finch" and "finch". Its name is that in `classes`, or else its most frequent spelling, the first
            one of several. Weights of such spellings in a row are those of a repeated label. Without it and without
            `classes`, a warning names such labels.
        missing : sequence of str, default=()
            Labels that are left out, in any case, such as the refusals "n/a" and "unsure". A text without another label
            is unlabeled.
        weighted : bool, default=False
            Read the number after the last colon of a label as its weight. A label without a number has the weight 1.
            Digits that begin with 0, and the number of a label that has a weight elsewhere, are a part of the label, as
            in "CL:0000236". Any other colon within a label is escaped by a backslash. A row without any number is a
            candidate set, to which `kind` and `rest` do not apply. A text may also be JSON of the rows that
            `from_weights` reads, such as ``'{"sparrow": 0.7, "finch": 0.3}'`` or
            ``'[["sparrow", 0.7], ["finch", 0.3]]'``, also as Python writes them or in a code fence of Markdown. Labels
            with the value null are not listed, and an empty object or list is an unlabeled row.
        kind : {"likelihood", "posterior"}, default="likelihood"
            See `from_weights`; only if `weighted`.
        prior : array-like of shape (n_classes,), optional
            See `from_weights`; only for ``kind="posterior"``.
        rest : bool or str, default=False
            See `from_weights`; only if `weighted`.
        errors : {"raise", "unlabeled"}, default="raise"
            Treatment of texts that cannot be read, such as broken JSON, a weight below 0, or a label that is not among
            the given `classes`: one error, with their number and the first rows, or unlabeled rows, with a warning. A
            sentence without a number or a separator is a label, unless `classes` is given.

        Returns
        -------
        CandidateSets
            Of shape (n_samples, n_classes): the labels of each text, all classes in unlabeled rows.

        Raises
        ------
        LabelError
            If a label is empty (``"a||b"``) or unknown, a weight is not a finite number of at least 0, all weights of
            a row are 0, or a text may be a set or one label with ``separator="auto"``; the error names the row.
        InputError
            If another parameter is invalid.
        """
        check_choice("errors", errors, ("raise", "unlabeled"))
        check_bool("weighted", weighted)
        check_bool("fold_case", fold_case)
        options = encoding.WeightOptions(kind, prior, rest)
        if not weighted and options != encoding.WeightOptions():
            raise InputError("`kind`, `prior` and `rest` apply to weights only. Pass weighted=True.")
        classes = None if classes is None else as_classes(classes)
        names = None if classes is None else classes.tolist()
        values = label_vector(y).tolist()
        texts = [value if isinstance(value, str) else None for value in values]
        if isinstance(separator, str) and separator == "auto":
            setting = "Pass separator="
            separator = detect_separator(texts, names, weighted=weighted, folds_case=fold_case, setting=setting)
        form = LabelFormat(separator, names, weighted, rest, fold_case, missing)
        cells = read_cells(values, form)
        if errors == "raise":
            raise_together(cells.errors, 'Pass errors="unlabeled" to read such rows as unlabeled.')
        elif cells.errors:
            warn(f"{describe_unreadable(cells.errors)}, and their rows are unlabeled.")
        evidence, known = encoding.encode_cells(cells, form, classes, options)
        if classes is None:
            warn_of_syntax(texts, known, form)
        return cls._from_weights(evidence, known)

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
        return (self._mask if self._weights is None else self._weights).astype(np.float64)

    @property
    def evidence(self) -> Evidence:
        """The argument of the solvers: `mask` if no row has weights, otherwise `weights`."""
        return self._mask if self._weights is None else self.weights

    @property
    def is_weighted(self) -> Mask:
        """Mask of the rows whose candidates have different weights, of shape (n_samples,)."""
        return np.zeros(len(self), dtype=bool) if self._weights is None else encoding.has_weights(self._weights)

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
        return np.asarray((self._mask if self._weights is None else self._weights == 1.0).all(axis=1))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of classes, (n_samples, n_classes)."""
        return len(self._mask), len(self._classes)

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
        labels = self._classes.tolist()
        rows, columns = np.nonzero(self._mask)
        flat = [labels[k] for k in columns]
        ends = [0, *np.searchsorted(rows, np.arange(len(self)), side="right").tolist()]
        return [set(flat[start:end]) for start, end in itertools.pairwise(ends)]

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
        is_weighted = np.zeros(len(self), dtype=bool) if write_full else self.is_weighted
        return write_cells(self.evidence, self._classes, is_weighted, separator, write_full=write_full)

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
        return CandidateSets._from_weights(encoding.soften_weights(self.evidence, noise_rate), self._classes)

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
        listed = list(blocks) if isinstance(blocks, Iterable) else [blocks]
        if wrong := [block for block in listed if not isinstance(block, CandidateSets)]:
            raise InputTypeError(
                f"`blocks` must be a list of CandidateSets; got {shorten(repr(wrong[0]))}. Build each block with a "
                "constructor such as CandidateSets.from_labels."
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
        return cls._from_evidence(np.concatenate([align(block, classes).evidence for block in listed]), classes)

    # -- sequence protocol ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._mask.shape[0]

    @overload
    def __getitem__(self, rows: int) -> set[Any]: ...

    @overload
    def __getitem__(self, rows: Any) -> "CandidateSets": ...

    def __getitem__(self, rows: Any) -> "CandidateSets | set[Any]":
        try:
            evidence = (self._mask if self._weights is None else self._weights)[rows]
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(f"candidate sets of {len(self)} rows cannot be indexed by {rows!r}: {error}.") from None
        if isinstance(rows, int | np.integer) and evidence.ndim == 1:
            return set(itertools.compress(self._classes.tolist(), evidence))
        if evidence.ndim != 2 or evidence.shape[1] != len(self._classes):
            raise InputTypeError(
                "candidate sets are indexed by rows only: a slice, a boolean mask or an array of rows."
            )
        return CandidateSets._from_evidence(evidence, self._classes)

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
        return np.array_equal(self._classes, other._classes) and np.array_equal(self.evidence, other.evidence)

    __hash__ = None  # type: ignore[assignment]  # compared by value, and not hashable, like ndarray

    def __getstate__(self) -> tuple[Any, ...]:
        return self.evidence, self._classes

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set_fields(*state)

    def __repr__(self) -> str:
        exact, unlabeled = int(self.is_exact.sum()), int(self.is_unlabeled.sum())
        partial = len(self) - int((self.is_exact | self.is_unlabeled).sum())
        weighted = "" if self._weights is None else f" ({int(self.is_weighted.sum())} weighted)"
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
    readers: list[str] = []
    is_metric = False
    while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith(("sklearn.", "numpy.")):
        if module.startswith(("sklearn.utils", "sklearn.externals", "sklearn.base", "numpy.")):
            utilities |= {frame.f_code.co_name} if not readers else set()
        else:
            owner = frame.f_locals.get("self")
            is_metric |= not readers and module.startswith("sklearn.metrics")
            readers.append(frame.f_code.co_name if owner is None else type(owner).__name__)
        frame = frame.f_back
    reads_labels = "check_array" not in utilities or bool(utilities & _READ_LABELS) or is_metric
    if readers and readers[0] != "check_cv" and reads_labels:
        name = next((name for name in reversed(readers) if name.strip("_<>") == name), readers[0])
        raise InputTypeError(f"{name} of scikit-learn needs one exact label per row, not candidate sets. {_REMEDY}")


def align(candidates: CandidateSets, classes: Labels) -> CandidateSets:
    """Return the same sets, or weights, over other classes, which must include every candidate of a labeled row.

    An unlabeled row stays unlabeled, even if there are now more classes.
    """
    if np.array_equal(candidates.classes, classes):
        return candidates
    column = {value: k for k, value in enumerate(classes.tolist())}
    is_labeled = ~candidates.is_unlabeled
    evidence = candidates.evidence
    aligned: Evidence = np.zeros((len(candidates), len(classes)), dtype=evidence.dtype)
    for value, own in zip(candidates.classes.tolist(), evidence.T, strict=True):
        if value in column:
            aligned[:, column[value]] = own
        elif own[is_labeled].any():
            raise unknown_label(int(np.flatnonzero(is_labeled & (own > 0))[0]), value, classes)
    aligned[~is_labeled] = 1
    return CandidateSets._from_evidence(aligned, classes)


def as_candidates(y: Any, *, classes: Labels | None = None) -> CandidateSets:
    """Convert labels in any form of supervision to candidate sets.

    Parameters
    ----------
    y : array-like, sparse matrix, DataFrame or CandidateSets
        One label per row (1-D), one collection of labels per row (a list or 1-D array of them), a 0/1 indicator of
        shape (n_samples, n_classes) (2-D array, CSR, DataFrame), or candidate sets, with or without weights. A vector
        of -1 and +1 alone is read as two classes, with a warning.
    classes : ndarray of shape (n_classes,), optional
        The classes of the result; by default those of `y`.

    Returns
    -------
    CandidateSets
        Over `classes`, if given.

    Raises
    ------
    LabelError
        If `y` cannot be read; the message names the row.
    """
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None. Pass labels or candidate sets."
        )
    if isinstance(y, CandidateSets):
        return y if classes is None else align(y, classes)
    if hasattr(y, "__array__") and not isinstance(y, np.ndarray) and not hasattr(y, "to_numpy"):
        y = np.asarray(y)
    if _is_indicator(y):
        if classes is None or not encoding.is_frame(y):
            return CandidateSets.from_indicator(y, classes=classes)
        return align(CandidateSets.from_indicator(y), classes)  # by the names of the columns
    column = _as_column(y)
    if column is not y:
        from sklearn.exceptions import DataConversionWarning

        warn(
            "A column-vector y was passed when a 1d array was expected. It is read as one label per row; pass "
            "y.ravel() to silence this.",
            DataConversionWarning,
        )
    values = label_vector(column)
    if values.dtype.kind == "O" and has_collections(values.tolist()):
        _warn_of_indicator_in_lists(values)
        sets = CandidateSets.from_sets(values, classes=classes)
        if classes is None and sets.classes.dtype.kind in "iu" and sets.classes[0] == -1:
            _warn_of_padding(values)
        return sets
    codes, known = encoding.encode_labels(values, classes, signs="warn")
    if classes is None:
        _warn_of_joined_labels([label for label in known.tolist() if isinstance(label, str)])
    return CandidateSets._from_evidence(encoding.codes_to_mask(codes, len(known)), known)


def _is_indicator(y: Any) -> bool:
    """Return whether `y` is a matrix or a table with a column for each class."""
    is_matrix = encoding.is_frame(y) or (isinstance(y, np.ndarray) and y.ndim == 2)
    return sp.issparse(y) or (is_matrix and y.shape[1] != 1)


def _as_column(y: Any) -> Any:
    """Return the only column of a table or matrix; any other labels are returned as they are."""
    if encoding.is_frame(y):
        return y[y.columns[0]]
    return y.ravel() if isinstance(y, np.ndarray) and y.ndim == 2 else y


def expand_to_predicted(y: Any, predicted: list[Any], classes: Any) -> CandidateSets:
    """Convert labels to the candidate sets on which predictions are evaluated.

    The classes are the given ones and any further labels of `y` or of the predictions: a label not seen in fit is never
    covered, but it is not an error.
    """
    known = None if classes is None else as_classes(classes)
    if isinstance(y, CandidateSets):
        if known is not None and not set(y.classes.tolist()) & set(known.tolist()):
            raise LabelError(
                f"the candidate sets have the class {y.classes.tolist()[0]!r} and others, none of which is among the "
                f"classes {known.tolist()[0]!r} and others. Give fit and the metric sets over the same classes."
            )
        return y
    is_named = hasattr(y, "columns")
    if not is_named and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:  # an indicator without class names
        return as_candidates(y, classes=known)
    if known is not None:
        with contextlib.suppress(LabelError):  # `y` has further labels
            return as_candidates(y, classes=known)
    with without_minus_one_warning():  # a prediction of -1 makes it a class
        own = as_candidates(y)
    if is_named and own.shape[1] == y.shape[1] > 1:
        return own
    union = list(dict.fromkeys([*own.classes.tolist(), *(predicted if known is None else known.tolist())]))
    return as_candidates(y, classes=pack_classes(union)) if len(union) > own.shape[1] else own


def _warn_of_joined_labels(texts: list[str]) -> None:
    """Warn if a label is a set written as text, or has a weight."""
    count = Counter(member for text in texts for member in {text, *text.split("|")})
    lists = [text for text in texts if ('"' in text or "'" in text) and literal_kind(text) == "list"]
    pairs = labels_with_weights(texts)
    joined = [text for text in texts if "|" in text and any(count[member] > 1 for member in text.split("|"))]
    names = set(texts)  # spaces, underscores and hyphens are parts of names
    signs = {text: sign for text in texts if (sign := joining_sign(text, names)) is not None and sign.strip(" _-")}
    forms = [
        (lists, len(texts) // 2, ", separator='[]'"),
        (pairs, 1, ", weighted=True"),
        (joined, 0, ""),
        (list(signs), 1, f", separator={next(iter(signs.values()), '')!r}"),
    ]
    for examples, option in [(examples, option) for examples, n, option in forms if len(examples) > n][:1]:
        warn(f"{examples[0]!r} is read as one class: pass CandidateSets.from_strings(y{option}) if it is a set.")


def _warn_of_indicator_in_lists(values: np.ndarray[Any, Any]) -> None:
    """Warn if all rows are lists of equal length of 0 and 1, which may be an indicator."""
    first = values[0]
    if not isinstance(first, list | tuple) or len(first) < 3:
        return
    if all(isinstance(v, list | tuple) and len(v) == len(first) and {0, 1}.issuperset(v) for v in values):
        warn(
            f"every row of y is a list of {len(first)} zeros and ones, read as sets of the labels 0 and 1: "
            "pass np.asarray(y) if it is an indicator.",
        )


def _warn_of_padding(values: np.ndarray[Any, Any]) -> None:
    """Warn of the smallest label -1, if rows have one number of members and -1 stands beside others."""
    rows = [list(row) for row in values if is_collection(row)]
    if len({len(row) for row in rows}) == 1 and any(len(row) > 1 and -1 in row for row in rows):
        warn(
            "-1 is read as a class. If it fills up lists to one length, remove it from them; otherwise name all "
            "classes, as in CandidateSets.from_sets(y, classes=...)."
        )


class CheckedCandidates(NamedTuple):
    """Candidate sets in which the rows with a checked label are exact.

    Attributes
    ----------
    candidates : CandidateSets
    is_checked : ndarray of shape (n_samples,), bool
    outside : ndarray of int
        The rows with a checked label that was not a candidate.
    """

    candidates: CandidateSets
    is_checked: Mask
    outside: Ints


def insert_checked_labels(candidates: CandidateSets, labels: Sequence[Any]) -> CheckedCandidates:
    """Return the candidate sets with the checked labels, None if not checked, in place of the sets of their rows.

    A checked label must be a class. Further classes cannot be added to candidate sets, in which a row without a label
    and a row with the set of all classes are the same: pass them to the constructor of the sets.
    """
    codes, _ = encoding.encode(list(labels), candidates.classes, is_single=True)
    is_checked = codes != encoding.MISSING
    rows = np.flatnonzero(is_checked)
    outside = rows[~candidates.mask[rows, codes[rows]]]
    evidence = candidates.evidence.copy()
    evidence[rows] = encoding.codes_to_mask(codes[rows], candidates.shape[1])
    return CheckedCandidates(CandidateSets._from_evidence(evidence, candidates.classes), is_checked, outside)


# -- the classes of several blocks -------------------------------------------------------------------------------------
#
# A block may contain few classes, and the meaning of a label may depend on the other blocks. For example, -1 is a class
# if the only other label is +1, and marks a missing label if there are other numbers. Therefore the distinct values of
# all blocks are read together, as if the blocks were concatenated.


def collect_values(y: Any) -> Any:
    """Return the distinct labels in a block of labels in any form, with a set for each member of a set.

    Those of an indicator, and of candidate sets, are the candidate sets of no row.
    """
    if isinstance(y, CandidateSets) or _is_indicator(y):
        return as_candidates(y)[:0]
    values = label_vector(_as_column(y))
    if values.dtype.kind in "iufb":
        return np.unique(values)
    listed = values.tolist()
    labels = [None if is_missing(value) else value for value in listed if not is_collection(value)]
    members = encoding.distinct_labels([member for value in listed if is_collection(value) for member in value])
    return label_vector([*encoding.distinct_labels(labels), *([member] for member in members)])


def common_classes(blocks: Sequence[Any]) -> Labels:
    """Return the union of the classes of all blocks, of which each is the result of `collect_values`.

    Raises
    ------
    LabelError
        If the columns of the blocks differ, or a label is invalid.
    """
    columns = [block.classes.tolist() if isinstance(block, CandidateSets) else None for block in blocks]
    for number, own in enumerate(columns):
        if own != columns[0]:
            listed = ["(not an indicator)" if names is None else ", ".join(map(repr, names)) for names in columns]
            raise LabelError(
                f"block {number} of y has the columns {listed[number]}, block 0 {listed[0]}. Give all blocks the same "
                "columns."
            )
    if columns[0] is not None:
        return blocks[0].classes
    are_numbers = all(block.dtype.kind in "iufb" for block in blocks)
    joined = np.concatenate(blocks) if are_numbers else [value for block in blocks for value in block.tolist()]
    with without_minus_one_warning():  # each label occurs once in a block
        return as_candidates(np.unique(joined) if are_numbers else joined).classes
