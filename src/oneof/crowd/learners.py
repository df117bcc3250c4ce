"""Classifiers of `CrowdClassifier`: fits to the labels of a round, and predictions of rows without their answers.

* `WeightLearner`: an estimator of oneof, fitted to the likelihood of the answers as weights;
* `LeaveOneOutLearner`: a `LOORidge`, fitted to the most probable labels, with leave-one-out predictions;
* `SoftLabelLearner`: any other classifier, fitted to the posterior by sample weights or copies of rows.

Held-out scores are those of models that were not fitted to the answers of the row.
"""

import copy
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets
from oneof.crowd.annotator_model import AnnotatorModel
from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators.base import CandidateClassifier, last_step
from oneof.estimators.soft_labels import check_proba, fit_soft, predict_columns, remove_generators, with_seeds
from oneof.model_selection.prediction import align_class_columns, as_rows
from oneof.solvers.annotators.temper import MAX_POWER, mean_distances, temper
from oneof.solvers.conformal import candidate_proba
from oneof.typing import Floats, Ints, Labels, Mask

Folds: TypeAlias = Sequence[tuple[Ints, Ints]]
MIN_PROBABILITY = 1e-12
N_COPIES = 10
"""Number of copies of each row for a classifier without sample weights."""
RULE_LABEL_POWER = 2.0
"""Power of the soft labels of rules, whose equal class frequencies make labels of a rare class too probable. Among 1,
1.5, 2, 4 and hard labels, it has the largest mean gain over votes without a large loss; chosen on lf_youtube, lf_trec
and 12 tasks of keyword rules, confirmed on lf_chemprot, plf_trec and 12 others."""


class WeightLearner:
    """A classifier that is fitted to the labels of a round; this one accepts weights of the classes."""

    def __init__(self, classifier: Any, n_jobs: int | None) -> None:
        self.classifier, self.n_jobs = classifier, n_jobs
        # Probabilities are not sharpened: a model of the annotators that follows the classifier would ask for it.
        self.max_power = 1.0 if hasattr(classifier, "predict_proba") else MAX_POWER

    @staticmethod
    def of(classifier: Any, rng: Any, n_jobs: int | None) -> "WeightLearner":
        """Return the way to fit a classifier: by its leave-one-out scores, weights of the classes, or soft labels."""
        last = last_step(classifier)
        classifier = with_seeds(classifier, rng)
        if isinstance(last, CandidateClassifier):
            from oneof.estimators.loo_ridge import LOORidge

            return (LeaveOneOutLearner if isinstance(last, LOORidge) else WeightLearner)(classifier, n_jobs)
        if not hasattr(last, "predict_proba"):
            raise InputError(
                f"`estimator` must have predict_proba; got {last!r}. Wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        return SoftLabelLearner(classifier, n_jobs)

    def held_out_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Folds) -> Floats:
        """Return scores of all rows, (n, K), by models that were not fitted to their answers."""
        return self.cross_fitted_scores(rows, candidates, labels, folds)

    def cross_fitted_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Folds) -> Floats:
        """Return scores of all rows, (n, K), each by the model of the other folds."""
        values = self.cross_predict(rows, candidates, labels, folds)
        if hasattr(self.classifier, "predict_proba"):
            return np.asarray(np.log(np.maximum(values, MIN_PROBABILITY)))
        lowest = np.where(np.isfinite(values), values, np.inf).min(axis=1, keepdims=True)
        values = np.where(np.isfinite(values), values, lowest)
        values = values - values.mean(axis=1, keepdims=True)
        return np.asarray(values / max(float(np.sqrt((values**2).mean())), MIN_PROBABILITY))

    def cross_predict(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Folds) -> Floats:
        """Return probabilities of the test rows of folds, or decision functions, by a model of the training rows.

        NaN for rows that no fold tests; of several folds, those of the last one.
        """
        values = np.full(labels.shape, np.nan)
        calls = (delayed(_fit_and_predict)(copy.copy(self), rows, candidates, labels, *fold) for fold in folds)
        for (_, test), value in zip(folds, Parallel(n_jobs=self.n_jobs)(calls), strict=True):
            values[test] = value
        return values

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to all rows."""
        del labels
        return clone(self.classifier).fit(rows, candidates)

    def predict(self, model: Any, X: Any) -> Labels:
        """Return the predicted classes."""
        return np.asarray(model.predict(X))

    def predict_proba(self, model: Any, X: Any) -> Floats:
        """Return probabilities of all classes."""
        if not hasattr(model, "predict_proba"):
            raise InputError(f"`estimator` must have predict_proba; {type(model).__name__} does not have it.")
        return np.asarray(model.predict_proba(X))


class LeaveOneOutLearner(WeightLearner):
    """A `LOORidge`, whose leave-one-out scores are held-out scores.

    It does not maximize a likelihood, and is fitted to the most probable labels, as in classification EM (Celeux &
    Govaert 1992): it would disambiguate the likelihood of the answers with other predictions than those of the rounds.
    """

    def held_out_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Folds) -> Floats:
        """Return distances of the leave-one-out scores from the means of the classes."""
        del folds
        model = last_step(self.fit(rows, candidates, labels))
        return _distances(model.loo_scores_, labels, candidates)

    def cross_fitted_scores(self, rows: Any, candidates: CandidateSets, labels: Floats, folds: Folds) -> Floats:
        """Return distances of the cross-fitted probabilities from the means of the classes."""
        weighted = WeightLearner(self.classifier, self.n_jobs)
        return _distances(weighted.cross_predict(rows, candidates, labels, folds), labels, candidates)

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to all rows."""
        sets = most_probable(labels) | candidates.is_unlabeled[:, None]
        return clone(self.classifier).fit(rows, CandidateSets(sets, candidates.classes))


