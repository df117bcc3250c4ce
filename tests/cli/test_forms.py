"""Forms of tables on the command line: dialects, tokens of missing values, dates, patterns of names, bad cells."""

import io
import json
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import persistence
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

FIT = ("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", *QUICK)


def _predict(run: Run, *options: Any) -> tuple[list[str], str]:
    result = run.done("predict", "birds-oneof/model.skops", "new.csv", "--out", "out.csv", *options)
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
    clean = run.done(*FIT, "--json")
    labels, _ = _predict(run)
    Path("birds.csv").write_bytes(_dirty().write_csv(separator=";").encode("latin-1"))
    dirty = run.done(*FIT, "--drop", "day", "--missing", "x", "--json")
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
    result = run.done(*FIT, *options, "--date-format", "%d.%m.%Y", "--json")
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
    message = "row 3: column 'span' must contain numbers; got 'broken'"
    check_error(run, "predict", "birds-oneof/model.skops", "new.csv", "--strict", message=f"new.csv, {message}")
    rows = pl.read_csv("birds.csv").with_columns(pl.col("span").cast(pl.String))
    rows = rows.with_columns(span=pl.when(pl.arange(0, 60) == 9).then(pl.lit("broken")).otherwise("span"))
    rows.write_csv("birds.csv")
    result = run.done(*FIT)
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
    fit = ("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", *online)
    result = run.done(*fit)
    assert "2 cells cannot be read and are missing, in column 'span' ('broken' in row 3 and 1 more)" in result.err
    assert "labels are separated by ';'" in result.err
    assert persistence.load("birds-oneof/model.skops").classes == ["finch", "owl", "wren"]
    bad.write_csv("new.csv")
    assert "2 cells cannot be read" in _predict(run)[1]
    message = "birds.csv, row 3: column 'span' must contain numbers; got 'broken'"
    check_error(run, *fit, "--strict", message=message)


def test_categories_by_pattern_are_text_at_prediction(run: Run) -> None:
    """Numbers that a pattern makes categories keep their text, so that those of a new table are not unseen ones."""
    rows = pl.DataFrame({"grade": ["1.0", "2.0"] * 40, "label": ["a", "b"] * 40})
    rows.write_csv("birds.csv")
    assert run("fit", "birds.csv", "--labels", "label", "--categorical", "gr*", *QUICK).code == 0
    rows.write_csv("new.csv")
    assert _predict(run)[0] == rows["label"].to_list()


# -- Label columns of lists written as text, on the command line -----------------------------------------------------


NAMES = ["finch", "owl", "wren"]


def make_sets() -> list[list[str]]:
    """Return the true label of each bird, with a distractor in every second row; every ninth row is empty."""
    truth = make_birds()["truth"].to_list()
    sets = [[name, NAMES[(NAMES.index(name) + 1) % 3]][: 1 + i % 2] for i, name in enumerate(truth)]
    sets[::9] = [[] for _ in sets[::9]]
    return sets


def test_lists_are_written_as_they_are_read(run: Run) -> None:
    """A note says how the cells are read, also by the model; written labels, also of a session, are lists of JSON."""
    frame = make_birds().select("mass", "truth", species=pl.Series(map(repr, make_sets())))
    frame.write_csv("lists.csv")
    fit = run.done("fit", "lists.csv", "--labels", "species", "--drop", "truth", *QUICK, "--out", "lists")
    assert "the cells of column 'species' are read as lists of labels." in fit.err
    facts = read_json(run, "predict", "lists/model.skops", "lists.csv", "--out", "out.csv")
    labels = zip(make_sets(), pl.read_csv("out.csv")["label"], strict=True)
    assert facts["covering_rate"] == np.mean([label in names for names, label in labels if names])
    again = read_json(run, "inspect", "lists/training_labels.csv", "--labels", "candidates")
    assert [found["label"] for found in again["classes"]] == NAMES
    run.done("label", "lists.csv", "--labels", "species", "--export", "out.csv", "--json")
    exported = pl.read_csv("out.csv")["species"].fill_null("[]").to_list()
    assert [set(json.loads(text or "[]")) for text in exported] == [set(names) for names in make_sets()]


