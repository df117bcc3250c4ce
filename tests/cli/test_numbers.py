"""Numbers that several commands print: the accuracy of first labels, and noise rates."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof import make_partial_labels
from tests.audit.test_lists import NAMES, make_lists
from tests.cli.conftest import Run, check_error, read_json

POSTERIOR = ("--labels", "lists", "--weighted", "--kind", "posterior")


@pytest.fixture
def lists(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Write lists of two labels with probabilities, true and checked labels; return truth and first labels."""
    X, truth, rows, first = make_lists(0, n=300)
    cells = ["|".join(f"{name}:{p:.3f}" for name, p in row.items()) for row in rows]
    checked = [NAMES[k] if i < 60 else "" for i, k in enumerate(truth)]
    columns = {f"x{j}": X[:, j].round(3) for j in range(X.shape[1])}
    pl.DataFrame(columns | {"lists": cells, "truth": NAMES[truth], "gold": checked}).write_csv("lists.csv")
    return truth, first


def test_all_commands_measure_the_first_labels_of_the_table(run: Run, lists: tuple[np.ndarray, np.ndarray]) -> None:
    """The rate is that of the largest probability as given, and its interval contains it, in inspect and fit."""
    truth, first = lists
    right = float(np.mean(first == truth))
    words = (*POSTERIOR, "--truth", "truth", "--drop", "gold")
    plan = run("inspect", "lists.csv", *words).out
    [shown] = re.findall(r"the first label.* is the true one in ([0-9.]+) % of 300 labeled rows", plan)
    assert float(shown) == pytest.approx(100 * right, abs=0.051)
    counts = dict(re.findall(r"(class [0-9]) \((?:the largest probability in )?([0-9]+)", plan))
    assert {name: int(n) for name, n in counts.items()} == {
        str(NAMES[k]): int(n) for k, n in enumerate(np.bincount(first)) if n
    }
    summary = read_json(run, "fit", "lists.csv", *words, "--method", "PLEM", "--folds", "2", "--out", "out")
    rate = summary["first_labels"]
    assert rate["accuracy"] == pytest.approx(right)
    assert rate["interval"][0] < right < rate["interval"][1]
    page = " ".join(re.sub("<[^>]*>", " ", Path("out/report.html").read_text("utf-8")).split())
    assert f"is the true label in {100 * right:.1f} % of the 300 labeled rows" in page


@pytest.mark.parametrize("kind", ["likelihood", "posterior"])
def test_notes_count_the_rows_that_name_a_class(run: Run, kind: str) -> None:
    """Rows that have a class only by its share of the rest are not counted."""
    cells = ["finch:0.8|owl:0.1", "owl:0.7", "wren:0.9|finch:0.05"] * 40 + ["12:0.6|owl:0.1"]
    pl.DataFrame({"x": np.random.default_rng(0).normal(size=len(cells)), "y": cells}).write_csv("rest.csv")
    words = ("inspect", "rest.csv", "--labels", "y", "--weighted", "--kind", kind, "--rest", "auto")
    assert "'12' (1 row; without letters" in run.done(*words).err


@pytest.mark.parametrize("rest", [(), ("--rest", "auto")])
def test_audit_gives_an_interval_of_wrong_first_labels(
    run: Run, lists: tuple[np.ndarray, np.ndarray], rest: tuple[str, ...]
) -> None:
    """It contains their number; the checked rows give the accuracy by counting."""
    truth, first = lists
    words = ("audit", "lists.csv", *POSTERIOR, *rest, "--drop", "truth", "--gold", "gold", "--method", "PLEM")
    facts = read_json(run, *words)
    low, high = facts["n_wrong_first_labels_interval"]
    assert low <= np.sum(first[60:] != truth[60:]) <= high
    assert low < facts["n_wrong_first_labels"] < high
    assert facts["checked_first_labels"]["accuracy"] == pytest.approx(np.mean(first[:60] == truth[:60]))
    assert facts["checked_first_labels"]["n_rows"] == 60
    result = run(*words)
    assert "that of the largest probability in the table, is wrong in about" in result.out


