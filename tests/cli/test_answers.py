"""Answers of annotators on the command line: `oneof fit TABLE --answers FILE`."""

import html
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import io
from oneof.cli.answers.files import AnswerOptions, read_answers
from oneof.cli.auditing.issues import find_issues
from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.comparison import compare
from oneof.comparison.folds import check_task, make_folds
from oneof.crowd import Answers, CrowdClassifier
from oneof.io import Column, Overrides, align_columns, read_table
from oneof.persistence import load
from oneof.solvers.conformal import candidate_proba
from tests.cli.conftest import Result, Run, check_error, make_birds

NAMES = ["finch", "owl", "wren"]
ANSWERS = ("--answers", "answers.csv", "--row", "id", "--annotator", "worker", "--answer", "label")
FIT = ("fit", "table.csv", *ANSWERS, "--truth", "truth", "--method", "CLPL", "--folds", "2")
ACCURACIES = {"Ann": 0.95, "Bob": 0.8, "Cem": 0.7, "Dan": 0.0}
"""Probabilities that an annotator does not answer at random."""


def make_answers(seed: int = 1) -> pl.DataFrame:
    """Return answers about the birds: Bob sometimes names two birds, and Dan sees owls only."""
    rng = np.random.default_rng(seed)
    lines = []
    for i, name in enumerate(make_birds()["truth"]):
        for worker, accuracy in ACCURACIES.items():
            if i % 10 == 9 or rng.random() < 0.2:
                continue
            label = name if rng.random() < accuracy else str(rng.choice(NAMES)) if accuracy else "owl"
            other = str(rng.choice([n for n in NAMES if n != label]))
            lines.append((f"b{i}", worker, f"{label}|{other}" if worker == "Bob" and i % 4 == 0 else label))
    return pl.DataFrame(lines, ["id", "worker", "label"], orient="row")


@pytest.fixture
def table(run: Run) -> Path:
    """Write the table without its candidate sets, and the answers, to the working folder."""
    make_answers().write_csv("answers.csv")
    make_birds().drop("species").write_csv("table.csv")
    return Path("table.csv")


def fit(run: Run, *args: Any) -> Result:
    result = run(*FIT, *args)
    assert result.code == 0, result.err
    return result


def test_fit_writes_the_model_the_labels_and_the_annotators(run: Run, table: Path) -> None:
    """The files have the results of CrowdClassifier, and the features exclude the names of the rows."""
    result = fit(run)
    folder = Path("table-oneof")
    assert {path.name for path in folder.iterdir()} == {
        "annotators.csv", "model.skops", "report.html", "summary.json", "training_labels.csv",
    }  # fmt: skip
    model = load(folder / "model.skops")
    assert "id" not in dict(model.columns)
    assert model.classes == NAMES
    labels = pl.read_csv(folder / "training_labels.csv")
    assert labels["id"].to_list() == [f"b{i}" for i in range(60)]
    assert (labels["label"] == labels["truth"]).mean() > 0.9
    annotators = {line["annotator"]: line for line in pl.read_csv(folder / "annotators.csv").iter_rows(named=True)}
    records = make_answers()
    assert {name: line["answers"] for name, line in annotators.items()} == dict(
        records["worker"].value_counts().iter_rows()
    )
    assert all(x["lower"] < x["accuracy"] < x["upper"] for x in annotators.values())
    assert min(annotators, key=lambda name: annotators[name]["accuracy"]) == "Dan"
    assert re.search(r"Krippendorff's alpha is 0.\d\d, and 0.\d\d with the MASI distance", result.out)
    assert "no better than chance" in next(line for line in result.out.splitlines() if "Dan" in line)
    assert result.out.index("Dan") < result.out.index("Ann ")
    assert "Rows with the least certain labels" in result.out


