"""The tables of docs/weights.md have the numbers of the files that the benchmark wrote."""

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
