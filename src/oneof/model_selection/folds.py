"""Splitters for candidate sets: stratified folds of rows, and of groups of rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_consistent_length

from oneof.candidates import CandidateSets, as_candidates
from oneof.candidates.labels import is_hashable, is_missing
from oneof.candidates.stratification import stratified_folds, stratified_group_folds
from oneof.errors import InputError, reraise_as_input_error
from oneof.messages import warn
from oneof.typing import Ints, Mask
from oneof.validation import check_bool, check_random_state, is_integer

Split: TypeAlias = tuple[Ints, Ints]
"""The training rows and the test rows of a fold."""


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

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None) -> None:
        if not is_integer(n_splits) or n_splits < 2:
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

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
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
        yield from self._split(X, as_candidates(y), None)

    def _split(self, X: Any, candidates: CandidateSets, group: Ints | None) -> Iterator[Split]:
        """Generate the folds of rows, or of groups that are numbered from 0."""
        with reraise_as_input_error():
            check_consistent_length(X, candidates)
        fold = fold_of_rows(candidates, self.n_splits, group, shuffle=self.shuffle, random_state=self.random_state)
        yield from (select_fold(fold, k, group) for k in range(self.n_splits))


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

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
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
        yield from self._split(X, candidates, encode_groups(groups, len(candidates)))


def fold_of_rows(
    candidates: CandidateSets,
    n_splits: int,
    group: Ints | None = None,
    *,
    shuffle: bool = True,
    random_state: Any = None,
) -> Ints:
    """Return the fold in which each row, or its group, is tested; -1 for unlabeled rows."""
    labeled = np.flatnonzero(~candidates.is_unlabeled)
    present, codes = np.unique(labeled if group is None else group[labeled], return_inverse=True)
    if len(present) < n_splits and group is None:
        raise InputError(
            f"held-out predictions need at least {n_splits} labeled rows, one for each fold; got {len(labeled)}. Label "
            "more rows, or use fewer folds."
        )
    if len(present) < n_splits:
        raise InputError(
            f"`groups` must have at least one group with labeled rows for each fold; got {len(present)} such "
            f"group{'s' * (len(present) != 1)} and {n_splits} folds. Use fewer folds or other groups."
        )
    order = check_random_state(random_state).permutation(len(present)) if shuffle else np.arange(len(present))
    fold = np.full(len(candidates), -1, dtype=np.int64)
    if group is None:
        fold[labeled[order]] = stratified_folds(candidates[labeled[order]].evidence, n_splits)
    else:
        fold[labeled] = stratified_group_folds(candidates[labeled].evidence, order[codes], n_splits)
    return fold


def select_fold(fold: Ints, k: int, group: Ints | None = None) -> Split:
    """Return the training and the test rows of a fold: rows of the test groups are not training rows."""
    is_test = fold == k
    is_excluded = is_test if group is None else np.isin(group, group[is_test])
    return np.flatnonzero(~is_excluded), np.flatnonzero(is_test)


def resolve_folds(
    cv: Any, X: Any, targets: Any, candidates: CandidateSets, groups: Any, random_state: Any, *, once: bool = False
) -> list[Split]:
    """Return the training and the test rows of each fold as indices from 0.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        The number of folds of a `CandidateKFold`, with groups of a `CandidateGroupKFold`, or another way to split.
    X : array, CSR matrix or DataFrame of shape (n_samples, n_features)
    targets, candidates : array-like, CandidateSets
        The labels as a splitter of scikit-learn accepts them, and as candidate sets.
    groups : array-like of shape (n_samples,) or None
    random_state : int, RandomState instance or None
    once : bool, default=False
        Whether each labeled row must be in exactly one test subset.

    Raises
    ------
    InputError
        If a fold lacks rows, or has other rows than X; if a group is in both subsets; or if a splitter stratifies by
        exact labels and some rows are not exact.
    """
    group = None if groups is None else encode_groups(groups, len(candidates))
    if is_integer(cv):
        cv = (CandidateKFold if group is None else CandidateGroupKFold)(int(cv), random_state=random_state)
    if "Stratified" in type(cv).__name__ and not candidates.is_exact.all():
        raise InputError(
            f"`cv` must not be {type(cv).__name__} with candidate sets: it stratifies by exact labels. Use "
            "CandidateKFold of oneof.model_selection; for repeats, pass `[split for seed in range(5) for split in "
            "CandidateKFold(5, random_state=seed).split(X, y)]`."
        )
    folds, n_rows = [], len(candidates)
    with reraise_as_input_error():
        splits = check_cv(cv).split(X, candidates if isinstance(cv, CandidateKFold) else targets, groups)
        for k, (train_rows, test_rows) in enumerate(splits):
            train = _read_rows(train_rows, f"training rows of fold {k}", n_rows)
            test = _read_rows(test_rows, f"test rows of fold {k}", n_rows)
            if group is not None and len(shared := test[np.isin(group[test], group[train])]):
                raise InputError(
                    f"`cv` must not have a group in the training and the test rows of a fold; fold {k} has "
                    f"{str(list(groups)[shared[0]])!r} in both. Pass an integer, or a splitter that uses groups."
                )
            folds.append((train, test))
    if not folds:
        raise InputError("`cv` must have at least one pair of training and test rows; got none.")
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n_rows)
    wrong = np.flatnonzero((times > 1) | ((times == 0) & ~candidates.is_unlabeled))
    if once and len(wrong):
        raise InputError(
            f"`cv` must have each labeled row in exactly one test subset; row {wrong[0]} is in {times[wrong[0]]}."
        )
    _warn_of_common_rows(folds, ~candidates.is_unlabeled)
    return folds


def _read_rows(rows: Any, name: str, n_rows: int) -> Ints:
    """Return one subset of a fold as indices from 0; it may be a boolean mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if not rows.size:
        raise InputError(f"`cv` must have rows in both subsets of each fold; there are no {name}. Leave out this fold.")
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise InputError(
            f"`cv` must have 1-D arrays of row indices, or boolean masks of shape ({n_rows},); the {name} have type "
            f"{rows.dtype} and shape {rows.shape}."
        )
    outside = rows[(rows >= n_rows) | (rows < -n_rows)]
    if len(outside):
        raise InputError(f"`cv` must contain row indices from 0 to {n_rows - 1}; the {name} have {int(outside[0])}.")
    return np.arange(n_rows)[rows]


