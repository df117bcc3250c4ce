"""The command line. Nothing heavy is imported before a command runs, so that every ``--help`` is quick."""

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

    app()
