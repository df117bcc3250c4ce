"""Tests of `oneof label`: from a table to answers on the page, and to a table for `oneof fit`."""

import json
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.cli.answers.files import AnswerOptions, read_answers
from oneof.cli.labeling.annotators import AnnotatorGroup
from oneof.cli.labeling.session import LabelOptions, open_session
from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import InputError
from oneof.io import Overrides, read_table
from oneof.labeling.http.server import LabelingServer
from tests.cli.conftest import Run, make_birds
from tests.labeling.serving import Client
from tests.labeling.test_audio import write_tone

CLASSES = ("--classes", "finch,owl,wren")
LABEL = ("--labels", "species", "--hide", "truth")


@pytest.fixture
def bare(run: Run) -> Path:
    """Write the table of birds without labels."""
    path = Path("birds.csv")
    make_birds().drop("species").write_csv(path)
    return path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Client], None]], None]:
    """Run actions on the page as soon as it is served, and then raise KeyboardInterrupt."""

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
    """Label 20 rows, every other one with two labels."""
    classes = client.get("api/session").json()["classes"]
    truth = make_birds()["truth"].to_list()
    question = client.ask()
    for n in range(20):
        k = classes.index(truth[question["row"]])
        question = client.answer(question, "one of", sorted({k, (k + n % 2) % 3})).json()["question"]


def test_answers_are_written_for_fit(run: Run, bare: Path, served: Any) -> None:
    """--export-answers writes a line for each answer, as `fit --answers` reads them; the session itself is refused."""
    served(answer_rightly)
    assert run("label", bare, *LABEL, *CLASSES, "--no-browser").code == 0
    result = run(
        "label", bare, *LABEL, *CLASSES, "--export-answers", "answers.csv", "--export", "labeled.csv", "--json"
    )
    assert result.code == 0, result.err
    assert {"export": "labeled.csv", "export_answers": "answers.csv"}.items() <= json.loads(result.out).items()
    answers = pl.read_csv("answers.csv")
    assert answers.height == 20
    assert set(answers["worker"]) == {"Ann"}
    given = read_answers(AnswerOptions(Path("answers.csv")), read_table(bare), separator=None, classes=None)
    assert given.answers.n_answers == 20
    with pytest.raises(InputError, match="--export-answers FILE"):
        read_answers(AnswerOptions(Path("birds-answers.sqlite")), read_table(bare), separator=None, classes=None)


def test_from_a_bare_table_to_one_with_labels(run: Run, bare: Path, served: Any) -> None:
    """20 answers on the page are in the file and in the export, which fit can read."""
    served(answer_rightly)
    result = run("label", bare, *LABEL, *CLASSES, "--no-browser")
    assert result.code == 0, result.err
    assert "http://127.0.0.1:" in result.out
    assert "40 rows remain" in result.out
    assert "is added" in result.err
    assert sqlite3.connect("birds-answers.sqlite").execute("SELECT count(*) FROM entries").fetchone() == (20,)
    exported = run("label", bare, *LABEL, *CLASSES, "--export", "labeled.csv", "--json")
    assert json.loads(exported.out)["n_remaining"] == 40
    candidates = prepare(
        Path("labeled.csv"), ReadOptions(("species",), truth="truth")
    ).candidates  # as `oneof fit` reads it
    assert (candidates.is_exact.sum(), candidates.is_unlabeled.sum(), len(candidates)) == (10, 40, 60)
    truth = make_birds()["truth"].to_list()
    assert all(name in labels for name, labels in zip(truth, candidates.to_sets(), strict=True))


def test_labeling_resumes(run: Run, bare: Path, served: Any) -> None:
    """A second run has the answers of the first, and another link."""
    links: list[str] = []
    served(lambda client: links.append(client.token) or answer_rightly(client))
    for left in (40, 20):
        assert f"{left} rows remain" in run("label", bare, *LABEL, *CLASSES, "--no-browser").out
    assert len(set(links)) == 2


