"""Public functions and estimators with random arguments give finite numbers or raise an error of oneof."""

import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from oneof.estimators.online import OnlineClassifier
from tests.estimators.panel import ALL, name, takes_counts
from tests.fuzz.calls import FAMILIES
from tests.fuzz.labels import supervision
from tests.fuzz.outcome import DOCUMENTED, outcome
from tests.fuzz.parameters import parameters
from tests.fuzz.profile import cases
from tests.fuzz.rows import ODD_OBJECTS, tables
from tests.fuzz.strategies import Case

API = Path(__file__).resolve().parents[2] / "docs" / "api"
MAY_BE_NAN = ("rankings", "documents", "agreements")
"""The break-even point of a class without positives, and alpha of equal answers, are documented to be NaN."""

EXEMPT = {
    "LearningCurveLike": "a protocol, which cannot be called",
    "stemmer_languages": "takes no argument",
    "stemmer_version": "takes no argument",
    "serve": "serves until it is stopped; its requests are attacked in tests/labeling/test_server.py and tests/serving",
    "RowPredictor": "takes a saved model; its rows are fuzzed in tests/serving/test_predictor.py",
    "make_app": "takes a predictor; its requests are fuzzed in tests/serving/test_app.py",
    "reraise_as_input_error": "a context for blocks of code, which takes no argument",
}
"""Public names that no family calls, with the reasons."""


def play(family: str, case: Case) -> None:
    """Call a function once, and check its outcome."""
    function, given_, named = case
    outcome(function, *given_, may_be_nan=family in MAY_BE_NAN, **named)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family):
    """Every public function gives finite numbers or raises an error of oneof, and leaves its arguments unchanged."""

    @cases(FAMILIES[family].share)
    @given(FAMILIES[family].drawn())
    def check(case):
        play(family, case)

    check()


def test_every_public_name_is_in_a_family():
    """Every name on an API page is called by a family, or listed above with a reason."""
    called = [call for family in FAMILIES.values() for call in family.calls] + [type(model) for model in ALL]
    public = list(_public())
    uncovered = {name for name, value in public if not any(value is call for call in called) and not _is_result(value)}
    assert uncovered == set(EXEMPT)
    assert all(any(call is value for _, value in public) for call in called), "a family calls what is not public"


def _is_result(value):
    """Return whether a name is that of an exception, or of a record: its constructor is called, and it is checked."""
    return isinstance(value, type) and (
        issubclass(value, Exception | tuple)
        or (dataclasses.is_dataclass(value) and not issubclass(value, BaseEstimator))
    )


def _public():
    """Yield the names on the API pages with their objects."""
    for page in sorted(API.glob("*.md")):
        module = None
        for line in page.read_text("utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = importlib.import_module(match[1])
            elif module is not None and (match := re.fullmatch(r"   (\w+)", line)):
                yield match[1], getattr(module, match[1])


# -- Estimators with random rows, sets and parameters ------------------------------------------------------------------


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
        play_estimator(estimator, case)

    check()


def play_estimator(estimator: Any, case: tuple[Any, ...]) -> None:
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
