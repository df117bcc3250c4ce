"""Forms of tables on the command line: dialects, tokens of missing values, dates, patterns of names, bad cells."""

import json
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import persistence
from tests.cli.conftest import QUICK, Run, check_error, make_birds

FIT = ("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", *QUICK)


def _predict(run: Run, *options: Any) -> tuple[list[str], str]:
    result = run("predict", "birds-oneof/model.skops", "new.csv", "--out", "out.csv", *options)
    assert result.code == 0, result.err
    return pl.read_csv("out.csv")["label"].to_list(), result.err


def _dirty() -> pl.DataFrame:
    """Return the birds with a decimal comma, tokens, dates, and other separators."""
    birds = make_birds()
    text = birds.with_columns(pl.col("span", "mass").cast(pl.String).str.replace(".", ",", literal=True))
    span = [cell if cell is not None else ("-", "x")[i % 2] for i, cell in enumerate(text["span"])]
    day = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2021" for i in range(len(birds))]
    return text.with_columns(
        pl.Series("span", span), pl.Series(" day ", day), pl.col("species").str.replace_all("|", " / ", literal=True)
    )


def test_a_dirty_file_has_the_model_of_the_clean_one(run: Run, birds: Path) -> None:
    """The features, the notes and the predictions need no option but the token that is a word."""
    make_birds(1).write_csv("new.csv")
    clean = run(*FIT, "--json")
    assert clean.code == 0, clean.err
    labels, _ = _predict(run)
    Path("birds.csv").write_bytes(_dirty().write_csv(separator=";").encode("latin-1"))
    dirty = run(*FIT, "--drop", "day", "--missing", "x", "--json")
    assert dirty.code == 0, dirty.err
    assert json.loads(dirty.out)["features"] == json.loads(clean.out)["features"]
    assert "read with the delimiter semicolon and the decimal comma" in dirty.err
    assert "labels are separated by ' / '" in dirty.err
    assert "are missing: '-'" in dirty.err
    assert json.loads(dirty.out)["separator"] == " / "
    found = {(finding["kind"], finding["column"]): finding for finding in json.loads(dirty.out)["findings"]}
    assert set(found["missing", "span"]["examples"]) == {"-", "x"}
    assert _predict(run)[0] == labels
    Path("new.csv").write_bytes(Path("birds.csv").read_bytes())
    dirty_labels, note = _predict(run)
    assert "the delimiter semicolon" in note
    assert "cannot be read" not in note  # the saved model has the token
    make_birds().write_csv("new.csv")
    assert _predict(run)[0] == dirty_labels


def test_the_report_has_the_command_that_was_typed(run: Run) -> None:
    options = ["--delimiter", "semicolon", "--decimal", ",", "--encoding", "latin-1", "--missing", "-,x", "--strict"]
    Path("birds.csv").write_bytes(_dirty().write_csv(separator=";").encode("latin-1"))
    result = run(*FIT, *options, "--date-format", "%d.%m.%Y", "--json")
    assert result.code == 0, result.err
    report = Path("birds-oneof/report.html").read_text()
    assert shlex.join(["oneof", *FIT, *options, "--date-format", "%d.%m.%Y", "--json"]) in unescape(report)
    features = {feature["column"]: feature["kind"] for feature in json.loads(result.out)["features"]}
    assert features["day"] == "date"
    saved = persistence.load("birds-oneof/model.skops")
    assert saved.summary["cells"] == {
        "missing": ["-", "x"],
        "decimal": ",",
        "folds_labels": False,
        "label_errors": "raise",
        "formats": {"span": [","], "day": ["%d.%m.%Y"]},
    }


def test_bad_cells_are_missing_at_prediction(run: Run, birds: Path) -> None:
    """A cell that is not a number is missing: counted, named by its row, or refused by --strict."""
    assert run(*FIT).code == 0
    new = make_birds(1).with_columns(pl.col("span").cast(pl.String))
    empty = new.with_columns(span=pl.when(pl.arange(0, 60).is_in([3, 7])).then(None).otherwise("span"))
    bad = new.with_columns(span=pl.when(pl.arange(0, 60).is_in([3, 7])).then(pl.lit("broken")).otherwise("span"))
    empty.write_csv("new.csv")
    labels, note = _predict(run)
    assert "cannot be read" not in note
    bad.write_csv("new.csv")
    other, note = _predict(run)
    assert other == labels
    assert "2 cells cannot be read and are missing, in column 'span' ('broken' in row 3 and 1 more)" in note
    result = run("predict", "birds-oneof/model.skops", "new.csv", "--json")
    assert json.loads(result.out)["unreadable_cells"] == {"span": {"count": 2, "cells": [[3, "broken"], [7, "broken"]]}}
    check_error(
        run,
        "predict",
        "birds-oneof/model.skops",
        "new.csv",
        "--strict",
        message="new.csv, row 3: column 'span' must contain numbers; got 'broken'",
    )
    rows = pl.read_csv("birds.csv").with_columns(pl.col("span").cast(pl.String))
    rows = rows.with_columns(span=pl.when(pl.arange(0, 60) == 9).then(pl.lit("broken")).otherwise("span"))
    rows.write_csv("birds.csv")
    result = run(*FIT)
    assert result.code == 0
    assert "1 cell cannot be read and is missing, in column 'span', read as numbers ('broken' in row 9)" in result.err
    check_error(run, *FIT, "--strict", message="row 9: column 'span' must contain numbers; got 'broken'")


