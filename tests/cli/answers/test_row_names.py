"""Names of the rows in the table and in the file of the answers, which may be columns of different names."""

import json
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.cli.answers.files import TableAnswers, read_answers
from oneof.io import read_table
from oneof.io.answers import AnswerOptions
from tests.cli.answers.conftest import make_answers
from tests.cli.conftest import Run


def read(path: str, row: str | None, answers_row: str | None) -> TableAnswers:
    table = read_table(Path("table.csv"), as_text=("id",))
    options = AnswerOptions(Path(path), row, answers_row=answers_row)
    return read_answers(options, table, separator="|", classes=None)


def write_exports(key: str | None, *, is_nested: bool = False) -> None:
    """Write exports of both tools, whose own numbers are those of other rows; the data have the names as `key`."""
    documents, tasks = [], []
    for i in range(60):
        data = {} if key is None else {key: f"b{i}"}
        document = {"id": f"b{59 - i}", "text": "a bird", "label": ["owl" if i < 30 else "wren"], "Comments": []}
        documents.append(document | ({"meta": data} if is_nested else data))
        choice = {"type": "choices", "from_name": "bird", "to_name": "text", "value": {"choices": document["label"]}}
        annotations = [{"completed_by": "Ann", "result": [choice]}]
        tasks.append({"id": f"b{59 - i}", "data": {"text": "a bird"} | data, "annotations": annotations})
    with zipfile.ZipFile("export.zip", "w") as archive:
        archive.writestr("Ann.jsonl", "\n".join(map(json.dumps, documents)))
    Path("export.json").write_text(json.dumps(tasks))


def test_a_missing_column_of_the_rows_names_both_options(run: Run, table: Path) -> None:
    """The error names the option by which a column of another name is matched."""
    make_answers().rename({"id": "example_id"}).write_csv("answers.csv")
    result = run("compare", table, "--answers", "answers.csv", "--row", "id")
    assert result.code == 2
    assert "--answers-row COLUMN that of answers.csv if it has another name" in result.err
    result = run("compare", table, "--answers", "answers.csv")
    assert "By default, the column 'row' has the numbers of the rows from 0" in result.err


@pytest.mark.parametrize("file", ["export.zip", "export.json"])
def test_numbers_of_a_tool_are_not_the_id_of_the_table(run: Run, table: Path, file: str) -> None:
    """The own id of a document or task is an error that names the option, and is read if the option asks for it."""
    write_exports(None)
    result = run("compare", table, "--answers", file, "--row", "id")
    assert result.code == 2
    assert "the field 'id', which identifies the item, is missing. The field 'id' beside the data" in result.err
    assert "add --answers-row id; otherwise name the field of the data" in result.err
    assert read(file, "id", "id").answers.of_row(0) == {"Ann": ["wren"]}
    write_exports("name")
    assert read(file, "id", "name").answers.of_row(0) == {"Ann": ["owl"]}
    write_exports("id", is_nested=True)
    assert read(file, "id", None).answers.of_row(0) == {"Ann": ["owl"]}


def test_a_session_imports_answers_with_another_column_of_the_rows(run: Run, table: Path) -> None:
    """`oneof label --import` has the same option, also for degrees of certainty."""
    pl.DataFrame({"example_id": ["b3"], "worker": ["Ann"], "label": ["owl"], "degree": ["guess"]}).write_csv("one.csv")
    words = ("label", table, "--labels", "species", "--classes", "finch,owl", "--row", "id", "--import", "one.csv")
    result = run(*words, "--answers-row", "example_id", "--export-answers", "out.csv")
    assert result.code == 0, result.err
    assert pl.read_csv("out.csv").rows() == [("b3", "Ann", "owl", "guess")]


def test_a_column_of_answers_that_is_not_read_is_an_error(run: Run, table: Path) -> None:
    """--answers-row is not ignored with an archive, whose rows have no names, nor without a file of answers."""
    np.savez("answers.npz", answers=np.zeros((60, 2), dtype=int), classes=np.array(["owl", "wren"]))
    result = run("audit", table, "--answers", "answers.npz", "--answers-row", "id")
    assert result.code == 2
    assert "--answers-row has no use with the archive answers.npz, whose rows are those of the table" in result.err
    words = ("label", table, "--labels", "species", "--classes", "finch,owl", "--answers-row", "id")
    result = run(*words, "--export", "out.csv")
    assert result.code == 2
    assert "--answers-row needs --import: add it." in result.err
    assert not Path("table-answers.sqlite").exists()
