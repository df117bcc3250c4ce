"""The model is fitted in the background: it keeps up, may fail, and keeps nobody waiting."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from oneof.labeling import learner, training
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import label

Begin = Callable[..., LabelingSession]


def test_the_background_keeps_up(begin: Begin, truth: np.ndarray) -> None:
    """With a thread no question waits for the model, which has learned from every answer in the end."""
    session = begin(background=True)
    label(session, truth, 12)
    session.train()  # what the thread has not done yet
    assert session.learned.n_labeled == 12
    assert session.last_error is None


def test_a_model_that_fails_does_not_stop_the_labeling(begin: Begin, truth: np.ndarray) -> None:
    """What it raised in the background is told; questions are drawn at random."""
    session = begin(background=True, estimator=LogisticRegression(C=-1.0), strategy="random")
    label(session, truth, 5)
    for _ in range(500):
        if session.last_error is not None:
            break
        session._training._thread.join(0.01)
    assert "InvalidParameterError" in session.last_error or "TypeError" in session.last_error
    assert session.ask() is not None


class Slow(LogisticRegression):
    """Does not come to an end before the test does."""

    def __init__(self, begun: threading.Event, done: threading.Event) -> None:
        self.begun, self.done = begun, done

    def fit(self, _X: object, _y: object) -> "Slow":
        self.begun.set()
        self.done.wait(30)
        return self


def test_ending_does_not_wait_for_the_model(
    begin: Begin, truth: np.ndarray, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever closes a session while it learns has all answers on the disk, and no trouble later."""
    monkeypatch.setattr(training, "_PATIENCE", 0.01)
    begun, done = threading.Event(), threading.Event()
    monkeypatch.setattr(learner, "clone", lambda model: model)
    session = begin(background=True, estimator=Slow(begun, done), strategy="random", path=tmp_path / "log")
    label(session, truth, 4)
    assert begun.wait(10)
    session.close()
    with begin(path=tmp_path / "log") as again:
        assert len(again.answers.log()) == 4
    done.set()
    session._training._thread.join(10)
    assert not session._training._thread.is_alive()
