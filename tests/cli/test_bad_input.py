"""Bad input: exit code 2, one sentence, and no file written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

from oneof import AvgPerceptron, persistence
from tests.cli.conftest import QUICK, Run, check_error, make_birds

FIT = ["fit", "bad.csv", "--labels", "species", "--drop", "truth", "--strict", *QUICK]


def _with(**columns: Any) -> Callable[[], bytes]:
    return lambda: make_birds().with_columns(**columns).write_csv().encode()


TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "binary": (
        lambda: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        "bad.csv is not text: it has zero bytes. Give its format",
    ),
    "weights": (
        _with(species=pl.concat_str(pl.lit('{"owl": 0.'), pl.arange(1, 61), pl.lit(', "wren": 0.1}'))),
        "if they are probabilities of the classes. --unreadable",
    ),
    "all sets full": (_with(species=pl.lit("owl|wren")), "a set of all classes counts as a missing label"),
    "no features": (lambda: b"species,truth\nowl,owl\nwren,wren\n", "no feature column remains"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(run: Run, name: str) -> None:
    make, message = TABLES[name]
    Path("bad.csv").write_bytes(make())
    check_error(run, *FIT, message=message)


def test_four_rows(run: Run) -> None:
    """Commands with held-out predictions need a labeled row for each fold, and no step uses more folds than given."""
    Path("few.csv").write_text("x,species\n1,owl\n2,wren\n3,owl|bat\n4,wren|bat\n")
    message = (
        "held-out predictions need at least 5 labeled rows, one for each fold; got 4. Label more rows, or use fewer"
    )
    for command, *options in (("fit",), ("compare",), ("fit", "--folds", "5")):
        check_error(run, command, "few.csv", "--labels", "species", *options, message=message)
    assert run("fit", "few.csv", "--labels", "species", "--folds", "2").code == 0


COMMANDS = {
    "fit none.csv --labels species": "the file none.csv does not exist",
    "fit birds.csv --labels specis": "column 'specis' does not exist: did you mean 'species'?",
    "fit birds.csv --labels species --truth trut": "did you mean 'truth'?",
    "fit birds.csv --labels ,": "--labels must name the label column",
    "fit birds.csv --labels species --method avgperceptro": "Did you mean AvgPerceptron? The methods are",
    "fit birds.csv --labels species --method forest": "The methods are auto, best, LOORidge, CLPL, PLEM, PLSVM",
    "fit birds.csv --labels species --method LOORidge:distractor=uniform": "'distractor': did you mean distractors?",
    "fit birds.csv --labels species --numeric color": "must contain numbers",
    "fit birds.csv --labels species --classes owl,wren": "'finch' is not one of",
    "fit birds.csv --labels species --truth color": "not a class of the candidate",
    "fit birds.csv --labels species --out birds.csv": "birds.csv is a file",
    "fit birds.csv --labels species --out birds.csv/x": "birds.csv is a file",
    "fit birds.csv --labels species --folds 999": "999",
    "fit birds.csv --labels species --noise-rate 2": "--noise-rate must be auto, or a number",
    "fit birds.csv --labels species --class-weight balanced": "LOORidge has none. Choose --method CLPL, PLEM",
    "fit birds.csv --labels species --method CLPL --class-weight x": "--class-weight must be balanced or none; got 'x'",
    "fit birds.csv --labels species --gold species": "--gold and --labels must name different columns",
    "fit birds.csv --labels species --gold checked --groups checked": "--groups and --gold must name",
    "fit birds.csv --labels odds": "such as 'finch:0.6'. Add --weighted",
    "fit birds.csv --labels odds --online": "such as 'finch:0.6'. Add --weighted",
    "fit birds.csv --labels species --kind posterior": "--kind needs weighted labels",
    "fit birds.csv --labels species --online --rest auto": "--rest needs weighted labels",
    "fit birds.csv --labels species --weighted --kind prior": "got 'prior'",
    "fit birds.csv --labels species --weights none --kind likelihood": "'none'",
    "fit birds.csv --labels species --row id": "--row needs --answers",
    "fit birds.csv --labels species --annotator id": "--annotator needs --answers",
    "fit birds.csv --labels species --answer id": "--answer needs --answers",
    "fit birds.csv --labels species --epochs 2": "--epochs needs --online: add it",
    "fit birds.csv --labels species --resume": "--resume needs --online: add it",
    "fit birds.csv --labels species --online --noise-rate auto": "--noise-rate cannot be",
    "fit birds.csv --labels species --online --class-weight balanced": "--class-weight cannot be",
    "fit birds.csv --labels species --online --gold checked": "--gold cannot be combined with --online",
    "fit birds.csv --labels species --online --groups recorder": "--groups cannot be combined",
    "fit birds.csv --labels species --online --method CLPL": "--method must be auto, AvgPerceptron",
    "fit birds.csv --labels species --online --truth truth": "--truth cannot be used with --online",
    "fit birds.csv --labels species --online --folds 3": "--folds cannot be combined with --online",
    "fit birds.csv --labels species --online --seed 3": "--seed cannot be combined with --online",
    "fit birds.csv --labels species --online --format xml": "the format must be one of csv",
    "fit birds.csv --labels species --online --classes owl,wren": "birds.csv, row 3: label 'finch' is not one of the",
    "fit birds.csv --labels species --online --out birds.csv": "cannot create the folder birds.csv",
    "fit birds.csv --labels species,color --online": "row 0: column 'species' must contain 0 and 1",
    "fit birds.csv --online": "--labels must name the label column",
    "fit - --labels x --online": "standard input needs a text format",
    "compare birds.csv --labels species --method best:tol=1": "--method best has no parameters. Name a method, such as",
    "compare birds.csv --labels species --method LOORidge --class-weight balanced": "LOORidge has none. Choose",
    "compare birds.csv --answers a.csv --class-weight balanced": "--class-weight cannot be combined with --answers",
    "compare birds.csv --labels species --groups recorder --folds 13": "12 such groups and 13 folds",
    "compare birds.csv --labels species --groups recoder": "did you mean 'recorder'?",
    "compare birds.csv --labels species --groups color": "column 'color' of --groups has empty cells (such rows: 6)",
    "compare birds.csv --labels species --groups species": "--groups and --labels must name different columns",
    "compare birds.csv --labels species --truth truth --groups truth": "--groups and --truth must name different",
    "audit birds.csv --labels species --method best": "--method must name one method",
    "audit birds.csv --labels species --method auto:tol=1": "--method auto has no parameters.",
    "audit birds.csv --labels species --out birds.csv": "would be overwritten. Choose another --out.",
    "audit birds.csv --labels species --report birds.csv": "would be overwritten. Choose another --report.",
    "audit birds.csv --labels species --out a.csv --report a.csv": "must be different files",
    "audit birds.csv --labels species --out birds.csv/x.csv": "birds.csv is a file",
    "inspect birds.csv --labels species,color --online": "reads one column of labels, or a column of 0",
    "inspect birds.csv --labels species --answers a.csv": "--labels cannot be combined with --answers",
    "inspect birds.csv --labels species --batch-rows 3": "--batch-rows needs --online",
    "inspect birds.csv --classes finch,owl": "--classes needs --labels",
    "inspect birds.csv --weighted": "--weighted needs --labels",
    "label birds.csv --no-browser --labels species --groups truth": "--groups needs --audit: add it.",
    "label birds.csv --no-browser --labels none --classes finch,owl --audit": "--audit needs a table with labels",
    "predict none.skops birds.csv": "the model file none.skops does not exist",
    "predict birds.csv birds.csv": "not a model file of oneof",
    "predict birds.csv m.skops": "the model comes before the table: write `oneof predict m.skops birds.csv`",
    "predict . birds.csv": ". is a folder. Name a model file of `oneof fit` (model.skops).",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_invalid_arguments(run: Run, command: str) -> None:
    """Errors are one sentence that names the option, the column or the file and a remedy, and nothing is written."""
    recorders, is_checked = pl.Series([f"r{i // 5}" for i in range(60)]), pl.int_range(60) % 3 == 0
    checked = pl.when(is_checked).then("truth")
    odds = pl.Series(["finch:0.6|wren:0.4", "owl:1"] * 30)
    make_birds().with_columns(recorder=recorders, checked=checked, odds=odds).write_csv("birds.csv")
    check_error(run, *command.split(), message=COMMANDS[command])


@pytest.mark.parametrize("command", ["fit", "fit --online", "audit", "predict"])
def test_outputs_are_checked_before_the_work(
    run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A folder in which no file can be made, even by root, is an error before the table or the model is read."""
    monkeypatch.setattr("tempfile.TemporaryDirectory", Mock(side_effect=OSError(30, "Read-only file system")))
    name, *options = command.split()
    words = ["none.skops", "none.csv"] if name == "predict" else [birds, "--labels", "none", *options]
    check_error(run, name, *words, "--out", "new/x.csv", message="cannot be written (Read-only file system)")


