"""Tests of the commands with valid input."""

import io
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

import oneof
from oneof import LOORidge, persistence
from oneof.cli import terminal, training
from oneof.comparison import compare, folds, methods
from tests.blobs import Frequencies, draw
from tests.cli.conftest import N_ROWS, QUICK, Run, check_error, make_birds, read_json
from tests.cli.test_audit import make_noisy

OUTPUTS = ["model.skops", "report.html", "summary.json", "training_labels.csv"]


@pytest.mark.figures
def test_fit_writes_four_files_and_no_other(run: Run, birds: Path) -> None:
    """Model, report, disambiguated labels and summary, equal to the output of --json."""
    result = run.done("fit", birds, "--labels", "species", "--truth", "truth", *QUICK, "--json")
    facts = json.loads(result.out)
    assert sorted(file.name for file in Path("birds-oneof").iterdir()) == OUTPUTS
    assert facts["files"] == [f"birds-oneof/{name}" for name in OUTPUTS]
    summary = json.loads(Path("birds-oneof/summary.json").read_text())
    assert summary == {key: value for key, value in facts.items() if key != "files"}
    assert Path("birds-oneof/report.html").read_text(encoding="utf-8").count("<svg") >= 4
    assert (facts["rows"], facts["exact"], facts["partial"], facts["unlabeled"]) == (60, 20, 30, 10)
    assert facts["method"] == "AvgPerceptron"
    assert 0.8 < facts["estimate"]["covering_rate"] <= 1
    assert [f["kind"] for f in facts["features"]] == ["number", "number", "yes/no", "category", "text"]
    assert "'id' is excluded" in result.err


def test_disambiguated_labels_are_candidates(run: Run, model: Path) -> None:
    """Every training row occurs once, with one of its candidates; exact rows keep their label."""
    labels = pl.read_csv("birds-oneof/training_labels.csv").with_columns(pl.col("candidates").fill_null(""))
    birds = make_birds()
    assert labels.columns == ["row", "id", "candidates", "label", "confidence", "truth"]
    assert labels["row"].to_list() == list(range(N_ROWS))
    assert labels["id"].to_list() == birds["id"].to_list()
    assert labels["candidates"].to_list() == birds["species"].to_list()
    for candidates, label, confidence in labels.select("candidates", "label", "confidence").iter_rows():
        assert label in (candidates.split("|") if candidates else ["finch", "owl", "wren"])
        assert 0 < confidence <= 1
        assert confidence == 1 or "|" in candidates or not candidates
    assert (labels["label"] == birds["truth"]).mean() > 0.9


def test_rows_have_the_columns_that_identify_them(run: Run, birds: Path) -> None:
    """Identifiers are texts as in the table, the report shows the first one, and a name of the results is left out."""
    named = make_birds().with_columns(
        id=pl.format("0{}", pl.int_range(N_ROWS)), label=pl.col("id"), nest=pl.format("n{}", pl.int_range(N_ROWS))
    )
    named.write_csv("named.csv")
    assert run("fit", "named.csv", "--labels", "species", "--drop", "truth", *QUICK).code == 0
    assert run("predict", "named-oneof/model.skops", "named.csv").code == 0
    for file in ("named-oneof/training_labels.csv", "named-predictions.csv"):
        written = pl.read_csv(file, infer_schema=False)
        assert written.columns[:3] == ["row", "id", "nest"]
        assert written["id"].to_list() == named["id"].to_list()
        assert set(written["label"]) <= {"finch", "owl", "wren"}
    report = Path("named-oneof/report.html").read_text("utf-8")
    assert "<bdi>id</bdi></th>" in report
    assert run("predict", "named-oneof/model.skops", birds).code == 0
    assert "nest" not in pl.read_csv("birds-predictions.csv").columns


