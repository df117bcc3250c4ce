"""A splitter for candidate sets, and scorers that need no true labels."""

import copy
import numbers
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.metadata_routing import MetadataRequest

from oneof.candidates import CandidateSets, as_candidates
from oneof.candidates.stratification import stratified_folds
from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.likelihoods import softmax
from oneof.metrics import approximated_accuracy, covering_rate, exact_accuracy
from oneof.typing import Floats, Ints, Mask
from oneof.validation import check_bool, check_random_state

__all__ = [
    "CandidateKFold",
    "Scorer",
    "approximated_accuracy_scorer",
    "covering_rate_scorer",
    "exact_accuracy_scorer",
]


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


class Scorer:
    """Metric with the signature of scikit-learn's scorers: ``scorer(estimator, X, y, sample_weight=None)``.

    Three scorers are available: `covering_rate_scorer`, `approximated_accuracy_scorer` and `exact_accuracy_scorer`. Use
    them as ``scoring=`` of `cross_validate` and `GridSearchCV`, with estimators, pipelines and searches. scikit-learn's
    `make_scorer` cannot be used here: it does not pass the classes of the estimator to the metric, which are necessary
    to interpret an indicator.

    Parameters
    ----------
    name : str
        Name in the representation.
    measure : callable
        ``measure(estimator, X, y, sample_weight)``; higher is better.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.model_selection import covering_rate_scorer
    >>> y = [["finch"], ["finch", "wren"], ["wren"]]
    >>> covering_rate_scorer(PLKNN(n_neighbors=1).fit([[0.0], [0.1], [3.0]], y), [[0.0], [0.1], [3.0]], y)
    1.0
    """

    def __init__(self, name: str, measure: Callable[[Any, Any, Any, Any], float]) -> None:
        self.name = name
        self.measure = measure
        self._request: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            Fitted estimator with ``classes_``.
        X : array-like of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels in any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0.

        Returns
        -------
        float
            In [0, 1]; higher is better.
        """
        return self.measure(estimator, X, y, sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> "Scorer":
        """Return a scorer that requests weights if scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True or False to use or ignore ``sample_weight``, a string to use another name, None to raise an error if
            weights are passed.

        Returns
        -------
        Scorer
            A copy; this scorer does not change.
        """
        scorer = copy.copy(self)
        scorer._request = sample_weight
        return scorer

    def get_metadata_routing(self) -> Any:
        """Return the metadata request of the scorer.

        Returns
        -------
        MetadataRequest
            scikit-learn's request, with `sample_weight` under ``score``.
        """
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def __repr__(self) -> str:
        return self.name


class ClassProba(NamedTuple):
    """Class probabilities, and whether they come from `predict_proba`."""

    proba: Floats
    calibrated: bool


def get_proba(estimator: Any, X: Any) -> ClassProba:
    """Return the (n, K) class probabilities of an estimator, or the softmax of its decision function.

    The softmax is not calibrated: multiplying the scores by 2 changes it, but does not change any prediction.

    Raises
    ------
    InputError
        If the estimator has neither `predict_proba` nor `decision_function`.
    """
    if hasattr(estimator, "predict_proba"):
        return ClassProba(np.asarray(estimator.predict_proba(X)), calibrated=True)
    if not hasattr(estimator, "decision_function"):
        raise InputError(
            f"`estimator` must have predict_proba or decision_function; {type(estimator).__name__} has neither. "
            "Use the covering rate, which needs only predictions."
        )
    scores = np.asarray(estimator.decision_function(X), dtype=float)
    if scores.ndim == 1:  # two classes
        scores = np.stack([np.zeros(len(scores)), scores], axis=1)
    return ClassProba(softmax(scores), calibrated=False)


def _check_classifier(estimator: Any) -> None:
    """Raise unless the estimator has `predict`, which itself checks that it is fitted."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise InputTypeError(f"`estimator` must be a fitted classifier; got {estimator!r}.")


def _covering_rate(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    _check_classifier(estimator)
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _exact_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    _check_classifier(estimator)
    return exact_accuracy(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _approximated_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    proba = get_proba(estimator, X).proba
    return approximated_accuracy(y, proba, classes=estimator.classes_, sample_weight=sample_weight)


covering_rate_scorer = Scorer("covering_rate_scorer", _covering_rate)
"""Covering rate over the labeled rows (`oneof.metrics.covering_rate`)."""

approximated_accuracy_scorer = Scorer("approximated_accuracy_scorer", _approximated_accuracy)
"""`oneof.metrics.approximated_accuracy` of `predict_proba` or, if absent, of the softmax of `decision_function`.

The softmax is not calibrated: compare such values only between settings of one method."""

exact_accuracy_scorer = Scorer("exact_accuracy_scorer", _exact_accuracy)
"""Accuracy over the exact rows of the test set (`oneof.metrics.exact_accuracy`)."""
