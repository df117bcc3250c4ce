"""The command `python -m reproduction`."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from oneof.errors import DataError
from reproduction import NAMES, get_experiment
from reproduction.__main__ import app
from reproduction.papers import online

needs_data = pytest.mark.skipif(not Path(os.environ.get("ONEOF_DATA", "-")).is_dir(), reason="needs the field's data")
FILES = ["claims.csv", "figure.png", "figure.svg", "index.html", "records.jsonl", "table.csv"]


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONEOF_DEBUG", raising=False)

    def invoke(*words: Any) -> Done:
        result = CliRunner().invoke(app, [str(word) for word in words])
        return Done(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the quick runs of the online experiments further."""
    plan = online.plan
    monkeypatch.setattr(online, "plan", lambda data, **_: plan(data, draws=2, rounds=200))


@pytest.mark.long
def test_lists_the_experiments(run: Run) -> None:
    """Every experiment is listed with its running time."""
    done = run("--json")
    assert done.code == 0, done.err
    iter_experiments = json.loads(done.out)["experiments"]
    assert [entry["name"] for entry in iter_experiments] == list(NAMES)
    assert all(0 < entry["minutes"][1] <= 2 and entry["trials"] > 0 for entry in iter_experiments)
    text = run().out
    assert all(name in text for name in NAMES)


@pytest.mark.long
@needs_data
@pytest.mark.usefixtures("small")
def test_a_second_run_repeats_the_outputs(run: Run) -> None:
    """A second call runs no trial and writes the same files; --json has the claims of the page."""
    first = run("online-ecoli", "--quick", "--jobs", 1)
    assert first.code == 0, first.err
    folder = Path("oneof-online-ecoli-quick")
    assert sorted(file.name for file in folder.iterdir()) == FILES
    before = {name: (folder / name).read_bytes() for name in ("records.jsonl", "table.csv", "index.html")}
    again = run("online-ecoli", "--quick", "--json", "--out", folder)
    assert again.code == 0, again.err
    assert "trials are pending" not in again.err
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert run("online-ecoli", "--quick", "--draws", 1, "--out", folder).code == 0
    assert "Run for the first 1 of 2 draws." in (folder / "index.html").read_text()
    assert (folder / "records.jsonl").read_bytes() == before["records.jsonl"]
    content: dict[str, Any] = json.loads(again.out)
    assert (content["failed"], len(content["claims"])) == (0, 2)
    assert {claim["verdict"] for claim in content["claims"]} <= {"confirmed", "not confirmed", "not measured"}


@needs_data
@pytest.mark.usefixtures("small")
def test_bad_arguments(run: Run) -> None:
    """Unknown names, zero jobs and the store of another experiment are one-sentence errors."""
    for words, said in (
        (["online-eco"], "Did you mean online-ecoli"),
        (["online-ecoli", "--quick", "--jobs", 0], "`jobs` must be"),
    ):
        done = run(*words)
        assert done.code == 2
        assert said in done.err
    assert run("online-ecoli", "--quick", "--jobs", 1, "--out", "here").code == 0
    done = run("online-usps", "--quick", "--out", "here")
    assert "has records of 'online-ecoli', not 'online-usps'" in done.err


def test_missing_sets(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence names every missing file and where to put it; no trial is run, and no folder is created."""
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run("benchmark", "--quick", "--out", "there")
    assert done.code == 2
    assert "ssl_digit1.npz, ssl_g241c.npz, ssl_text.npz, ssl_usps.npz into a folder and set $ONEOF_DATA" in done.err
    assert not Path("there").exists()


def test_a_failed_download_ends_the_run_before_the_trials(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data set that can be downloaded is listed as such, and downloaded once, before the first trial."""
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = []

    def load(name: str) -> None:
        names.append(name)
        raise DataError(f"{name} cannot be downloaded.")

    monkeypatch.setattr("oneof.datasets.load", load)
    assert "to download" in run().out
    done = run("online-ecoli", "--quick", "--out", "there")
    assert (done.code, names) == (2, ["ecoli"])
    assert "ecoli cannot be downloaded" in done.err


@needs_data
@pytest.mark.usefixtures("small")
def test_failed_trials_set_the_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If trials fail, the note has the first error, and the exit code is 1, also with --json."""

    def fail(trial: Any) -> None:
        raise ValueError("no such optimum.")

    experiment = get_experiment("online-ecoli")
    monkeypatch.setattr("reproduction.get_experiment", lambda _: replace(experiment, measure=fail))
    done = run("online-ecoli", "--quick", "--jobs", 1)
    assert done.code == 1
    assert "no such optimum" in done.err
    again = run("online-ecoli", "--quick", "--json")
    assert again.code == 1
    assert json.loads(again.out)["failed"] > 0


def test_help_has_examples(run: Run) -> None:
    assert "  python -m reproduction online-ecoli --quick" in run("--help").out
