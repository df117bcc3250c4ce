"""The stream in every format, as for the tests of streams, and the kinds of the columns of a table."""

from pathlib import Path
from typing import Any

import polars as pl

from oneof.io import CellFormat, Finding, Table, TableFindings, choose_columns
from tests.stream.conftest import files

__all__ = ["files"]

PATH = Path("t.csv")


def choose(cell_format: CellFormat | None = None, **columns: Any) -> Any:
    """Return the columns of a table, and the findings about them."""
    table = Table(pl.DataFrame(columns), PATH, cell_format=cell_format or CellFormat())
    return choose_columns(table, exclude=[])


def found(findings: TableFindings, kind: str) -> list[Finding]:
    """Return the findings of a kind about the columns of a table."""
    return [finding for finding in findings.columns if finding.kind == kind]


def count(findings: TableFindings, kind: str = "unreadable") -> int:
    """Return the number of cells of the findings of a kind."""
    return sum(finding.count for finding in found(findings, kind))