class SoftLabelLearner(WeightLearner):
    """A classifier of scikit-learn, fitted to soft labels; rows without answers are not used."""

    def fit(self, rows: Any, candidates: CandidateSets, labels: Floats) -> Any:
        """Return the classifier fitted to the rows with answers."""
        self.classes, labeled = candidates.classes, np.flatnonzero(~candidates.is_unlabeled)
        model, self.columns = fit_soft(self.classifier, _safe_indexing(rows, labeled), labels[labeled], N_COPIES)
        remove_generators(model)
        return model

    def predict(self, model: Any, X: Any) -> Labels:
        """Return the predicted classes."""
        return self.classes[self.predict_proba(model, X).argmax(axis=1)]

    def predict_proba(self, model: Any, X: Any) -> Floats:
        """Return probabilities of all classes, 0 for those that no label has."""
        with reraise_as_input_error():
            return predict_columns(model, self.columns, as_rows(X), len(self.classes))


def most_probable(labels: Floats) -> Mask:
    """Return the most probable class of each row, or those that tie, such as the classes that votes leave."""
    return np.isclose(labels, labels.max(axis=1, keepdims=True), rtol=1e-9, atol=0.0)  # up to some roundings


def training_labels(model: AnnotatorModel) -> Floats:
    """Return the labels to which a classifier is fitted, (n, K): the posterior; of rules, with `RULE_LABEL_POWER`."""
    if not model.are_rules_:
        return model.posterior_
    labels = model.posterior_**RULE_LABEL_POWER
    return np.asarray(labels / labels.sum(axis=1, keepdims=True))


def calibration_labels(
    crowd: Any,
    rows: Any,
    candidates: CandidateSets,
    prior: Floats | None,
    held_out: Ints | None,
    folds: Folds,
) -> tuple[Floats | None, Floats | None]:
    """Return held-out probabilities of the classifier, and the probabilities of the labels, which calibrate its sets.

    The classifier is fitted to labels that follow its own predictions. Held-out predictions of such a fit have its
    scale, but as a prior of the labels they are overconfident: the sets would be too small. The prior is therefore
    that of a classifier fitted to the answers alone, with the power of at most 1 that makes the answers most likely.

    Parameters
    ----------
    crowd : CrowdClassifier
        Fitted to the rows.
    rows : array, sparse array or DataFrame of shape (n_samples, n_features)
    candidates : CandidateSets
        The likelihood of the answers to the rows, from the answers alone.
    prior : ndarray of shape (n_held_out_rows, n_classes), or None
        Held-out probabilities of a classifier that was fitted to `candidates`. Without them, both results are None.
    held_out : ndarray of int, or None
        The rows of the prior.
    folds : sequence of (train, test)

    Returns
    -------
    proba : ndarray of shape (n_held_out_rows, n_classes)
    posterior : ndarray of shape (n_samples, n_classes)
        0 for rows that were not held out.
    """
    if prior is None or held_out is None:
        return None, None
    evidence = candidates[held_out].evidence
    tempered, _ = temper(np.log(np.maximum(prior, MIN_PROBABILITY)), evidence, 1.0)
    posterior = np.zeros(candidates.shape)
    posterior[held_out] = candidate_proba(tempered, evidence)
    model = crowd.annotator_model_
    proba = crowd._learner.cross_predict(rows, model.candidates_, training_labels(model), folds)
    return proba[held_out], posterior


def _fit_and_predict(
    learner: WeightLearner, rows: Any, candidates: CandidateSets, labels: Floats, train: Ints, test: Ints
) -> Floats:
    """Return probabilities of the test rows, or decision functions, by the classifier fitted to the training rows."""
    with reraise_as_input_error():
        train_rows, test_rows = _safe_indexing(rows, train), _safe_indexing(rows, test)
    model = learner.fit(train_rows, candidates[train], labels[train])
    if not hasattr(learner.classifier, "predict_proba"):
        values = np.asarray(model.decision_function(test_rows))
        return align_class_columns(values, "decision_function", model.classes_, candidates.classes)
    proba = learner.predict_proba(model, test_rows)
    check_proba(proba, learner.classifier)
    return proba


def _distances(scores: Floats, labels: Floats, candidates: CandidateSets) -> Floats:
    """Return the distances of scores from the means of the classes, in which rows without answers do not count."""
    return mean_distances(scores, np.where(candidates.is_unlabeled[:, None], 0.0, labels))
