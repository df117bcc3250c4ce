"""Splitters for candidate sets: stratified folds of rows, and of groups of rows."""

import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_consistent_length

from oneof.candidates import CandidateSets, as_candidates
from oneof.candidates.stratification import stratified_folds, stratified_group_folds
from oneof.errors import InputError, reraise_as_input_error
from oneof.messages import warn
from oneof.typing import Ints, Mask
from oneof.validation import check_bool, check_random_state

__all__ = ["CandidateGroupKFold", "CandidateKFold"]


class CandidateKFold(BaseCrossValidator):
    """Stratified K-fold splitter for candidate sets.

    Unlabeled rows are in every training set and in no test set: no prediction can be evaluated on them, but
    semi-supervised methods use them. The labeled rows are sorted by the rarest candidate of their set and then by the
    set itself, and assigned to the folds cyclically. Any two folds therefore differ by at most one row in size, in the
    rows of one set, and in the rows of one rarest candidate. Exact labels are thus stratified by class. Rows are sorted
    by the rarest candidate because a random split distributes rare classes badly, and because common labels are often
    distractors.

    A weighted row is assigned by its classes with weights above 0.5, relative to the largest. The folds are thus those
    of the sets if small weights are added outside the sets. By all weights above 0 every row would be the same, and by
    expected counts no class would be rare.

    If partial rows overlap, this assignment can still put all rows with some class into one fold, whose training set
    would then lack the class. Rows are exchanged between folds to avoid this, as far as single exchanges suffice. The
    sizes do not change, but the other numbers may then differ by more.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to shuffle rows with the same set before they are assigned to folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling if `shuffle` is True.

    See Also
    --------
    CandidateGroupKFold : Folds that keep the rows of a group together.
    sklearn.model_selection.StratifiedKFold : Stratified folds for exact labels.

    Notes
    -----
    `y` may have any form that `fit` takes. scikit-learn's `GridSearchCV` accepts all of these forms, and
    `cross_val_score` all but sparse matrices. In an indicator, rows of ones are unlabeled, and columns have no names.
    With a `CandidateSets`, the names of the classes are predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.model_selection import CandidateKFold
    >>> y = [["a"], ["a", "b"], None, ["b"], ["a"], ["c"], ["b", "c"]]
    >>> for train, test in CandidateKFold(2, shuffle=False).split(np.zeros((7, 1)), y):
    ...     print(train, test)
    [2 3 4 6] [0 1 5]
    [0 1 2 5] [3 4 6]
    """

    n_splits: int
    shuffle: bool
    random_state: Any

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None) -> None:
        if not isinstance(n_splits, numbers.Integral) or n_splits < 2:
            raise InputError(f"`n_splits` must be an integer of at least 2; got {n_splits!r}.")
        check_bool("shuffle", shuffle)
        if not shuffle and random_state is not None:
            raise InputError(
                f"`random_state` must be None if shuffle=False, since it has no effect without shuffle; got "
                f"{random_state!r}."
            )
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        int
        """
        del X, y, groups
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Generate the row indices of the training and the test set of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only the length of X is used.
        y : array-like or CandidateSets of length n_samples
            Labels in any form that `fit` takes.
        groups : None
            Ignored.

        Yields
        ------
        train, test : ndarray of int
            Each labeled row is in one test set and in the training sets of the other folds. Unlabeled rows are in
            every training set.

        Raises
        ------
        InputError
            If there are fewer labeled rows than folds.
        """
        del groups
        # Converted here, since scikit-learn cannot determine the length of some forms.
        with reraise_as_input_error():
            splits = list(super().split(X, as_candidates(y)))
        yield from splits

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Mask]:
        del X, groups
        fold = fold_of_rows(y, self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for k in range(self.n_splits):
            yield fold == k


class CandidateGroupKFold(CandidateKFold):
    """Stratified K-fold splitter for candidate sets that keeps the rows of a group together.

    A group is, for example, a patient, a recording or a picture, whose rows resemble each other. If some of its rows
    are in the training set and others in the test set, the rates are those of known groups, and too high for new ones.
    No group occurs in the training set and in the test set of a fold here.

    Groups are assigned to folds one after the other, the largest first, so that each fold has about the same fraction
    of all labeled rows, and of the rows of each rarest candidate (see `CandidateKFold`). Folds are equal only as far as
    the groups allow.

    Unlabeled rows are in no test set. They are in the training sets of the folds that do not test their group.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to shuffle groups of equal size before they are assigned to folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling if `shuffle` is True.

    See Also
    --------
    CandidateKFold : Folds without groups.
    sklearn.model_selection.StratifiedGroupKFold : The same for exact labels.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.model_selection import CandidateGroupKFold
    >>> y = [["a"], ["a", "b"], None, ["b"], ["c"], ["b"], ["a", "c"]]
    >>> birds = ["tom", "tom", "tom", "ada", "ada", "eve", "eve"]
    >>> for train, test in CandidateGroupKFold(3, shuffle=False).split(np.zeros((7, 1)), y, birds):
    ...     print(train, test)
    [3 4 5 6] [0 1]
    [0 1 2 5 6] [3 4]
    [0 1 2 3 4] [5 6]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 - read by scikit-learn's metadata routing

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Generate the row indices of the training and the test set of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only the length of X is used.
        y : array-like or CandidateSets of length n_samples
            Labels in any form that `fit` takes.
        groups : array-like of shape (n_samples,)
            The group of each row: numbers or texts, none of them missing.

        Yields
        ------
        train, test : ndarray of int
            Each labeled row is in one test set. Rows of its group are not in the training set of this fold.

        Raises
        ------
        InputError
            If there are fewer groups with labeled rows than folds, or a group is missing.
        """
        candidates = as_candidates(y)
        with reraise_as_input_error():
            check_consistent_length(X, candidates)
        group = encode_groups(groups, len(candidates))
        fold = fold_of_groups(candidates, group, self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        yield from (group_split(group, fold, k) for k in range(self.n_splits))


def fold_of_rows(candidates: CandidateSets, n_splits: int, *, shuffle: bool = True, random_state: Any = None) -> Ints:
    """Return the fold of each row in `CandidateKFold`, -1 for unlabeled rows."""
    labeled = np.flatnonzero(~candidates.is_unlabeled)
    if len(labeled) < n_splits:
        raise InputError(
            f"`y` must have at least one labeled row for each fold; got {len(labeled)} labeled rows, fewer than "
            f"the {n_splits} folds. Label more rows, or use fewer folds."
        )
    order = np.arange(len(labeled))
    if shuffle:
        order = check_random_state(random_state).permutation(order)
    fold = np.full(len(candidates), -1, dtype=np.int64)
    fold[labeled[order]] = stratified_folds(candidates[labeled[order]].evidence, n_splits)
    return fold


def check_stratification(cv: Any, candidates: CandidateSets) -> None:
    """Raise if a splitter of scikit-learn stratifies by labels, and some rows are not exact."""
    name = type(cv).__name__
    if "Stratified" in name and not candidates.is_exact.all():
        raise InputError(
            f"`cv` must not be {name} with candidate sets: it stratifies by exact labels. Use CandidateKFold of "
            "oneof.model_selection; for repeats, pass `[split for seed in range(5) for split in CandidateKFold(5, "
            "random_state=seed).split(X, y)]`."
        )


def encode_groups(groups: Any, n_rows: int) -> Ints:
    """Return the number of the group of each row, in order of first occurrence."""
    if groups is None:
        raise InputError("`groups` must be the group of each row; got None.")
    shape = getattr(groups, "shape", None)
    if shape is not None and len(shape) != 1:
        raise InputError(
            f"`groups` must be 1-D, one group for each of the {n_rows} rows; got shape {tuple(shape)}. Pass its column."
        )
    if isinstance(groups, str | bytes) or not isinstance(groups, Iterable):
        raise InputError(f"`groups` must be a vector with the group of each of the {n_rows} rows; got {groups!r}.")
    values = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    if len(values) != n_rows:
        raise InputError(f"`groups` must have one group for each of the {n_rows} rows; got {len(values)}.")
    number_of: dict[Any, int] = {}
    codes = np.empty(n_rows, dtype=np.int64)
    for i, value in enumerate(values):
        if _is_missing(value):
            raise InputError("`groups` must not be missing. Give a row without a group a group of its own.", row=i)
        try:
            codes[i] = number_of.setdefault(value, len(number_of))
        except TypeError:
            raise InputError(f"`groups` must be numbers or texts, one for each row; got {value!r}.", row=i) from None
    return codes


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or a missing value of pandas."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)  # noqa: PLR0124 - NaN
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False


def fold_of_groups(
    candidates: CandidateSets, group: Ints, n_splits: int, *, shuffle: bool = True, random_state: Any = None
) -> Ints:
    """Return the fold of each row in `CandidateGroupKFold`, -1 for unlabeled rows."""
    labeled = np.flatnonzero(~candidates.is_unlabeled)
    present, codes = np.unique(group[labeled], return_inverse=True)
    if len(present) < n_splits:
        raise InputError(
            f"`groups` must have at least one group with labeled rows for each fold; got {len(present)} such "
            f"group{'s' * (len(present) != 1)} and {n_splits} folds. Use fewer folds or other groups."
        )
    if shuffle:
        codes = check_random_state(random_state).permutation(len(present))[codes]
    fold = np.full(len(candidates), -1, dtype=np.int64)
    fold[labeled] = stratified_group_folds(candidates[labeled].evidence, codes, n_splits)
    return fold


def group_split(group: Ints, fold: Ints, k: int) -> tuple[Ints, Ints]:
    """Return the training and the test rows of a fold: rows of the test groups are not training rows."""
    test = np.flatnonzero(fold == k)
    return np.flatnonzero(~np.isin(group, group[test])), test


def read_folds(splits: Iterable[Any], n_rows: int) -> list[tuple[Ints, Ints]]:
    """Return the training and test rows of each fold as indices from 0; the subsets may be boolean masks.

    Raise if there is no fold, if a subset is empty, or if it has other rows than those of ``X``.
    """
    folds = [
        (_read_rows(train, f"training rows of fold {k}", n_rows), _read_rows(test, f"test rows of fold {k}", n_rows))
        for k, (train, test) in enumerate(splits)
    ]
    if not folds:
        raise InputError("`cv` must have at least one pair of training and test rows; got none.")
    return folds


def _read_rows(rows: Any, name: str, n_rows: int) -> Ints:
    """Return one subset of a fold as indices from 0."""
    rows = np.asarray(rows)
    if not rows.size or (rows.dtype == bool and not rows.any()):
        raise InputError(f"`cv` must have rows in both subsets of each fold; there are no {name}. Leave out this fold.")
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise InputError(
            f"`cv` must have 1-D arrays of row indices, or boolean masks of shape ({n_rows},); the {name} have type "
            f"{rows.dtype} and shape {rows.shape}."
        )
    outside = rows[(rows >= n_rows) | (rows < -n_rows)]
    if len(outside):
        raise InputError(f"`cv` must contain row indices from 0 to {n_rows - 1}; the {name} have {int(outside[0])}.")
    return np.arange(n_rows)[rows]


def check_disjoint(folds: Sequence[tuple[Ints, Ints]], group: Ints, groups: Any) -> None:
    """Raise if a group is in the training and in the test rows of a fold."""
    for k, (train, test) in enumerate(folds):
        shared = test[np.isin(group[test], group[train])]
        if len(shared):
            value = np.asarray(list(groups), dtype=object)[shared[0]]
            raise InputError(
                f"`cv` must not have a group in the training and the test rows of a fold; fold {k} has "
                f"{str(value)!r} in both. Pass an integer, or a splitter that uses groups."
            )


def warn_of_common_rows(folds: Sequence[tuple[Ints, Ints]], labeled: Mask) -> None:
    """Warn if a labeled row is in the training and in the test rows of a fold."""
    for k, (train, test) in enumerate(folds):
        is_train = np.zeros(len(labeled), dtype=bool)
        is_train[train] = True
        n_common = int((is_train & labeled)[test].sum())
        if n_common:
            warn(
                f"`cv` has {n_common:,} of {len(test):,} test rows of fold {k} in its training rows as well: the rates "
                "are too high, since these rows were fitted.",
            )
            return
