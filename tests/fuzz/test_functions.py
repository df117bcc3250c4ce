"""Every public function, with whatever it is given: finite numbers, or one of our errors."""

import pytest
from hypothesis import given

from tests.fuzz import calls_on_sets as on_sets
from tests.fuzz import calls_that_learn as learning
from tests.fuzz.drawn import Case
from tests.fuzz.outcome import DOCUMENTED, outcome
from tests.fuzz.profile import cases

FAMILIES = {
    "sets": (on_sets.set_makers, 3.0),
    "judgements": (on_sets.judgements, 2.0),
    "rankings": (on_sets.rankings, 1.0),
    "hidings": (on_sets.hidings, 2.0),
    "kernels": (on_sets.kernels, 2.0),
    "scorings": (on_sets.scorings, 1.0),
    "queries": (learning.queries, 2.0),
    "comparisons": (learning.comparisons, 1.0),
    "texts": (learning.texts, 1.0),
    "documents": (learning.documents, 1.0),
    "single rows": (learning.single_rows, 1.0),
    "sessions": (learning.sessions, 1.0),
}
MAY_BE_NAN = ("rankings", "documents")
"""The break-even point of a class without positives is documented to be NaN."""


def play(family: str, case: Case) -> None:
    """Call once, and hold what comes of it against the law."""
    function, given_, named = case
    result = outcome(function, *given_, may_be_nan=family in MAY_BE_NAN, **named)
    if isinstance(result, DOCUMENTED):
        return


@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family):
    """Every public function ends in finite numbers or in one of our errors, and leaves its arguments alone."""
    drawn, share = FAMILIES[family]

    @cases(share)
    @given(drawn())
    def check(case):
        play(family, case)

    check()
