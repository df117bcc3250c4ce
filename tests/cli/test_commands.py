"""Tests of the commands with valid input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oneof
from oneof import persistence
from tests.cli.conftest import N_ROWS, QUICK, Run, make_birds

OUTPUTS = ["model.skops", "report.html", "summary.json", "training_labels.csv"]


def test_fit_writes_four_files_and_no_other(run: Run, birds: Path) -> None:
    """Model, report, disambiguated labels and summary, equal to the output of --json."""
    result = run("fit", birds, "--labels", "species", "--truth", "truth", *QUICK, "--json")
    assert result.code == 0
    facts = json.loads(result.out)
    assert sorted(file.name for file in Path("birds-oneof").iterdir()) == OUTPUTS
    assert facts["files"] == [f"birds-oneof/{name}" for name in OUTPUTS]
    summary = json.loads(Path("birds-oneof/summary.json").read_text())
    assert summary == {key: value for key, value in facts.items() if key != "files"}
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


def test_the_saved_model_is_the_fitted_one(run: Run, model: Path) -> None:
    """The model of the file predicts the same labels as the command."""
    from oneof.io import Column, align_columns

    saved = persistence.load(model)
    birds = make_birds(1)
    birds.write_csv("new.csv")
    result = run("predict", model, "new.csv")
    assert result.code == 0
    frame = align_columns(birds, [Column(*column) for column in saved.columns], Path("new.csv"))
    predictions = pl.read_csv("new-predictions.csv")
    assert predictions["label"].to_list() == saved.pipeline.predict(frame).tolist()
    assert (predictions["label"] == birds["truth"]).mean() > 0.9
    assert predictions["id"].to_list() == birds["id"].to_list()
    assert predictions.columns == ["row", "id", "label", "confidence", "score:finch", "score:owl", "score:wren"]
    scores = predictions.select(predictions.columns[4:]).to_numpy()
    assert np.array_equal(np.array(["finch", "owl", "wren"])[scores.argmax(axis=1)], predictions["label"].to_numpy())


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
    assert kept.columns[:3] == ["row", "clip", "span"]
    assert kept.select("clip", "span").equals(table.select("clip", "span"))
    assert kept.drop("clip", "span").equals(plain)
    result = run("predict", model, "new.csv", "--keep", "clp")
    assert result.code == 2
    assert "column 'clp' does not exist: did you mean 'clip'?" in result.err
    make_birds(1).rename({"span": "label"}).with_columns(span=pl.lit(0.0)).write_csv("other.csv")
    assert "the predictions have a column 'label'" in run("predict", model, "other.csv", "--keep", "label").err


def test_predict_reports_rates_if_labels_are_known(run: Run, model: Path) -> None:
    """Covering rate and accuracy match the written predictions; without label columns they are null."""
    birds = make_birds(1)
    birds.write_csv("new.csv")
    facts = json.loads(run("predict", model, "new.csv", "--truth", "truth", "--json").out)
    labels = pl.read_csv("new-predictions.csv")["label"]
    assert facts["accuracy"] == (labels == birds["truth"]).mean()
    labeled = birds["species"] != ""
    covered = [a in b.split("|") for a, b in zip(labels.filter(labeled), birds["species"].filter(labeled), strict=True)]
    assert facts["covering_rate"] == np.mean(covered)
    birds.drop("species", "truth").write_csv("bare.csv")
    facts = json.loads(run("predict", model, "bare.csv", "--json").out)
    assert (facts["covering_rate"], facts["accuracy"], facts["rows"]) == (None, None, N_ROWS)


def test_predictions_to_standard_output(run: Run, model: Path, birds: Path) -> None:
    """With --out - no file is written, and the output is CSV, or JSON with the rows."""
    before = sorted(Path.cwd().rglob("*"))
    result = run("predict", model, birds, "--out", "-")
    rows = pl.read_csv(result.out.encode())
    listed = json.loads(run("predict", model, birds, "--out", "-", "--json").out)["predictions"]
    assert rows["label"].to_list() == [row["label"] for row in listed]
    assert sorted(Path.cwd().rglob("*")) == before


def test_order_and_extra_columns_do_not_matter(run: Run, model: Path) -> None:
    """Predictions do not depend on the order of columns or on extra columns."""
    birds = make_birds(1)
    birds.write_csv("new.csv")
    birds.select("remark", "color", pl.lit(1).alias("more"), "migrates", "mass", "id", "span").write_csv("other.csv")
    for name in ("new", "other"):
        assert run("predict", model, f"{name}.csv").code == 0
    assert Path("new-predictions.csv").read_text() == Path("other-predictions.csv").read_text()


@pytest.mark.parametrize("suffix", [".tsv", ".parquet", ".jsonl"])
def test_the_format_does_not_matter(run: Run, model: Path, suffix: str) -> None:
    """The same rows in another format, with labels as lists if supported, give the same model."""
    birds = make_birds()
    lists = [text.split("|") if text else None for text in birds["species"]]
    path = Path(f"birds{suffix}")
    if suffix == ".tsv":
        birds.write_csv(path, separator="\t")
    else:
        birds = birds.with_columns(pl.Series("species", lists))
        birds.write_parquet(path) if suffix == ".parquet" else birds.write_ndjson(path)
    result = run("fit", path, "--labels", "species", "--truth", "truth", *QUICK, "--out", "again")
    assert result.code == 0, result.err
    assert Path("again/training_labels.csv").read_text() == Path("birds-oneof/training_labels.csv").read_text()


def test_columns_of_0_and_1(run: Run, model: Path) -> None:
    """An indicator gives the same model as its sets; its columns may be named together or one by one."""
    birds = make_birds()
    names = ["finch", "owl", "wren"]
    columns = {name: [int(not s or name in s.split("|")) for s in birds["species"]] for name in names}
    birds.drop("species").with_columns(**{k: pl.Series(v) for k, v in columns.items()}).write_csv("wide.csv")
    at_once = ["--labels", "finch,owl,wren"]
    one_by_one = [word for name in names for word in ("--labels", name)]
    for out, labels in (("a", at_once), ("b", one_by_one)):
        result = run("fit", "wide.csv", *labels, "--truth", "truth", *QUICK, "--out", out)
        assert result.code == 0, result.err
        assert Path(out, "training_labels.csv").read_text() == Path("birds-oneof/training_labels.csv").read_text()
    facts = json.loads(run("predict", "a/model.skops", "wide.csv", "--json").out)
    assert facts["covering_rate"] > 0.9


def test_numbers_as_labels(run: Run, birds: Path) -> None:
    """Integer labels stay integers in model and predictions; -1 and empty cells are unlabeled."""
    codes = [{"finch": "0", "owl": "1", "wren": "2"}[t] for t in make_birds()["truth"]]
    codes[:4] = ["-1", "", "-1", ""]
    make_birds().with_columns(pl.Series("species", codes)).write_csv(birds)
    result = run("fit", birds, "--labels", "species", "--drop", "truth", *QUICK, "--json")
    facts = json.loads(result.out)
    assert (facts["unlabeled"], facts["classes"]) == (4, [0, 1, 2])
    facts = json.loads(run("predict", "birds-oneof/model.skops", birds, "--out", "-", "--json").out)
    assert {row["label"] for row in facts["predictions"]} == {0, 1, 2}
    assert facts["covering_rate"] > 0.9


def test_signs_need_classes(run: Run, birds: Path) -> None:
    """Labels -1 and 1 are an error without --classes."""
    signs = ["1" if t == "owl" else "-1" for t in make_birds()["truth"]]
    make_birds().drop("truth").with_columns(pl.Series("species", signs)).write_csv(birds)
    result = run("fit", birds, "--labels", "species", *QUICK)
    assert result.code == 2
    assert "--classes=-1,1" in result.err
    result = run("fit", birds, "--labels", "species", "--classes=-1,1", *QUICK, "--json")
    assert json.loads(result.out)["classes"] == [-1, 1]
    assert json.loads(run("predict", "birds-oneof/model.skops", birds, "--json").out)["covering_rate"] > 0.9


def test_a_separator_and_all_classes(run: Run, birds: Path) -> None:
    """Labels may have another separator; --classes may list a class without rows."""
    frame = make_birds()
    frame.with_columns(frame["species"].str.replace("|", " or ", literal=True)).write_csv(birds)
    args = ["--labels", "species", "--separator", " or ", "--classes", "emu,finch,owl,wren", "--drop", "truth"]
    result = run("fit", birds, *args, *QUICK, "--json")
    facts = json.loads(result.out)
    assert facts["classes"] == ["emu", "finch", "owl", "wren"]
    assert facts["partial"] == 30


def test_best_fits_the_best_method_of_compare(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fit` and `compare` see the same folds: same table, same best method; only `fit` writes."""
    from oneof.comparison import methods

    all_estimators = methods.default_estimators
    few = ("CLPL", "LOORidge", "PLKNN", "PLSVM")
    monkeypatch.setattr(
        methods, "default_estimators", lambda **options: {name: all_estimators(**options)[name] for name in few}
    )
    before = sorted(Path.cwd().rglob("*"))
    args = [birds, "--labels", "species", "--truth", "truth", "--folds", "2"]
    compared = json.loads(run("compare", *args, "--json").out)
    assert sorted(Path.cwd().rglob("*")) == before
    result = run("fit", *args, "--method", "best", "--json")
    assert result.code == 0, result.err
    fitted = json.loads(result.out)
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
        result = run("fit", birds, "--labels", "species", "--drop", "truth", "--folds", "2", "--json")
        facts = json.loads(result.out)
        assert facts["method"] == "LOORidge", kind
        assert len(facts["comparison"]["results"]) == 1
        assert any("without a comparison" in note for note in facts["notes"])
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


