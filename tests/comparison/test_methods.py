"""Tests of the default estimators of a comparison."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import CLPL, PLKNN
from oneof.comparison import compare, default_estimators
from oneof.comparison.methods import MAX_FEATURES_CUBIC, SLOW_METHODS, auto_methods, excluded_from_auto, has_unit_rows
from oneof.errors import InputError, InputTypeError
from oneof.text import make_vectorizer
from tests.blobs import Frequencies, draw


def test_auto_excludes_cubic_methods_with_many_features():
    """With many features, methods of cubic cost in the features must be requested by name."""
    estimators = default_estimators(sparse=True)
    few, many = (set(auto_methods(estimators, n)) for n in (MAX_FEATURES_CUBIC, MAX_FEATURES_CUBIC + 1))
    assert few == set(estimators) - set(SLOW_METHODS)
    assert excluded_from_auto(MAX_FEATURES_CUBIC) == ()
    assert many == few - set(excluded_from_auto(MAX_FEATURES_CUBIC + 1))
    assert many < few


@pytest.mark.long
def test_auto_compares_the_default_estimators():
    """Auto compares all default estimators except slow ones; names select from all, for dense and sparse rows."""
    X, y, _ = draw()
    assert {result.method for result in compare(X, y, cv=2).results} == set(default_estimators()) - set(SLOW_METHODS)
    slow = compare(X, y, SLOW_METHODS, cv=2).results
    assert {result.method: result.error for result in slow} == dict.fromkeys(SLOW_METHODS)
    for rows in (X, sp.csr_array(np.abs(X))):
        comparison = compare(rows, y, ["PLKNN", "AvgPegasos"], cv=2)
        assert {result.method for result in comparison.results} == {"PLKNN", "AvgPegasos"}
        assert all(result.error is None for result in comparison.results)
    assert compare(X, y, "CLPL", cv=2).best_method == "CLPL"
    counts = sp.csr_array(np.abs(X))
    assert compare(counts, y, "MultinomialEM", cv=2).results[0].error is None
    with pytest.raises(InputError, match=r"for these rows and labels.*; got 'MultinomialEM'"):  # X has values below 0
        compare(sp.csr_array(X), y, "MultinomialEM", cv=2)
    with pytest.raises(InputError, match=r'must be "LOORidge", "CLPL", .*; got .Oracle.'):
        compare(X, y, ["Oracle"])


def test_rows_of_length_1_are_not_scaled():
    """Sparse rows that all have length 1, in single precision too, have no scaler; one other row restores it."""
    X, y, _ = draw()
    unit = sp.csr_array(np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True))
    unit = sp.vstack([unit, sp.csr_array((1, X.shape[1]))], format="csr")  # an empty text
    y = [*y, y[0]]
    longer = unit.copy()
    longer[[0]] = 2 * longer[[0]]
    for rows, n_steps in ((unit, 1), (unit.astype(np.float32), 1), (longer, 2), (np.vstack([X, X[:1]]), 2)):
        compared = compare(rows, y, ["PLKNN", "CLPL"], cv=2)
        assert {len(pipeline) for pipeline in compared.estimators.values()} == {n_steps}
    assert not has_unit_rows(sp.csr_array((3, 2)))
    assert not has_unit_rows(sp.csr_array(np.full((2, 1), 16, dtype=np.uint8)))  # 16^2 is 0 in 8 bits
    assert not has_unit_rows(sp.csr_array([[1e200, 0.0], [0.0, 1.0]]))  # no overflow
    assert has_unit_rows(sp.csr_array((np.full(2, 0.5), [0, 0], [0, 2]), shape=(1, 1)))  # two halves of one entry
    scaled = default_estimators(sparse=True, scaled=True)
    assert set(scaled) == set(default_estimators(sparse=True))


def test_a_list_mixes_names_and_estimators():
    """An estimator in a list has the name of its class, also alone, and equals the same estimator in a dict."""
    X, y, _ = draw()
    mixed = compare(X, y, ["CLPL", Frequencies(), make_pipeline(StandardScaler(), PLKNN(n_neighbors=3))], cv=2)
    assert set(mixed.estimators) == {"CLPL", "Frequencies", "PLKNN"}
    named = compare(X, y, mixed.estimators, cv=2)
    assert [r.covering_rate for r in mixed.results] == [r.covering_rate for r in named.results]
    for method in (PLKNN(), make_pipeline(StandardScaler(), PLKNN())):
        assert set(compare(X, y, method, cv=2).estimators) == {"PLKNN"}
    texts = np.array(["oil", "corn"])[(X[:, 0] > 0).astype(int)]
    assert compare(texts, y, [make_pipeline(make_vectorizer(), CLPL())], cv=2).best_method == "CLPL"


def test_names_of_a_list_are_unique():
    """Two estimators of one name are an error that has the expression of a dict; repeated names are one method."""
    X, y, _ = draw()
    expression = r"got PLKNN twice\..* dict, such as \{\*\*default_estimators\(\), 'mine': PLKNN\("
    for methods in (["PLKNN", PLKNN()], [PLKNN(), "PLKNN"], [PLKNN(), PLKNN(n_neighbors=3)]):
        with pytest.raises(InputError, match=expression):
            compare(X, y, methods, cv=2)
    assert set(compare(X, y, ["PLKNN", "PLKNN"], cv=2).estimators) == {"PLKNN"}
    for methods in (["PLKNN", CLPL], ["PLKNN", 3], 3, PLKNN):
        with pytest.raises(InputTypeError, match="names of default estimators and of estimators, or a dict"):
            compare(X, y, methods, cv=2)


def test_a_wrong_name_has_a_suggestion():
    """The names of sets of methods are suggested if the name is the only one."""
    X, y, _ = draw()
    for methods, close in (("fewlabels", "few_labels"), (["PLKN"], "PLKNN"), ("looridge", "LOORidge")):
        with pytest.raises(InputError, match=f'got .* Did you mean "{close}"'):
            compare(X, y, methods, cv=2)


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, lambda texts: np.array(texts, dtype=object)])
@pytest.mark.parametrize("methods", ["auto", "CLPL"])
def test_texts_need_a_vectorizer(form, methods):
    """Texts are an error of the default estimators that names the remedy; a dict of pipelines accepts them."""
    texts, y = (
        ["corn, wheat", "oil", "an oil tanker", "wheat", "oil and corn"] * 2,
        ["w", "o", "o", "w", ["o", "w"]] * 2,
    )
    with pytest.raises(InputError, match=r"For texts, begin each method with `oneof\.text\.make_vectorizer`"):
        compare(form(texts), y, methods, cv=2)
    pipelines = {"linear": make_pipeline(make_vectorizer(), CLPL())}
    assert compare(form(texts), y, pipelines, cv=2).results[0].error is None
