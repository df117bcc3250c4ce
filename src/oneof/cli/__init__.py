"""Command line `oneof`. Heavy imports happen only when a command runs, so every ``--help`` is quick.

Reading order: `app` (the application), `options` (records of options, and the parameters of commands made from them),
`terminal` (output, notes, exit codes, progress and files), one file for each of the `commands`, and their steps:

* `answers`: answers of annotators, and their accuracies
* `tables`: `inputs` (a table as candidate sets and features), `leaks` (columns that reveal the labels or name groups),
  `methods` (pipelines of the methods), `facts` (the facts of a table, or of the first rows of a stream)
* `auditing`: rows whose labels are probably wrong
* `training`: the steps of a fit, which `commands.fit` calls, and their records; `online`: the fit on a stream
* `prediction`: predictions of a table or a stream, and sets of classes
* `labeling`: the session in which rows are labeled, and answers from files
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