def test_columns_are_kept_on_request(run: Run, model: Path) -> None:
    """--keep copies columns, also features, and does not change the predictions; a wrong name is an error."""
    make_birds(1).with_columns(clip=pl.format("0{}", pl.int_range(N_ROWS))).write_csv("new.csv")
    assert run("predict", model, "new.csv", "--out", "plain.csv").code == 0
    assert run("predict", model, "new.csv", "--out", "kept.csv", "--keep", "clip,span").code == 0
    plain, kept = (pl.read_csv(name, infer_schema=False) for name in ("plain.csv", "kept.csv"))
    table = pl.read_csv("new.csv", infer_schema=False)
    assert plain.columns == ["row", "id", "label", "confidence", "score:finch", "score:owl", "score:wren"]
    assert kept.columns[:3] == ["row", "clip", "span"]
    assert kept.select("clip", "span").equals(table.select("clip", "span"))
    assert kept.drop("clip", "span").equals(plain)
    check_error(
        run, "predict", model, "new.csv", "--keep", "clp", message="column 'clp' does not exist: did you mean 'clip'?"
    )
    make_birds(1).rename({"span": "label"}).with_columns(span=pl.lit(0.0)).write_csv("other.csv")
    assert "the predictions have a column 'label'" in run("predict", model, "other.csv", "--keep", "label").err


def test_predict_reports_rates_if_labels_are_known(run: Run, either: Path) -> None:
    """Covering rate and accuracy match the written predictions; without label columns they are null."""
    birds = make_birds(1)
    birds.write_csv("new.csv")
    facts = read_json(run, "predict", either, "new.csv", "--truth", "truth")
    predictions = pl.read_csv("new-predictions.csv")
    labels, names = predictions["label"], ["finch", "owl", "wren"]
    assert facts["accuracy"] == (labels == birds["truth"]).mean() > 0.9
    labeled = birds["species"] != ""
    covered = [a in b.split("|") for a, b in zip(labels.filter(labeled), birds["species"].filter(labeled), strict=True)]
    assert facts["covering_rate"] == pytest.approx(np.mean(covered))
    scores = predictions.select(f"score:{name}" for name in names).to_numpy()
    assert np.array_equal(np.array(names)[scores.argmax(axis=1)], labels.to_numpy())
    birds.drop("species", "truth").write_csv("bare.csv")
    facts = read_json(run, "predict", either, "bare.csv")
    assert (facts["covering_rate"], facts["accuracy"], facts["rows"]) == (None, None, N_ROWS)


def test_predictions_to_standard_output(run: Run, either: Path) -> None:
    """With --out - no file is written, and the output is CSV, or JSON with the rows."""
    before = sorted(Path.cwd().rglob("*"))
    rows = pl.read_csv(run("predict", either, "birds.csv", "--out", "-").out.encode())
    listed = read_json(run, "predict", either, "birds.csv", "--out", "-")["predictions"]
    assert rows["row"].to_list() == list(range(N_ROWS))
    assert rows["label"].to_list() == [row["label"] for row in listed]
    assert sorted(Path.cwd().rglob("*")) == before


def test_truth_is_used_for_evaluation_only(run: Run, birds: Path) -> None:
    """The model is the same if a column is given as truth or dropped."""
    for out, option in (("a", "--truth"), ("b", "--drop")):
        assert run("fit", birds, "--labels", "species", option, "truth", *QUICK, "--out", out).code == 0
    predictions = []
    for folder in "ab":
        predictions.append(run("predict", f"{folder}/model.skops", birds, "--out", "-").out)
    assert predictions[0] == predictions[1]


def test_outputs_are_replaced(run: Run, model: Path, birds: Path) -> None:
    """A second fit replaces its own files and keeps other files."""
    Path("birds-oneof/mine.txt").write_text("mine")
    old = Path("birds-oneof/summary.json").read_text()
    assert run("fit", birds, "--labels", "species", "--drop", "truth", *QUICK).code == 0
    assert Path("birds-oneof/summary.json").read_text() != old
    assert sorted(file.name for file in Path("birds-oneof").iterdir()) == sorted([*OUTPUTS, "mine.txt"])


