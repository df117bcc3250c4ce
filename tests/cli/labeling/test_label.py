"""Tests of `oneof label`: from a table to answers on the page, and to a table for `oneof fit`."""

import json
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.cli.answers import read_answers
from oneof.cli.options import (
    AnnotatorGroup,
    PageGroup,
    ReadOptions,
    SessionGroup,
    StoredSettings,
    TableReadOptions,
    as_words,
    option_fields,
    stored_fields,
    to_json,
)
from oneof.cli.tables.inputs import prepare
from oneof.errors import InputError
from oneof.io import read_table
from oneof.io.answers import AnswerOptions
from oneof.labeling.answers.database import stored_settings
from tests.cli.conftest import Run, check_error, make_birds, read_json
from tests.cli.labeling.conftest import CLASSES, LABEL, READ_OPTIONS, answer_rightly, open_birds
from tests.labeling.serving import Client
from tests.labeling.test_media import write_tone


def test_from_a_bare_table_to_one_with_labels(run: Run, bare: Path, served: Any) -> None:
    """20 answers on the page are in the file and in the exports, which fit reads; a second run has them, too."""
    links: list[str] = []
    served(lambda client: links.append(client.token) or answer_rightly(client))
    words = ("label", bare, *LABEL, *CLASSES)
    result = run.done(*words, "--no-browser")
    assert "http://127.0.0.1:" in result.out
    assert "40 rows remain" in result.out
    assert "is added" in result.err
    assert sqlite3.connect("birds-answers.sqlite").execute("SELECT count(*) FROM entries").fetchone() == (20,)
    exported = read_json(run, *words, "--export-answers", "answers.csv", "--export", "labeled.csv")
    facts = {"n_remaining": 40, "export": "labeled.csv", "export_answers": "answers.csv"}
    assert facts.items() <= exported.items()
    candidates = prepare(Path("labeled.csv"), ReadOptions(("species",), truth="truth")).candidates
    assert (candidates.is_exact.sum(), candidates.is_unlabeled.sum(), len(candidates)) == (10, 40, 60)
    truth = make_birds()["truth"].to_list()
    assert all(name in labels for name, labels in zip(truth, candidates.to_sets(), strict=True))
    given = read_answers(AnswerOptions(Path("answers.csv")), read_table(bare), separator=None, classes=None)
    assert given.answers.n_answers == 20
    assert set(pl.read_csv("answers.csv")["worker"]) == {"Ann"}
    with pytest.raises(InputError, match="--export-answers FILE"):
        read_answers(AnswerOptions(Path("birds-answers.sqlite")), read_table(bare), separator=None, classes=None)
    assert "20 rows remain" in run(*words, "--no-browser").out
    assert len(set(links)) == 2