def test_annotators_who_differ_by_class_are_shown(run: Run, table: Path) -> None:
    """Dan, who sees owls only, has a table of accuracies by class, a star, and a note; so has Fay, with two answers."""
    few = pl.DataFrame([("b0", "Fay", "owl"), ("b1", "Fay", "wren")], ["id", "worker", "label"], orient="row")
    pl.concat([make_answers(), few]).write_csv("answers.csv")
    result = fit(run)
    out = " ".join(result.out.split())
    summary = json.loads(Path("table-oneof/summary.json").read_text(encoding="utf-8"))["answers"]
    page = " ".join(html.unescape(Path("table-oneof/report.html").read_text(encoding="utf-8")).split())
    assert "Accuracy by class" in out
    assert "Fay has fewer than 10 answers, so" in out
    for text in (summary["model_reason"], *summary["notes"]):
        assert text in out
        assert text in page
    by_class = {line["annotator"]: line["by_class"] for line in summary["annotators"]}
    assert {name: [one["class"] for one in line if one["differs"]] for name, line in by_class.items()} == {
        "Ann": [], "Bob": [], "Cem": [], "Dan": NAMES, "Fay": [],
    }  # fmt: skip
    assert [one["accuracy"] > 0.5 for one in by_class["Dan"]] == [False, True, False]
    assert summary["few_answers"] == ["Fay"]
    assert len(summary["pairs"]) == 10
    assert all(" and ".join(pair["annotators"]) in out for pair in summary["pairs"])
    lines = {line["annotator"]: line for line in pl.read_csv("table-oneof/annotators.csv").iter_rows(named=True)}
    assert [name for name, line in lines.items() if line["few_answers"]] == ["Fay"]
    assert [line["differs_in"] for line in lines.values()] == ["", "", "", "finch|owl|wren", ""]


def test_copies_among_few_annotators_are_noted(run: Run, table: Path) -> None:
    """The command and the report say that copies may not be found, and name the closest pair."""
    records = make_answers()
    note = "With fewer than 8 annotators, copies of few answers, or in few common rows, may not be found."
    out = fit(run).out
    assert note in out
    assert "every other pair" not in out
    copy = records.filter(pl.col("worker") == "Cem").with_columns(worker=pl.lit("Eve"))
    pl.concat([records, copy]).write_csv("answers.csv")
    result = fit(run)
    pages = result.out, html.unescape(Path("table-oneof/report.html").read_text(encoding="utf-8"))
    lines = {line["annotator"]: line for line in pl.read_csv("table-oneof/annotators.csv").iter_rows(named=True)}
    assert [name for name, line in lines.items() if line["no_better_than_chance"]] == ["Dan"]
    grouped = [name for name, line in lines.items() if line["copies_group"] is not None]
    for page in pages:
        assert note in page
        assert ("Cem and Eve agree far more often than every other pair" in page) == (not grouped)
        assert ("Copies of one another, counted as one" in page) == (grouped == ["Cem", "Eve"])


def test_fit_is_that_of_the_classifier(run: Run, table: Path) -> None:
    """The accuracies and the predictions equal those of CrowdClassifier around the same pipeline."""
    summary = json.loads(fit(run, "--json").out)
    saved = load("table-oneof/model.skops")
    records = make_answers()
    rows = [int(name[1:]) for name in records["id"]]
    listed = [label.split("|") for label in records["label"]]
    frame = align_columns(make_birds(), [Column(name, kind) for name, kind in saved.columns], "birds")
    given = Answers.from_records(rows, records["worker"].to_list(), listed, classes=NAMES, index=np.arange(60))
    model = CrowdClassifier(saved.pipeline, random_state=0).fit(frame, given)
    assert [line["accuracy"] for line in summary["answers"]["annotators"]] == model.annotator_model_.accuracy_.tolist()
    assert summary["answers"]["rounds"] == model.n_iter_
    disputed = summary["answers"]["disputed_rows"][0]
    own = records.filter(pl.col("id") == disputed["name"])
    for worker, label in zip(own["worker"], own["label"], strict=True):
        said = " or ".join(sorted(label.split("|")))
        assert any(line.startswith(f"{said}: ") and worker in line for line in disputed["answers"].split("; "))
    labels = pl.read_csv("table-oneof/training_labels.csv")
    assert labels["label"].to_list() == model.transduction_.tolist()
    result = run("predict", "table-oneof/model.skops", "table.csv", "--truth", "truth", "--out", "new.csv")
    assert result.code == 0, result.err
    assert "covering rate" not in result.out + result.err
    assert pl.read_csv("new.csv")["label"].to_list() == model.predict(frame).tolist()


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "jsonl"])
def test_every_format_gives_the_same_labels(run: Run, table: Path, suffix: str) -> None:
    """The answers can be in each format of tables; lists of JSON lines are sets."""
    first = json.loads(fit(run, "--json").out)
    records, path = make_answers(), Path(f"answers.{suffix}")
    if suffix == "tsv":
        records.write_csv(path, separator="\t")
    elif suffix == "parquet":
        records.write_parquet(path)
    else:
        records.with_columns(pl.col("label").str.split("|")).write_ndjson(path)
    second = json.loads(fit(run, "--json", "--answers", path, "--out", "other").out)
    assert second["answers"] == first["answers"]