def test_exact_rows_of_the_table_are_not_asked(run: Run, birds: Path, served: Any) -> None:
    """Exact rows count as answered; label columns and hidden columns are not shown."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    result = run("label", birds, *LABEL, "--no-browser", "--json")
    facts = json.loads(result.out)
    assert (facts["rows"], facts["n_remaining"], facts["classes"]) == (60, 40, ["finch", "owl", "wren"])
    assert facts["link"].startswith("http://127.0.0.1:")
    names = [name for name, _ in seen["item"]["cells"]]
    assert names == ["id", "span", "mass", "migrates", "color", "remark"]


def test_weights_of_the_table_are_kept(run: Run) -> None:
    """Weights of a column are in the session and in the export; without the option they are an error."""
    texts = ["finch:0.7|owl:0.3", "owl:0.9|wren:0.2", "wren", ""] * 15
    make_birds().drop("truth").with_columns(species=pl.Series(texts)).write_csv("birds.csv")
    words = ("label", "birds.csv", *LABEL[:2], "--export", "out.csv", "--drop", "id")
    result = run(*words, "--weighted", "--kind", "likelihood")
    assert result.code == 0, result.err
    y = CandidateSets.from_strings(texts, weighted=True)
    again = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    assert CandidateSets.from_strings(again, weighted=True) == y
    result = run("fit", "out.csv", "--labels", "species", "--weighted", "--kind", "likelihood", "--json",
                 "--method", "AvgPerceptron", "--folds", "2")  # fmt: skip
    assert json.loads(result.out)["weighted"] == 30
    result = run(*words, "--session", "other.sqlite")
    assert (result.code, "have weights, such as 'finch:0.7'. Add --weighted" in result.err) == (2, True)


def test_imported_annotations(run: Run, bare: Path) -> None:
    """--import reads a long table and an export of Label Studio, and --export writes both."""
    Path("long.csv").write_text("item,worker,label\nb1,x,owl\nb2,x,owl|wren\n")
    task = {
        "data": {"id": "b3"},
        "annotations": [{"completed_by": 4, "result": [{"type": "choices", "value": {"choices": ["wren"]}}]}],
    }
    Path("tasks.json").write_text(json.dumps([task]))
    args = [
        *LABEL,
        *CLASSES,
        "--import",
        "long.csv",
        "--import",
        "tasks.json",
        "--row",
        "id",
        "--export",
        "out.parquet",
    ]
    result = run("label", bare, *args, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["n_imported"] == 3
    assert pl.read_parquet("out.parquet")["species"].to_list()[:5] == [None, ["owl"], ["owl", "wren"], ["wren"], None]


@pytest.mark.parametrize(
    ("header", "args"),
    [
        ("item,worker,label", ()),
        ("row,annotator,answer", ()),
        ("id,who,bird", ("--annotator", "who", "--answer", "bird")),
    ],
)
def test_columns_of_imported_answers(run: Run, bare: Path, header: str, args: tuple[str, ...]) -> None:
    """The columns of --import have the names and options of `oneof fit --answers`."""
    Path("long.csv").write_text(f"{header}\nb1,x,owl\nb2,y,wren\n")
    words = ("label", bare, *LABEL, *CLASSES, "--import", "long.csv", "--row", "id", *args, "--export", "out.parquet")
    result = run(*words, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["n_imported"] == 2
    assert pl.read_parquet("out.parquet")["species"].to_list()[:4] == [None, ["owl"], ["wren"], None]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--import", "tasks.json"), "--row must name the rows in the table and in the export tasks.json"),
        (("--import", "tasks.json", "--row", "id", "--annotator", "a"), "--annotator has no use with the export"),
        (("--import", "long.csv", "--annotator", "work"), "did you mean 'worker'?"),
    ],
)
def test_invalid_columns_of_imported_answers(run: Run, bare: Path, args: tuple[str, ...], message: str) -> None:
    """The error names the option, or the closest column."""
    Path("long.csv").write_text("item,worker,label\n1,x,owl\n")
    Path("tasks.json").write_text("[]")
    result = run("label", bare, *LABEL, *CLASSES, *args, "--export", "out.csv")
    assert result.code == 2
    assert message in result.err


def test_several_annotators_are_combined_by_their_model(run: Run, bare: Path) -> None:
    """--combination model writes weights of the annotators' model, and --answer selects a tag of Label Studio."""
    truth = make_birds()["truth"].to_list()
    tasks = []
    for i, name in enumerate(truth[:30]):
        labels = {"Ann": name, "Bob": name, "Cem": name if i % 3 else "owl"}
        results = {
            worker: [
                {"from_name": tag, "to_name": "text", "type": "choices", "value": {"choices": [choice]}}
                for tag, choice in (("bird", label), ("sure", "yes"))
            ]
            for worker, label in labels.items()
        }
        annotations = [{"completed_by": {"email": worker}, "result": result} for worker, result in results.items()]
        tasks.append({"id": i, "data": {"id": f"b{i}"}, "annotations": annotations})
    Path("tasks.json").write_text(json.dumps(tasks))
    words = ("label", bare, *LABEL, *CLASSES, "--import", "tasks.json", "--row", "id", "--export", "out.csv")
    result = run(*words)
    assert (result.code, "tasks.json has choices of the tags bird, sure" in result.err) == (2, True)
    assert not Path("out.csv").exists()
    result = run(*words, "--answer", "bird", "--combination", "model")
    assert result.code == 0, result.err
    texts = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    weights = CandidateSets.from_strings(texts, weighted=True, classes=["finch", "owl", "wren"]).weights
    assert [["finch", "owl", "wren"][k] for k in weights[:30].argmax(axis=1)] == truth[:30]
    assert (np.sort(weights[:30], axis=1)[:, 1] > 0).any()


