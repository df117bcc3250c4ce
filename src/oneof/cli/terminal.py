"""What commands show: tables, notes, JSON, and progress on work that takes longer than a second."""

import contextlib
import functools
import json
import math
import operator
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

Progress = Callable[[int, int | None, str], None]
"""Told how much is done, of how much in all where that is known, and what."""

_PATIENCE = 1.0
"""Seconds before progress is shown."""
_MOST_PARTS = 10
"""Parts of a stream whose loss is shown."""


def show_json(content: dict[str, Any]) -> None:
    """Write one JSON object to standard output; numbers that are not known become null."""
    typer.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False))


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> None:
    """Write a table to standard output; from the column `text_columns` on, cells are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < text_columns else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    # Without a terminal there is no width to keep to: a table in a file or a pipe is not folded.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def say(sentence: str) -> None:
    """Write a line to standard output."""
    typer.echo(sentence)


def note(sentence: str) -> None:
    """Write a line to standard error, which is read by people also where the output is read by programs."""
    typer.echo(f"Note: {sentence}", err=True)


@contextlib.contextmanager
def progress(title: str, *, every_minute: bool = False) -> Iterator[Progress | None]:
    """Give a function (done, total, name) that shows a bar and the time left on standard error.

    Where that is no terminal: None, or with `every_minute` a function that writes a line at most once a minute.
    """
    if not sys.stderr.isatty():
        yield _each_minute(title) if every_minute else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    start = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    # The time left is judged by the last half hour: some pieces of work take minutes each.
    bar = Bar(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=1800.0)
    task = bar.add_task(title, total=None)

    def update(done: int, total: int | None, name: str) -> None:
        bar.update(task, completed=done, total=total, description=f"{title}: {name}")
        if not bar.live.is_started and time.monotonic() - start > _PATIENCE:
            bar.start()

    try:
        yield update
    finally:
        bar.stop()


def _each_minute(title: str) -> Progress:
    start = said = time.monotonic()

    def update(done: int, total: int | None, name: str) -> None:  # noqa: ARG001 - called as the bar is
        nonlocal said
        now = time.monotonic()
        if done and now - said >= 60.0:
            said = now
            left = "" if total is None else f", about {(now - start) / done * (total - done) / 60:.0f} min left"
            note(f"{title}: {done} of {'an unknown number' if total is None else total} done{left}.")

    return update


def percent(share: float | None, spread: float | None = None) -> str:
    """Return a share as a percentage, with its spread; a dash where it is not known."""
    if share is None or math.isnan(share):
        return "-"
    return (
        f"{100 * share:.1f} %" if spread is None or math.isnan(spread) else f"{100 * share:.1f} ± {100 * spread:.1f} %"
    )


def show_comparison(title: str, comparison: Any) -> None:
    """Write the table of a `oneof.comparison.Comparison`, the best method first."""
    judged = any(result.accuracy is not None for result in comparison.results)
    columns = ["method", "covering rate", *["accuracy"] * judged, "approx. accuracy", "fit time"]
    rows = []
    for result in comparison.results:
        name = f"{result.method} *" if result.method == comparison.best_method else result.method
        if result.error is not None:
            rows.append([name, "failed", *["-"] * (len(columns) - 2)])
            continue
        rows.append(
            [
                name,
                percent(result.covering_rate, result.covering_rate_std),
                *[percent(result.accuracy, result.accuracy_std)] * judged,
                percent(result.approximated_accuracy, result.approximated_accuracy_std),
                f"{result.fit_seconds:.2f} s",
            ]
        )
    show_table(title, columns, rows)
    for result in comparison.results:
        if result.error is not None:
            note(f"{result.method} failed: {' '.join(result.error.split())}")


def show_windows(title: str, counts: Any) -> None:
    """Write the running loss of a `oneof.stream.Validation`: some parts of the stream, and all of it."""
    step = -(-len(counts.windows) // _MOST_PARTS)
    rows, end = [], 0
    for first in range(0, len(counts.windows), max(step, 1)):
        part = functools.reduce(operator.add, counts.windows[first : first + step])
        end += part.rows
        rows.append([f"{end - part.rows:,} to {end - 1:,}", *_losses(part)])
    rows.append(["all", *_losses(counts.total)])
    show_table(title, ["rows", "L_A by rows", "L_A of the model", "rows/s"], rows)


def _losses(part: Any) -> list[str]:
    return [percent(part.loss), percent(part.model_loss), f"{part.rows_per_second or 0:,.0f}"]


def _plain(value: Any) -> Any:
    """Return the value in the types of JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return _plain(value.item()) if hasattr(value, "item") else str(value)
