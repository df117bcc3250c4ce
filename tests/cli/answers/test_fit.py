"""Answers of annotators on the command line: `oneof fit TABLE --answers FILE`, and the same for compare and audit."""

import html
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.cli.auditing import find_issues
from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.comparison import compare
from oneof.comparison.folds import check_task, make_folds
from oneof.crowd import Answers, CrowdClassifier
from oneof.io import Column, align_columns
from oneof.persistence import load
from oneof.solvers.conformal import candidate_proba
from tests.cli.answers.conftest import ANSWERS, FIT, NAMES, make_answers
from tests.cli.conftest import Run, check_error, make_birds, read_json


@pytest.mark.figures
def test_fit_writes_the_model_the_labels_and_the_annotators(run: Run, table: Path) -> None:
    """The files have the results of CrowdClassifier, and the features exclude the names of the rows."""
    result = run(*FIT)  # with figures
    folder = Path("table-oneof")
    assert {path.name for path in folder.iterdir()} == {
        "annotators.csv", "model.skops", "report.html", "summary.json", "training_labels.csv",
    }  # fmt: skip
    assert "Accuracies of the annotators" in (folder / "report.html").read_text(encoding="utf-8")
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


def test_rows_without_an_answer_have_the_label_of_the_model(run: Run, table: Path) -> None:
    """The votes of rules do not depend on the features: rows without a vote have predictions, not one constant."""
    truth = make_birds()["truth"].to_list()
    votes = [(f"b{i}", f"rule {name}", name) for i, name in enumerate(truth) if i % 3]
    pl.DataFrame(votes, ["id", "worker", "label"], orient="row").write_csv("answers.csv")
    run.done(*FIT)
    labels = pl.read_csv("table-oneof/training_labels.csv")
    predicted = load(Path("table-oneof/model.skops")).predict(pl.read_csv(table))
    assert labels["label"].to_list()[::3] == np.asarray(predicted).tolist()[::3]
    assert len(set(labels["label"].to_list()[::3])) > 1


def test_annotators_who_differ_by_class_are_shown(run: Run, table: Path) -> None:
    """Dan, who sees owls only, has a note, and a table by class in the report; so has Fay, with two answers."""
    few = pl.DataFrame([("b0", "Fay", "owl"), ("b1", "Fay", "wren")], ["id", "worker", "label"], orient="row")
    pl.concat([make_answers(), few]).write_csv("answers.csv")
    result = run.done(*FIT)
    out = " ".join(result.out.split())
    summary = json.loads(Path("table-oneof/summary.json").read_text(encoding="utf-8"))["answers"]
    page = " ".join(html.unescape(Path("table-oneof/report.html").read_text(encoding="utf-8")).split())
    assert "Accuracy by class" in page
    assert "have fewer than 10 answers, and uncertain accuracies: Fay." in out
    for text in summary["notes"]:
        assert text in out
        assert text in page
    by_class = {line["annotator"]: line["by_class"] for line in summary["annotators"]}
    assert {name: [one["class"] for one in line if one["differs"]] for name, line in by_class.items()} == {
        "Ann": [], "Bob": [], "Cem": [], "Dan": NAMES, "Fay": [],
    }  # fmt: skip
    assert [one["accuracy"] > 0.5 for one in by_class["Dan"]] == [False, True, False]
    assert summary["few_answers"] == ["Fay"]
    assert len(summary["pairs"]) == 10
    lines = {line["annotator"]: line for line in pl.read_csv("table-oneof/annotators.csv").iter_rows(named=True)}
    assert [name for name, line in lines.items() if line["few_answers"]] == ["Fay"]
    assert [line["differs_in"] for line in lines.values()] == ["", "", "", "finch|owl|wren", ""]