def test_exact_rows_of_the_table_are_not_asked(run: Run, birds: Path, served: Any) -> None:
    """Exact rows count as answered; label columns and hidden columns are not shown."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    facts = read_json(run, "label", birds, *LABEL, "--no-browser")
    assert (facts["rows"], facts["n_remaining"], facts["classes"]) == (60, 40, ["finch", "owl", "wren"])
    assert facts["link"].startswith("http://127.0.0.1:")
    names = [name for name, _ in seen["item"]["cells"]]
    assert names == ["id", "span", "mass", "migrates", "color", "remark"]


def test_weights_of_the_table_are_kept(run: Run) -> None:
    """Weights of a column are in the session and in the export; without the option they are an error."""
    texts = ["finch:0.7|owl:0.3", "owl:0.9|wren:0.2", "wren", ""] * 15
    make_birds().drop("truth").with_columns(species=pl.Series(texts)).write_csv("birds.csv")
    words = ("label", "birds.csv", *LABEL[:2], "--export", "out.csv", "--drop", "id")
    run.done(*words, "--weighted", "--kind", "likelihood")
    y = CandidateSets.from_strings(texts, weighted=True)
    again = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    assert CandidateSets.from_strings(again, weighted=True) == y
    check_error(run, *words, "--session", "other.sqlite", message="have weights, such as 'finch:0.7'. Add --weighted")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "column 'species' does not exist"),
        (["--classes", "owl"], "at least two classes"),
        ([*CLASSES, "--labels", "species,other"], "one column"),
        ([*CLASSES, "--show", "sound", "id"], "`text COLUMN`, `image COLUMN` or `audio COLUMN`"),
        ([*CLASSES, "--show", "text", "remarks"], "did you mean 'remark'?"),
        ([*CLASSES, "--show", "image", "id", "--images", "nowhere"], "image folder nowhere does not exist"),
        ([*CLASSES, "--hide", "truht"], "did you mean 'truth'?"),
        ([*CLASSES, "--pin", "truht"], "did you mean 'truth'?"),
        ([*CLASSES, "--method", "PLNN"], "Did you mean PLKNN?"),
        ([*CLASSES, "--combination", "mean"], "--combination must be votes or model"),
        ([*CLASSES, "--export", "out.xlsx"], "out.xlsx"),
        ([*CLASSES, "--export", "birds.csv"], "would be overwritten"),
        ([*CLASSES, "--session", "birds.csv"], "would be overwritten"),
        ([*CLASSES, "--import", "absent.csv", "--export", "out.csv"], "absent.csv does not"),
        ([*CLASSES, "--gold", "absent"], "column 'absent' does not exist"),
        ([*CLASSES, "--annotations-per-item", "3..2"], "`max_annotations` must be at least"),
        ([*CLASSES, "--annotations-per-item", "0"], "--annotations-per-item must be a number, or two such as 1..3"),
    ],
)
def test_bad_options(run: Run, bare: Path, args: list[str], sentence: str) -> None:
    """Bad options are one sentence on standard error with exit code 2; the table does not change."""
    before = bare.read_bytes()
    result = run("label", bare, "--labels", "species", *args, "--no-browser")
    assert result.code == 2, result.out
    assert sentence in result.err
    assert bare.read_bytes() == before


@pytest.mark.parametrize("classes", ["wren,finch,owl", "emu,finch,owl,wren"])
def test_classes_are_stored(run: Run, birds: Path, classes: str) -> None:
    """A second run uses the classes of the file, also those without a row, in their order; others are an error."""
    args = ("label", birds, *LABEL)
    assert run(*args, "--classes", classes, "--export", "out.csv").code == 0
    assert read_json(run, *args, "--export", "out.csv")["classes"] == classes.split(",")
    message = f"answers for the classes {classes.replace(',', ', ')}; got the classes finch, owl, wren"
    check_error(run, *args, *CLASSES, "--export", "out.csv", message=message)


def test_a_missing_extra_leaves_no_file(run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of the page the command names the extra, and creates no file of answers."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    check_error(run, "label", bare, *LABEL, *CLASSES, message="oneof[labeling]")


def test_an_export_has_the_cells_and_the_delimiter_of_the_table(run: Run) -> None:
    """Numbers with a decimal comma are written as they are, in columns with and without a missing cell."""
    lines = ["id;a;b;species"]
    lines += [f"s{i};{i},5;{'n.a.' if i == 3 else f'-0,{i:03d}'};{'owl' if i % 2 else 'wren'}" for i in range(30)]
    Path("german.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("label", "german.csv", "--labels", "species", "--export", "out.csv").code == 0
    assert Path("out.csv").read_text(encoding="utf-8").splitlines() == lines


# -- Contents of rows on the page of `oneof label`: text, images, audio, and pinned columns --------------------------


def test_a_text_column(bare: Path) -> None:
    """A text column is read as text even if its texts are short, and is shown alone on the page."""
    read_options = replace(READ_OPTIONS, drop=("span", "mass"))
    with open_birds(bare, read_options, show=("text", "remark")).session as session:
        assert session.table.item(3) == {"kind": "text", "text": make_birds()["remark"][3]}


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_a_table_of_file_names_has_features_of_the_files(run: Run, served: Any, kind: str) -> None:
    """Without other columns, images and sounds are the features, and the page shows or plays them."""
    if kind == "image":
        Image = pytest.importorskip("PIL.Image")
        for name, color in (("a.png", (200, 0, 0)), ("b.png", (0, 0, 200))):
            Image.new("RGB", (20, 20), color).save(name)
    else:
        for name, frequency in (("a.wav", 200), ("b.wav", 2000)):
            write_tone(Path(name), frequency)
    names = sorted(path.name for path in Path().iterdir())
    Path("files.csv").write_text("\n".join(["file", *names * 5]) + "\n")
    with open_birds("files.csv", READ_OPTIONS, show=(kind, "file"), hide=()).session as session:
        assert len(np.unique(session._rows, axis=0)) == 2
    replies: list[Any] = []
    served(lambda client: replies.extend((client.ask(), client.get(f"{kind}/1"))))
    run.done("label", "files.csv", *LABEL[:2], *CLASSES, "--show", kind, "file", "--no-browser")
    assert replies[0]["item"]["kind"] == kind
    assert replies[1].body == Path(names[1]).read_bytes()


def test_pinned_columns_are_shown_first(run: Run, bare: Path, served: Any) -> None:
    """Columns of --pin are the first cells, in the order of the option."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    assert run("label", bare, *LABEL, *CLASSES, "--pin", "remark,mass", "--no-browser").code == 0
    assert [name for name, _ in seen["item"]["cells"]] == ["remark", "mass", "id", "span", "migrates", "color"]
    assert seen["item"]["n_pinned"] == 2


# -- Settings that are stored with the answers, and used by a resumed session ------------------------------------------


AGAIN = ("--labels", "species", "--no-browser")
FIRST = ("--pin", "remark,mass", "--method", "PLKNN", "--annotations-per-item", "2", "--drop", "color")
ANSWERS = Path("birds-answers.sqlite")