# -- Formats of tables in the commands: each gives the model and the predictions of the CSV file ---------------------


FORMATS_FIT = ("--labels", "species", "--truth", "truth", *QUICK)


def _write_sheets(frame: pl.DataFrame, path: Path) -> None:
    pytest.importorskip("fastexcel", reason="fastexcel is in the extra `excel`")
    from tests.io.test_excel import write_xlsx

    sheet = [frame.columns, *frame.with_columns(pl.col("species").replace("", None)).rows()]
    write_xlsx(path, notes=[("a",), (1,)], birds=sheet)


def test_the_format_does_not_matter(run: Run, model: Path) -> None:
    """The same rows in another format give the same model and predictions, in files named after it."""
    path, sheet = Path("finches.xlsx"), ("--sheet", "birds")
    _write_sheets(make_birds(), path)
    run.done("fit", path, *sheet, *FORMATS_FIT)
    assert _training_labels("finches-oneof") == _training_labels("birds-oneof")
    assert " ".join(sheet) in Path("finches-oneof/report.html").read_text()
    for name in (path, "birds.csv"):
        assert run("predict", model, name, *(sheet if name == path else ())).code == 0
    assert Path("finches-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()
    check_error(run, "fit", path, *FORMATS_FIT, message="column 'species' does not exist: the columns are a.")


def _training_labels(folder: str) -> str:
    return Path(folder, "training_labels.csv").read_text()


def test_standard_input(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input gives the model and the predictions of the table; it needs a format."""
    check_error(run, "fit", "-", *FORMATS_FIT, message="Add --format with csv")
    with Path("birds.csv").open("rb") as file:
        # The command reads the descriptor, which the runner's own standard input lacks.
        monkeypatch.setattr(
            "oneof.io.formats.content.open_standard_input",
            lambda: io.BufferedReader(io.FileIO(file.fileno(), closefd=False)),
        )
        facts = read_json(run, "fit", "-", "--format", "csv", *FORMATS_FIT)
        assert facts["table"] == "standard input"
        assert _training_labels("stdin-oneof") == _training_labels("birds-oneof")
        report = Path("stdin-oneof/report.html").read_text()
        assert "oneof fit - " in report
        assert "--format csv" in report
        file.seek(0)
        assert run("predict", model, "-", "--format", "csv").code == 0
    assert run("predict", model, "birds.csv").code == 0
    assert Path("stdin-predictions.csv").read_text() == Path("birds-predictions.csv").read_text()


# -- Labels that a language model wrote and that cannot be read: --unreadable-labels, and confidences of checked rows


WORDS = ("--labels", "labels", "--weighted", "--kind", "posterior", "--drop", "truth")
PLEM = ("--method", "PLEM", "--folds", "2")
BROKEN = {3: '{"finch": 0.7,', 17: "finch:-1", 40: "I say: finch", 41: '{"owl": NaN}', 70: '["wren", 0.5'}


@pytest.fixture
def table(run: Run) -> None:
    """Write a table with labels of a language model, five of which cannot be read."""
    rng, names = np.random.default_rng(0), ["finch", "owl", "wren"]
    k = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 2)) + 2 * np.eye(3, 2)[k]
    labels = [json.dumps({names[i]: 0.75, names[(i + 1) % 3]: 0.25}) for i in k]
    labels = [BROKEN.get(row, label) for row, label in enumerate(labels)]
    frame = pl.DataFrame({"x": X[:, 0], "y": X[:, 1], "labels": labels, "truth": [names[i] for i in k]})
    frame.write_csv("t.csv")
    blank = [None if row in BROKEN else label for row, label in enumerate(labels)]
    frame.with_columns(labels=pl.Series(blank)).write_csv("blank.csv")


@pytest.mark.usefixtures("table")
def test_a_fit_is_that_of_empty_cells(run: Run) -> None:
    """By default a fit stops at such cells; with the option it is that of empty cells, and counts them."""
    refused = run("fit", "t.csv", *WORDS)
    assert refused.code != 0
    assert "row 3:" in refused.err
    assert "In all, 5 cells cannot be read" in refused.err
    assert "--unreadable-labels unlabeled" in refused.err
    words = (*WORDS, *QUICK)
    summary = read_json(run, "fit", "t.csv", *words, "--unreadable-labels", "unlabeled", "--out", "out")
    expected = read_json(run, "fit", "blank.csv", *words, "--out", "blank")
    assert summary["estimate"]["covering_rate"] == expected["estimate"]["covering_rate"]
    assert summary["unlabeled"] == 5
    assert summary["unreadable_labels"]["labels"]["count"] == 5
    assert [row for row, _ in summary["unreadable_labels"]["labels"]["cells"]] == sorted(BROKEN)
    assert expected["unreadable_labels"] == {}
    assert any("5 rows are unlabeled, since the labels in column 'labels' (" in note for note in summary["notes"])
    assert "--unreadable-labels unlabeled" in Path("out/report.html").read_text()
    inspected = read_json(run, "inspect", "t.csv", *WORDS)
    assert inspected["unreadable_labels"] == summary["unreadable_labels"]
    assert any("Other commands stop at such a row" in note for note in inspected["notes"])
    assert "must be error or unlabeled" in run("inspect", "t.csv", *WORDS, "--unreadable-labels", "skip").err
    assert "In all, 5 cells" in run("inspect", "t.csv", *WORDS, "--unreadable-labels", "error").err


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("method", "is_calibrated"), [("GaussianEM", True), ("PLEM", False)])
def test_a_calibrated_model_has_the_same_labels(run: Run, method: str, is_calibrated: bool) -> None:
    """--calibrate changes the confidences of the saved model if the log loss falls, not its labels; it needs rows."""
    words = ("t.csv", *WORDS[:-2], *f"--truth truth --unreadable-labels unlabeled --method {method} --folds 2".split())
    plain = read_json(run, "fit", *words, "--out", "plain")["confidences"]
    scaled = read_json(run, "fit", *words, "--calibrate", "--out", "scaled")["confidences"]
    assert plain == scaled | {"is_calibrated": False}
    assert scaled["is_calibrated"] == is_calibrated == (scaled["scaled_log_loss"] < scaled["log_loss"])
    assert scaled["log_loss"] > scaled["scaled_log_loss"] - 2 * scaled["gain_error"]
    frames = []
    for name in ("plain", "scaled"):
        run("predict", f"{name}/model.skops", "t.csv", "--coverage", "0.9", "--out", f"{name}.csv")
        frames.append(pl.read_csv(f"{name}.csv"))
    before, after = frames
    assert before["label"].to_list() == after["label"].to_list()
    names = [name for name in before.columns if name.startswith("probability:")]
    logs = np.log(before.select(names).to_numpy()) / (scaled["temperature"] if is_calibrated else 1.0)
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(after.select(names).to_numpy(), expected, rtol=1e-6)
    refused = run("fit", "t.csv", *WORDS, "--unreadable-labels", "unlabeled", *PLEM, "--calibrate")
    assert "--calibrate needs at least 50 held-out rows with a true label" in refused.err
    message = "--calibrate needs probabilities; CLPL has scores only"
    check_error(run, "fit", "t.csv", *words[1:], "--method", "CLPL", "--calibrate", "--out", "scores", message=message)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("online", [False, True])
def test_predictions_read_labels_as_training(run: Run, online: bool) -> None:
    """A table and a stream have the covering rate of empty cells, and a note on rows that cannot be read."""
    how = ("--online", "--batch-rows", "7") if online else QUICK
    read_json(run, "fit", "t.csv", *WORDS, *how, "--unreadable-labels", "unlabeled", "--out", "out")
    result = run("predict", "out/model.skops", "t.csv", "--json")
    expected = read_json(run, "predict", "out/model.skops", "blank.csv")
    assert json.loads(result.out)["covering_rate"] == expected["covering_rate"] is not None
    assert "5 rows are unlabeled, since the labels in column 'labels' (" in result.err
    assert "in row 3," in result.err
