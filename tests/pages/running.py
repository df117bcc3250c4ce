"""Running a page: its Python, and what it types into a terminal, from top to bottom in a folder of its own."""

import doctest
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from oneof.cli.app import app

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"<!-- needs: (.+?) -->")
_COMMAND = re.compile(r"^\$ ", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A piece of a page that is run: examples with a prompt, plain Python, or a session in a terminal."""

    kind: str
    text: str
    line: int


def needs(page: str) -> list[str]:
    """Return the data sets that a page says it needs, in a comment ``<!-- needs: lost, msrcv2 -->``."""
    found = _NEEDS.search(page)
    return [] if found is None else [name.strip() for name in found[1].split(",")]


def read_steps(page: str) -> list[Step]:
    """Return what is run of a page, in order; a fence without a language is text."""
    steps = []
    for fence in _FENCE.finditer(page):
        language, text = fence[1], fence[2]
        line = page.count("\n", 0, fence.start(2)) + 1
        if language == "console":
            steps.append(Step("terminal", text, line))
        elif language in ("python", "pycon"):
            steps.append(Step("examples" if ">>> " in text else "code", text, line))
    return steps


def run_page(name: str, page: str) -> None:
    """Run the steps of a page in the working folder.

    Raises
    ------
    AssertionError
        If something else comes out than the page says, with its line.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for step in read_steps(page):
        if step.kind == "terminal":
            _run_terminal(name, step)
        elif step.kind == "examples":
            _run_examples(name, step, names)
        else:
            exec(compile("\n" * (step.line - 1) + step.text, name, "exec"), names)


def _run_examples(name: str, step: Step, names: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_examples(step.text, name)
    # The runner takes line numbers from 0.
    test = doctest.DocTest(examples, names, name, name, step.line - 1, step.text)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    # A DocTest copies its names, which later steps of the page go on with.
    test.globs = names
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    assert failed == 0, "".join(said)


def _run_terminal(name: str, step: Step) -> None:
    checker = doctest.OutputChecker()
    for session in _COMMAND.split(step.text)[1:]:
        command, expected = session.partition("\n")[::2]
        run: Callable[[str], tuple[int, str]] = _run_oneof if command.startswith("oneof ") else _run_shell
        code, out = run(command)
        assert code == 0, f"{name}, line {step.line}: `{command}` ended with {code} and said\n{out}"
        # Tables fill the terminal with spaces, which a page need not repeat.
        same = checker.check_output(expected, out, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        if expected:  # what a command says need not be shown
            assert same, f"{name}, line {step.line}: `{command}` said\n{out}\ninstead of\n{expected}"


def _run_oneof(command: str) -> tuple[int, str]:
    """Run one of our commands in this process, which has the libraries loaded."""
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    return result.exit_code, result.stdout if result.exit_code == 0 else result.output


def _run_shell(command: str) -> tuple[int, str]:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd())
    return done.returncode, done.stdout + done.stderr
