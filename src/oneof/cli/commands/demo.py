"""`oneof demo`: fit and predict handwritten digits with ambiguous labels."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.output import terminal

if TYPE_CHECKING:
    from oneof.comparison import Comparison

NAME = "demo"
EXAMPLES = """\b
Examples:
  oneof demo
  oneof demo --out digits --json
"""

_PARTIAL, _UNLABELED = 0.75, 0.15
"""Fractions of the training rows; the remaining rows have one label."""
_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def run(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder.")] = Path("oneof-demo"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.", min=0)] = 0,
    json: options.Json = False,
) -> None:
    """Learn handwritten digits from ambiguous labels; no input file is needed.

    The table has exact, partial and unlabeled rows; the true labels are used for evaluation only.
    The demo runs the commands fit and predict, and prints them.
    """
    summary, comparison = _run(out, seed=seed)
    if json:
        terminal.print_json(summary)
        return
    terminal.print_line(f"Handwritten digits with ambiguous labels: {summary['files'][0]}")
    terminal.print_comparison(f"Held-out estimate ({comparison.evaluation})", comparison)
    rates = {"training rows, each held out once": summary["training"]["estimate"], "test rows": summary["test"]}
    columns = ("covering_rate", "accuracy")
    rows = [[name, *(terminal.format_percent(of_rows[key]) for key in columns)] for name, of_rows in rates.items()]
    title = f"{comparison.best_method} on {summary['test']['rows']} test rows"
    terminal.print_table(title, ["", "covering rate", "accuracy"], rows)
    terminal.print_line("To repeat this with single commands:")
    for command in summary["commands"]:
        terminal.print_line(f"  {command}")
    terminal.print_line(f"Report: {out / 'report.html'}")


def _run(folder: Path, *, seed: int) -> "tuple[dict[str, Any], Comparison]":
    """Write a training and a test table of digits, fit a model and predict the test table; return the summary."""
    from oneof.cli.output.files import write_frames
    from oneof.cli.prediction.options import PredictOptions
    from oneof.cli.prediction.predictions import load_model, predict
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.cli.training.train import train
    from oneof.files import atomic_directory

    training_file, test_file = folder / "digits-train.csv", folder / "digits-test.csv"
    with atomic_directory(folder) as stage:
        _write_tables(stage / training_file.name, stage / test_file.name, seed)
    read_options = ReadOptions(labels=("label",), truth="truth")
    words = ["oneof", "fit", str(training_file), "--labels", "label", "--truth", "truth", "--method", "best"]
    fit_command = shlex.join([*words, "--folds", "5", "--seed", str(seed), "--out", str(folder)])
    fit_options = options.FitOptions(method="best", folds=5, seed=seed, out=folder)
    training = train(training_file, read_options, fit_options, command=fit_command)
    model_file, predictions = folder / "model.skops", folder / "digits-test-predictions.csv"
    prediction = predict(load_model(model_file), test_file, PredictOptions(truth="truth"))
    write_frames(predictions, prediction.frames())
    arguments = ["oneof", "predict", str(model_file), str(test_file), "--truth", "truth", "--out", str(predictions)]
    test = prediction.to_dict()
    summary = {
        "training": {key: value for key, value in training.summary.items() if key != "files"},
        "test": {name: test[name] for name in ("rows", "covering_rate", "accuracy")},
        "files": [str(training_file), str(test_file), *training.summary["files"], str(predictions)],
        "commands": [fit_command, shlex.join(arguments)],
    }
    return summary, training.comparison


def _write_tables(training_file: Path, test_file: Path, seed: int) -> None:
    """Write both tables."""
    import numpy as np
    import polars as pl
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from oneof.datasets import make_partial_labels

    X, digits = load_digits(return_X_y=True)
    truth = np.asarray(_NAMES)[digits]
    rng = np.random.default_rng(seed)
    candidates = make_partial_labels(
        truth, fraction=_PARTIAL / (1 - _UNLABELED), n_distractors=2, distractors="confusable", random_state=rng
    )
    labels = candidates.to_strings()
    for row in rng.permutation(len(labels))[: round(_UNLABELED * len(labels))]:
        labels[row] = ""
    pixels = {f"pixel_{j // 8}_{j % 8}": X[:, j].astype(np.int64) for j in range(X.shape[1])}
    table = pl.DataFrame({**pixels, "label": labels, "truth": truth.tolist()})
    training, test = train_test_split(np.arange(len(X)), test_size=0.2, stratify=truth, random_state=seed)
    table[training].write_csv(training_file)
    table[test].write_csv(test_file)