def test_gold_rows_have_their_labels(run: Run, table: Path) -> None:
    """Known labels are used in training, and the model scores tables that have their column."""
    birds = make_birds()
    known = pl.when(pl.arange(0, 60) < 12).then(pl.col("truth")).otherwise(None)
    birds.drop("species").with_columns(checked=known).write_csv("table.csv")
    fit(run, "--gold", "checked")
    labels = pl.read_csv("table-oneof/training_labels.csv")
    assert labels["label"][:12].to_list() == birds["truth"][:12].to_list()
    assert labels["confidence"][:12].to_list() == pytest.approx([1.0] * 12)
    assert labels["checked"].to_list() == [row < 12 for row in range(60)]
    model = load("table-oneof/model.skops")
    assert "checked" not in dict(model.columns)
    assert model.label_columns == ["checked"]
    assert "--gold checked" in Path("table-oneof/report.html").read_text(encoding="utf-8")


def test_predictions_have_the_names_of_the_rows(run: Run, table: Path) -> None:
    """The column of the names of rows, which joins the answers, is copied to predictions of another table."""
    fit(run)
    new = make_birds().drop("species").tail(10)
    new.write_csv("new.csv")
    assert run("predict", "table-oneof/model.skops", "new.csv", "--out", "predictions.csv").code == 0
    assert pl.read_csv("predictions.csv")["id"].to_list() == new["id"].to_list()
    new.drop("id").write_csv("new.csv")
    assert run("predict", "table-oneof/model.skops", "new.csv", "--out", "other.csv").code == 0
    assert "id" not in pl.read_csv("other.csv").columns


@pytest.mark.parametrize("is_wide", [False, True])
def test_a_misspelled_answer_is_noted(run: Run, table: Path, is_wide: bool) -> None:
    """The note counts the answers, since the labels of the rows are weights of all classes."""
    records = make_answers().with_columns(pl.col("label").str.replace_all("finch", "goldfinch"))
    records[(records["label"] == "goldfinch").arg_max(), "label"] = "goldfinhc"
    if is_wide:
        records = records.pivot("worker", index="id", values="label")
    records.write_csv("answers.csv")
    result = run(
        *("fit", "table.csv", "--answers", "answers.csv", "--row", "id", "--method", "CLPL", "--folds", "2"),
        *(() if is_wide else ("--annotator", "worker", "--answer", "label")),
    )
    assert "'goldfinhc' (1 answer) and 'goldfinch' (" in " ".join(result.err.split())


def test_results_do_not_depend_on_the_order_of_the_lines(run: Run, table: Path) -> None:
    """Shuffled answers have the same model, accuracies and labels."""
    expected = json.loads(fit(run, "--json").out)["answers"]
    labels = pl.read_csv("table-oneof/training_labels.csv")
    make_answers().sample(fraction=1.0, shuffle=True, seed=0).write_csv("answers.csv")
    given = json.loads(fit(run, "--json").out)["answers"]
    assert given["model_reason"] == expected["model_reason"]
    accuracies = [[line["accuracy"] for line in one["annotators"]] for one in (given, expected)]
    np.testing.assert_allclose(*accuracies, rtol=1e-6)
    other = pl.read_csv("table-oneof/training_labels.csv")
    assert other["label"].to_list() == labels["label"].to_list()
    np.testing.assert_allclose(other["confidence"], labels["confidence"], rtol=1e-6)


def test_integer_names_match_their_text(run: Run, table: Path) -> None:
    """Names of rows are compared as text, and labels may be whole numbers."""
    code = {name: str(k) for k, name in enumerate(NAMES)}
    birds, records = make_birds().drop("species"), make_answers()
    birds.with_columns(id=pl.col("id").str.slice(1), truth=pl.col("truth").replace(code)).write_csv("table.csv")
    numbered = records.filter(~pl.col("label").str.contains("|", literal=True)).with_columns(
        pl.col("id").str.slice(1).cast(pl.Int64), pl.col("label").replace(code).cast(pl.Int64)
    )
    numbered.write_parquet("answers.parquet")
    summary = json.loads(fit(run, "--json", "--answers", "answers.parquet").out)
    assert summary["classes"] == [0, 1, 2]
    assert summary["answers"]["masi_alpha"] is None


def write_answers(**columns: Any) -> None:
    """Write the answers with other columns; None removes a column."""
    removed = [name for name, values in columns.items() if values is None]
    make_answers().with_columns(**{name: columns[name] for name in columns if name not in removed}).drop(
        removed
    ).write_csv("answers.csv")


