"""Progress on standard error: a bar on a terminal, otherwise lines."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from oneof.cli.output import terminal

_DELAY = 1.0
"""Seconds before the progress bar appears."""
_REDRAWS_PER_SECOND = 2
_LINE_SECONDS = 60.0
"""Seconds between two lines without a terminal."""


class Progress(Protocol):
    """Progress callback; the total and the time left are None if unknown."""

    def __call__(self, n_done: int, n_total: int | None, name: str, seconds_left: float | None = None, /) -> None:
        """Show the progress."""


@contextlib.contextmanager
def step(title: str, *, each_name: bool = False) -> Iterator[Progress]:
    """Yield a callback that shows a progress bar and the remaining time of a step of a command on standard error.

    The bar appears after a second. Its time left, known from the first finished part on, decreases between two calls.
    If standard error is not a terminal, the step has a line, and the callback writes at most one a minute; or one for
    each name with `each_name`.
    """
    if not sys.stderr.isatty():
        if not each_name:
            terminal.print_note(f"{title}.")
        yield _write_lines(title, each_name=each_name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        """Column of the time left, which decreases at every redraw."""

        def render(self, task: Task) -> Text:
            end = task.fields["end"]
            return Text(_format_left(None if end is None else end - time.monotonic()))

    start = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeLeftColumn()
    bar = Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=_REDRAWS_PER_SECOND)
    task = bar.add_task(title, total=None, count="", end=None)
    # The first call may come after minutes.
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:
        now = time.monotonic()
        left = _estimate_left(done, total, now - start) if seconds_left is None else seconds_left
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


def _write_lines(title: str, *, each_name: bool) -> Progress:
    """Return a callback that writes a line when a fit begins or the first step of a name is done, or one a minute."""
    start = last_time = time.monotonic()
    last_name = ""

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:
        nonlocal last_name, last_time
        now = time.monotonic()
        is_new = name != last_name and (bool(done) or name.startswith("fitting "))
        if not (is_new if each_name else done and now - last_time >= _LINE_SECONDS):
            return
        last_name, last_time = name, now
        left = _format_left(_estimate_left(done, total, now - start) if seconds_left is None else seconds_left)
        count = f"{done} of {'an unknown number' if total is None else total} done"
        terminal.print_note(f"{title}: {name} ({', '.join(filter(None, [count, left]))}).")

    return update


def _estimate_left(done: int, total: int | None, seconds: float) -> float | None:
    """Return the time left by the mean time of a step so far; None if it is unknown."""
    return None if not done or total is None else seconds / done * (total - done)


def _format_left(seconds_left: float | None) -> str:
    """Format the time left, which is 0 or less at the end, and if it was estimated too low."""
    from oneof.comparison.results import format_duration  # heavy for --help

    if seconds_left is None:
        return ""
    return f"about {format_duration(round(seconds_left))} left" if seconds_left > 0 else "finishing"
