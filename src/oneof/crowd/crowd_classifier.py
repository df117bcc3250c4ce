"""A classifier and a model of the annotators, fitted in turn."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.crowd.annotator_model import AnnotatorModel
from oneof.crowd.answers import as_answers, join_rows
from oneof.crowd.learners import WeightLearner, most_probable, training_labels
from oneof.errors import InputTypeError
from oneof.messages import warn
from oneof.metrics import covering_rate
from oneof.model_selection.prediction import as_rows, predicted_folds
from oneof.solvers.annotators.temper import N_STANDARD_ERRORS, answer_power, is_informative, temper
from oneof.typing import Floats, Labels
from oneof.validation import (
    check_estimator,
    check_instance,
    check_n_jobs,
    check_positive,
    check_random_state,
)

Progress = Callable[[int, int | None, str, float | None], None]
N_ANNOTATOR_STEPS = 20
"""Maximum number of EM iterations for the annotators in a round."""


@dataclass(frozen=True)
class _Rounds:
    """Result of the rounds of `CrowdClassifier`, without any round at first."""

    model: AnnotatorModel
    prior: Floats
    """(n, K): the held-out predictions of the last round; the class frequencies without rounds."""
    classifier_power: float = 0.0
    answer_power: float = 1.0
    changes: tuple[float, ...] = ()
    """Mean change of the labels in each round."""
    log_likelihoods: Floats = field(default_factory=lambda: np.empty(0))
    """Log-likelihood of the answers to each row, given its held-out prediction and the annotators before the round."""


class CrowdClassifier(ClassifierMixin, BaseEstimator):
    """Classifier fitted to the answers of annotators, together with the accuracies of the annotators.

    The classifier's prediction of a row by the other rows is the prior of the row's label, and the answers are its
    evidence. A round has three steps:

    1. Fit the classifier to the labels.
    2. Predict each row by a model that was not fitted to its label, so that no row directly confirms it.
    3. Fit the annotators with these predictions as the prior.

    The rounds end when the labels no longer change, or when the held-out predictions make the answers significantly
    less likely than in an earlier round; the result is then that of the best round. Votes of rules have no rounds: the
    classifier is fitted to their labels once.

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
    tol : float, default=0.02
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
        The most probable class of each row of fit; if there is none, as without answers, the prediction of
        `estimator_`.
    held_out_proba_ : ndarray of shape (n_samples, n_classes)
        The held-out predictions of the last round, the prior of the labels.
    classifier_power_ : float
        The power of the classifier's probabilities in the prior, at most 1 if it has `predict_proba`. The answers are
        most likely under it.
    answer_power_ : float
        The power of the likelihood of the answers, from 0.5 to 1. It is below 1 if the answers to one row are less
        informative than independent answers, because annotators make the same mistakes on difficult rows.
    label_changes_ : ndarray of shape (n_iter_,)
        Mean total variation between the labels before and after each round, in [0, 1].
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    oneof.crowd.AnnotatorModel : Estimates labels from the answers alone. Its `posterior_` corresponds to
        `label_distributions_`.

    Notes
    -----
    Estimators of oneof are fitted to the likelihood of the answers as weights, and disambiguate the labels themselves.
    `LOORidge` is fitted to the most probable labels (classification EM). Its prior of a label decreases with the
    distance of the row's leave-one-out scores from the mean of the class. These scores repeat systematic errors of the
    labels, but rows of one class have similar scores. They are leave-one-out scores inside self-training: the scores of
    a row do not contain its label, but the labels of the other rows depend slightly on it.

    Other classifiers are fitted to soft labels, the posterior (of rules, its square), by `sample_weight`. Without
    `sample_weight`, each row has ten copies, so a number of neighbors must be ten times as large. Rows without answers
    are not used.

    The rounds end when the likelihood of the answers, given the held-out predictions, decreases by more than two
    standard errors: a classifier that repeats errors of the labels would confirm them in every round.

    The first held-out predictions must make the answers significantly more likely than the class frequencies do.
    Otherwise the labels are those of the answers alone, `classifier_power_` is 0, and a UserWarning is issued.

    Rules (`Answers.select_rows`) are functions of the features, as the classifier is. Given the class, their votes are
    not independent of its predictions, and rounds would confirm the errors that both have in common. Therefore the
    labels of rules are those of `AnnotatorModel`, to which the classifier is fitted once.

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
        tol: float = 0.02,
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

    def fit(self, X: Any, answers: Any, gold: Any = None, *, progress: Progress | None = None) -> Self:
        """Fit the classifier and the model of the annotators.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        answers : Answers, array-like or DataFrame
            A table of shape (n_samples, n_annotators) of labels, sets and missing answers, or records. The rows of a
            DataFrame of pandas are found by its index in that of X, unless it is numbered from 0; pass
            ``answers.to_numpy()`` if they are in the order of X. Other tables are in the order of X. The rows of
            records are named by the index of a pandas DataFrame X, otherwise by their numbers from 0. If X has no
            index, `Answers` with other names that were given by ``index=`` are in the order of X.
        gold : array-like of length n_samples or mapping, optional
            Known labels, missing if they are not known, or a mapping or Series of pandas from
            names of rows to labels.
        progress : callable, optional
            ``progress(n_done, n_total, name, seconds_left)`` is called after every round. The name contains the mean
            change of the labels. The total and the time left are None, since the number of rounds is unknown.
            Without it, ``logging.basicConfig(level="INFO")`` prints a line for each round (logger "oneof").

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, the answers, `gold` or a parameter are invalid, or an answer is about a row that X does not have.
        """
        from oneof.estimators.loo_ridge import FIRST_CHOICE  # heavy for answers alone

        self.__dict__.pop("classes_", None)
        if progress is not None and not callable(progress):
            raise InputTypeError(f"`progress` must be a function or None; got {progress!r}.")
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        check_n_jobs(self.n_jobs)
        rng = check_random_state(self.random_state)
        classifier = FIRST_CHOICE() if self.estimator is None else self.estimator
        check_estimator(classifier)
        learner = WeightLearner.of(classifier, rng, self.n_jobs)
        annotators = AnnotatorModel() if self.annotator_model is None else self.annotator_model
        check_instance("annotator_model", annotators, AnnotatorModel)
        rows, given = as_rows(X), as_answers(answers, annotators.classes)
        given = join_rows(given, rows, is_table=given is not answers and given._in_order)
        alone = clone(annotators).fit(given, gold)
        rounds = self._fit_rounds(learner, rows, alone, rng, progress)
        model = rounds.model
        self._learner = learner
        self.estimator_ = learner.fit(rows, model.candidates_, training_labels(model))
        self.annotator_model_ = model
        self.label_distributions_, self.held_out_proba_ = model.posterior_, rounds.prior
        self.classifier_power_, self.answer_power_ = rounds.classifier_power, rounds.answer_power
        self.transduction_ = given.classes[model.posterior_.argmax(axis=1)]
        # The posterior of rules is the same for all classes, or for those that votes leave, in these rows.
        if (unclear := model.candidates_.is_unlabeled | (most_probable(model.posterior_).sum(axis=1) > 1)).any():
            self.transduction_[unclear] = learner.predict(self.estimator_, rows)[unclear]
        self.label_changes_, self.n_iter_ = np.array(rounds.changes), len(rounds.changes)
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
        return self._learner.predict(self.estimator_, X)

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
        return self._learner.predict_proba(self.estimator_, X)

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

    # -- steps of fit ---------------------------------------------------------------------------------------------

    def _fit_rounds(
        self, learner: WeightLearner, rows: Any, alone: AnnotatorModel, rng: Any, progress: Progress | None
    ) -> _Rounds:
        """Predict the rows and update the model of the annotators in turn; votes of rules have no rounds."""
        folds = predicted_folds(rows, alone.candidates_, alone.candidates_, self.cv, None, rng)
        labeled = ~alone.candidates_.is_unlabeled
        uncertain = (alone._columns.n_answers > 0) & ~alone._columns.is_known
        last = best = _Rounds(alone, np.tile(alone.class_prior_, (len(labeled), 1)))
        while not alone.are_rules_:
            model = last.model
            # The first predictions are cross-fitted: self-training on the labels of a row would confirm them.
            held_out_scores = learner.held_out_scores if last.changes else learner.cross_fitted_scores
            scores = held_out_scores(rows, model.candidates_, model.posterior_, folds)
            proba, power = temper(scores, model.candidates_.evidence, learner.max_power)
            if not last.changes and not is_informative(proba, model.class_prior_, model.candidates_.weights):
                warn(
                    "The features do not predict the answers: the labels are those of the answers alone. Check X, or "
                    "pass another estimator.",
                )
                return last
            joint = model._log_likelihood[labeled] + np.log(np.maximum(proba[labeled], np.finfo(float).tiny))
            log_likelihoods = np.asarray(logsumexp(joint, axis=1))
            if last.changes:
                loss = best.log_likelihoods - log_likelihoods
                if loss.mean() > N_STANDARD_ERRORS * loss.std() / np.sqrt(len(loss)):
                    return best
            answer = answer_power(model._log_likelihood[uncertain], proba[uncertain])
            updated = model._updated(proba, power=answer, max_iter=N_ANNOTATOR_STEPS)
            change = float(0.5 * np.abs(updated.posterior_ - model.posterior_)[labeled].sum(axis=1).mean())
            last = _Rounds(updated, proba, power, answer, (*last.changes, change), log_likelihoods)
            if not best.changes or log_likelihoods.mean() >= best.log_likelihoods.mean():
                best = last
            n_done, name = len(last.changes), f"round {len(last.changes)}, labels changed by {change:.3f}"
            logging.getLogger("oneof").info("CrowdClassifier: %s", name)
            if progress is not None:
                progress(n_done, None, name, None)
            if change <= self.tol:
                break
            if len(last.changes) >= self.max_iter:
                warn(
                    f"The labels did not converge in {len(last.changes)} rounds: their last mean change was "
                    f"{change:.2g}. Increase max_iter or tol.",
                    ConvergenceWarning,
                )
                break
        return last
