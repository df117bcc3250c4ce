"""The command that runs the papers' experiments."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from reproduction.papers import online, online_streams

from reproduction import NAMES
from tests.cli.conftest import Run

needs_data = pytest.mark.skipif(not Path(os.environ.get("ONEOF_DATA", "-")).is_dir(), reason="needs the field's data")
FILES = ["claims.csv", "figure.png", "figure.svg", "index.html", "records.jsonl", "table.csv"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the quick runs of the online experiments shorter still."""
    plan = online_streams.plan
    monkeypatch.setattr(online, "plan", lambda data, **_: plan(data, draws=2, rounds=200))


def test_lists_the_experiments(run: Run) -> None:
    """Every experiment is listed with what it costs."""
    done = run("reproduce", "--json")
    assert done.code == 0, done.err
    listed = json.loads(done.out)["experiments"]
    assert [entry["name"] for entry in listed] == list(NAMES)
    assert all(0 < entry["minutes"][1] <= 2 and entry["trials"] > 0 for entry in listed)
    text = run("reproduce").out
    assert all(name in text for name in NAMES)


@needs_data
@pytest.mark.usefixtures("small")
def test_runs_resumes_and_tells_the_same(run: Run) -> None:
    """The files are there; a second call runs no trial and writes the same; --json tells the claims of the page."""
    first = run("reproduce", "online-ecoli", "--quick", "--jobs", 1)
    assert first.code == 0, first.err
    folder = Path("oneof-online-ecoli-quick")
    assert sorted(file.name for file in folder.iterdir()) == FILES
    before = {name: (folder / name).read_bytes() for name in ("records.jsonl", "table.csv", "index.html")}
    again = run("reproduce", "online-ecoli", "--quick", "--json", "--out", folder)
    assert again.code == 0, again.err
    assert "trials are left" not in again.err
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert run("reproduce", "online-ecoli", "--quick", "--draws", 1, "--out", folder).code == 0
    assert "Run for the first 1 of 2 draws." in (folder / "index.html").read_text()
    assert (folder / "records.jsonl").read_bytes() == before["records.jsonl"]
    facts: dict[str, Any] = json.loads(again.out)
    assert (facts["failed"], len(facts["claims"])) == (0, 2)
    assert {claim["verdict"] for claim in facts["claims"]} <= {"held", "not held", "not judged"}


@needs_data
@pytest.mark.usefixtures("small")
def test_bad_words(run: Run) -> None:
    """Unknown names, no jobs and the store of another experiment are sentences."""
    for words, said in (
        (["online-eco"], "did you mean online-ecoli"),
        (["online-ecoli", "--quick", "--jobs", 0], "jobs=0 is not possible"),
    ):
        done = run("reproduce", *words)
        assert done.code == 2
        assert said in done.err
    assert run("reproduce", "online-ecoli", "--quick", "--jobs", 1, "--out", "here").code == 0
    done = run("reproduce", "online-usps", "--quick", "--out", "here")
    assert "holds records of 'online-ecoli', not 'online-usps'" in done.err


def test_missing_sets(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence names every file that is missing and where to put it; nothing is run, and no folder is made."""
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run("reproduce", "benchmark", "--quick", "--out", "there")
    assert done.code == 2
    assert (
        "ssl_digit1.npz, ssl_g241c.npz, ssl_text.npz, ssl_usps.npz into a folder and name it by $ONEOF_DATA" in done.err
    )
    assert not Path("there").exists()
