"""`oneof label`: from a table to a page, to answers, to a table that `oneof fit` reads."""

import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.labeling import Wanted, begin
from oneof.cli.prepared import Reading, prepare
from oneof.io import Overrides
from oneof.labeling.server import LabelingServer
from tests.cli.conftest import Run, make_birds
from tests.labeling.serving import Client

CLASSES = ("--classes", "finch,owl,wren")
LABEL = ("--labels", "species", "--hide", "truth")


@pytest.fixture
def bare(run: Run) -> Path:
    """Write the birds without labels."""
    path = Path("birds.csv")
    make_birds().drop("species").write_csv(path)
    return path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Client], None]], None]:
    """Have a person do something at the page as soon as it is served, and then press Ctrl-C."""

    def label(person: Callable[[Client], None]) -> None:
        def run(server: LabelingServer) -> None:
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            person(Client(server.link))
            server.stop()
            thread.join()
            raise KeyboardInterrupt

        monkeypatch.setattr(LabelingServer, "run", run)

    serve = LabelingServer.run
    return label


def answer_rightly(client: Client) -> None:
    """Label 20 rows, every other one by two labels."""
    classes = client.get("api/begin").json()["classes"]
    truth = make_birds()["truth"].to_list()
    question = client.ask()
    for n in range(20):
        k = classes.index(truth[question["row"]])
        question = client.answer(question, "one of", sorted({k, (k + n % 2) % 3})).json()["question"]


def test_from_a_bare_table_to_one_with_labels(run: Run, bare: Path, served: Any) -> None:
    """20 answers at the page stand in the file and in the export, in the form that fit reads."""
    served(answer_rightly)
    done = run("label", bare, *LABEL, *CLASSES, "--no-browser")
    assert done.code == 0, done.err
    assert "http://127.0.0.1:" in done.out
    assert "40 rows are left" in done.out
    assert "is new" in done.err
    assert sqlite3.connect("birds-answers.sqlite").execute("SELECT count(*) FROM entries").fetchone() == (20,)
    exported = run("label", bare, *LABEL, *CLASSES, "--export", "labeled.csv", "--json")
    assert json.loads(exported.out)["left"] == 40
    found = prepare(Path("labeled.csv"), Reading(("species",), truth="truth")).candidates  # as `oneof fit` reads it
    assert (found.is_exact.sum(), found.is_unlabeled.sum(), len(found)) == (10, 40, 60)
    truth = make_birds()["truth"].to_list()
    assert all(name in labels for name, labels in zip(truth, found.to_sets(), strict=True))


def test_labeling_goes_on(run: Run, bare: Path, served: Any) -> None:
    """A second run knows what the first was told, and has another link."""
    links: list[str] = []
    served(lambda client: links.append(client.token) or answer_rightly(client))
    for left in (40, 20):
        assert f"{left} rows are left" in run("label", bare, *LABEL, *CLASSES, "--no-browser").out
    assert len(set(links)) == 2


