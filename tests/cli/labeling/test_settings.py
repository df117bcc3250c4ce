"""Settings of `oneof label` that are stored with the answers, and used by a resumed session."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from oneof.cli.labeling.options import AnnotatorGroup, PageGroup, SessionGroup
from oneof.cli.labeling.settings import StoredSettings, as_words, stored_fields, to_json
from oneof.cli.options import option_fields
from oneof.cli.tables.read_options import TableReadOptions
from oneof.labeling.answers.database import stored_settings
from tests.cli.conftest import Run
from tests.cli.labeling.conftest import CLASSES, LABEL
from tests.labeling.serving import Client

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


def test_a_replaced_setting_is_named_and_stored(run: Run, bare: Path, served: Any) -> None:
    """An option of a later run replaces the stored one, with a note, and is used by the run after it."""
    pinned: list[Any] = []
    served(lambda client: pinned.append([name for name, _ in client.ask()["item"]["cells"]][:1]))
    for words in (("--pin", "remark"), ("--pin", "mass"), ()):
        result = run.done("label", bare, *LABEL, *CLASSES, "--no-browser", *words)
        assert ("--pin mass replaces the setting --pin remark of birds-answers.sqlite." in result.err) == (
            words == ("--pin", "mass")
        )
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
