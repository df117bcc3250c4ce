"""Label columns of real exporters: `inspect` and `fit` read the same classes, or refuse them with one sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run

NAMES = ["finch", "owl", "wren"]


def write_table(labels: list[str], **columns: list[str]) -> None:
    """Write 60 rows whose labels repeat in turn."""
    rng = np.random.default_rng(0)
    cells = {"label": labels, **columns}
    turned = {name: [given[i % len(given)] for i in range(60)] for name, given in cells.items()}
    pl.DataFrame({"x": rng.normal(size=60).round(3), **turned}).write_csv("t.csv")


def classes_of(run: Run, *options: Any) -> tuple[list[str], str]:
    """Return the classes that `inspect` and `fit` find, which are equal, and the notes of `inspect`."""
    inspected = run("inspect", "t.csv", "--labels", "label", *options, "--json")
    assert inspected.code == 0, inspected.err
    fitted = run("fit", "t.csv", "--labels", "label", *options, *QUICK, "--out", "fitted", "--json")
    assert fitted.code == 0, fitted.err
    classes = [found["label"] for found in json.loads(inspected.out)["classes"]]
    assert classes == json.loads(fitted.out)["classes"]
    return classes, inspected.err


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (["owl#wren", "wren#finch", "finch", "owl", "wren"], "labels are separated by '#'"),
        (["owl\uff1bwren", "wren\uff1bfinch", "finch", "owl", "wren"], "labels are separated by '\uff1b'"),
        (["owl\twren", "wren\tfinch", "finch", "owl", "wren"], "labels are separated by '\\t'"),
        (["owl||wren", "wren||finch", "finch", "owl", "wren"], "labels are separated by '||'"),
        (["owl~wren", "wren~finch", "finch", "owl", "wren"], "labels are separated by '~'"),
        (["owl => wren", "wren => finch", "finch", "owl", "wren"], "labels are separated by '=>'"),
        (['c("owl", "wren")', 'c("wren", "finch")', "finch", "owl", "wren"], "are read as lists, such as c("),
        (["{owl,wren}", "{wren,finch}", "{finch}", "{owl}", "{wren}"], "are read as lists, such as {owl,wren}"),
        (["[owl, wren]", "[wren, finch]", "[finch]", "[owl]", "[wren]"], "are read as lists, such as [owl, wren]"),
        (["{'owl', 'wren'}", "{'wren', 'finch'}", "{'finch'}", "{'owl'}"], "are read as lists, such as {'owl'"),
        (['{"choices": ["owl", "wren"]}', "finch", "owl", "wren"], 'are read as lists, such as {"choices"'),
    ],
)
def test_cells_whose_parts_are_classes_are_sets(run: Run, labels: list[str], note: str) -> None:
    """Cells whose parts are all classes of other cells are read as sets, with a note."""
    write_table(labels)
    classes, notes = classes_of(run)
    assert classes == NAMES
    assert note in notes


@pytest.mark.parametrize(
    "labels", [["C#", "F#", "C", "F"], ["a-b", "b-a", "a", "b"], ["a#b", "a#c", "a", "d"], ["x.y", "y.x", "x", "y"]]
)
def test_other_cells_with_signs_are_classes(run: Run, labels: list[str]) -> None:
    """A sign that is usual in names, or that does not join classes only, is a part of the class."""
    write_table(labels)
    assert classes_of(run)[0] == sorted(labels)


def test_unicode_forms_of_a_class_are_one(run: Run) -> None:
    """Composed and decomposed letters, zero-width spaces and other spaces do not make classes that print alike."""
    write_table(["Caf\u00e9", "Cafe\u0301", "Caf\u00e9\u200b", "Old\u00a0Bar", "Old Bar"])
    assert classes_of(run)[0] == ["Caf\u00e9", "Old Bar"]


@pytest.mark.parametrize("name", ["CL:0000236", "CHEBI:15377", "a:7"])
def test_an_identifier_has_no_weight(run: Run, name: str) -> None:
    """The number of an identifier is a part of the class."""
    write_table([f"{name}:0.7|owl:0.3", name, "owl", f"owl:0.6|{name}:0.4"])
    assert classes_of(run, "--weighted")[0] == sorted([name, "owl"])


def test_several_columns_of_labels_have_one_sentence(run: Run) -> None:
    """`inspect` and `fit` give the same reason and remedy if several columns have labels and numbers."""
    write_table(["owl", "wren"], further=["2", "[]"])
    messages = set()
    for command in (["inspect"], ["fit", *QUICK]):
        result = run(*command, "t.csv", "--labels", "label,further")
        assert result.code != 0
        messages.add(result.err)
    [message] = messages
    assert "row 0: column 'label' must contain 0 and 1, as one of several label columns; got 'owl'." in message
    assert "join them in one column" in message


@pytest.mark.parametrize("name", ["[(R)-carvone]", "[[Cat]]", "[note 1]"])
def test_a_bracket_may_begin_a_class(run: Run, name: str) -> None:
    """Text in brackets that is neither JSON nor a list of another language is a class."""
    write_table([name, "owl", name, "wren|owl"])
    assert classes_of(run)[0] == sorted([name, "owl", "wren"])
    assert Path("fitted/model.skops").exists()
