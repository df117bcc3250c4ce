"""The method of `oneof fit`: the default one, the best of a comparison, the budget, the time and the progress."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oneof
from oneof import persistence
from oneof.cli.training import train
from oneof.comparison import folds, methods
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

Only = Callable[..., None]


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Only:
    """Return a function that makes the named methods the default ones."""
    all_estimators = methods.default_estimators

    def select(*names: str) -> None:
        monkeypatch.setattr(
            methods, "default_estimators", lambda **options: {name: all_estimators(**options)[name] for name in names}
        )

    return select


@pytest.mark.long
def test_best_fits_the_best_method_of_compare(run: Run, birds: Path, only: Only) -> None:
    """`fit` and `compare` see the same folds: same table, same best method; only `fit` writes."""
    only("CLPL", "LOORidge", "PLKNN", "PLSVM")
    before = sorted(Path.cwd().rglob("*"))
    args = [birds, "--labels", "species", "--truth", "truth", "--folds", "2"]
    compared = json.loads(run("compare", *args, "--json").out)
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
        result = run("fit", birds, "--labels", "species", "--drop", "truth", "--folds", "2", "--json")
        facts = json.loads(result.out)
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
    monkeypatch.setattr(train, "MAX_CURVE_ROWS", 20)
    fits = Fits(monkeypatch, oneof.AvgPerceptron)
    args = [birds, "--labels", "species", "--truth", "truth", "--method", "AvgPerceptron"]
    result = run("fit", *args, "--json")
    assert result.code == 0, result.err
    # 50 rows are labeled and 10 unlabeled: 40 + 10 rows of one split; 2, 4, 8, 14 labeled rows; all rows.
    assert fits.rows == [50, 12, 14, 18, 24, 60]
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


def test_ctrl_c_fits_the_best_method_so_far(run: Run, birds: Path, only: Only, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second method gives the first one; a second Ctrl-C, in its fit, ends the command without a file."""
    only("CLPL", "PLKNN")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(oneof.PLKNN, "fit", interrupt)
    args = [birds, "--labels", "species", "--drop", "truth", "--folds", "2"]
    result = run("fit", *args, "--method", "best", "--json")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert facts["method"] == "CLPL"
    assert facts["learning_curve"] is None
    assert facts["comparison"]["is_interrupted"]
    assert [r["incomplete"] for r in facts["comparison"]["results"]] == [None, "interrupted"]
    assert "No learning curve was measured" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert "the best method so far, CLPL, is fitted" in result.err
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
    result = run("fit", *args, "--method", "best")
    assert result.code == 0, result.err
    assert "left out: the budget is used" in result.out
    assert "comparing 2 methods for up to 1 min (--budget)" in result.err
    assert "left out: the budget is used" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    assert not fits.rows
    assert run("fit", *args).code == 2  # a budget needs --method best
    check_error(run, "compare", *args[:-1], "0.01", message="no method has finished")


def test_progress_is_only_for_terminals(run: Run, birds: Path) -> None:
    """If standard error is not a terminal, it has the notes, the plan and one line for each step only."""
    result = run("fit", birds, "--labels", "species", "--drop", "truth", *QUICK, "--json")
    lines = result.err.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["Note", "birds.csv"]
    assert all(line.startswith("  ") for line in lines[2:-4])
    assert lines[-4:] == [
        "Note: Estimating the rates on held-out rows.",
        "Note: Measuring the learning curve.",
        "Note: Fitting all rows.",
        "Note: Writing the model and the report.",
    ]


def test_a_comparison_has_a_line_for_each_method_and_phase(run: Run, birds: Path, only: Only) -> None:
    """If standard error is not a terminal, a comparison announces itself, each fit, its end, and the baseline."""
    few = ("AvgPerceptron", "CLPL", "PLKNN")
    only(*few)
    result = run("compare", birds, "--labels", "species", "--drop", "truth,id", "--folds", "3")
    first, *lines = result.err.splitlines()
    assert first == "Note: comparing 3 methods for up to 10 min (--budget); Ctrl-C ends with the best so far."
    words = [line.split(": ")[2].split(" (")[0] for line in lines]
    assert words == [*(text for name in few for text in (f"fitting {name}", name)), "simple baseline"]
