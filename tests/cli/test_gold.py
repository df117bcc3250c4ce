"""Checked labels of some rows of a table of candidate sets: `--gold` of fit, compare, audit and inspect."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.cli.tables.inputs import PreparedTable, prepare
from oneof.cli.tables.read_options import ReadOptions
from oneof.persistence import load
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json
from tests.cli.test_audit import make_noisy

TABLE = ("birds.csv", "--labels", "species", "--gold", "checked")
WAVE = [row * 7 % 11 / 2 for row in range(60)]


def write_checked(table: pl.DataFrame, is_checked: pl.Expr, name: str = "birds.csv") -> pl.DataFrame:
    """Write a table with the true label of some rows in a column `checked`."""
    table = table.with_columns(checked=pl.when(is_checked).then(pl.col("truth")))
    table.write_csv(name)
    return table


@pytest.fixture
def checked(run: Run) -> pl.DataFrame:
    """Write a table in which every third row is checked."""
    return write_checked(make_birds(), pl.int_range(60) % 3 == 0)


def read(**options: str) -> PreparedTable:
    return prepare(Path("birds.csv"), ReadOptions(labels=("species",), **options))  # type: ignore[arg-type]


def test_checked_rows_are_exact_and_the_others_as_without_gold(checked: pl.DataFrame) -> None:
    """A checked row has its checked label alone; other rows and the features do not change."""
    plain, known = read(), read(gold="checked")
    rows = np.arange(60) % 3 == 0
    assert known.is_checked is not None
    assert known.is_checked.tolist() == rows.tolist()
    sets = known.candidates.to_sets()
    assert [sets[i] for i in np.flatnonzero(rows)] == [{name} for name in checked["checked"].drop_nulls()]
    assert known.candidates[~rows] == plain.candidates[~rows]
    assert "checked" not in [column.name for column in known.columns]


def test_labels_in_the_label_column_give_the_same_fit(run: Run, checked: pl.DataFrame) -> None:
    """A fit with checked labels equals that of a table with these labels in place of the sets."""
    merged = checked.with_columns(species=pl.coalesce("checked", "species")).drop("checked")
    merged.write_csv("merged.csv")
    fits = [
        json.loads(run("fit", *words, "--drop", "truth", *QUICK, "--json", "--out", out).out)
        for words, out in ((TABLE, "first"), (("merged.csv", "--labels", "species"), "second"))
    ]
    assert fits[0]["gold"] == "checked"
    assert (fits[0]["checked"], fits[1]["checked"]) == (20, 0)
    rates = [[fold["covering_rate"] for fold in one["estimate"]["folds"]] for one in fits]
    assert rates[0] == rates[1]
    first, second = (pl.read_csv(f"{name}/training_labels.csv") for name in ("first", "second"))
    assert first["checked"].to_list() == [row % 3 == 0 for row in range(60)]
    assert first.drop("checked").equals(second)
    model = load("first/model.skops")
    assert (model.label_columns, "checked" in dict(model.columns)) == (["species"], False)
    assert "--gold checked" in Path("first/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["compare", "inspect"])
def test_other_commands_read_the_checked_labels(run: Run, checked: pl.DataFrame, command: str) -> None:
    """The commands count the checked rows in a note, and the column is not a feature."""
    result = run.done(command, *TABLE, *(QUICK if command == "compare" else ()))
    assert "20 rows have a checked label (checked)" in result.err


def test_labels_outside_of_their_set_are_used_and_counted(run: Run) -> None:
    """A checked label that is not in the set of its row is used; the note has the number and the first row."""
    table = make_birds()
    other = {"finch": "wren", "owl": "finch", "wren": "owl"}
    outside = pl.when(pl.int_range(60).is_in([4, 8])).then(pl.col("truth").replace(other))
    table.with_columns(checked=outside).write_csv("birds.csv")
    prepared = read(gold="checked")
    message = "2 checked labels are not among the labels of their row, first in row 4; the checked label is used."
    assert message in prepared.notes
    assert prepared.candidates[4] == {other[table["truth"][4]]}


def test_a_checked_label_may_be_a_new_class(run: Run) -> None:
    """The classes are those of the labels and of the checked labels, sorted; unlabeled rows stay unlabeled."""
    table = make_birds().with_columns(checked=pl.when(pl.int_range(60) == 7).then(pl.lit("eagle")))
    table.write_csv("birds.csv")
    plain, known = read(), read(gold="checked")
    assert known.candidates.classes.tolist() == ["eagle", "finch", "owl", "wren"]
    assert known.candidates.is_unlabeled.tolist() == plain.candidates.is_unlabeled.tolist()
    assert "'eagle' is a class of checked labels only." in known.notes


def test_the_held_out_accuracy_does_not_depend_on_the_label_of_the_row(run: Run) -> None:
    """With random labels as checked and true ones, the accuracy of held-out rows is that of chance."""
    rng = np.random.default_rng(0)
    n, names = 300, np.array(["finch", "owl"])
    truth = names[rng.integers(2, size=n)]
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "species": "finch|owl", "truth": truth})
    frame = frame.with_columns(species=pl.when(pl.int_range(n) < 2).then("truth").otherwise("species"))
    frame.write_csv("birds.csv")
    words = ("--labels", "species", "--gold", "truth", "--truth", "truth", "--method", "LOORidge", "--json")
    result = run.done("compare", "birds.csv", *words)
    assert 0.35 < json.loads(result.out)["results"][0]["accuracy"] < 0.65


def test_checked_rows_are_neither_suspected_nor_counted(run: Run) -> None:
    """Checked rows are not in the list of an audit, wrong rows that are not checked still are."""
    write_checked(make_noisy(), pl.int_range(150) % 2 == 0, "noisy.csv")
    words = ("audit", "noisy.csv", "--labels", "species", "--drop", "truth")
    result = run.done(*words, "--gold", "checked", "--out", "issues.csv")
    assert "of 74 labeled rows" in result.out
    assert "rows with a checked label are right" in result.err
    issues = pl.read_csv("issues.csv")
    assert (issues["row"] % 2 == 1).all()
    assert len(issues) == 74  # one of the 75 odd rows is unlabeled
    suspected = issues.filter("suspected")["row"].to_list()
    assert len(set(suspected) & set(range(1, 15, 2))) >= 5


@pytest.mark.parametrize(
    ("cell", "words", "message"),
    [
        ("finch|owl", (), "row 1: 'finch|owl' has several labels."),
        ("eagle", ("--classes", "finch,owl,wren"), "row 1: label 'eagle' is not one of the classes"),
        (None, (), "column 'checked' of checked labels is empty. Remove --gold."),
    ],
)
def test_defects_of_checked_labels_are_errors(run: Run, cell: str | None, words: tuple[str, ...], message: str) -> None:
    """A set, an unknown class if all are named, and an empty column are errors with the row and the remedy."""
    make_birds().with_columns(checked=pl.when(pl.int_range(60) == 1).then(pl.lit(cell))).write_csv("birds.csv")
    check_error(run, "fit", *TABLE, *words, *QUICK, message=message)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["finch|wren", "finch", "", "wren"], ()),
        (["finch:0.4|wren:0.4", "finch:1.0", "", "wren:0.5"], ("--weighted",)),
        (['["finch", "wren"]', '["finch"]', "[]", '["wren"]'], ()),
        (["7|10", "7", "", "10"], ()),
    ],
)
def test_a_set_of_all_labels_stays_a_set_if_a_checked_label_is_a_new_class(
    run: Run, labels: list[str], words: tuple[str, ...]
) -> None:
    """The sets are those with all classes named: explicit ones stay partial, and rows without a label unlabeled."""
    new = "8" if "7" in labels else "owl"
    table = {"x": WAVE[:60], "labels": 15 * labels, "checked": [new if row % 4 == 3 else None for row in range(60)]}
    pl.DataFrame(table).write_csv("birds.csv")
    classes = ",".join(["7", "10", "8"] if "7" in labels else ["finch", "wren", "owl"])
    arguments = ("compare", "birds.csv", "--labels", "labels", "--gold", "checked", *words, *QUICK)
    results = [run(*arguments), run(*arguments, "--classes", classes)]
    for result in results:
        assert result.code == 0, result.err
    read = [
        prepare(Path("birds.csv"), ReadOptions(("labels",), gold="checked", weighted=bool(words), classes=named))
        for named in (None, tuple(classes.split(",")))
    ]
    first, second = (dict(enumerate(one.candidates.to_sets())) for one in read)
    assert first == second
    assert read[0].candidates.is_unlabeled.tolist() == [row % 4 == 2 for row in range(60)]
    assert len(first[0]) == 2
    assert read[0].is_checked is not None
    assert read[0].is_checked.sum() == 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "--noise-rate", "auto", *QUICK), "all labeled rows have a checked label (--gold)"),
        (("audit",), "all labeled rows have a checked label (--gold)"),
    ],
)
def test_an_audit_needs_a_row_that_is_not_checked(run: Run, words: tuple[str, ...], message: str) -> None:
    """The error names the option, and comes before anything is predicted."""
    write_checked(make_birds(), pl.lit(value=True))
    result = check_error(run, words[0], *TABLE, "--drop", "truth", *words[1:], message=message)
    assert "Predicting" not in str(result)


def test_the_headline_names_its_basis(run: Run) -> None:
    """With some checked rows, errors that the features predict are not recognized; with checked rows only, they are."""
    for is_checked, sentence in (
        (pl.int_range(150) % 2 == 0, "Wrong labels that the features predict are not recognized"),
        (pl.lit(value=True), "All held-out rows have a checked label"),
    ):
        write_checked(make_noisy(), is_checked, "noisy.csv")
        words = ("fit", "noisy.csv", "--labels", "species", "--gold", "checked", "--drop", "truth")
        summary = read_json(run, *words, "--folds", "2", "--out", "model")
        assert sentence in summary["headline"]["meaning"]
        assert summary["estimated_accuracy"]["n_checked"] == (150 if "All" in sentence else 75)