def test_a_resumed_session_has_its_settings(run: Run, bare: Path, served: Any) -> None:
    """A second run without the options shows the same columns, asks as many people, and names the settings."""
    seen: list[Any] = []

    def look(client: Client) -> None:
        question = client.ask()
        seen.append([name for name, _ in question["item"]["cells"]])
        client.answer(question, "one of", [0])
        seen.append(client.post("api/ask", {"annotator": "Bob", "window": "v"}).json()["state"]["n_remaining"])

    served(look)
    first = run.done("label", bare, *LABEL, *CLASSES, *FIRST, "--no-browser")
    assert "settings" not in first.err
    again = run.done("label", bare, *AGAIN)
    assert seen[2] == seen[0] == ["remark", "mass", "id", "span", "migrates", "color"]
    assert (seen[1], seen[3]) == (60, 60)  # a row with one of two answers remains
    [note] = [line for line in again.err.splitlines() if "settings" in line]
    for words in ("--annotations-per-item 2", "--method PLKNN", "--drop color", "--hide truth", "--pin remark,mass"):
        assert words in note


def test_a_replaced_setting_is_stored(run: Run, bare: Path, served: Any) -> None:
    """An option of a later run replaces the stored one, and is used by the run after it."""
    pinned: list[Any] = []
    served(lambda client: pinned.append([name for name, _ in client.ask()["item"]["cells"]][:1]))
    for words in (("--pin", "remark"), ("--pin", "mass"), ()):
        run.done("label", bare, *LABEL, *CLASSES, "--no-browser", *words)
    assert pinned == [["remark"], ["mass"], ["mass"]]
    assert run("label", bare, *AGAIN, "--pin", "").code == 0
    assert stored_settings(ANSWERS)["pin"] == []
    assert pinned[-1] == ["id"]


def test_an_export_changes_no_setting(run: Run, bare: Path) -> None:
    """Settings are those of the first command and of the runs of the page, not of an export from an existing file."""
    run.done("label", bare, *LABEL, *CLASSES, "--pin", "remark", "--export", "out.csv")
    run.done("label", bare, *LABEL, "--pin", "mass", "--combination", "model", "--export", "out.csv")
    assert stored_settings(ANSWERS) == {"hide": ["truth"], "pin": ["remark"]}


def test_files_are_stored_with_their_whole_path(run: Run, bare: Path) -> None:
    """A folder of images, and a file of gold labels with the column of its rows, are found from another folder."""
    Path("known.csv").write_text("id,label\nb0,owl\n")
    Path("pictures").mkdir()
    words = ("--gold", "known.csv", "--row", "id", "--images", "pictures", "--export", "out.csv")
    run.done("label", bare, *LABEL, *CLASSES, *words)
    stored = stored_settings(ANSWERS)
    assert {name: Path(stored[name]) for name in ("gold", "images")} == {
        "gold": Path("known.csv").absolute(),
        "images": Path("pictures").absolute(),
    }
    assert "--row id" in run.done("label", bare, "--labels", "species", "--export", "again.csv").err


@pytest.mark.parametrize(
    "text", ["{", "[" * 60_000, "[1]", '{"pin": "mass", "audit": 1, "show": ["text"], "method": 3, "later": 1}']
)
def test_settings_of_another_program_are_not_used(run: Run, bare: Path, text: str) -> None:
    """Unknown settings, and those of another type, have no effect."""
    words = ("label", bare, *LABEL, *CLASSES, "--export", "out.csv")
    assert run(*words).code == 0
    with sqlite3.connect(ANSWERS) as connection:
        connection.execute("INSERT OR REPLACE INTO facts VALUES ('settings', ?)", (text,))
    connection.close()
    result = run.done(*words, "--json")
    assert "an earlier run" not in result.err
    assert json.loads(result.out)["rows"] == 60


def test_every_option_of_the_table_is_stored() -> None:
    """Options for reading the table are stored, apart from its labels, and the classes, which the log itself has."""
    assert {one.name for one in option_fields(TableReadOptions)} - {*stored_fields(TableReadOptions)} == {
        "labels",
        "classes",
    }


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (SessionGroup(audit=False), ["--no-audit"]),
        (TableReadOptions(weighted=True), ["--weighted"]),
        (PageGroup(show=("text", "a b")), ["--show", "text", "a b"]),
        (TableReadOptions(drop=("a,b", "c")), ["--drop", '"a,b",c']),
        (TableReadOptions(date_format=["%d", "%m"]), ["--date-format", "%d", "--date-format", "%m"]),
        (AnnotatorGroup(annotations_per_item="1..3"), ["--annotations-per-item", "1..3"]),
    ],
)
def test_settings_are_named_and_read_as_on_the_command_line(record: Any, words: list[str]) -> None:
    """The words of a stored option are those of a command line, and the stored value is that of the record."""
    name = words[0].removeprefix("--no-").removeprefix("--").replace("-", "_")
    known, value = stored_fields(record), to_json(name, getattr(record, name))
    assert as_words(known[name], value) == words
    assert StoredSettings(known, {}, {name: value}).apply(type(record)()) == record
