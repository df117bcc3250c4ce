"""The tables of measurements in docs/ have the numbers that benchmarks wrote."""

import csv
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not part of what is installed")

PRINTED = [
    ("conformal.md", "# ", "conformal", 2),
    ("audit.md", "# ", "audit", 2),
    ("semi_supervised.md", "## Choose a method with 10 to 100 labels", "few_labels", 1),
]
"""Pages, the heading from which their tables are printed, the benchmark that prints them, and their number."""


def _tables(text):
    """Return the tables of a text: lists of consecutive lines between bars."""
    return [block.splitlines() for block in re.findall(r"(?:^\|.*\|\n)+", text + "\n", re.MULTILINE)]


@pytest.mark.parametrize(("page", "heading", "module", "n_tables"), PRINTED)
def test_tables_have_the_numbers_of_the_files(page, heading, module, n_tables, capsys):
    """Every table of a page has the head of a table that a benchmark prints, and rows of that table in their order."""
    pytest.importorskip(f"benchmarks.{module}").summary()
    printed = _tables(capsys.readouterr().out)
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = _tables(text[text.index(heading) :])
    assert len(tables) == n_tables
    for table in tables:
        sources = [source for source in printed if source[:2] == table[:2]]
        assert len(table) > 2
        assert any([row for row in source if row in table] == table for source in sources), table[0]


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
