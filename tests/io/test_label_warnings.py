"""Warnings about labels: a set or a missing value that is read as a class, and sentences as classes."""

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.cli.options import read_names
from oneof.io import (
    CellFormat,
    cells_without_weights,
    certain_rows,
    read_labels,
    read_table,
    single_row_classes,
    suspicious_labels,
)
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS


def test_refusals_among_weights_have_a_warning() -> None:
    """A text without weights that no other cell has is named, and a class that others have is not."""
    weighted = ["a:0.7|b:0.3", '{"b": 1.0}', "a (0.9)", "b:0.8|a:0.2"]
    assert cells_without_weights([*weighted, "a", None, ""], "|", CellFormat()) == []
    [note] = cells_without_weights([*weighted, "I cannot decide.", "I cannot decide."], "|", CellFormat())
    assert "2 cells have no weights and are read as a class that no other cell has: 'I cannot decide.'" in note
    assert "--missing 'I cannot decide.'" in note
    refusals = ["I'm sorry, no.", "Cannot tell"]
    [note] = cells_without_weights([*weighted, *refusals], "|", CellFormat())
    words = shlex.split(note.partition("add ")[2].partition(": the row")[0])
    assert words[0] == "--missing"
    assert read_names(*words[:1], words[1:]) == tuple(refusals)  # as the command line reads them
    assert cells_without_weights(["x", "y", "z", "a:0.7|b:0.3"], "|", CellFormat()) == []


@pytest.mark.parametrize("token", [*MISSING, *MISSING_NUMBERS])
def test_each_token_of_missing_values_has_a_warning_as_a_class(token: str) -> None:
    (note,) = suspicious_labels([token.upper(), "owl"], "|")
    assert "is read as a class" in note
    assert "--missing" in note


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["owl;wren", "owl", "wren"], "'owl;wren' is read as one class: if it is a set of labels, add --separator ';'"),
        (["owl, wren", "owl", "wren"], "add --separator ','"),
        (["owl-wren", "owl", "wren"], "add --separator '-'"),
        (["owl oder wren", "owl", "wren"], "add --separator ' oder '"),
        (["owl_wren", "owl", "wren"], "add --separator '_'"),
        (["owl : wren", "owl", "wren"], "add --separator ' : '"),
        (["owl # wren", "owl", "wren"], "add --separator ' # '"),
        (["a;b", "b;a", "a", "b"], "'a;b' and 'b;a' are each read as one class: if they are sets of labels, add"),
        (["['owl', 'wren']", "owl"], "add --separator '[]' to read the cells as lists"),
        (["-1", "owl"], "'-1' is read as a class: leave"),
        (["?", "owl"], "'?' is read as a class: leave"),
        (["?", "NA", "none", "owl"], "'?', 'NA' and 'none' are read as classes: leave the cells"),
        (
            ["-", "?", "missing", "n/a", "na", "nan", "none", "null", "owl"],
            "'-', '?', 'missing', 'n/a', 'na', 'nan' and 2 more are read as classes",
        ),
        (
            ["#N/A", "n.a.", "owl"],
            "'#N/A' and 'n.a.' are read as classes: leave the cells of unlabeled rows empty, or add",
        ),
        (["k.A.", "#DIV/0!", "owl"], "'k.A.' and '#DIV/0!' are read as classes"),
        (["OWL", "owl", "wren"], "'OWL' and 'owl' differ only in case, spaces, underscores or hyphens"),
        (["OWL", "Owl", "owl", "wren", "wren "], "'OWL', 'Owl' and 'owl'; 'wren' and 'wren ' differ only"),
        (["owl", "wren", "not owl", "!wren"], "'not owl' and '!wren' are each read as one class: to exclude a class"),
        (["owl", "wren", "owl?"], "'owl?' is read as one class: if a label is in doubt, write all labels"),
        (["owl and wren", "owl", "wren"], "if it is a set of labels, add --separator ' and ', or write '|' between"),
        (["owl or wren", "owl", "wren"], "'owl or wren' is read as one class: if it is a set of labels, add --sep"),
        (["owl\nwren", "owl", "wren"], "write '|' between the labels instead of line ends"),
        (
            ["Unbekannt", "inconnu", "desconocido", "owl"],
            "'Unbekannt', 'inconnu' and 'desconocido' are read as classes",
        ),
        ([*"ABCDEFGHabcdefgh"], "'F' and 'f'; and 2 more differ only"),
    ],
)
def test_suspicious_labels_have_a_warning(labels: list[str], message: str) -> None:
    """A label that may be a set, a missing value or misspelled has a warning with the remedy."""
    (note,) = suspicious_labels(labels, "|")
    assert message in note
    assert note.endswith(".")


