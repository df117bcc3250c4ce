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


@pytest.mark.parametrize("online", [False, True])
def test_a_true_label_that_training_lacks_counts_as_wrong(run: Run, model: Path, online: bool) -> None:
    """The accuracy is that of all rows with a true label, and a note names the new classes."""
    if online:
        assert run("fit", "birds.csv", *ONLINE).code == 0
        model = Path("learned/model.skops")
    birds = make_birds().drop("species")
    birds.write_csv("known.csv")
    known = json.loads(run("predict", model, "known.csv", "--truth", "truth", "--json").out)
    is_new = pl.arange(0, 60) % 10 == 7
    birds.with_columns(truth=pl.when(is_new).then(pl.lit("kite")).otherwise("truth")).write_csv("new.csv")
    result = run("predict", model, "new.csv", "--truth", "truth", "--json")
    assert result.code == 0, result.err
    labels = pl.read_csv("known-predictions.csv")["label"]
    assert pl.read_csv("new-predictions.csv")["label"].equals(labels)
    right = (labels == birds["truth"]).to_numpy()
    assert known["accuracy"] == right.mean()
    assert json.loads(result.out)["accuracy"] == right[[i for i in range(60) if i % 10 != 7]].sum() / 60
    assert "6 of 60 true labels are not classes of the model ('kite')" in result.err


@pytest.mark.parametrize("online", [False, True])
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
def test_a_true_label_that_is_probably_an_error(
    run: Run, model: Path, online: bool, labels: list[str], message: str
) -> None:
    """Another case, a set, and a column with more other values than classes are not new classes."""
    if online:
        assert run("fit", "birds.csv", *ONLINE).code == 0
        model = Path("learned/model.skops")
    make_birds().drop("species")[:3].with_columns(truth=pl.Series(labels)).write_csv("new.csv")
    check_error(run, "predict", model, "new.csv", "--truth", "truth", message=message)


@pytest.mark.parametrize("online", [False, True])
def test_a_column_of_mostly_new_labels_is_another_column(run: Run, model: Path, online: bool) -> None:
    """The order of the rows does not matter."""
    if online:
        assert run("fit", "birds.csv", *ONLINE).code == 0
        model = Path("learned/model.skops")
    frame = make_birds().drop("species")
    for labels in (["kite"] * 31 + ["owl"] * 29, ["owl"] * 29 + ["kite"] * 31):
        frame.with_columns(truth=pl.Series(labels)).write_csv("new.csv")
        check_error(run, "predict", model, "new.csv", "--truth", "truth", message="name the column of true labels")
    frame.with_columns(truth=pl.Series(["kite"] * 30 + ["owl"] * 30)).write_csv("new.csv")
    assert run("predict", model, "new.csv", "--truth", "truth").code == 0


@pytest.mark.parametrize("new", [3, -7, "kite"])
def test_a_true_label_that_training_lacks_is_in_no_prediction_set(run: Run, model: Path, new: int | str) -> None:
    rows = [{"x": k + i / 200, "y": k, "t": k} for k in (1, 2) for i in range(100)]
    pl.DataFrame(rows).write_csv("numbers.csv")
    assert run("fit", "numbers.csv", "--labels", "y", "--drop", "t", "--folds", "2", "--out", "n").code == 0
    cells = [*({**row, "t": str(row["t"])} for row in rows[:99]), {"x": 9.0, "y": 1, "t": str(new)}]
    pl.DataFrame(cells).write_csv("new.csv")
    result = run("predict", "n/model.skops", "new.csv", "--truth", "t", "--coverage", "0.9", "--json")
    assert result.code == 0, result.err
    assert f"1 of 100 true labels is not a class of the model ({new!r})" in result.err
    sets = json.loads(result.out)["prediction_sets"]
    assert {group["key"]: group for group in sets["by_class"]}[new]["coverage"] == 0