def test_datasets_lists_all_data_sets(run: Run) -> None:
    """The command lists the data sets of the library."""
    listed = read_json(run, "datasets")["datasets"]
    assert [entry["name"] for entry in listed] == [info.name for info in oneof.datasets.dataset_info()]
    listing = run("datasets").out
    assert all(entry["name"] in listing for entry in listed)


@pytest.mark.figures
@pytest.mark.slow  # `make demo`, which CI runs, is the same
def test_demo(run: Run) -> None:
    """The printed commands reproduce the predictions of the demo, and its accuracy is above 0.9."""
    facts = read_json(run, "demo", "--out", "shown")
    assert all(Path(file).is_file() for file in facts["files"])
    assert {"report.html", "model.skops", "digits-train.csv", "digits-test.csv"} <= {
        Path(f).name for f in facts["files"]
    }
    training = facts["training"]
    assert min(training["exact"], training["partial"], training["unlabeled"]) > 100
    assert facts["test"]["accuracy"] > 0.9
    predicted = Path("shown/digits-test-predictions.csv").read_text()
    run.done(*facts["commands"][1].split()[1:])
    assert Path("shown/digits-test-predictions.csv").read_text() == predicted


# -- The method of `oneof fit`: the default one, the best of a comparison, the budget, the time and the progress


Only = Callable[..., None]


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Only:
    """Return a function that makes the named methods the default ones."""
    all_estimators = methods.default_estimators

    def select(*names: str) -> None:
        monkeypatch.setattr(
            "oneof.comparison.methods.default_estimators",
            lambda **options: {name: all_estimators(**options)[name] for name in names},
        )

    return select


@pytest.mark.long
def test_best_fits_the_best_method_of_compare(run: Run, birds: Path, only: Only) -> None:
    """`fit` and `compare` see the same folds: same table, same best method; only `fit` writes."""
    only("CLPL", "LOORidge", "PLKNN", "PLSVM")
    before = sorted(Path.cwd().rglob("*"))
    args = [birds, "--labels", "species", "--truth", "truth", "--folds", "2"]
    compared = read_json(run, "compare", *args)
    assert sorted(Path.cwd().rglob("*")) == before
    fitted = read_json(run, "fit", *args, "--method", "best")
    assert len(compared["results"]) > 1
    assert fitted["method"] == compared["best_method"]

    def rates(comparison: dict[str, Any]) -> dict[str, tuple[float, float]]:
        return {r["method"]: (r["covering_rate"], r["accuracy"]) for r in comparison["results"]}

    assert rates(fitted["comparison"]) == rates(compared)
    assert persistence.load("birds-oneof/model.skops").method == compared["best_method"]


def test_the_default_method_needs_no_comparison(run: Run, birds: Path) -> None:
    """By default LOORidge is fitted, for partial, exact and mostly unlabeled rows; the report names it so."""
    partial = make_birds()
    tables = {
        "partial": partial,
        "exact": partial.with_columns(species=pl.col("truth")),
        "mostly unlabeled": partial.with_columns(
            species=pl.when(pl.int_range(pl.len()) % 4 == 0).then("species").otherwise(pl.lit(""))
        ),
    }
    for kind, table in tables.items():
        table.write_csv(birds)
        facts = read_json(run, "fit", birds, "--labels", "species", "--drop", "truth", "--folds", "2")
        assert facts["method"] == "LOORidge", kind
        assert len(facts["comparison"]["results"]) == 1
        assert any("ignores the" in note for note in facts["notes"]) == (kind == "mostly unlabeled")
    report = Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert "the method you named" not in report
    assert "default method" in report


