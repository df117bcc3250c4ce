"""Tests of `oneof inspect`, and of the plan of `oneof fit`."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.tables import times
from oneof.cli.tables.plan import ClassFacts, ColumnFacts, Plan, announce
from oneof.cli.tables.times import WRITE_SECONDS, count_fits, estimate_seconds
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
    assert plan[-2] == "  method    AvgPerceptron"
    assert printed[start + len(plan) - 1].startswith("  time      about ")
    json.loads(result.out)


def test_a_table_without_labels(run: Run, birds: Path) -> None:
    """Without --labels every column is described, and a line asks for the labels."""
    result = run("inspect", birds)
    assert result.code == 0
    assert "3 categories: color, species, truth" in result.out
    assert "missing   23 cells of 3 features: species (10), span (7), color (6)" in result.out
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
            clock.now += 100 * (len(X) / n) ** power
            self.classes_ = np.unique(y.classes)
            self.coef_, self.intercept_, self.n_features_in_ = np.zeros((2, 1)), np.zeros(2), 1
            return self

    monkeypatch.setattr(folds_module, "clock", clock)
    monkeypatch.setattr("oneof.cli.tables.times.time", SimpleNamespace(process_time=clock))
    X = np.arange(n, dtype=float)[:, None]
    task = check_task(X, ["owl", "wren"] * (n // 2), None)
    splits = make_folds(task, 5, 0)
    n_fits = sum(count_fits([len(train) for train, _ in splits], n).values())
    sizes = np.array([0.8 * n] * 5)
    assert n_fits == pytest.approx(1 + sizes.sum() / n + 1.4 * np.minimum(sizes, 4_000).sum() / n)
    assert estimate_seconds(Slow(), task, splits[0][1], n_fits, 0) == pytest.approx(100 * n_fits, rel=0.02)


def test_fits_of_seconds_are_estimated_from_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no growth of the time leads to a minute, one fit of a quarter of the rows is enough."""
    from oneof import CLPL

    clock, sizes = Clock(), []

    class Quick(CLPL):
        def fit(self, X: Any, y: Any) -> Any:
            clock.now += 60 / 64 / 10
            sizes.append(len(X))
            return super().fit(X, y)

    monkeypatch.setattr(folds_module, "clock", clock)
    task = check_task(np.arange(80.0)[:, None], ["owl", "wren"] * 40, None)
    assert estimate_seconds(Quick(), task, np.arange(3), 9.9, 0) == pytest.approx(9.9 * 4 * 60 / 64 / 10)
    assert sizes == [20]
    assert estimate_seconds(Quick(), task, np.arange(3), 10.1, 0) < 60
    assert sizes == [20, 20, 20, 40]


def test_tiny_tables_have_no_estimate() -> None:
    from oneof import CLPL

    task = check_task(np.eye(6), ["owl", "wren"] * 3, None)
    assert estimate_seconds(CLPL(), task, np.arange(3), 2.0, 0) is None


def test_long_lists_are_cut() -> None:
    """The plan of a wide table with many classes has short lines."""
    columns = [ColumnFacts(f"column{j}", "number", j) for j in range(500)]
    classes = tuple(ClassFacts(f"class{k}", 3, 1) for k in range(900))
    plan = Plan("t.csv", 10, columns, ["y"], classes=classes, method="LOORidge", seconds=7_200.0)
    assert max(map(len, plan.lines())) < 250
    text = "\n".join(plan.lines())
    assert "500 numbers: column0 to column499" in text
    assert "124,750 cells of 499 features: column499 (499), " in text
    assert "class0 (a candidate in 3 rows), class1 (3), " in text
    assert "and 892 more; the rarest is class899 (3)" in text
    assert "about 2.0 h" in plan.lines()[-1]


