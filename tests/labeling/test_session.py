"""Labeling sessions without a page."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import oneof
from oneof import CandidateSets
from oneof.active import AnswerModel, local_density, query
from oneof.errors import ConflictError, DataError, InputError, InputTypeError, LabelError
from oneof.labeling import learner
from oneof.labeling.answers.log import AnswerLog, Entry
from oneof.labeling.answers.store import AnswerStore
from oneof.labeling.content.table import LabelTable
from oneof.labeling.learner import Learner
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, label, make_rows

Begin = Callable[..., LabelingSession]


def test_a_session_trains_its_model(begin: Begin, truth: np.ndarray) -> None:
    """Queries are selected by information, and the model then predicts the rows that were not asked."""
    session = begin()
    questions = label(session, truth, 20)
    assert len({question.row for question in questions}) == 20
    assert session.strategy == "mutual_information"
    session.train()
    assert session.snapshot is not None
    assert (session.snapshot.proba.argmax(axis=1) == truth).mean() > 0.9
    assert np.allclose(session.snapshot.proba.sum(axis=1), 1)
    late = [question for question in questions if question.n_labeled >= 5]
    assert all(question.score is not None and question.score > 0 for question in late)
    assert [question.purpose for question in late if question.purpose == "check"]


@pytest.mark.parametrize(
    ("labels", "kind", "candidates"),
    [
        ("finch", "one of", {"finch"}),
        (["finch", "wren"], "one of", {"finch", "wren"}),
        ("owl", "none of", {"finch", "wren"}),
        (["owl", "wren"], "none of", {"finch"}),
        (None, "unknown", set(CLASSES)),
        (None, "skip", set(CLASSES)),
    ],
)
def test_every_kind_of_answer(begin: Begin, labels: Any, kind: str, candidates: set[str]) -> None:
    """Every kind of answer gives its candidate set and is in the log."""
    session = begin()
    question = session.ask("Ann")
    ways = {"one of": session.answer, "none of": session.reject}
    entry = (
        ways[kind](question, labels)
        if kind in ways
        else {"unknown": session.dont_know, "skip": session.skip}[kind](question)
    )
    assert session.candidates().to_sets()[question.row] == candidates
    assert (entry.kind, entry.row, entry.annotator, entry.number) == (kind, question.row, "Ann", 1)
    assert session.answers.log() == [entry]


def test_undo_restores_the_previous_state(begin: Begin) -> None:
    """Each undo restores the state before the last answer; the log only grows."""
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
    """A repeated undo, after a lost response, keeps the answer before it."""
    session = begin()
    session.answer(session.question_for(3), "owl")
    last = session.answer(session.question_for(4), "wren")
    for number in (None, last.number):
        assert session.undo(number=number, key="same") == last
    assert len(session.answers.log()) == 3
    assert session.answers.history()[0].row == 3


def test_no_model_after_all_answers_are_undone(begin: Begin, truth: np.ndarray) -> None:
    """If every answer is undone, there is neither a model nor a prediction."""
    session = begin()
    label(session, truth, 6)
    assert session.train() or session.snapshot is not None
    while session.undo() is not None:
        pass
    session.train()
    assert session.snapshot is None
    assert session.ask().proba is None


def test_undo_affects_own_answers_only(begin: Begin) -> None:
    """Answers of other annotators cannot be undone; an answer can be undone once."""
    session = begin(annotations_per_item=2)
    first = session.answer(session.question_for(3, "Ann"), "owl")
    session.answer(session.question_for(3, "Bob"), "owl")
    with pytest.raises(ConflictError, match="number of an answer of 'Bob'; got 1"):
        session.undo("Bob", number=first.number)
    assert session.undo("Ann", number=first.number) == first
    with pytest.raises(ConflictError, match="already undone"):
        session.undo("Ann", number=first.number)
    assert session.answers.current_answer(3, "Bob") is not None
    assert session.candidates().to_sets()[3] == {"owl"}


def test_rows_keep_their_weights_until_they_are_answered(rows: np.ndarray, truth: np.ndarray) -> None:
    """The model is fitted to the weights; an answer replaces those of its row, and an undo restores them."""
    W = np.full((len(truth), 3), 0.2)
    W[np.arange(len(truth)), truth] = 0.6
    W[5:] = 1.0
    start = oneof.CandidateSets.from_weights(W, CLASSES)
    with LabelingSession(rows, start, estimator=oneof.PLEM(), check_interval=0) as session:
        assert session.candidates() == start
        session.train()
        assert session.snapshot is not None
        np.testing.assert_array_equal(session.snapshot.proba, oneof.PLEM().fit(rows, start).predict_proba(rows))
        assert session.n_remaining() == len(truth)
        [nearest] = session.nearest(0, 1)
        assert nearest.labels.tolist() == [CLASSES[truth[nearest.row]]]
        session.answer(session.question_for(1), ["finch", "wren"])
        expected = W.copy()
        expected[1] = [1, 0, 1]
        assert session.candidates() == oneof.CandidateSets.from_weights(expected, CLASSES)
        session.undo()
        assert session.candidates() == start


def test_a_session_resumes_from_its_file(begin: Begin, truth: np.ndarray, tmp_path: Path) -> None:
    """A second session of the same file has the answers of the first and can undo them."""
    first = begin(path=tmp_path / "log")
    label(first, truth, 8, annotator="Ann")
    second = begin(path=tmp_path / "log")
    assert second.candidates() == first.candidates()
    assert second.answers.history() == first.answers.history()
    assert second.n_remaining() == 52
    last = first.answers.history()[0]
    assert second.undo("Ann") == last
    assert first.candidates() == second.candidates()  # while both are open


def test_two_windows_get_different_rows(begin: Begin) -> None:
    """Windows of one annotator or two get different rows; an unanswered window gets the same row again."""
    session = begin()
    questions = [session.ask("Ann", window="1"), session.ask("Ann", window="2"), session.ask("Bob", window="3")]
    assert len({question.row for question in questions}) == 3
    assert session.ask("Ann", window="1") is questions[0]


def test_two_windows_do_not_overwrite_each_other(begin: Begin, tmp_path: Path) -> None:
    """In one session or two: an answer based on an outdated state of a row is a conflict."""
    sessions = [begin(path=tmp_path / "log") for _ in range(2)]
    first, second = (session.question_for(5, "Ann") for session in sessions)
    sessions[0].answer(first, "owl")
    other = sessions[1].question_for(5, "Bob")
    with pytest.raises(ConflictError, match="row 5 was answered by 'Ann' in another window"):
        sessions[1].answer(second, "wren")
    sessions[1].answer(other, "owl")  # another annotator overwrites nothing
    assert sessions[1].candidates().to_sets()[5] == {"owl"}
    sessions[1].answer(sessions[1].question_for(5, "Ann"), "wren")
    assert sessions[0].candidates().to_sets()[5] == {"owl", "wren"}


def test_every_row_without_exact_label_is_asked_once(begin: Begin, truth: np.ndarray) -> None:
    """Exact rows are not asked, partial ones are; skipped rows come last; then None is returned."""
    initial = [{CLASSES[k]} if i < 30 else set(CLASSES[:2]) if i < 33 else None for i, k in enumerate(truth)]
    initial[30:33] = [{CLASSES[k], CLASSES[(k + 1) % 3]} for k in truth[30:33]]
    session = begin(y=initial, strategy="random", refit_every=100)
    skipped = session.ask()
    session.skip(skipped)
    questions = label(session, truth, 30)
    assert sorted(question.row for question in questions) == list(range(30, 60))
    assert questions[-1].row == skipped.row
    assert session.ask() is None
    assert session.candidates().is_exact.all()


def test_a_queue_is_asked_first(begin: Begin, truth: np.ndarray) -> None:
    """Rows of the queue are asked first and in order, even exact ones; then the other rows that are not exact."""
    initial = [{CLASSES[k]} if i < 50 else None for i, k in enumerate(truth)]
    session = begin(y=initial, strategy="random", refit_every=100, queue=[7, 3, 55])
    rows = [question.row for question in label(session, truth, 12)]
    assert rows[:3] == [7, 3, 55]
    assert sorted(rows[3:]) == [50, 51, 52, 53, 54, 56, 57, 58, 59]
    assert session.ask() is None


def test_several_annotators(begin: Begin, truth: np.ndarray) -> None:
    """With two annotations per item, each row is asked of two people, and never twice of one."""
    session = begin(annotations_per_item=2, strategy="random", refit_every=100)
    rows = {name: {q.row for q in label(session, truth, 60, annotator=name)} for name in ("Ann", "Bob")}
    assert rows["Ann"] == rows["Bob"] == set(range(60))
    assert session.ask("Eve") is None


def test_dont_know_rows_are_not_asked_again(begin: Begin) -> None:
    """A row answered by "don't know" is asked of other annotators only."""
    session = begin(strategy="random", refit_every=100)
    for _ in range(60):
        session.dont_know(session.ask("Ann"))
    assert session.ask("Ann") is None
    assert session.ask("Bob") is not None


def test_checks_are_predicted_before_the_answer(begin: Begin, truth: np.ndarray) -> None:
    """Every fifth question is a check by default; its prediction is from a model not fitted on the row."""
    session = begin(refit_every=5)
    questions = label(session, truth, 40)
    checks = [question for question in questions if question.purpose == "check"]
    assert [i for i, q in enumerate(questions, 1) if q.purpose == "check"] == list(range(5, 41, 5))
    hits = [q.guess == truth[q.row] for q in checks if q.guess is not None]
    assert session.estimate().n_checks == len(hits)
    assert session.estimate().n_covered == sum(hits)
    assert not [q for q in label(begin(check_interval=0, refit_every=5), truth, 12) if q.purpose == "check"]


WIDE = np.column_stack([make_rows()[0], np.random.default_rng(1).normal(size=(60, 300)) / 10])


@pytest.mark.parametrize(
    ("X", "estimator", "strategy"),
    [
        (make_rows()[0], oneof.PLKNN(n_neighbors=3), "entropy"),
        (make_rows()[0], oneof.CLPL(), "random"),
        (make_rows()[0], oneof.GraphLogisticRegression(), "mutual_information"),
        (WIDE, None, "mutual_information"),
        (sp.csr_array(np.abs(WIDE) * (WIDE > 0.1)), None, "mutual_information"),
    ],
)
def test_any_estimator_and_any_rows(truth: np.ndarray, X: Any, estimator: Any, strategy: str) -> None:
    """An estimator is fitted on the sets with its best strategy; the given object stays unfitted.

    With many features the default model uses few directions, also for sparse rows.
    """
    with LabelingSession(X, classes=CLASSES, estimator=estimator, refit_every=5, random_state=0) as session:
        assert session.strategy == strategy
        label(session, truth, 15)
        session.train()
        assert (session.snapshot.proba.argmax(axis=1) == truth).mean() > 0.7
    assert not hasattr(estimator, "classes_")


def test_the_nearest_labeled_rows(begin: Begin, rows: np.ndarray, truth: np.ndarray) -> None:
    """The result equals a brute-force search without the row itself."""
    session = begin()
    questions = label(session, truth, 10)
    row = questions[0].row
    labeled = np.array([question.row for question in questions[1:]])
    distances = np.linalg.norm(rows[labeled] - rows[row], axis=1)
    neighbors = session.nearest(row, 4)
    assert [neighbor.row for neighbor in neighbors] == labeled[np.argsort(distances)][:4].tolist()
    assert np.allclose([neighbor.distance for neighbor in neighbors], np.sort(distances)[:4])
    assert all(neighbor.labels.tolist() == [CLASSES[truth[neighbor.row]]] for neighbor in neighbors)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes": None}, "`y` or `classes` must be given"),
        ({"classes": ["owl"]}, "at least two classes"),
        ({"y": [None] * 59}, "59 sets"),
        ({"annotations_per_item": 0}, "annotations_per_item"),
        ({"check_interval": -1}, "check_interval"),
        ({"strategy": "guess"}, "`strategy` must be .*; got 'guess'"),
        ({"min_votes": 0}, "`min_votes` must be"),
        ({"min_votes": "2"}, "`min_votes` must be"),
        ({"top_k": 0}, "`top_k` must be"),
        ({"background": "no"}, "`background` must be"),
        ({"estimator": oneof.PLKNN}, "get_params and fit, or None for the default"),
        ({"table": "x"}, "`table` must be a .*LabelTable or None; got str"),
        ({"table": LabelTable.from_rows(np.zeros((1, 2)), "kind")}, r"one row per row of `X` \(60\); got 1 rows"),
        ({"path": 3}, "`path` must be a string or a pathlib.Path"),
        *(({"queue": queue}, "`queue` must") for queue in ([60], [-1], [1, 1], [0.5], [[1]])),
        ({"combination": "average"}, "`combination` must be"),
        ({"annotations_per_item": 3, "max_annotations": 2}, r"`max_annotations` must be at least .* \(3\); got 2"),
        *(({"max_annotations": wrong}, "`max_annotations` must be") for wrong in (0, 2.5)),
        ({"double_annotated": 1.5}, "`double_annotated` must be a fraction from 0 to 1; got 1.5"),
        *(({"double_annotated": wrong}, "`double_annotated` must be") for wrong in (-0.1, "all")),
        *(({"exclude_annotators": wrong}, "must be a") for wrong in ("bot", [""], 3)),
        ({"gold": {1: "owl"}, "gold_interval": 0}, "`gold_interval` must be"),
        ({"gold": [1, 2]}, "`gold` must be a dict of row to label, or None; got list"),
        *(({"gold": {row: "owl"}}, "row indices from 0 to 59 as keys; got") for row in (60, -1, "1", True)),
        ({"gold": {1: "emu"}}, "one of the classes finch, owl, wren for row 1; got 'emu'"),
        ({"gold": {1: ["owl"]}}, "for row 1"),
    ],
)
def test_invalid_options_are_errors(begin: Begin, options: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """Invalid options are errors at once, and no file is created."""
    with pytest.raises((InputError, InputTypeError, LabelError), match=sentence):
        begin(**{"path": tmp_path / "log"} | options)
    assert not list(tmp_path.iterdir())


def test_invalid_answers_are_errors(begin: Begin) -> None:
    """Unknown, missing or all labels, invalid rows and invalid names are errors, and no entry is written."""
    session = begin()
    question = session.ask()
    for act, sentence in (
        (lambda: session.answer(question, "emu"), "emu"),
        (lambda: session.answer(question, []), "must name one or more classes"),
        (lambda: session.reject(question, CLASSES), "must not exclude every class"),
        (lambda: session.question_for(60), "`row` must be an integer from 0 to 59"),
        (lambda: session.ask(" "), "`annotator` must be a name"),
        (lambda: session.ask(window=[1]), r"`window` must be text; got \[1\]"),
        (lambda: session.answer(None, "owl"), "`question` must be a result of `ask` or `question_for`; got None"),
        (lambda: session.answer(replace(question, row=60), "owl"), "`row` must be an integer from 0 to 59"),
        (lambda: session.answer(question, "owl", key=[1]), r"`key` must be text; got \[1\]"),
        (lambda: session.undo(None), "`annotator` must be a name"),
        (lambda: session.get_question([1]), r"`question` must be text; got \[1\]"),
        (lambda: session.nearest(0, -1), "`n` must be"),
        (lambda: session.candidates("average"), "`combination` must be"),
    ):
        with pytest.raises((InputError, InputTypeError), match=sentence):
            act()
    assert session.answers.log() == []


VALID, INVALID = (Entry(f"of row {row}", "Bob", row, "one of", (2,)) for row in (4, 99))
"""Entries that another program may have written."""


def test_an_invalid_entry_leaves_the_state_unchanged(begin: Begin) -> None:
    """If one entry has an invalid row, no entry is read, not even a valid one before it; every call raises."""
    session = begin()
    session.answer(session.question_for(3), "owl")
    with pytest.raises(DataError, match="entry 3 of the answers has a row"):
        session.answers.import_entries([VALID, INVALID])
    with pytest.raises(DataError, match="entry 3 of the answers has a row"):
        session.candidates()
    assert session.answers.state.last == 1
    assert session.answers.state.answers(4) == {}


def test_answers_that_cannot_be_combined_are_an_error_at_every_call(begin: Begin) -> None:
    """After an error of the aggregation, no call returns the candidates without the answers."""
    session = begin()
    answers = AnswerStore(AnswerLog(None, {}), session.candidates().mask, session.classes, min_votes=0, top_k=1)
    answers.import_entries([VALID])
    for _ in range(2):
        with pytest.raises(InputError, match="`min_votes` must be"):
            answers.candidates()
    answers.close()


def test_a_failed_session_closes_its_file(begin: Begin, tmp_path: Path) -> None:
    """The auxiliary files of SQLite are removed, even while the error is referenced."""
    first = begin(path=tmp_path / "log")
    with pytest.raises(DataError, match="has a row"):
        first.answers.import_entries([INVALID])
    first.close()
    with pytest.raises(DataError, match="has a row") as error:
        begin(path=tmp_path / "log")
    assert [path.name for path in tmp_path.iterdir()] == ["log"], error.tb


def test_a_file_of_answers_cannot_be_opened_with_other_rows(begin: Begin, tmp_path: Path, rows: np.ndarray) -> None:
    """Opening the file with other features is an error."""
    begin(path=tmp_path / "log")
    with pytest.raises(DataError, match="other rows"):
        LabelingSession(rows + 1, classes=CLASSES, path=tmp_path / "log")


def test_new_classes_of_a_file_have_a_warning(tmp_path):
    """A session that adds a class to a file of answers names it; one with the classes of the file does not."""
    X = np.arange(6.0)[:, None]
    for n_classes, expectation in (
        (2, contextlib.nullcontext()),
        (3, pytest.warns(UserWarning, match=r"^'wren' is a new class of the session\.")),
        (3, contextlib.nullcontext()),  # a warning would be an error
    ):
        with expectation:
            LabelingSession(X, classes=CLASSES[:n_classes], path=tmp_path / "log").close()


# -- Selection of the next questions by the learner: the answer model, the density and the first rows ----------------


N_CLASSES = 3


@pytest.fixture(scope="module")
def grouped():
    """Return rows of three groups, and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % N_CLASSES
    return rng.normal(size=(90, 4)) + 3.0 * np.eye(4)[y], y


