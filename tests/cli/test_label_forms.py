"""Label columns of real exporters: `inspect` and `fit` read the same classes, or refuse them with one sentence."""

import json
from typing import Any

import numpy as np
import polars as pl

from tests.cli.conftest import QUICK, Run

NAMES = ["finch", "owl", "wren"]


def write_table(labels: list[str], **columns: list[str]) -> None:
    """Write 60 rows whose labels repeat in turn."""
    rng = np.random.default_rng(0)
    cells = {"label": labels, **columns}
    turned = {name: [given[i % len(given)] for i in range(60)] for name, given in cells.items()}
    pl.DataFrame({"x": rng.normal(size=60).round(3), **turned}).write_csv("t.csv")


def classes_of(run: Run, *options: Any) -> tuple[list[str], str]:
    """Return the classes that `inspect` and `fit` find, which are equal, and the notes of `inspect`."""
    inspected = run("inspect", "t.csv", "--labels", "label", *options, "--json")
    assert inspected.code == 0, inspected.err
    fitted = run("fit", "t.csv", "--labels", "label", *options, *QUICK, "--out", "fitted", "--json")
    assert fitted.code == 0, fitted.err
    classes = [found["label"] for found in json.loads(inspected.out)["classes"]]
    assert classes == json.loads(fitted.out)["classes"]
    return classes, inspected.err


def test_several_columns_of_labels_have_one_sentence(run: Run) -> None:
    """`inspect` and `fit` give the same reason and remedy if several columns have labels and numbers."""
    write_table(["owl", "wren"], further=["2", "[]"])
    messages = set()
    for command in (["inspect"], ["fit", *QUICK]):
        result = run(*command, "t.csv", "--labels", "label,further")
        assert result.code != 0
        messages.add(result.err)
    [message] = messages
    assert "row 0: column 'label' must contain 0 and 1, as one of several label columns; got 'owl'." in message
    assert "join them in one column" in message