def test_runs_of_names_are_listed_by_their_ends() -> None:
    """Consecutive numbered columns are one item; hidden columns are counted, and names with a comma are quoted."""
    names = ["size, m", *(f"q{j}" for j in range(8, 12)), "q13", "q14", *"abcdefg", "id"]
    plan = Plan("t.csv", 10, [ColumnFacts(name, "number", 0) for name in names], [])
    assert plan.lines() == [
        "t.csv: 10 rows, 15 columns",
        '  features  15 numbers: "size, m", q8 to q11, q13, q14, a, b, c, d and 4 more',
    ]


def test_a_long_fit_has_the_time_of_one_split() -> None:
    """The time with --folds 1 is named only if the fit takes more than a minute, and so are the times of commands."""
    plan = Plan("t.csv", 10, [], ["y"], method="PLGP", seconds=30.0, one_split_seconds=10.0)
    assert plan.lines()[-1] == "  time      about 30 s (fit, held-out estimate, learning curve and report)"
    long = replace(plan, seconds=600.0, one_split_seconds=200.0, round_seconds=900.0)
    assert long.lines()[-1] == (
        "  time      about 10.0 min (fit, held-out estimate, learning curve and report), and up to 15.0 min for the "
        "rounds of the annotators; about 3.3 min with --folds 1"
    )
    of_one_split = replace(plan, seconds=600.0, one_split_seconds=None).lines()[-1]
    assert of_one_split.endswith("; --drop excludes columns, and --method names another method")
    faster = replace(plan, seconds=7200.0, one_split_seconds=None, faster=(("AvgPegasos", 9.7), ("PLEM", 60.0)))
    assert faster.lines()[-1].endswith("names another method: AvgPegasos (about 10 s) or PLEM (about 60 s)")
    assert faster.question() == (
        "PLGP takes about 2.0 h on this table; faster methods: AvgPegasos (about 10 s) or PLEM (about 60 s)."
    )
    assert replace(faster, seconds=3600.0).question() == replace(faster, limit_minutes=5.0).question() == ""
    assert announce("the audit", 59.0, "wait") == announce("the audit", None, "wait") == []
    assert announce("the audit", 600.0, "--drop excludes columns") == [
        "the audit takes about 10.0 min; --drop excludes columns."
    ]


def _facts(run: Run, *args: Any) -> dict[str, Any]:
    result = run("inspect", *args, "--json")
    assert result.code == 0, result.err
    return dict(json.loads(result.out))


def test_answers_of_annotators(run: Run, birds: Path) -> None:
    """With --answers the plan has the answers, and the rows by the labels that are estimated from them."""
    table = make_birds()
    records = [
        {"row": name, "annotator": worker, "answer": label}
        for name, label in zip(table["id"], table["truth"], strict=True)
        for worker in ("a", "b", "c")
    ]
    pl.DataFrame(records[:-3]).write_csv("answers.csv")
    args = (birds, "--answers", "answers.csv", "--row", "id", "--drop", "truth,species", "--method", "AvgPerceptron")
    args = (*args, "--folds", 2)
    renamed = pl.DataFrame(records[:-3]).rename({"row": "id"})
    renamed.write_csv("answers.csv")
    facts = _facts(run, *args)
    assert facts["answers"] == {"file": "answers.csv", "answers": 177, "annotators": 3}
    assert (facts["rows"], facts["unlabeled"], facts["labels"]) == (60, 1, [])
    assert facts["round_seconds"] > facts["seconds"] - WRITE_SECONDS > 0  # rounds fit more often, and write no report
    plan = run("inspect", *args)
    assert "  labels    177 answers of 3 annotators in answers.csv: " in plan.out
    fit = run("fit", *args)
    assert fit.code == 0, fit.err
    assert plan.out.splitlines()[0] in fit.err
    assert plan.out.splitlines()[1] in fit.err


def test_findings_and_noise_rate(run: Run, birds: Path) -> None:
    """The findings are those of the summary of fit; the plan names the noise rate."""
    args = (birds, *INSPECT, *QUICK, "--noise-rate", "0.1")
    facts = _facts(run, *args)
    result = run("fit", *args, "--json")
    assert facts["findings"] == json.loads(result.out)["findings"]
    assert facts["noise_rate"] == 0.1
    line = "  noise     wrong labels are corrected, with a rate of 0.1 (--noise-rate)"
    assert line in result.err
    assert line in run("inspect", *args).out


