"""Cross-validation where labels are candidate sets: a splitter, and scorers that need no true label."""

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
    """Deal the labeled rows into folds; unlabeled rows are in every training part and in no test part.

    An unlabeled row can judge no prediction, but may teach a semi-supervised method. The labeled rows are sorted by
    the rarest member of their set and then by the set itself, and dealt to the folds in turn. So any two folds differ
    by at most one row in size, in the rows of one set, and in the rows of one rarest member; exact labels are thus
    stratified by class. The rarest member stands for the row because rare classes are those that chance spreads badly,
    and because common labels are the common distractors.

    Where partial rows overlap, dealing can still put all rows that name some class into one fold, whose training part
    would then lack the class. Rows are exchanged between folds to avoid this, as far as single exchanges help; sizes
    stay, the other numbers may then differ by more.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to put the rows of the same set in random order before they are dealt.
    random_state : int, RandomState instance or None, default=None
        Fixes the order when `shuffle` is True.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : The same for exact labels.

    Notes
    -----
    `y` may have any form that `fit` takes. With these folds scikit-learn's `GridSearchCV` passes them on, and
    `cross_val_score` all but sparse matrices. In an indicator the rows of ones are the unlabeled, and its columns have
    no names; after a `CandidateSets` names of classes are predicted.

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
            raise InputError(f"`n_splits` must be a whole number of at least 2 folds; got {n_splits!r}.")
        check_bool("shuffle", shuffle)
        if not shuffle and random_state is not None:
            raise InputError("random_state has no effect without shuffle: leave it out, or set shuffle=True.")
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the parameters are ignored.

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
        """Generate the rows of the training and the test part of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : array-like or CandidateSets of length n_samples
            In any form that `fit` takes.
        groups : None
            Ignored.

        Yields
        ------
        train, test : ndarray of int
            Each labeled row is in one test part and in the training parts of the other folds; unlabeled rows are in
            every training part.

        Raises
        ------
        InputError
            If there are fewer labeled rows than folds.
        """
        del groups
        # Read here, since scikit-learn knows no length of some forms.
        with reraise_as_input_error():
            splits = list(super().split(X, as_candidates(y)))
        yield from splits

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Mask]:
        del X, groups
        fold = self._fold_of_rows(y)
        for k in range(self.n_splits):
            yield fold == k

    def _fold_of_rows(self, candidates: CandidateSets) -> Ints:
        """Return the fold of each row, -1 for unlabeled rows."""
        labeled = np.flatnonzero(~candidates.is_unlabeled)
        if len(labeled) < self.n_splits:
            raise InputError(
                f"y has {len(labeled)} labeled rows, fewer than the {self.n_splits} folds: "
                "give more labeled rows or ask for fewer folds."
            )
        order = np.arange(len(labeled))
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(order)
        fold = np.full(len(candidates), -1, dtype=np.int64)
        fold[labeled[order]] = stratified_folds(candidates.mask[labeled[order]], self.n_splits)
        return fold


class Scorer:
    """A metric as scikit-learn's model selection calls it: ``scorer(estimator, X, y, sample_weight=None)``.

    Take the ready ones: `covering_rate_scorer`, `approximated_accuracy_scorer`, `exact_accuracy_scorer`. They fit
    ``scoring=`` of `cross_validate` and `GridSearchCV`, for estimators, pipelines and searches alike. scikit-learn's
    `make_scorer` does not serve here: it does not tell the metric which classes the estimator learned, without which an
    indicator cannot be read.

    Parameters
    ----------
    name : str
        What the representation shows.
    measure : callable
        ``measure(estimator, X, y, sample_weight)``, higher is better.

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
            Fitted, with ``classes_``.
        X : array-like of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            In any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
            In [0, 1]; higher is better.
        """
        return self.measure(estimator, X, y, sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> "Scorer":
        """Return a scorer that asks for weights where scikit-learn's metadata routing is on.

        Parameters
        ----------
        sample_weight : bool, str or None
            True or False to take or ignore ``sample_weight``, text to take another name in its place, None for an
            error where weights are given.

        Returns
        -------
        Scorer
            A copy; this scorer stays as it is.
        """
        scorer = copy.copy(self)
        scorer._request = sample_weight
        return scorer

    def get_metadata_routing(self) -> Any:
        """Return what the scorer asks of scikit-learn's metadata routing.

        Returns
        -------
        MetadataRequest
            Of scikit-learn, with `sample_weight` under ``score``.
        """
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def __repr__(self) -> str:
        return self.name


class Probabilities(NamedTuple):
    """Class probabilities, and whether the method means them as such."""

    proba: Floats
    calibrated: bool


def probabilities(estimator: Any, X: Any) -> Probabilities:
    """Return the (n, K) class probabilities of an estimator, or a softmax of its decision function in their place.

    The softmax is not calibrated: multiplying the scores by 2 changes it, though no prediction.

    Raises
    ------
    InputError
        If the estimator has neither `predict_proba` nor `decision_function`.
    """
    if hasattr(estimator, "predict_proba"):
        return Probabilities(np.asarray(estimator.predict_proba(X)), calibrated=True)
    if not hasattr(estimator, "decision_function"):
        raise InputError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function: use the covering rate, "
            "which needs predictions alone."
        )
    scores = np.asarray(estimator.decision_function(X), dtype=float)
    if scores.ndim == 1:  # two classes
        scores = np.stack([np.zeros(len(scores)), scores], axis=1)
    return Probabilities(softmax(scores), calibrated=False)


def _check_classifier(estimator: Any) -> None:
    """Raise unless there is something that predicts classes; whether it is fitted, it says itself."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise InputTypeError(f"{estimator!r} predicts nothing: give a fitted classifier.")


def _covering_rate(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    _check_classifier(estimator)
    return covering_rate(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _exact_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    _check_classifier(estimator)
    return exact_accuracy(y, estimator.predict(X), classes=estimator.classes_, sample_weight=sample_weight)


def _approximated_accuracy(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    proba = probabilities(estimator, X).proba
    return approximated_accuracy(y, proba, classes=estimator.classes_, sample_weight=sample_weight)


covering_rate_scorer = Scorer("covering_rate_scorer", _covering_rate)
"""How often the prediction lies in the set, over the labeled rows (`oneof.metrics.covering_rate`)."""

approximated_accuracy_scorer = Scorer("approximated_accuracy_scorer", _approximated_accuracy)
"""`oneof.metrics.approximated_accuracy` of `predict_proba`; where that is absent, of a softmax of `decision_function`.

The softmax is not calibrated: compare such values only between settings of one method."""

exact_accuracy_scorer = Scorer("exact_accuracy_scorer", _exact_accuracy)
"""The accuracy over the rows of the test part whose set holds one label (`oneof.metrics.exact_accuracy`)."""
