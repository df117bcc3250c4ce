"""Files of answers: formats, names of rows and annotators, and defects."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.answers.files import read_answers
from oneof.cli.tables.inputs import PreparedTable, prepare
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import InputError
from oneof.io import answers, read_table
from oneof.io.answers import AnswerOptions
from tests.cli.answers.conftest import FIT, NAMES, at, fit, make_answers, write_answers
from tests.cli.conftest import Run, check_error, make_birds


def _prepare(
    answers: str, *, table: str = "table.csv", is_wide: bool = False, missing: tuple[str, ...] = ()
) -> PreparedTable:
    """Return a table with answers about its rows, as `oneof fit` reads them."""
    columns = {} if is_wide else {"annotator": "worker", "answer": "label"}
    return prepare(Path(table), ReadOptions(answers_file=Path(answers), row="id", **columns, missing=missing))


def _of_rows(prepared: PreparedTable) -> dict[str, Any]:
    """Return the answers about each row that has any, by its name."""
    return {
        name: prepared.answers.answers.of_row(row)
        for row, name in enumerate(prepared.answers.row_names)
        if prepared.answers.answers.of_row(row)
    }


@pytest.mark.parametrize("is_wide", [False, True])
def test_a_misspelled_answer_is_noted(run: Run, table: Path, is_wide: bool) -> None:
    """The note counts the answers, since the labels of the rows are weights of all classes."""
    records = make_answers().with_columns(pl.col("label").str.replace_all("finch", "goldfinch"))
    records[(records["label"] == "goldfinch").arg_max(), "label"] = "goldfinhc"
    if is_wide:
        records = records.pivot("worker", index="id", values="label")
    records.write_csv("answers.csv")
    notes = _prepare("answers.csv", is_wide=is_wide).notes
    assert any("'goldfinhc' (1 answer; nearly 'goldfinch' with " in note for note in notes)


def test_results_do_not_depend_on_the_order_of_the_lines(run: Run, table: Path) -> None:
    """Shuffled answers have the same model, accuracies and labels."""
    expected = json.loads(fit(run, "--json").out)["answers"]
    labels = pl.read_csv("table-oneof/training_labels.csv")
    make_answers().sample(fraction=1.0, shuffle=True, seed=0).write_csv("answers.csv")
    given = json.loads(fit(run, "--json").out)["answers"]
    assert not given["rules"]
    accuracies = [[line["accuracy"] for line in one["annotators"]] for one in (given, expected)]
    np.testing.assert_allclose(*accuracies, rtol=1e-6)
    other = pl.read_csv("table-oneof/training_labels.csv")
    assert other["label"].to_list() == labels["label"].to_list()
    np.testing.assert_allclose(other["confidence"], labels["confidence"], rtol=1e-6)


def test_integer_names_match_their_text(run: Run, table: Path) -> None:
    """Names of rows are compared as text, and labels may be whole numbers."""
    code = {name: str(k) for k, name in enumerate(NAMES)}
    birds, records = make_birds().drop("species"), make_answers()
    birds.with_columns(id=pl.col("id").str.slice(1), truth=pl.col("truth").replace(code)).write_csv("table.csv")
    numbered = records.filter(~pl.col("label").str.contains("|", literal=True)).with_columns(
        pl.col("id").str.slice(1).cast(pl.Int64), pl.col("label").replace(code).cast(pl.Int64)
    )
    numbered.write_parquet("answers.parquet")
    summary = json.loads(fit(run, "--json", "--answers", "answers.parquet").out)
    assert summary["classes"] == [0, 1, 2]
    assert summary["answers"]["masi_alpha"] is None


@pytest.mark.parametrize(
    ("columns", "args", "message"),
    [
        ({"id": "c" + pl.col("id")}, [], "answers.csv, row 0: no answer is about a row of table.csv: the answers name"),
        (at(3, "id", ""), [], "answers.csv, row 3: column 'id' is empty. Name the row"),
        (at(3, "worker", ""), [], "answers.csv, row 3: column 'worker' is empty. Name the annotator"),
        (at(5, "label", "robin"), ["--classes", "finch,owl,wren"], "robin"),
        (at(5, "label", "owl||wren"), [], "answers.csv, row 5: 'owl||wren' contains an empty label"),
        ({"label": pl.lit("owl")}, [], "only one class occurs ('owl'). A classifier needs at least two: name all"),
        ({"label": pl.lit("")}, [], "every row is unlabeled"),
        ({}, ["--row", "idd"], "table.csv: column 'idd' does not exist: did you mean 'id'? --row COLUMN names the"),
        ({}, ["--row", "colors"], "column 'colors' does not exist: did you mean 'color'?"),
        ({"name": "id"}, ["--row", "name"], "names the column of the rows in the table and in answers.csv"),
        ({"key": "id", "id": None}, [], "column 'id' does not exist: the columns are worker, label, key. --row COLUMN"),
        ({}, ["--annotator", "work"], "did you mean 'worker'?"),
        ({}, ["--answer", "labl"], "did you mean 'label'?"),
        ({}, ["--answers", "none.csv"], "the file none.csv does not exist"),
        ({}, ["--gold", "color"], "checked labels 'color' of table.csv, row 1: label 'gray' is not one"),
        ({}, ["--gold", "nothing"], "column 'nothing' of checked labels is empty"),
        ({}, ["--labels", "truth"], "--labels cannot be combined with --answers: name checked labels by --gold"),
        ({}, ["--weighted", "--kind", "posterior"], "--weighted cannot be combined with --answers"),
        ({}, ["--online"], "--online cannot be combined with --answers"),
        ({}, ["--out", "."], "answers.csv"),
    ],
)  # fmt: skip
def test_bad_answers(run: Run, table: Path, columns: Any, args: list[str], message: str) -> None:
    """Each defect is one sentence, and no file is written."""
    if args == ["--out", "."]:
        make_answers().write_csv("annotators.csv")
        args, message = [*args, "--answers", "annotators.csv"], "annotators.csv is an input file"
    write_answers(**columns)
    make_birds().drop("species").with_columns(nothing=pl.lit("")).write_csv("table.csv")
    check_error(run, *FIT, *args, message=message)


def test_an_annotator_with_empty_labels_only_is_omitted(run: Run, table: Path) -> None:
    """The note is that of an export, and records are named by their line of the file."""
    empty = {"label": pl.when(pl.col("worker") == "Ann").then(pl.lit("")).otherwise(pl.col("label"))}
    write_answers(**empty)
    assert "annotators without informative answers are omitted: 'Ann'." in fit(run).err
    assert "Ann" not in pl.read_csv("table-oneof/annotators.csv")["annotator"].to_list()
    record = make_answers()["worker"].to_list().index("Bob", 3)
    make_answers().with_columns(**empty).with_columns(**at(record, "id", "b99")).write_csv("answers.csv")
    note = f"rows that table.csv does not have are omitted: 1, such as about the row 'b99' (answers.csv, row {record})"
    assert any(note in line for line in _prepare("answers.csv").notes)


@pytest.mark.parametrize("is_wide", [False, True])
def test_an_annotator_who_names_all_classes_has_a_note(run: Run, table: Path, is_wide: bool) -> None:
    """The note names the annotator."""
    everything = pl.when(pl.col("worker") == "Ann").then(pl.lit("|".join(NAMES))).otherwise(pl.col("label"))
    answers = make_answers().with_columns(label=everything)
    (answers.pivot("worker", index="id", values="label") if is_wide else answers).write_csv("answers.csv")
    notes = _prepare("answers.csv", is_wide=is_wide).notes
    assert "annotators without informative answers are omitted: 'Ann'." in notes


def test_answers_about_other_rows_are_omitted(run: Run, table: Path) -> None:
    """A table of some of the rows is fitted to the answers about them, and a note has the number of the others."""
    make_birds().drop("species").head(40).write_csv("part.csv")
    known = make_answers().filter(pl.col("id").is_in([f"b{i}" for i in range(40)]))
    n_other = make_answers().height - known.height
    part = _prepare("answers.csv", table="part.csv")
    assert any(f"does not have are omitted: {n_other}, such as" in note for note in part.notes)
    known.write_csv("answers.csv")
    assert _of_rows(part) == _of_rows(_prepare("answers.csv", table="part.csv"))


def test_a_token_that_is_a_class_is_named_with_the_file_of_the_answers(run: Run, table: Path) -> None:
    """The note says in which file the cells are, since the table has labels as well."""
    write_answers(**at(3, "label", "n/a"))
    assert any(note.startswith("in answers.csv, 'n/a' is read as a class") for note in _prepare("answers.csv").notes)


def test_tokens_of_missing_labels_are_no_answers(run: Run, table: Path) -> None:
    """A token of --missing is a missing answer in records and in columns of annotators; a row may have its name."""
    answers = make_answers().with_columns(id=pl.col("id").replace("b0", "unsure"))
    pl.read_csv("table.csv").with_columns(id=pl.col("id").replace("b0", "unsure")).write_csv("table.csv")
    is_unsure = pl.arange(0, pl.len()) % 7 == 3
    for name, label in (("unsure.csv", pl.lit("Unsure")), ("empty.csv", pl.lit(None))):
        given = answers.with_columns(label=pl.when(is_unsure).then(label).otherwise("label"))
        given.write_csv(name)
        given.pivot("worker", index="id", values="label").write_csv(f"wide-{name}")
    found = [
        _of_rows(_prepare(name, is_wide=name.startswith("wide"), missing=("unsure",)))
        for name in ("empty.csv", "unsure.csv", "wide-empty.csv", "wide-unsure.csv")
    ]
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert sum(map(len, found[0].values())) == answers.filter(~is_unsure).height


def test_spaces_around_names_of_annotators_are_removed(run: Run, table: Path) -> None:
    """The annotator of a line is the same with spaces around the name, and has one answer to a row."""
    expected = _prepare("answers.csv").answers
    spaced = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("worker") + " ").otherwise(pl.col("worker"))
    make_answers().with_columns(worker=spaced).write_csv("answers.csv")
    given = _prepare("answers.csv").answers
    assert given.answers.annotators.tolist() == expected.answers.annotators.tolist()
    assert given.answers.n_answers == expected.answers.n_answers
    Path("twice.csv").write_text("id,worker,label\nb0,Ann,owl\nb0,Ann ,wren\n")
    with pytest.raises(InputError, match=r"twice\.csv, row 1.*'Ann'"):
        _prepare("twice.csv")


def test_a_file_of_answers_is_read_once(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of answers of either form is parsed once."""
    make_answers().pivot("worker", index="id", values="label").write_csv("wide.csv")
    read = answers.read_table
    paths: list[str] = []

    def record(path: Any, **options: Any) -> Any:
        paths.append(str(path))
        return read(path, **options)

    monkeypatch.setattr(answers, "read_table", record)
    rows = read("table.csv", labels=("id",))
    for options in (AnswerOptions(Path("answers.csv"), "id"), AnswerOptions(Path("wide.csv"), "id")):
        given = read_answers(options, rows, separator=None, classes=None)
        assert given.answers.n_answers == make_answers().height
        assert paths == [str(options.path)]
        paths.clear()


