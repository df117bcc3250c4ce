"""Names of the rows in the table and in the file of the answers, which may be columns of different names."""

from pathlib import Path

import numpy as np
import polars as pl

from tests.cli.conftest import Run

SESSION = ("--labels", "species", "--classes", "finch,owl", "--row", "id")


def test_a_session_imports_answers_with_another_column_of_the_rows(run: Run, table: Path) -> None:
    """`oneof label --import` has the option of `fit`, also for degrees of certainty."""
    pl.DataFrame({"example_id": ["b3"], "worker": ["Ann"], "label": ["owl"], "degree": ["guess"]}).write_csv("one.csv")
    words = ("label", table, *SESSION, "--import", "one.csv", "--answers-row", "example_id")
    result = run(*words, "--export-answers", "out.csv")
    assert result.code == 0, result.err
    assert pl.read_csv("out.csv").rows() == [("b3", "Ann", "owl", "guess")]


def test_a_column_of_answers_that_is_not_read_is_an_error(run: Run, table: Path) -> None:
    """--answers-row is not ignored with an archive, whose rows have no names, nor without a file of answers."""
    np.savez("answers.npz", answers=np.zeros((60, 2), dtype=int), classes=np.array(["owl", "wren"]))
    result = run("audit", table, "--answers", "answers.npz", "--answers-row", "id")
    assert result.code == 2
    assert "--answers-row has no use with the archive answers.npz, whose rows are those of the table" in result.err
    result = run("label", table, *SESSION, "--answers-row", "id", "--export", "out.csv")
    assert result.code == 2
    assert "--answers-row needs --import: add it." in result.err
    assert not Path("table-answers.sqlite").exists()
