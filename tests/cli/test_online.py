"""`oneof fit --online`, and `oneof predict` with its model; every command of docs/streaming.md is run."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

from oneof import persistence
from oneof.cli import online
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

DOCS = Path(__file__).parents[2] / "docs" / "streaming.md"
ONLINE = ("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", "--online", "--hash-bits", "8")


def test_fit_writes_model_summary_and_curve(run: Run, birds: Path) -> None:
    """No other file is written, not even a checkpoint; the summary equals the output of --json."""
    facts = read_json(run, *ONLINE, "--batch-rows", "20", "--checkpoint-rows", "20")
    assert sorted(file.name for file in Path("birds-oneof").iterdir()) == ["curve.csv", "model.skops", "summary.json"]
    summary = json.loads(Path("birds-oneof/summary.json").read_text())
    assert summary == {key: value for key, value in facts.items() if key != "files"}
    assert (facts["rows"], facts["exact"], facts["partial"], facts["unlabeled"]) == (60, 20, 30, 10)
    assert facts["classes"] == ["finch", "owl", "wren"]
    assert [f["kind"] for f in facts["features"]] == ["number", "number", "yes/no", "category", "text"]
    progressive = facts["progressive_validation"]
    assert [window["rows"] for window in progressive["windows"]] == [20, 20, 20]
    curve = pl.read_csv("birds-oneof/curve.csv")
    assert curve["rows"].to_list() == [20, 40, 60]
    assert curve["loss"][-1] == progressive["loss"]
    assert curve["model_loss"][-1] == progressive["model_loss"] < progressive["loss"]
    result = run(*ONLINE, "--batch-rows", "20")
    for part in ("60 rows (20 exact, 30 partial, 10 unlabeled), 3 classes", "of the model", "0 to 19", "all"):
        assert part in result.out
    assert "birds-oneof/model.skops" in result.out
    assert result.err.splitlines()[0] == "birds.csv: 60 rows, 8 columns"


@pytest.mark.parametrize("method", online.METHODS)
def test_every_online_method(run: Run, birds: Path, method: str) -> None:
    assert run(*ONLINE, "--method", method.lower()).code == 0
    assert persistence.load("birds-oneof/model.skops").method == method


def test_a_class_named_nan_has_true_labels(run: Run) -> None:
    """A stream counts the true label "nan" if it is a class, as a table does."""
    frame = make_birds().with_columns(pl.col("species").str.replace_all("owl", "nan"), truth=pl.lit("nan"))
    frame.write_csv("birds.csv")
    run.done(*ONLINE, "--out", "out")
    words = ("out/model.skops", "birds.csv", "--truth", "truth", "--out", "p.csv", "--json")
    accuracy = json.loads(run("predict", *words).out)["accuracy"]
    predicted = pl.read_csv("p.csv")["label"].to_list()
    assert accuracy == pytest.approx(predicted.count("nan") / len(predicted))


def test_svmlight_from_fit_to_predict(run: Run) -> None:
    """`fit` reads lines with labels, and `predict` lines without; each rejects files of the other kind."""
    lines = [f"{'owl' if i % 2 else 'wren|finch' if i % 4 else 'wren'} {i % 2}:1 2:{i % 7}" for i in range(80)]
    Path("t.svm").write_text("\n".join([*lines, "finch 0:1 3:1"]))
    assert run("fit", "t.svm", "--online", "--hash-bits", "3", "--epochs", "3").code == 0
    Path("new.svm").write_text("0:1 2:3\n1:1 2:3\n")
    assert run("predict", "t-oneof/model.skops", "new.svm").code == 0
    assert pl.read_csv("new-predictions.csv")["label"].to_list() == ["wren", "owl"]
    make_birds().write_csv("birds.csv")
    message = "needs an svmlight file, as in training; birds.csv has the format csv"
    check_error(run, "predict", "t-oneof/model.skops", "birds.csv", message=message)


def test_an_existing_checkpoint(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing checkpoint is continued with --resume, discarded with --restart, and otherwise unchanged."""
    args = (*ONLINE, "--batch-rows", "20", "--checkpoint-rows", "20")
    with monkeypatch.context() as patch:
        patch.setattr(online, "save", Mock(side_effect=OSError(28, "No space left on device", "model.skops")))
        assert run(*args).code == 2
    checkpoint = Path("birds-oneof/checkpoint.npz")
    before = checkpoint.read_bytes()
    assert "Continue with --resume, or start again with --restart" in run(*args).err
    assert read_json(run, *args, "--resume")["resumed_at"] == 60
    checkpoint.write_bytes(before)
    assert read_json(run, *args, "--restart")["resumed_at"] is None
    assert not checkpoint.exists()
    again = read_json(run, *args, "--resume")  # a script may always have the option
    assert again["resumed_at"] is None
    assert any("there is no unfinished run to resume" in sentence for sentence in again["notes"])


def _commands(page: str) -> list[str]:
    """Return the lines of the blocks of a page that name no language."""
    fences = page.split("```")[1::2]
    return [line for block in fences if block.startswith("\n") for line in block.strip().splitlines()]


@pytest.mark.long
def test_every_command_of_the_page_runs(run: Run) -> None:
    """The commands run in the order of the page, on similar tables; those with a pipe run in a shell."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=900).round(3), "topic": rng.choice(["news", "sport|arts", "arts"], 900)})
    frame.write_csv("clicks.csv")
    frame.write_csv("new.csv")
    Path("logs").mkdir()
    for number in range(2):
        frame.write_parquet(f"logs/{number}.parquet")
    Path("words.svmlight").write_text("".join(f"{'ab'[i % 2]} {i % 2}:1 9:{i}\n" for i in range(99)))
    commands = _commands(DOCS.read_text())
    assert len(commands) == 6
    for command in commands:
        if "|" in command:
            piped = command.replace("oneof", f"{shlex.quote(sys.executable)} -m oneof.cli", 1)
            result = subprocess.run(["/bin/sh", "-c", piped], capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr
        else:
            program, *args = shlex.split(command)
            assert program == "oneof"
            assert run(*args).code == 0, command
    for folder in ("clicks-oneof", "model", "piped", "words-oneof"):
        assert Path(folder, "model.skops").exists()
    assert Path("new-predictions.csv").exists()


def test_a_number_of_missing_labels_is_an_unlabeled_row(run: Run) -> None:
    """A column of whole numbers in Parquet has the same missing labels in a stream as in a table.

    Integer labels stay integers in the model of a table and in its predictions.
    """
    code = {"finch": 0, "owl": 1, "wren": 2}
    labels = [99 if i % 6 == 5 else code[name] for i, name in enumerate(make_birds()["truth"])]
    make_birds().with_columns(species=pl.Series(labels, dtype=pl.Int8)).write_parquet("numbers.parquet")
    words = ("fit", "numbers.parquet", "--labels", "species", "--drop", "truth,id", "--missing", "99,1000")
    for more in (("--online", "--hash-bits", "8"), QUICK):
        facts = read_json(run, *words, *more, "--out", "out")
        assert list(map(str, facts["classes"])) == ["0", "1", "2"]
        assert facts["unlabeled"] == 10
    assert facts["classes"] == [0, 1, 2]
    predicted = read_json(run, "predict", "out/model.skops", "numbers.parquet", "--out", "-")["predictions"]
    assert {row["label"] for row in predicted} == {0, 1, 2}
