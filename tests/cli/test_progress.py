"""Tests of the progress and the steps of commands, and of the table of a comparison."""

import io
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from oneof import LOORidge
from oneof.cli.output import progress, terminal
from oneof.cli.output.progress import Steps
from oneof.cli.tables.times import count_audit_fits
from oneof.cli.training import train
from oneof.comparison import compare
from tests.blobs import Frequencies, draw
from tests.cli.conftest import Run
from tests.cli.test_audit import AUDIT, make_noisy
from tests.cli.test_choice_of_method import Fits


def test_advice_on_parameters_is_for_python(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of convergence, which names parameters, says that the command line does not have them."""
    with terminal.handle_errors(debug=True):
        warnings.simplefilter("always")
        warnings.warn("It did not converge. Increase max_iter.", ConvergenceWarning, stacklevel=1)
        warnings.warn("Rows are equal.", UserWarning, stacklevel=1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("Warning: It did not converge. Increase max_iter. The command line has no option")
    assert second == "Warning: Rows are equal."


class Terminal(io.StringIO):
    """Stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def open_screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal in place of standard error, on which the bar appears at once."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    return stream


def test_a_bar_appears_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar has its title and the expected time although no part of the work is done."""
    screen = open_screen(monkeypatch)
    with progress.progress("Fitting all rows", seconds=600.0):
        deadline = time.monotonic() + 30  # it is drawn by a thread, which starts late on a busy machine
        while "min left" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "Fitting all rows" in screen.getvalue()
    assert "10.0 min left" in screen.getvalue()


def test_a_bar_is_drawn_at_most_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many calls in a short time give few redraws: one at the beginning, one at the end, and two a second."""
    screen, start = open_screen(monkeypatch), time.monotonic()
    with progress.progress("Comparing") as bar:
        time.sleep(0.1)
        assert bar is not None
        for k in range(1_000):
            bar(k, 1_000, "method")
    assert screen.getvalue().count("Comparing") <= 2 + 2 * (time.monotonic() - start)


def test_the_time_left_includes_all_later_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time left is that of all steps that are not finished, by the measured speed of the finished ones."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    steps = Steps(progress.progress, {"a": 10.0, "b": 20.0, "c": 30.0})
    assert steps.seconds_left("a", 0.0) == 60.0
    assert steps.seconds_left("a", 10.0, 10.0) == pytest.approx(10 + 2 * 50)
    with steps.step("a"):
        now = 20.0
    assert steps.seconds_left("b", 0.0) == pytest.approx(2 * 50)
    assert steps.seconds_left("b", 40.0, 0.0) == pytest.approx(2 * 30)
    assert steps.seconds_left("b", 5.0, 0.0) == pytest.approx(30 * 25 / 30)  # finished early
    with steps.step("b"):
        now = 60.0
    assert steps.seconds_left("c", 60.0, 0.0) == pytest.approx(0)


def test_unknown_times_are_not_shown() -> None:
    """A step of unknown time has no time left; `expect` sets unknown times only."""
    steps = Steps(progress.progress, {"a": None, "b": 3.0})
    assert steps.seconds_left("a", 1.0) is None
    assert steps.seconds_left("a", 1.0, 5.0) == 8.0
    steps.expect({"a": 7.0, "b": 9.0, "c": 1.0})
    assert steps.seconds_left("a", 0.0) == 10.0


def test_a_skipped_step_has_neither_a_time_nor_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    """The time left and the numbers are those of the other steps."""
    steps = Steps(progress.progress, {"a": 10.0, "b": 20.0, "c": 30.0})
    steps.skip("b")
    assert steps.seconds_left("a", 0.0) == 40.0
    with steps.step("c"):
        pass
    assert "(step 2 of 2)" in capsys.readouterr().err


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize(("method", "is_grouped"), [("LOORidge", False), ("LOORidge", True), ("AvgPerceptron", False)])
def test_the_fits_of_an_audit_are_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch, method: str, is_grouped: bool, is_partial: bool
) -> None:
    """The count is the number of rows that an audit fits, relative to all labeled rows, and each fit has a line."""
    import oneof
    from oneof.candidates import CandidateSets

    frame = make_noisy().head(140)
    if not is_partial:
        frame = frame.filter(~frame["species"].str.contains("|", literal=True))
    frame.with_columns(pair=pl.arange(0, pl.len()) // 2).write_csv("noisy.csv")
    fits = Fits(monkeypatch, getattr(oneof, method))
    groups = ("--groups", "pair") if is_grouped else ("--drop", "pair")
    result = run(*AUDIT, *groups, "--method", method, "--folds", 4)
    assert result.code == 0, result.err
    lines = [line for line in result.err.splitlines() if line.startswith("Note: Predicting held-out rows: ")]
    candidates = CandidateSets.from_strings(frame["species"].to_list())
    n_fits = count_audit_fits(candidates, 4, is_default=method == "LOORidge", is_grouped=is_grouped)
    n_lines = 4 * (1 + is_partial) if is_grouped else 4 * (is_partial or method != "LOORidge") + (method == "LOORidge")
    assert sum(fits.rows[-n_lines:]) / len(frame) == pytest.approx(n_fits)
    assert len(lines) == n_lines
    assert f"({n_lines} of {n_lines} done" in lines[-1]


def test_the_steps_of_a_fit_include_the_search_for_wrong_labels(run: Run) -> None:
    """A fit of LOORidge has a line for each step; with a noise rate the search is before the last fit."""
    make_noisy().write_csv("noisy.csv")
    fit = ("fit", "noisy.csv", "--labels", "species", "--drop", "truth", "--folds", "2")
    titles = ["Estimating the rates", "Measuring the", "Fitting all rows", "Looking for wrong", "Writing the model"]
    corrected = [*titles[:2], titles[3], "Estimating the rates of the corrected fit", titles[2], titles[4]]
    for option, order in (((), titles), (("--noise-rate", "auto"), corrected)):
        result = run(*fit, *option)
        lines = [line for line in result.err.splitlines() if "(step " in line]
        assert len(lines) == len(order), result.err
        for number, (line, title) in enumerate(zip(lines, order, strict=True), start=1):
            assert line.startswith(f"Note: {title}")
            assert line.endswith(f"(step {number} of {len(order)}).")
        assert "search for wrong labels and report)" in result.err


@pytest.mark.parametrize("width", [60, 80, 200])
def test_words_are_whole_in_a_narrow_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """Status words, headers and the legend of at most two lines are not broken; each reason is printed."""

    class Interrupted(Frequencies):
        def fit(self, *_: object) -> "Interrupted":
            raise KeyboardInterrupt

    X, y, truth = draw()
    methods = {"LogisticRegressionWithALongName": Frequencies(), "b": Interrupted(), "c": Interrupted()}
    comparison = compare(X, y, methods, cv=2, truth=truth, refit=False)
    monkeypatch.setattr(terminal, "_console", lambda: Console(width=width))
    terminal.print_comparison("t.csv", comparison)
    printed = capsys.readouterr().out
    for word in ("interrupted", "accuracy", "covering", "approx."):
        assert word in printed
    assert ("b, c: interrupted" in printed) == (width < 200)
    *_, best, approximated = printed.splitlines()
    assert best.startswith("* is the best method. exp. accuracy: ")
    assert approximated.startswith("approx. accuracy: ")
    assert approximated.endswith("Rates are means over the folds; ± is their standard deviation.")


def test_one_method_has_one_line_of_legend(capsys: pytest.CaptureFixture[str]) -> None:
    """A table of one method marks no best one."""
    X, y, _ = draw()
    terminal.print_comparison("t.csv", compare(X, y, {"it": LOORidge()}, cv=1, refit=False))
    printed = capsys.readouterr().out
    assert "*" not in printed
    assert printed.splitlines()[-1].endswith("± is the binomial standard error.")


def test_a_fit_of_hours_needs_yes(run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, a fit of more than an hour stops before it begins and names faster methods, unless --yes."""
    monkeypatch.setattr(train, "make_plan", _slow_plan(train.make_plan))
    options = ("fit", birds, "--labels", "species", "--drop", "truth", "--method", "CLPL", "--folds", "2")
    result = run(*options)
    assert result.code == 2
    assert "CLPL takes about 50.0 h on this table; faster methods: PLEM (about 60 s). " in result.err
    assert "pass --yes to begin anyway." in result.err
    assert not Path("birds-oneof").exists()
    result = run(*options, "--yes")
    assert result.code == 0, result.err
    assert Path("birds-oneof/model.skops").exists()


def _slow_plan(make_plan: Any) -> Any:
    return lambda *args: replace(make_plan(*args), seconds=180_000.0, faster=(("PLEM", 60.0),))
