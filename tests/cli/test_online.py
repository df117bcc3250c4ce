"""`oneof fit --online`, and `oneof predict` with its model; every command of docs/streaming.md is run."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import persistence
from oneof.cli.training import online
from tests.cli.conftest import Run, make_birds

DOCS = Path(__file__).parents[2] / "docs" / "streaming.md"
ONLINE = ("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", "--online", "--hash-bits", "8")


@pytest.fixture(scope="session")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fit a model to the birds online, once for all tests."""
    from typer.testing import CliRunner

    from oneof.cli.app import app

    folder = tmp_path_factory.mktemp("learned")
    make_birds().write_csv(folder / "birds.csv")
    args = ["fit", str(folder / "birds.csv"), *ONLINE[2:], "--epochs", "9", "--out", str(folder / "out")]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.stderr
    return folder / "out" / "model.skops"


def test_fit_writes_model_summary_and_curve(run: Run, birds: Path) -> None:
    """No other file is written, not even a checkpoint; the summary equals the output of --json."""
    result = run(*ONLINE, "--json", "--batch-rows", "20", "--checkpoint-rows", "20")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
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


def test_predictions_of_the_rows_of_the_fit_are_noted(run: Run, birds: Path) -> None:
    """A model of a file has the note for its content; a model of a folder or of standard input has none."""
    assert run(*ONLINE, "--out", "out").code == 0
    Path("copy.csv").write_bytes(birds.read_bytes())
    make_birds(1).write_csv("new.csv")
    note = (
        "the model was fitted to the labeled rows of copy.csv: their rates and confidences are too high for new rows."
    )
    for name, has_note in (("copy.csv", True), ("new.csv", False)):
        result = run("predict", "out/model.skops", name)
        assert result.code == 0, result.err
        assert (f"{note} The summary of `oneof fit` has the running loss." in result.err) == has_note
    Path("folder").mkdir()
    Path("copy.csv").rename("folder/part.csv")
    assert run("fit", "folder", *ONLINE[2:], "--out", "of_folder").code == 0
    assert "too high" not in run("predict", "of_folder/model.skops", "folder").err


def test_fit_prints_the_loss_and_the_files(run: Run, birds: Path) -> None:
    result = run(*ONLINE, "--batch-rows", "20")
    assert result.code == 0, result.err
    for part in ("60 rows (20 exact, 30 partial, 10 unlabeled), 3 classes", "of the model", "0 to 19", "all"):
        assert part in result.out
    assert "birds-oneof/model.skops" in result.out
    assert result.err.splitlines()[0] == "birds.csv: the first 20 rows, 8 columns"
    assert "  time  " not in result.err


@pytest.mark.parametrize("in_runs", [True, False])
def test_labels_in_runs_cause_a_note(run: Run, birds: Path, in_runs: bool) -> None:
    """The note is on the screen and in the summary if and only if the file is sorted by class."""
    frame = pl.concat([make_birds(seed) for seed in range(5)])
    (frame.sort("truth") if in_runs else frame).write_csv("birds.csv")
    result = run(*ONLINE, "--batch-rows", "70")
    assert result.code == 0, result.err
    note_start = "labels come in runs, "
    notes = json.loads(Path("birds-oneof/summary.json").read_text())["notes"]
    assert any(note.startswith(note_start) for note in notes) == in_runs
    assert (f"Note: {note_start}" in result.err) == in_runs


@pytest.mark.parametrize("method", online.METHODS)
def test_every_online_method(run: Run, birds: Path, method: str) -> None:
    assert run(*ONLINE, "--method", method.lower()).code == 0
    assert persistence.load("birds-oneof/model.skops").method == method


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "csv.gz"])
def test_predict_reads_the_formats_of_fit(run: Run, learned: Path, form: str) -> None:
    """Every format gives the same predictions, those of the saved pipeline, with covering rate and accuracy."""
    birds = make_birds(1)
    path = Path(f"new.{form}")
    match form:
        case "csv":
            birds.write_csv(path)
        case "parquet":
            birds.write_parquet(path)
        case "jsonl":
            birds.write_ndjson(path)
        case "csv.gz":
            path.write_bytes(gzip.compress(birds.write_csv().encode()))
    facts = json.loads(run("predict", learned, path, "--truth", "truth", "--json").out)
    predictions = pl.read_csv("new-predictions.csv")
    assert predictions.columns == ["row", "label", "confidence", "score:finch", "score:owl", "score:wren"]
    assert predictions["row"].to_list() == list(range(60))
    assert facts["rows"] == 60
    assert facts["accuracy"] == (predictions["label"] == birds["truth"]).mean() > 0.9
    labeled = birds["species"] != ""
    covered = [
        a in b.split("|") for a, b in zip(predictions["label"].filter(labeled), birds["species"].filter(labeled))
    ]
    assert facts["covering_rate"] == pytest.approx(np.mean(covered))
    scores = predictions.select(predictions.columns[3:]).to_numpy()
    assert np.array_equal(np.array(["finch", "owl", "wren"])[scores.argmax(axis=1)], predictions["label"].to_numpy())


