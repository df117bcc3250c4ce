"""Command line `oneof`. Heavy imports happen only when a command runs, so every ``--help`` is quick.

Reading order: `app` (the application), `options` and `option_groups` (shared options), `terminal` (output and exit
codes), `progress` (bars and lines of progress), one file for each of the `commands`, `inputs` (the table as candidate
sets, features and methods), `answer_files` (answers of annotators), `leaks` (columns that reveal the labels), `plan`
(the facts of a table), `times` (the time of a fit), `training` (the fit and its files).
"""

import io
import sys


def main() -> None:
    """Run the command line `oneof`; it always ends with a SystemExit with the exit code."""
    try:
        import typer  # noqa: F401 - imported here so that a missing typer is an error of one line
    except ImportError:
        from oneof.errors import MissingExtraError

        sys.stderr.write(f"Error: {MissingExtraError('typer', 'cli')}\n")
        raise SystemExit(2) from None
    from oneof.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print a question mark for characters that the terminal lacks
    app()
