"""Prediction sets on the command line: `oneof predict --coverage`, and their section of the report of `oneof fit`."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets, persistence
from oneof.cli import training
from oneof.cli.auditing import find_issues
from oneof.cli.options import CoverageGroup, ReadOptions
from oneof.cli.prediction import print_sets
from oneof.cli.tables.inputs import prepare
from oneof.solvers.conformal import calibrate, candidate_proba, class_scores, p_values, prediction_sets
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json
from tests.cli.test_audit import make_noisy

FIT = ("--labels", "species", "--method", "PLKNN", "--folds", "3", "--drop", "truth")


@pytest.fixture
def model(run: Run) -> Path:
    """Fit on noisy numbers, so that sets have several classes."""
    noisy().write_csv("birds.csv")
    assert run("fit", "birds.csv", *FIT, "--out", "out").code == 0
    return Path("out/model.skops")


def noisy() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    birds = make_birds().select("mass", "species", "truth")
    return birds.with_columns(mass=pl.col("mass") + pl.Series(3 * rng.normal(size=len(birds))))


def predicted_sets() -> CandidateSets:
    frame = pl.read_csv("birds-predictions.csv")
    return CandidateSets.from_strings(frame["set"].to_list(), classes=["finch", "owl", "wren"])


BY_CLASS = {"calibration": "conservative", "class_conditional": True}


@pytest.mark.parametrize(
    ("coverage", "options", "arguments", "note"),
    [
        (0.9, (), {"calibration": "conservative"}, ""),
        (0.97, (), {"calibration": "conservative"}, "most prediction sets have all classes"),
        (0.9, ("--calibration", "sampled"), {"calibration": "sampled"}, ""),
        (0.9, ("--calibration", "optimistic"), {"calibration": "optimistic"}, ""),
        (0.8, ("--class-conditional",), BY_CLASS, "most prediction sets have all classes"),
        (0.97, ("--class-conditional",), BY_CLASS, "requires at least 33 calibration rows of each class"),
    ],
)
def test_sets_are_those_of_the_held_out_rows(
    run: Run, model: Path, coverage: float, options: tuple[str, ...], arguments: dict[str, Any], note: str
) -> None:
    """The sets are those of the p-values of the stored held-out probabilities; the file has their sizes."""
    saved = persistence.load(model)
    proba, evidence = saved.calibration["proba"].astype(float), saved.calibration["evidence"]
    assert len(proba) == 50  # the labeled rows
    labels = CandidateSets.from_strings(noisy()["species"].to_list())
    np.testing.assert_array_equal(evidence, labels.mask[saved.calibration["rows"]])
    new = saved.pipeline.predict_proba(noisy().select("mass")).astype(np.float32).astype(float)
    result = run.done("predict", model, "birds.csv", "--coverage", coverage, *options)
    calibration = calibrate(class_scores(proba, "lac"), proba, evidence, **arguments)
    expected = prediction_sets(p_values([calibration], [class_scores(new, "lac")]), coverage, new)
    np.testing.assert_array_equal(predicted_sets().mask, expected)
    np.testing.assert_array_equal(pl.read_csv("birds-predictions.csv")["set_size"], expected.sum(axis=1))
    assert f"Prediction sets (nominal coverage {100 * coverage:.1f} %)" in result.out
    assert note in result.err


def test_coverage_is_reported(run: Run, model: Path) -> None:
    """With true labels the summary has the coverage by class and by size; without them, that of single labels."""
    words = ("predict", model, "birds.csv", "--coverage", "0.8", "--json")
    result = json.loads(run(*words, "--truth", "truth").out)["prediction_sets"]
    inside = predicted_sets().mask[np.arange(60), [["finch", "owl", "wren"].index(t) for t in noisy()["truth"]]]
    assert result["coverage"] == pytest.approx(inside.mean())
    assert result["n_exact"] == 60
    assert sum(group["n_rows"] for group in result["by_class"]) == sum(g["n_rows"] for g in result["by_size"]) == 60
    assert json.loads(run(*words).out)["prediction_sets"]["n_exact"] < 60
    noisy().drop("species", "truth").write_csv("new.csv")
    bare = read_json(run, "predict", model, "new.csv", "--coverage", "0.8")["prediction_sets"]
    assert set(bare) == {"nominal_coverage", "mean_size", "calibration"}
    several = int((~CandidateSets.from_strings(noisy()["species"].to_list()).is_exact).sum()) - 10  # unlabeled rows
    assert bare["calibration"].pop("guarantee").startswith("About 80 % of new rows like the calibration rows have")
    assert bare["calibration"] == {"rule": "conservative", "rows": 50, "several_candidates": several, "groups": None}
    assert "prediction_sets" not in read_json(run, "predict", model, "new.csv")


def test_the_rows_for_which_the_coverage_is_are_named(run: Run, model: Path) -> None:
    """The output has the guarantee with its population, and a sentence if calibration rows have several candidates."""
    result = run("predict", model, "birds.csv", "--coverage", "0.8")
    assert "The coverage of their prediction sets is not that of new rows, and may be lower." in result.err
    output = result.out
    assert (
        "About 80 % of new rows like the calibration rows have the true label in the set, if every candidate" in output
    )
    assert re.search(r"calibrated by 50 held-out rows, \d+ of them with several candidates[.]", output)
    assert "The coverage may be lower for rows of new groups" in output
    for rule in ("sampled", "optimistic"):
        output = run("predict", model, "birds.csv", "--coverage", "0.8", "--calibration", rule).out
        assert "\nNo guarantee: " in output
    several = pl.concat([noisy()] * 4).with_columns(place=pl.Series([f"p{i // 8}" for i in range(240)]))
    several = several.with_columns(few=pl.Series([f"p{i // 20}" for i in range(240)]))
    several.write_csv("places.csv")
    fit = ("--labels", "species", "--method", "PLKNN", "--folds", "3", "--truth", "truth", "--drop", "few,place")
    for column, few in (("few", " 12 groups calibrate the sets: with fewer than 20 the coverage"), ("place", "\n")):
        assert run("fit", "places.csv", *fit, "--groups", column, "--out", "grouped").code == 0
        output = run("predict", "grouped/model.skops", "birds.csv", "--coverage", "0.8").out
        assert (
            f"About 80 % of rows of new groups, on average over groups, have the true label in the set.{few}" in output
        )
    assert "Each of them was predicted without its group ('place')." in output
    assert "several candidates" not in output


def test_sets_of_python_are_those_of_the_file(run: Run, model: Path) -> None:
    """With `write_full`, the text of a predicted set is that of the file, with all classes if the set is full."""
    result = run("predict", model, "birds.csv", "--coverage", "0.95", "--set-method", "aps")
    assert "use --calibration sampled, without a guarantee" in " ".join(result.err.split())
    texts = pl.read_csv("birds-predictions.csv")["set"].to_list()
    with pytest.warns(
        UserWarning, match='most prediction sets have all classes, .* use calibration="sampled", without'
    ):
        sets = persistence.load(model).predict_set("birds.csv", 0.95, method="aps")
    assert "finch|owl|wren" in texts
    assert sets.to_strings(write_full=True) == texts
    lists = sets.to_strings(separator="[]", write_full=True)
    assert [json.loads(text) for text in lists] == [text.split("|") for text in texts]


@pytest.mark.parametrize(("bounds", "is_shown"), [([0.0, 0.992], False), ([0.7, 0.95], True)])
def test_wide_bounds_of_the_coverage_are_not_reported(
    bounds: list[float], is_shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """If rows have several candidates, the coverage is stated by bounds that are of interest, or as not measurable."""
    print_sets({"nominal_coverage": 0.9, "mean_size": 1.2, "coverage": None, "coverage_bounds": bounds})
    out = capsys.readouterr().out
    assert ("between 70.0 % and 95.0 %" in out) == is_shown
    assert ("not measurable" in out) != is_shown


@pytest.mark.figures
def test_the_report_has_a_section(run: Run, model: Path) -> None:
    """The report and summary.json have coverage and mean size of the sets, by class and by size."""
    page = Path("out/report.html").read_text()
    assert '<h2 id="sets">Prediction sets</h2>' in page
    summary = json.loads(Path("out/summary.json").read_text())["prediction_sets"]
    assert summary["nominal_coverage"] == 0.9
    assert summary["n_rows"] == 50
    assert f"{summary['mean_size']:.2f} classes on average" in " ".join(page.split())
    assert summary["guarantee"].startswith("About 90 % of new rows like the calibration rows have the true label")
    assert summary["guarantee"] in " ".join(page.split())
    assert run("fit", "birds.csv", *FIT[:-2], "--truth", "truth", "--out", "out").code == 0
    assert json.loads(Path("out/summary.json").read_text())["prediction_sets"]["n_exact"] == 50


@pytest.mark.long
def test_corrected_labels_calibrate_by_the_posterior_of_the_audit(run: Run) -> None:
    """With --noise-rate the probabilities of the calibration rows are the posterior, so that the sets are smaller."""
    make_noisy(rate=0.1).write_csv("noisy.csv")
    words = ("fit", "noisy.csv", "--labels", "species", "--drop", "truth", "--json")
    plain, corrected = (json.loads(run(*words, "--out", "out", *more).out) for more in ((), ("--noise-rate", "auto")))
    assert not any("are too large" in sentence for sentence in corrected["notes"])
    sizes = [result["prediction_sets"]["mean_size"] for result in (plain, corrected)]
    assert sizes[1] <= sizes[0]
    assert plain["prediction_sets"]["expected_coverage"] is None
    assert 0.8 < corrected["prediction_sets"]["expected_coverage"] <= 1.0
    assert "of an expected" in Path("out/report.html").read_text()

    prepared = prepare(Path("noisy.csv"), ReadOptions(labels=("species",), drop=("truth",)))
    _, issues = find_issues(prepared, "auto", folds=5, seed=0)
    calibration = persistence.load("out/model.skops").calibration
    posterior = candidate_proba(calibration["proba"].astype(float), calibration["evidence"].astype(float))
    np.testing.assert_allclose(posterior, issues.posterior[calibration["rows"]], atol=2e-3)


def test_checked_rows_calibrate_alone(run: Run) -> None:
    """With 100 true labels or more, the labeled rows that have one calibrate by it; a note compares the confidences."""
    frame = make_noisy(rate=0.2)
    frame = frame.with_columns(truth=pl.when(pl.arange(0, len(frame)) < 120).then("truth"))
    frame.write_csv("noisy.csv")
    words = ("fit", "noisy.csv", "--labels", "species", "--truth", "truth", "--method", "PLEM", "--out", "out")
    summary = read_json(run, *words)
    calibration = persistence.load("out/model.skops").calibration
    np.testing.assert_array_equal(calibration["rows"], np.arange(120))
    names = np.array(["finch", "owl", "wren"])
    assert names[calibration["evidence"].argmax(axis=1)].tolist() == frame["truth"].to_list()[:120]
    assert (calibration["evidence"].sum(axis=1) == 1).all()
    assert any("the confidences of PLEM are too low" in note for note in summary["notes"])
    assert not any("are too large" in note for note in summary["notes"])
    assert 0.8 < summary["prediction_sets"]["coverage"] < 1.0

    frame.with_columns(truth=pl.when(pl.arange(0, len(frame)) < 99).then("truth")).write_csv("noisy.csv")
    assert run(*words).code == 0
    assert len(persistence.load("out/model.skops").calibration["rows"]) == 149  # the labeled rows


def test_rows_are_kept_up_to_a_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many held-out rows, a random sample is kept."""
    monkeypatch.setattr(training, "_MAX_ROWS", 40)
    noisy().write_csv("birds.csv")
    assert run("fit", "birds.csv", *FIT, "--out", "out").code == 0
    kept = persistence.load("out/model.skops").calibration
    assert kept["proba"].shape == kept["evidence"].shape == (40, 3)
    sets = CandidateSets.from_strings(noisy()["species"].to_list())
    np.testing.assert_array_equal(kept["evidence"], sets.mask[kept["rows"]])


