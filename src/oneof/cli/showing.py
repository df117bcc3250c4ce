"""The demonstration: digits whose labels are made ambiguous."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oneof.cli.outputs import staged
from oneof.cli.prediction import load_model, predict, write_predictions
from oneof.cli.prepared import Reading
from oneof.cli.training import Trained, Watch, command_line, train

_PARTIAL, _UNLABELED = 0.75, 0.15
"""Shares of the rows; the others keep their one label."""
_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Shown:
    """What the demonstration found, and where its files are."""

    training_file: Path
    trained: Trained
    n_test: int
    results: dict[str, tuple[float | None, float | None]]
    """Covering rate and accuracy, by what they are of."""
    commands: list[str]
    facts: dict[str, Any]


def show_digits(folder: Path, *, seed: int, watch: Watch) -> Shown:
    """Write a training and a test table of digits, fit on the one, predict the other."""
    training_file, test_file = folder / "digits-train.csv", folder / "digits-test.csv"
    with staged(folder) as stage:
        n_test = _write_tables(stage / training_file.name, stage / test_file.name, seed)
    reading = Reading(labels=("label",), truth="truth")
    again = command_line(training_file, reading, method="best", folder=folder, folds=5, seed=seed)
    trained = train(
        training_file, reading, method="best", folder=folder, folds=5, seed=seed, command=again, watch=watch
    )
    model_file, predictions = folder / "model.skops", folder / "digits-test-predictions.csv"
    predicted = predict(load_model(model_file), test_file, truth="truth")
    write_predictions(predictions, predicted, read=[model_file, test_file])
    estimate = trained.comparison.results[0]
    words = ["oneof", "predict", str(model_file), str(test_file), "--truth", "truth", "--out", str(predictions)]
    commands = [again, shlex.join(words)]
    files = [str(training_file), str(test_file), *trained.summary["files"], str(predictions)]
    return Shown(
        training_file,
        trained,
        n_test,
        {
            "training rows, each held out once": (estimate.covering_rate, estimate.accuracy),
            "test rows": (predicted.covering_rate, predicted.accuracy),
        },
        commands,
        {
            "training": {key: value for key, value in trained.summary.items() if key != "files"},
            "test": {
                "rows": n_test,
                "covering_rate": predicted.covering_rate,
                "accuracy": predicted.accuracy,
            },
            "files": files,
            "commands": commands,
        },
    )


def _write_tables(training_file: Path, test_file: Path, seed: int) -> int:
    """Write both tables and return the number of test rows."""
    import polars as pl
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from oneof.datasets import make_partial_labels

    X, digits = load_digits(return_X_y=True)
    truth = np.asarray(_NAMES)[digits]
    generator = np.random.default_rng(seed)
    candidates = make_partial_labels(
        truth, fraction=_PARTIAL / (1 - _UNLABELED), n_distractors=2, distractors="confusable", random_state=generator
    )
    labels = candidates.to_strings()
    for row in generator.permutation(len(labels))[: round(_UNLABELED * len(labels))]:
        labels[row] = ""
    pixels = {f"pixel_{j // 8}_{j % 8}": X[:, j].astype(np.int64) for j in range(X.shape[1])}
    table = pl.DataFrame({**pixels, "label": labels, "truth": truth.tolist()})
    training, test = train_test_split(np.arange(len(X)), test_size=0.2, stratify=truth, random_state=seed)
    table[training].write_csv(training_file)
    table[test].write_csv(test_file)
    return len(test)
