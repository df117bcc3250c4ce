"""Labels that look as if something else had been meant."""

import pytest

from oneof import CandidateSets
from oneof.tables import odd_labels


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["owl;wren", "owl", "wren"], "add --separator ';'"),
        (["owl, wren", "owl", "wren"], "add --separator ','"),
        (["['owl', 'wren']", "owl"], "use a list column"),
        (["-1", "owl"], "'-1' is read as a class"),
        (["NA", "?", "owl"], "'?' and 1 more is read as a class"),
    ],
)
def test_odd_labels_are_told(labels: list[str], said: str) -> None:
    """A label that is perhaps a set, or no label at all, is told with what to do about it."""
    notes = odd_labels(CandidateSets.from_labels(labels), "|")
    assert len(notes) == 1
    assert said in notes[0]


@pytest.mark.parametrize("labels", [["owl", "wren"], ["rock/pop", "jazz"], ["3", "4"], ["1,5", "2,5"]])
def test_plain_labels_are_not(labels: list[str]) -> None:
    """Names that only contain a sign that could separate, without naming other labels by it, are left in peace."""
    assert odd_labels(CandidateSets.from_labels(labels), "|") == []
