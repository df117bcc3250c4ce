"""The findings about a messy table are the same in all commands, at most ten sentences, and all of them in JSON."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneof.io import Finding, describe
from oneof.io.findings import MAX_NOTES
from tests.cli.conftest import Run

N_ROWS = 720
LABELS = ("--labels", "label", "--separator", "|")


@pytest.fixture
def messy(run: Run) -> None:
    """Write a table with a fault of each kind."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 3, N_ROWS)
    labels = [["finch", "owl", "wren"][k] for k in code]
    labels[7:13] = ["n/a", "owl;wren", "owl?", "2021-09-02", "OWL", "finch|wren"]
    lines = ["key\tsize \twidth\tday\tcount\tsame\twet\tcode\tlabel"]
    for i, (k, label) in enumerate(zip(code, labels, strict=True)):
        size = "-" if i % 9 == 1 else "broken" if i % 30 == 2 else f"{rng.normal() + k:.3f}"
        width = f"{i},75" if i % 40 == 3 else f"{i}.25"
        day = f"{1 + i % 12:02d}/{1 + i % 9:02d}/2021"
        count = f"{1 + i % 9},{100 + i}"
        lines.append(f"{k + 40}\t{size}\t{width}\t{day}\t{count}\tx\t{'yn'[i % 2]}\t00{i % 7}\t{label}")
    Path("messy.tsv").write_bytes("\n".join(lines).encode("utf-16"))


def read_notes(err: str) -> list[str]:
    return [line.removeprefix("Note: ") for line in err.splitlines() if line.startswith("Note: ")]


@pytest.mark.usefixtures("messy")
def test_all_commands_have_the_findings_of_inspect(run: Run) -> None:
    """The sentences and the findings of `inspect` are those of fit, compare, audit and of the first batch."""
    result = run("inspect", "messy.tsv", *LABELS, "--json")
    assert result.code == 0, result.err
    inspected = json.loads(result.out)
    found = [Finding.from_dict(finding) for finding in inspected["findings"]]
    kinds = [finding.kind for finding in found]
    assert set(kinds) == {
        *("class leak", "joined classes", "missing class", "suspicious class", "spellings", "unreadable"),
        *("date order", "digit groups", "kind", "missing", "excluded", "dialect", "format"),
    }
    sentences = describe(found)
    assert len(sentences) == MAX_NOTES
    assert sentences == read_notes(result.err)
    assert inspected["notes"] == describe(found, None)
    quick = ("--method", "PLKNN", "--folds", "1")
    for command in (("fit", *quick), ("compare", "--budget", "0.01"), ("audit", "--folds", "2")):
        result = run(command[0], "messy.tsv", *LABELS, *command[1:])
        assert result.code == 0 or "the budget is used" in result.err
        assert read_notes(result.err)[: len(sentences)] == sentences
    summary = json.loads(Path("messy-oneof/summary.json").read_text(encoding="utf-8"))
    assert summary["findings"] == inspected["findings"]
    first = json.loads(run("inspect", "messy.tsv", *LABELS, "--online", "--json").out)
    assert first["findings"] == inspected["findings"]


@pytest.mark.usefixtures("messy")
def test_labeling_and_streams_have_the_findings_of_their_rows(run: Run) -> None:
    """`label` and `fit --online` have the sentences about labels and columns; `label` does not look for leaks."""
    found = [
        Finding.from_dict(one) for one in json.loads(run("inspect", "messy.tsv", *LABELS, "--json").out)["findings"]
    ]
    others = [finding for finding in found if finding.kind != "class leak"]
    result = run("label", "messy.tsv", *LABELS, "--export", "out.csv")
    assert result.code == 0, result.err
    assert describe(others)[:-1] == [note for note in read_notes(result.err) if note in describe(others, None)]
    result = run("fit", "messy.tsv", *LABELS, "--online", "--out", "stream")
    assert result.code == 0, result.err
    notes = json.loads(Path("stream/summary.json").read_text(encoding="utf-8"))["notes"]
    assert describe(replace(finding, rows=()) for finding in found)[:5] == notes[:5]  # classes have no first row


def test_lines_that_a_quoted_cell_joins_are_noted_before_the_names_of_columns(run: Run) -> None:
    """A remark of the reader with an option is about lost rows, and is not cut."""
    lines = ["x,x,label", *(f'{i},"{i},p\n{i},q",{"ab"[i % 2]}' for i in range(40))]
    Path("t.csv").write_text("\n".join(lines))
    found = json.loads(run("inspect", "t.csv", "--labels", "label", "--json").out)["findings"]
    details = {finding["kind"]: finding["detail"] for finding in found}
    assert "add --quote none" in details["file option"]
    assert "are renamed" in details["file"]
    assert [one["kind"] for one in found].index("file option") < [one["kind"] for one in found].index("file")


@pytest.mark.parametrize(
    ("kind", "cells", "option"),
    [
        ("missing", ["-", *map(str, range(20))], "--categorical x"),
        ("unreadable", ["broken", *map(str, range(20))], "--categorical x"),
        ("date order", ["03/04/2021", "05/06/2021"], "--date-format %d/%m/%Y"),
        ("digit groups", ["1,234", "12,500"], "--decimal ','"),
        ("kind", ["<5", *map(str, range(4))], "--numeric"),
        ("kind", ["007", "012"], "--numeric"),
        ("excluded", ["same"], "--categorical"),
        ("excluded", [f"C-{k:05d}" for k in range(60)], "--text"),
        ("format", ["1.5m", "2.5m", "3m"], "--categorical x"),
        ("format", ["y", "n"], "--categorical x"),
        ("class leak", ["Finch", "Owl", "Wren"], "--drop x"),
        ("class leak", ["1", "2", "3"], "--drop x"),
    ],
)
def test_the_remedy_for_a_column_ends_its_finding(run: Run, kind: str, cells: list[str], option: str) -> None:
    """With the option of its note, a column has no such finding; an error names it with --strict."""
    rows = range(60)
    lines = ["x;y;label", *(f"{cells[i % len(cells)]};{i**2 % 7}.5;{['finch', 'owl', 'wren'][i % 3]}" for i in rows)]
    Path("t.csv").write_text("\n".join(lines))

    def find(*options: str) -> list[dict[str, Any]]:
        result = run("inspect", "t.csv", "--labels", "label", *options, "--json")
        assert result.code == 0, result.err
        return [one for one in json.loads(result.out)["findings"] if (one["kind"], one["column"]) == (kind, "x")]

    [finding] = find()
    [note] = describe([Finding.from_dict(finding)])
    assert option in note
    words = shlex.split(option)
    assert find(*words, *["x"] * (len(words) == 1)) == []
    if kind == "unreadable":
        assert "row 0: column 'x'" in run("inspect", "t.csv", "--labels", "label", "--strict").err
