"""Rates of `oneof fit`: its first number, its notes on confidences and noise, and the rates of a corrected fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from oneof import PLKNN, CandidateSets, compare
from oneof.audit import find_label_issues
from oneof.audit.accuracy import AccuracyEstimate
from oneof.cli import training
from oneof.cli.auditing import describe_rest
from oneof.cli.options import FitOptions, ReadOptions
from oneof.cli.tables.inputs import prepare
from oneof.cli.training import Fit
from oneof.comparison import Comparison
from oneof.likelihoods import softmax
from oneof.model_selection.temperature import evaluate_temperature
from tests.cli.conftest import Run, read_json

NAMES = np.array(["finch", "owl", "wren"])
FIT = ("fit", "birds.csv", "--labels", "species", "--drop", "site,weighted,checked")


@pytest.fixture
def noisy(run: Run) -> np.ndarray[Any, Any]:
    """Write a table in which a fifth of the labels are wrong, with sites and weights; return the true labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=240)
    labels = np.where(rng.random(240) < 0.2, (truth + 1 + rng.integers(2, size=240)) % 3, truth)
    X = 3 * np.eye(3)[truth] + rng.normal(size=(240, 3))
    columns = {f"x{j}": X[:, j] for j in range(3)} | {"species": NAMES[labels], "truth": NAMES[truth]}
    columns |= {"site": [f"s{k}" for k in rng.integers(20, size=240)]}
    columns |= {"weighted": [f"{NAMES[k]}:0.8|{NAMES[(k + 1) % 3]}:0.2" for k in labels]}
    columns |= {"checked": [NAMES[k] if i % 2 == 0 else "" for i, k in enumerate(labels)]}
    pl.DataFrame(columns).write_csv("birds.csv")
    return NAMES[truth]


def test_the_headline_of_wrong_labels_is_the_estimated_accuracy(run: Run, noisy: Any) -> None:
    """The output, the report and the JSON begin with it, and it is closer to the accuracy than the covering rate is."""
    known = read_json(run, *FIT, "--truth", "truth")
    accuracy = known["headline"]["value"]
    assert (known["headline"]["measure"], accuracy) == ("accuracy", known["estimate"]["accuracy"])
    result = run(*FIT, "--drop", "truth", "--out", "unknown")
    summary = json.loads(Path("unknown/summary.json").read_text(encoding="utf-8"))
    headline = summary["headline"]
    assert headline["measure"] == "estimated accuracy"
    assert headline["value"] == summary["estimated_accuracy"]["accuracy"]
    low, high = headline["interval"]
    assert low < accuracy < high
    assert abs(headline["value"] - accuracy) < 0.5 * abs(summary["estimate"]["covering_rate"] - accuracy)
    assert result.out.splitlines()[1].startswith(f"Estimated accuracy: {100 * headline['value']:.1f} % (")
    report = " ".join(Path("unknown/report.html").read_text(encoding="utf-8").split())
    assert report.index("<dt>Estimated accuracy</dt>") < report.index("<dt>Covering rate</dt>")


def test_agreement_with_the_votes_of_rules_is_no_accuracy(run: Run) -> None:
    """The headline says what it measures, also if checked labels identify accuracies of rules; true labels give one."""
    frame = pl.DataFrame({"row": range(120), "x": [k % 3 + 0.01 * k for k in range(120)], "truth": NAMES.tolist() * 40})
    frame = frame.with_columns(checked=pl.when(pl.col("row") < 100).then("truth"))
    frame.write_csv("mails.csv")
    rules = [(i, f"{name}{j}", name) for i, name in enumerate(frame["truth"]) for j in range(2) if i % (j + 2)]
    pl.DataFrame(rules, schema=["row", "annotator", "answer"], orient="row").write_csv("rules.csv")
    fit = ("fit", "mails.csv", "--answers", "rules.csv", "--folds", "2")
    for options in (("--drop", "truth,checked"), ("--drop", "truth", "--gold", "checked")):
        summary = read_json(run, *fit, *options)
        assert summary["headline"]["measure"] == "covering rate"
        assert "This is not the accuracy, which is unknown" in summary["headline"]["meaning"]
    assert summary["answers"]["annotators"][0]["accuracy"] is not None
    assert read_json(run, *fit, "--truth", "truth", "--drop", "checked")["headline"]["measure"] == "accuracy"


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
    fit = ("fit", "recordings.csv", "--labels", "labels", "--folds", "1", "--out", "model", "--json")
    for option, has_note, measure in (("--drop", True, "covering rate"), ("--truth", False, "accuracy")):
        result = run(*fit, option, "species")
        assert ("many rows share one list of labels" in result.err) == has_note
        assert json.loads(result.out)["headline"]["measure"] == measure


