"""Output of commands: errors and exit codes, tables, notes and JSON, progress on standard error, and files."""

import contextlib
import datetime
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import typer

from oneof.errors import InputError, OneofError
from oneof.files import atomic_write, check_not_input, check_writable, create_directories

BAD_INPUT = 2
INTERNAL = 1
INTERRUPTED = 130
TERMINATED = 143

_APPROXIMATED = (
    "covered predictions count by their share of the probability of the set; with weights it can be above the covering "
    "rate"
)
_BEST = (
    "* is the best method. exp. accuracy: mean probability of the predictions, given the candidate sets; it ranks the "
    "methods, and is too low if labels are wrong."
)
_ABOVE = (
    "The accuracy can be above the covering rate, which counts a right prediction as wrong if its row lacks "
    "the true label, and by the weight of the label."
)
_MAX_WINDOWS = 10
"""Maximum number of table rows for the windows of a stream."""
_MIN_FIRST = 12
"""Minimum width of the first column in a table whose numbers are not folded."""
_REDRAWS_PER_SECOND = 2
_LINE_SECONDS = 60.0
"""Seconds between two lines without a terminal."""


Progress: TypeAlias = Callable[..., None]
"""Function of the numbers of finished and of all parts, a name and the seconds left; unknown ones are None."""


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; the cleanup is the same as for Ctrl-C."""


@contextlib.contextmanager
def handle_errors(*, debug: bool) -> Iterator[None]:
    """Convert errors to exit codes: 2 for bad input, 130 for Ctrl-C, 143 for SIGTERM, 1 for internal errors.

    Every distinct warning becomes one line on standard error.
    """
    with warnings.catch_warnings(), _sigterm_as_exception():
        _print_warnings()
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            # The reader closed the pipe, as in `| head`. Python would raise again when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(INTERNAL) from None
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            code, sentence = _describe_end(error)
            typer.echo(f"Error: {' '.join(sentence.split())}", err=True)
            raise typer.Exit(code) from None


def _describe_end(error: BaseException) -> tuple[int, str]:
    """Return the exit code after an error, and its sentence."""
    match error:
        case OneofError():
            return BAD_INPUT, str(error)
        case OSError():
            return BAD_INPUT, f"{f'{error.filename}: ' * bool(error.filename)}{error.strerror or error}."
        case Terminated():
            return TERMINATED, "terminated."
        case KeyboardInterrupt():
            return INTERRUPTED, str(error) or "interrupted."
        case MemoryError():
            return INTERNAL, "not enough memory for this table and these methods. Use fewer rows or another --method."
    first = (str(error).splitlines() or [""])[0].rstrip(".")
    return INTERNAL, f"internal error: {type(error).__name__}: {first}. --debug, or ONEOF_DEBUG=1, shows the traceback."


@contextlib.contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM, which would otherwise end the process with files half written."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(*_: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _print_warnings() -> None:
    """Print every distinct warning once, on standard error."""
    printed: set[str] = set()

    def print_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if category.__name__ == "ConvergenceWarning":  # its advice names parameters of the method
            text += " --method NAME:PARAMETER=VALUE sets a parameter."
        if text not in printed:
            printed.add(text)
            typer.echo(f"Warning: {text}", err=True)

    warnings.showwarning = print_warning


def print_json(content: dict[str, Any]) -> None:
    """Write one JSON object to standard output; NaN and infinite numbers become null."""
    typer.echo(json.dumps(to_builtin(content), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> None:
    """Write a table to standard output; columns from index `text_columns` on are right-aligned.

    In a narrow terminal the words of all columns but the first remain whole, and the numbers with their units if they
    fit.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 200)  # the table of a file or a pipe is not folded
    cells = [[row[number] for row in rows] for number in range(len(columns))]
    words = [max(map(len, " ".join([name, *of]).split()), default=0) for name, of in zip(columns, cells, strict=True)]
    whole = [max(n, *(len(cell) for cell in of if cell[:1].isdigit()), 0) for n, of in zip(words, cells, strict=True)]
    fits = _MIN_FIRST + sum(whole[1:]) + 2 * len(columns) <= console.width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if number < text_columns else "right"
        min_width = (whole if fits else words)[number] if number else None
        table.add_column(column, justify=justify, overflow="fold", min_width=min_width)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(Text(title, "italic"))
    console.print(table)


def print_line(*sentences: str, err: bool = False) -> None:
    """Write lines to standard output, or to standard error before a fit, so that the former has the results only."""
    for sentence in sentences:
        typer.echo(sentence, err=err)


def print_note(*sentences: str) -> None:
    """Write notes to standard error, so that standard output stays machine-readable."""
    print_line(*(f"Note: {sentence}" for sentence in sentences), err=True)


def format_percent(fraction: float | None, std: float | None = None) -> str:
    """Format a fraction as a percentage, with its standard deviation; a dash if it is unknown."""
    if fraction is None or math.isnan(fraction):
        return "-"
    if std is None or math.isnan(std):
        return f"{100 * fraction:.1f} %"
    return f"{100 * fraction:.1f} ± {100 * std:.1f} %"


