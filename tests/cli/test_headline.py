"""The first rate that `oneof fit` prints and writes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import PLKNN, AvgPerceptron, CandidateSets, compare
from oneof.audit.accuracy import AccuracyEstimate
from oneof.cli.auditing.issues import describe_rest
from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.read_options import ReadOptions
from oneof.cli.training import calibration
from oneof.cli.training.headline import describe_noise
from oneof.likelihoods import softmax
from oneof.model_selection.temperature import evaluate_temperature
from tests.cli.conftest import QUICK, Run


@pytest.fixture
def noisy(run: Run) -> np.ndarray[Any, Any]:
    """Write a table in which a fifth of the labels are wrong; return the true labels."""
    rng = np.random.default_rng(0)
    names = np.array(["finch", "owl", "wren"])
    truth = rng.integers(3, size=240)
    labels = np.where(rng.random(240) < 0.2, (truth + 1 + rng.integers(2, size=240)) % 3, truth)
    X = 3 * np.eye(3)[truth] + rng.normal(size=(240, 3))
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"species": names[labels], "truth": names[truth]}
    pl.DataFrame(columns).write_csv("birds.csv")
    return names[truth]


def test_the_headline_of_wrong_labels_is_the_estimated_accuracy(run: Run, noisy: Any) -> None:
    """The output, the report and the JSON begin with it, and it is closer to the accuracy than the covering rate is."""
    fit = ("fit", "birds.csv", "--labels", "species")
    known = json.loads(run(*fit, "--truth", "truth", "--json").out)
    assert known["headline"]["measure"] == "accuracy"
    accuracy = known["headline"]["value"]
    assert accuracy == known["estimate"]["accuracy"]
    result = run(*fit, "--drop", "truth", "--out", "unknown")
    summary = json.loads(Path("unknown/summary.json").read_text(encoding="utf-8"))
    headline = summary["headline"]
    assert headline["measure"] == "estimated accuracy"
    assert headline["value"] == summary["estimated_accuracy"]["accuracy"]
    low, high = headline["interval"]
    assert low < accuracy < high
    assert abs(headline["value"] - accuracy) < 0.5 * abs(summary["estimate"]["covering_rate"] - accuracy)
    lines = result.out.splitlines()
    assert lines[1].startswith(f"Estimated accuracy: {100 * headline['value']:.1f} % ({100 * low:.1f} to ")
    report = " ".join(Path("unknown/report.html").read_text(encoding="utf-8").split())
    assert report.index("<dt>Estimated accuracy</dt>") < report.index("<dt>Covering rate</dt>")


def test_a_method_without_probabilities_has_the_covering_rate(run: Run, birds: Path) -> None:
    """The sentence says that the accuracy is unknown, and in which direction the rate differs from it."""
    result = run("fit", "birds.csv", "--labels", "species", "--drop", "truth", *QUICK)
    line = result.out.splitlines()[1]
    assert line.startswith("Covering rate: ")
    assert "The accuracy is unknown: lower if wrong predictions are among the labels" in line
    page = Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert page.count("<dt>Covering rate</dt><dd>The fraction") == 1
    assert page.count("<dt>Covering rate</dt>\n") == 1


def test_no_accuracy_is_estimated_from_shared_lists(run: Run) -> None:
    """If rows share lists, a note replaces the estimated accuracy; with true labels the accuracy is theirs."""
    rng = np.random.default_rng(0)
    centers, labels, truth = 3 * rng.normal(size=(8, 3)), [], []
    for _ in range(40):  # recordings of four rows
        listed = rng.choice(8, rng.integers(2, 5), replace=False)
        truth += rng.choice(listed, 4).tolist()
        labels += 4 * ["|".join(f"sp{k}" for k in listed)]
    X = centers[truth] + rng.normal(size=(160, 3))
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"labels": labels, "species": [f"sp{k}" for k in truth]}
    pl.DataFrame(columns).write_csv("recordings.csv")
    fit = ("fit", "recordings.csv", "--labels", "labels", "--folds", "1", "--out", "model")
    result = run(*fit, "--drop", "species")
    assert "many rows share one list of labels" in result.err
    headline = json.loads(Path("model/summary.json").read_text(encoding="utf-8"))["headline"]
    assert headline["measure"] == "covering rate"
    result = run(*fit, "--truth", "species")
    assert "share one list" not in result.err
    headline = json.loads(Path("model/summary.json").read_text(encoding="utf-8"))["headline"]
    assert headline["measure"] == "accuracy"


@pytest.mark.parametrize(("low", "n_notes"), [(0.0, 0), (0.09, 1)])
def test_certain_noise_has_a_note_on_prediction_sets(low: float, n_notes: int) -> None:
    """If the interval of the noise rate is clearly above 0, prediction sets are too large without a correction."""
    notes = describe_noise(AccuracyEstimate(0.8, (0.7, 0.9), 0.12, (low, 0.2), 500))
    assert len(notes) == n_notes
    assert all(note.startswith("about 12 % of the rows have labels without the true one.") for note in notes)
    assert describe_noise(None) == []


@pytest.mark.parametrize(("sharpness", "size"), [(0.02, "low"), (1.0, None), (20.0, "high")])
def test_confidences_that_differ_from_the_accuracy_have_a_note(sharpness: float, size: str | None) -> None:
    """The confidences of 60 or more checked rows are compared with the fraction of correct predictions."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 3))
    proba = softmax(scores)
    truth = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in proba]]
    X, y = rng.normal(size=(300, 2)), CandidateSets.from_labels(truth)
    comparison = compare(X, y, {"PLKNN": PLKNN()}, cv=2, refit=False, keep_predictions=True)
    result = replace(
        comparison.results[0],
        predictions=np.array(["a", "b", "c"])[scores.argmax(axis=1)],
        probabilities=softmax(sharpness * scores),
    )
    measured = replace(comparison, results=(result,))
    evaluation = calibration.evaluate(measured, calibration.checked_codes(y, truth, None), None, 0)
    assert evaluation is not None
    notes = calibration.describe(evaluation, "PLKNN", calibrates=False)
    assert len(notes) == (size is not None)
    assert all(f"are too {size}" in note and "--calibrate" in note for note in notes)