@pytest.mark.parametrize(("batch_rows", "is_complete"), [(20, False), (100, True)])
def test_streams(run: Run, birds: Path, batch_rows: int, is_complete: bool) -> None:
    """With --online the facts are those of the first batch, and nothing is written."""
    args = (birds, "--labels", "species", "--drop", "truth", "--online", "--batch-rows", batch_rows, "--epochs", 3)
    facts = _facts(run, *args)
    n = min(batch_rows, 60)
    head = make_birds().head(n)
    assert (facts["rows"], facts["is_complete"], facts["method"]) == (n, is_complete, "MaxPerceptron")
    assert facts["unlabeled"] == (head["species"] == "").sum()
    assert {column["name"]: column["missing"] for column in facts["columns"]}["span"] == head["span"].null_count()
    assert facts["seconds"] > 0
    out = run("inspect", *args).out
    assert out.startswith("birds.csv: 60 rows" if is_complete else "birds.csv: the first 20 rows, 8 columns")
    assert out.splitlines()[-1].endswith(" for 3 passes")
    assert [path.name for path in Path().iterdir()] == ["birds.csv"]


def test_a_stream_that_begins_with_one_class(run: Run) -> None:
    """Sorted rows have no description of their labels, but one of their columns."""
    pl.DataFrame({"x": range(40), "y": ["a"] * 30 + ["b"] * 10, "z": [1.5, 2.5] * 20}).write_csv("t.csv")
    result = run("inspect", "t.csv", "--labels", "y", "--online", "--batch-rows", 10, "--numeric", "x")
    assert result.code == 0, result.err
    assert "the labels of the first rows cannot be described" in result.err
    assert "2 numbers: x, z" in result.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--labels", "species", "--row", "id"), "--row needs --answers"),
        (("--labels", "species", "--answers", "a.csv"), "--labels cannot be combined with --answers"),
        (("--labels", "species", "--budget", "3"), "--budget needs --method best"),
        (("--labels", "species", "--batch-rows", "3"), "--batch-rows needs --online"),
        (("--labels", "species", "--online", "--folds", "3"), "--folds cannot be combined with --online"),
        (("--labels", "species", "--online", "--noise-rate", "auto"), "--noise-rate cannot be combined with --online"),
        (("--labels", "species", "--noise-rate", "2"), "--noise-rate must be auto, or a number"),
        (("--method", "PLEM"), "--method needs --labels"),
        (("--classes", "finch,owl"), "--classes needs --labels"),
        (("--weighted",), "--weighted needs --labels"),
    ],
)
def test_options_without_effect_are_refused(run: Run, birds: Path, args: tuple[str, ...], message: str) -> None:
    """An option that has no effect is refused, as by fit."""
    result = run("inspect", birds, *args)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_options_of_a_table_are_refused_for_a_model(run: Run, model: Path) -> None:
    result = run("inspect", model, "--labels", "species")
    assert result.code == 2
    assert "--labels needs a table" in result.err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("audit", "--method", "AvgPerceptron", "--folds", "5"), "the audit takes about 6.7 min; --method LOORidge "),
        (("compare", "--method", "AvgPerceptron", "--folds", "5"), "validation of AvgPerceptron takes about 6.9 min;"),
    ],
)
def test_long_commands_announce_their_time(
    run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], expected: str
) -> None:
    """Five fits, of four fifths of the labeled rows, have their predicted time printed before them."""
    monkeypatch.setattr(times, "extrapolate_seconds", lambda *_, **__: 100.0)
    result = run(args[0], birds, "--labels", "species", "--drop", "truth", *args[1:])
    assert result.code == 0, result.err
    assert expected in result.err
    monkeypatch.setattr(times, "extrapolate_seconds", lambda *_, **__: 1.0)
    assert "takes about" not in run(args[0], birds, "--labels", "species", "--drop", "truth", *args[1:]).err