def test_large_tables_are_fitted_twice(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of cross-validation there is one split, a learning curve on few rows, and the final fit."""
    from oneof.cli.tables import times
    from oneof.comparison import folds

    monkeypatch.setattr(folds, "MAX_ROWS_CROSS_VALIDATION", 40)
    monkeypatch.setattr(times, "MAX_CURVE_ROWS", 20)
    fits = Fits(monkeypatch, oneof.AvgPerceptron)
    args = [birds, "--labels", "species", "--truth", "truth", "--method", "AvgPerceptron"]
    result = run("fit", *args, "--json")
    assert result.code == 0, result.err
    # Samples for the estimate of the time; 50 rows are labeled and 10 unlabeled: 40 + 10 rows of one split; 2, 4, 8, 14
    # labeled rows; all rows.
    assert fits.rows == [15, 15, 30, 50, 12, 14, 18, 24, 60]
    summary = json.loads(result.out)
    assert summary["evaluation"] == "one split, 50 training rows, 10 held-out rows (not 10 unlabeled rows with a truth)"
    assert summary["learning_curve"]["train_sizes"] == [2, 4, 8, 14, 40]
    estimate = summary["estimate"]
    rate, std = estimate["covering_rate"], estimate["covering_rate_std"]
    assert std == pytest.approx((rate * (1 - rate) / 10) ** 0.5)
    assert summary["learning_curve"]["covering_rate"][-1] == rate
    report = " ".join(
        Path("birds-oneof/report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ").split()
    )
    assert (
        "10 rows held out by one split, and a model fitted on 50 other rows; ± is the binomial standard error" in report
    )
    result = run("fit", *args, "--folds", "2")
    assert "2 folds, 50 held-out rows" in result.out


def test_the_time_of_a_fit_is_announced(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time predicted by samples is printed before the first fold."""
    from oneof.comparison import cost

    args = ["fit", birds, "--labels", "species", "--drop", "truth", *QUICK]
    monkeypatch.setattr(cost, "estimate_seconds", lambda *_, **__: 100.0)
    # Two folds of 25 labeled and all 10 unlabeled rows, 1.4 times as many for the curve, the final fit of 60 rows, and
    # three seconds for the files.
    expected = "about 6.4 min (fit, held-out estimate, learning curve and report); about 4.0 min with --folds 1"
    assert f"  method    AvgPerceptron\n  time      {expected}" in run(*args).err


def test_ctrl_c_fits_the_best_method_so_far(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second method gives the first one; a second Ctrl-C, in its fit, ends the command without a file."""
    from oneof.comparison import methods

    all_estimators = methods.default_estimators
    monkeypatch.setattr(
        methods,
        "default_estimators",
        lambda **options: {name: all_estimators(**options)[name] for name in ("CLPL", "AvgPerceptron")},
    )

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(oneof.AvgPerceptron, "fit", interrupt)
    args = [birds, "--labels", "species", "--drop", "truth", "--folds", "2"]
    result = run("fit", *args, "--method", "best", "--json")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert facts["method"] == "CLPL"
    assert facts["learning_curve"] is None
    assert facts["comparison"]["is_interrupted"]
    assert [r["incomplete"] for r in facts["comparison"]["results"]] == [None, "interrupted"]
    assert "No learning curve was measured" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert "CLPL is the best of 1 method" in result.err
    compared = run("compare", *args)
    assert compared.code == 0
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


def test_the_budget_leaves_methods_out(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods whose estimated time exceeds the budget are in the table with the reason, and are not fitted."""
    from oneof.comparison import cost, methods

    all_estimators = methods.default_estimators
    monkeypatch.setattr(
        methods,
        "default_estimators",
        lambda **options: {name: all_estimators(**options)[name] for name in ("PLKNN", "CLPL")},
    )
    monkeypatch.setattr(
        cost, "estimate_fold_seconds", lambda pipeline, *_, **__: 1.0 if "clpl" in pipeline.named_steps else 90.0
    )
    fits = Fits(monkeypatch, oneof.PLKNN)
    args = [birds, "--labels", "species", "--drop", "truth", "--folds", "2", "--budget", "1"]
    result = run("fit", *args, "--method", "best")
    assert result.code == 0, result.err
    assert "left out: about 3.0 min estimated" in result.out
    assert "comparing 2 methods for up to 1 min (--budget)" in result.err
    assert "left out: about 3.0 min estimated" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert not fits.rows
    assert run("fit", *args).code == 2  # a budget needs --method best
    result = run("compare", *args[:-1], "0.01")
    assert result.code == 2
    assert "no method has finished" in result.err


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


def test_tables_for_people(run: Run, birds: Path) -> None:
    """Without --json the output has a table of methods and a list of files."""
    result = run("fit", birds, "--labels", "species", "--truth", "truth", *QUICK)
    assert "60 rows (20 exact, 30 partial, 10 unlabeled), 3 classes" in result.out
    assert "covering rate" in result.out
    assert "accuracy" in result.out
    assert all(f"birds-oneof/{name}" in result.out for name in OUTPUTS)


def test_datasets_lists_all_data_sets(run: Run) -> None:
    """The command lists the data sets of the library."""
    listed = json.loads(run("datasets", "--json").out)["datasets"]
    assert [entry["name"] for entry in listed] == [info.name for info in oneof.datasets.dataset_info()]
    listing = run("datasets").out
    assert all(entry["name"] in listing for entry in listed)


@pytest.mark.slow  # `make demo`, which CI runs, is the same
def test_demo(run: Run) -> None:
    """The printed commands reproduce the predictions of the demo, and its accuracy is above 0.9."""
    result = run("demo", "--out", "shown", "--json")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert all(Path(file).is_file() for file in facts["files"])
    assert {"report.html", "model.skops", "digits-train.csv", "digits-test.csv"} <= {
        Path(f).name for f in facts["files"]
    }
    training = facts["training"]
    assert min(training["exact"], training["partial"], training["unlabeled"]) > 100
    assert facts["test"]["accuracy"] > 0.9
    predicted = Path("shown/digits-test-predictions.csv").read_text()
    again = run(*facts["commands"][1].split()[1:])
    assert again.code == 0
    assert Path("shown/digits-test-predictions.csv").read_text() == predicted


def test_progress_is_only_for_terminals(run: Run, birds: Path) -> None:
    """If standard error is not a terminal, it has the notes, the plan and one line for each step only."""
    result = run("fit", birds, "--labels", "species", "--drop", "truth", *QUICK, "--json")
    lines = result.err.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["Note", "birds.csv"]
    assert all(line.startswith("  ") for line in lines[2:-4])
    assert lines[-4:] == [
        "Note: Estimating the rates on held-out rows (step 1 of 4).",
        "Note: Measuring the learning curve (step 2 of 4).",
        "Note: Fitting all rows (step 3 of 4).",
        "Note: Writing the model and the report (step 4 of 4).",
    ]


def test_a_comparison_has_a_line_for_each_method_and_phase(
    run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If standard error is not a terminal, a comparison announces itself, each fit, its end, and the baseline."""
    from oneof.comparison import methods

    all_estimators, few = methods.default_estimators, ("CLPL", "PLKNN", "AvgPerceptron")
    monkeypatch.setattr(
        methods, "default_estimators", lambda **options: {name: all_estimators(**options)[name] for name in few}
    )
    result = run("compare", birds, "--labels", "species", "--drop", "truth,id", "--folds", "3")
    first, *lines = result.err.splitlines()
    assert first == "Note: comparing 3 methods for up to 10 min (--budget); Ctrl-C ends with the best so far."
    words = [line.split(": ")[2].split(" (")[0] for line in lines]
    assert words == [*(text for name in few for text in (f"fitting {name}", name)), "simple baseline"]


def test_suspicious_labels_are_noted(run: Run) -> None:
    """Each kind of suspicious label is one note, on the screen and in the summary."""
    birds = make_birds()
    labels = [
        "?" if i == 3 else "NA" if i == 4 else "OWL" if cell == "owl" else cell
        for i, cell in enumerate(birds["species"])
    ]
    birds.with_columns(species=pl.Series(labels)).write_csv("birds.csv")
    result = run("fit", "birds.csv", "--labels", "species", "--drop", "truth,id", *QUICK)
    assert result.code == 0, result.err
    notes = json.loads(Path("birds-oneof/summary.json").read_text())["notes"]
    for message in ("'?' and 'NA' are read as classes: leave the cells", "'OWL' and 'owl' differ only in case,"):
        assert any(note.startswith(message) for note in notes)
        assert f"Note: {message}" in result.err
