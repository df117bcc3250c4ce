"""Labeling without a page."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import oneof
from oneof.errors import ConflictError, DataError, InputError, InputTypeError
from oneof.labeling.answer_store import AnswerStore
from oneof.labeling.answer_log import AnswerLog, Entry
from oneof.labeling.session import LabelingSession
from oneof.labeling.table import LabelTable
from tests.labeling.conftest import CLASSES, label, make_rows

Begin = Callable[..., LabelingSession]


def test_a_session_teaches_its_model(begin: Begin, truth: np.ndarray) -> None:
    """The queries tell, by what they were chosen by, and the model comes to guess the rows that were not asked."""
    session = begin()
    asked = label(session, truth, 20)
    assert len({question.row for question in asked}) == 20
    assert session.strategy == "information"
    session.train()
    assert session.learned is not None
    assert (session.learned.shares.argmax(axis=1) == truth).mean() > 0.9
    assert np.allclose(session.learned.shares.sum(axis=1), 1)
    late = [question for question in asked if question.n_labeled >= 5]
    assert all(question.score is not None and question.score > 0 for question in late)
    assert [question.purpose for question in late if question.purpose == "check"]


@pytest.mark.parametrize(
    ("said", "kind", "left"),
    [
        ("finch", "one of", {"finch"}),
        (["finch", "wren"], "one of", {"finch", "wren"}),
        ("owl", "none of", {"finch", "wren"}),
        (["owl", "wren"], "none of", {"finch"}),
        (None, "unknown", set(CLASSES)),
        (None, "skip", set(CLASSES)),
    ],
)
def test_every_kind_of_answer(begin: Begin, said: Any, kind: str, left: set[str]) -> None:
    """One label, one of several, none of several, cannot tell, not now: each leaves its set, and stands in the log."""
    session = begin()
    question = session.ask("Ann")
    ways = {"one of": session.answer, "none of": session.reject}
    entry = (
        ways[kind](question, said)
        if kind in ways
        else {"unknown": session.dont_know, "skip": session.skip}[kind](question)
    )
    assert session.candidates().to_sets()[question.row] == left
    assert (entry.kind, entry.row, entry.annotator, entry.number) == (kind, question.row, "Ann", 1)
    assert session.answers.log() == [entry]


def test_undo_brings_back_what_was_there(begin: Begin) -> None:
    """Answers are taken back from the last on, each leaving the state before it; the log only grows."""
    session = begin()
    states = [session.candidates()]
    for labels in (["finch"], ["owl", "wren"], ["wren"]):
        session.answer(session.question_for(3), labels)
        states.append(session.candidates())
    for before in (states[2], states[1], states[0]):
        assert session.undo() is not None
        assert session.candidates() == before
    assert session.undo() is None
    assert len(session.answers.log()) == 6
    assert session.answers.history() == []


def test_an_undo_sent_twice_is_one(begin: Begin) -> None:
    """As when its acknowledgement was lost; the answer before it stays."""
    session = begin()
    session.answer(session.question_for(3), "owl")
    last = session.answer(session.question_for(4), "wren")
    for number in (None, last.number):
        assert session.undo(number=number, key="same") == last
    assert len(session.answers.log()) == 3
    assert session.answers.history()[0].row == 3


def test_a_model_forgets_what_is_taken_back(begin: Begin, truth: np.ndarray) -> None:
    """When every answer is taken back there is no model, and no guess."""
    session = begin()
    label(session, truth, 6)
    assert session.train() or session.learned is not None
    while session.undo() is not None:
        pass
    session.train()
    assert session.learned is None
    assert session.ask().shares is None


def test_undo_is_of_ones_own(begin: Begin) -> None:
    """What another annotator said stays; a named answer is taken back once."""
    session = begin(annotations_per_item=2)
    first = session.answer(session.question_for(3, "Ann"), "owl")
    session.answer(session.question_for(3, "Bob"), "owl")
    with pytest.raises(ConflictError, match="no answer 1 of 'Bob'"):
        session.undo("Bob", number=first.number)
    assert session.undo("Ann", number=first.number) == first
    with pytest.raises(ConflictError, match="taken back already"):
        session.undo("Ann", number=first.number)
    assert session.answers.standing(3, "Bob") is not None
    assert session.candidates().to_sets()[3] == {"owl"}


def test_a_session_goes_on_where_it_was_left(begin: Begin, truth: np.ndarray, tmp_path: Path) -> None:
    """With the file of answers, another session knows, asks and can take back what the first did."""
    first = begin(path=tmp_path / "log")
    label(first, truth, 8, annotator="Ann")
    second = begin(path=tmp_path / "log")
    assert second.candidates() == first.candidates()
    assert second.answers.history() == first.answers.history()
    assert second.n_remaining() == 52
    last = first.answers.history()[0]
    assert second.undo("Ann") == last
    assert first.candidates() == second.candidates()  # while both are open


def test_two_windows_are_asked_different_rows(begin: Begin) -> None:
    """Of one annotator or two; a window that has not answered is asked the same again."""
    session = begin()
    asked = [session.ask("Ann", window="1"), session.ask("Ann", window="2"), session.ask("Bob", window="3")]
    assert len({question.row for question in asked}) == 3
    assert session.ask("Ann", window="1") is asked[0]


def test_two_windows_do_not_overwrite_each_other(begin: Begin, tmp_path: Path) -> None:
    """Whichever session they belong to: the second answer to a row as it was before the first is refused."""
    sessions = [begin(path=tmp_path / "log") for _ in range(2)]
    one, other = (session.question_for(5, "Ann") for session in sessions)
    sessions[0].answer(one, "owl")
    with pytest.raises(ConflictError, match="row 5"):
        sessions[1].answer(other, "wren")
    assert sessions[1].candidates().to_sets()[5] == {"owl"}
    sessions[1].answer(sessions[1].question_for(5, "Ann"), "wren")
    assert sessions[0].candidates().to_sets()[5] == {"wren"}


def test_every_row_is_asked_once_and_no_other(begin: Begin, truth: np.ndarray) -> None:
    """Rows with a label are not asked, those with several are; skipped ones come last; then there are none."""
    known = [{CLASSES[k]} if i < 30 else set(CLASSES[:2]) if i < 33 else None for i, k in enumerate(truth)]
    known[30:33] = [{CLASSES[k], CLASSES[(k + 1) % 3]} for k in truth[30:33]]
    session = begin(y=known, strategy="random", refit_every=100)
    skipped = session.ask()
    session.skip(skipped)
    asked = label(session, truth, 30)
    assert sorted(question.row for question in asked) == list(range(30, 60))
    assert asked[-1].row == skipped.row
    assert session.ask() is None
    assert session.candidates().is_exact.all()


def test_several_annotators(begin: Begin, truth: np.ndarray) -> None:
    """With an overlap of two each row is asked of two people, and never twice of one."""
    session = begin(annotations_per_item=2, strategy="random", refit_every=100)
    rows = {name: {q.row for q in label(session, truth, 60, annotator=name)} for name in ("Ann", "Bob")}
    assert rows["Ann"] == rows["Bob"] == set(range(60))
    assert session.ask("Eve") is None


def test_who_cannot_tell_is_not_asked_again(begin: Begin) -> None:
    session = begin(strategy="random", refit_every=100)
    for _ in range(60):
        session.dont_know(session.ask("Ann"))
    assert session.ask("Ann") is None
    assert session.ask("Bob") is not None


def test_checks_are_drawn_at_random_and_judged_before_the_answer(begin: Begin, truth: np.ndarray) -> None:
    """Every fifth question by default; the guess that is judged is of a model that has not seen the row."""
    session = begin(refit_every=5)
    asked = label(session, truth, 40)
    checks = [question for question in asked if question.purpose == "check"]
    assert [i for i, q in enumerate(asked, 1) if q.purpose == "check"] == list(range(5, 41, 5))
    hits = [q.guess == truth[q.row] for q in checks if q.guess is not None]
    assert session.estimate().n_checks == len(hits)
    assert session.estimate().n_covered == sum(hits)
    assert not [q for q in label(begin(check_interval=0, refit_every=5), truth, 12) if q.purpose == "check"]


@pytest.mark.parametrize(
    ("estimator", "strategy"),
    [
        (oneof.PLKNN(n_neighbors=3), "entropy"),
        (oneof.CLPL(), "random"),
        (oneof.GraphLogisticRegression(), "information"),
    ],
)
def test_any_of_our_models(begin: Begin, truth: np.ndarray, estimator: Any, strategy: str) -> None:
    """It learns from the sets, guesses, and chooses by the best that it can serve; the one passed stays unfitted."""
    session = begin(estimator=estimator)
    assert session.strategy == strategy
    label(session, truth, 12)
    session.train()
    assert (session.learned.shares.argmax(axis=1) == truth).mean() > 0.7
    assert not hasattr(estimator, "classes_")


def test_wide_and_sparse_rows(truth: np.ndarray) -> None:
    """Of many features the default model sees few directions, of sparse rows too."""
    rows = np.column_stack([make_rows()[0], np.random.default_rng(1).normal(size=(60, 300)) / 10])
    for X in (rows, sp.csr_array(np.abs(rows) * (rows > 0.1))):
        with LabelingSession(X, classes=CLASSES, refit_every=5, random_state=0) as session:
            label(session, truth, 15)
            session.train()
            assert (session.learned.shares.argmax(axis=1) == truth).mean() > 0.7


def test_the_nearest_labeled_rows(begin: Begin, rows: np.ndarray, truth: np.ndarray) -> None:
    """By the distances of a search through all of them, the row itself left out."""
    session = begin()
    asked = label(session, truth, 10)
    row = asked[0].row
    others = np.array([question.row for question in asked[1:]])
    distances = np.linalg.norm(rows[others] - rows[row], axis=1)
    found = session.nearest(row, 4)
    assert [neighbor.row for neighbor in found] == others[np.argsort(distances)][:4].tolist()
    assert np.allclose([neighbor.distance for neighbor in found], np.sort(distances)[:4])
    assert all(neighbor.labels.tolist() == [CLASSES[truth[neighbor.row]]] for neighbor in found)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes": None}, "nothing says which classes"),
        ({"classes": ["owl"]}, "but one class"),
        ({"y": [None] * 59}, "59 sets"),
        ({"overlap": 0}, "overlap"),
        ({"check_every": -1}, "check_every"),
        ({"strategy": "guess"}, "strategy='guess'"),
        ({"min_votes": 0}, "min_votes=0"),
        ({"min_votes": "2"}, "min_votes='2'"),
        ({"top": 0}, "top=0"),
        ({"background": "no"}, "background='no'"),
        ({"estimator": oneof.PLKNN}, "get_params and fit, or None for the default"),
        ({"table": "x"}, "table is a str"),
        ({"table": LabelTable.of_rows(np.zeros((1, 2)), "kind")}, "X has 60 rows, but the table has 1"),
        ({"path": 3}, "path=3 names no file"),
    ],
)
def test_what_cannot_be_begun(begin: Begin, options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """It is said at once, and no file of answers is begun."""
    with pytest.raises((InputError, InputTypeError), match=sentence):
        begin(**{"path": tmp_path / "log"} | options)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_answered(begin: Begin) -> None:
    """Unknown labels, none, all ruled out, rows that are not there, names that are none: and nothing is written."""
    session = begin()
    question = session.ask()
    for act, sentence in (
        (lambda: session.answer(question, "emu"), "emu"),
        (lambda: session.answer(question, []), "no label"),
        (lambda: session.reject(question, CLASSES), "all classes"),
        (lambda: session.question_for(60), "rows are 0 to 59"),
        (lambda: session.ask(" "), "no name"),
        (lambda: session.ask(window=[1]), r"window=\[1\] is not possible: give text"),
        (lambda: session.answer(None, "owl"), "question=None is none: give what ask or look returned"),
        (lambda: session.answer(replace(question, row=60), "owl"), "rows are 0 to 59"),
        (lambda: session.answer(question, "owl", key=[1]), r"key=\[1\] is not possible: give text"),
        (lambda: session.undo(None), "no name"),
        (lambda: session.find([1]), r"question=\[1\] is not possible: give text"),
        (lambda: session.nearest(0, -1), "n=-1 is not possible"),
    ):
        with pytest.raises((InputError, InputTypeError), match=sentence):
            act()
    assert session.answers.log() == []


SOUND, STRANGE = (Entry(f"of row {row}", "Bob", row, "one of", (2,)) for row in (4, 99))
"""What another program may have written."""


def test_what_cannot_be_taken_in_leaves_all_as_it_was(begin: Begin) -> None:
    """Neither an entry about a row that there is not nor the sound one before it; and that is said each time."""
    session = begin()
    session.answer(session.question_for(3), "owl")
    with pytest.raises(DataError, match="entry 3 of the answers names a row"):
        session.answers.import_entries([SOUND, STRANGE])
    with pytest.raises(DataError, match="entry 3 of the answers names a row"):
        session.candidates()
    assert session.answers.ledger.last == 1
    assert session.answers.ledger.answers(4) == {}


def test_answers_that_cannot_be_combined_are_not_taken_in(begin: Begin) -> None:
    session = begin()
    answers = AnswerStore(AnswerLog(None, {}), session.candidates().mask, session.classes, min_votes=0, top=1)
    for _ in range(2):
        with pytest.raises(InputError, match="min_votes=0"):
            answers.import_entries([SOUND])
    assert answers.ledger.last == 0
    answers.close()


def test_a_session_that_cannot_begin_lets_go_of_its_file(begin: Begin, tmp_path: Path) -> None:
    """The files that SQLite has beside it while it is open are gone, though the error, and what it holds, is kept."""
    first = begin(path=tmp_path / "log")
    with pytest.raises(DataError, match="names a row"):
        first.answers.import_entries([STRANGE])
    first.close()
    with pytest.raises(DataError, match="names a row") as kept:
        begin(path=tmp_path / "log")
    assert [path.name for path in tmp_path.iterdir()] == ["log"], kept.tb


def test_a_file_of_answers_belongs_to_its_rows(begin: Begin, tmp_path: Path, rows: np.ndarray) -> None:
    begin(path=tmp_path / "log")
    with pytest.raises(DataError, match="other rows"):
        LabelingSession(rows + 1, classes=CLASSES, path=tmp_path / "log")
