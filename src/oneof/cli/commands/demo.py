"""`oneof demo`: fit and predict handwritten digits with ambiguous labels."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import options
from oneof.cli.output import terminal

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
    from oneof.cli.commands.fit import fit_table, print_fit
    from oneof.cli.commands.predict import print_prediction, write_predictions
    from oneof.cli.prediction.options import PredictOptions
    from oneof.cli.prediction.predictions import load_model, predict
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.files import atomic_directory

    training_file, test_file = out / "digits-train.csv", out / "digits-test.csv"
    with atomic_directory(out) as stage:
        _write_tables(stage / training_file.name, stage / test_file.name, seed)
    read_options = ReadOptions(labels=("label",), truth="truth")
    fit_options = options.FitOptions(method="best", folds=5, seed=seed, out=out)
    words = ["oneof", "fit", str(training_file), "--labels", "label", "--truth", "truth", "--method", "best"]
    fit_command = shlex.join([*words, "--folds", "5", "--seed", str(seed), "--out", str(out)])
    fitted, assessment, training = fit_table(training_file, read_options, fit_options, command=fit_command)
    model, predictions = out / "model.skops", out / "digits-test-predictions.csv"
    prediction = predict(load_model(model), test_file, PredictOptions(truth="truth"))
    write_predictions(predictions, prediction)
    words = ["oneof", "predict", str(model), str(test_file), "--truth", "truth", "--out", str(predictions)]
    predict_command = shlex.join(words)
    if json:
        files = [str(training_file), str(test_file), *training.pop("files"), str(predictions)]
        content = {"training": training, "test": prediction.to_dict(), "files": files}
        terminal.print_json(content | {"commands": [fit_command, predict_command]})
        return
    terminal.print_line(f"Handwritten digits with ambiguous labels.\n\n$ {fit_command}")
    print_fit(fitted, assessment, training)
    terminal.print_line(f"\n$ {predict_command}")
    print_prediction(prediction, predictions)


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
