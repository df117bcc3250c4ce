"""Compressed files, standard input and spreadsheets in the commands."""

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run, make_birds

FIT = ("--labels", "species", "--truth", "truth", *QUICK)


def _training_labels(folder: str) -> str:
    return Path(folder, "training_labels.csv").read_text()


def test_a_compressed_table(run: Run, model: Path) -> None:
    """A compressed table gives the model and the predictions of the table, in files named after it."""
    Path("finches.csv.gz").write_bytes(gzip.compress(make_birds().write_csv().encode()))
    result = run("fit", "finches.csv.gz", *FIT)
    assert result.code == 0, result.err
    assert _training_labels("finches-oneof") == _training_labels("birds-oneof")
    assert run("predict", model, "finches.csv.gz").code == 0
    assert run("predict", model, "birds.csv").code == 0
    assert Path("finches-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()


def test_standard_input(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input gives the model and the predictions of the table; it needs a format."""
    result = run("fit", "-", *FIT)
    assert (result.code, "Add --format with csv" in result.err) == (2, True)
    with Path("birds.csv").open("rb") as file:
        # The command reads the descriptor, which the runner's own standard input lacks.
        monkeypatch.setattr(
            "oneof.io.formats.plain_file.open_standard_input",
            lambda: io.BufferedReader(io.FileIO(file.fileno(), closefd=False)),
        )
        result = run("fit", "-", "--format", "csv", *FIT, "--json")
        assert result.code == 0, result.err
        facts = json.loads(result.out)
        assert facts["table"] == "standard input"
        assert _training_labels("stdin-oneof") == _training_labels("birds-oneof")
        report = Path("stdin-oneof/report.html").read_text()
        assert "oneof fit - " in report
        assert "--format csv" in report
        file.seek(0)
        assert run("predict", model, "-", "--format", "csv").code == 0
    assert run("predict", model, "birds.csv").code == 0
    assert Path("stdin-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()


def test_a_spreadsheet(run: Run, model: Path) -> None:
    """A sheet gives the model and the predictions of the table; a note names the other sheets."""
    pytest.importorskip("fastexcel", reason="fastexcel is in the extra `excel`")
    from tests.io.test_excel import write_xlsx

    birds = make_birds()
    sheet = [birds.columns, *birds.with_columns(pl.col("species").replace("", None)).rows()]
    write_xlsx(Path("book.xlsx"), notes=[("a",), (1,)], birds=sheet)
    result = run("fit", "book.xlsx", "--sheet", "birds", *FIT)
    assert result.code == 0, result.err
    assert _training_labels("book-oneof") == _training_labels("birds-oneof")
    assert "--sheet birds" in Path("book-oneof/report.html").read_text()
    assert run("predict", model, "book.xlsx", "--sheet", "birds").code == 0
    assert run("predict", model, "birds.csv").code == 0
    assert Path("book-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()
    result = run("fit", "book.xlsx", *FIT)
    assert result.code == 2
    assert "column 'species' does not exist: the columns are a." in result.err
    result = run("fit", "birds.csv", "--sheet", "birds", *FIT)
    assert (result.code, "--sheet needs a spreadsheet" in result.err) == (2, True)