def test_predict_to_the_screen_and_without_labels(run: Run, learned: Path) -> None:
    make_birds(1).drop("species", "truth").write_csv("new.csv")
    result = run("predict", learned, "new.csv", "--out", "-")
    assert result.out.splitlines()[0] == "row,label,confidence,score:finch,score:owl,score:wren"
    assert len(result.out.splitlines()) == 61
    facts = json.loads(run("predict", learned, "new.csv", "--out", "-", "--json").out)
    assert (facts["covering_rate"], facts["accuracy"], len(facts["predictions"])) == (None, None, 60)
    assert not Path("new-predictions.csv").exists()


def test_a_class_named_nan_has_true_labels(run: Run) -> None:
    """A stream counts the true label "nan" if it is a class, as a table does."""
    frame = make_birds().with_columns(pl.col("species").str.replace_all("owl", "nan"), truth=pl.lit("nan"))
    frame.write_csv("birds.csv")
    result = run(*ONLINE, "--out", "out")
    assert result.code == 0, result.err
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
    result = run("predict", "t-oneof/model.skops", "birds.csv")
    assert result.code == 2
    assert "needs an svmlight file, as in training; birds.csv has the format csv" in result.err


ERRORS: list[tuple[tuple[Any, ...], str]] = [
    ((*ONLINE, "--method", "CLPL"), "--method must be auto, AvgPerceptron"),
    ((*ONLINE, "--truth", "truth"), "--truth cannot be used with --online"),
    ((*ONLINE, "--folds", "3"), "--folds cannot be combined with --online"),
    ((*ONLINE, "--seed", "3"), "--seed cannot be combined with --online"),
    ((*ONLINE, "--format", "xml"), "the format must be one of csv"),
    ((*ONLINE, "--classes", "owl,wren"), "birds.csv, row 3: label 'finch' is not one of the classes 'owl', 'wren'"),
    ((*ONLINE, "--out", "birds.csv"), "cannot create the folder birds.csv"),
    (("fit", "none.csv", "--labels", "x", "--online"), "the file none.csv does not exist"),
    (("fit", "birds.csv", "--online"), "--labels must name the label column"),
    (("fit", "birds.csv", "--labels", "specis", "--online"), "column 'specis' does not exist: did you mean 'species'?"),
    (("fit", "birds.csv", "--labels", "species,color", "--online"), "row 0: column 'species' must contain 0 and 1"),
    (("inspect", "birds.csv", "--labels", "species,color", "--online"), "reads one column of labels, or a column of 0"),
    (("fit", "-", "--labels", "x", "--online"), "standard input needs a text format"),
    (("fit", "birds.csv", "--labels", "species", "--epochs", "2"), "--epochs needs --online: add it"),
    (("fit", "birds.csv", "--labels", "species", "--resume"), "--resume needs --online: add it"),
]


