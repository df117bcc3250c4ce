"""The first number of a report, with its name and meaning."""

from dataclasses import replace

import pytest

from oneof import CandidateSets
from oneof.audit.accuracy import AccuracyEstimate
from oneof.comparison import MethodResult
from oneof.report import choose_headline

RESULT = MethodResult("CLPL", 0.8, 0.02, 0.7, 0.03, 1.0, None, None, None, (), pooled_covering_rate=0.8)
EXACT = CandidateSets.from_sets([["a"], ["b"], None])
PARTIAL = CandidateSets.from_sets([["a"], ["a", "b"], ["b", "c"]])
ESTIMATE = AccuracyEstimate(0.9, (0.85, 0.94), 0.12, (0.08, 0.17), 500)


def test_the_best_known_rate_is_the_headline():
    """The accuracy by true labels comes first, then its estimate, the expected accuracy, and the covering rate."""
    known = replace(RESULT, accuracy=0.88, accuracy_std=0.01, pooled_accuracy=0.88, expected_accuracy=0.86)
    compared = replace(RESULT, expected_accuracy=0.86)
    for result, estimate, measure, value in (
        (known, ESTIMATE, "accuracy", 0.88),
        (compared, ESTIMATE, "estimated accuracy", 0.9),
        (compared, None, "expected accuracy", 0.86),
        (RESULT, None, "covering rate", 0.8),
    ):
        headline = choose_headline(result, estimate, PARTIAL)
        assert (headline.measure, headline.value) == (measure, value)
    assert choose_headline(RESULT, ESTIMATE, PARTIAL).interval == (0.85, 0.94)


@pytest.mark.parametrize("is_exact", [True, False])
def test_the_meaning_names_the_assumptions(is_exact):
    """The sentence has the errors that are not recognized, the direction of an error, and new groups; no rate."""
    candidates = EXACT if is_exact else PARTIAL
    headline = choose_headline(RESULT, ESTIMATE, candidates, is_grouped=True)
    assert "Wrong labels that the features predict are not recognized" in headline.meaning
    assert "%" not in headline.meaning
    assert headline.meaning.startswith("of rows of new groups")
    meaning = choose_headline(RESULT, None, candidates).meaning
    assert ("equal the label" in meaning) == is_exact
    assert ("lower if wrong predictions" in meaning) != is_exact
    assert "higher if labels are wrong" in meaning