@pytest.mark.parametrize(("low", "n_notes"), [(0.0, 0), (0.09, 1)])
def test_certain_noise_has_a_note_on_prediction_sets(low: float, n_notes: int) -> None:
    """If the interval of the noise rate is clearly above 0, prediction sets are too large without a correction."""
    notes = training.describe_noise(AccuracyEstimate(0.8, (0.7, 0.9), 0.12, (low, 0.2), 500))
    assert len(notes) == n_notes
    assert all(note.startswith("about 12 % of the rows have labels without the true one.") for note in notes)
    assert training.describe_noise(None) == []


@pytest.mark.parametrize(("sharpness", "size"), [(0.02, "low"), (1.0, None), (20.0, "high")])
def test_confidences_that_differ_from_the_accuracy_have_a_note(sharpness: float, size: str | None) -> None:
    """The confidences of 50 or more checked rows are compared with the fraction of correct predictions."""
    rng = np.random.default_rng(0)
    scores, names = rng.normal(size=(300, 3)), np.array(["a", "b", "c"])
    codes = np.array([rng.choice(3, p=row) for row in softmax(scores)])
    X, y = rng.normal(size=(300, 2)), CandidateSets.from_labels(names[codes])
    comparison = compare(X, y, {"PLKNN": PLKNN()}, cv=2, refit=False, keep_predictions=True)
    result = replace(comparison.results[0], predictions=names[scores.argmax(axis=1)])
    measured = replace(comparison, results=(result,))
    confidences = training.measure_confidences(measured, codes, softmax(sharpness * scores), 0)
    assert confidences is not None
    notes = training.describe_confidences(confidences, "PLKNN", calibrates=False)
    assert len(notes) == (size is not None)
    assert all(f"are too {size}" in note and "--calibrate" in note for note in notes)
    assert training.measure_confidences(measured, codes, None, 0) is None  # some folds are missing
    assert training.measure_confidences(measured, np.where(np.arange(300) < 49, codes, -1), scores, 0) is None


def test_a_temperature_that_does_not_lower_the_loss_is_not_applied() -> None:
    """Probabilities that are calibrated already stay as they are, and the note has both losses."""
    rng = np.random.default_rng(0)
    evaluations = []
    for _ in range(8):
        scores = rng.normal(size=(60, 3))
        codes = np.array([rng.choice(3, p=row) for row in softmax(scores)])
        evaluations.append(evaluate_temperature(softmax(scores), scores.argmax(axis=1), codes))
    assert {one.lowers_loss for one in evaluations} == {True, False}
    for one in evaluations:
        [note] = training.describe_confidences(one, "PLKNN", calibrates=True)
        assert ("PLKNN are not scaled" in note) == (one.scaled_log_loss >= one.log_loss)
        assert f"{one.log_loss:.3f}" in note


def test_only_labeled_held_out_rows_with_a_true_label_count(run: Run, noisy: Any) -> None:
    """The note and the error state their number, without unlabeled rows and rows that no fold tests."""
    shown, table = pl.int_range(pl.len()), pl.read_csv("birds.csv").drop("site", "weighted", "checked")
    table = table.with_columns(pl.Series("species", noisy))
    table = table.with_columns(species=pl.when(shown >= 8).then("species"), truth=pl.when(shown < 66).then("truth"))
    table.write_csv("few.csv")
    fit = ("--labels", "species", "--truth", "truth", "--method", "PLKNN", "--calibrate", "--folds")
    summary = read_json(run, "fit", "few.csv", *fit, "2")
    [note] = [note for note in summary["notes"] if "58 labeled held-out rows with a true label" in note]
    assert summary["confidences"]["is_calibrated"] == ("are scaled by" in note)
    table.with_columns(truth=pl.when(shown < 55).then("truth")).write_csv("fewer.csv")
    refused = run("fit", "fewer.csv", *fit, "2")
    assert "got 47 labeled ones. Rows without labels, and those in no test subset of a fold, do not" in refused.err
    split = run("fit", "few.csv", *fit, "1", "--groups", "x0")
    assert "--calibrate needs at least 50 held-out rows" in split.err