def at(row: int, column: str, value: str | None) -> dict[str, pl.Expr]:
    return {column: pl.when(pl.arange(0, pl.len()) == row).then(pl.lit(value)).otherwise(pl.col(column))}


@pytest.mark.parametrize(
    ("columns", "args", "message"),
    [
        ({"id": "c" + pl.col("id")}, [], "answers.csv, row 0: no answer is about a row of table.csv: the answers name"),
        (at(3, "id", ""), [], "answers.csv, row 3: column 'id' is empty. Name the row"),
        (at(3, "worker", ""), [], "answers.csv, row 3: column 'worker' is empty. Name the annotator"),
        (at(5, "label", "robin"), ["--classes", "finch,owl,wren"], "robin"),
        (at(5, "label", "owl|"), [], "answers.csv, row 5: 'owl|' contains an empty label"),
        ({"label": pl.lit("owl")}, [], "only one class occurs"),
        ({"label": pl.lit("")}, [], "every row is unlabeled"),
        ({}, ["--row", "idd"], "table.csv: column 'idd' does not exist: did you mean 'id'? --row names a column"),
        ({}, ["--row", "colors"], "column 'colors' does not exist: the columns are"),
        ({"name": "id"}, ["--row", "name"], "which must have the same name in table.csv and answers.csv"),
        ({"key": "id", "id": None}, [], "column 'id' does not exist: the columns are worker, label, key. --row names"),
        ({}, ["--annotator", "work"], "did you mean 'worker'?"),
        ({}, ["--answer", "labl"], "did you mean 'label'?"),
        ({}, ["--answers", "none.csv"], "the file none.csv does not exist"),
        ({}, ["--gold", "color"], "checked labels 'color' of table.csv, row 1: label 'gray' is not one"),
        ({}, ["--gold", "nothing"], "column 'nothing' of checked labels is empty"),
        ({}, ["--labels", "truth"], "--labels cannot be combined with --answers: name checked labels by --gold"),
        ({}, ["--weighted", "--kind", "posterior"], "--weighted cannot be combined with --answers"),
        ({}, ["--online"], "--online cannot be combined with --answers"),
        ({}, ["--out", "."], "answers.csv"),
    ],
)  # fmt: skip
def test_bad_answers(run: Run, table: Path, columns: Any, args: list[str], message: str) -> None:
    """Each defect is one sentence, and no file is written."""
    if args == ["--out", "."]:
        make_answers().write_csv("annotators.csv")
        args, message = [*args, "--answers", "annotators.csv"], "annotators.csv is an input file"
    write_answers(**columns)
    make_birds().drop("species").with_columns(nothing=pl.lit("")).write_csv("table.csv")
    check_error(run, *FIT, *args, message=message)


def test_an_annotator_with_empty_labels_only_is_omitted(run: Run, table: Path) -> None:
    """The note is that of an export, and records are named by their line of the file."""
    empty = {"label": pl.when(pl.col("worker") == "Ann").then(pl.lit("")).otherwise(pl.col("label"))}
    write_answers(**empty)
    assert "annotators without answers are omitted: 'Ann'." in fit(run).err
    assert "Ann" not in pl.read_csv("table-oneof/annotators.csv")["annotator"].to_list()
    record = make_answers()["worker"].to_list().index("Bob", 3)
    make_answers().with_columns(**empty).with_columns(**at(record, "id", "b99")).write_csv("answers.csv")
    note = f"answers are omitted, since table.csv does not have their 1 rows, such as 'b99' (answers.csv, row {record})"
    assert note in fit(run).err


def test_answers_about_other_rows_are_omitted(run: Run, table: Path) -> None:
    """A table of some of the rows is fitted to the answers about them, and a note has the number of the others."""
    make_birds().drop("species").head(40).write_csv("part.csv")
    known = make_answers().filter(pl.col("id").is_in([f"b{i}" for i in range(40)]))
    n_other = make_answers().height - known.height
    args = ("--truth", "truth", "--method", "CLPL", "--folds", "2")
    result = run("fit", "part.csv", *ANSWERS, *args, "--out", "a")
    assert f"Note: {n_other} of {make_answers().height} answers are omitted" in result.err
    known.write_csv("answers.csv")
    assert run("fit", "part.csv", *ANSWERS, *args, "--out", "b").code == 0
    labels = [pl.read_csv(f"{folder}/training_labels.csv")["label"].to_list() for folder in ("a", "b")]
    assert labels[0] == labels[1]