def test_lists_are_wrong_if_they_do_not_name_the_true_label(run: Run, lists: tuple[np.ndarray, np.ndarray]) -> None:
    """With --rest auto, the interval contains the number of lists without the true label; so does the fit's."""
    truth, _ = lists
    cells = pl.read_csv("lists.csv")["lists"]
    n_wrong = sum(NAMES[k] not in cell for k, cell in zip(truth, cells, strict=True))
    words = ("lists.csv", *POSTERIOR, "--rest", "auto", "--drop", "truth,gold")
    result = run("audit", *words, "--method", "PLEM")
    assert "not among the labels that the row names" in result.out
    facts = read_json(run, "audit", *words, "--method", "PLEM")
    low, high = facts["n_wrong_interval"]
    assert n_wrong > 10
    assert low <= n_wrong <= high
    other = [
        f"{cell}|other:{max(0.001, 1 - sum(map(float, re.findall('[0-9.]+(?=[|]|$)', cell)))):.3f}" for cell in cells
    ]
    pl.read_csv("lists.csv").with_columns(lists=pl.Series(other)).write_csv("other.csv")
    named = read_json(
        run, "audit", "other.csv", *POSTERIOR, "--rest", "other", "--drop", "truth,gold", "--method", "PLEM"
    )
    assert named["n_wrong"] == pytest.approx(facts["n_wrong"], rel=0.2)


def test_rows_without_a_named_label_have_no_first_label(run: Run, lists: tuple[np.ndarray, np.ndarray]) -> None:
    """Rows of a rest alone, and rows without a list, count neither as right nor as wrong lists or first labels."""
    truth, first = lists
    table = pl.read_csv("lists.csv")
    cells = [cell + "|other:0.001" for cell in table["lists"]]
    cells[40:90] = ["other:1"] * 50
    cells[30:40] = [""] * 10
    table.with_columns(lists=pl.Series(cells)).write_csv("rest.csv")
    has_list = np.r_[:30, 90:300]
    words = ("rest.csv", *POSTERIOR, "--rest", "other")
    plan = run("inspect", *words, "--truth", "truth", "--drop", "gold").out
    assert f"in {100 * np.mean(first[has_list] == truth[has_list]):.1f} % of 240 labeled rows" in plan
    audit = ("audit", *words, "--drop", "truth", "--gold", "gold", "--method", "PLEM")
    result = run(*audit)
    assert "30 rows name no label and are not audited" in result.err
    facts = read_json(run, *audit)
    assert facts["n_first_labels"] == 210
    assert facts["checked_first_labels"]["n_rows"] == 30
    assert facts["checked_first_labels"]["accuracy"] == pytest.approx(np.mean(first[:30] == truth[:30]))
    low, high = facts["n_wrong_interval"]
    named = np.array([str(NAMES[k]) in cell for k, cell in zip(truth, cells, strict=True)])
    assert low <= np.sum(~named[90:]) <= high


def test_a_given_rate_of_lists_with_a_rest(run: Run, lists: tuple[np.ndarray, np.ndarray]) -> None:
    """The weights decide how many of these lists are wrong, so that --noise-rate has no number."""
    words = ("fit", "lists.csv", *POSTERIOR, "--rest", "auto", "--drop", "truth,gold", "--noise-rate", "0.1")
    check_error(run, *words, message="--noise-rate 0.1 cannot be used with --rest")


@pytest.mark.parametrize("n_distractors", [0, 1])
def test_a_fit_has_one_noise_rate(run: Run, n_distractors: int) -> None:
    """The report has the rate of the suspected rows alone, for exact labels that of an audit with this seed."""
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=240)
    X = 3 * np.eye(4)[truth] + rng.normal(size=(240, 4))
    given = np.where(rng.random(240) < 0.15, (truth + rng.integers(1, 4, 240)) % 4, truth)
    y = make_partial_labels(given, n_distractors=n_distractors, random_state=0)
    cells = ["|".join(f"c{k}" for k in np.flatnonzero(row)) for row in y.mask]
    pl.DataFrame({f"x{j}": X[:, j].round(3) for j in range(4)} | {"y": cells}).write_csv("sets.csv")
    words = ("sets.csv", "--labels", "y", "--seed", "3")
    estimate = read_json(run, "fit", *words, "--out", "out")["estimated_accuracy"]
    page = re.sub("<[^>]*>", " ", Path("out/report.html").read_text())
    [rate] = set(re.findall(r"([\d.]+) % of the rows do not name", " ".join(page.split())))
    assert "labels without the true one" not in page
    low, high = estimate["noise_rate_interval"]
    assert low <= np.mean(~y.mask[np.arange(240), truth]) <= high
    if n_distractors == 0:
        assert f"{100 * read_json(run, 'audit', *words)['noise_rate']:.1f}" == rate
