"""Error-correcting output codes over a binary classifier."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import CandidateClassifier, DecisionFunctionMixin
from oneof.kernels.spread import scale_gamma
from oneof.parallel import single_threaded_blas
from oneof.solvers.ecoc import code_performance, decode, draw_codings, row_sides
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_n_jobs, check_positive, check_random_state

OVERFLOW = "{} overflow: scale the features, for example with StandardScaler."


class PLECOC(DecisionFunctionMixin, CandidateClassifier):
    """Binary classifiers on random partitions of the classes, decoded by their losses.

    A coding M_.l puts each class on the side -1 or +1, and a classifier with margin h_l is trained on the rows whose
    whole candidate set lies on one side. Predicts argmin_k sum_l H_kl exp(-h_l(x) M_kl), where H_kl is the share of the
    rows with k among their candidates on which sign h_l = M_kl, scaled to sum 1 for each class. Rows whose set holds
    every class take no part.

    Parameters
    ----------
    estimator : classifier, default=None
        Any binary classifier of scikit-learn, cloned for each coding; None is ``SVC()``, with its RBF kernel. The
        margin is its `decision_function`, or 2 p - 1 from `predict_proba` where it has none.
    code_length : int, default=None
        Number of codings L; None is the published ceil(10 log2 n_classes). Where classes are few, codings recur: each
        is trained once, and counts in the sum as often as it was drawn.
    min_fraction : float, default=0.1
        Codings are drawn again unless they keep this share of the rows, in (0, 1], with rows on either side. Codings
        keep fewer the larger the sets are. Only where a class is in every set do they make do with one side.
    n_jobs : int, default=None
        Codings fitted, and asked, side by side: in threads, unless joblib is told otherwise. The result is the same for
        any number.
    random_state : int, RandomState instance or None, default=None
        For the codings, and for parameters of that name in `estimator`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    code_book_ : ndarray of shape (n_classes, code_length)
        M, of -1 and +1; the first class is always +1, as a coding and its negative are one.
    estimators_ : list of code_length classifiers
        Of the classes -1 and +1; equal codings share one. Where all rows have one side, a DummyClassifier that says so.
        Those of ``estimator=None`` are trained on dense rows less their median: the kernel does not change by that, but
        far from the origin its distances would be rounding.
    code_weights_ : ndarray of shape (n_classes, code_length)
        H; uniform for a class that no row names, or on whose code no classifier is ever right. A margin of 0 counts as
        the side -1.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Scores of two models compare only if their codings are the same. To the default machines one factor for all
    features changes nothing; factors of their own do: standardize the features first.

    References
    ----------
    Zhang, Yu & Tang (2017), Disambiguation-free partial label learning, IEEE TKDE 29(10).

    Examples
    --------
    >>> from oneof import PLECOC
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> model = PLECOC(random_state=0).fit(X, [["a"], ["a", "b"], ["a", "c"], ["c"], ["b", "c"]])
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        code_length: int | None = None,
        min_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.code_length = code_length
        self.min_fraction = min_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the codings, and train a classifier on each.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets; rows without a label are passed over.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used, if too few codings keep `min_fraction` of the rows, or if none parts
            them, as where each set holds nearly all classes.
        """
        check_positive("min_fraction", self.min_fraction)
        if self.min_fraction > 1:
            raise InputError(f"`min_fraction` must be a share of the rows, at most 1; got {self.min_fraction!r}.")
        if self.code_length is not None:
            check_positive("code_length", self.code_length, integer=True)
        check_n_jobs(self.n_jobs)
        learner = self._learner()
        rows, candidates = self._validate_fit(X, y)
        told = ~candidates.is_unlabeled
        rows, mask = _small_indices(rows[told]), candidates.mask[told]
        _check_size(rows)
        own = self.estimator is None
        self._origin = np.median(rows, axis=0).astype(np.float64) if own and not sp.issparse(rows) else None
        code_length = int(np.ceil(10 * np.log2(mask.shape[1]))) if self.code_length is None else self.code_length
        random = check_random_state(self.random_state)
        codings = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
        codes = draw_codings(mask, int(code_length), self.min_fraction, codings)
        distinct, place = np.unique(codes, axis=1, return_inverse=True)
        trained = self._each(
            delayed(_train)(_seeded(learner, random), rows, row_sides(mask, code[:, None])[:, 0], own, self._origin)
            for code in distinct.T
        )
        estimators, margins = zip(*trained)
        self._takes_sparse = sp.issparse(rows)
        self.estimators_ = [estimators[j] for j in place.ravel()]
        self.code_book_ = codes
        self.code_weights_ = code_performance(np.column_stack(margins)[:, place.ravel()], mask, codes)
        return self._finalize_fit(X, y, candidates)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        _, first, place = np.unique(self.code_book_, axis=1, return_index=True, return_inverse=True)
        # Classifiers trained on dense rows may not take sparse ones.
        rows = _small_indices(rows if self._takes_sparse or not sp.issparse(rows) else rows.toarray())
        origin = getattr(self, "_origin", None)  # models of before have none
        rows = rows if origin is None else rows - origin
        margins = self._each(delayed(_margin)(self.estimators_[j], rows) for j in first)
        return -decode(np.column_stack(margins)[:, place.ravel()], self.code_book_, self.code_weights_)

    def _each(self, calls: Iterable[Any]) -> list[Any]:
        """Make calls side by side; then each has one thread of BLAS, so that no core is asked for twice."""
        several = effective_n_jobs(self.n_jobs) > 1
        with single_threaded_blas() if several else nullcontext():
            return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(calls))

    def _learner(self) -> Any:
        """Return the classifier that is cloned for each coding."""
        if self.estimator is None:
            return SVC()
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InputTypeError(f"estimator={self.estimator!r} is no classifier: give an object, such as SVC().")
        if not hasattr(self.estimator, "decision_function") and not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"estimator={self.estimator!r} has neither decision_function nor predict_proba: give one that has."
            )
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _seeded(learner: Any, random: np.random.RandomState) -> Any:
    """Return a clone whose parameters called random_state, its own or nested, have a seed."""
    names = [name for name in sorted(learner.get_params(deep=True)) if name.split("__")[-1] == "random_state"]
    return clone(learner).set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in names})


def _train(learner: Any, rows: FeatureMatrix, side: Ints, own: bool, origin: Floats | None) -> tuple[Any, Floats]:
    """Fit a classifier, our own or the caller's, to the rows that have a side; return it, and its margins on all."""
    kept = np.flatnonzero(side)
    rows_kept, side = rows[kept], side[kept]
    if own:
        learner.set_params(gamma=scale_gamma(rows_kept))
    if origin is not None:
        rows, rows_kept = rows - origin, rows_kept - origin
    if side.min() == side.max():
        learner = DummyClassifier(strategy="constant", constant=side[0])
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is looked for below, and said in one sentence
        learner.fit(rows_kept, side)
    return learner, _margin(learner, rows)


