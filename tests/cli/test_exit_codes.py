"""Exit codes after internal errors and interrupts, and light imports of --help."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oneof
from oneof.cli.training import files
from tests.cli.conftest import QUICK, Run

HEAVY = ("numpy", "scipy", "sklearn", "polars", "numba", "skops", "jinja2", "rich", "pydantic", "oneof.candidates")


def _fails_with(error: BaseException) -> Any:
    def write(*_: Any, **__: Any) -> None:
        raise error

    return write


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RuntimeError("the\nroof fell"), 1, "internal error: RuntimeError: the. --debug, or ONEOF_DEBUG=1, shows"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "model.skops"), 2, "model.skops: No space left on device."),
        (MemoryError(), 1, "not enough memory"),
    ],
)
def test_endings(
    run: Run, birds: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    """Each error has its exit code and one sentence; partial files and a new folder are removed."""
    monkeypatch.setattr(files, "write_labels", _fails_with(error))
    args = ["fit", birds, "--labels", "species", "--drop", "truth", *QUICK]
    result = run(*args)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert "Traceback" not in result.err
    assert list(Path.cwd().iterdir()) == [birds.absolute()]
    Path("out").mkdir()
    Path("out/summary.json").write_text("old")
    assert run(*args, "--out", "out").code == code
    assert [(file.name, file.read_text()) for file in Path("out").iterdir()] == [("summary.json", "old")]


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--debug or ONEOF_DEBUG prints the traceback."""
    args = ["fit", "none.csv", "--labels", "x"]
    assert "Traceback" not in run(*args).err
    assert "Traceback" in run(*args, "--debug").err
    monkeypatch.setenv("ONEOF_DEBUG", "1")
    assert "Traceback" in run(*args).err


def test_version(run: Run) -> None:
    assert run("--version").out == f"oneof {oneof.__version__}\n"


@pytest.mark.parametrize("command", [[], ["fit"], ["predict"], ["compare"], ["demo"], ["datasets"], ["label"]])
def test_help_is_light_and_has_examples(command: list[str]) -> None:
    """--help shows examples and imports no slow package."""
    code = (
        "import sys\n"
        "from oneof.cli import main\n"
        f"sys.argv = ['oneof', *{command}, '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print('HEAVY', [name for name in {HEAVY} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "  Examples:\n    oneof " in result.stdout
    assert result.stdout.endswith("HEAVY []\n")


def test_missing_typer() -> None:
    """Without typer the command line prints the extra to install."""
    code = "import sys\nsys.modules['typer'] = None\nfrom oneof.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "Error: This needs typer, which is not installed: run `pip install 'oneof[cli]'`.\n"


@pytest.mark.long
def test_the_console_script(birds: Path) -> None:
    """As a process: only JSON on standard output, errors on standard error."""
    command = [sys.executable, "-m", "oneof.cli", "compare", str(birds), "--labels"]
    result = subprocess.run([*command, "species", "--drop", "truth", *QUICK, "--json"], capture_output=True, check=True)
    assert result.stdout.startswith(b"{")
    assert result.stdout.endswith(b"}\n")
    result = subprocess.run([*command, "x"], capture_output=True, check=False)
    assert (result.returncode, result.stdout) == (2, b"")
