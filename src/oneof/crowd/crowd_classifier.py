"""A classifier and a model of the annotators, fitted in turn."""

import numbers
import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.crowd.annotator_model import AnnotatorModel
from oneof.crowd.answers import Answers
from oneof.crowd.arguments import as_answers, check_answers, is_table, read_gold
from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators._soft_labels import fit_and_predict, fit_soft, predict_columns, remove_generators, with_seeds
from oneof.estimators.base import CandidateClassifier
from oneof.metrics import covering_rate
from oneof.model_selection import CandidateKFold, cross_val_predict
from oneof.solvers.annotators.temper import MAX_POWER, answer_power, is_informative, temper
from oneof.typing import Floats, Ints, Labels
from oneof.validation import (
    as_array,
    check_estimator,
    check_instance,
    check_n_jobs,
    check_positive,
    check_random_state,
)

MIN_PROBABILITY = 1e-12
N_ANNOTATOR_STEPS = 20
"""Maximum number of EM iterations for the annotators in a round."""
N_COPIES = 10
"""Number of copies of each row for a classifier without sample weights."""


class CrowdClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that learns from the answers of annotators, each as reliable as the data shows.

    The classifier's prediction of a row by the other rows is the prior of the row's label, and the answers are its
    evidence. Each round fits the classifier to the labels, predicts each row by a model that was not fitted to its
    answers, and fits the annotators with these predictions as the prior. The rounds end when the labels no longer
    change. A row's own answers thus never confirm themselves through the classifier.

    Parameters
    ----------
    estimator : classifier, default=None
        An estimator of oneof that accepts weights, any classifier with `predict_proba`, or a pipeline that ends with
        one of them. None is ``LOORidge()``. It is cloned.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds of the held-out predictions, or another way to split. `LOORidge` uses them in the first round
        only, and then predicts each row by leave-one-out.
    annotator_model : AnnotatorModel, default=None
        The model of the annotators; None is ``AnnotatorModel()``. It is cloned.
    max_iter : int, default=10
        Maximum number of rounds; if they are not sufficient, a ConvergenceWarning is issued.
    tol : float, default=0.01
        The rounds end when the labels change by at most this on average over the rows with answers, in total variation;
        above 0.
    n_jobs : int, default=None
        Number of folds fitted in parallel (joblib).
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the parameters with this name in `estimator` that are None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimator_ : classifier
        The classifier of the last fit. A classifier of scikit-learn is fitted to the positions of the labels that
        occur, not to their names. An estimator of oneof can be saved by `oneof.persistence.save`.
    annotator_model_ : AnnotatorModel
        The annotators: accuracies, confusion matrices, copies. Its prior is that of the last round.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes given the answers and the held-out predictions.
    transduction_ : ndarray of shape (n_samples,)
        The most probable class of each row of fit.
    held_out_proba_ : ndarray of shape (n_samples, n_classes)
        The held-out predictions of the last round, the prior of the labels.
    classifier_power_ : float
        The power of the classifier's probabilities in the prior, at most 1. The answers are most likely under it.
    answer_power_ : float
        The power of the likelihood of the answers, from 0.5 to 1. It is below 1 if the answers to one row are less
        informative than independent answers, because annotators make the same mistakes on difficult rows.
    label_changes_ : ndarray of shape (n_iter_,)
        Mean total variation between the labels before and after each round, in [0, 1].
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    Estimators of oneof are fitted to the likelihood of the answers as weights and disambiguate the labels themselves;
    `LOORidge` is fitted to the posterior as weights. Other classifiers are fitted to soft labels, the posterior, by
    `sample_weight`, or by copies of rows without it; rows without answers are not used by them.

    If the first held-out predictions do not make the answers significantly more likely than the class frequencies do,
    the labels are those of the answers alone, `classifier_power_` is 0, and a UserWarning is issued.

    References
    ----------
    Raykar et al. (2010), Learning from crowds, JMLR 11.

    Examples
    --------
    >>> from oneof.crowd import CrowdClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> answers = [["a", "a"], ["a", None], ["a", "b"], [None, "a"], ["b", "b"], ["b", "a"], ["b", None], ["b", "b"]]
    >>> model = CrowdClassifier(random_state=0).fit(X, answers)
    >>> model.predict([[0.15], [5.15]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        annotator_model: Any = None,
        max_iter: int = 10,
        tol: float = 0.01,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.annotator_model = annotator_model
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, answers: Any, gold: Any = None) -> Self:
        """Fit the classifier and the model of the annotators.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        answers : Answers, array-like or DataFrame
            A table of shape (n_samples, n_annotators) of labels, sets and missing answers, or records. The rows of
            records are named by the index of a pandas DataFrame X, otherwise by their numbers from 0.
        gold : array-like of length n_samples or mapping, optional
            Known labels, missing if they are not known, or a mapping from names of rows to labels.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, the answers, `gold` or a parameter are invalid, or an answer is about a row that X does not have.
        """
        self.__dict__.pop("classes_", None)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        check_n_jobs(self.n_jobs)
        rng = check_random_state(self.random_state)
        learner = _WeightLearner.of(self._classifier(), rng, self.n_jobs)
        annotators = AnnotatorModel() if self.annotator_model is None else self.annotator_model
        check_instance("annotator_model", annotators, AnnotatorModel)
        rows = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else as_array(X, "X")
        given = _align(as_answers(answers, annotators.classes), rows, is_table(answers))
        model = clone(annotators).fit(given, gold)
        evidence = read_gold(gold, given)
        folds = self._folds(rows, model.candidates_, rng)
        labeled = ~model.candidates_.is_unlabeled
        changes: list[float] = []
        while True:
            labels = model.posterior_
            # The first predictions are cross-fitted: self-training on the labels of a row would confirm them.
            held_out_scores = learner.held_out_scores if changes else learner.cross_fitted_scores
            scores = held_out_scores(rows, model.candidates_, labels, folds)
            prior, power = temper(scores, model.candidates_.evidence, learner.max_power)
            if not changes and not is_informative(prior, model.class_prior_, model.candidates_.weights):
                warnings.warn(
                    "The features do not predict the answers: the labels are those of the answers alone. Check X, or "
                    "pass another estimator.",
                    UserWarning,
                    stacklevel=2,
                )
                prior, power, answer_power_ = np.tile(model.class_prior_, (len(labels), 1)), 0.0, 1.0
                changes.append(0.0)
                break
            answer_power_ = _answer_power(model, prior, evidence)
            model._update(given, prior, evidence, power=answer_power_, max_iter=N_ANNOTATOR_STEPS)
            changes.append(float(0.5 * np.abs(model.posterior_ - labels)[labeled].sum(axis=1).mean()))
            if changes[-1] <= self.tol or len(changes) >= self.max_iter:
                break
        if changes[-1] > self.tol:
            warnings.warn(
                f"The labels did not converge in {len(changes)} rounds: their last mean change was {changes[-1]:.2g}. "
                "Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._learner = learner
        self.estimator_ = learner.fit(rows, model.candidates_, model.posterior_)
        self.annotator_model_ = model
        self.label_distributions_, self.held_out_proba_ = model.posterior_, prior
        self.classifier_power_, self.answer_power_ = power, answer_power_
        self.transduction_ = given.classes[model.posterior_.argmax(axis=1)]
        self.label_changes_, self.n_iter_ = np.array(changes), len(changes)
        self.classes_ = given.classes
        return self

    def predict(self, X: Any) -> Labels:
        """Predict one class for each row.

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
        InputError
            If X is invalid.
        """
        check_is_fitted(self)
        return self._learner.predict(self.estimator_, X, self.classes_)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

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
            If X is invalid, or the estimator has no `predict_proba`.
        """
        check_is_fitted(self)
        return self._learner.predict_proba(self.estimator_, X, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate, which is the accuracy on exact labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0.

        Returns
        -------
        float
            In [0, 1]; higher is better.

        Raises
        ------
        LabelError
            If every row is unlabeled or has weight 0.
        """
        return covering_rate(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _classifier(self) -> Any:
        if self.estimator is None:
            from oneof.estimators.loo_ridge import LOORidge

            return LOORidge()
        check_estimator(self.estimator)
        return self.estimator

    def _folds(self, rows: Any, candidates: CandidateSets, rng: Any) -> list[tuple[Ints, Ints]]:
        """Return training and test rows; each row is in one test subset, unlabeled rows are in all training subsets."""
        cv = self.cv
        if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
            cv = CandidateKFold(int(cv), random_state=rng)
        index, unlabeled = np.arange(len(candidates)), candidates.is_unlabeled
        with reraise_as_input_error():
            folds = [(index[train], index[test]) for train, test in check_cv(cv).split(rows, candidates)]
        times = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(index))
        wrong = np.flatnonzero((times > 1) | ((times == 0) & ~unlabeled))
        if len(wrong):
            raise InputError(
                f"`cv` must have each row with answers in exactly one test subset; row {wrong[0]} is in "
                f"{times[wrong[0]]}."
            )
        rest = np.where(times == 0, index % len(folds), -1)
        return [(train, np.sort(np.append(test, np.flatnonzero(rest == k)))) for k, (train, test) in enumerate(folds)]


class _WeightLearner:
    """A classifier that is fitted to the labels of a round; this one accepts weights of the classes."""

    def __init__(self, classifier: Any, n_jobs: int | None) -> None:
        self.classifier, self.n_jobs = classifier, n_jobs
        # Probabilities are not sharpened: a model of the annotators that follows the classifier would ask for it.
        self.max_power = 1.0 if hasattr(classifier, "predict_proba") else MAX_POWER

    @staticmethod
    def of(classifier: Any, rng: Any, n_jobs: int | None) -> "_WeightLearner":
        """Return the way to fit a classifier: by its leave-one-out scores, weights of the classes, or soft labels."""
        last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
        classifier = with_seeds(classifier, rng)
        if isinstance(last, CandidateClassifier):
            from oneof.estimators.loo_ridge import LOORidge

            return (_LeaveOneOutLearner if isinstance(last, LOORidge) else _WeightLearner)(classifier, n_jobs)
        if not hasattr(last, "predict_proba"):
            raise InputError(
                f"`estimator` must have predict_proba; got {last!r}. Wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        return _SoftLabelLearner(classifier, n_jobs)

    def held_out_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Any) -> Floats:
        """Return scores of all rows, (n, K), by models that were not fitted to their answers."""
        return self.cross_fitted_scores(rows, candidates, labels, folds)

    def cross_fitted_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Any) -> Floats:
        """Return scores of all rows, (n, K), each by the model of the other folds."""
        del labels
        method: Any = "predict_proba" if hasattr(self.classifier, "predict_proba") else "decision_function"
        values = cross_val_predict(
            self.classifier, rows, candidates, cv=_Folds(folds), method=method, n_jobs=self.n_jobs
        )
        if method == "predict_proba":
            return np.asarray(np.log(np.maximum(values, MIN_PROBABILITY)))
        values = np.stack([-0.5 * values, 0.5 * values], axis=1) if values.ndim == 1 else values
        lowest = np.where(np.isfinite(values), values, np.inf).min(axis=1, keepdims=True)
        values = np.where(np.isfinite(values), values, lowest)
        values = values - values.mean(axis=1, keepdims=True)
        return np.asarray(values / max(float(np.sqrt((values**2).mean())), MIN_PROBABILITY))

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to all rows."""
        del labels
        return clone(self.classifier).fit(rows, candidates)

    def predict(self, model: Any, X: Any, classes: Labels) -> Labels:
        """Return the predicted classes."""
        del classes
        return np.asarray(model.predict(X))

    def predict_proba(self, model: Any, X: Any, classes: Labels) -> Floats:
        """Return probabilities of all classes."""
        del classes
        if not hasattr(model, "predict_proba"):
            raise InputError(f"`estimator` must have predict_proba; {type(model).__name__} does not have it.")
        return np.asarray(model.predict_proba(X))


class _LeaveOneOutLearner(_WeightLearner):
    """A `LOORidge`, whose leave-one-out scores are held-out scores.

    Its self-training does not maximize a likelihood, and is better with the posterior of the labels as weights.
    """

    def held_out_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Any) -> Floats:
        """Return the leave-one-out scores."""
        del folds
        model = self.fit(rows, candidates, labels)
        last = model[-1] if isinstance(model, Pipeline) else model
        return np.asarray(last.inverse_temperature_ * last.loo_scores_)

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to all rows."""
        weights = np.where(candidates.is_unlabeled[:, None], 1.0, np.maximum(labels, MIN_PROBABILITY))
        weights[~candidates.mask] = 0.0  # known labels
        return clone(self.classifier).fit(rows, CandidateSets.from_weights(weights, candidates.classes))


class _SoftLabelLearner(_WeightLearner):
    """A classifier of scikit-learn, fitted to soft labels; rows without answers are not used."""

    def cross_fitted_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Any) -> Floats:
        """Return the logarithms of the held-out probabilities."""
        labeled, proba = ~candidates.is_unlabeled, np.empty(labels.shape)
        calls = [(train[labeled[train]], test) for train, test in folds]
        with reraise_as_input_error():
            values = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_and_predict)(self.classifier, rows, labels, train, test, N_COPIES) for train, test in calls
            )
        for (_, test), value in zip(calls, values, strict=True):
            proba[test] = value
        return np.asarray(np.log(np.maximum(proba, MIN_PROBABILITY)))

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to the rows with answers."""
        labeled = np.flatnonzero(~candidates.is_unlabeled)
        model, self.columns = fit_soft(self.classifier, _safe_indexing(rows, labeled), labels[labeled], N_COPIES)
        remove_generators(model)
        return model

    def predict(self, model: Any, X: Any, classes: Labels) -> Labels:
        """Return the predicted classes."""
        return classes[self.predict_proba(model, X, classes).argmax(axis=1)]

    def predict_proba(self, model: Any, X: Any, classes: Labels) -> Floats:
        """Return probabilities of all classes, 0 for those that no label has."""
        with reraise_as_input_error():
            rows = X if hasattr(X, "shape") else as_array(X, "X")
            return predict_columns(model, self.columns, rows, len(classes))


class _Folds:
    """A splitter with given folds, of which the rows without answers are predicted too."""

    def __init__(self, folds: list[tuple[Ints, Ints]]) -> None:
        self.folds = folds

    def split(self, X: Any, y: Any = None, groups: Any = None) -> list[tuple[Ints, Ints]]:
        """Return the folds."""
        del X, y, groups
        return self.folds

    def get_n_splits(self, *_: Any) -> int:
        """Return the number of folds."""
        return len(self.folds)


def _answer_power(model: AnnotatorModel, prior: Floats, evidence: Floats | None) -> float:
    """Return the power of the likelihood, from the rows with answers and without known labels."""
    used = np.bincount(model._answer_columns.row, minlength=len(prior)) > 0
    if evidence is not None:
        used &= (evidence == 1).all(axis=1)
    return answer_power(model._log_likelihood[used], prior[used])


def _align(answers: Answers, rows: Any, table: bool) -> Answers:
    """Return the answers over the rows of X; those of a table are in the same order."""
    if len(rows.shape) == 0:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    n = rows.shape[0]
    if table and len(answers) != n:
        raise InputError(f"`answers` are about {len(answers)} rows, but `X` has {n}. Give one row of answers for each.")
    index = rows.index if hasattr(rows, "index") and not callable(rows.index) else np.arange(n)
    is_ordered = table or (len(answers) == n and np.array_equal(answers.rows, np.arange(n)))
    return check_answers(answers if is_ordered else answers.align(index))