def make_candidates(y, labeled, *, pairs):
    """Return the label, or the label and the next class, of the labeled rows."""
    mask = np.ones((len(y), N_CLASSES), dtype=bool)
    mask[labeled] = np.eye(N_CLASSES, dtype=bool)[y[labeled]]
    if pairs:
        mask[labeled, (y[labeled] + 1) % N_CLASSES] = True
    return CandidateSets(mask, np.arange(N_CLASSES))


@pytest.mark.parametrize(("strategy", "pairs"), [("auto", False), ("auto", True), ("entropy", True)])
def test_questions_are_those_of_the_answer_model_and_the_density(grouped, strategy, pairs):
    """The next questions are those of `query`, with an answer model only if an answer has two labels.

    Other strategies have neither an answer model nor densities.
    """
    X, y = grouped
    labeled, pool = np.arange(12), np.arange(12, 90)
    candidates = make_candidates(y, labeled, pairs=pairs)
    learner = Learner(X, None, strategy, 5, np.random.RandomState(0))
    snapshot = learner.fit(candidates, pool, 12)
    assert (snapshot.answer_model is not None) == (strategy == "auto" and pairs)
    if strategy == "entropy":
        assert snapshot.rows.tolist() == pool[query(snapshot.model, X[pool], 5, "entropy").indices].tolist()
        return
    answer_model = AnswerModel.from_candidates(candidates, snapshot.proba) if pairs else None
    expected = query(snapshot.model, X[pool], 5, answer_model=answer_model, density=local_density(X)[pool])
    assert snapshot.rows.tolist() == pool[expected.indices].tolist()
    np.testing.assert_allclose(snapshot.scores, expected.utilities)
    assert learner.score(snapshot, int(snapshot.rows[0])) == pytest.approx(snapshot.scores[0])


