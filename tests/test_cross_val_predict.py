"""Held-out predictions of all rows, for all forms of labels."""

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.model_selection import cross_val_predict as sklearn_cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from oneof import CLPL, PLEM, CandidateSets, LOORidge
from oneof.errors import InputError, InputTypeError
from oneof.model_selection import CandidateKFold, cross_val_predict
from tests.blobs import draw

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
NAMES = np.array(["finch", "owl", "wren"])


def exact(n=60, K=3):
    X, _, _ = draw(n, 3)
    return X, np.arange(n) % K


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("named", [False, True])
def test_exact_labels_give_the_predictions_of_scikit_learn(method, K, named):
    """On exact labels and equal folds the result is that of scikit-learn's function, to the last bit."""
    X, y = exact(K=K)
    y = NAMES[y] if named else y
    for cv in (StratifiedKFold(4), KFold(3, shuffle=True, random_state=0)):
        for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
            expected = sklearn_cross_val_predict(estimator, X, y, cv=cv, method=method)
            np.testing.assert_array_equal(cross_val_predict(estimator, X, y, cv=cv, method=method), expected)
    groups = np.arange(len(y)) // 7
    expected = sklearn_cross_val_predict(PLEM(), X, y, cv=GroupKFold(3), groups=groups)
    np.testing.assert_array_equal(cross_val_predict(PLEM(), X, y, cv=GroupKFold(3), groups=groups), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_row_is_predicted_by_the_model_of_its_fold(weighted):
    """The prediction of a row is that of a model without its fold; unlabeled rows are predicted by one fold each."""
    X, y, _ = draw()
    if weighted:
        y = CandidateSets.from_weights(y.mask * np.random.default_rng(0).choice([0.2, 1.0], y.shape), y.classes)
    assert y.is_unlabeled.any()
    estimator = make_pipeline(StandardScaler(), LOORidge("rbf"))
    proba = cross_val_predict(estimator, X, y, cv=3, method="predict_proba", random_state=4)
    labels = cross_val_predict(estimator, X, y, cv=3, random_state=4)
    np.testing.assert_array_equal(labels, y.classes[proba.argmax(axis=1)])
    seen = np.zeros(len(y), dtype=int)
    for k, (train, test) in enumerate(CandidateKFold(3, random_state=4).split(X, y)):
        unlabeled = np.flatnonzero(y.is_unlabeled & (np.arange(len(y)) % 3 == k))
        rows = np.concatenate([test, unlabeled])
        model = clone(estimator).fit(X[train], y[train])
        np.testing.assert_allclose(proba[rows], model.predict_proba(X[rows]), rtol=1e-12)
        seen[rows] += 1
    assert (seen == 1).all()


def test_all_forms_of_labels_and_rows_agree():
    """Sets, indicators, tables, candidate sets, sparse and pandas rows, and parallel folds give one result."""
    X, y, _ = draw()
    expected = cross_val_predict(CLPL(), X, y, cv=3, method="decision_function")
    assert expected.shape == (60, 3)
    frame = pd.DataFrame(y.to_indicator(), columns=y.classes)
    for form in (y.to_sets(), y.to_indicator(), sp.csr_array(y.to_indicator()), frame):
        np.testing.assert_array_equal(cross_val_predict(CLPL(), X, form, cv=3, method="decision_function"), expected)
    for rows in (sp.coo_array(X), pd.DataFrame(X, columns=list("abc")), X.tolist()):
        values = cross_val_predict(CLPL(), rows, y, cv=3, method="decision_function")
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)
    with joblib.parallel_config("threading"):
        values = cross_val_predict(CLPL(), X, y, cv=3, method="decision_function", n_jobs=2)
    np.testing.assert_array_equal(values, expected)


def test_classes_that_a_fold_lacks():
    """Columns are the classes of all rows: a class that a training set lacks has probability 0 and score -inf."""
    X, y = exact(12)
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in (2, 0, 1)]
    proba = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")
    assert (proba[y == 2, 2] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="decision_function")
    assert (scores[y == 2, 2] == -np.inf).all()
    model = LogisticRegression().fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(scores[y == 2, 1] - scores[y == 2, 0], model.decision_function(X[y == 2]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cv": ShuffleSplit(2, random_state=0)}, InputError, "each labeled row in exactly one test subset; row"),
        ({"cv": []}, InputError, "at least one pair"),
        ({"cv": [([0], [99])]}, InputError, "row indices from 0 to 59"),
        ({"cv": 1}, InputError, "`n_splits` must be"),
        ({"groups": np.zeros(60)}, InputError, "got 1 such group and 5 folds"),
        ({"method": "predict_proba"}, InputError, "`estimator` must have predict_proba; CLPL does not have it"),
        ({"estimator": CLPL}, InputTypeError, "`estimator` must be an object"),
        ({"y": [0, 1]}, InputError, r"inconsistent numbers of samples: \[60, 2\]"),
        (
            {"estimator": SVC(decision_function_shape="ovo"), "y": np.arange(60) % 4, "method": "decision_function"},
            InputError,
            "one column for each of the 4 classes; got 6",
        ),
    ],
)
def test_invalid_arguments(options, error, message):
    """Errors name the argument, the row and the remedy."""
    X, y, _ = draw()
    arguments = {"estimator": CLPL(), "y": y, **options}
    with pytest.raises(error, match=message):
        cross_val_predict(arguments.pop("estimator"), X, arguments.pop("y"), **arguments)
