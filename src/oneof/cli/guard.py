"""Every way in which a command can end: its exit code, and one sentence on standard error."""

import contextlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import typer

from oneof.errors import OneofError

BAD_INPUT = 2
INTERNAL = 1
INTERRUPTED = 130
TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): what Ctrl-C tidies up and keeps is tidied up and kept then, too."""


@contextlib.contextmanager
def guarded(*, debug: bool) -> Iterator[None]:
    """Turn errors into exit codes: 2 for bad input, 130 for Ctrl-C, 143 for SIGTERM, 1 for faults of the program.

    Warnings become lines on standard error, each said once.
    """
    with warnings.catch_warnings(), _terminated():
        _say_warnings()
        try:
            yield
        except OneofError as error:
            _leave(BAD_INPUT, str(error), debug)
        except BrokenPipeError:
            # The reader has gone, as in `| head`. Python would complain once more when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(INTERNAL) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _leave(BAD_INPUT, f"{where}{error.strerror or error}.", debug)
        except Terminated:
            _leave(TERMINATED, "terminated.", debug)
        except KeyboardInterrupt:
            _leave(INTERRUPTED, "interrupted.", debug)
        except MemoryError:
            _leave(INTERNAL, "there is not enough memory for this table and these methods.", debug)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:  # what no one foresaw is told in a line, with where to look
            hint = "" if debug else " Run with --debug to see where."
            first = (str(error).splitlines() or [""])[0].rstrip(".")
            _leave(INTERNAL, f"a fault of the program: {type(error).__name__}: {first}.{hint}", debug)


@contextlib.contextmanager
def _terminated() -> Iterator[None]:
    """Have SIGTERM unwind the command, where it would end the process at once and leave files half written."""
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


def _leave(code: int, sentence: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    typer.echo(f"Error: {' '.join(sentence.split())}", err=True)
    raise typer.Exit(code) from None


def _say_warnings() -> None:
    said: set[str] = set()

    def say(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            typer.echo(f"Warning: {text}", err=True)

    warnings.showwarning = say
