"""Tests of `oneof inspect`, and of the plan of `oneof fit`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.plan import ClassFacts, ColumnFacts, Plan, estimate_seconds
from oneof.comparison import folds as folds_module
from oneof.comparison.folds import check_task, make_folds
from tests.cli.conftest import QUICK, Run, make_birds

INSPECT = ("--labels", "species", "--truth", "truth")


def test_the_facts_are_those_of_the_table(run: Run, birds: Path) -> None:
    """Columns, missing cells, rows by label and classes are counted as in the table, and nothing is written."""
    result = run("inspect", birds, *INSPECT, "--json")
    assert result.code == 0, result.err
    facts, table = json.loads(result.out), make_birds()
    assert {column["name"]: column["kind"] for column in facts["columns"]} == {
        "id": None, "span": "number", "mass": "number", "migrates": "yes/no", "color": "category", "remark": "text"
    }  # fmt: skip
    for column in facts["columns"]:
        assert column["missing"] == table[column["name"]].null_count()
    sets = [set(text.split("|")) - {""} for text in table["species"]]
    assert (facts["rows"], facts["labels"]) == (60, ["species"])
    assert facts["exact"] == sum(len(members) == 1 for members in sets)
    assert facts["partial"] == sum(len(members) > 1 for members in sets)
    assert facts["unlabeled"] == sum(not members for members in sets)
    assert facts["classes"] == [
        {"label": name, "rows": sum(name in members for members in sets), "exact": sets.count({name})}
        for name in ("finch", "owl", "wren")
    ]
    assert facts["method"] == "LOORidge"
    assert facts["seconds"] > 0
    assert "column 'id' is excluded" in facts["notes"][0]
    assert [path.name for path in Path().iterdir()] == ["birds.csv"]


def test_fit_prints_the_plan_before_the_work(run: Run, birds: Path) -> None:
    """The plan of fit is that of inspect, on standard error; standard output has the results."""
    plan = run("inspect", birds, *INSPECT, *QUICK).out.splitlines()
    result = run("fit", birds, *INSPECT, *QUICK, "--json")
    assert plan[0] == "birds.csv: 60 rows, 7 columns"
    printed = result.err.splitlines()
    start = printed.index(plan[0])
    assert printed[start : start + len(plan) - 1] == plan[:-1]  # without the line of the time
    assert printed[start + len(plan) - 1].startswith(
        "  method    AvgPerceptron; time with the held-out estimate: about "
    )
    json.loads(result.out)


def test_a_table_without_labels(run: Run, birds: Path) -> None:
    """Without --labels every column is described, and a line asks for the labels."""
    result = run("inspect", birds)
    assert result.code == 0
    assert "3 categories: species (10 missing), color (6 missing), truth" in result.out
    assert "Add --labels COLUMN" in result.out
    facts = json.loads(run("inspect", birds, "--json").out)
    assert (facts["labels"], facts["classes"], facts["method"]) == ([], [], None)


def test_weighted_labels_and_overrides(run: Run) -> None:
    """Weighted rows are counted; kinds and excluded columns are those of the options."""
    texts = ["finch:0.7|owl:0.3", "owl:0.9|wren:0.2", "wren", ""] * 15
    make_birds().with_columns(species=pl.Series(texts)).write_csv("birds.csv")
    options = ("--weighted", "--kind", "likelihood", "--drop", "mass", "--categorical", "remark")
    facts = json.loads(run("inspect", "birds.csv", *INSPECT, *options, "--json").out)
    assert (facts["exact"], facts["partial"], facts["unlabeled"], facts["weighted"]) == (15, 30, 15, 30)
    kinds = {column["name"]: column["kind"] for column in facts["columns"]}
    assert (kinds["mass"], kinds["remark"]) == (None, "category")


def test_several_methods_have_the_time_of_the_budget(run: Run, birds: Path) -> None:
    result = run("inspect", birds, *INSPECT, "--method", "best", "--budget", "3")
    assert "the best of" in result.out
    assert "up to 3 min (--budget), and the fit of the best method" in result.out


def test_a_model(run: Run, model: Path) -> None:
    """A model file is described by its method, columns and classes."""
    result = run("inspect", model)
    assert result.code == 0, result.err
    assert "AvgPerceptron, fitted by oneof" in result.out
    assert "species: finch, owl, wren" in result.out
    facts = json.loads(run("inspect", model, "--json").out)
    assert facts["classes"] == ["finch", "owl", "wren"]
    assert facts["columns"][0] == {"name": "span", "kind": "number"}
    assert facts["training"]["rows"] == 60


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("none.csv",), "does not exist"),
        (("none.skops",), "does not exist"),
        (("birds.csv", "--labels", "specis"), "did you mean 'species'"),
        (("birds.csv", "--labels", "species", "--method", "LORidge"), "did you mean LOORidge"),
    ],
)
def test_errors(run: Run, birds: Path, args: tuple[str, ...], message: str) -> None:
    result = run("inspect", *args)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


class Clock:
    """Clock that only the fits of `Slow` advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("n", [40, 200, 900, 5_000])
@pytest.mark.parametrize("power", [1, 2])
def test_the_estimate_is_the_time_of_the_fits(monkeypatch: pytest.MonkeyPatch, n: int, power: int) -> None:
    """For a time that is a power of the number of rows, the estimate covers the folds, the curve and the final fit."""
    from oneof import CLPL

    clock = Clock()

    class Slow(CLPL):
        def fit(self, X: Any, y: Any) -> Any:
            clock.now += (len(X) / n) ** power
            self.classes_ = np.unique(y.classes)
            self.coef_, self.intercept_, self.n_features_in_ = np.zeros((2, 1)), np.zeros(2), 1
            return self

    monkeypatch.setattr(folds_module, "clock", clock)
    X = np.arange(n, dtype=float)[:, None]
    task = check_task(X, ["owl", "wren"] * (n // 2), None)
    splits = make_folds(task, 5, 0)
    seconds = estimate_seconds({"Slow": Slow()}, task, splits, 0)
    sizes = np.array([0.8 * n] * 5)
    n_fits = 1 + sizes.sum() / n + 1.4 * np.minimum(sizes, 4_000).sum() / n
    assert seconds == pytest.approx(n_fits, rel=0.02)


def test_tiny_tables_have_no_estimate() -> None:
    from oneof import CLPL

    task = check_task(np.eye(6), ["owl", "wren"] * 3, None)
    assert estimate_seconds({"CLPL": CLPL()}, task, make_folds(task, 2, 0), 0) is None


def test_long_lists_are_cut() -> None:
    """The plan of a wide table with many classes has short lines."""
    columns = [ColumnFacts(f"column{j}", "number", j) for j in range(500)]
    classes = tuple(ClassFacts(f"class{k}", 3, 1) for k in range(900))
    plan = Plan("t.csv", 10, columns, ["y"], classes=classes, method="LOORidge", seconds=7_200.0)
    assert max(map(len, plan.lines())) < 250
    assert "500 numbers: column499 (499 missing), " in "\n".join(plan.lines())
    assert "and 892 more" in "\n".join(plan.lines())
    assert plan.lines()[-1].endswith("about 2.0 h")
