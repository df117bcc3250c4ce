"""A classifier whose predictions are sets of classes."""

from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets, as_candidates
from oneof.conformal.held_out import check_cv, class_proba, fit_parts, is_text
from oneof.errors import InputError
from oneof.estimators.base import check_informative, check_lengths
from oneof.estimators.loo_ridge import FIRST_CHOICE
from oneof.messages import warn
from oneof.metrics import covering_rate
from oneof.model_selection.folds import count_groups
from oneof.model_selection.scoring import check_has_scores
from oneof.solvers import conformal
from oneof.typing import Floats, Labels
from oneof.validation import (
    as_array,
    check_bool,
    check_choice,
    check_coverage,
    check_estimator,
    check_n_jobs,
    check_random_state,
)


class ConformalClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that predicts sets of classes which contain the true class with a given probability.

    The score of a class is compared with the scores of the true classes of held-out calibration rows. A class whose
    score is among the worst 1 - `coverage` of them is excluded. The guarantee holds for any model, and a better model
    has smaller sets. It requires that the calibration rows and the new rows come from the same distribution, and that
    the candidate sets of calibration rows contain the true class. `guarantee_` states it for the fitted sets.

    Parameters
    ----------
    estimator : classifier, default=None
        An estimator of oneof, any classifier with `predict_proba` or `decision_function`, or a pipeline that ends with
        one of them. None is ``LOORidge()``. It is cloned, unless ``cv="prefit"``.
    coverage : float, default=0.9
        Probability of the true class to be in the set, above 0 and below 1.
    method : {"lac", "aps"}, default="lac"
        Score of a class: "lac" is one minus its probability, which gives the smallest sets on average. "aps" is the
        probability of all classes that are more probable: a set has the most probable classes, until their probability
        is above a threshold. Classes whose probabilities tie are in a set together.
    cv : int, float, splitter, iterable, "prefit" or "leave_one_out", default=5
        Calibration rows:

        * an integer, a splitter or (train, test) pairs: every labeled row is predicted by the model of the other folds
          (cross-conformal prediction);
        * a float between 0 and 1: this fraction of the labeled rows is held out (split-conformal prediction), rounded
          to a multiple of 1/20;
        * "prefit": `estimator` is fitted already, and the rows of `fit` are for calibration only;
        * "leave_one_out": the leave-one-out scores of a single `LOORidge`, or of a pipeline that ends with one.
    calibration : {"conservative", "sampled", "optimistic"}, default="conservative"
        Treatment of the calibration rows with several candidates: "conservative" assumes the worst of the candidates,
        which keeps the guarantee if one of them is the true class. "sampled" uses all candidates, weighted by their
        probabilities given the set, and "optimistic" assumes the best; they give smaller sets without a guarantee. The
        three are the same if all rows are exact. Unlabeled rows are not used.
    class_conditional : bool, default=False
        Whether each class is covered with probability `coverage`, and not only the classes on average. It requires more
        calibration rows.
    randomized : bool, default=False
        Whether "aps" adds a random fraction of the probability of the class itself, which gives larger sets to
        difficult rows. The fraction is a hash of `random_state` and of the row's probabilities, rounded to four digits:
        a row has the same set alone and in any batch. In cross-validation the sets cover slightly more than the default
        ones (.910 instead of .905 in simulations at .9): the p-values are means over the models, and empty sets are
        filled. Ignored by "lac".
    n_jobs : int, default=None
        Number of folds fitted in parallel (joblib).
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, of the fractions of `randomized`, and of the parameters `random_state` of `estimator` that
        are None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimator_ : classifier
        The classifier of `predict` and `predict_proba`. In cross-conformal prediction it is fitted to all rows, with a
        fraction of the rows held out to the other rows.
    estimators_ : list of classifier
        The classifiers that score the classes: one for each fold, otherwise `estimator_` alone.
    calibrations_ : list of Calibration
        The calibration scores for each of `estimators_`.
    n_calibration_, n_partial_ : int
        Number of calibration rows, and of those with several candidates.
    guarantee_ : str
        One sentence: the coverage of the sets, the rows to which it applies, and its conditions.
    n_features_in_ : int
        Number of features of X; set if `estimator_` has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set if `estimator_` has them.

    Notes
    -----
    The guarantee is `coverage` for a held-out fraction and for "prefit", if the rows of `fit` were not used to fit the
    estimator. In cross-conformal prediction with 1 - a = `coverage` it is 1 - 2a - sqrt(2 / n) in the worst case, and
    nearly 1 - a in practice. "leave_one_out" has no guarantee for every data set, since the labels of other partial
    rows may depend on the row. Coverage is an average over calibration rows, new rows and classes. With few calibration
    rows, that of one fitted classifier varies: its standard deviation is about sqrt(a (1 - a) / n).

    "sampled" is as accurate as the probabilities of the candidates. These are the probabilities of the classifier times
    the weights, scaled to sum 1 in the set. With "leave_one_out" they are the label distributions of `LOORidge`, which
    account for the origin of the distractors. Exact rows have the score of their label under all three. Weights
    of 0 exclude a class; other weights matter to "sampled" only.

    No set is empty: a set without any class is given the class that would enter it first at a larger coverage, with
    those tied with it. This is the most probable class, unless several models or class-conditional calibration rank the
    classes differently. It can only raise the coverage, and raises it above the nominal one if the model is more often
    right than `coverage`.

    A classifier without `predict_proba` is scored by the softmax of its decision function. The guarantee holds for any
    score. Scores of "aps" depend on the scale of the decision function, those of "lac" hardly.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world.
    Sadinle, Lei & Wasserman (2019), Least ambiguous set-valued classifiers with bounded error levels, JASA 114.
    Romano, Sesia & Candes (2020), Classification with valid and adaptive coverage, NeurIPS 33.
    Javanmardi, Sale, Hofman & Hullermeier (2023), Conformal prediction with partially labeled data, COPA.
    Stutz et al. (2023), Conformal prediction under ambiguous ground truth, TMLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from oneof.conformal import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-1.0, size=(50, 1)), rng.normal(1.0, size=(50, 1))])
    >>> model = ConformalClassifier(GaussianNB(), coverage=0.95, random_state=0).fit(X, ["finch"] * 50 + ["wren"] * 50)
    >>> model.predict_set([[-2.0], [0.1], [3.0]]).to_sets() == [{"finch"}, {"finch", "wren"}, {"wren"}]
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        coverage: float = 0.9,
        method: Literal["lac", "aps"] = "lac",
        cv: Any = 5,
        calibration: Literal["conservative", "sampled", "optimistic"] = "conservative",
        class_conditional: bool = False,
        randomized: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.cv = cv
        self.calibration = calibration
        self.class_conditional = class_conditional
        self.randomized = randomized
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the estimator and compute the calibration scores.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights. A classifier that is
            not of oneof requires exact labels, except with ``cv="prefit"``; unlabeled rows are ignored.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a patient or a recording. No row is predicted by a model that was fitted to
            other rows of its group. The coverage is then approximately that of rows of new groups, if there are many:
            with ten groups or fewer it may be far lower. `cv` must be a number of folds or a splitter.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter is invalid.

        Warns
        -----
        UserWarning
            If there are few groups.
        """
        self._check_parameters()
        rng = check_random_state(self.random_state)
        rows = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else as_array(X, "X")
        if getattr(getattr(rows, "dtype", None), "kind", "") == "c":
            raise InputError("Complex data not supported: `X` must contain real numbers.")
        classes = None
        if is_text(self.cv, "prefit"):
            check_is_fitted(self.estimator)
            classes = np.asarray(self.estimator.classes_)
        candidates = as_candidates(y, classes=classes)
        check_lengths(rows, candidates)
        check_informative(candidates)
        self.estimator_, parts = fit_parts(
            self._classifier(), rows, y, candidates, cv=self.cv, groups=groups, n_jobs=self.n_jobs, rng=rng
        )
        self.estimators_ = [part.model for part in parts]
        n_groups = None if groups is None else count_groups(groups, candidates)
        if few := conformal.describe_few_groups(n_groups):
            warn(few)
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        sets = [candidates[part.rows] for part in parts]
        options: dict[str, Any] = {"calibration": self.calibration, "class_conditional": self.class_conditional}
        self.calibrations_ = [
            conformal.calibrate(
                self._scores(part.proba, part.proba), part.proba, own.evidence, posterior=part.posterior, **options
            )
            for part, own in zip(parts, sets, strict=True)
        ]
        self.n_calibration_ = sum(map(len, sets))
        self.n_partial_ = self.n_calibration_ - sum(int(own.is_exact.sum()) for own in sets)
        self.guarantee_ = conformal.describe_guarantee(
            self.coverage,
            n_partial=self.n_partial_,
            is_bound=len(parts) == 1 and not is_text(self.cv, "leave_one_out"),
            n_groups=n_groups,
            **options,
        )
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.classes_ = candidates.classes
        return self

    def predict_set(self, X: Any, coverage: float | None = None) -> CandidateSets:
        """Predict a set of classes for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        coverage : float, optional
            Another coverage than that of the parameter. The classifier is not fitted again.

        Returns
        -------
        CandidateSets
            Over ``classes_``, without an empty set. ``to_strings(write_full=True)`` writes sets of all classes in full.

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.
        InputError
            If X or the coverage is invalid.

        Warns
        -----
        UserWarning
            If classes are in every set because there are too few calibration rows, or if most sets have all classes
            because of partial calibration rows.
        """
        check_is_fitted(self)
        coverage = self.coverage if coverage is None else coverage
        check_coverage(coverage)
        proba = class_proba(self.estimator_, X, self.classes_)
        scores = [
            self._scores(proba if model is self.estimator_ else class_proba(model, X, self.classes_), proba)
            for model in self.estimators_
        ]
        mask = conformal.prediction_sets(conformal.p_values(self.calibrations_, scores), coverage, proba)
        few = conformal.describe_few_rows(self.calibrations_, len(self.classes_), coverage, self.class_conditional)
        if few:
            warn(few)
        elif self.n_partial_ and self.calibration == "conservative" and 2 * mask.all(axis=1).sum() > len(mask):
            warn(
                f"Most prediction sets have all classes, since {self.n_partial_} of {self.n_calibration_} calibration "
                'rows have several candidates and calibration="conservative" assumes the worst of them. Calibrate by '
                'exact rows, or use calibration="sampled", which has no guarantee.'
            )
        return CandidateSets(mask, self.classes_)

    def predict(self, X: Any) -> Labels:
        """Predict one class for each row, by `estimator_`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, by `estimator_`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.
        InputError
            If the estimator has no `predict_proba`.
        """
        check_is_fitted(self)
        if not hasattr(self.estimator_, "predict_proba"):
            raise InputError(f"`estimator` must have predict_proba; {type(self.estimator_).__name__} does not have it.")
        return class_proba(self.estimator_, X, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate of `predict`, which is the accuracy on exact labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
            In [0, 1]; higher is better.
        """
        check_is_fitted(self)
        return covering_rate(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    # -- parameters -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_coverage(self.coverage)
        check_choice("method", self.method, conformal.METHODS)
        check_choice("calibration", self.calibration, conformal.CALIBRATIONS)
        check_bool("class_conditional", self.class_conditional)
        check_bool("randomized", self.randomized)
        check_n_jobs(self.n_jobs)
        check_cv(self.cv)
        estimator = self._classifier()
        check_estimator(estimator)
        check_has_scores(estimator)

    def _classifier(self) -> Any:
        """Return the classifier, not cloned."""
        if self.estimator is None and is_text(self.cv, "prefit"):
            raise InputError('`estimator` must be a fitted classifier with cv="prefit"; got None.')
        return FIRST_CHOICE() if self.estimator is None else self.estimator

    def _scores(self, proba: Floats, hashed: Floats) -> Floats:
        """Return scores; the random number of a row is a hash of `hashed`, and the same in the scores of all models."""
        uniform = conformal.row_uniforms(hashed, self._seed) if self.randomized else None
        return conformal.class_scores(proba, self.method, uniform)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(FIRST_CHOICE() if self.estimator is None else self.estimator).input_tags
        for name in ("sparse", "allow_nan", "positive_only", "pairwise"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags
