"""Tests of folds by groups on the command line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.auditing.issues import find_issues
from oneof.cli.tables.groups import find_groups
from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.comparison import compare
from oneof.comparison.folds import check_task, make_folds
from oneof.io import describe
from oneof.model_selection import compute_sample_weight
from oneof.persistence import load
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

TABLE = ("birds.csv", "--labels", "species", "--truth", "truth", "--groups", "recorder")


@pytest.fixture
def recorded(run: Run) -> pl.DataFrame:
    """Write a table with a column of twelve recorders."""
    table = make_birds().with_columns(pl.Series("recorder", [f"r{i // 5}" for i in range(60)]))
    table.write_csv("birds.csv")
    return table


def test_the_rates_of_every_command_are_those_of_folds_by_groups(run: Run, recorded: pl.DataFrame) -> None:
    """`fit`, `compare` and `audit` have the rates and issues of these folds; the column is not a feature."""
    prepared = prepare(Path("birds.csv"), ReadOptions(labels=("species",), truth="truth", groups="recorder"))
    assert prepared.groups == recorded["recorder"].to_list()
    assert "recorder" not in [column.name for column in prepared.columns]
    splits = make_folds(check_task(prepared.frame, prepared.candidates, None), 2, 0, prepared.groups)
    groups = recorded["recorder"].to_numpy()
    assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)

    compared = json.loads(run("compare", *TABLE, *QUICK, "--json").out)
    fitted = json.loads(run("fit", *TABLE, *QUICK, "--json").out)
    for result in (compared, fitted):
        assert result["groups"] == "recorder"
        tested = f"2 folds by 12 groups, {sum(len(test) for _, test in splits)} held-out rows"
        assert result["evaluation"].startswith(tested)
    assert compared["n_groups"] == fitted["comparison"]["n_groups"] == 12
    held_out = compared["results"][0]["folds"]
    n_covered = sum(fold["covering_rate"] * fold["n_labeled"] for fold in held_out)
    assert compared["results"][0]["covering_rate"] == pytest.approx(n_covered / sum(f["n_labeled"] for f in held_out))
    assert fitted["headline"]["value"] == fitted["estimate"]["accuracy"]
    rates = [fold["covering_rate"] for fold in compared["results"][0]["folds"]]
    assert rates == [fold["covering_rate"] for fold in fitted["estimate"]["folds"]]
    assert [fold["n_labeled"] for fold in compared["results"][0]["folds"]] == [len(test) for _, test in splits]

    options = ("--labels", "species", "--groups", "recorder", "--drop", "truth", "--method", "PLKNN")
    audited = json.loads(run("audit", "birds.csv", *options, "--json").out)
    assert (audited["groups"], audited["n_groups"]) == ("recorder", 12)
    without = json.loads(
        run("audit", "birds.csv", *options[:2], "--drop", "truth,recorder", *options[-2:], "--json").out
    )
    assert without["n_groups"] is None
    assert without["n_wrong"] != audited["n_wrong"]


@pytest.mark.figures
def test_the_pages_say_that_folds_are_by_groups(run: Run, recorded: pl.DataFrame) -> None:
    """The report repeats the command and has the number of groups, and so does the page of an audit."""
    result = run.done("fit", *TABLE, "--folds", "3", "--noise-rate", "auto")
    assert "folds     by the 12 groups of recorder" in result.err
    assert "3 folds by 12 groups" in result.out
    report = " ".join(Path("birds-oneof/report.html").read_text(encoding="utf-8").split())
    assert "by 12 groups" in report
    assert "--groups recorder" in report
    result = run("audit", *TABLE[:3], *TABLE[5:], "--drop", "truth", "--report", "issues.html")
    assert "no row is predicted from its group (12 groups)" in result.out
    assert "without the rows of its group" in Path("issues.html").read_text(encoding="utf-8")
    table = recorded.drop("recorder")  # the model does not need the column
    table.write_csv("new.csv")
    assert run("predict", "birds-oneof/model.skops", "new.csv").code == 0


def test_rows_of_a_class_of_one_group_have_no_part_in_the_search_for_wrong_labels(run: Run) -> None:
    """A plain fit does not audit rows of a class that no other group has; without the groups it does."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), np.where(np.arange(60) == 7, 40, 8))
    y = np.where(groups == 7, "bittern", rng.choice(["finch", "owl", "wren"], len(groups)))
    X = 4 * (y[:, None] == ["bittern", "finch", "owl", "wren"]) + rng.normal(size=(len(groups), 4))
    columns = {name: X[:, k] for k, name in enumerate("abcd")}
    pl.DataFrame({**columns, "species": y, "recorder": groups}).write_csv("birds.csv")
    prepared = prepare(Path("birds.csv"), ReadOptions(("species",), groups="recorder"))
    with pytest.warns(UserWarning, match="not audited"):
        without, issues = (find_issues(one, "LOORidge")[1] for one in (replace(prepared, groups=None), prepared))
    assert (without.probability[groups == 7] > 0).all()
    assert (issues.probability[groups == 7] == 0).all()
    assert set(issues.ranking.tolist()) == set(np.flatnonzero(groups != 7).tolist())


