"""Tests of the commands with valid input."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import oneof
from oneof import persistence
from tests.cli.conftest import N_ROWS, QUICK, Run, check_error, make_birds, read_json

OUTPUTS = ["model.skops", "report.html", "summary.json", "training_labels.csv"]


@pytest.mark.figures
def test_fit_writes_four_files_and_no_other(run: Run, birds: Path) -> None:
    """Model, report, disambiguated labels and summary, equal to the output of --json."""
    result = run("fit", birds, "--labels", "species", "--truth", "truth", *QUICK, "--json")
    assert result.code == 0
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
    assert predictions["id"].to_list() == birds["id"].to_list()
    assert predictions.columns == ["row", "id", "label", "confidence", "score:finch", "score:owl", "score:wren"]


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


def test_order_and_extra_columns_do_not_matter(run: Run, model: Path) -> None:
    """Predictions do not depend on the order of columns or on extra columns."""
    birds = make_birds(1)
    birds.write_csv("new.csv")
    birds.select("remark", "color", pl.lit(1).alias("more"), "migrates", "mass", "id", "span").write_csv("other.csv")
    for name in ("new", "other"):
        assert run("predict", model, f"{name}.csv").code == 0
    assert Path("new-predictions.csv").read_text() == Path("other-predictions.csv").read_text()


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
    check_error(run, "fit", birds, "--labels", "species", *QUICK, message="--classes=-1,1")
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
    again = run(*facts["commands"][1].split()[1:])
    assert again.code == 0
    assert Path("shown/digits-test-predictions.csv").read_text() == predicted


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
    for message in (
        "in birds.csv, '?' and 'NA' are read as classes: leave the cells",
        "'OWL' and 'owl' differ only in case,",
    ):
        assert any(note.startswith(message) for note in notes)
        assert f"Note: {message}" in result.err
