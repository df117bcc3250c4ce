"""Tests of the progress and the steps of commands, and of the table of a comparison."""

import io
import sys
import time
import warnings

import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from oneof import LOORidge
from oneof.cli.output import progress, terminal
from oneof.comparison import compare
from tests.blobs import Frequencies, draw
from tests.cli.conftest import Run
from tests.cli.test_audit import make_noisy


def test_advice_on_parameters_has_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of convergence, which names parameters, has the option that sets them."""
    with terminal.handle_errors(debug=True):
        warnings.simplefilter("always")
        warnings.warn("It did not converge. Increase max_iter.", ConvergenceWarning, stacklevel=1)
        warnings.warn("Rows are equal.", UserWarning, stacklevel=1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("Warning: It did not converge. Increase max_iter. --method NAME:PARAMETER=VALUE sets")
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
    """The bar has its title although no part of the work is done, and the time left after the first part."""
    screen, deadline = open_screen(monkeypatch), time.monotonic() + 30  # its thread starts late on a busy machine
    with progress.progress("Fitting all rows") as bar:
        while "Fitting all rows" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "left" not in screen.getvalue()
        bar(1, 3, "fold", 600.0)
        while "min left" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "10.0 min left" in screen.getvalue()


def test_a_bar_is_drawn_at_most_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many calls in a short time give few redraws: one at the beginning, one at the end, and two a second."""
    screen, start = open_screen(monkeypatch), time.monotonic()
    with progress.progress("Comparing") as bar:
        time.sleep(0.1)
        for k in range(1_000):
            bar(k, 1_000, "method")
    assert screen.getvalue().count("Comparing") <= 2 + 2 * (time.monotonic() - start)


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
    for word in ("interrupted", "accuracy", "covering", "approx.", "b, c: interrupted"):
        assert word in printed
    *_, best, approximated = printed.splitlines()
    assert best.startswith("* is the best method. exp. accuracy: ")
    assert approximated.startswith("approx. accuracy: ")
    assert approximated.endswith("Rates are means over the folds; ± is their standard deviation.")
    terminal.print_comparison("t.csv", compare(X, y, {"it": LOORidge()}, cv=1, refit=False))
    printed = capsys.readouterr().out
    assert "*" not in printed  # a table of one method marks no best one
    assert printed.splitlines()[-1].endswith("± is the binomial standard error.")