def test_a_temperature_that_does_not_lower_the_loss_is_not_applied() -> None:
    """Probabilities that are calibrated already stay as they are, and the note has both losses."""
    rng = np.random.default_rng(0)
    evaluations = []
    for _ in range(8):
        scores = rng.normal(size=(60, 3))
        proba = softmax(scores)
        codes = np.array([rng.choice(3, p=row) for row in proba])
        evaluations.append(evaluate_temperature(proba, scores.argmax(axis=1), codes))
    assert {one.lowers_loss for one in evaluations} == {True, False}
    for one in evaluations:
        [note] = calibration.describe(one, "PLKNN", calibrates=True)
        assert ("PLKNN are not scaled" in note) == (one.scaled_log_loss >= one.log_loss)
        assert f"{one.log_loss:.3f}" in note


def test_only_labeled_held_out_rows_with_a_true_label_count(run: Run, noisy: Any) -> None:
    """The note and the error state their number, without unlabeled rows and rows that no fold tests."""
    table = pl.read_csv("birds.csv").with_columns(pl.Series("species", noisy))
    shown = pl.int_range(pl.len())
    table = table.with_columns(species=pl.when(shown >= 8).then("species"), truth=pl.when(shown < 66).then("truth"))
    table.write_csv("few.csv")
    fit = ("fit", "few.csv", "--labels", "species", "--truth", "truth", "--method", "PLKNN", "--folds", "2")
    result = run(*fit, "--calibrate", "--json")
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    [note] = [note for note in summary["notes"] if "58 labeled held-out rows with a true label" in note]
    assert summary["confidences"]["is_calibrated"] == ("are scaled by" in note)
    table.with_columns(truth=pl.when(shown < 55).then("truth")).write_csv("fewer.csv")
    refused = run("fit", "fewer.csv", *fit[2:], "--calibrate")
    assert (
        "got 47 labeled ones. Rows without labels, and those in no test subset of a fold, do not count." in refused.err
    )
    split = run("fit", "few.csv", *fit[2:-1], "1", "--groups", "x0", "--calibrate")
    assert "--calibrate needs at least 50 held-out rows" in split.err


def test_a_note_says_why_probabilities_are_not_scaled() -> None:
    """A method with probabilities whose folds are missing is not said to have scores only."""
    X, y = np.arange(40.0)[:, None], np.repeat(["a", "b"], 20)
    comparison = compare(X, y, {"PLKNN": PLKNN()}, cv=4, refit=False, keep_predictions=True)
    result = comparison.results[0]
    reason = "interrupted after 3 of 4 folds"
    result = replace(result, folds=result.folds[:3], incomplete=reason, predictions=None, probabilities=None)
    interrupted = replace(comparison, results=(result,))
    codes = np.repeat([0, 1], 20)
    assert calibration.evaluate(interrupted, codes, None, 0) is None
    assert f"3 of 4 folds are finished ({reason})" in calibration.describe_failure(interrupted)
    scores = compare(X, y, {"perceptron": AvgPerceptron()}, cv=4, refit=False, keep_predictions=True)
    assert calibration.describe_failure(scores).startswith("perceptron has scores only")


def test_classes_ruled_out_by_a_posterior_have_a_note(tmp_path: Path) -> None:
    """Without --rest, classes that a row does not list have probability 0, so that the noise rate is too high."""
    pl.DataFrame({"x": range(4), "y": ["a:0.7|b:0.3", "b:1.0", "a:0.6|c:0.4", "c:1.0"]}).write_csv(tmp_path / "t.csv")
    for kind, rest, n_notes in (("posterior", None, 1), ("posterior", "auto", 0), ("likelihood", None, 0)):
        read_options = ReadOptions(("y",), weighted=True, kind=kind, rest=rest)
        assert len(describe_rest(read_options, prepare(tmp_path / "t.csv", read_options))) == n_notes


def test_an_estimate_by_posteriors_without_rest_has_a_note(run: Run) -> None:
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    labels = [f"{'abc'[i]}:0.7|{'abc'[(i + 1) % 3]}:0.3" for i in k]
    pl.DataFrame({"x": k + 0.1 * rng.normal(size=120), "y": labels}).write_csv("t.csv")
    words = ("fit", "t.csv", "--labels", "y", "--weighted", "--kind", "posterior", "--method", "PLEM", "--folds", "2")
    for more, has_note in (((), True), (("--rest", "auto"), False)):
        summary = json.loads(run(*words, *more, "--json").out)
        assert summary["headline"]["measure"] == "estimated accuracy"
        assert any("add --rest auto" in sentence for sentence in summary["notes"]) == has_note
