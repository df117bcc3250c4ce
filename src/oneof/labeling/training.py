"""When the model of a session is fitted again: when a question is asked, or in a thread as answers come in."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.labeling.learner import Learned, Learner, can_learn
from oneof.typing import Ints

_PATIENCE = 2.0
"""Seconds that somebody who ends a session waits for a fit."""


class Known(NamedTuple):
    """What there is to learn from at some time.

    Attributes
    ----------
    candidates : CandidateSets of length n_samples
    wanted : ndarray of int
        Rows that may be asked.
    last : int
        Number of the last entry in `candidates`.
    """

    candidates: CandidateSets
    wanted: Ints
    last: int


class Training:
    """Keeps a model up with the answers.

    Parameters
    ----------
    learner : Learner
    known : callable
        Returns what is known now.
    batch : int
        After how many entries the model is fitted again.
    background : bool
        Whether a thread does that. Otherwise `catch_up` does.

    Attributes
    ----------
    learned : Learned or None
        What the model knows; None where there is too little to learn from.
    trouble : str or None
        What the model last raised in the thread, as a sentence.
    """

    def __init__(self, learner: Learner, known: Callable[[], Known], batch: int, *, background: bool) -> None:
        self.learned: Learned | None = None
        self.trouble: str | None = None
        self._learner, self._known, self._batch = learner, known, batch
        self._wanted = threading.Event()
        self._stopping = False
        self._thread = None
        if background:
            self._thread = threading.Thread(target=self._keep_up, name="oneof-training", daemon=True)
            self._thread.start()

    def run(self) -> bool:
        """Fit the model to what is known now; tell whether there was anything new that it can learn from."""
        known = self._known()
        if self._has_learnt(known.last):
            return False
        if not can_learn(known.candidates):
            self.learned = None  # what it had learned was taken back
            return False
        self.learned = self._learner.learn(*known)
        return True

    def catch_up(self, last: int) -> None:
        """Without a thread, fit the model now if entries up to number `last` make a batch."""
        if self._thread is None and self._is_due(last):
            self.run()

    def wake(self, last: int) -> None:
        """With a thread, have it fit the model if entries up to number `last` make a batch; now, or after this fit."""
        if self._thread is not None and self._is_due(last):
            self._wanted.set()

    def stop(self) -> None:
        """End the thread; a fit that takes long is left to end by itself, and writes nothing."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _is_due(self, last: int) -> bool:
        return self.learned is None or last - self.learned.last >= self._batch

    def _has_learnt(self, last: int) -> bool:
        return self.learned is not None and self.learned.last == last

    def _keep_up(self) -> None:
        self._try(self._learner.prepare)  # while people look at the first rows
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            self._try(self.run)

    def _try(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:  # of any estimator: people go on labeling, and are told
            self.trouble = f"{type(error).__name__}: {' '.join(str(error).split())}"
        else:
            self.trouble = None
