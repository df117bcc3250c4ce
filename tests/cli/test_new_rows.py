"""`oneof predict` with rows that differ from those of training: absent columns and new categories."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run, check_error, make_birds

ONLINE = ("--labels", "species", "--drop", "truth,id", "--online", "--hash-bits", "8", "--out", "learned")


def _write_objects(path: Path, frame: pl.DataFrame, **names: str) -> None:
    """Write rows as JSON lines, in which a key of a row may have another name."""
    rows = [{names.get(key, key): cell for key, cell in row.items()} for row in frame.to_dicts()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("online", [False, True])
def test_an_absent_key_is_a_column_of_missing_values(run: Run, model: Path, online: bool) -> None:
    """Objects without a key have the predictions of objects with null, and a note names the column."""
    if online:
        assert run("fit", "birds.csv", *ONLINE).code == 0
        model = Path("learned/model.skops")
    birds = make_birds().drop("species", "truth")
    _write_objects(Path("null.jsonl"), birds.with_columns(mass=pl.lit(None)))
    _write_objects(Path("absent.jsonl"), birds.drop("mass"))
    results = [run("predict", model, name) for name in ("null.jsonl", "absent.jsonl")]
    assert [result.code for result in results] == [0, 0], results[1].err
    assert Path("absent-predictions.csv").read_text() == Path("null-predictions.csv").read_text()
    assert ["column 'mass' is absent from all rows" in result.err for result in results] == [False, True]


def test_absent_keys_that_are_errors(run: Run, model: Path) -> None:
    """An absent column is an error with --strict, if it has another spelling, if all are absent, and in a CSV file."""
    birds = make_birds()
    birds.drop("mass").write_csv("absent.csv")
    _write_objects(Path("absent.jsonl"), birds.drop("mass"))
    _write_objects(Path("spelling.jsonl"), birds, mass=" Mass")
    _write_objects(Path("other.jsonl"), birds.select(x="mass"))
    for name, option in (("absent.csv", ()), ("absent.jsonl", ("--strict",)), ("spelling.jsonl", ())):
        check_error(run, "predict", model, name, *option, message="missing column 'mass'")
    check_error(run, "predict", model, "other.jsonl", message="missing columns 'span', 'mass'")


def test_new_categories_are_counted(run: Run, model: Path) -> None:
    """A note has the number of cells with a new category, its column and an example; missing cells are not counted."""
    color = pl.when(pl.arange(0, 60) % 20 == 7).then(pl.lit("blue")).otherwise(pl.col("color"))
    make_birds().with_columns(color=color).write_csv("new.csv")
    result = run("predict", model, "new.csv", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["new_categories"] == {"color": {"count": 3, "cells": [[7, "blue"]]}}
    assert "3 cells have categories without an example in training" in result.err
    assert "in column 'color' ('blue' in row 7 and 2 more)" in result.err
    result = run("predict", model, "birds.csv", "--json")
    assert json.loads(result.out)["new_categories"] == {}
    assert "in training" not in result.err


def test_a_row_of_units_is_left_out_of_training_and_new_tables(run: Run) -> None:
    """A table with units below its header has the labels and predictions of the table without them, with a note."""
    header, rows = make_birds().drop("id", "truth", "remark").write_csv().split("\n", 1)
    Path("plain.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
    Path("units.csv").write_text(f"{header}\nm,kg,,,unit\n{rows}", encoding="utf-8")
    for name in ("plain", "units"):
        result = run("fit", f"{name}.csv", "--labels", "species", *QUICK, "--out", name)
        assert result.code == 0, result.err
        assert ("the row below the header has units" in result.err) == (name == "units")
    assert Path("plain/training_labels.csv").read_text() == Path("units/training_labels.csv").read_text()
    for name in ("plain", "units"):
        assert run("predict", "plain/model.skops", f"{name}.csv", "--out", f"{name}-new.csv").code == 0
    assert Path("plain-new.csv").read_text() == Path("units-new.csv").read_text()
