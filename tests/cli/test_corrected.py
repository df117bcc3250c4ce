"""Rates of a fit to corrected weights: those of `oneof fit --noise-rate`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from oneof import compare
from oneof.audit import find_label_issues
from oneof.cli.auditing.issues import audit_method
from oneof.cli.tables.inputs import PreparedTable, prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.cli.training import corrected as corrected_module
from oneof.cli.training.corrected import Audit, compare_corrected
from oneof.comparison import Comparison
from oneof.comparison.folds import Task, check_task, make_folds
from tests.cli.conftest import Run

NAMES = np.array(["finch", "owl", "wren"])


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
    pl.DataFrame(columns).write_csv("birds.csv")
    return NAMES[truth]


def prepare_birds(
    label: str = "species", groups: str | None = None
) -> tuple[PreparedTable, dict[str, Any], Task, list[Any], Comparison]:
    """Return the table with its task, three folds, and a comparison of LOORidge without a correction."""
    drop = tuple({"species", "weighted", "truth", "site"} - {label, groups})
    prepared = prepare(Path("birds.csv"), ReadOptions((label,), drop=drop, weighted=label == "weighted", groups=groups))
    methods, _ = resolve_methods(prepared, "LOORidge", 0)
    task = check_task(prepared.frame, prepared.candidates, None)
    splits = make_folds(task, 3, 0, prepared.groups)
    plain = compare(
        prepared.frame,
        prepared.candidates,
        methods,
        cv=splits,
        groups=prepared.groups,
        refit=False,
        keep_predictions="labeled",
    )
    return prepared, methods, task, splits, plain


@pytest.mark.long
@pytest.mark.parametrize(("label", "groups"), [("species", None), ("species", "site"), ("weighted", None)])
def test_corrected_rates_equal_those_of_a_loop_over_the_folds(
    run: Run, noisy: Any, label: str, groups: str | None
) -> None:
    """In each fold, the training rows alone are audited, by their groups, and their corrected weights are fitted."""
    prepared, methods, task, splits, plain = prepare_birds(label, groups)
    result, note = compare_corrected(plain, task, splits, Audit(prepared, "auto", 0.2, 0))
    assert note.startswith("the held-out estimate is that of the corrected fit")
    for train, test in splits:
        rows, sets = prepared.frame[train], prepared.candidates[train]
        sites = None if prepared.groups is None else np.array(prepared.groups)[train]
        auditor = audit_method(prepared, "auto", 0)[1]
        issues = find_label_issues(rows, sets, auditor, groups=sites, noise_rate=0.2, random_state=0)
        model = clone(methods["LOORidge"]).fit(rows, issues.corrected())
        assert result.results[0].predictions is not None
        assert (result.results[0].predictions[test] == model.predict(prepared.frame[test])).all()


def test_checked_rows_of_a_fold_are_not_corrected(run: Run, noisy: Any) -> None:
    """Rows with a checked label keep it in the audit of the training rows of a fold."""
    frame = pl.read_csv("birds.csv").with_row_index()
    checked = pl.when(pl.col("index") % 2 == 0).then(pl.col("species")).alias("checked")
    frame.with_columns(checked).drop("index").write_csv("birds.csv")
    prepared = prepare(Path("birds.csv"), ReadOptions(("species",), drop=("weighted", "truth", "site"), gold="checked"))
    rows = np.arange(200)
    sets, corrected = prepared.candidates[rows], Audit(prepared, "auto", 0.3, 0)(rows)
    np.testing.assert_array_equal(corrected.evidence[::2], sets.evidence[::2])
    assert (corrected.evidence[1::2] != sets.evidence[1::2]).any()


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("no class"), "of a fold failed"), (KeyboardInterrupt(), "was interrupted")]
)
def test_without_corrected_rates_the_comparison_is_as_before(
    run: Run, noisy: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: str
) -> None:
    """If the audit of a fold fails or Ctrl-C ends it, the plain rates remain, and the note says why."""
    prepared, _, task, splits, plain = prepare_birds()

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("oneof.audit.find_label_issues", fail)
    result, note = compare_corrected(plain, task, splits, Audit(prepared, "auto", None, 0))
    assert result is plain
    assert "that of the fit without the correction" in note
    assert reason in note


def test_a_request_to_end_the_process_is_not_an_interruption(
    run: Run, noisy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subclass of KeyboardInterrupt, such as that of SIGTERM, ends the command."""
    prepared, _, task, splits, plain = prepare_birds()

    class Terminated(KeyboardInterrupt):
        pass

    def end(*_: Any, **__: Any) -> None:
        raise Terminated

    monkeypatch.setattr("oneof.audit.find_label_issues", end)
    with pytest.raises(Terminated):
        compare_corrected(plain, task, splits, Audit(prepared, "auto", None, 0))


@pytest.mark.long
def test_with_a_noise_rate_the_rates_are_those_of_the_corrected_fit(run: Run, noisy: Any) -> None:
    """A note states the accuracy with and without the correction, and the headline has no second noise rate."""
    fit = ("fit", "birds.csv", "--labels", "species", "--drop", "site,weighted")
    plain = json.loads(run(*fit, "--truth", "truth", "--json", "--out", "plain").out)["estimate"]["accuracy"]
    result = run(*fit, "--truth", "truth", "--noise-rate", "auto", "--json", "--out", "known")
    corrected = json.loads(result.out)["estimate"]["accuracy"]
    assert f"its accuracy is {100 * corrected:.1f} %, and {100 * plain:.1f} % without the correction" in result.err
    summary = json.loads(run(*fit, "--drop", "truth", "--noise-rate", "auto", "--json", "--out", "unknown").out)
    assert "%" not in summary["headline"]["meaning"]
    low, high = summary["headline"]["interval"]
    assert low < corrected < high
    report = " ".join(Path("unknown/report.html").read_text(encoding="utf-8").split())
    assert "The curve is that of the fit without the correction of weights." in report


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_worse_correction_is_reported(run: Run, noisy: Any, monkeypatch: pytest.MonkeyPatch, loss: float) -> None:
    """If the rate of the corrected fit is lower by more than a point, the note advises against it."""
    prepared, _, task, splits, plain = prepare_birds()
    monkeypatch.setattr(corrected_module, "MIN_LOSS", -1.0 if loss else 1.0)
    _, note = compare_corrected(plain, task, splits, Audit(prepared, "auto", 0.2, 0))
    assert ("does not help" in note) == bool(loss)
