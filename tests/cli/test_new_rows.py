"""`oneof predict` with rows that differ from those of training: absent columns and new categories."""

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError
from oneof.persistence import SavedModel, load
from oneof.serving import RowPredictor
from tests.cli.conftest import ONLINE, QUICK, Run, check_error, make_birds, read_json


def test_predictions_of_the_rows_of_the_fit_are_noted(run: Run, either: Path) -> None:
    """Their rates are too high for new rows; other rows have no note, nor has the model of a folder."""
    summary = "the running loss" if either.parts[0] == "learned" else "the rates of held-out rows"
    note = "the model was fitted to the labeled rows of {}: their rates and confidences are too high for new rows."
    shutil.copy("birds.csv", "copy.csv")
    make_birds().head(50).write_csv("part.csv")
    for name, has_note in (("birds.csv", True), ("copy.csv", True), ("part.csv", False)):
        result = run.done("predict", either, name)
        assert (f"{note.format(name)} The summary of `oneof fit` has {summary}." in result.err) == has_note
    Path("folder").mkdir()
    Path("copy.csv").rename("folder/part.csv")
    assert run("fit", "folder", *ONLINE).code == 0
    assert "too high" not in run("predict", "learned/model.skops", "folder").err


def _write_objects(path: Path, frame: pl.DataFrame, **names: str) -> None:
    """Write rows as JSON lines, in which a key of a row may have another name."""
    rows = [{names.get(key, key): cell for key, cell in row.items()} for row in frame.to_dicts()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_an_absent_key_is_a_column_of_missing_values(run: Run, either: Path) -> None:
    """Objects without a key have the predictions of objects with null, and a note names the column."""
    birds = make_birds().drop("species", "truth")
    _write_objects(Path("null.jsonl"), birds.with_columns(mass=pl.lit(None)))
    _write_objects(Path("absent.jsonl"), birds.drop("mass"))
    results = [run("predict", either, name) for name in ("null.jsonl", "absent.jsonl")]
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


@pytest.mark.parametrize("method", ["PLKNN", "IPAL"])
def test_a_number_that_is_too_large_is_named(run: Run, birds: Path, method: str) -> None:
    """Fit and predict name the file, the row, the column and the number with which a method overflows."""
    fit = ("fit", birds, "--labels", "species", "--folds", "2", "--method", method, "--out", "fitted")
    assert run(*fit).code == 0
    mass = pl.when(pl.arange(0, 60) == 7).then(-1e300).otherwise(pl.col("mass"))
    make_birds().with_columns(mass=mass).write_csv("huge.csv")
    message = "huge.csv, row 7: column 'mass' contains -1e+300, which is too large for the model. Correct the number"
    check_error(run, "predict", "fitted/model.skops", "huge.csv", message=message)
    message = "huge.csv, row 7: column 'mass' contains -1e+300: sums of such squares overflow float64. Correct or"
    for command in ("fit", "compare", "audit", "inspect"):
        check_error(run, command, "huge.csv", "--labels", "species", message=message)


def test_new_categories_are_counted(run: Run, model: Path) -> None:
    """A note has the number of cells with a new category, its column and an example; missing cells are not counted."""
    color = pl.when(pl.arange(0, 60) % 20 == 7).then(pl.lit("blue")).otherwise(pl.col("color"))
    make_birds().with_columns(color=color).write_csv("new.csv")
    result = run.done("predict", model, "new.csv", "--json")
    assert json.loads(result.out)["new_categories"] == {"color": {"count": 3, "cells": [[7, "blue"]]}}
    assert "3 cells have categories without an example in training" in result.err
    assert "in column 'color' ('blue' in row 7 and 2 more)" in result.err
    result = run("predict", model, "birds.csv", "--json")
    assert json.loads(result.out)["new_categories"] == {}
    assert "in training" not in result.err


def _vectors(size: int = 10) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"a": (rng.normal(size=size) + k).tolist(), "y": "owl" if k else "wren"} for k in [0, 3] * 30]


