"""Answers of `oneof label`: imports as by `oneof fit --answers`, new classes, and audits with checked labels."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.cli.labeling import OpenedSession
from oneof.cli.options import ReadOptions
from oneof.errors import DataError
from tests.cli.conftest import Run, make_birds, read_json
from tests.cli.labeling.conftest import CLASSES, LABEL, READ_OPTIONS, open_birds

NAMES = ("finch", "owl", "wren")
OF_NAMES = ("--labels", "species", "--hide", "truth", "--classes", ",".join(NAMES))
ONE_SPELLING = ("--fold-case", "--missing", "x?")
"""The classes have the spelling of --classes."""


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("id,worker,label\nb1,x,owl\nb1,y,owl|wren\nb2,x,\nb2,y,finch\nother,x,owl\n", ()),
        ("row,x,y\nb1,owl,owl;wren\nb2,,finch\n", ("--separator", ";")),
        ("id,x,y\nb1,Owl,OWL|wren\nb2,x?,Finch\n", ONE_SPELLING),
        ("id,worker,label\nb1,x,OWL\nb1,y,Owl|WREN\nb2,x,x?\nb2,y,finch\n", ONE_SPELLING),
    ],
    ids=["records", "wide by row", "wide in one spelling", "records in one spelling"],
)
def test_files_of_the_same_answers_are_imported_alike(run: Run, bare: Path, text: str, args: tuple[str, ...]) -> None:
    """A line for each answer and a column for each annotator are the same, in one spelling and with further tokens."""
    Path("answers.csv").write_text(text)
    words = ("--import", "answers.csv", "--row", "id", *args, "--export-answers", "out.csv")
    result = run.done("label", bare, *OF_NAMES, *words, "--json")
    assert json.loads(result.out)["n_imported"] == 3
    assert ("birds.csv does not have are omitted: 1, such as" in result.err) == ("other" in text)
    exported = pl.read_csv("out.csv").select("item", "worker", pl.col("label").str.replace(";", "|")).rows()
    assert exported == [("b1", "x", "owl"), ("b1", "y", "owl|wren"), ("b2", "y", "finch")]


def test_exports_of_answers_are_imported_by_the_names_of_the_rows(run: Run) -> None:
    """The names are those of a column `row` of the table, by which `fit` reads the export; degrees are kept."""
    make_birds().drop("species").with_columns(row=pl.Series([f"r{59 - i}" for i in range(60)])).write_csv("birds.csv")
    Path("answers.csv").write_text("row,worker,label,degree\nr1,x,owl,guess\nr1,y,wren,\nr3,x,owl,sure\n")
    words = ("label", "birds.csv", *OF_NAMES)
    assert run(*words, "--import", "answers.csv", "--export-answers", "one.csv").code == 0
    again = ("--session", "other.sqlite", "--import", "one.csv", "--export-answers", "two.csv")
    assert run(*words, *again).code == 0
    expected = [("r3", "x", "owl", "sure"), ("r1", "x", "owl", "guess"), ("r1", "y", "wren", None)]
    assert pl.read_csv("one.csv").rows() == pl.read_csv("two.csv").rows() == expected


def begin(path: str, classes: Sequence[str] | None, **more: Any) -> OpenedSession:
    """Open a session in which every row may be asked."""
    read_options = ReadOptions(("species",), classes=None if classes is None else tuple(classes))
    return open_birds(path, read_options, **more)


def test_a_session_goes_on_with_a_new_class(run: Run, bare: Path) -> None:
    """With one more class, all answers are kept, excluded labels leave it possible, and the model predicts it."""
    truth = make_birds()["truth"].to_list()
    with begin("birds.csv", NAMES).session as session:
        for row in range(20):
            session.answer(session.question_for(row, "Ann"), truth[row])
        session.answer(session.question_for(20, "Ann"), ["finch", "owl"])
        session.reject(session.question_for(21, "Ann"), "owl")
        session.dont_know(session.question_for(22, "Bob"))
        before, log = session.candidates().to_sets(), session.answers.log()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the note is not given twice
        opened = begin("birds.csv", ["heron", *NAMES])
    assert "'heron' is a new class of the session." in " ".join(opened.notes)
    with opened.session as session:
        assert session.classes.tolist() == [*NAMES, "heron"]
        assert session.answers.log() == log
        after = session.candidates().to_sets()
        assert after[:21] == before[:21]
        assert after[21] == {"finch", "wren", "heron"}
        assert session.candidates().is_unlabeled[22:].all()
        session.answer(session.question_for(30, "Ann"), "heron")
        assert session.ask("Ann").proba.shape == (4,)
        assert session.snapshot.n_labeled == 23
    opened = begin("birds.csv", None)  # the file has all four
    assert not any("new class" in sentence for sentence in opened.notes)
    with opened.session as session:
        assert session.candidates().to_sets()[30] == {"heron"}
    with pytest.raises(DataError, match="has answers for the classes finch, owl, wren, heron; got the classes finch"):
        begin("birds.csv", NAMES)


def test_a_running_session_says_that_another_one_has_added_a_class(run: Run, bare: Path) -> None:
    """A session that was opened before does not read an answer of the new class, and loses no answer of its own."""
    with begin("birds.csv", NAMES).session as old:
        old.answer(old.question_for(1, "Ann"), "owl")
        with begin("birds.csv", [*NAMES, "heron"]).session as new:
            new.answer(new.question_for(0, "Bob"), "heron")
        with pytest.raises(DataError, match="If another session of this file has added a class, start this one again"):
            old.candidates()
    with begin("birds.csv", None).session as new:
        assert new.candidates().to_sets()[:2] == [{"heron"}, {"owl"}]


WRONG = (7, 31, 52)


def write_wrong() -> pl.DataFrame:
    """Write the birds with exact labels, three of them wrong, and checked labels of two of these and ten others."""
    birds = make_birds()
    truth = birds["truth"].to_list()
    others = {"finch": "owl", "owl": "wren", "wren": "finch"}
    labels = [others[name] if i in WRONG else name for i, name in enumerate(truth)]
    checked = [name if i in WRONG[:2] or i < 10 else None for i, name in enumerate(truth)]
    frame = birds.drop("truth", "remark", "id").with_columns(
        species=pl.Series(labels), checked=pl.Series(checked), note=pl.lit("a; b")
    )
    frame.write_csv("birds.csv", separator=";")
    return frame


def test_checked_rows_are_not_proposed_again(run: Run) -> None:
    """With --gold, the suspected rows and the noise rate are those of `oneof audit --gold`: no row is checked."""
    write_wrong()
    expected = read_json(run, "audit", "birds.csv", "--labels", "species", "--gold", "checked")
    assert [issue["row"] for issue in expected["issues"]] == [52]
    opened = begin("birds.csv", None, hide=(), gold="checked", serves=True, audit=True)
    with opened.session as session:
        assert session.ask("Ann").row == 52
        assert session.review.summary(session.answers).n_flagged == 1
    notes = " ".join(opened.notes)
    assert "rows with a checked label are right" in notes
    assert f"about {expected['n_wrong']:.0f} of {expected['labeled']} labeled rows" in notes
    assert expected["labeled"] == 60 - 11


def test_exports_of_a_review_have_the_checked_labels(run: Run) -> None:
    """A checked label replaces another one in the cell of its row; all other cells are those of the file."""
    frame = write_wrong()
    words = ("label", "birds.csv", "--labels", "species", "--audit", "--gold", "checked", "--export", "out.csv")
    run.done(*words)
    before, after = Path("birds.csv").read_text().splitlines(), Path("out.csv").read_text().splitlines()
    changed = [row for row, lines in enumerate(zip(before[1:], after[1:], strict=True)) if lines[0] != lines[1]]
    assert changed == list(WRONG[:2])
    assert pl.read_csv("out.csv", separator=";")["species"][7] == frame["checked"][7]


# -- Several annotators: imported answers, gold rows, progress, and their model ----------------------------------------


def test_several_files_are_imported(run: Run, bare: Path) -> None:
    """--import reads a long table and an export of Label Studio, and --export writes both."""
    Path("long.csv").write_text("id,who,bird\nb1,x,owl\nb2,x,owl|wren\n")
    result = {"type": "choices", "from_name": "bird", "value": {"choices": ["wren"]}}
    task = {"data": {"id": "b3"}, "annotations": [{"completed_by": 4, "result": [result]}]}
    Path("tasks.json").write_text(json.dumps([task]))
    words = ("label", bare, *LABEL, *CLASSES, "--row", "id", "--answer", "bird")
    first = run.done(*words, "--import", "long.csv", "--annotator", "who", "--export", "out.parquet", "--json")
    files = ("--import", "tasks.json", "--import", "more.csv")
    Path("more.csv").write_text("item,worker,bird\nb3,x,wren\nb4,x,owl\n")
    second = run(*words, *files, "--export", "out.parquet", "--json")
    assert [json.loads(one.out)["n_imported"] for one in (first, second)] == [2, 3]
    expected = [None, ["owl"], ["owl", "wren"], ["wren"], ["owl"]]
    assert pl.read_parquet("out.parquet")["species"].to_list()[:5] == expected


def test_several_annotators_are_combined_by_their_model(run: Run, bare: Path) -> None:
    """--combination model writes weights of the annotators' model, in which an unreliable one counts less."""
    truth = make_birds()["truth"].to_list()
    given = {"Ann": truth, "Bob": truth, "Cem": [name if i % 3 else "owl" for i, name in enumerate(truth)]}
    pl.DataFrame({"id": [f"b{i}" for i in range(30)], **{by: names[:30] for by, names in given.items()}}).write_csv(
        "a.csv"
    )
    words = ("label", bare, *LABEL, *CLASSES, "--import", "a.csv", "--row", "id", "--export", "out.csv")
    run.done(*words, "--combination", "model")
    texts = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    weights = CandidateSets.from_strings(texts, weighted=True, classes=["finch", "owl", "wren"]).weights
    assert [["finch", "owl", "wren"][k] for k in weights[:30].argmax(axis=1)] == truth[:30]
    assert (np.sort(weights[:30], axis=1)[:, 1] > 0).any()