class Fits:
    """Record of the fits of one kind of estimator, by the number of rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, estimator: type) -> None:
        self.rows: list[int] = []
        fit = estimator.fit

        def watch(model: Any, X: Any, y: Any) -> Any:
            self.rows.append(X.shape[0])
            return fit(model, X, y)

        monkeypatch.setattr(estimator, "fit", watch)


@pytest.mark.figures
def test_large_tables_are_fitted_twice(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of cross-validation there is one split, a learning curve on few rows, and the final fit."""
    monkeypatch.setattr(folds, "MAX_ROWS_CROSS_VALIDATION", 40)
    monkeypatch.setattr(training, "MAX_CURVE_ROWS", 20)
    fits = Fits(monkeypatch, oneof.AvgPerceptron)
    args = [birds, "--labels", "species", "--truth", "truth", "--method", "AvgPerceptron"]
    result = run.done("fit", *args, "--json")
    # 50 rows are labeled and 10 unlabeled: 40 + 10 rows of one split; 2, 4, 8, 14 labeled rows; all rows.
    assert fits.rows == [50, 12, 14, 18, 24, 60]
    summary = json.loads(result.out)
    assert summary["evaluation"] == "one split, 50 training rows, 10 held-out rows (not 10 unlabeled rows with a truth)"
    assert summary["headline"]["meaning"].endswith("Rows without a label are excluded (with a true one: 10).")
    assert summary["learning_curve"]["train_sizes"] == [2, 4, 8, 14, 40]
    assert summary["learning_curve"]["covering_rate"][-1] == summary["estimate"]["covering_rate"]
    result = run("fit", *args, "--folds", "2")
    assert "2 folds, 50 held-out rows" in result.out