def test_default_columns_are_those_of_the_labeling_page(run: Run, table: Path) -> None:
    """Columns item, worker and label are found, and rows without a column of names are numbered."""
    rows = read_table("table.csv", labels=("id",))
    expected = read_answers(
        AnswerOptions(Path("answers.csv"), "id", "worker", "label"), rows, separator=None, classes=None
    )
    records = make_answers()
    numbers = pl.col("id").str.slice(1)
    forms: list[tuple[pl.DataFrame, str | None]] = [
        (records, "id"),
        (records.rename({"id": "item"}), "id"),
        (records.rename({"id": "item", "worker": "annotator", "label": "answer"}), "id"),
        (records.with_columns(numbers).rename({"id": "item"}), None),
        (records.with_columns(numbers).rename({"id": "row", "worker": "annotator"}), None),
    ]
    for form, column in forms:
        form.write_csv("form.csv")
        given = read_answers(AnswerOptions(Path("form.csv"), column), rows, separator=None, classes=None)
        assert [given.answers.of_row(row) for row in range(60)] == [expected.answers.of_row(row) for row in range(60)]


def test_repeated_names_of_rows(run: Run, table: Path) -> None:
    """A row name that the table has twice is an error, and repeated answers are counted in a note."""
    make_birds().drop("species").with_columns(**at(7, "id", "b6")).write_csv("table.csv")
    check_error(run, *FIT, message="table.csv, row 7: column 'id' contains 'b6' twice")
    make_birds().drop("species").write_csv("table.csv")
    records = make_answers()
    pl.concat([records, records.head(2)]).write_csv("answers.csv")
    note = "2 repeated answers (of equal row, annotator and label) count once"
    assert any(note in line for line in _prepare("answers.csv").notes)


def test_two_answers_of_an_annotator_to_a_row(run: Run, table: Path) -> None:
    """Different answers are an error that names the record, the annotator, the row and both answers."""
    records = make_answers()
    first = records.row(0)
    second = pl.DataFrame([(first[0], first[1], "wren|owl")], records.schema, orient="row")
    pl.concat([records, second]).write_csv("answers.csv")
    message = f"answers.csv, row {len(records)}: annotator {first[1]!r} answered the row {first[0]!r} twice, with "
    check_error(run, *FIT, message=f"{message}{first[2]!r} and 'owl or wren'. Keep one answer")


@pytest.mark.parametrize("option", ["--row", "--annotator", "--answer"])
def test_options_of_answers_need_answers(run: Run, birds: Path, option: str) -> None:
    check_error(run, "fit", "birds.csv", "--labels", "species", option, "id", message=f"{option} needs --answers")