def test_the_first_questions_are_random(grouped):
    """With fewer labeled rows than classes, questions depend on the seed, and afterwards they do not."""
    X, y = grouped
    for n_labeled, is_random in ((2, True), (3, False)):
        labeled, pool = np.arange(n_labeled), np.arange(n_labeled, 90)
        candidates = make_candidates(y, labeled, pairs=False)
        asked = {
            tuple(sorted(Learner(X, None, "auto", 5, np.random.RandomState(seed)).fit(candidates, pool, 2).rows))
            for seed in range(3)
        }
        assert len(asked) == (3 if is_random else 1)


# -- Background training: it uses all answers, may fail, and does not block ------------------------------------------


def test_the_background_uses_all_answers(begin: Begin, truth: np.ndarray) -> None:
    """With a thread no question waits for the model, which is finally fitted on every answer."""
    session = begin(background=True)
    label(session, truth, 12)
    session.train()  # entries that the thread has not used yet
    assert session.snapshot.n_labeled == 12
    assert session.last_error is None


def test_a_model_that_fails_does_not_stop_the_labeling(begin: Begin, truth: np.ndarray) -> None:
    """The error in the background is available as `last_error`; questions are drawn at random."""
    session = begin(background=True, estimator=LogisticRegression(C=-1.0), strategy="random")
    label(session, truth, 5)
    for _ in range(12_000):  # two minutes, on a busy machine
        if session.last_error is not None:
            break
        session._training._thread.join(0.01)
    assert "InvalidParameterError" in session.last_error or "TypeError" in session.last_error
    assert session.ask() is not None


