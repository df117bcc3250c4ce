"""Which methods are compared when none is given."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from oneof import CLPL
from oneof.comparison import compare, left_out_of_auto, panel, without_slow
from oneof.comparison.methods import MOST_FEATURES_OF_A_CUBE, SLOW
from oneof.errors import InputError
from oneof.text import make_vectorizer
from tests.blobs import draw


def test_auto_leaves_out_what_many_features_slow_down():
    """Beyond some features, methods that solve with all pairs of them must be named, too."""
    known = panel(sparse=True)
    few, many = (set(without_slow(known, n)) for n in (MOST_FEATURES_OF_A_CUBE, MOST_FEATURES_OF_A_CUBE + 1))
    assert few == set(known) - set(SLOW)
    assert left_out_of_auto(MOST_FEATURES_OF_A_CUBE) == ()
    assert many == few - set(left_out_of_auto(MOST_FEATURES_OF_A_CUBE + 1))
    assert many < few


def test_the_panel_is_what_auto_compares():
    """Auto tries every method of the panel but the slow ones, names choose from all, for dense and for sparse rows."""
    X, y, _ = draw()
    assert {result.method for result in compare(X, y, cv=2).results} == set(panel()) - set(SLOW)
    assert compare(X, y, SLOW, cv=2).winner == "PLGP"
    for rows in (X, sp.csr_array(np.abs(X))):
        found = compare(rows, y, ["PLKNN", "AvgPegasos"], cv=2)
        assert {result.method for result in found.results} == {"PLKNN", "AvgPegasos"}
        assert all(result.error is None for result in found.results)
    assert compare(X, y, "CLPL", cv=2).winner == "CLPL"
    counts = sp.csr_array(np.abs(X))
    assert compare(counts, y, "MultinomialEM", cv=2).results[0].error is None
    with pytest.raises(InputError, match="'MultinomialEM' is not in the panel"):  # of values below 0
        compare(sp.csr_array(X), y, "MultinomialEM", cv=2)
    with pytest.raises(InputError, match="'Oracle' is not in the panel: choose from LOORidge, CLPL"):
        compare(X, y, ["Oracle"])


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, lambda texts: np.array(texts, dtype=object)])
@pytest.mark.parametrize("methods", ["auto", "CLPL"])
def test_texts_need_a_vectorizer(form, methods):
    """The panel begins with numbers, so texts are refused with the way to go; a dict of pipelines takes them."""
    texts, y = (
        ["corn, wheat", "oil", "an oil tanker", "wheat", "oil and corn"] * 2,
        ["w", "o", "o", "w", ["o", "w"]] * 2,
    )
    with pytest.raises(InputError, match=r"X holds texts: begin each method with `oneof\.text\.make_vectorizer`"):
        compare(form(texts), y, methods, cv=2)
    pipelines = {"linear": make_pipeline(make_vectorizer(), CLPL())}
    assert compare(form(texts), y, pipelines, cv=2).results[0].error is None


@pytest.mark.parametrize("shape", [(60,), (60, 1, 3)])
def test_rows_without_features_are_refused(shape):
    """What is no table of numbers is refused by its shape, before any method is fitted."""
    _, y, _ = draw()
    with pytest.raises(InputError, match=r"X has shape \(60,.*expected \(n_samples, n_features\)"):
        compare(np.zeros(shape), y)
