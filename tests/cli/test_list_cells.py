"""Label columns of lists written as text, on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import QUICK, Run, make_birds

NAMES = ["finch", "owl", "wren"]
FORMS: dict[str, Callable[[list[str]], str]] = {
    "json": json.dumps,
    "python": repr,
    "mixed": lambda names: names[0] if len(names) == 1 else repr(names) if names else "",
    "numpy": lambda names: str(np.array(names)),
}


def make_sets() -> list[list[str]]:
    """Return the true label of each bird, with a distractor in every second row; every ninth row is empty."""
    truth = make_birds()["truth"].to_list()
    sets = [[name, NAMES[(NAMES.index(name) + 1) % 3]][: 1 + i % 2] for i, name in enumerate(truth)]
    sets[::9] = [[] for _ in sets[::9]]
    return sets


def write_birds(path: str, write: Callable[[list[str]], str]) -> None:
    """Write the birds with a column of candidate sets."""
    frame = make_birds().select("mass", pl.col("span").fill_null(0.0), "truth")
    frame.with_columns(species=pl.Series([write(names) for names in make_sets()])).write_csv(path)


@pytest.mark.parametrize("form", FORMS)
def test_lists_are_the_sets_of_a_delimited_column(run: Run, form: str) -> None:
    """Fits, rates and predictions are those of text such as "a|b"; a note says how they are read."""
    write_birds("plain.csv", "|".join)
    write_birds("lists.csv", FORMS[form])
    results = []
    for name in ("plain", "lists"):
        fit = run("fit", f"{name}.csv", "--labels", "species", "--truth", "truth", *QUICK, "--out", name, "--json")
        assert fit.code == 0, fit.err
        words = ("--truth", "truth", "--out", f"{name}.out", "--json")
        predict = run("predict", f"{name}/model.skops", f"{name}.csv", *words)
        assert predict.code == 0, predict.err
        summary, rates = json.loads(fit.out), json.loads(predict.out)
        counts = [summary[key] for key in ("classes", "exact", "partial", "unlabeled")]
        results.append((counts, rates["covering_rate"], rates["accuracy"], Path(f"{name}.out").read_bytes()))
    assert results[0] == results[1]
    assert "the cells of column 'species' are read as lists of labels." in fit.err
    again = run("inspect", "lists/training_labels.csv", "--labels", "candidates", "--json")
    assert [found["label"] for found in json.loads(again.out)["classes"]] == NAMES


def test_streams_read_lists(run: Run) -> None:
    """An online fit and its predictions are those of delimited text."""
    write_birds("plain.csv", "|".join)
    write_birds("lists.csv", repr)
    outputs = []
    for name in ("plain", "lists"):
        fit = run("fit", f"{name}.csv", "--labels", "species", "--online", "--drop", "truth", "--out", name, "--json")
        assert fit.code == 0, fit.err
        predict = run("predict", f"{name}/model.skops", f"{name}.csv", "--out", f"{name}.out", "--json")
        summary = json.loads(fit.out)
        counts = [summary[key] for key in ("classes", "exact", "partial", "unlabeled")]
        outputs.append((counts, json.loads(predict.out)["covering_rate"], Path(f"{name}.out").read_bytes()))
    assert outputs[0] == outputs[1]
    assert "are read as lists" in fit.err


def test_labeling_keeps_the_form_of_the_lists(run: Run) -> None:
    """The exported labels are lists of JSON."""
    write_birds("lists.csv", repr)
    result = run("label", "lists.csv", "--labels", "species", "--export", "out.csv", "--json")
    assert result.code == 0, result.err
    exported = pl.read_csv("out.csv")["species"].fill_null("[]").to_list()
    assert [set(json.loads(text or "[]")) for text in exported] == [set(names) for names in make_sets()]
