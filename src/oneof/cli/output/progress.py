"""Progress on standard error: a bar on a terminal, otherwise lines, and the steps of a command."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from oneof.cli.output import terminal

_DELAY = 1.0
"""Seconds before the progress bar appears."""
_REDRAWS_PER_SECOND = 2


class Progress(Protocol):
    """Progress callback; the total and the time left are None if unknown."""

    def __call__(self, n_done: int, n_total: int | None, name: str, seconds_left: float | None = None, /) -> None:
        """Show the progress."""


class ProgressFactory(Protocol):
    """Function that takes a title and returns a context manager with a progress callback, such as `progress`."""

    def __call__(
        self,
        title: str,
        /,
        *,
        every_minute: bool = False,
        each_name: bool = False,
        is_step: bool = False,
    ) -> AbstractContextManager[Progress | None]:
        """Return the context manager; see `progress` for the options."""


@contextlib.contextmanager
def progress(
    title: str,
    *,
    every_minute: bool = False,
    each_name: bool = False,
    is_step: bool = False,
) -> Iterator[Progress | None]:
    """Yield a callback that shows a progress bar and the remaining time on standard error.

    The bar appears after a second. Its time left, known from the first finished part on, decreases between two calls.
    If standard error is not a terminal: None, or a callback that writes at most one line a minute with `every_minute`,
    and one line for each name with `each_name`. With `is_step`, one line is written at the beginning.
    """
    if not sys.stderr.isatty():
        if is_step:
            terminal.print_note(f"{title}.")
        yield _each_minute(title) if every_minute else _each_name(title) if each_name else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        """Column of the time left, which decreases at every redraw."""

        def render(self, task: Task) -> Text:
            end = task.fields["end"]
            left = None if end is None else end - time.monotonic()
            return Text("finishing" if task.finished and (left or 0.0) <= 0 else format_left(left))

    start = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeLeftColumn()
    bar = Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=_REDRAWS_PER_SECOND)
    task = bar.add_task(title, total=None, count="", end=None)
    # The first call may come after minutes.
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:
        now = time.monotonic()
        left = estimate_left(done, total, now - start) if seconds_left is None else seconds_left
        count = f"{done}/{'?' if total is None else total}"
        bar.update(task, completed=done, total=total, description=f"{title}: {name}", count=count)
        if left is not None:
            bar.update(task, end=now + left)

    timer.start()
    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


class Steps:
    """Numbered steps of a command, each with a bar or a line.

    Parameters
    ----------
    factory : ProgressFactory
    titles : iterable of str
        The steps in order.
    """

    def __init__(self, factory: ProgressFactory, titles: Iterable[str]) -> None:
        self._factory, self._titles = factory, list(titles)

    def skip(self, title: str) -> None:
        """Leave out a step that is not needed."""
        self._titles.remove(title)

    def step(self, title: str, *, each_name: bool = False) -> AbstractContextManager[Progress | None]:
        """Return the context manager of the progress of a step; without a terminal it has a line, or one a name."""
        text = f"{title[:1].upper()}{title[1:]} (step {self._titles.index(title) + 1} of {len(self._titles)})"
        return self._factory(text, each_name=each_name, is_step=not each_name)


def estimate_left(done: int, total: int | None, seconds: float) -> float | None:
    """Return the time left by the mean time of a step so far; None if it is unknown."""
    return None if not done or total is None else seconds / done * (total - done)


def format_left(seconds_left: float | None) -> str:
    """Format the time left; it is negative if a time was longer than estimated."""
    if seconds_left is None:
        return ""
    if seconds_left < 0:
        return "longer than estimated"
    return f"about {terminal.format_duration(round(seconds_left))} left"


def _each_name(title: str) -> Progress:
    """Return a callback that writes one line when a fit begins, and when the first step of each name is done."""
    start, last = time.monotonic(), ""

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:
        nonlocal last
        if name != last and (done or name.startswith("fitting ")):
            last = name
            left = estimate_left(done, total, time.monotonic() - start) if seconds_left is None else seconds_left
            terminal.print_note(
                f"{title}: {name} ({', '.join(filter(None, [f'{done} of {total} done', format_left(left)]))})."
            )

    return update


def _each_minute(title: str) -> Progress:
    """Return a callback that writes at most one line a minute."""
    start = last = time.monotonic()

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:  # noqa: ARG001 - the signature of `Progress`
        nonlocal last
        now = time.monotonic()
        if done and now - last >= 60.0:
            last = now
            remaining = "" if total is None else f", about {(now - start) / done * (total - done) / 60:.0f} min left"
            terminal.print_note(
                f"{title}: {done} of {'an unknown number' if total is None else total} done{remaining}."
            )

    return update
