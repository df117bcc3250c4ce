"""The command line. Nothing heavy is imported before a command runs, so that every ``--help`` is quick."""

import io
import sys


def main() -> None:
    """Run the command line `oneof`; the way to end is a SystemExit with the exit code."""
    try:
        import typer  # noqa: F401 - asked for here, so that its absence is one sentence
    except ImportError:
        from oneof.errors import MissingExtraError

        sys.stderr.write(f"Error: {MissingExtraError('typer', 'cli')}\n")
        raise SystemExit(2) from None
    from oneof.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows a question mark
    app()