def test_remaining_rows_are_counted_after_imports(run: Run, bare: Path, served: Any) -> None:
    """The JSON output and the page have the same count."""
    shown: list[int] = []
    served(lambda client: shown.append(client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()["state"]))
    Path("long.csv").write_text("item,worker,label\n0,x,owl\n1,x,owl|wren\n")
    facts = read_json(run, "label", bare, *LABEL, *CLASSES, "--import", "long.csv", "--no-browser")
    assert (facts["rows"], facts["n_imported"], facts["n_remaining"]) == (60, 2, 58)
    assert shown[0]["n_remaining"] == 58


def test_gold_rows_of_a_column_or_a_file(run: Run, birds: Path) -> None:
    """Known labels are those of a column, which is not shown, or of a file of items; exports have them."""
    known = ["owl", None, " wren "] + [None] * 1000
    frame = make_birds().drop("species", "truth")
    frame.with_columns(pl.Series("known", known[: frame.height])).write_csv("gold.csv")
    pl.DataFrame({"item": ["0", "2"], "label": ["owl", "wren"]}).write_csv("known.csv")
    common = ("label", "gold.csv", "--labels", "species", *CLASSES)
    for gold, hide in (("known", ()), ("known.csv", ("--hide", "known"))):
        exported = f"{gold}-labels.parquet"
        run.done(*common, "--gold", gold, *hide, "--export", exported, "--session", f"{gold}.sqlite")
        assert pl.read_parquet(exported)["species"].explode().to_list()[:3] == ["owl", None, "wren"]
    with open_birds("gold.csv", READ_OPTIONS, hide=(), gold="known").session as session:
        assert "known" not in dict(session.table.item(0)["cells"])


def test_the_progress_of_annotators(run: Run, bare: Path) -> None:
    """The table has each annotator, JSON has the numbers, and the files of the exports are written, too."""
    pl.DataFrame({"item": ["0", "1"], "worker": ["Ann", "Bob"], "label": ["finch", "owl"]}).write_csv("answers.csv")
    exports = ("--export", "labeled.csv", "--export-answers", "out.csv")
    common = ("label", bare, *LABEL, *CLASSES, "--import", "answers.csv", "--progress", *exports)
    result = run.done(*common)
    assert all(text in result.out for text in ("Ann", "File: labeled.csv", "File: out.csv"))
    assert pl.read_csv("labeled.csv")["species"].to_list()[:3] == ["finch", "owl", ""]
    assert pl.read_csv("out.csv").height == 2
    facts = read_json(run, *common)
    progress = [(one["name"], one["n_answers"], one["gold"]) for one in facts["progress"]]
    assert progress == [("Ann", 1, None), ("Bob", 1, None)]
    assert (facts["export"], facts["export_answers"]) == ("labeled.csv", "out.csv")
