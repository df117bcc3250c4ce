"""Export of answers in the form that `fit` reads, and import of annotations."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.audit import LabelIssue, find_label_issues
from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, InputTypeError
from oneof.io import read_labels, read_table
from oneof.labeling.content import table as table_module
from oneof.labeling.content.table import LabelTable, change_labels
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows, say
from tests.labeling.serving import Client, serving

Begin = Callable[..., LabelingSession]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("evidence", ["sets", "degrees", "model"])
def test_an_export_is_read_back(begin: Begin, table: LabelTable, tmp_path: Path, suffix: str, evidence: str) -> None:
    """The command line reads the sets, the weights of degrees or of the annotators' model, and unchanged columns."""
    session = begin(table=table)
    say(session, 0, "Ann", "owl", "probably" if evidence == "degrees" else None)
    say(session, 1, "Ann", ["owl", "wren"])
    session.reject(session.question_for(2), "wren")
    session.dont_know(session.question_for(3))
    for row in range(4, 16):
        say(session, row, "Ann", CLASSES[row % 3])
        say(session, row, "Bob", CLASSES[row % 2])
    combination = "model" if evidence == "model" else "votes"
    path = session.export(tmp_path / f"out{suffix}", **({"combination": "model"} if evidence == "model" else {}))
    exported = read_table(path, labels=["species"])
    weights = {"weighted": True, "kind": "likelihood"} if evidence != "sets" else {}
    labels = read_labels(exported, ["species"], classes=CLASSES, **weights)
    expected = session.candidates(combination)
    assert np.allclose(labels.weights, expected.weights, atol=1e-6)
    assert expected.is_weighted.any() == (evidence != "sets")
    assert exported.frame["name"].to_list() == table.frame["name"].to_list()
    assert np.allclose(exported.frame["x"], table.frame["x"])


def test_labels_that_contain_the_separator(rows: np.ndarray, tmp_path: Path) -> None:
    """A class named "a|b" is exported and read as one class."""
    with LabelingSession(rows, classes=["a", "a|b", "c"]) as session:
        session.answer(session.question_for(0), ["a", "a|b"])
        session.answer(session.question_for(1), "c")
        path = session.export(tmp_path / "out.csv")
        labels = read_labels(read_table(path, labels=["label"]), ["label"], classes=["a", "a|b", "c"])
        assert labels == session.candidates()


def test_rows_without_a_table_are_exported_as_features(begin: Begin, rows: np.ndarray, tmp_path: Path) -> None:
    session = begin()
    session.answer(session.question_for(0), "owl")
    frame = pl.read_parquet(session.export(tmp_path / "out.parquet"))
    assert np.array_equal(frame.drop("label").to_numpy(), rows)


def test_invalid_paths_and_options_are_errors(begin: Begin, tmp_path: Path) -> None:
    """Paths of a wrong type, suffix or folder, and column names of a wrong type, are errors."""
    session = begin()
    for act, sentence in (
        (lambda: session.export(None), "`path` must be a string or a pathlib.Path"),
        (lambda: session.export(tmp_path / "out.xlsx"), r"\.csv or \.parquet"),
        (lambda: session.export_answers(tmp_path / "a.xlsx"), r"must end in \.csv or \.jsonl"),
        (lambda: session.export_answers(tmp_path / "absent" / "a.csv"), "does not exist"),
        (lambda: session.import_annotations(None), "`path` must be a string or a pathlib.Path"),
        (lambda: session.import_annotations("long.csv", match=[1]), r"`match` must be text; got \[1\]"),
        (lambda: session.import_annotations("long.csv", item=3), "`item` must be text; got 3"),
    ):
        with pytest.raises((InputError, InputTypeError), match=sentence):
            act()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_an_import_does_not_overwrite(begin: Begin, table: LabelTable, tmp_path: Path) -> None:
    """Existing answers of an annotator are not replaced."""
    session = begin(table=table)
    session.answer(session.question_for(4, "w1"), "wren")
    path = write(tmp_path / "long.csv", "item,worker,label\nbird 4,w1,owl\n")
    with pytest.warns(UserWarning, match=r"1 of 1 answers .* which are kept \(first: item 'bird 4', w1\)"):
        assert session.import_annotations(path, match="name") == 0
    assert session.candidates().to_sets()[4] == {"wren"}


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("item,worker,label\nbird 4,w1,owl\nbird 99,w1,owl\n", InputError, "w1' is about the row 'bird 99', which"),
        ("item,worker,label\nbird 4,,owl\n", DataError, "'worker' is empty"),
        (
            "item,worker,label,degree\nbird 4,w,owl,certain\n",
            DataError,
            "row 0: the degree must be sure, probably, gue",
        ),
        ("item,worker,label,degree\nbird 4,w,owl,sure\nbird 4,w,wren,\n", DataError, "row 1: the degree must be that"),
    ],
)
def test_an_invalid_import_writes_no_answer(
    begin: Begin, table: LabelTable, tmp_path: Path, text: str, error: type[Exception], sentence: str
) -> None:
    session = begin(table=table)
    with pytest.raises(error, match=sentence):
        session.import_annotations(write(tmp_path / "long.csv", text), match="name")
    assert session.answers.log() == []


