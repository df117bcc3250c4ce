"""The tables of docs/audit.md have the numbers of the files that the benchmarks wrote."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not part of what is installed")


def test_tables_have_the_numbers_of_the_files(capsys):
    """The rows of the tables of the page are those that the command prints."""
    pytest.importorskip("benchmarks.audit").summary()
    printed = {row for row in capsys.readouterr().out.splitlines() if row.startswith("|") and "---" not in row}
    page = (DOCS / "audit.md").read_text(encoding="utf-8")
    rows = {row for row in re.findall(r"^\|.*\|$", page, re.MULTILINE) if "---" not in row}
    assert len(rows) > 40
    assert rows == printed