def format_headline(headline: Any) -> str:
    """Return the first number of a fit in a sentence, with its interval or standard deviation."""
    rate = format_percent(headline.value, headline.std)
    if headline.interval is not None:
        low, high = (f"{100 * bound:.1f}" for bound in headline.interval)
        rate += f" ({low} to {high} %)"
    return f"{headline.measure.capitalize()}: {rate} {headline.meaning}"


def print_comparison(title: str, comparison: Any) -> None:
    """Write the table of a `oneof.comparison.Comparison`, the best method first, and its legend."""
    results, is_comparison, rates = comparison.results, len(comparison.results) > 1, comparison._rates()
    rows = []
    for result in results:
        mark = " *" * (is_comparison and result.method == comparison.best_method)
        cells = [format_percent(*(getattr(result, name) for name in names)) for _, *names in rates]
        seconds = "-" if math.isnan(result.fit_seconds) else f"{result.fit_seconds:.2f} s"
        cells[0] = cells[0] if result.error is None else "failed"
        rows.append([f"{result.method}{mark}", *cells, seconds])
    print_table(title, ["method", *(rate for rate, *_ in rates), "fit time"], rows)
    for reason in dict.fromkeys(result.incomplete for result in results if result.incomplete):
        print_line(f"{', '.join(r.method for r in results if r.incomplete == reason)}: {reason}")
    deviation = "± is the binomial standard error"
    if comparison.n_folds > 1:
        deviation = "Rates are those of all held-out rows; ± is the standard deviation over the folds"
    legend = [_BEST] * is_comparison + [f"approx. accuracy: {_APPROXIMATED}. {deviation}."]
    legend += [_ABOVE] * any((result.accuracy or 0) > result.covering_rate for result in results)
    failed = [f"{r.method} failed: {' '.join(r.error.split())}" for r in results if r.error is not None]
    print_line(*filter(None, [*legend, comparison.truth_note]))
    print_note(*filter(None, [comparison.baseline_warning, *failed]))


def print_windows(title: str, counts: Any) -> None:
    """Write the progressive validation of a stream: the ambiguous 0-1 losses by window and in total."""

    def add(label: str, window: Any) -> None:
        losses = format_percent(window.loss), format_percent(window.model_loss)
        rows.append([label, *losses, f"{window.rows_per_second or 0:,.0f}"])

    rows: list[list[str]] = []
    step, end = max(-(-len(counts.windows) // _MAX_WINDOWS), 1), 0
    for first in range(0, len(counts.windows), step):
        window = sum(counts.windows[first + 1 : first + step], counts.windows[first])
        end += window.rows
        add(f"{end - window.rows:,} to {end - 1:,}", window)
    add("all", counts.total)
    print_table(title, ["rows", "loss row by row", "loss of the model", "rows/s"], rows)


def to_builtin(value: Any) -> Any:
    """Convert mappings, sequences and NumPy scalars to JSON types."""
    if isinstance(value, dict):
        return {str(key): to_builtin(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_builtin(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return to_builtin(value.item()) if hasattr(value, "item") else str(value)


@contextlib.contextmanager
def step(title: str, *, each_name: bool = False) -> Iterator[Progress]:
    """Yield a callback that shows a progress bar and the remaining time of a step of a command on standard error.

    The time left of the bar, known from the first finished part on, decreases between two calls.
    If standard error is not a terminal, the step has a line, and the callback writes at most one a minute; or one for
    each name with `each_name`.
    """
    if not sys.stderr.isatty():
        if not each_name:
            print_note(f"{title}.")
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

    def update(done: int, total: int | None, name: str, seconds_left: float | None = None) -> None:
        now = time.monotonic()
        left = _estimate_left(done, total, now - start) if seconds_left is None else seconds_left
        count = f"{done}/{'?' if total is None else total}"
        bar.update(task, completed=done, total=total, description=f"{title}: {name}", count=count)
        if left is not None:
            bar.update(task, end=now + left)

    with bar:
        yield update


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
        print_note(f"{title}: {name} ({', '.join(filter(None, [count, left]))}).")

    return update


def _estimate_left(done: int, total: int | None, seconds: float) -> float | None:
    """Return the time left by the mean time of a step so far; None if it is unknown."""
    return None if not done or total is None else seconds / done * (total - done)


def _format_left(seconds_left: float | None) -> str:
    """Format the time left, which is 0 or less at the end, and if it was estimated too low."""
    from oneof.comparison.results import format_duration  # heavy for --help

    if seconds_left is None:
        return ""
    return f"about {format_duration(round(seconds_left))} left in this step" if seconds_left > 0 else "finishing"


def check_outputs(outputs: Mapping[str, Iterable[Path | None]], inputs: Collection[Path]) -> None:
    """Raise unless the files of each option can be written, are not inputs, and are those of no other option."""
    options: dict[Path, str] = {}
    for option, files in outputs.items():
        for file in filter(None, files):
            check_not_input(file, inputs, option)
            if file.is_dir():
                raise InputError(f"{option}: {file} is a folder. Name a file.")
            check_writable(file.parent)
            if (other := options.setdefault(file.resolve(), option)) != option:
                raise InputError(f"{other} and {option} must be different files; got {file} for both.")


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` at the end; missing folders are created."""
    with create_directories(path.absolute().parent), atomic_write(path) as temporary:
        yield temporary


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object of JSON for people too."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def today() -> str:
    """Return the date of a page."""
    return datetime.datetime.now().astimezone().date().isoformat()