def test_remaining_rows_are_counted_after_imports(run: Run, bare: Path, served: Any) -> None:
    """The JSON output and the page have the same count."""
    shown: list[int] = []
    served(lambda client: shown.append(client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()["state"]))
    Path("long.csv").write_text("item,worker,label\n0,x,owl\n1,x,owl|wren\n")
    result = run("label", bare, *LABEL, *CLASSES, "--import", "long.csv", "--no-browser", "--json")
    facts = json.loads(result.out)
    assert (facts["rows"], facts["n_imported"], facts["n_remaining"]) == (60, 2, 58)
    assert shown[0]["n_remaining"] == 58


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--labels", "species"], "column 'species' does not exist"),
        (["--labels", "species", "--classes", "owl"], "at least two classes"),
        (["--labels", "species,other", *CLASSES], "one column"),
        (["--labels", "species", *CLASSES, "--show", "sound", "id"], "`text COLUMN`, `image COLUMN` or `audio COLUMN`"),
        (["--labels", "species", *CLASSES, "--show", "text", "remarks"], "did you mean 'remark'?"),
        (
            ["--labels", "species", *CLASSES, "--show", "image", "id", "--images", "nowhere"],
            "image folder nowhere does not exist",
        ),
        (["--labels", "species", *CLASSES, "--hide", "truht"], "did you mean 'truth'?"),
        (["--labels", "species", *CLASSES, "--pin", "truht"], "did you mean 'truth'?"),
        (["--labels", "species", *CLASSES, "--method", "PLNN"], "did you mean PLKNN?"),
        (["--labels", "species", *CLASSES, "--strategy", "guess"], "got 'guess'"),
        (["--labels", "species", *CLASSES, "--combination", "mean"], "`combination` must be"),
        (["--labels", "species", *CLASSES, "--export", "out.xlsx"], "out.xlsx"),
        (["--labels", "species", *CLASSES, "--export", "birds.csv"], "would be overwritten"),
        (["--labels", "species", *CLASSES, "--session", "birds.csv"], "would be overwritten"),
        (["--labels", "species", *CLASSES, "--import", "absent.csv", "--export", "out.csv"], "absent.csv does not"),
    ],
)
def test_bad_options(run: Run, bare: Path, args: list[str], sentence: str) -> None:
    """Bad options are one sentence on standard error with exit code 2; the table does not change."""
    before = bare.read_bytes()
    result = run("label", bare, *args, "--no-browser")
    assert result.code == 2, result.out
    assert sentence in result.err
    assert bare.read_bytes() == before


def label_options(**more: Any) -> LabelOptions:
    defaults = {
        "show": None,
        "images": None,
        "hide": ("truth",),
        "method": "auto",
        "strategy": "auto",
        "annotations_per_item": 1,
    }
    return LabelOptions(**(defaults | {"combination": "votes", "answers": Path("answers.sqlite"), "seed": 0} | more))


READ_OPTIONS = ReadOptions(("species",), classes=("finch", "owl", "wren"))


@pytest.mark.parametrize("method", ["PLKNN", "clpl", "HarmonicField"])
def test_methods_by_name(bare: Path, method: str) -> None:
    """Any default estimator can be fitted on the answers, with its scaler."""
    truth = make_birds()["truth"].to_list()
    with open_session(bare, READ_OPTIONS, label_options(method=method), background=False).session as session:
        for _ in range(12):
            question = session.ask()
            session.answer(question, truth[question.row])
        session.train()
        assert type(session.snapshot.model[-1]).__name__.lower() == method.lower()
        assert (session.classes[session.snapshot.proba.argmax(axis=1)] == np.array(truth)).mean() > 0.6


def test_a_text_column(bare: Path) -> None:
    """A text column is read as text even if its texts are short, and is shown alone on the page."""
    read_options = ReadOptions(
        ("species",), classes=("finch", "owl", "wren"), overrides=Overrides(drop=("span", "mass"))
    )
    with open_session(bare, read_options, label_options(show=("text", "remark")), background=False).session as session:
        assert session.table.item(3) == {"kind": "text", "text": make_birds()["remark"][3]}


