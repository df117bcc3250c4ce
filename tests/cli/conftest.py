"""A small table with labels of every kind, and a fixture that runs the command line."""

import functools
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from typer import testing
from typer.testing import CliRunner

from oneof.cli import training
from oneof.cli.app import app
from oneof.report import page

# Otherwise each call builds the options of all commands anew, which takes 30 ms.
testing._get_command = functools.cache(testing._get_command)

QUICK = ("--method", "AvgPerceptron", "--folds", "2")
N_ROWS = 60
ONLINE = ("--labels", "species", "--drop", "truth,id", "--online", "--hash-bits", "8", "--out", "learned")


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Run:
    """Runs commands in the working folder."""

    def __call__(self, *args: Any) -> Result:
        """Run a command, and return its exit code and output."""
        result = CliRunner().invoke(app, [str(word) for word in args])
        return Result(result.exit_code, result.stdout, result.stderr)

    def done(self, *args: Any) -> Result:
        """Run a command that ends without an error."""
        result = self(*args)
        assert result.code == 0, result.err
        return result


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Run:
    """Return an object that runs commands in a new empty folder.

    Reports have no figures and learning curves one size, unless the test has the marker `figures`: both together take
    most of the time of a small fit, and are tested in tests/report and tests/comparison.
    """
    if request.node.get_closest_marker("figures") is None:
        monkeypatch.setattr(page, "draw_figures", lambda _: [])
        monkeypatch.setattr(training, "CURVE_FRACTIONS", (0.4,))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONEOF_DEBUG", raising=False)
    return Run()


def read_json(run: Run, *words: Any) -> dict[str, Any]:
    """Run a command with --json, and return its output."""
    return dict(json.loads(run.done(*words, "--json").out))


def check_error(run: Run, *args: Any, message: str) -> None:
    """Check that a command fails with one sentence that contains the message, and changes no file."""
    before = {path: path.read_bytes() if path.is_file() else None for path in Path.cwd().rglob("*")}
    result = run(*args)
    assert result.code == 2, result
    assert result.out == ""
    assert message in result.err
    assert "Traceback" not in result.err
    errors = [line for line in result.err.splitlines() if not line.startswith("Note: ")]
    assert len(errors) == 1
    assert errors[0].startswith("Error: ")
    assert {path: path.read_bytes() if path.is_file() else None for path in Path.cwd().rglob("*")} == before


def make_birds(seed: int = 0) -> pl.DataFrame:
    """Return rows whose features depend on the class; the labels are candidate sets."""
    rng = np.random.default_rng(seed)
    names = ["finch", "owl", "wren"]
    truth = rng.integers(0, 3, N_ROWS)
    labels = []
    for i, k in enumerate(truth):
        if i % 6 == 5:
            labels.append("")
        else:
            labels.append("|".join(sorted({names[k], names[(k + 1) % 3]}) if i % 3 else [names[k]]))
    return pl.DataFrame(
        {
            "id": [f"b{i}" for i in range(N_ROWS)],
            "span": [None if i % 9 == 0 else round(float(10 * k + rng.normal()), 3) for i, k in enumerate(truth)],
            "mass": np.round(rng.normal(size=N_ROWS) - 5 * truth, 3),
            "migrates": truth == 2,
            "color": [None if i % 11 == 0 else ["red", "gray", "brown"][k] for i, k in enumerate(truth)],
            "remark": [f"seen number {i} by the {['river', 'barn', 'hedge'][k]} again" for i, k in enumerate(truth)],
            "species": labels,
            "truth": [names[k] for k in truth],
        }
    )


@pytest.fixture
def birds(run: Run) -> Path:
    """Write the table to birds.csv in the working folder."""
    path = Path("birds.csv")
    make_birds().write_csv(path)
    return path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fit on the birds, once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    make_birds().write_csv(folder / "birds.csv")
    args = ["--labels", "species", "--truth", "truth", *QUICK, "--out", str(folder / "birds-oneof")]
    result = CliRunner().invoke(app, ["fit", str(folder / "birds.csv"), *args])
    assert result.exit_code == 0, result.stderr
    return folder / "birds-oneof"


@pytest.fixture
def model(run: Run, birds: Path, fitted: Path) -> Path:
    """Return the model fitted on the birds, copied to the working folder with its other files."""
    shutil.copytree(fitted, "birds-oneof")
    return Path("birds-oneof/model.skops")


@pytest.fixture(params=[False, True], ids=["table", "online"])
def either(run: Run, model: Path, request: pytest.FixtureRequest) -> Path:
    """Return the model of the table, or of an online fit to it."""
    if not request.param:
        return model
    assert run("fit", "birds.csv", *ONLINE).code == 0
    return Path("learned/model.skops")
