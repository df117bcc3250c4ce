"""Every public function with random arguments gives finite numbers or raises an error of oneof."""

import dataclasses
import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from sklearn.base import BaseEstimator

from tests.estimators.panel import ALL
from tests.fuzz.calls import FAMILIES
from tests.fuzz.outcome import outcome
from tests.fuzz.profile import cases
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
