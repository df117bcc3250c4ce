"""Labels that a language model wrote and that cannot be read: --unreadable-labels, and confidences of checked rows."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run, read_json

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
def test_a_stream_counts_the_rows_of_the_table(run: Run) -> None:
    """An online fit has the same unlabeled rows for all sizes of batches, and is that of empty cells."""
    words = (*WORDS, "--online", "--drop", "truth")
    refused = run("fit", "t.csv", *words)
    assert "--unreadable-labels unlabeled" in refused.err
    models = []
    for size in ("7", "1000"):
        more = ("--unreadable-labels", "unlabeled", "--batch-rows", size)
        summary = read_json(run, "fit", "t.csv", *words, *more, "--out", f"out{size}")
        expected = read_json(run, "fit", "blank.csv", *words, "--batch-rows", size, "--out", f"blank{size}")
        assert [row for row, _ in summary["unreadable_labels"]["labels"]["cells"]] == sorted(BROKEN)
        assert summary["unlabeled"] == expected["unlabeled"] == 5
        run("predict", f"out{size}/model.skops", "t.csv", "--out", "one.csv")
        run("predict", f"blank{size}/model.skops", "t.csv", "--out", "two.csv")
        assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
        models.append(summary["classes"])
    assert models[0] == models[1]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("method", "is_calibrated"), [("GaussianEM", True), ("PLEM", False)])
def test_a_calibrated_model_has_the_same_labels(run: Run, method: str, is_calibrated: bool) -> None:
    """--calibrate changes the confidences of the saved model if the log loss falls, not its labels; it needs rows."""
    words = (
        "t.csv",
        *WORDS[:-2],
        "--truth",
        "truth",
        "--unreadable-labels",
        "unlabeled",
        "--method",
        method,
        *PLEM[2:],
    )
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