def test_tables_that_do_not_fit_the_model(run: Run, model: Path) -> None:
    """The output is checked; true labels are those of `test_new_rows`, missing columns and other cells of tests/io."""
    birds = make_birds(1)
    birds.write_csv("new.csv")
    assert run("predict", model, "new.csv", "--out", "new/folder/x.csv").code == 0  # as the folder of a fit
    check_error(run, "predict", model, "new.csv", "--out", ".", message="is a folder")


def test_a_folder_instead_of_its_model_file(run: Run, model: Path, birds: Path) -> None:
    """The error for a folder of `fit` names the model file in it."""
    check_error(run, "predict", model.parent, birds, message=f"is a folder: did you mean {model}?")


def test_a_bare_estimator_is_no_model_of_a_table(run: Run, birds: Path) -> None:
    """The error names the command that fits one; other files are those of tests/persistence."""
    persistence.save("bare.skops", AvgPerceptron().fit(np.eye(3), ["a", "b", "c"]))
    message = "Use a model file of `oneof fit`; for texts, `oneof fit TABLE --text COLUMN`."
    check_error(run, "predict", "bare.skops", birds, message=message)


def test_usage(run: Run, birds: Path) -> None:
    """Unknown options and missing values end with code 2 without a traceback."""
    for args in (["fit"], ["fit", birds], ["fit", birds, "--labels", "species", "--folds", "0"], ["paint"], ["-x"]):
        result = run(*args)
        assert result.code == 2
        assert result.out == ""
        assert "Error" in result.err
        assert "Traceback" not in result.err


def test_input_files_are_not_overwritten(run: Run, birds: Path) -> None:
    """Neither predictions nor the outputs of fit overwrite the table or the model that they were computed from."""
    assert run("fit", "birds.csv", "--labels", "species", "--drop", "truth", "--out", "m", *QUICK).code == 0
    for out in ("birds.csv", "m/model.skops"):
        check_error(run, "predict", "m/model.skops", "birds.csv", "--out", out, message="would be overwritten")
    make_birds().write_csv("m/training_labels.csv")
    again = ("fit", "m/training_labels.csv", "--labels", "species", "--drop", "truth", "--out", "m", *QUICK)
    check_error(run, *again, message="would be overwritten")