def _write(name: str, rows: list[dict[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def _fit(run: Run, rows: list[dict[str, Any]], *options: str) -> SavedModel:
    """Return the model of some rows, which is written to the folder `out`."""
    assert run("fit", _write("train.jsonl", rows), "--labels", "y", *options, *QUICK, "--out", "out").code == 0
    return load("out/model.skops")


def test_missing_vectors_are_predicted(run: Run) -> None:
    """A vector that is null has the same prediction in a table, in Python and in a program that serves the model."""
    saved = _fit(run, _vectors())
    rows: list[dict[str, Any]] = [{"a": row["a"]} for row in _vectors()[:5]]
    rows[1]["a"], rows[3]["a"] = None, [0] * 10
    run.done("predict", "out/model.skops", _write("new.jsonl", rows), "--json")
    labels = saved.predict(rows).tolist()
    assert saved.predict([{"a": None}]).tolist() == [labels[1]]
    served = RowPredictor(saved).predict(rows)
    assert [row["label"] for row in served] == labels


def test_a_constant_number_of_a_vector_counts(run: Run) -> None:
    """The length is that of the vectors of training, although a number that is always 0 is not a feature."""
    _fit(run, [{**row, "a": [*row["a"], 0.0]} for row in _vectors()])
    assert run("predict", "out/model.skops", "train.jsonl").code == 0
    message = "must have vectors of 11 numbers, as in training; got a vector of 10"
    check_error(run, "predict", "out/model.skops", _write("new.jsonl", _vectors()), message=message)


def _numbers(size: int = 10) -> pl.DataFrame:
    """Return the rows of `_vectors` with a column for each number."""
    return pl.DataFrame([{**{f"a[{j}]": x for j, x in enumerate(row["a"])}, "y": row["y"]} for row in _vectors(size)])


def test_columns_named_as_numbers_of_a_vector_are_ordinary_columns(run: Run) -> None:
    """Further columns, and columns that `--drop` removed, do not change the predictions of a table."""
    train, drop = _numbers(), ("--drop", "a[8]", "--drop", "a[9]")
    train.write_csv("train.csv")
    train.with_columns(pl.lit(1.0).alias("a[10]")).write_csv("more.csv")
    train.drop("a[8]", "a[9]").write_csv("fewer.csv")
    for options, name in (((), "more"), (drop, "fewer"), (drop, "more")):
        assert run("fit", "train.csv", "--labels", "y", *options, *QUICK, "--out", "out").code == 0
        saved = load("out/model.skops")
        assert saved.summary["vectors"] == {}
        results = [
            run("predict", "out/model.skops", f"{table}.csv", "--out", f"{table}.out") for table in ("train", name)
        ]
        assert [result.code for result in results] == [0, 0], results[1].err
        assert Path(f"{name}.out").read_text() == Path("train.out").read_text()


@pytest.mark.parametrize("form", ["numbers", "vectors"])
@pytest.mark.parametrize("absent", ["a[0]", "a[9]"])
def test_an_absent_number_is_missing_values(run: Run, form: str, absent: str) -> None:
    """Objects may lack any number, the first or the last, of columns in training and of a vector in training."""
    rows = _numbers().to_dicts()
    _fit(run, rows if form == "numbers" else _vectors())
    new = [{name: cell for name, cell in row.items() if name != absent} for row in rows]
    result = run.done("predict", "out/model.skops", _write("new.jsonl", new))
    assert f"column '{absent}' is absent from all rows" in result.err


def test_a_column_of_vectors_must_have_lists(run: Run) -> None:
    """Vectors as text are an error that says so, for tables and for single rows; CSV has them as JSON."""
    saved = _fit(run, _vectors())
    rows = [{"a": json.dumps(row["a"])} for row in _vectors()]
    message = "row 0: column 'a' must have vectors of 10 numbers, as in training; got a value of type String. Write"
    check_error(run, "predict", "out/model.skops", _write("new.jsonl", rows), message=message)
    pl.DataFrame(rows).write_csv("new.csv")
    lists = run("predict", "out/model.skops", _write("lists.jsonl", _vectors()), "--out", "-")
    assert run("predict", "out/model.skops", "new.csv", "--out", "-").out == lists.out
    pl.DataFrame({"a": ["[0.1 0.2]"] * 3}).write_csv("new.csv")
    check_error(run, "predict", "out/model.skops", "new.csv", message=message)
    for predict in (saved.predict, RowPredictor(saved).predict):
        with pytest.raises(DataError, match=message):
            predict(rows)


def test_dates_in_another_format_than_in_training_are_named(run: Run) -> None:
    """Dates are read in the formats of the model; an error or a note has them if cells of a table have another one."""
    days = [datetime.date(2021, 1 + i % 12, 1 + (7 * i) % 28) for i in range(60)]

    def write(name: str, date_format: str) -> None:
        labels = ["owl" if day.month < 7 else "wren" for day in days]
        pl.DataFrame({"day": [day.strftime(date_format) for day in days], "y": labels}).write_csv(name)

    write("train.csv", "%d/%m/%Y")
    assert run("fit", "train.csv", "--labels", "y", *QUICK, "--out", "out").code == 0
    for name, date_format in (("same.csv", "%d/%m/%Y"), ("iso.csv", "%Y-%m-%d")):
        write(name, date_format)
        result = run("predict", "out/model.skops", name)
        assert "read as in training" not in result.err
    files = [Path(f"{name}-predictions.csv").read_text() for name in ("same", "iso")]
    assert files[0] == files[1]
    write("us.csv", "%m/%d/%Y")
    result = run("predict", "out/model.skops", "us.csv")
    assert "the dates of column 'day' are read as in training: '%d/%m/%Y' or '%Y-%m-%d'. If the table has" in result.err
    write("dots.csv", "%d.%m.%Y")
    message = "row 0: column 'day' must contain dates as in training, '%d/%m/%Y' or '%Y-%m-%d'; got '01.01.2021'"
    check_error(run, "predict", "out/model.skops", "dots.csv", message=message)


def test_a_true_label_that_training_lacks_counts_as_wrong(run: Run, either: Path) -> None:
    """The accuracy is that of all rows with a true label, and a note names the new classes."""
    birds = make_birds().drop("species")
    birds.write_csv("known.csv")
    known = read_json(run, "predict", either, "known.csv", "--truth", "truth")
    is_new = pl.arange(0, 60) % 10 == 7
    birds.with_columns(truth=pl.when(is_new).then(pl.lit("kite")).otherwise("truth")).write_csv("new.csv")
    result = run.done("predict", either, "new.csv", "--truth", "truth", "--json")
    labels = pl.read_csv("known-predictions.csv")["label"]
    assert pl.read_csv("new-predictions.csv")["label"].equals(labels)
    right = (labels == birds["truth"]).to_numpy()
    assert known["accuracy"] == right.mean()
    assert json.loads(result.out)["accuracy"] == right[[i for i in range(60) if i % 10 != 7]].sum() / 60
    assert "6 of 60 true labels are not classes of the model ('kite')" in result.err


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["owl", "wren", "Owl"],
            "row 2: the truth column 'truth' contains 'Owl', which is not a class of the model. It is",
        ),
        (["owl", "wren", "owl|wren"], "row 2: the truth column 'truth' contains 'owl|wren'"),
        (
            ["owl", "wren", "n/a"],
            "row 2: the truth column 'truth' contains 'n/a', which is not a class of the model. If",
        ),
    ],
)
def test_a_true_label_that_is_probably_an_error(run: Run, either: Path, labels: list[str], message: str) -> None:
    """Another case, a set, and a column with more other values than classes are not new classes."""
    make_birds().drop("species")[:3].with_columns(truth=pl.Series(labels)).write_csv("new.csv")
    check_error(run, "predict", either, "new.csv", "--truth", "truth", message=message)