def test_ctrl_c_fits_the_best_method_so_far(run: Run, birds: Path, only: Only, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second method gives the first one; a second Ctrl-C, in its fit, ends the command without a file."""
    only("CLPL", "PLKNN")
    monkeypatch.setattr(oneof.PLKNN, "fit", Mock(side_effect=KeyboardInterrupt))
    args = [birds, "--labels", "species", "--drop", "truth", "--folds", "2"]
    result = run.done("fit", *args, "--method", "best", "--json")
    facts = json.loads(result.out)
    assert facts["method"] == "CLPL"
    assert facts["learning_curve"] is None
    assert facts["comparison"]["is_interrupted"]
    assert [r["incomplete"] for r in facts["comparison"]["results"]] == [None, "interrupted"]
    assert "No learning curve was measured" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert "the best method so far, CLPL, is fitted" in result.err
    compared = run.done("compare", *args)
    assert "interrupted" in compared.out
    fit, n_fits = oneof.CLPL.fit, []

    def interrupt_third(*call: Any) -> Any:
        n_fits.append(1)
        if len(n_fits) == 3:
            raise KeyboardInterrupt
        return fit(*call)

    monkeypatch.setattr(oneof.CLPL, "fit", interrupt_third)
    result = run("fit", *args, "--method", "best", "--out", "second")
    assert result.code == 130
    assert not Path("second").exists()


def test_the_budget_leaves_methods_out(run: Run, birds: Path, only: Only, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that begin after the budget is used are in the table with the reason, and are not fitted."""
    only("PLKNN", "CLPL")
    fit, now = oneof.CLPL.fit, [0.0]

    def slow(*call: Any) -> Any:
        now[0] += 30.0
        return fit(*call)

    monkeypatch.setattr(folds, "clock", lambda: now[0])
    monkeypatch.setattr(oneof.CLPL, "fit", slow)
    fits = Fits(monkeypatch, oneof.PLKNN)
    args = [birds, "--labels", "species", "--drop", "truth", "--folds", "2", "--budget", "1"]
    result = run.done("fit", *args, "--method", "best")
    assert "left out: the budget is used" in result.out
    assert "comparing 2 methods for up to 1 min (--budget)" in result.err
    assert "left out: the budget is used" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert not fits.rows
    assert run("fit", *args).code == 2  # a budget needs --method best
    check_error(run, "compare", *args[:-1], "0.01", message="no method has finished")


def test_a_comparison_has_a_line_for_each_method_and_phase(run: Run, birds: Path, only: Only) -> None:
    """If standard error is not a terminal, a comparison announces itself, each fit, its end, and the baseline."""
    few = ("AvgPerceptron", "CLPL", "PLKNN")
    only(*few)
    result = run("compare", birds, "--labels", "species", "--drop", "truth,id", "--folds", "3")
    first, *lines = result.err.splitlines()
    assert first == "Note: comparing 3 methods for up to 10 min (--budget); Ctrl-C ends with the best so far."
    words = [line.split(": ")[2].split(" (")[0] for line in lines]
    assert words == [*(text for name in few for text in (f"fitting {name}", name)), "simple baseline"]


# -- Tests of the progress and the steps of commands, and of the table of a comparison -------------------------------


def test_advice_on_parameters_has_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of convergence, which names parameters, has the option that sets them."""
    with terminal.handle_errors(debug=True):
        warnings.simplefilter("always")
        warnings.warn("It did not converge. Increase max_iter.", ConvergenceWarning, stacklevel=1)
        warnings.warn("Rows are equal.", UserWarning, stacklevel=1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("Warning: It did not converge. Increase max_iter. --method NAME:PARAMETER=VALUE sets")
    assert second == "Warning: Rows are equal."


def test_a_bar_appears_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar has its title although no part of the work is done, and the time left after the first part."""
    screen, deadline = io.StringIO(), time.monotonic() + 30  # its thread starts late on a busy machine
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.step("Fitting all rows") as bar:
        while "Fitting all rows" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "left" not in screen.getvalue()
        bar(1, 3, "fold", 600.0)
        while "min left" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "10.0 min left" in screen.getvalue()


def test_the_steps_of_a_fit_include_the_search_for_wrong_labels(run: Run) -> None:
    """A fit of LOORidge has a line for each step; with a noise rate the search is before the last fit."""
    make_noisy().write_csv("noisy.csv")
    fit = ("fit", "noisy.csv", "--labels", "species", "--drop", "truth", "--folds", "2")
    rates, curve, final, search, writing = (
        "Estimating the rates on held-out rows",
        "Measuring the learning curve",
        "Fitting all rows",
        "Looking for wrong labels",
        "Writing the model and the report",
    )
    corrected = [rates, curve, search, "Estimating the rates of the corrected fit", final, writing]
    for option, titles in (((), [rates, curve, final, search, writing]), (("--noise-rate", "auto"), corrected)):
        lines = run(*fit, *option).err.splitlines()
        assert [line for line in lines if line in {f"Note: {title}." for title in corrected}] == [
            f"Note: {title}." for title in titles
        ]


@pytest.mark.parametrize("number", ["7", "1,250.01 s", "100.0 ± 0.0 %"])
def test_a_narrow_table_has_each_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    """Long text and many rates are folded, and not cut."""
    note = "not better than chance, and with fewer answers than all of the others"
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(width=80))
    terminal.print_table("Annotators", ["annotator", *["approx. accuracy"] * 4, "note"], [["Eve", *[number] * 4, note]])
    printed = capsys.readouterr().out.split()
    assert {*note.split(), *number.split()} <= {*printed}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_words_are_whole_in_a_narrow_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """Rates, status words, headers and the legend of at most two lines are not broken; each reason is printed."""

    class Interrupted(Frequencies):
        def fit(self, *_: object) -> "Interrupted":
            raise KeyboardInterrupt

    X, y, truth = draw()
    methods = {"LogisticRegressionWithALongName": Frequencies(), "b": Interrupted(), "c": Interrupted()}
    comparison = compare(X, y, methods, cv=2, truth=truth, refit=False)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(width=width))
    terminal.print_comparison("t.csv", comparison)
    printed = capsys.readouterr().out
    for word in ("interrupted", "accuracy", "covering", "approx.", "b, c: interrupted"):
        assert word in printed
    assert width < 80 or re.search(r" \d+\.\d ± \d+\.\d % ", printed)
    *_, best, approximated = printed.splitlines()
    assert best.startswith("* is the best method. exp. accuracy: ")
    assert approximated.startswith("approx. accuracy: ")
    assert approximated.endswith("Rates are those of all held-out rows; ± is the standard deviation over the folds.")
    terminal.print_comparison("t.csv", compare(X, y, {"it": LOORidge()}, cv=1, refit=False))
    printed = capsys.readouterr().out
    assert "*" not in printed  # a table of one method marks no best one
    assert printed.splitlines()[-1].endswith("± is the binomial standard error.")