def _margin(classifier: Any, rows: FeatureMatrix) -> Floats:
    """Return the margins of the rows, positive on the side +1."""
    with np.errstate(over="ignore", invalid="ignore"):
        if len(classifier.classes_) == 1:
            margin = np.full(rows.shape[0], float(classifier.classes_[0]))
        elif hasattr(classifier, "decision_function"):
            margin = np.asarray(classifier.decision_function(rows), dtype=np.float64)
        else:
            margin = 2.0 * np.asarray(classifier.predict_proba(rows), dtype=np.float64)[:, 1] - 1.0
    if not np.isfinite(margin).all():
        raise InputError(OVERFLOW.format("margins"))
    return margin.reshape(rows.shape[0])


def _check_size(rows: FeatureMatrix) -> None:
    """Raise if squared lengths of rows overflow, of which some classifiers make scores that are only wrong."""
    values = rows.data if sp.issparse(rows) else rows.ravel()
    with np.errstate(over="ignore"):
        if not np.isfinite(np.einsum("i,i->", values, values, dtype=np.float64)):
            raise InputError(OVERFLOW.format("squared lengths of the rows"))


def _small_indices(rows: FeatureMatrix) -> FeatureMatrix:
    """Return sparse rows with indices of 32 bits where they fit, as libsvm wants them."""
    if not sp.issparse(rows) or rows.indices.dtype == np.int32 or max(rows.shape[1], rows.nnz) > np.iinfo(np.int32).max:
        return rows
    return type(rows)((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)
