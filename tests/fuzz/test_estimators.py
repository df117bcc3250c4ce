"""Every estimator with random rows, sets and parameters gives finite numbers or raises an error of oneof."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.estimators.online._base import OnlineClassifier
from tests.estimators.panel import ALL, name, takes_counts
from tests.fuzz.labels import supervision
from tests.fuzz.outcome import DOCUMENTED, outcome
from tests.fuzz.parameters import parameters
from tests.fuzz.profile import cases
from tests.fuzz.rows import ODD_OBJECTS, tables

ASKED = ("predict", "predict_proba", "decision_function", "transform")


@st.composite
def fits(draw: st.DrawFn, estimator: Any) -> tuple[Any, ...]:
    """Draw parameters, rows and sets to fit, and rows and sets to predict."""
    n, d, K = draw(st.integers(0, 12)), draw(st.integers(0, 4)), draw(st.integers(2, 4))
    n, d = (n, d) if draw(st.integers(0, 9)) == 0 else (n + 2, d + 1)
    counts = takes_counts(estimator)
    odd = draw(st.booleans())
    X = draw(tables(n, d, odd=odd, below_zero=not counts))
    if draw(st.integers(0, 24)) == 0:
        X = draw(st.sampled_from(ODD_OBJECTS))
    y = draw(supervision(n, K))
    wide = d if draw(st.integers(0, 9)) else draw(st.integers(0, 4))
    m = draw(st.integers(0, 3)) + (draw(st.integers(0, 9)) > 0)
    return draw(parameters(estimator)), X, y, draw(tables(m, wide, below_zero=not counts)), draw(supervision(m, K))


@pytest.mark.long
@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_estimators(estimator):
    """Fitting, predicting and scoring give finite numbers or raise an error of oneof."""

    @cases(1.0)
    @given(fits(estimator))
    def check(case):
        play(estimator, case)

    check()


def play(estimator: Any, case: tuple[Any, ...]) -> None:
    """Call the methods of an estimator one after the other, and check each outcome."""
    settings, X, y, Z, z = case
    model = outcome(type(estimator), **settings)
    fitted = outcome(model.fit, X, y)
    if isinstance(fitted, DOCUMENTED):
        return
    hold_attributes(fitted)
    outcome(fitted.disambiguate)
    for rows in (X, Z):
        for method in ASKED:
            if hasattr(fitted, method):
                outcome(getattr(fitted, method), rows)
    outcome(fitted.score, Z, z)
    outcome(fitted.disambiguate, Z, z)
    if isinstance(fitted, OnlineClassifier):
        again = outcome(fitted.partial_fit, Z, z)
        if not isinstance(again, DOCUMENTED):
            hold_attributes(again)


def hold_attributes(model: Any) -> None:
    """Assert that the fitted attributes are finite."""
    for attribute in ("coef_", "intercept_", "objective_", "label_distributions_", "dual_coef_"):
        value = getattr(model, attribute, None)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), attribute