def _warn_of_common_rows(folds: Sequence[Split], labeled: Mask) -> None:
    """Warn if a labeled row is in the training and in the test rows of a fold."""
    for k, (train, test) in enumerate(folds):
        n_common = np.isin(test[labeled[test]], train).sum()
        if n_common:
            warn(
                f"`cv` has {n_common:,} of {len(test):,} test rows of fold {k} in its training rows as well: the rates "
                "are too high, since these rows were fitted.",
            )
            return


def encode_groups(groups: Any, n_rows: int) -> Ints:
    """Return the number of the group of each row, in order of first occurrence."""
    shape = getattr(groups, "shape", None)
    if isinstance(groups, str | bytes) or not isinstance(groups, Iterable) or (shape is not None and len(shape) != 1):
        given = repr(groups) if shape is None else f"shape {tuple(shape)}"
        raise InputError(f"`groups` must be 1-D, one group for each of the {n_rows} rows; got {given}.")
    values = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    if len(values) != n_rows:
        raise InputError(f"`groups` must have one group for each of the {n_rows} rows; got {len(values)}.")
    for i, value in enumerate(values):
        if is_missing(value):
            raise InputError("`groups` must not be missing. Give a row without a group a group of its own.", row=i)
        if not is_hashable(value):
            raise InputError(f"`groups` must be numbers or texts, one for each row; got {value!r}.", row=i)
    number_of = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return np.array([number_of[value] for value in values], dtype=np.int64)


def count_groups(groups: Any, candidates: CandidateSets) -> int:
    """Return the number of groups with a labeled row."""
    return len(np.unique(encode_groups(groups, len(candidates))[~candidates.is_unlabeled]))
