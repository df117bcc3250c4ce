"""`oneof demo`: fit and predict handwritten digits with ambiguous labels.

oneof demo
oneof demo --out digits --json
"""

import contextlib
import io
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from oneof.cli import options, terminal

_PARTIAL, _UNLABELED = 0.75, 0.15
"""Fractions of the training rows; the remaining rows have one label."""
_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def run(
    context: typer.Context,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder.")] = Path("oneof-demo"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.", min=0)] = 0,
    json: options.Json = False,
) -> None:
    """Learn handwritten digits from ambiguous labels; no input file is needed.

    The table has exact, partial and unlabeled rows; the true labels are used for evaluation only.
    The demo runs the commands fit and predict, and prints them.
    """
    from oneof.files import atomic_directory

    train, test, predictions = (out / f"digits-{name}.csv" for name in ("train", "test", "test-predictions"))
    with atomic_directory(out) as stage:
        _write_tables(stage / train.name, stage / test.name, seed)
    fit = f"--labels label --truth truth --method best --folds 5 --seed {seed} --out".split()
    commands = [
        ["fit", str(train), *fit, str(out)],
        ["predict", str(out / "model.skops"), str(test), "--truth", "truth", "--out", str(predictions)],
    ]
    if not json:
        terminal.print_line("Handwritten digits with ambiguous labels.")
    training, predicted = (_run(context, words, json=json) for words in commands)
    if json:
        files = [str(train), str(test), *training.pop("files"), predicted["file"]]
        lines = [shlex.join(["oneof", *words]) for words in commands]
        terminal.print_json({"training": training, "test": predicted, "files": files, "commands": lines})


def _run(context: typer.Context, words: list[str], *, json: bool) -> dict[str, Any]:
    """Run a command, and print it with its output; or return the output as an object."""
    from json import loads

    output = io.StringIO()
    if not json:
        terminal.print_line(f"\n$ {shlex.join(['oneof', *words])}")
    with contextlib.redirect_stdout(output) if json else contextlib.nullcontext():
        code = context.find_root().command.main([*words, *["--json"] * json], "oneof", standalone_mode=False)
    if code:
        raise typer.Exit(code)
    return dict(loads(output.getvalue())) if json else {}


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