@pytest.mark.parametrize("batch_rows", [25, 1000])
def test_bad_cells_of_streams(run: Run, birds: Path, batch_rows: int) -> None:
    """Online fits and predictions count and name bad cells of all batches, and detect dialect and separator."""
    dirty = make_birds().with_columns(
        pl.col("span").cast(pl.String), pl.col("species").str.replace_all("|", ";", literal=True)
    )
    bad = dirty.with_columns(span=pl.when(pl.arange(0, 60).is_in([3, 41])).then(pl.lit("broken")).otherwise("span"))
    bad.write_csv("birds.csv", separator="\t")
    online = ("--online", "--hash-bits", "8", "--batch-rows", batch_rows)
    result = run("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", *online)
    assert result.code == 0, result.err
    assert "2 cells cannot be read and are missing, in column 'span' ('broken' in row 3 and 1 more)" in result.err
    assert "labels are separated by ';'" in result.err
    assert persistence.load("birds-oneof/model.skops").classes == ["finch", "owl", "wren"]
    bad.write_csv("new.csv")
    assert "2 cells cannot be read" in _predict(run)[1]
    check_error(
        run,
        "fit",
        "birds.csv",
        "--labels",
        "species",
        "--drop",
        "truth,id",
        *online,
        "--strict",
        message="birds.csv, row 3: column 'span' must contain numbers; got 'broken'",
    )


def test_patterns_and_kinds(run: Run, birds: Path) -> None:
    result = run(*FIT[:4], "--drop", "t*,i?", "--categorical", "m*", "--numeric", "mass", *QUICK, "--json")
    assert result.code == 0, result.err
    features = {feature["column"]: feature["kind"] for feature in json.loads(result.out)["features"]}
    assert features == {
        "span": "number", "mass": "number", "migrates": "category", "color": "category", "remark": "text",
    }  # fmt: skip
    check_error(run, *FIT[:4], "--drop", "z*", *QUICK, message="column 'z*' does not exist")


def test_categories_by_pattern_are_text_at_prediction(run: Run) -> None:
    """Numbers that a pattern makes categories keep their text, so that those of a new table are not unseen ones."""
    rows = pl.DataFrame({"grade": ["1.0", "2.0"] * 40, "label": ["a", "b"] * 40})
    rows.write_csv("birds.csv")
    assert run("fit", "birds.csv", "--labels", "label", "--categorical", "gr*", *QUICK).code == 0
    rows.write_csv("new.csv")
    assert _predict(run)[0] == rows["label"].to_list()


@pytest.mark.parametrize("name", ["species ", " species"])
def test_labels_with_spaces_around_their_name_are_no_features(run: Run, name: str) -> None:
    make_birds().rename({"species": name}).write_parquet("birds.parquet")
    result = run("fit", "birds.parquet", *FIT[2:], "--json")
    assert result.code == 0, result.err
    assert name not in [feature["column"] for feature in json.loads(result.out)["features"]]


def test_dates_are_features_of_saved_models(run: Run) -> None:
    """A date that determines the class is learned, and read in the format of training and in ISO 8601."""
    rng = np.random.default_rng(0)
    months = rng.integers(1, 13, 200)
    rows = [f"{1 + i % 28:02d}/{month:02d}/2021" for i, month in enumerate(months)]
    label = ["cold" if month in (1, 2, 11, 12) else "warm" for month in months]
    pl.DataFrame({"day": rows, "label": label}).write_csv("t.csv")
    result = run("fit", "t.csv", "--labels", "label", "--folds", "2", "--json")
    assert result.code == 0, result.err
    assert "column 'day' is read as dates '%d/%m/%Y' (" in result.err
    pl.DataFrame({"day": ["05/01/2021", "05/07/2021", "2021-01-05", "2021-07-05", "soon"]}).write_csv("new.csv")
    result = run("predict", "t-oneof/model.skops", "new.csv", "--out", "out.csv")
    assert result.code == 0, result.err
    assert "1 cell cannot be read and is missing, in column 'day' ('soon' in row 4)" in result.err
    assert pl.read_csv("out.csv")["label"].to_list()[:4] == ["cold", "warm", "cold", "warm"]