def test_label_matrices_are_read_as_rules(run: Run, table: Path) -> None:
    """Columns of one label are votes of rules: a note says so, no column is dropped, and --rules no says otherwise."""
    birds = make_birds().drop("species")
    truth = np.array(birds["truth"].to_list())
    rng, votes = np.random.default_rng(0), {"id": birds["id"]}
    for j, name in enumerate(NAMES * 2):
        fires = rng.random(60) < np.where(truth == name, 0.7, 0.05)
        votes[f"lf{j}"] = [name if fire else None for fire in fires]
    pl.DataFrame(votes).write_csv("rules.csv")
    args = ("fit", "table.csv", "--answers", "rules.csv", "--row", "id", *FIT[-6:], "--json")
    result = run.done(*args)
    answers = json.loads(result.out)["answers"]
    assert answers["rules"]
    assert len(answers["annotators"]) == 6
    assert "The sources are read as rules" in result.err
    assert "about given rows, add --rules no." in result.err
    assert "Answers" not in result.err
    labels = pl.read_csv("table-oneof/training_labels.csv").filter(pl.col("candidates") != "")
    assert (labels["label"] == labels["truth"]).mean() > 0.85
    assert not json.loads(run(*args, "--rules", "no").out)["answers"]["rules"]


def test_no_accuracy_is_printed_that_the_answers_do_not_identify(run: Run, table: Path) -> None:
    """The agreement of two annotators does not show which one is right: the table and the headline have none."""
    make_answers().filter(pl.col("worker").is_in(["Ann", "Bob"])).write_csv("answers.csv")
    summary = read_json(run, *FIT)
    assert [line["accuracy"] for line in summary["answers"]["annotators"]] == [None, None]
    assert summary["estimated_accuracy"] is None
    assert any("does not show which one is right" in note for note in summary["answers"]["notes"])
    unknown = pl.read_csv("table-oneof/annotators.csv")["accuracy", "no_better_than_chance"].null_count()
    assert unknown.row(0) == (2, 2)


def test_fit_is_that_of_the_classifier(run: Run, table: Path) -> None:
    """The accuracies and the predictions equal those of CrowdClassifier around the same pipeline."""
    summary = read_json(run, *FIT)
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
    result = run.done("predict", "table-oneof/model.skops", "table.csv", "--truth", "truth", "--out", "new.csv")
    assert "covering rate" not in result.out + result.err
    assert pl.read_csv("new.csv")["label"].to_list() == model.predict(frame).tolist()


def test_gold_rows_have_their_labels(run: Run, table: Path) -> None:
    """Known labels are used in training, and the model scores tables that have their column."""
    birds = make_birds()
    known = pl.when(pl.arange(0, 60) < 12).then(pl.col("truth")).otherwise(None)
    birds.drop("species").with_columns(checked=known).write_csv("table.csv")
    run.done(*FIT, "--gold", "checked")
    labels = pl.read_csv("table-oneof/training_labels.csv")
    assert labels["label"][:12].to_list() == birds["truth"][:12].to_list()
    assert labels["confidence"][:12].to_list() == pytest.approx([1.0] * 12)
    assert labels["checked"].to_list() == [row < 12 for row in range(60)]
    model = load("table-oneof/model.skops")
    assert "checked" not in dict(model.columns)
    assert model.label_columns == ["checked"]
    assert "--gold checked" in Path("table-oneof/report.html").read_text(encoding="utf-8")


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize("method", ["LOORidge", "PLEM"])
def test_prediction_sets_of_answers(run: Run, table: Path, method: str) -> None:
    """The labels of calibration rows have the probabilities by the answers and the predictions of the comparison."""
    args = ("fit", "table.csv", *ANSWERS, "--drop", "truth", "--method", method, "--folds", "3", "--json")
    summary = json.loads(run(*args).out)
    calibration = load("table-oneof/model.skops").calibration
    rows = calibration["rows"]
    columns = {"row": "id", "annotator": "worker", "answer": "label"}
    options = ReadOptions(answers_file=Path("answers.csv"), **columns, drop=("truth",))
    prepared = prepare(Path("table.csv"), options)
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
    words = ("predict", "table-oneof/model.skops", "table.csv", "--coverage", "0.9", "--truth", "truth")
    assert read_json(run, *words)["prediction_sets"]["coverage"] >= 0.8