def test_a_column_of_mostly_new_labels_is_another_column(run: Run, either: Path) -> None:
    """Most labels are new, and more different ones than classes; a new class of most rows is counted as wrong.

    The order of the rows does not matter.
    """
    frame = make_birds().drop("species")
    kites = [f"kite {i % 4}" for i in range(31)]
    for labels in (kites + ["owl", "wren"] * 14 + ["owl"], ["owl"] * 29 + kites, ["kite"] * 60):
        frame.with_columns(truth=pl.Series(labels)).write_csv("new.csv")
        check_error(run, "predict", either, "new.csv", "--truth", "truth", message="name the column of true labels")
    frame.with_columns(truth=pl.Series(["kite"] * 40 + ["owl", "wren"] * 10)).write_csv("new.csv")
    assert read_json(run, "predict", either, "new.csv", "--truth", "truth")["accuracy"] <= 1 / 3


@pytest.mark.parametrize("new", [3, -7, "kite"])
def test_a_true_label_that_training_lacks_is_in_no_prediction_set(run: Run, model: Path, new: int | str) -> None:
    rows = [{"x": k + i / 200, "y": k, "t": k} for k in (1, 2) for i in range(100)]
    pl.DataFrame(rows).write_csv("numbers.csv")
    assert run("fit", "numbers.csv", "--labels", "y", "--drop", "t", "--folds", "2", "--out", "n").code == 0
    cells = [*({**row, "t": str(row["t"])} for row in rows[:99]), {"x": 9.0, "y": 1, "t": str(new)}]
    pl.DataFrame(cells).write_csv("new.csv")
    result = run.done("predict", "n/model.skops", "new.csv", "--truth", "t", "--coverage", "0.9", "--json")
    assert f"1 of 100 true labels is not a class of the model ({new!r})" in result.err
    sets = json.loads(result.out)["prediction_sets"]
    assert {group["key"]: group for group in sets["by_class"]}[new]["coverage"] == 0