def test_what_the_table_knows_is_not_asked(run: Run, birds: Path, served: Any) -> None:
    """Rows with one label are answered; the columns are shown without labels and hidden ones."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    done = run("label", birds, *LABEL, "--no-browser", "--json")
    facts = json.loads(done.out)
    assert (facts["rows"], facts["left"], facts["classes"]) == (60, 40, ["finch", "owl", "wren"])
    assert facts["link"].startswith("http://127.0.0.1:")
    names = [name for name, _ in seen["item"]["cells"]]
    assert names == ["id", "span", "mass", "migrates", "color", "remark"]


def test_annotations_from_elsewhere(run: Run, bare: Path) -> None:
    """--import takes a long table, or an export of Label Studio, and --export writes what both say."""
    Path("long.csv").write_text("item,worker,label\nb1,x,owl\nb2,x,owl|wren\n")
    task = {
        "data": {"id": "b3"},
        "annotations": [{"completed_by": 4, "result": [{"type": "choices", "value": {"choices": ["wren"]}}]}],
    }
    Path("tasks.json").write_text(json.dumps([task]))
    words = [
        *LABEL,
        *CLASSES,
        "--import",
        "long.csv",
        "--import",
        "tasks.json",
        "--match",
        "id",
        "--export",
        "out.parquet",
    ]
    done = run("label", bare, *words, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["imported"] == 3
    assert pl.read_parquet("out.parquet")["species"].to_list()[:5] == [None, ["owl"], ["owl", "wren"], ["wren"], None]


def test_rows_left_are_counted_after_imports(run: Run, bare: Path, served: Any) -> None:
    """As the page counts them, whose link the same facts hold."""
    shown: list[int] = []
    served(lambda client: shown.append(client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()["state"]))
    Path("long.csv").write_text("item,worker,label\n0,x,owl\n1,x,owl|wren\n")
    done = run("label", bare, *LABEL, *CLASSES, "--import", "long.csv", "--no-browser", "--json")
    facts = json.loads(done.out)
    assert (facts["rows"], facts["imported"], facts["left"]) == (60, 2, 58)
    assert shown[0]["left"] == 58


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--labels", "species"], "no column 'species'"),
        (["--labels", "species", "--classes", "owl"], "two labels or more"),
        (["--labels", "species,other", *CLASSES], "one column"),
        (["--labels", "species", *CLASSES, "--show", "sound", "id"], "text or image"),
        (["--labels", "species", *CLASSES, "--show", "text", "remarks"], "did you mean 'remark'?"),
        (["--labels", "species", *CLASSES, "--show", "image", "id", "--images", "nowhere"], "no folder nowhere"),
        (["--labels", "species", *CLASSES, "--hide", "truht"], "did you mean 'truth'?"),
        (["--labels", "species", *CLASSES, "--method", "PLNN"], "did you mean PLKNN?"),
        (["--labels", "species", *CLASSES, "--strategy", "guess"], "strategy='guess'"),
        (["--labels", "species", *CLASSES, "--export", "out.xlsx"], "out.xlsx"),
        (["--labels", "species", *CLASSES, "--export", "birds.csv"], "would be overwritten"),
        (["--labels", "species", *CLASSES, "--answers", "birds.csv"], "would be overwritten"),
        (["--labels", "species", *CLASSES, "--import", "absent.csv", "--export", "out.csv"], "absent.csv does not"),
    ],
)
def test_bad_options(run: Run, bare: Path, words: list[str], sentence: str) -> None:
    """One sentence on standard error, exit code 2, and the table as it was."""
    before = bare.read_bytes()
    done = run("label", bare, *words, "--no-browser")
    assert done.code == 2, done.out
    assert sentence in done.err
    assert bare.read_bytes() == before


def wanted(**more: Any) -> Wanted:
    usual = {"show": None, "images": None, "hide": ("truth",), "method": "auto", "strategy": "auto", "overlap": 1}
    return Wanted(**(usual | {"answers": Path("answers.sqlite"), "seed": 0} | more))


READING = Reading(("species",), classes=("finch", "owl", "wren"))


@pytest.mark.parametrize("method", ["PLKNN", "clpl", "HarmonicField"])
def test_methods_by_name(bare: Path, method: str) -> None:
    """Any of the panel learns from the answers, behind the scaler that it has there."""
    truth = make_birds()["truth"].to_list()
    with begin(bare, READING, wanted(method=method), background=False).session as session:
        for _ in range(12):
            question = session.ask()
            session.answer(question, truth[question.row])
        session.train()
        assert type(session.learned.model[-1]).__name__.lower() == method.lower()
        assert (session.classes[session.learned.shares.argmax(axis=1)] == np.array(truth)).mean() > 0.6


def test_a_text_is_shown_and_learnt_from(bare: Path) -> None:
    """However short its texts are, the column is read as text, and stands alone on the page."""
    reading = Reading(("species",), classes=("finch", "owl", "wren"), overrides=Overrides(drop=("span", "mass")))
    with begin(bare, reading, wanted(show=("text", "remark")), background=False).session as session:
        assert session.table.item(3) == {"kind": "text", "text": make_birds()["remark"][3]}


def test_images_alone_are_learnt_from(run: Run) -> None:
    """A table of file names: images of two colors are told apart after a few answers."""
    Image = pytest.importorskip("PIL.Image")
    names = []
    for i in range(20):
        names.append(f"{i}.png")
        Image.new("RGB", (20, 20), (200 + i, 0, 0) if i % 2 else (0, 0, 200 + i)).save(names[-1])
    pl.DataFrame({"file": names}).write_csv("images.csv")
    reading = Reading(("color",), classes=("blue", "red"))
    begun = begin(Path("images.csv"), reading, wanted(show=("image", "file"), hide=()), background=False)
    with begun.session as session:
        for _ in range(6):
            question = session.ask()
            session.answer(question, ["blue", "red"][question.row % 2])
        session.train()
        assert np.array_equal(session.learned.shares.argmax(axis=1), np.arange(20) % 2)
    assert begun.images is not None
    assert begun.images.find("3.png").is_file()


def test_classes_are_given_once(run: Run, bare: Path) -> None:
    """A second start takes those of the file, in their order; others are told, with both."""
    words = ("label", bare, *LABEL)
    assert run(*words, "--classes", "wren,finch,owl", "--export", "out.csv").code == 0
    again = run(*words, "--export", "out.csv", "--json")
    assert json.loads(again.out)["classes"] == ["wren", "finch", "owl"]
    other = run(*words, *CLASSES, "--export", "out.csv")
    assert other.code == 2
    assert "begun with wren, finch, owl; now they are finch, owl, wren" in other.err


def test_classes_of_a_column_that_is_half_filled(run: Run, birds: Path) -> None:
    """Classes that no row names yet are remembered too."""
    words = ("label", birds, *LABEL)
    assert run(*words, "--classes", "emu,finch,owl,wren", "--export", "out.csv").code == 0
    again = run(*words, "--export", "out.csv", "--json")
    assert json.loads(again.out)["classes"] == ["emu", "finch", "owl", "wren"]


def test_labels_that_are_formulas(run: Run, bare: Path) -> None:
    """They are exported as they are, for fit must find them again; who opens the file elsewhere is warned."""
    done = run("label", bare, *LABEL, "--classes", "=1+1,-1,+x,-2.5,owl", "--export", "out.csv")
    assert done.code == 0
    assert "'=1+1', '+x' for a formula" in done.err
    assert "formula" not in run("label", bare, *LABEL, *CLASSES, "--answers", "a", "--export", "out.csv").err
