"""Functions of scikit-learn that receive candidate sets: each accepts them, or has an error with the alternative."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble, feature_selection, metrics, model_selection, multiclass
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

import oneof
from oneof.errors import InputTypeError

N = 60
TRUE = np.arange(N) % 3
X = np.random.default_rng(0).normal(size=(N, 2)) + 2 * TRUE[:, None]
Y = oneof.make_partial_labels(np.array(["finch", "owl", "wren"])[TRUE], fraction=0.5, n_distractors=1, random_state=0)
GRID = {"lam": [0.1, 1.0]}
REMEDY = (
    r"such as CandidateEM\(classifier\).* CandidateKFold of oneof.*scoring=oneof.model_selection.covering_rate_scorer"
)


def plem() -> Any:
    return oneof.PLEM()


def fit(estimator: Any) -> Callable[[Any], Any]:
    return lambda y: estimator.fit(X, y)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "CalibratedClassifierCV": fit(CalibratedClassifierCV(plem(), cv=3)),
    "VotingClassifier": fit(ensemble.VotingClassifier([("plem", plem())])),
    "StackingClassifier": fit(ensemble.StackingClassifier([("plem", plem())], cv=3)),
    "BaggingClassifier": fit(ensemble.BaggingClassifier(plem())),
    "AdaBoostClassifier": fit(ensemble.AdaBoostClassifier(plem())),
    "OneVsRestClassifier": fit(multiclass.OneVsRestClassifier(plem())),
    "OneVsOneClassifier": fit(multiclass.OneVsOneClassifier(plem())),
    "SelfTrainingClassifier": fit(SelfTrainingClassifier(LogisticRegression())),
    "LogisticRegression": fit(LogisticRegression()),
    "DummyClassifier": fit(DummyClassifier()),
    "SelectKBest": fit(feature_selection.SelectKBest(k=1)),
    "StratifiedKFold": lambda y: [*model_selection.StratifiedKFold(3).split(X, y)],
    "train_test_split": lambda y: model_selection.train_test_split(X, y, stratify=y),
    "cross_val_predict": lambda y: model_selection.cross_val_predict(plem(), X, y, method="predict_proba"),
    "accuracy_score": lambda y: metrics.accuracy_score(y, TRUE),
    "coverage_error": lambda y: metrics.coverage_error(y, TRUE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_of_exact_labels_names_the_alternative(name: str) -> None:
    """The error names the function and what to do instead.

    Functions that ask for the type of the target, or sort it, have it for the array of candidate sets too.
    """
    is_read = name in ("CalibratedClassifierCV", "BaggingClassifier", "StratifiedKFold", "train_test_split")
    for y in (Y, *[np.asarray(Y)] * is_read):
        with pytest.raises(InputTypeError, match=f"{name} of scikit-learn needs one exact label per row.*{REMEDY}"):
            REFUSED[name](y)


@pytest.mark.parametrize(
    "call",
    [
        lambda y: model_selection.cross_val_score(plem(), X, y),
        lambda y: model_selection.cross_val_predict(plem(), X, y),
        lambda y: model_selection.GridSearchCV(plem(), GRID).fit(X, y),
        lambda y: model_selection.learning_curve(plem(), X, y, cv=3),
        lambda y: model_selection.train_test_split(X, y),
        lambda y: [*model_selection.KFold(3).split(X, y)],
        lambda y: feature_selection.RFE(plem(), n_features_to_select=1).fit(X, y),
    ],
)
def test_functions_of_any_target_accept_candidate_sets(call: Callable[[Any], Any]) -> None:
    """Functions that pass the labels on to the estimator, or ignore them, have no error and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(Y)
        call(np.asarray(Y))


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"])
def test_a_metric_of_exact_labels_is_not_silent(scoring: str) -> None:
    """The warning of scikit-learn contains the remedy, and with error_score="raise" it is the error."""
    folds = oneof.model_selection.CandidateKFold(3)
    with pytest.warns(UserWarning, match=REMEDY):
        scores = model_selection.cross_val_score(plem(), X, Y, cv=folds, scoring=scoring)
    assert np.isnan(scores).all()
    with pytest.warns(UserWarning, match=REMEDY), pytest.warns(UserWarning, match="test scores are non-finite"):
        model_selection.GridSearchCV(plem(), GRID, cv=folds, scoring=scoring, refit=False).fit(X, Y)
    with pytest.raises(InputTypeError, match=REMEDY):
        model_selection.cross_val_score(plem(), X, Y, cv=folds, scoring=scoring, error_score="raise")
