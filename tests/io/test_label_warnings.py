"""Warnings about labels that may be sets, missing values or misspelled."""

import pytest

from oneof.io import suspicious_labels


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["owl;wren", "owl", "wren"], "'owl;wren' is read as one class: if it is a set of labels, add --separator ';'"),
        (["owl, wren", "owl", "wren"], "add --separator ','"),
        (["a;b", "b;a", "a", "b"], "'a;b' and 'b;a' are each read as one class: if they are sets of labels, add"),
        (["['owl', 'wren']", "owl"], "use a list column"),
        (["-1", "owl"], "'-1' is read as a class: leave"),
        (["?", "owl"], "'?' is read as a class: leave"),
        (["?", "NA", "none", "owl"], "'?', 'NA' and 'none' are read as classes: leave the cells"),
        (
            ["-", "?", "missing", "n/a", "na", "nan", "none", "null", "owl"],
            "'-', '?', 'missing', 'n/a', 'na', 'nan' and 2 more are read as classes",
        ),
        (["OWL", "owl", "wren"], "'OWL' and 'owl' differ only in case or in surrounding spaces"),
        (["OWL", "Owl", "owl", "wren", "wren "], "'OWL', 'Owl' and 'owl'; 'wren' and 'wren ' differ only"),
        ([*"ABCDEFGHabcdefgh"], "'F' and 'f'; and 2 more differ only"),
    ],
)
def test_suspicious_labels_have_a_warning(labels: list[str], message: str) -> None:
    """A label that may be a set, a missing value or misspelled has a warning with the remedy."""
    (note,) = suspicious_labels(labels, "|")
    assert message in note
    assert note.endswith(".")


@pytest.mark.parametrize("labels", [["owl", "wren"], ["rock/pop", "jazz"], ["3", "4"], ["1,5", "2,5"], [3, None, True]])
def test_other_labels_have_none(labels: list[str]) -> None:
    """A possible separator within a label is ignored unless it separates other labels."""
    assert suspicious_labels(labels, "|") == []