@pytest.mark.parametrize(("kind", "rest"), [("posterior", None), ("posterior", "auto"), (None, None)])
def test_classes_ruled_out_by_a_posterior_have_a_note(run: Run, kind: Any, rest: str | None) -> None:
    """Without --rest, classes that a row does not list have probability 0, so that the noise rate is too high."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    labels = [f"{'abc'[i]}:0.7|{'abc'[(i + 1) % 3]}:0.3" for i in k]
    pl.DataFrame({"x": k + 0.1 * rng.normal(size=120), "y": labels}).write_csv("t.csv")
    read_options, has_note = ReadOptions(("y",), weighted=True, kind=kind, rest=rest), kind is not None and rest is None
    assert len(describe_rest(prepare(Path("t.csv"), read_options))) == has_note
    words = ("fit", "t.csv", "--labels", "y", "--weighted", "--method", "PLEM", "--folds", "2")
    summary = read_json(run, *words, *(["--kind", kind] if kind else []), *(["--rest", rest] if rest else []))
    assert summary["headline"]["measure"] == "estimated accuracy"
    assert any("add --rest auto" in sentence for sentence in summary["notes"]) == has_note
    assert any("weights of the labels are too close to each other" in sentence for sentence in summary["notes"])


def start_birds(label: str = "species", rate: str = "0.2", **options: Any) -> tuple[Fit, Comparison]:
    """Return a fit of LOORidge on the birds with three folds, and its comparison without a correction."""
    drop = tuple({"species", "weighted", "truth", "site", "checked"} - {label, *options.values()})
    read_options = ReadOptions((label,), drop=drop, weighted=label == "weighted", **options)
    fit = training.start(Path("birds.csv"), read_options, FitOptions(method="LOORidge", folds=3, noise_rate=rate))
    return fit, training.compare_methods(fit)


@pytest.mark.parametrize(
    ("label", "groups"),
    [
        ("species", None),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("species", "site"), ("weighted", None))),
    ],
)
def test_corrected_rates_equal_those_of_a_loop_over_the_folds(
    run: Run, noisy: Any, label: str, groups: str | None
) -> None:
    """In each fold, the training rows alone are audited, by their groups, and their corrected weights are fitted."""
    fit, plain = start_birds(label, groups=groups)
    result, note = training.compare_corrected(fit, plain, lambda *_: None)
    assert note.startswith("the held-out estimate is that of the corrected fit")
    frame = fit.prepared.frame
    for rows, test in fit.splits:
        sites = None if groups is None else np.array(fit.prepared.groups)[rows]
        auditor, sets = fit.methods["LOORidge"], fit.prepared.candidates[rows]
        issues = find_label_issues(frame[rows], sets, auditor, groups=sites, noise_rate=0.2, random_state=0)
        model = clone(auditor).fit(frame[rows], issues.corrected())
        assert result.results[0].predictions is not None
        assert (result.results[0].predictions[test] == model.predict(frame[test])).all()


def test_checked_rows_of_a_fold_are_not_corrected(run: Run, noisy: Any) -> None:
    """Rows with a checked label keep it in the audit of the training rows of a fold."""
    fit, _ = start_birds(rate="0.3", gold="checked")
    rows = np.arange(200)
    sets, corrected = fit.prepared.candidates[rows], training.corrected_sets(fit, rows)
    np.testing.assert_array_equal(corrected.evidence[::2], sets.evidence[::2])
    assert (corrected.evidence[1::2] != sets.evidence[1::2]).any()


@pytest.mark.parametrize("error", [None, ValueError("no class")])
def test_the_note_says_if_the_correction_does_not_help(
    run: Run, noisy: Any, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """A lower rate has an advice; if the audit of a fold fails, the plain rates remain, and the note says why."""
    fit, plain = start_birds()
    if error is not None:
        monkeypatch.setattr(training, "corrected_sets", Mock(side_effect=error))
    for loss, is_worse in ((-1.0, True), (1.0, False)):
        monkeypatch.setattr(training, "MIN_LOSS", loss)
        result, note = training.compare_corrected(fit, plain, lambda *_: None)
        assert (result is plain) == (error is not None)
        assert ("the audit or the fit of a fold failed" in note) == (error is not None)
        assert ("does not help" in note) == (is_worse and error is None)


@pytest.mark.long
def test_with_a_noise_rate_the_rates_are_those_of_the_corrected_fit(run: Run, noisy: Any) -> None:
    """A note states the accuracy with and without the correction, and the headline has no second noise rate."""
    plain = read_json(run, *FIT, "--truth", "truth", "--out", "plain")["estimate"]["accuracy"]
    result = run(*FIT, "--truth", "truth", "--noise-rate", "auto", "--json", "--out", "known")
    corrected = json.loads(result.out)["estimate"]["accuracy"]
    assert f"its accuracy is {100 * corrected:.1f} %, and {100 * plain:.1f} % without the correction" in result.err
    summary = read_json(run, *FIT, "--drop", "truth", "--noise-rate", "auto", "--out", "unknown")
    assert "%" not in summary["headline"]["meaning"]
    low, high = summary["headline"]["interval"]
    assert low < corrected < high
    report = " ".join(Path("unknown/report.html").read_text(encoding="utf-8").split())
    assert "The curve is that of the fit without the correction of weights." in report
