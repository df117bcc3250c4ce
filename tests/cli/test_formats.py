"""Formats of tables in the commands: each gives the model and the predictions of the CSV file."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

FIT = ("--labels", "species", "--truth", "truth", *QUICK)


def _with_lists(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.Series("species", [text.split("|") if text else None for text in frame["species"]]))


def _write_sheets(frame: pl.DataFrame, path: Path) -> None:
    pytest.importorskip("fastexcel", reason="fastexcel is in the extra `excel`")
    from tests.io.test_excel import write_xlsx

    sheet = [frame.columns, *frame.with_columns(pl.col("species").replace("", None)).rows()]
    write_xlsx(path, notes=[("a",), (1,)], birds=sheet)


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    "parquet": lambda frame, path: _with_lists(frame).write_parquet(path),
    "jsonl": lambda frame, path: _with_lists(frame).write_ndjson(path),
    "xlsx": _write_sheets,
}


@pytest.mark.parametrize("form", WRITERS)
def test_the_format_does_not_matter(run: Run, model: Path, form: str) -> None:
    """The same rows in another format give the same model and predictions, in files named after it."""
    path, sheet = Path(f"finches.{form}"), ("--sheet", "birds") if form == "xlsx" else ()
    WRITERS[form](make_birds(), path)
    result = run("fit", path, *sheet, *FIT)
    assert result.code == 0, result.err
    assert _training_labels("finches-oneof") == _training_labels("birds-oneof")
    assert " ".join(sheet) in Path("finches-oneof/report.html").read_text()
    for name in (path, "birds.csv"):
        assert run("predict", model, name, *(sheet if name == path else ())).code == 0
    assert Path("finches-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()
    if sheet:
        check_error(run, "fit", path, *FIT, message="column 'species' does not exist: the columns are a.")
        check_error(run, "fit", "birds.csv", *sheet, *FIT, message="--sheet needs a spreadsheet")


def _training_labels(folder: str) -> str:
    return Path(folder, "training_labels.csv").read_text()


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
        facts = read_json(run, "fit", "-", "--format", "csv", *FIT)
        assert facts["table"] == "standard input"
        assert _training_labels("stdin-oneof") == _training_labels("birds-oneof")
        report = Path("stdin-oneof/report.html").read_text()
        assert "oneof fit - " in report
        assert "--format csv" in report
        file.seek(0)
        assert run("predict", model, "-", "--format", "csv").code == 0
    assert run("predict", model, "birds.csv").code == 0
    assert Path("stdin-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()
