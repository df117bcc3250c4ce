"""Execution of a page: its Python and its terminal commands, from top to bottom in an empty folder."""

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
    """An executable block of a page: examples with a prompt, plain Python, or terminal commands."""

    kind: str
    text: str
    line: int


def needs(page: str) -> list[str]:
    """Return the data sets that a page needs, from its comment ``<!-- needs: lost, msrcv2 -->``."""
    match = _NEEDS.search(page)
    return [] if match is None else [name.strip() for name in match[1].split(",")]


def read_steps(page: str) -> list[Step]:
    """Return the executable blocks of a page, in order; a fence without a language is text."""
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
        If an output differs from the page; the message has the line.
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
    # The runner counts lines from 0.
    test = doctest.DocTest(examples, names, name, name, step.line - 1, step.text)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    # A DocTest copies its names; later steps of the page need them.
    test.globs = names
    failed = runner.run(test, out=output.append, clear_globs=False).failed
    assert failed == 0, "".join(output)


def _run_terminal(name: str, step: Step) -> None:
    checker = doctest.OutputChecker()
    for session in _COMMAND.split(step.text)[1:]:
        command, expected = session.partition("\n")[::2]
        run: Callable[[str], tuple[int, str]] = _run_oneof if command.startswith("oneof ") else _run_shell
        code, out = run(command)
        assert code == 0, f"{name}, line {step.line}: `{command}` ended with {code} and printed\n{out}"
        # Tables are padded with spaces, which a page may omit.
        same = checker.check_output(expected, out, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        if expected:  # a page may omit the output
            assert same, f"{name}, line {step.line}: `{command}` printed\n{out}\ninstead of\n{expected}"


def _run_oneof(command: str) -> tuple[int, str]:
    """Run a command of oneof in this process, which has already imported the libraries."""
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    return result.exit_code, result.stdout if result.exit_code == 0 else result.output


def _run_shell(command: str) -> tuple[int, str]:
    process = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd())
    return process.returncode, process.stdout + process.stderr
