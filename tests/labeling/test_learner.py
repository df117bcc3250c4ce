"""Background training: it uses all answers, may fail, and does not block."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from oneof.labeling import learner
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import label

Begin = Callable[..., LabelingSession]


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