@pytest.mark.parametrize(("args", "message"), ERRORS)
def test_errors(run: Run, birds: Path, args: tuple[Any, ...], message: str) -> None:
    """Invalid input causes exit code 2 and an error of one sentence, and no file is written."""
    result = run(*args)
    assert (result.code, result.out) == (2, "")
    errors = [line for line in result.err.splitlines() if not line.startswith("Note: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert list(Path.cwd().iterdir()) == [birds.absolute()]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_to(run: Run, birds: Path) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "gives no permission" in run(*ONLINE, "--out", "locked").err


def test_an_existing_checkpoint(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing checkpoint is continued with --resume, discarded with --restart, and otherwise unchanged."""
    args = (*ONLINE, "--batch-rows", "20", "--checkpoint-rows", "20")
    with monkeypatch.context() as patch:
        patch.setattr(online, "_write_model", _fail)
        assert run(*args).code == 2
    checkpoint = Path("birds-oneof/checkpoint.npz")
    before = checkpoint.read_bytes()
    result = run(*args)
    assert result.code == 2
    assert "Continue with --resume, or start again with --restart" in result.err
    checkpoint.write_bytes(before[: len(before) // 2])
    assert "is damaged, or is not a checkpoint" in run(*args, "--resume").err
    checkpoint.write_bytes(before)
    assert "option hash_bits 8; got 9" in run(*args, "--hash-bits", "9", "--resume").err
    assert json.loads(run(*args, "--resume", "--json").out)["resumed_at"] == 60
    checkpoint.write_bytes(before)
    assert json.loads(run(*args, "--restart", "--json").out)["resumed_at"] is None
    assert not checkpoint.exists()


def test_a_finished_run_is_not_resumed(run: Run, birds: Path) -> None:
    """--resume leaves the files of a finished run of the same stream and options as they are; --restart replaces them.

    Another stream, option or method is an error.
    """
    assert run(*ONLINE, "--resume").code == 0  # nothing to resume: a script may always have the option
    before = {path.name: path.read_bytes() for path in Path("birds-oneof").iterdir()}
    again = run(*ONLINE, "--resume", "--json")
    assert again.code == 0, again.err
    assert "the run in birds-oneof is finished: it learned 60 rows of birds.csv" in again.err
    assert "--restart fits the stream again" in again.err
    assert json.loads(again.out)["epochs"] == 1
    assert {path.name: path.read_bytes() for path in Path("birds-oneof").iterdir()} == before
    for words, sentence in (
        (("--epochs", "2"), "was written with the option n_epochs 1; got 2"),
        (("--method", "AvgPegasos"), "written with the method 'MaxPerceptron'; got 'AvgPegasos'"),
        (("--truth", "species"), "--truth cannot be used with --online"),
    ):
        refused = run(*ONLINE, *words, "--resume")
        assert (refused.code, sentence in refused.err) == (2, True), refused.err
    birds.write_text(birds.read_text().replace("river", "lake"))
    assert "birds.csv has changed since" in run(*ONLINE, "--resume").err
    assert {path.name: path.read_bytes() for path in Path("birds-oneof").iterdir()} == before
    assert json.loads(run(*ONLINE, "--epochs", "2", "--restart", "--json").out)["epochs"] == 2


def _fail(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device", "model.skops")


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_tokens_of_missing_labels_are_unlabeled_rows(run: Run, weighted: bool, extension: str) -> None:
    """A refusal such as "N/A", alone or in a list, is not a class; the model is that of a table without it."""
    birds = make_birds()
    suffix = ":0.5" if weighted else ""
    labels = [
        "" if i % 6 == 5 else "|".join(f"{name}{suffix}" for name in sorted({truth, "owl"}))
        for i, truth in enumerate(birds["truth"])
    ]
    refused = ["N/A" if not text else f"{text}|n/a{suffix}" if i % 4 == 0 else text for i, text in enumerate(labels)]
    for name, cells in (("plain", labels), ("refused", refused)):
        frame = birds.with_columns(species=pl.Series(cells))
        path = f"{name}.{extension}"
        frame.write_csv(path) if extension == "csv" else frame.write_parquet(path)
        words = (
            "--labels",
            "species",
            "--drop",
            "truth,id",
            "--online",
            "--hash-bits",
            "8",
            "--missing",
            "n/a",
            "--json",
        )
        result = run("fit", path, *words, *["--weighted"] * weighted, "--out", name)
        assert result.code == 0, result.err
        assert "read as a class" not in result.err
        facts = json.loads(result.out)
        assert facts["classes"] == ["finch", "owl", "wren"]
        assert facts["unlabeled"] == 10
        assert run("predict", f"{name}/model.skops", path, "--truth", "truth", "--out", f"{name}-p.csv").code == 0
    assert Path("plain-p.csv").read_text() == Path("refused-p.csv").read_text()


def test_a_number_of_missing_labels_is_an_unlabeled_row(run: Run) -> None:
    """A column of whole numbers in Parquet has the same missing labels in a stream as in a table."""
    birds = make_birds()
    code = {"finch": 0, "owl": 1, "wren": 2}
    labels = [99 if i % 6 == 5 else code[name] for i, name in enumerate(birds["truth"])]
    birds.with_columns(species=pl.Series(labels, dtype=pl.Int8)).write_parquet("numbers.parquet")
    words = ("numbers.parquet", "--labels", "species", "--drop", "truth,id", "--missing", "99,1000", "--json")
    for more in (("--online", "--hash-bits", "8"), ("--method", "CLPL", "--folds", "2")):
        result = run("fit", *words, *more, "--out", "out")
        assert result.code == 0, result.err
        facts = json.loads(result.out)
        assert list(map(str, facts["classes"])) == ["0", "1", "2"]
        assert facts["unlabeled"] == 10
