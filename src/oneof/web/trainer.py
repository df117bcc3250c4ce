"""A thread that fits the model whenever there are new answers."""

import threading
from collections.abc import Callable


class Trainer:
    """Calls a function in a thread of its own, after each `wake`.

    Parameters
    ----------
    train : callable
        Several calls of `wake` while it runs are one.

    Attributes
    ----------
    trouble : str or None
        What the function last raised, as a sentence.
    """

    def __init__(self, train: Callable[[], bool]) -> None:
        self.trouble: str | None = None
        self._train = train
        self._wanted = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="oneof-trainer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have the function called, now or when it has returned."""
        self._wanted.set()

    def stop(self) -> None:
        """Let the function come to its end, and end the thread."""
        self._stopping = True
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            try:
                self._train()
            except Exception as error:  # of any estimator: people go on labelling, and are told
                self.trouble = f"{type(error).__name__}: {' '.join(str(error).split())}"
            else:
                self.trouble = None