def test_the_digest_does_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are hashed in parts, and the digest is that of the whole table, as existing files of answers have it."""
    frame = pl.DataFrame({"a": [1.5, None, 3.0, 4.0, 5.0], "b": ["x", "y\n", None, '"', ""], "kind": ["p"] * 5})
    expected = hashlib.sha256(frame.drop("kind").write_ndjson().encode()).hexdigest()
    monkeypatch.setattr(table_module, "_HASHED_ROWS", 2)
    assert LabelTable(frame, "kind").fingerprint() == expected


# -- Review of labels that are probably wrong: proposals, progress, and an export that changes these labels only


N, WRONG = 90, (3, 14, 41, 59)


@pytest.fixture
def reviewed() -> Iterator[LabelingSession]:
    """Yield a session whose table has four wrong labels, with the issues that the audit finds."""
    rows, truth = make_rows(N)
    codes = truth.copy()
    codes[list(WRONG)] = (codes[list(WRONG)] + 1) % 3
    names = [CLASSES[code] for code in codes]
    table = LabelTable(pl.DataFrame({"id": [f"b{i}" for i in range(N)], "kind": names}), "kind")
    start = CandidateSets.from_sets([[name] for name in names], classes=CLASSES)
    issues = find_label_issues(rows, start).top()
    assert set(WRONG) <= {issue.row for issue in issues}
    with LabelingSession(rows, start, table=table, queue=issues, random_state=0) as session:
        yield session


def test_flagged_rows_have_a_proposal_and_progress(reviewed: LabelingSession, tmp_path: Path) -> None:
    """Each flagged row is asked with its labels and a proposal; the counts and the export are those of the answers."""
    _, truth = make_rows(N)
    before = reviewed.table.frame["kind"].to_list()
    expected = list(before)
    with serving(reviewed) as server:
        client = Client(server.link)
        reply = client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()
        n = reply["state"]["review"]["n_flagged"]
        assert reply["state"]["review"] == {
            "n_flagged": n, "n_kept": 0, "n_changed": 0, "n_unknown": 0, "n_checked": 0
        }  # fmt: skip
        counts = {"n_kept": 0, "n_changed": 0, "n_unknown": 0}
        for number in range(n):
            question = reply["question"]
            row, proposal = question["row"], question["proposal"]
            assert [CLASSES[code] for code in question["candidates"]] == [before[row]]
            assert 0.5 <= proposal["probability"] <= 1
            if row in WRONG:
                assert proposal["label"] == truth[row]
            if number == 0:
                counts["n_unknown"] += 1
                reply = client.answer(question, "unknown", []).json()
            elif proposal["label"] == truth[row]:
                counts["n_changed"] += 1
                expected[row] = CLASSES[truth[row]]
                reply = client.answer(question, "one of", [proposal["label"]]).json()
            else:
                counts["n_kept"] += 1
                reply = client.answer(question, "one of", question["candidates"]).json()
            assert reply["state"]["review"] == {"n_flagged": n, "n_checked": number + 1} | counts
        assert reply["question"] is None
        exported = client.get("api/export.csv").body
    (tmp_path / "page.csv").write_bytes(exported)
    assert pl.read_csv(tmp_path / "page.csv")["kind"].to_list() == expected
    assert counts["n_changed"] >= len(WRONG) - 1


def test_a_gold_row_is_displayed_as_the_other_rows_of_a_review(reviewed: LabelingSession) -> None:
    """A gold row of the queue is asked with its labels, its proposal and as suspected; gold rows elsewhere are not."""
    assert reviewed.review is not None
    flagged = [row for row in range(N) if reviewed.review.proposal(row)]
    issues = [LabelIssue(row, [CLASSES[0]], CLASSES[1], 0.9, CLASSES[1]) for row in flagged]
    outside = min(set(range(N)) - set(flagged))
    gold = {flagged[0]: CLASSES[1], outside: CLASSES[0]}
    start = CandidateSets.from_sets([[CLASSES[0]]] * N, classes=CLASSES)
    options = {"queue": issues, "gold": gold, "gold_interval": 2, "random_state": 0}
    with LabelingSession(make_rows(N)[0], start, **options) as session, serving(session) as server:
        client, displayed = Client(server.link), {}
        reply = client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()
        while reply["question"] is not None:
            question = reply["question"]
            keys = ("purpose", "is_suspected", "candidates", "proposal")
            displayed[question["row"]] = [question[name] for name in keys]
            reply = client.answer(question, "one of", [1]).json()
        assert set(displayed) == set(flagged)
        assert all(one == displayed[flagged[1]] for one in displayed.values())
        assert {entry.row for entry in session.answers.log() if entry.purpose == "gold"} == {flagged[0]}


def test_degrees_do_not_change_other_labels(reviewed: LabelingSession, tmp_path: Path) -> None:
    """A label confirmed with "probably" is not changed, and the export has sets as the table has, without weights."""
    before = reviewed.table.frame["kind"].to_list()
    question = reviewed.ask()
    assert question is not None
    reviewed.answer(question, before[question.row], degree="probably")
    assert pl.read_csv(reviewed.export(tmp_path / "out.csv"))["kind"].to_list() == before
    assert reviewed.review is not None
    assert reviewed.review.summary(reviewed.answers).n_kept == 1


def test_an_undone_answer_is_not_counted(reviewed: LabelingSession) -> None:
    """After an undo, the row is not checked, and its label is that of the table."""
    question = reviewed.ask()
    assert question is not None
    reviewed.answer(question, CLASSES)  # all labels: an answer that says nothing keeps the labels
    assert reviewed.review is not None
    summary = reviewed.review.summary(reviewed.answers)
    assert (summary.n_checked, summary.n_kept) == (1, 1)
    reviewed.undo()
    assert reviewed.review.summary(reviewed.answers).n_checked == 0


def test_a_proposal_must_be_a_class() -> None:
    issue = LabelIssue(0, ["finch"], "eagle", 0.9, "owl")
    with pytest.raises(InputError, match="'eagle' for row 0"):
        LabelingSession(make_rows(5)[0], classes=CLASSES, queue=[issue])


WORDS, NUMBERS = ["a", "b", "c"], [3, 5, 7]
SMALL = pl.Series([3, 5, 7, None], dtype=pl.Int16)


@pytest.mark.parametrize(
    ("cells", "classes", "rows", "expected"),
    [
        (pl.Series(["x", "y|x", None, "?"]), WORDS, [0, 1], pl.Series(["a", "a|b", None, "?"])),
        (pl.Series([["x"], ["y"], None, []]), WORDS, [1], pl.Series([["x"], ["a", "b"], None, []])),
        (pl.Series(["x", "y", "z", "w"], dtype=pl.Categorical), WORDS, [2], pl.Series(["x", "y", "b", "w"])),
        (pl.Series(["x", "y", "z", "w"]), WORDS, [], pl.Series(["x", "y", "z", "w"])),
        (SMALL, NUMBERS, [2], pl.Series([3, 5, 5, None], dtype=pl.Int16)),
        (SMALL, NUMBERS, [1, 2], pl.Series(["3", "3|5", "5", None])),
    ],
)  # fmt: skip
def test_only_changed_cells_are_written(cells: pl.Series, classes: list, rows: list[int], expected: pl.Series) -> None:
    """Other rows, other columns and the type of the label column are kept; integers unless a row gets two labels."""
    frame = pl.DataFrame({"id": [1.50, 2, 3, 4], "kind": cells})
    y = CandidateSets.from_sets([[classes[k] for k in one] for one in ([0], [0, 1], [1], [0, 1, 2])], classes=classes)
    result = change_labels(frame, "kind", y, rows, "|")
    assert result["kind"].dtype == (cells.dtype if expected.dtype != pl.String or classes is WORDS else pl.String)
    assert result["kind"].to_list() == expected.to_list()
    assert result.drop("kind").equals(frame.drop("kind"))


def test_weights_of_unchanged_rows_are_kept(tmp_path: Path) -> None:
    """A row whose labels are confirmed keeps its cell with weights."""
    cells = ["finch:0.7|owl:0.3", "owl:0.9|wren:0.2", "wren", ""]
    start = CandidateSets.from_strings(cells, weighted=True, classes=CLASSES)
    table = LabelTable(pl.DataFrame({"id": [1, 2, 3, 4], "kind": cells}), "kind")
    issues = [LabelIssue(0, ["finch", "owl"], "wren", 0.9, "owl"), LabelIssue(1, ["owl"], "finch", 0.9, "owl")]
    with LabelingSession(np.eye(4), start, table=table, queue=issues, strategy="random", check_interval=0) as session:
        session.answer(session.question_for(0), ["finch", "owl"])
        session.answer(session.question_for(1), "finch")
        session.export(tmp_path / "out.csv")
        assert pl.read_csv(tmp_path / "out.csv")["kind"].to_list()[0] == cells[0]
        changed = CandidateSets.from_strings(
            [pl.read_csv(tmp_path / "out.csv")["kind"][1]], weighted=True, classes=CLASSES
        )
        assert changed.weights.tolist() == [[1, 0, 0]]
        assert pl.read_csv(tmp_path / "out.csv")["kind"].to_list()[2:] == ["wren", ""]
