"""Optional arguments of public functions and models: an invalid value is an error that names the argument.

The parameters of the estimators are tested in `tests/estimators/test_parameters.py`.
"""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from oneof import (
    PLKNN,
    CandidateSets,
    GraphLogisticRegression,
    compare,
    diffusion_kernel,
    make_partial_labels,
    regularized_laplacian_kernel,
)
from oneof.active import AnswerModel, local_density, query, query_subsets, simulate
from oneof.audit import find_label_issues
from oneof.comparison import learning_curve
from oneof.conformal import ConformalClassifier
from oneof.crowd import AnnotatorModel, CrowdClassifier, krippendorff_alpha, krippendorff_interval, pairwise_agreement
from oneof.errors import InputError, InputTypeError
from oneof.graphs import NeighborGraph, laplacian
from oneof.metrics import approximated_accuracy, covering_rate, paired_p_values, win_tie_loss
from oneof.model_selection import CandidateGroupKFold, CandidateKFold, cross_val_predict
from oneof.multilabel import breakeven_score
from oneof.validation import check_choice
from tests.blobs import Frequencies
from tests.estimators.panel import table

X, MASK = table(30, d=3)
Y, SETS = MASK.argmax(axis=1), CandidateSets(MASK, [0, 1, 2])
ANSWERS, PAIRS = np.column_stack([Y, Y, (Y + 1) % 3]), 0.5 * (1.0 - np.eye(8))
MODELS = {
    ConformalClassifier: (lambda model: model.fit(X, Y), {"estimator": Frequencies(), "cv": 2}),
    AnnotatorModel: (lambda model: model.fit(ANSWERS), {}),
    CrowdClassifier: (lambda model: model.fit(X, ANSWERS), {"cv": 2}),
    CandidateKFold: (lambda folds: list(folds.split(X, Y)), {}),
    CandidateGroupKFold: (lambda folds: list(folds.split(X, Y, np.arange(30) // 2)), {}),
    NeighborGraph: (lambda rule: rule.graph(X), {}),
}
"""Classes, with the call that checks their parameters, and the parameters with which it is valid."""
TWO = {"a": Frequencies(), "b": PLKNN()}
FUNCTIONS = {
    make_partial_labels: ((Y,), {}),
    compare: ((X, SETS, TWO), {"cv": 2}),
    learning_curve: ((Frequencies(), X, SETS), {"cv": 2}),
    cross_val_predict: ((Frequencies(), X, SETS), {"cv": 2}),
    query: ((GraphLogisticRegression().fit(X, MASK), X), {}),
    query_subsets: ((GraphLogisticRegression().fit(X, MASK), X), {}),
    simulate: ((LogisticRegression(), X, Y), {"start": [0, 1, 2], "n_queries": 2, "strategy": "entropy"}),
    local_density: ((X,), {}),
    AnswerModel: ((np.arange(2), 0.5), {"pair_rate": 0.5, "distractors": np.fliplr(np.eye(2))}),
    find_label_issues: ((X, SETS, PLKNN()), {"cv": 2}),
    krippendorff_alpha: ((ANSWERS,), {}),
    krippendorff_interval: ((ANSWERS,), {}),
    pairwise_agreement: ((ANSWERS,), {}),
    breakeven_score: ((PLKNN(), X, np.eye(3, dtype=int)[Y], range(15)), {"transductive": False}),
    diffusion_kernel: ((PAIRS,), {}),
    regularized_laplacian_kernel: ((PAIRS,), {}),
    laplacian: ((PAIRS,), {}),
    covering_rate: ((Y, Y), {}),
    approximated_accuracy: ((Y, np.eye(3)[Y]), {}),
    win_tie_loss: (([[1.0, 2.0]], [[2.0, 1.0]]), {}),
    paired_p_values: (([[1.0, 2.0]], [[2.0, 1.0]]), {}),
}
"""Functions with valid arguments, of which the first are not tested."""
NUMBERS = {"class_prior", "proba", "sample_weight", "test_train_ratio"}
"""Arrays of numbers, of which other values have the error of the conversion."""
OTHERS = {"X_test", "classes", "last", "progress", "subsets"}
"""Functions, results, rows, and labels, whose errors name the row or the label."""
CASES = [
    pytest.param(call, argument, id=f"{call.__name__}-{argument}")
    for call in (*MODELS, *FUNCTIONS)
    for argument in list(inspect.signature(call).parameters)[len(FUNCTIONS.get(call, ((),))[0]) :]
    if argument not in OTHERS and (call, argument) != (query, "random_state")  # which the default does not use
]


@pytest.mark.parametrize(("call", "argument"), CASES)
def test_an_invalid_value_is_named(call, argument):
    """A number below the range, NaN, an unknown word and an object are errors of oneof that name the argument."""
    for value in (-1.5, float("nan"), "no such", object()):
        if call in MODELS:
            use, named = MODELS[call]
            arguments = ()
        else:
            use, (arguments, named) = (lambda result: result), FUNCTIONS[call]
        with pytest.raises((InputError, InputTypeError)) as caught:
            use(call(*arguments, **{**named, argument: value}))
        message = str(caught.value)
        assert f"`{argument}" in message or (argument in NUMBERS and "float" in message)


def test_only_a_text_has_a_suggestion():
    """A list of one of the choices is not a misspelled name."""
    with pytest.raises(InputError, match=r'must be "auto"; got \[\'auto\'\]\.$'):
        check_choice("kind", ["auto"], ("auto",))
