"""Types of public calls for editors and type checkers, which `py.typed` declares."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is in the extra `typing`")

SCRIPT = Path(__file__).with_name("user_script.txt")
ROOT = Path(__file__).parents[2]


def check(script: Path, cache: Path) -> str:
    """Return the output of mypy for a script."""
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(cache)]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *options, str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent).stdout


def test_no_public_call_has_the_type_any(tmp_path: Path) -> None:
    """Mypy reveals a type other than Any for every result of the script."""
    script = tmp_path / "user_script.py"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    printed = check(script, tmp_path)
    assert "error:" not in printed, printed
    revealed = re.findall(r'user_script\.py:(\d+): note: Revealed type is "(.*)"', printed)
    assert len(revealed) == script.read_text(encoding="utf-8").count("reveal_type(")
    assert [(line, type_) for line, type_ in revealed if type_ in ("Any", "builtins.object")] == []


def test_misspelled_names_are_errors(tmp_path: Path) -> None:
    """The lazy package face does not make every attribute valid."""
    script = tmp_path / "misspelled.py"
    script.write_text("import oneof\n\noneof.PLSWM()\n", encoding="utf-8")
    assert 'has no attribute "PLSWM"' in check(script, tmp_path)