def test_the_estimated_accuracy_contains_that_of_the_held_out_predictions(run: Run, table: Path) -> None:
    """Without true labels, the answers have an estimate like any other weights."""
    args = ("fit", "table.csv", *ANSWERS, "--method", "PLEM", "--folds", "2", "--json")
    accuracy = json.loads(run(*args, "--truth", "truth", "--out", "a").out)["headline"]["value"]
    headline = json.loads(run(*args, "--drop", "truth", "--out", "b").out)["headline"]
    assert headline["measure"] == "estimated accuracy"
    assert headline["interval"][0] <= accuracy <= headline["interval"][1]
    make_answers().unique("id", keep="first", maintain_order=True).write_csv("answers.csv")
    single = json.loads(run(*args, "--drop", "truth", "--out", "c").out)
    assert single["headline"]["measure"] != "estimated accuracy"
    assert single["estimated_accuracy"] is None


@pytest.mark.parametrize("method", ["LOORidge", "PLEM"])
def test_prediction_sets_of_answers(run: Run, table: Path, method: str) -> None:
    """The labels of calibration rows have the probabilities by the answers and the predictions of the comparison."""
    args = ("fit", "table.csv", *ANSWERS, "--drop", "truth", "--method", method, "--folds", "3", "--json")
    summary = json.loads(run(*args).out)
    calibration = load("table-oneof/model.skops").calibration
    rows = calibration["rows"]
    answers = AnswerOptions(Path("answers.csv"), "id", "worker", "label")
    prepared = prepare(Path("table.csv"), ReadOptions((), answers=answers, overrides=Overrides(drop=("truth",))))
    methods, _ = resolve_methods(prepared, method, 0)
    task = check_task(prepared.frame, prepared.candidates, None)
    folds = make_folds(task, 3, 0)
    comparison = compare(
        prepared.frame, prepared.candidates, methods, cv=folds, refit=False, keep_predictions="labeled", random_state=0
    )
    prior = comparison.results[0].probabilities[np.searchsorted(comparison.held_out_rows, rows)]
    expected = candidate_proba(prior, prepared.candidates[rows].evidence)
    stored = candidate_proba(calibration["proba"].astype(float), calibration["evidence"].astype(float))
    np.testing.assert_allclose(stored, expected, atol=2e-3)
    assert summary["prediction_sets"]["coverage"] is None
    assert 0.8 < summary["prediction_sets"]["expected_coverage"] <= 1.0
    report = Path("table-oneof/report.html").read_text()
    assert "by the answers and held-out predictions" in " ".join(report.split())
    result = run("predict", "table-oneof/model.skops", "table.csv", "--coverage", "0.9", "--truth", "truth", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["prediction_sets"]["coverage"] >= 0.8


def test_tokens_of_missing_labels_are_no_answers(run: Run, table: Path) -> None:
    """A token of --missing is a missing answer in records and in columns of annotators; a row may have its name."""
    answers = make_answers().with_columns(id=pl.col("id").replace("b0", "unsure"))
    pl.read_csv("table.csv").with_columns(id=pl.col("id").replace("b0", "unsure")).write_csv("table.csv")
    is_unsure = pl.arange(0, pl.len()) % 7 == 3
    for name, label in (("unsure.csv", pl.lit("Unsure")), ("empty.csv", pl.lit(None))):
        given = answers.with_columns(label=pl.when(is_unsure).then(label).otherwise("label"))
        given.write_csv(name)
        given.pivot("worker", index="id", values="label").write_csv(f"wide-{name}")
    rest = ("--row", "id", "--truth", "truth", "--method", "CLPL", "--folds", "2", "--missing", "unsure", "--json")
    found = [
        json.loads(run("fit", "table.csv", "--answers", name, *rest).out)["answers"]["annotators"]
        for name in ("empty.csv", "unsure.csv", "wide-empty.csv", "wide-unsure.csv")
    ]
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert sum(one["answers"] for one in found[0]) == answers.filter(~is_unsure).height


def test_a_column_for_each_annotator(run: Run, table: Path) -> None:
    """A table with the column of the rows and one for each annotator has the result of its records."""
    expected = json.loads(fit(run, "--json").out)["answers"]["annotators"]
    wide = make_answers().pivot("worker", index="id", values="label").select("id", *ACCURACIES)
    wide.with_columns(Nobody=pl.lit("")).write_csv("wide.csv")
    args = ("--answers", "wide.csv", "--row", "id", "--truth", "truth", "--method", "CLPL", "--folds", "2")
    result = run("fit", "table.csv", *args, "--json", "--out", "wide")
    assert result.code == 0, result.err
    annotators = json.loads(result.out)["answers"]["annotators"]
    accuracies = [{line["annotator"]: line["accuracy"] for line in lines} for lines in (annotators, expected)]
    assert accuracies[0] == pytest.approx(accuracies[1])
    assert "wide.csv is read as a table with a column for each of 5 annotators" in result.err
    assert "annotators without answers are omitted: 'Nobody'" in result.err


def test_dates_and_comments_are_not_annotators(run: Run, table: Path) -> None:
    """Columns of other cells than labels are omitted, with a note."""
    wide = make_answers().pivot("worker", index="id", values="label")
    wide.write_csv("wide.csv")
    days = pl.Series([f"2024-05-{1 + i % 28:02}" for i in range(wide.height)])
    remarks = pl.Series([("nice song", None, "a wren, or not")[i % 3] for i in range(wide.height)])
    wide.with_columns(day=days, remark=remarks, changed=days.reverse()).write_csv("more.csv")
    rows = read_table("table.csv", labels=("id",))
    for classes in (None, tuple(NAMES)):
        expected, given = (
            read_answers(AnswerOptions(Path(file), "id"), rows, separator=None, classes=classes)
            for file in ("wide.csv", "more.csv")
        )
        assert given.answers.annotators.tolist() == expected.answers.annotators.tolist()
        assert [given.answers.of_row(row) for row in range(60)] == [expected.answers.of_row(row) for row in range(60)]
        assert any("day, remark and changed have almost no label of another" in note for note in given.notes)


def test_few_or_differently_spelled_answers_are_those_of_an_annotator(run: Run, table: Path) -> None:
    """Three answers that nobody else gave, and names in upper case, do not exclude a column."""
    wide = make_answers().pivot("worker", index="id", values="label")
    rare = pl.Series(["robin" if i < 3 else None for i in range(wide.height)])
    wide.with_columns(pl.col("Ann").str.to_uppercase(), Eve=rare).write_csv("wide.csv")
    rows = read_table("table.csv", labels=("id",))
    given = read_answers(AnswerOptions(Path("wide.csv"), "id"), rows, separator=None, classes=None)
    assert set(given.answers.annotators.tolist()) == {*ACCURACIES, "Eve"}


def test_spellings_of_an_annotator(run: Run, table: Path) -> None:
    """Names that are equal but for case, spaces, underscores and hyphens have a note."""
    names = pl.col("worker").replace({"Dan": "ann "})
    make_answers().with_columns(worker=names).write_csv("answers.csv")
    assert (
        "'Ann' and 'ann ' differ only in case, spaces, underscores or hyphens, and count as different annotators"
        in fit(run).err
    )


def test_a_file_of_answers_is_read_once(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of answers of either form is parsed once."""
    make_answers().pivot("worker", index="id", values="label").write_csv("wide.csv")
    read = io.read_table
    paths: list[str] = []

    def record(path: Any, **options: Any) -> Any:
        paths.append(str(path))
        return read(path, **options)

    monkeypatch.setattr(io, "read_table", record)
    rows = read("table.csv", labels=("id",))
    for options in (AnswerOptions(Path("answers.csv"), "id"), AnswerOptions(Path("wide.csv"), "id")):
        answers = read_answers(options, rows, separator=None, classes=None)
        assert answers.answers.n_answers == make_answers().height
        assert paths == [str(options.path)]
        paths.clear()


def test_default_columns_are_those_of_the_labeling_page(run: Run, table: Path) -> None:
    """Columns item, worker and label are found, and rows without a column of names are numbered."""
    rows = read_table("table.csv", labels=("id",))
    expected = read_answers(
        AnswerOptions(Path("answers.csv"), "id", "worker", "label"), rows, separator=None, classes=None
    )
    records = make_answers()
    numbers = pl.col("id").str.slice(1)
    forms: list[tuple[pl.DataFrame, str | None]] = [
        (records, "id"),
        (records.rename({"id": "item"}), "id"),
        (records.rename({"id": "item", "worker": "annotator", "label": "answer"}), "id"),
        (records.with_columns(numbers).rename({"id": "item"}), None),
        (records.with_columns(numbers).rename({"id": "row", "worker": "annotator"}), None),
    ]
    for form, column in forms:
        form.write_csv("form.csv")
        given = read_answers(AnswerOptions(Path("form.csv"), column), rows, separator=None, classes=None)
        assert [given.answers.of_row(row) for row in range(60)] == [expected.answers.of_row(row) for row in range(60)]


def test_compare_and_audit_have_the_labels_of_fit(run: Run, table: Path) -> None:
    """`compare` has the held-out estimate of `fit`, and `audit` the issues of the weights by the answers."""
    fitted = json.loads(fit(run, "--json").out)
    compared = run("compare", *FIT[1:], "--json")
    assert json.loads(compared.out)["results"][0]["covering_rate"] == fitted["estimate"]["covering_rate"]
    assert compared.err.count("the rates are approximate") == 1
    prepared = prepare(Path("table.csv"), ReadOptions((), answers=AnswerOptions(Path("answers.csv"), "id")))
    expected = find_issues(prepared, "PLKNN", folds=5)[1]
    audit = ("audit", "table.csv", "--answers", "answers.csv", "--row", "id", "--method", "PLKNN")
    audited = run(*audit, "--json", "--out", "issues.csv")
    assert json.loads(audited.out)["n_wrong"] == pytest.approx(expected.n_wrong)
    issues = pl.read_csv("issues.csv")
    assert issues["id"].to_list() == [f"b{row}" for row in issues["row"]]


def test_audit_lists_the_answers_of_suspected_rows(run: Run) -> None:
    """Answers that agree on a wrong label are suspected, with their annotators in place of the weights."""
    birds = pl.concat([make_birds(seed).with_columns(id=f"s{seed}" + pl.col("id")) for seed in range(4)])
    truth = birds["truth"].to_list()
    wrong = {f"s0b{i}": "owl" if truth[i] == "wren" else "wren" for i in range(0, 60, 6)}
    rng = np.random.default_rng(0)
    lines = []
    for name, label in zip(birds["id"], truth, strict=True):
        for worker in ("Ann", "Bob", "Cem"):
            other = str(rng.choice(NAMES)) if rng.random() < 0.1 else label
            lines.append((name, worker, wrong.get(name, other)))
    pl.DataFrame(lines, ["id", "worker", "label"], orient="row").write_csv("answers.csv")
    birds.drop("species", "truth").write_csv("table.csv")
    result = run("audit", "table.csv", "--answers", "answers.csv", "--row", "id")
    assert result.code == 0, result.err
    assert re.search(r"\b(owl|wren): Ann, Bob, Cem", result.out)


@pytest.mark.parametrize("command", ["compare", "audit"])
def test_answers_of_compare_and_audit_exclude_labels(run: Run, table: Path, command: str) -> None:
    """The commands have the checks of `fit`; an input file is not overwritten."""
    check_error(run, command, "table.csv", *ANSWERS, "--labels", "truth", message="--labels cannot be combined with")
    check_error(run, command, "table.csv", message="Add --labels COLUMN, or --answers FILE")
    if command == "audit":
        message = "answers.csv is an input file"
        check_error(run, command, "table.csv", *ANSWERS, "--out", "answers.csv", message=message)


def test_repeated_names_of_rows(run: Run, table: Path) -> None:
    """A row name that the table has twice is an error, and repeated answers are counted in a note."""
    make_birds().drop("species").with_columns(**at(7, "id", "b6")).write_csv("table.csv")
    check_error(run, *FIT, message="table.csv, row 7: column 'id' contains 'b6' twice")
    make_birds().drop("species").write_csv("table.csv")
    records = make_answers()
    pl.concat([records, records.head(2)]).write_csv("answers.csv")
    assert "2 repeated answers (of equal row, annotator and label) count once" in fit(run).err


def test_two_answers_of_an_annotator_to_a_row(run: Run, table: Path) -> None:
    """Different answers are an error that names the record, the annotator, the row and both answers."""
    records = make_answers()
    first = records.row(0)
    second = pl.DataFrame([(first[0], first[1], "wren|owl")], records.schema, orient="row")
    pl.concat([records, second]).write_csv("answers.csv")
    message = f"answers.csv, row {len(records)}: annotator {first[1]!r} answered the row {first[0]!r} twice, with "
    check_error(run, *FIT, message=f"{message}{first[2]!r} and 'owl or wren'. Keep one answer")


def write_label_studio(*, short: bool = False) -> None:
    """Write the answers as an export of Label Studio."""
    tasks: dict[str, list[tuple[str, list[str]]]] = {}
    for name, worker, label in make_answers().iter_rows():
        tasks.setdefault(name, []).append((worker, label.split("|")))
    full = [
        {
            "id": 100 + i,
            "data": {"id": name, "text": "a bird"},
            "annotations": [
                {
                    "id": 1000 * i + j,
                    "completed_by": {"id": j, "email": worker, "first_name": "", "last_name": ""},
                    "was_cancelled": False,
                    "ground_truth": False,
                    "result": [
                        {"from_name": "bird", "to_name": "text", "type": "choices", "value": {"choices": labels}}
                    ],
                }
                for j, (worker, labels) in enumerate(annotations)
            ],
            "predictions": [],
        }
        for i, (name, annotations) in enumerate(tasks.items())
    ]
    brief = [
        {"name": name, "annotator": worker, "bird": labels[0] if len(labels) == 1 else {"choices": labels}}
        for name, annotations in tasks.items()
        for worker, labels in annotations
    ]
    Path("export.json").write_text(json.dumps(brief if short else full))


def write_doccano() -> None:
    """Write the answers as an export of doccano, with a member without labels."""
    with zipfile.ZipFile("export.zip", "w") as archive:
        for (worker,), records in make_answers().group_by("worker", maintain_order=True):
            documents = [
                {"id": 500 + i, "text": "a bird", "label": label.split("|"), "Comments": [], "name": name}
                for i, (name, _, label) in enumerate(records.iter_rows())
            ]
            archive.writestr(f"{worker}.jsonl", "\n".join(map(json.dumps, documents)))
        archive.writestr("admin.jsonl", json.dumps({"id": 1, "text": "a bird", "label": [], "name": "b0"}))


@pytest.mark.parametrize("kind", ["label studio", "short", "doccano"])
def test_exports_of_annotation_tools_give_the_same_labels(run: Run, table: Path, kind: str) -> None:
    """An export gives the results of a table with the same answers."""
    expected = json.loads(fit(run, "--json", "--out", "expected").out)["answers"]["annotators"]
    names = make_birds()["id"]
    make_birds().drop("species").with_columns(name=names).drop("id").write_csv("table.csv")
    if kind == "label studio":
        make_birds().drop("species").write_csv("table.csv")
        write_label_studio()
        args = ["--answers", "export.json", "--row", "id"]
    elif kind == "short":
        write_label_studio(short=True)
        args = ["--answers", "export.json", "--row", "name", "--answer", "bird"]
    else:
        write_doccano()
        args = ["--answers", "export.zip", "--row", "name"]
    result = run("fit", "table.csv", *args, "--truth", "truth", "--method", "CLPL", "--folds", "2", "--json")
    assert result.code == 0, result.err
    annotators = json.loads(result.out)["answers"]["annotators"]
    assert [line["accuracy"] for line in annotators] == pytest.approx([line["accuracy"] for line in expected])
    assert [line["answers"] for line in annotators] == [line["answers"] for line in expected]
    labels = [pl.read_csv(f"{folder}/training_labels.csv")["label"].to_list() for folder in ("table-oneof", "expected")]
    assert labels[0] == labels[1]
    assert ("annotators without answers are omitted: 'admin'" in result.err) == (kind == "doccano")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--row", "name"], "export.json, task 0: the field 'name', which identifies the item, is missing"),
        (["--row", "id", "--answer", "kind"], "export.json has no choices of the tag 'kind'"),
        (["--row", "id", "--annotator", "worker"], "--annotator has no use with the export export.json"),
        (["--row", "id", "--classes", "finch,owl"], "export.json, task 0: label 'wren' is not one of the classes"),
        (["--row", "color"], "column 'color' is empty. Name the row"),
    ],
)
def test_bad_exports(run: Run, table: Path, args: list[str], message: str) -> None:
    write_label_studio()
    make_birds().drop("species").with_columns(name=pl.col("id")).write_csv("table.csv")
    check_error(run, "fit", "table.csv", "--answers", "export.json", *args, message=message)


def test_a_task_that_is_not_in_the_table(run: Run, table: Path) -> None:
    """Its answers are omitted, with a note that names the task."""
    write_label_studio()
    make_birds().drop("species").slice(1).write_csv("table.csv")
    args = ("--answers", "export.json", "--row", "id", "--truth", "truth", "--method", "CLPL", "--folds", "2")
    result = run("fit", "table.csv", *args)
    assert result.code == 0, result.err
    assert "does not have their 1 rows, such as 'b0' (export.json, task 0)." in result.err


@pytest.mark.parametrize("option", ["--row", "--annotator", "--answer"])
def test_options_of_answers_need_answers(run: Run, birds: Path, option: str) -> None:
    check_error(run, "fit", "birds.csv", "--labels", "species", option, "id", message=f"{option} needs --answers")
