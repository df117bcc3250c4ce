"""Files of answers: names of rows and annotators, notes, and defects; the forms are those of `test_forms`."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import PreparedTable, prepare
from tests.cli.answers.conftest import ANSWERS, FIT, NAMES, at, make_answers, write_answers
from tests.cli.conftest import Run, check_error, make_birds

FIRST_ROWS = [f"b{i}" for i in range(40)]


def _prepare(answers: str = "answers.csv", *, is_wide: bool = False, missing: tuple[str, ...] = ()) -> PreparedTable:
    """Return the table with answers about its rows, as `oneof fit` reads them."""
    columns = {} if is_wide else {"annotator": "worker", "answer": "label"}
    return prepare(Path("table.csv"), ReadOptions(answers_file=Path(answers), row="id", **columns, missing=missing))


def _of_rows(prepared: PreparedTable) -> dict[str, Any]:
    """Return the answers about each row that has any, by its name."""
    given = prepared.answers
    return {name: found for row, name in enumerate(given.row_names) if (found := given.answers.of_row(row))}


def _misspell(answers: pl.DataFrame) -> pl.DataFrame:
    answers = answers.with_columns(pl.col("label").str.replace_all("finch", "goldfinch"))
    answers[(answers["label"] == "goldfinch").arg_max(), "label"] = "goldfinhc"
    return answers


def _of_ann(label: str) -> pl.Expr:
    return pl.when(pl.col("worker") == "Ann").then(pl.lit(label)).otherwise(pl.col("label")).alias("label")


NOTES = {
    "a misspelled answer": (_misspell, "'goldfinhc' (1 answer; nearly 'goldfinch' with "),
    "a class that may be a missing label": (
        lambda answers: answers.with_columns(**at(3, "label", "n/a")), "in answers.csv, 'n/a' is read as a class",
    ),
    "an annotator who names all classes": (
        lambda answers: answers.with_columns(_of_ann("|".join(NAMES))), "informative answers are omitted: 'Ann'.",
    ),
    "an annotator without answers": (
        lambda answers: answers.with_columns(_of_ann("")), "informative answers are omitted: 'Ann'.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("kind", NOTES)
def test_notes_on_answers(run: Run, table: Path, kind: str, is_wide: bool) -> None:
    """The note counts answers, names the file or the annotator, and is the same for both forms of a table."""
    change, note = NOTES[kind]
    answers = change(make_answers())
    (answers.pivot("worker", index="id", values="label") if is_wide else answers).write_csv("answers.csv")
    assert any(note in line for line in _prepare(is_wide=is_wide).notes)


def test_other_and_repeated_answers_are_counted(run: Run, table: Path) -> None:
    """Answers about rows that the table does not have are omitted, and equal answers count once, with notes."""
    answers = make_answers()
    make_birds().drop("species").head(40).write_csv("table.csv")
    known = answers.filter(pl.col("id").is_in(FIRST_ROWS))
    pl.concat([answers, answers.head(2)]).write_csv("answers.csv")
    part = _prepare()
    row = answers["id"].is_in(FIRST_ROWS).not_().arg_max()
    omitted = (
        f"does not have are omitted: {len(answers) - len(known)}, such as about the row 'b40' (answers.csv, row {row})"
    )
    assert any(omitted in note for note in part.notes)
    assert any("2 repeated answers (of equal row, annotator and label) count once" in note for note in part.notes)
    known.write_csv("answers.csv")
    assert _of_rows(part) == _of_rows(_prepare())


def test_labels_do_not_depend_on_the_order_of_the_lines(run: Run, table: Path) -> None:
    """Shuffled answers are the same answers, and give the same labels."""
    ordered = _prepare()
    make_answers().sample(fraction=1.0, shuffle=True, seed=0).write_csv("answers.csv")
    shuffled = _prepare()
    assert _of_rows(shuffled) == _of_rows(ordered)
    assert not shuffled.answers.answers.are_rules
    np.testing.assert_allclose(shuffled.candidates.weights, ordered.candidates.weights, rtol=1e-6)


def test_integer_names_match_their_text(run: Run, table: Path) -> None:
    """Names of rows are compared as text, and labels may be whole numbers."""
    code = {name: str(k) for k, name in enumerate(NAMES)}
    make_birds().drop("species").with_columns(id=pl.col("id").str.slice(1)).write_csv("table.csv")
    records = make_answers().filter(~pl.col("label").str.contains("|", literal=True))
    numbered = records.with_columns(pl.col("id").str.slice(1), pl.col("label").replace(code)).cast(
        {"id": int, "label": int}
    )
    numbered.write_parquet("answers.parquet")
    prepared = _prepare("answers.parquet")
    assert prepared.candidates.classes.tolist() == [0, 1, 2]
    assert prepared.answers.answers.n_answers == len(records)


@pytest.mark.parametrize(
    ("columns", "args", "message"),
    [
        ({}, ["--row", "migrates"], "twice. Name each row of the table differently."),
        ({"id": "c" + pl.col("id")}, [], "answers.csv, row 0: the answers name rows such as 'cb0', which table.csv"),
        (at(3, "id", ""), [], "answers.csv, row 3: column 'id' is empty. Name the row"),
        (at(3, "worker", ""), [], "answers.csv, row 3: column 'worker' is empty. Name the annotator"),
        ({"label": pl.lit("owl")}, [], "only one class occurs ('owl'). A classifier needs at least two: name all"),
        ({"label": pl.lit("")}, [], "every row is unlabeled"),
        ({}, ["--row", "idd"], "table.csv: column 'idd' does not exist: did you mean 'id'? --row COLUMN names the"),
        ({"name": "id"}, ["--row", "name"], "names the column of the rows in the table and in answers.csv"),
        ({"key": "id", "id": None}, [], "and --answers-row COLUMN that of answers.csv if it has another name"),
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


def test_tokens_of_missing_labels_are_no_answers(run: Run, table: Path) -> None:
    """A token of --missing is a missing answer in records and in columns of annotators; a row may have its name."""
    answers = make_answers().with_columns(id=pl.col("id").replace("b0", "unsure"))
    pl.read_csv("table.csv").with_columns(id=pl.col("id").replace("b0", "unsure")).write_csv("table.csv")
    is_unsure = pl.arange(0, pl.len()) % 7 == 3
    found = []
    for label in (pl.lit("Unsure"), pl.lit(None)):
        given = answers.with_columns(label=pl.when(is_unsure).then(label).otherwise("label"))
        given.write_csv("answers.csv")
        given.pivot("worker", index="id", values="label").write_csv("wide.csv")
        found += [
            _of_rows(_prepare(name, is_wide=name == "wide.csv", missing=("unsure",)))
            for name in ("answers.csv", "wide.csv")
        ]
    assert found[0] == found[1] == found[2] == found[3]
    assert sum(map(len, found[0].values())) == answers.filter(~is_unsure).height


SESSION = ("--labels", "species", "--classes", "finch,owl", "--row", "id")


def test_a_session_imports_answers_with_another_column_of_the_rows(run: Run, table: Path) -> None:
    """`oneof label --import` has the option of `fit`, also for degrees of certainty; no command ignores it."""
    pl.DataFrame({"example_id": ["b3"], "worker": ["Ann"], "label": ["owl"], "degree": ["guess"]}).write_csv("one.csv")
    words = ("label", table, *SESSION, "--answers-row", "example_id", "--export-answers", "out.csv")
    check_error(run, *words, message="--answers-row needs --import: add it.")
    run.done(*words, "--import", "one.csv")
    assert pl.read_csv("out.csv").rows() == [("b3", "Ann", "owl", "guess")]
    np.savez("answers.npz", answers=np.zeros((60, 2), dtype=int), classes=np.array(["owl", "wren"]))
    message = "--answers-row has no use with the archive answers.npz, whose rows are those of the table"
    check_error(run, "audit", table, "--answers", "answers.npz", "--answers-row", "id", message=message)


# -- `--exclude-annotator`: answers of an annotator that are not used, and stay in their file --------------------------


CLASSES = ("--labels", "species", "--classes", ",".join(NAMES))


@pytest.mark.parametrize("form", ["csv", "wide"])
def test_the_labels_are_those_without_the_excluded_answers(run: Run, table: Path, form: str) -> None:
    """`--exclude-annotator` gives the same labels as a file without the lines of the annotator."""
    answers = make_answers()
    others = answers.filter(pl.col("worker") != "Dan")
    args = ANSWERS
    if form == "wide":
        answers, others = (one.pivot(on="worker", index="id", values="label") for one in (answers, others))
        args = ("--answers", "answers.csv", "--row", "id")
    results = []
    for frame, excluded in ((answers, ("--exclude-annotator", "Dan")), (others, ())):
        frame.write_csv("answers.csv")
        before = Path("answers.csv").read_bytes()
        result = run.done("audit", table, *args, *excluded, "--method", "PLKNN", "--out", "issues.csv")
        assert ("answers that are not used, by --exclude-annotator Dan: " in result.err) == bool(excluded)
        results.append(Path("issues.csv").read_bytes())
        assert Path("answers.csv").read_bytes() == before
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("Dam", "--exclude-annotator 'Dam' has no answers in answers.csv; annotators are Dan."),
        ("x", "'x' has no answers in answers.csv; annotators are Ann, Bob, Cem, Dan and \"Smith, J\"."),
        ("Smith, J", "--exclude-annotator 'Smith' has no answers in answers.csv; annotators are \"Smith, J\"."),
        ('Ann,Bob,Cem,Dan,"Smith, J"', "--exclude-annotator excludes all annotators of answers.csv. Keep at least one"),
    ],
)
def test_annotators_that_cannot_be_excluded(run: Run, table: Path, names: str, sentence: str) -> None:
    """A name without answers, and the names of all annotators, are errors with the names as the option has them."""
    with Path("answers.csv").open("a") as file:
        file.write('b0,"Smith, J",owl\n')
    check_error(run, *FIT, "--exclude-annotator", names, message=sentence)
    assert (
        'by --exclude-annotator "Smith, J": 1.' in run("inspect", *FIT[1:-4], "--exclude-annotator", '"Smith, J"').err
    )


def test_a_session_names_an_annotator_of_random_answers_and_excludes_it(run: Run) -> None:
    """An export names the annotator that is no better than chance; without it, labels are those of the others."""
    birds, rng = make_birds(), np.random.default_rng(7)
    birds.drop("species").write_csv("table.csv")
    lines = [
        (f"b{i}", worker, str(rng.choice(NAMES)) if worker == "bot" else label)
        for i, label in enumerate(birds["truth"])
        for worker in ("Ann", "Bob", "bot")
        if worker != "Bob" or i >= 5
    ]
    pl.DataFrame(lines, ["id", "worker", "label"], orient="row").write_csv("all.csv")
    words = ("label", "table.csv", *CLASSES, "--hide", "truth", "--row", "id")
    result = run.done(*words, "--import", "all.csv", "--export", "all.parquet")
    assert "the answers of bot are no better than chance. --exclude-annotator bot leaves them out" in result.err
    result = run.done(
        *words, "--exclude-annotator", "bot", "--export", "others.parquet", "--export-answers", "others.csv"
    )
    assert "no better than chance" not in result.err
    assert pl.read_parquet("others.parquet")["species"].to_list() == [[label] for label in birds["truth"]]
    assert set(pl.read_csv("others.csv")["worker"]) == {"Ann", "Bob"}
    result = run(*words, "--export-answers", "again.csv")
    assert pl.read_csv("again.csv").height == len(lines)
    message = "--exclude-annotator 'robot' has no answers in table-answers.sqlite; annotators are bot."
    check_error(run, *words, "--exclude-annotator", "robot", "--export", "others.parquet", message=message)


def test_an_unknown_annotator_is_an_error_before_the_import(run: Run) -> None:
    """The session has no answers of the file then; the rows of an excluded annotator remain to be labeled."""
    make_birds().drop("species").write_csv("table.csv")
    pl.DataFrame({"id": [f"b{i}" for i in range(4)], "worker": "bot", "label": "owl"}).write_csv("one.csv")
    words = ("label", "table.csv", *CLASSES, "--hide", "truth", "--row", "id", "--export-answers", "out.csv")
    result = run(*words, "--exclude-annotator", "bto", "--import", "one.csv")
    assert result.code == 2
    assert "'bto' has no answers in table-answers.sqlite or one.csv; annotators are bot." in result.err
    run.done(*words)
    assert pl.read_csv("out.csv").height == 0
    result = run.done(*words, "--exclude-annotator", "bot", "--import", "one.csv", "--export", "none.parquet")
    assert "New answers imported: 4." in result.out
    assert "(60 rows remain to be labeled)" in result.out
    assert pl.read_csv("out.csv").height == 0


def test_answers_in_the_table_itself_are_not_features(run: Run, table: Path) -> None:
    """If the table is itself the file of answers, the columns of the annotators are excluded from the features."""
    wide = make_answers().pivot("worker", index="id", values="label", aggregate_function="first")
    make_birds().select("id", "span").join(wide, on="id", how="left").write_csv("table.csv")
    options = ReadOptions(answers_file=Path("./table.csv"), row="id", exclude_annotator=("span",))
    prepared = prepare(Path("table.csv"), options)
    assert [column.name for column in prepared.columns] == ["span"]
    assert prepared.answers.columns == set(wide.columns) - {"id"}