def test_models_without_calibration_are_errors(run: Run, birds: Path, model: Path) -> None:
    """Methods with scores only, models of earlier versions and online models have no prediction sets."""
    noisy().write_csv("birds.csv")
    assert run("fit", birds, "--labels", "species", *QUICK, "--out", "scores").code == 0
    assert "Prediction sets" not in Path("scores/report.html").read_text()
    words = ("birds.csv", "--coverage", "0.9")
    check_error(
        run, "predict", "scores/model.skops", *words, message="needs probabilities; AvgPerceptron has scores only"
    )
    saved = persistence.load(model)
    persistence.save("old.skops", dataclasses.replace(saved, calibration=None))
    check_error(run, "predict", "old.skops", *words, message="--coverage needs a model with calibration rows")
    assert run("fit", birds, "--labels", "species", "--online", "--out", "online").code == 0
    check_error(run, "predict", "online/model.skops", *words, message="without --online")


def test_wrong_options_are_errors(run: Run, model: Path) -> None:
    """Options of sets without --coverage, and wrong values, are one sentence."""
    for words, message in (
        (("--coverage", "90"), "--coverage must be above 0 and below 1, such as 0.9; got 90."),
        (("--coverage", "0.9", "--set-method", "raps"), "--set-method must be lac or aps; got 'raps'."),
        (("--coverage", "0.9", "--calibration", "x"), "--calibration must be conservative, sampled or optimistic"),
        (("--set-method", "aps"), "--set-method, --calibration and --class-conditional need --coverage: add it."),
    ):
        check_error(run, "predict", model, "birds.csv", *words, message=message)
    result = run("predict", model, "birds.csv", "--coverage", "0.995")
    expected = "3 of 3 classes are in every prediction set: a coverage of 0.995 requires at least 199 calibration rows."
    assert expected in result.err
    assert predicted_sets().is_unlabeled.all()
    assert CoverageGroup().calibration == "conservative"