def test_sets_of_collapsed_labels_cover_the_calibration_rows(run: Run) -> None:
    """If one class explains all votes, the final model is a constant, and its sets still have the true labels.

    Its probabilities differ from those of the held-out models, which are fitted to fewer rows.
    """
    rng = np.random.default_rng(1)
    names, n = np.array(["bill", "order"]), 200
    truth = (rng.random(n) < 0.35).astype(int)
    X = 1.5 * truth[:, None] + rng.normal(size=(n, 2))
    index = [f"m{i}" for i in range(n)]
    columns = {"id": index, "x0": X[:, 0], "x1": X[:, 1], "truth": names[truth]}
    pl.DataFrame(columns).write_csv("mails.csv")
    votes = {}
    for j in range(6):
        share = np.where(truth == j % 2, 0.4, 0.1)
        votes[f"rule{j}"] = [str(names[j % 2]) if vote else None for vote in rng.random(n) < share]
    pl.DataFrame({"id": index, **votes}).write_csv("votes.csv")
    fit = ("fit", "mails.csv", "--answers", "votes.csv", "--row", "id", "--rules", "no", "--truth", "truth")
    result = run.done(*fit, "--method", "LOORidge", "--folds", "3", "--out", "model")
    labels = pl.read_csv("model/training_labels.csv")["label"].drop_nulls()
    assert labels.n_unique() == 1
    result = run("predict", "model/model.skops", "mails.csv", "--coverage", "0.9", "--truth", "truth", "--json")
    assert json.loads(result.out)["prediction_sets"]["coverage"] >= 0.9


def test_compare_and_audit_have_the_labels_of_fit(run: Run, table: Path) -> None:
    """`compare` has the held-out estimate of `fit`, and `audit` the issues of the weights by the answers."""
    fitted = read_json(run, *FIT)
    compared = run("compare", *FIT[1:], "--json")
    assert json.loads(compared.out)["results"][0]["covering_rate"] == fitted["estimate"]["covering_rate"]
    assert compared.err.count("the rates are approximate") == 1
    prepared = prepare(Path("table.csv"), ReadOptions(answers_file=Path("answers.csv"), row="id"))
    expected = find_issues(prepared, "PLKNN", folds=5)[1]
    audit = ("audit", "table.csv", "--answers", "answers.csv", "--row", "id", "--method", "PLKNN")
    assert read_json(run, *audit, "--out", "issues.csv")["n_wrong"] == pytest.approx(expected.n_wrong)
    issues = pl.read_csv("issues.csv")
    assert issues["id"].to_list() == [f"b{row}" for row in issues["row"]]
    assert issues["first_wrong"].to_list() == issues["first_wrong"].sort(descending=True, nulls_last=True).to_list()


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
    result = run.done("audit", "table.csv", "--answers", "answers.csv", "--row", "id")
    assert re.search(r"\b(owl|wren): Ann, Bob, Cem", result.out)


def test_an_audit_does_not_overwrite_the_answers(run: Run, table: Path) -> None:
    check_error(run, "audit", "table.csv", *ANSWERS, "--out", "answers.csv", message="answers.csv is an input file")


def test_true_labels_in_the_same_table_are_not_an_annotator(run: Run) -> None:
    """If the table itself has the answers, the columns of --truth and --groups are not among the annotators."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)
    given = {f"ann{j}": np.where(rng.random(60) < 0.8, truth, rng.integers(3, size=60)) for j in range(3)}
    labels = {name: np.array(["finch", "owl", "wren"])[codes] for name, codes in {**given, "truth": truth}.items()}
    columns = {"id": [f"r{i}" for i in range(60)], "mass": truth + 0.3 * rng.normal(size=60), **labels}
    pl.DataFrame(columns).write_csv("birds.csv")
    options = ("--answers", "birds.csv", "--row", "id", "--truth", "truth", "--drop", ",".join(given), "--folds", "1")
    check_error(run, "fit", "birds.csv", *options, message="almost no label of 'mass' is in another column")
    run("fit", "birds.csv", *options, "--exclude-annotator", "mass", "--method", "CLPL")
    assert pl.read_csv("birds-oneof/annotators.csv")["annotator"].sort().to_list() == list(given)
