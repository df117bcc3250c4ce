"""Answers about the birds of the tests of the command line, and a table without its candidate sets."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Run, make_birds

NAMES = ["finch", "owl", "wren"]
ANSWERS = ("--answers", "answers.csv", "--row", "id", "--annotator", "worker", "--answer", "label")
FIT = ("fit", "table.csv", *ANSWERS, "--truth", "truth", "--method", "CLPL", "--folds", "2")
ACCURACIES = {"Ann": 0.95, "Bob": 0.8, "Cem": 0.7, "Dan": 0.0}
"""Probabilities that an annotator does not answer at random."""


def make_answers(seed: int = 1) -> pl.DataFrame:
    """Return answers about the birds: Bob sometimes names two birds, and Dan sees owls only."""
    rng = np.random.default_rng(seed)
    lines = []
    for i, name in enumerate(make_birds()["truth"]):
        for worker, accuracy in ACCURACIES.items():
            if i % 10 == 9 or rng.random() < 0.2:
                continue
            label = name if rng.random() < accuracy else str(rng.choice(NAMES)) if accuracy else "owl"
            other = str(rng.choice([n for n in NAMES if n != label]))
            lines.append((f"b{i}", worker, f"{label}|{other}" if worker == "Bob" and i % 4 == 0 else label))
    return pl.DataFrame(lines, ["id", "worker", "label"], orient="row")


@pytest.fixture
def table(run: Run) -> Path:
    """Write the table without its candidate sets, and the answers, to the working folder."""
    make_answers().write_csv("answers.csv")
    make_birds().drop("species").write_csv("table.csv")
    return Path("table.csv")


def write_answers(**columns: Any) -> None:
    """Write the answers with other columns; None removes a column."""
    removed = [name for name, values in columns.items() if values is None]
    make_answers().with_columns(**{name: columns[name] for name in columns if name not in removed}).drop(
        removed
    ).write_csv("answers.csv")


def at(row: int, column: str, value: str | None) -> dict[str, pl.Expr]:
    return {column: pl.when(pl.arange(0, pl.len()) == row).then(pl.lit(value)).otherwise(pl.col(column))}