@pytest.mark.parametrize("change", ["shape", "values", "type", "names"])
def test_damaged_calibration_is_an_error(model: Path, run: Run, change: str) -> None:
    """A file whose calibration arrays are inconsistent is not loaded."""
    saved = persistence.load(model)
    arrays = dict(saved.calibration)
    if change == "shape":
        arrays["proba"] = arrays["proba"][:, :2]
    elif change == "values":
        arrays["proba"] = arrays["proba"] * np.nan
    elif change == "type":
        arrays = [1, 2]
    else:
        del arrays["evidence"]
    persistence.save("bad.skops", dataclasses.replace(saved, calibration=arrays))
    assert "lacks the description" in run("predict", "bad.skops", "birds.csv").err


def test_sets_are_read_after_a_detected_separator(run: Run) -> None:
    """`fit --labels set` reads the sets as sets if the labels of the training table were separated by " / "."""
    make_noisy().with_columns(pl.col("species").str.replace("|", " / ", literal=True)).write_csv("birds.csv")
    fit = ("--drop", "truth", "--method", "PLEM", "--folds", "2")
    result = run("fit", "birds.csv", "--labels", "species", *fit)
    assert "labels are separated by ' / '" in result.err
    options = ("--coverage", "0.99", "--calibration", "sampled", "--as-labels")
    run.done("predict", "birds-oneof/model.skops", "birds.csv", *options)
    frame = pl.read_csv("birds-predictions.csv")
    assert (frame["set_size"] > 1).any()
    pl.read_csv("birds.csv").with_columns(frame["set"], frame["labels"]).write_csv("again.csv")
    for column, drop, *options in (("set", "labels"), ("labels", "set", "--weighted", "--kind", "posterior")):
        words = ("--labels", column, "--drop", f"truth,species,{drop}", *options)
        facts = read_json(run, "inspect", "again.csv", *words)
        assert len(facts["classes"]) == 3
        if column == "set":
            sizes = [facts["exact"], facts["unlabeled"]]
            assert sizes == [(frame["set_size"] == size).sum() for size in (1, 3)]