def test_images_as_features(run: Run) -> None:
    """With a table of file names, images of two colors are classified after a few answers."""
    Image = pytest.importorskip("PIL.Image")
    names = []
    for i in range(20):
        names.append(f"{i}.png")
        Image.new("RGB", (20, 20), (200 + i, 0, 0) if i % 2 else (0, 0, 200 + i)).save(names[-1])
    pl.DataFrame({"file": names}).write_csv("images.csv")
    read_options = ReadOptions(("color",), classes=("blue", "red"))
    opened = open_session(
        Path("images.csv"), read_options, label_options(show=("image", "file"), hide=()), background=False
    )
    with opened.session as session:
        for _ in range(6):
            question = session.ask()
            session.answer(question, ["blue", "red"][question.row % 2])
        session.train()
        assert np.array_equal(session.snapshot.proba.argmax(axis=1), np.arange(20) % 2)
    assert opened.images is not None
    assert opened.images.find("3.png").is_file()


def test_classes_are_stored(run: Run, bare: Path) -> None:
    """A second run uses the classes of the file, in their order; other classes are an error with both lists."""
    args = ("label", bare, *LABEL)
    assert run(*args, "--classes", "wren,finch,owl", "--export", "out.csv").code == 0
    again = run(*args, "--export", "out.csv", "--json")
    assert json.loads(again.out)["classes"] == ["wren", "finch", "owl"]
    other = run(*args, *CLASSES, "--export", "out.csv")
    assert other.code == 2
    assert "answers for the classes wren, finch, owl; got the classes finch, owl, wren" in other.err


def test_classes_of_a_column_that_is_half_filled(run: Run, birds: Path) -> None:
    """Classes without a row are stored too."""
    args = ("label", birds, *LABEL)
    assert run(*args, "--classes", "emu,finch,owl,wren", "--export", "out.csv").code == 0
    again = run(*args, "--export", "out.csv", "--json")
    assert json.loads(again.out)["classes"] == ["emu", "finch", "owl", "wren"]


def test_labels_that_are_formulas(run: Run, bare: Path) -> None:
    """Labels that look like formulas are exported unchanged, with a warning about spreadsheet programs."""
    result = run("label", bare, *LABEL, "--classes", "=1+1,-1,+x,-2.5,owl", "--export", "out.csv")
    assert result.code == 0
    assert "'=1+1', '+x' as a formula" in result.err
    assert "formula" not in run("label", bare, *LABEL, *CLASSES, "--session", "a", "--export", "out.csv").err


