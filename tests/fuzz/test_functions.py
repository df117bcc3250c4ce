"""Every public function, with whatever it is given: finite numbers, or one of our errors."""

import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given

from tests.estimators.panel import ALL
from tests.fuzz.drawn import Case
from tests.fuzz.families import FAMILIES
from tests.fuzz.outcome import outcome
from tests.fuzz.profile import cases

API = Path(__file__).resolve().parents[2] / "docs" / "api"
MAY_BE_NAN = ("rankings", "documents")
"""The break-even point of a class without positives is documented to be NaN."""

RESULTS = "a result: what makes it is called, and the result held against the law"
EXEMPT = {
    "Query": RESULTS,
    "SubsetQuery": RESULTS,
    "Simulation": RESULTS,
    "Comparison": RESULTS,
    "MethodResult": RESULTS,
    "FoldResult": RESULTS,
    "LearningCurve": RESULTS,
    "Dataset": RESULTS,
    "DatasetInfo": RESULTS,
    "TwoSensors": RESULTS,
    "WinTieLoss": RESULTS,
    "Validation": RESULTS,
    "Window": RESULTS,
    "StreamResult": RESULTS,
    "IndexedRows": RESULTS,
    "TopicScores": RESULTS,
    "SavedModel": "a record that the command line fills; its files are fuzzed in tests/fuzz_files",
    "LearningCurveLike": "a protocol, which cannot be called",
    "stemmer_languages": "takes no argument",
    "stemmer_version": "takes no argument",
    "serve": "serves until it is stopped; its requests are attacked in tests/labeling/test_guard.py",
    "as_input_errors": "a context for blocks of code, which takes no argument",
}
"""Public names that no family calls, and why."""


def play(family: str, case: Case) -> None:
    """Call once, and hold what comes of it against the law."""
    function, given_, named = case
    outcome(function, *given_, may_be_nan=family in MAY_BE_NAN, **named)


@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family):
    """Every public function ends in finite numbers or in one of our errors, and leaves its arguments alone."""

    @cases(FAMILIES[family].share)
    @given(FAMILIES[family].drawn())
    def check(case):
        play(family, case)

    check()


def test_every_public_name_is_in_a_family():
    """What a page of the API names is called by a family, or stands above with the reason why not."""
    called = [call for family in FAMILIES.values() for call in family.calls] + [type(model) for model in ALL]
    public = list(_public())
    left = {name for name, value in public if not any(value is call for call in called) and not _is_error(value)}
    assert left == set(EXEMPT)
    assert all(any(call is value for _, value in public) for call in called), "a family calls what is not public"


def _is_error(value):
    return isinstance(value, type) and issubclass(value, Exception)


def _public():
    """Yield the names on the pages of the API, and what they name."""
    for page in sorted(API.glob("*.md")):
        module = None
        for line in page.read_text("utf-8").splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = importlib.import_module(found[1])
            elif module is not None and (found := re.fullmatch(r"   (\w+)", line)):
                yield found[1], getattr(module, found[1])
