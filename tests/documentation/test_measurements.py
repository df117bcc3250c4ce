"""The tables of docs/weights.md, docs/conformal.md and the guide to crowds have the numbers that benchmarks wrote."""

import csv
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not part of what is installed")


def test_tables_of_weights_have_the_numbers_of_the_files(capsys):
    """Every row of a table of the page is printed by the command that reads the files."""
    pytest.importorskip("benchmarks.weights").summary()
    pytest.importorskip("benchmarks.weights_speed").costs()
    printed = set(capsys.readouterr().out.splitlines())
    page = (DOCS / "weights.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\|$", page, re.MULTILINE)
    assert len(rows) > 30
    assert [row for row in rows if row not in printed] == []


def test_tables_of_crowds_have_the_numbers_of_the_file():
    """Each row of the tables of the guide has the numbers of its data set, or of its method, in docs/crowds.csv."""
    page = (DOCS / "guides" / "crowds.md").read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip(): row for row in re.findall(r"^\|.*\|$", page, re.MULTILINE)}
    methods = {
        "votes, LogisticRegression": "votes, logistic regression",
        "LOORidge (sets)": "`LOORidge`, sets of all answers",
        "LOORidge (CrowdClassifier)": "`CrowdClassifier(LOORidge())`",
        "LogisticRegression (CrowdClassifier)": "`CrowdClassifier(LogisticRegression(C=10))`",
    }
    with (DOCS / "crowds.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    compared = 0
    for line in lines:
        is_aggregation = line["part"] == "aggregation"
        name = {"labelme": "LabelMe"}.get(line["data"], line["data"]) if is_aggregation else methods.get(line["method"])
        if name is not None:
            value = line["correct_labels" if is_aggregation else "test"]
            assert f"{float(value):.3f}".lstrip("0") in rows[name], line
            compared += 1
    assert compared == 8 + 2 + 16


def test_tables_of_prediction_sets_have_the_numbers_of_the_file(capsys):
    """The tables of the page are those that the command prints."""
    pytest.importorskip("benchmarks.conformal").summary()
    printed = capsys.readouterr().out.splitlines()
    page = (DOCS / "conformal.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\|$", page, re.MULTILINE)
    assert len(rows) > 40
    assert rows == [line for line in printed if line]


def test_the_table_of_few_labels_has_the_numbers_of_the_file(capsys):
    """The table of the section on few labels is one that the command prints."""
    pytest.importorskip("benchmarks.few_labels").summary()
    printed = capsys.readouterr().out.splitlines()
    page = (DOCS / "semi_supervised.md").read_text(encoding="utf-8")
    section = page[page.index("## Choose a method with 10 to 100 labels") :]
    rows = re.findall(r"^\|.*\|$", section, re.MULTILINE)
    assert len(rows) > 10
    assert [row for row in rows if row not in printed] == []