def test_one_group_is_an_error(run: Run) -> None:
    """There are no other groups to hold out, whatever the number of folds."""
    make_birds().with_columns(pl.lit("r1").alias("recorder")).write_csv("birds.csv")
    message = "column 'recorder' of --groups has one value. Name another column, or remove --groups."
    check_error(run, "fit", "birds.csv", "--labels", "species", "--groups", "recorder", message=message)


def test_columns_that_seem_to_name_groups_have_a_note(run: Run, recorded: pl.DataFrame) -> None:
    """Texts and whole numbers that recur and have the name of groups are named, with the option for the finest."""

    def group_notes(*args: Any, **options: Any) -> list[str]:
        return describe(find_groups(*args, **options))

    n = len(recorded)
    sites, patients = [f"s{i % 4}" for i in range(n)], [i % 9 for i in range(n)]
    frame = recorded.with_columns(pl.Series("siteName", sites), pl.Series("patient_id", patients))
    [note] = group_notes(frame, {"species", "truth"})
    assert note.startswith("columns 'recorder', 'patient_id' and 'siteName' may name groups of rows.")
    assert note.endswith("too high for new groups: add --groups recorder to estimate these.")
    blank = frame.with_columns(recorder=pl.when(pl.int_range(n) > 2).then("recorder").otherwise(pl.lit(" ")))
    assert group_notes(blank, {"species", "truth"}) == [note]  # an empty cell is not a value
    assert group_notes(frame, {"recorder", "siteName ", "patient_id"}) == []
    [note] = group_notes(frame, {"siteName ", "patient_id"}, given="patient_id")
    assert note.startswith("column 'recorder' may name groups of rows as well.")
    assert "add --drop recorder" in note
    assert group_notes(frame, {"recorder", "siteName ", "patient_id"}, {"station"}, given="recorder") == []
    ordinary = pl.DataFrame({"color": sites, "site": range(n), "plot": [0.5 * i for i in patients], "user": ["a"] * n})
    assert group_notes(ordinary, ()) == []  # a category, identifiers, fractions, and a constant
    pairs = pl.DataFrame(
        {"patient": [f"p{i - i % 29 // 28}" for i in range(n)], "file": range(n)}
    )  # two patients twice
    [note] = group_notes(pairs, (), identifiers=["patient", "file"])
    assert note.startswith("column 'patient' may name groups of rows.")
    assert group_notes(pairs, (), identifiers=["patient", "file"], given="site") == []
    [note] = group_notes(ordinary, (), ["clip", "recorder"])
    assert note.startswith("column 'recorder' may name groups of rows.")

    words = ("inspect", "birds.csv", "--labels", "species", "--truth", "truth")
    assert "column 'recorder' may name groups of rows" in run(*words).err
    assert "groups of rows" not in run(*words, "--groups", "recorder").err
    assert "add --groups recorder to estimate these" in run(*words, "--drop", "recorder,id").err


# -- Tests of weights of classes on the command line -----------------------------------------------------------------


CLASSES_OF_BIRDS = ("birds.csv", "--labels", "species", "--drop", "truth")
BALANCED = ("--method", "CLPL", "--class-weight", "balanced")


def test_the_model_is_fitted_with_balanced_weights(run: Run, birds: Path) -> None:
    """The model and the rates are those of the weights of the rows; the report repeats the option."""
    summary = read_json(run, "fit", *CLASSES_OF_BIRDS, *BALANCED, "--folds", "2")
    assert summary["class_weight"] == "balanced"
    assert "--class-weight balanced" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    prepared = prepare(Path("birds.csv"), ReadOptions(("species",), truth="truth"))
    methods, _ = resolve_methods(prepared, "CLPL", 0)
    weight = compute_sample_weight("balanced", prepared.candidates)
    expected = methods["CLPL"].fit(prepared.frame, prepared.candidates, clpl__sample_weight=weight)
    saved = load("birds-oneof/model.skops")
    scores = saved.pipeline.decision_function(prepared.frame)
    assert scores == pytest.approx(expected.decision_function(prepared.frame))
    compared = compare(
        prepared.frame, prepared.candidates, methods, cv=2, class_weight="balanced", refit=False, random_state=0
    )
    assert summary["estimate"]["covering_rate"] == compared.results[0].covering_rate


def test_a_comparison_has_the_methods_with_weights(run: Run, birds: Path) -> None:
    """A note names the methods without weights."""
    pl.read_csv("birds.csv").drop("remark", "color").write_csv("small.csv")
    result = run.done(
        "compare", "small.csv", *CLASSES_OF_BIRDS[1:], "--class-weight", "balanced", "--folds", "2", "--json"
    )
    content = json.loads(result.out)
    methods = {one["method"] for one in content["results"]}
    assert {"CLPL", "PLEM", "GaussianEM"} <= methods
    assert not {"LOORidge", "PLKNN"} & methods
    assert content["class_weight"] == "balanced"
    assert "methods without class weights are not compared: LOORidge, " in result.err
