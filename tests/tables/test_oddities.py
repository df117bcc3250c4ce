"""Labels that look as if something else had been meant."""

import pytest

from oneof.tables import odd_labels


@pytest.mark.parametrize(
    ("labels", "said"),
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
        (["OWL", "owl", "wren"], "'OWL' and 'owl' differ only in the case of letters or in spaces around them"),
        (["OWL", "Owl", "owl", "wren", "wren "], "'OWL', 'Owl' and 'owl'; 'wren' and 'wren ' differ only"),
        ([*"ABCDEFGHabcdefgh"], "'F' and 'f'; and 2 more differ only"),
    ],
)
def test_odd_labels_are_told(labels: list[str], said: str) -> None:
    """A label that is perhaps a set, or no label, or another one misspelled, is told with what to do about it."""
    (note,) = odd_labels(labels, "|")
    assert said in note
    assert note.endswith(".")


@pytest.mark.parametrize("labels", [["owl", "wren"], ["rock/pop", "jazz"], ["3", "4"], ["1,5", "2,5"], [3, None, True]])
def test_plain_labels_are_not(labels: list[str]) -> None:
    """Names that only contain a sign that could separate, without naming other labels by it, are left in peace."""
    assert odd_labels(labels, "|") == []
