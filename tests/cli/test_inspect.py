"""Tests of `oneof inspect`, and of the facts that `oneof fit` prints."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.tables.facts import ClassFacts, ColumnFacts, TableFacts
from oneof.io import Finding, describe
from oneof.io.findings import MAX_NOTES
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

INSPECT = ("--labels", "species", "--truth", "truth")


def test_the_facts_are_those_of_the_table(run: Run, birds: Path) -> None:
    """Columns, missing cells, rows by label and classes are counted as in the table, and nothing is written."""
    facts, table = read_json(run, "inspect", birds, *INSPECT), make_birds()
    assert {column["name"]: column["kind"] for column in facts["columns"]} == {
        "id": None, "span": "number", "mass": "number", "migrates": "yes/no", "color": "category", "remark": "text"
    }  # fmt: skip
    for column in facts["columns"]:
        assert column["missing"] == table[column["name"]].null_count()
    sets = [set(text.split("|")) - {""} for text in table["species"]]
    assert (facts["rows"], facts["labels"]) == (60, ["species"])
    assert facts["exact"] == sum(len(members) == 1 for members in sets)
    assert facts["partial"] == sum(len(members) > 1 for members in sets)
    assert facts["unlabeled"] == sum(not members for members in sets)
    assert facts["classes"] == [
        {"label": name, "rows": sum(name in members for members in sets), "exact": sets.count({name})}
        for name in ("finch", "owl", "wren")
    ]
    assert "column 'id' is excluded" in facts["notes"][0]
    assert [path.name for path in Path().iterdir()] == ["birds.csv"]


def test_fit_prints_the_facts_before_the_work(run: Run, birds: Path) -> None:
    """The facts of fit are those of inspect, on standard error; standard output has the results."""
    facts = run("inspect", birds, *INSPECT).out.splitlines()
    result = run("fit", birds, *INSPECT, *QUICK, "--json")
    assert facts[0] == "birds.csv: 60 rows, 7 columns"
    printed = result.err.splitlines()
    start = printed.index(facts[0])
    assert printed[start : start + len(facts)] == facts
    json.loads(result.out)


def test_a_table_without_labels(run: Run, birds: Path) -> None:
    """Without --labels every column is described, and a line asks for the labels."""
    result = run.done("inspect", birds)
    assert "3 categories: color, species, truth" in result.out
    assert "missing   23 cells of 3 features: species (10), span (7), color (6)" in result.out
    assert "Add --labels COLUMN" in result.out
    facts = read_json(run, "inspect", birds)
    assert (facts["labels"], facts["classes"]) == ([], [])


def test_a_model(run: Run, model: Path) -> None:
    """A model file is described by its method, columns and classes."""
    result = run.done("inspect", model)
    assert "AvgPerceptron, fitted by oneof" in result.out
    assert "species: finch, owl, wren" in result.out
    facts = read_json(run, "inspect", model)
    assert facts["classes"] == ["finch", "owl", "wren"]
    assert facts["columns"][0] == {"name": "span", "kind": "number"}
    assert facts["training"]["rows"] == 60


def test_long_lists_are_cut() -> None:
    """The facts of a wide table with many classes have short lines."""
    columns = [ColumnFacts(f"column{j}", "number", j) for j in range(500)]
    classes = tuple(ClassFacts(f"class{k}", 3, 1) for k in range(900))
    lines = TableFacts("t.csv", 10, columns, ["y"], classes=classes).lines()
    assert max(map(len, lines)) < 250
    text = "\n".join(lines)
    assert "500 numbers: column0, column1, " in text
    assert "124,750 cells of 499 features: column499 (499), " in text
    assert "class0 (a candidate in 3 rows), class1 (3), " in text
    assert "and 892 more; the rarest is class899 (3)" in text


def test_answers_of_annotators(run: Run, birds: Path) -> None:
    """With --answers the facts have the answers, and the rows by the labels that are estimated from them."""
    names, truth = make_birds()["id"], make_birds()["truth"]
    records = [(name, by, label) for name, label in zip(names, truth, strict=True) for by in ("a", "b", "c")]
    pl.DataFrame(records[:-3], ["id", "annotator", "answer"], orient="row").write_csv("answers.csv")
    args = (birds, "--answers", "answers.csv", "--row", "id", "--drop", "truth,species")
    facts = read_json(run, "inspect", *args)
    assert facts["answers"] == {"file": "answers.csv", "answers": 177, "annotators": 3}
    assert (facts["rows"], facts["unlabeled"], facts["labels"]) == (60, 1, [])
    shown = run("inspect", *args)
    assert "  labels    177 answers of 3 annotators in answers.csv: " in shown.out
    fit = run.done("fit", *args, *QUICK)
    assert shown.out.splitlines()[0] in fit.err
    assert shown.out.splitlines()[1] in fit.err


@pytest.mark.parametrize(("batch_rows", "is_complete"), [(20, False), (100, True)])
def test_streams(run: Run, birds: Path, batch_rows: int, is_complete: bool) -> None:
    """With --online the facts are those of the first batch, and nothing is written."""
    args = (birds, "--labels", "species", "--drop", "truth", "--online", "--batch-rows", batch_rows, "--epochs", 3)
    facts = read_json(run, "inspect", *args)
    n = min(batch_rows, 60)
    head = make_birds().head(n)
    assert (facts["rows"], facts["is_complete"]) == (n, is_complete)
    assert facts["unlabeled"] == (head["species"] == "").sum()
    assert {column["name"]: column["missing"] for column in facts["columns"]}["span"] == head["span"].null_count()
    out = run("inspect", *args).out
    assert out.startswith("birds.csv: 60 rows" if is_complete else "birds.csv: the first 20 rows, 8 columns")
    assert [path.name for path in Path().iterdir()] == ["birds.csv"]


def test_a_stream_that_begins_with_one_class(run: Run) -> None:
    """Sorted rows have no description of their labels, but one of their columns."""
    pl.DataFrame({"x": range(40), "y": ["a"] * 30 + ["b"] * 10, "z": [1.5, 2.5] * 20}).write_csv("t.csv")
    result = run.done("inspect", "t.csv", "--labels", "y", "--online", "--batch-rows", 10, "--numeric", "x")
    assert "the labels cannot be described" in result.err
    assert "2 numbers: x, z" in result.out


def test_options_of_a_table_are_refused_for_a_model(run: Run, model: Path) -> None:
    check_error(run, "inspect", model, "--labels", "species", message="--labels needs a table")


def test_several_columns_of_labels_have_one_sentence(run: Run) -> None:
    """`inspect` and `fit` give the same reason and remedy if several columns have labels and numbers."""
    pl.DataFrame({"x": range(60), "label": ["owl", "wren"] * 30, "further": ["2", "[]"] * 30}).write_csv("t.csv")
    results = [run(*command, "t.csv", "--labels", "label,further") for command in (["inspect"], ["fit", *QUICK])]
    assert [result.code for result in results] == [2, 2]
    [message] = {result.err for result in results}
    assert "row 0: column 'label' must contain 0 and 1, as one of several label columns; got 'owl'." in message
    assert "add --weighted if they have weights, or join labels in one column" in message


# -- The findings about a messy table are the same in all commands, at most ten sentences, and all of them in JSON


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
    result = run.done("inspect", "messy.tsv", *LABELS, "--json")
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
    first = read_json(run, "inspect", "messy.tsv", *LABELS, "--online")
    assert first["findings"] == inspected["findings"]


@pytest.mark.usefixtures("messy")
def test_labeling_and_streams_have_the_findings_of_their_rows(run: Run) -> None:
    """`label` and `fit --online` have the sentences about labels and columns; `label` does not look for leaks."""
    found = [Finding.from_dict(one) for one in read_json(run, "inspect", "messy.tsv", *LABELS)["findings"]]
    others = [finding for finding in found if finding.kind != "class leak"]
    result = run.done("label", "messy.tsv", *LABELS, "--export", "out.csv")
    assert describe(others)[:-1] == [note for note in read_notes(result.err) if note in describe(others, None)]
    result = run.done("fit", "messy.tsv", *LABELS, "--online", "--out", "stream")
    notes = json.loads(Path("stream/summary.json").read_text(encoding="utf-8"))["notes"]
    assert describe(replace(finding, rows=()) for finding in found)[:5] == notes[:5]  # classes have no first row


def test_lines_that_a_quoted_cell_joins_are_noted_before_the_names_of_columns(run: Run) -> None:
    """A remark of the reader with an option is about lost rows, and is not cut."""
    lines = ["x,x,label", *(f'{i},"{i},p\n{i},q",{"ab"[i % 2]}' for i in range(40))]
    Path("t.csv").write_text("\n".join(lines))
    found = read_json(run, "inspect", "t.csv", "--labels", "label")["findings"]
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
        ("date order", ["03-04-2021", "05-06-2021"], "--date-format %d-%m-%Y"),
        ("date order", ["03/04/2021 10:30", "05/06/2021 10:30"], "--date-format '%d/%m/%Y %H:%M'"),
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
        listed = read_json(run, "inspect", "t.csv", "--labels", "label", *options)["findings"]
        return [one for one in listed if (one["kind"], one["column"]) == (kind, "x")]

    [finding] = find()
    [note] = describe([Finding.from_dict(finding)])
    assert option in note
    words = shlex.split(option)
    assert find(*words, *["x"] * (len(words) == 1)) == []
    if kind == "unreadable":
        assert "row 0: column 'x'" in run("inspect", "t.csv", "--labels", "label", "--strict").err


@pytest.mark.parametrize(
    ("label", "defect"), [("owl", "only one class occurs ('owl')"), ("", "every row is unlabeled")]
)
def test_labels_that_cannot_be_learned_are_a_note(run: Run, label: str, defect: str) -> None:
    """A table with one class, or without labels, is described, and the note is the error of a fit."""
    make_birds().with_columns(species=pl.lit(label)).write_csv("birds.csv")
    result = run.done("inspect", "birds.csv", "--labels", "species")
    assert f"the labels cannot be described: labels 'species' of birds.csv: {defect}" in result.err
    assert "birds.csv: 60 rows, 8 columns" in result.out
    assert "Add --labels" not in result.out