@pytest.mark.parametrize(
    "labels",
    [
        ["owl", "wren"],
        ["rock/pop", "jazz"],
        ["3", "4"],
        ["1,5", "2,5"],
        [3, None, True],
        ["spam", "not spam"],
        ["why?", "owl", "no"],
    ],
)
def test_other_labels_have_no_warning(labels: list[str]) -> None:
    """A possible separator within a label is ignored unless it separates other labels."""
    assert suspicious_labels(labels, "|") == []


@pytest.mark.parametrize("given", ["|", ";"])
def test_a_column_with_two_separators_is_read_by_the_option_of_the_note(tmp_path: Path, given: str) -> None:
    """The note names the option that reads both separators, and gives the sets of a column with one separator."""
    texts = ["owl|wren", "wren;finch", "owl", "finch", "wren", "owl;finch|wren"] * 5
    path = tmp_path / "t.parquet"
    pl.DataFrame({"y": texts}).write_parquet(path)
    classes = read_labels(read_table(path), ["y"], separator=given).classes.tolist()
    (note,) = suspicious_labels(classes, given)
    separator = note.rpartition("or --separator '")[2].partition("'")[0]
    assert separator.split() == [given, *({"|", ";"} - {given})]
    read = read_labels(read_table(path), ["y"], separator=separator)
    expected = CandidateSets.from_strings([text.replace(";", "|") for text in texts])
    assert read.classes.tolist() == expected.classes.tolist()
    assert np.array_equal(read.mask, expected.mask)
    assert suspicious_labels(read.classes.tolist(), separator) == []


def test_posteriors_that_are_mostly_exact_have_a_note() -> None:
    """A note counts the exact rows if they are more than half of the labeled rows of a posterior, and only then."""
    rows = [{"a": 1.0, "b": 0.0}, {"b": 1.0}, {"a": 0.6, "b": 0.4}, None]
    y = CandidateSets.from_weights(rows)
    (note,) = certain_rows(y, "posterior")
    assert note.startswith("2 of 3 labeled rows are exact")
    assert certain_rows(y, "likelihood") == certain_rows(y[1:], "posterior") == []


def test_many_classes_of_one_row_have_a_note() -> None:
    """A column of names of rows is probably not the label column; a few rare classes are usual."""
    names = [f"clip {i}" for i in range(30)]
    (note,) = single_row_classes(CandidateSets.from_labels([*names, "owl", "owl"]))
    assert note.startswith("30 of 31 classes, such as 'clip 0', are in one row only")
    few = CandidateSets.from_labels([*names[:19], "owl", "owl"])
    half = CandidateSets.from_labels([*names, *names[:15]])
    assert single_row_classes(few[:10]) == single_row_classes(half) == []


def test_classes_that_are_sentences_have_a_note():
    """If many classes are texts of several words in one row only, the note names the options for comments."""
    prose = [f"I think it is a finch, number {i}" for i in range(3)]
    (note,) = single_row_classes(CandidateSets.from_labels([*prose, *12 * ["owl", "wren"]]))
    assert note.startswith(
        "3 of 5 classes are texts of 4 words or more in one row only, such as 'I think it is a finch"
    )
    assert "--classes" in note
    assert "--unreadable-labels unlabeled" in note
    others = [f"class {i}" for i in range(15)]
    for labels in (prose[:2], [*prose, *prose], [*prose, *others, *others]):
        assert single_row_classes(CandidateSets.from_labels([*labels, *12 * ["owl", "wren"]])) == []


def test_a_class_that_may_be_a_set_has_its_row() -> None:
    """The note names the first row of the class; classes of unlabeled rows have none."""
    cells = ["owl", "", "wren", "owl and wren"]
    candidates = CandidateSets.from_strings(cells)
    (note,) = suspicious_labels(candidates.classes.tolist(), "|", candidates=candidates)
    assert note.startswith("'owl and wren' (row 3) is read as one class")