class Slow(LogisticRegression):
    """Estimator whose fit ends with the test."""

    def __init__(self, begun: threading.Event, done: threading.Event) -> None:
        self.begun, self.done = begun, done

    def fit(self, _X: object, _y: object) -> "Slow":
        self.begun.set()
        self.done.wait(300)
        return self


def test_close_does_not_wait_for_a_fit(
    begin: Begin, truth: np.ndarray, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A session closed during a fit has all answers on the disk, and the fit ends without an error."""
    monkeypatch.setattr(learner, "_STOP_TIMEOUT", 0.01)
    begun, done = threading.Event(), threading.Event()
    monkeypatch.setattr(learner, "clone", lambda model: model)
    session = begin(background=True, estimator=Slow(begun, done), strategy="random", path=tmp_path / "log")
    label(session, truth, 4)
    assert begun.wait(120)
    session.close()
    with begin(path=tmp_path / "log") as again:
        assert len(again.answers.log()) == 4
    done.set()
    session._training._thread.join(120)
    assert not session._training._thread.is_alive()


def test_large_tables_have_a_graph_of_some_rows(
    begin: Begin, truth: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the maximum, the model is fitted on rows of the graph and on every labeled row, and predicts all rows."""
    whole = begin()
    label(whole, truth, 12)
    whole.train()
    monkeypatch.setattr(learner, "MAX_GRAPH_ROWS", 25)
    session = begin()
    label(session, truth, 12)
    session.train()
    model = session.snapshot.model
    labeled = np.flatnonzero(~session.candidates().is_unlabeled)
    nodes = session._learner._nodes
    assert len(nodes) == 25
    others = np.setdiff1d(labeled, nodes)
    assert len(others)
    assert model.affinity.shape == (25 + len(others), 25 + len(others))
    assert abs(model.affinity[25:]).sum() == 0  # other labeled rows have no neighbors
    assert session.snapshot.proba.shape == (60, 3)
    assert (session.snapshot.proba.argmax(axis=1) == truth).mean() > 0.85
    assert np.array_equal(learner._predict_in_parts(model, session._rows), session.snapshot.proba)
    assert np.allclose(learner.predict_proba(model, session._rows), session.snapshot.proba)


def test_a_question_does_not_keep_the_predictions_of_all_rows(begin: Begin, truth: np.ndarray) -> None:
    """Open questions have copies of their probabilities, since a view would keep those of each fit in memory."""
    session = begin()
    label(session, truth, 8)
    question = session.ask()
    assert question.proba.base is None
    assert np.array_equal(question.proba, session.snapshot.proba[question.row])