def test_a_missing_extra_leaves_no_file(run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of the page the command names the extra, and creates no file of answers."""
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    before = set(Path.cwd().iterdir())
    result = run("label", bare, *LABEL, *CLASSES)
    assert result.code == 2
    assert "oneof[labeling]" in result.err
    assert set(Path.cwd().iterdir()) == before


def test_a_file_without_a_known_suffix(run: Run) -> None:
    """--format names the format, as for the other commands; the answers are named after the file."""
    make_birds().write_csv("birds.dat")
    assert run("label", "birds.dat", *LABEL, *CLASSES, "--export", "out.csv").code == 2
    result = run("label", "birds.dat", *LABEL, *CLASSES, "--format", "csv", "--export", "out.csv")
    assert result.code == 0, result.err
    assert pl.read_csv("out.csv").columns[0] == "id"
    assert Path("birds-answers.sqlite").exists()


def test_gold_rows_of_a_column_or_a_file(run: Run, birds: Path) -> None:
    """Known labels are those of a column, which is not shown, or of a file of items; exports have them."""
    known = ["owl", None, " wren "] + [None] * 1000
    frame = make_birds().drop("species", "truth")
    frame.with_columns(pl.Series("known", known[: frame.height])).write_csv("gold.csv")
    pl.DataFrame({"item": ["0", "2"], "label": ["owl", "wren"]}).write_csv("known.csv")
    common = ("label", "gold.csv", "--labels", "species", *CLASSES)
    for gold, hide in (("known", ()), ("known.csv", ("--hide", "known"))):
        exported = f"{gold}-labels.parquet"
        result = run(*common, "--gold", gold, *hide, "--export", exported, "--session", f"{gold}.sqlite")
        assert result.code == 0, result.err
        assert pl.read_parquet(exported)["species"].explode().to_list()[:3] == ["owl", None, "wren"]
    options = label_options(hide=(), annotators=AnnotatorGroup(gold="known"))
    with open_session(Path("gold.csv"), READ_OPTIONS, options, background=False).session as session:
        assert "known" not in dict(session.table.item(0)["cells"])


def test_the_progress_of_annotators(run: Run, bare: Path) -> None:
    """The table has each annotator, and JSON has the numbers."""
    pl.DataFrame({"item": ["0", "1"], "worker": ["Ann", "Bob"], "label": ["finch", "owl"]}).write_csv("answers.csv")
    common = ("label", bare, *LABEL, *CLASSES, "--import", "answers.csv", "--progress")
    assert "Ann" in run(*common).out
    progress = json.loads(run(*common, "--json").out)["progress"]
    assert [(one["name"], one["n_answers"], one["gold"]) for one in progress] == [("Ann", 1, None), ("Bob", 1, None)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--gold", "absent"), "--gold must be a column of"),
        (("--annotations-per-item", "3", "--max-annotations", "2"), "`max_annotations` must be at least"),
    ],
)
def test_bad_options_of_several_annotators(run: Run, bare: Path, options: tuple[str, ...], sentence: str) -> None:
    result = run("label", bare, *LABEL, *CLASSES, "--progress", *options)
    assert result.code == 2
    assert sentence in result.err


def test_a_review_changes_labels_only(run: Run, served: Any) -> None:
    """After a review, the export differs from the file in the cells of changed labels only, byte by byte."""
    birds = make_birds()
    truth = birds["truth"].to_list()
    wrong = list(truth)
    for row in (7, 31, 52):
        wrong[row] = {"finch": "owl", "owl": "wren", "wren": "finch"}[truth[row]]
    lines = ["id;species;span;code;note"]
    lines += [
        f'b{i};{wrong[i]};{span:.3f}0;0{i};"a; b"' if i % 2 else f"b{i};{wrong[i]};{span:.3f}0;0{i};NA"
        for i, span in enumerate(birds["span"].fill_null(1.0).to_list())
    ]
    Path("birds.csv").write_text("\n".join(lines) + "\n")
    words = ("label", "birds.csv", *LABEL[:2], "--audit", "--drop", "id,code,note")
    changed: dict[int, str] = {}

    def review(client: Client) -> None:
        classes = client.get("api/session").json()["classes"]
        question = client.ask()
        while question is not None:
            row, proposal = question["row"], question["proposal"]["label"]
            right = classes[proposal] == truth[row]
            if right:
                changed[row] = truth[row]
            labels = [proposal] if right else question["candidates"]
            question = client.answer(question, "one of", labels).json()["question"]

    served(review)
    result = run(*words, "--no-browser")
    assert result.code == 0, result.err
    assert changed
    result = run(*words, "--export", "out.csv")
    assert result.code == 0, result.err
    expected = [lines[0]]
    for i, line in enumerate(lines[1:]):
        name, _, rest = line.split(";", 2)
        expected.append(";".join([name, changed.get(i, wrong[i]), rest]))
    assert Path("out.csv").read_text().splitlines() == expected
    birds.with_columns(species=pl.Series(wrong)).drop("truth").write_parquet("birds.parquet")
    result = run(
        "label", "birds.parquet", *LABEL[:2], "--session", "other.sqlite", "--audit", "--export", "out.parquet"
    )
    assert result.code == 0, result.err
    assert pl.read_parquet("out.parquet").equals(pl.read_parquet("birds.parquet"))


def test_pinned_columns_are_shown_first(run: Run, bare: Path, served: Any) -> None:
    """Columns of --pin are the first cells, in the order of the option."""
    seen: dict[str, Any] = {}
    served(lambda client: seen.update(client.ask()))
    assert run("label", bare, *LABEL, *CLASSES, "--pin", "remark,mass", "--no-browser").code == 0
    assert [name for name, _ in seen["item"]["cells"]] == ["remark", "mass", "id", "span", "migrates", "color"]
    assert seen["item"]["n_pinned"] == 2


def test_audio_without_other_columns(run: Run, served: Any) -> None:
    """A table of WAV files gets features of the sounds, and the page plays them."""
    for name, frequency in (("a.wav", 200), ("b.wav", 2000)):
        write_tone(Path(name), frequency)
    Path("sounds.csv").write_text("file\n" + "a.wav\nb.wav\n" * 5)
    replies: list[Any] = []
    served(lambda client: replies.extend((client.ask(), client.get("audio/1"))))
    result = run("label", "sounds.csv", *LABEL[:2], *CLASSES, "--show", "audio", "file", "--no-browser")
    assert result.code == 0, result.err
    assert replies[0]["item"]["kind"] == "audio"
    assert replies[1].body == Path("b.wav").read_bytes()
