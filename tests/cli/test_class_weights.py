"""Tests of weights of classes on the command line."""

import json
from pathlib import Path

import polars as pl
import pytest

from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.comparison import compare
from oneof.model_selection import compute_sample_weight
from oneof.persistence import load
from tests.cli.conftest import Run, check_error, read_json

TABLE = ("birds.csv", "--labels", "species", "--drop", "truth")
BALANCED = ("--method", "CLPL", "--class-weight", "balanced")


def test_the_model_is_fitted_with_balanced_weights(run: Run, birds: Path) -> None:
    """The model and the rates are those of the weights of the rows; the report repeats the option."""
    summary = read_json(run, "fit", *TABLE, *BALANCED, "--folds", "2")
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
    result = run("compare", "small.csv", *TABLE[1:], "--class-weight", "balanced", "--folds", "2", "--json")
    assert result.code == 0, result.err
    content = json.loads(result.out)
    methods = {one["method"] for one in content["results"]}
    assert {"CLPL", "PLEM", "GaussianEM"} <= methods
    assert not {"LOORidge", "PLKNN"} & methods
    assert content["class_weight"] == "balanced"
    assert "methods without class weights are not compared: LOORidge, " in result.err


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--method", "LOORidge", "--class-weight", "balanced"), "LOORidge has none. Choose --method CLPL, PLEM"),
        (("--method", "CLPL", "--class-weight", "equal"), "--class-weight must be balanced or none; got 'equal'"),
    ],
)
def test_invalid_class_weights(run: Run, birds: Path, command: str, args: tuple[str, ...], message: str) -> None:
    """The error names methods with weights, or the values of the option."""
    check_error(run, command, *TABLE, *args, message=message)


def test_class_weights_need_rows_with_labels(run: Run, birds: Path) -> None:
    """Online learning and annotators have no weights of classes; without a method the default has none."""
    check_error(run, "fit", *TABLE[:3], "--online", "--class-weight", "balanced", message="--class-weight cannot be")
    check_error(run, "fit", *TABLE, "--class-weight", "balanced", message="LOORidge has none")
    message = "--class-weight cannot be combined with --answers"
    check_error(run, "compare", "birds.csv", "--answers", "a.csv", "--class-weight", "balanced", message=message)
