"""The page for contributors is tested by adding its method to a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import oneof

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "contributing.md"
_PART = re.compile(r"<!-- (file|edit): (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(page: str, root: Path) -> list[str]:
    """Write the files of the page and make its edits; return the paths of the files."""
    files = []
    for kind, name, text in _PART.findall(page):
        path = root / name
        if kind == "file":
            assert not path.exists(), f"{name} exists already"
            path.write_text(text, encoding="utf-8")
            files.append(name)
        else:
            lines = text.splitlines()
            before = "".join(line[1:] + "\n" for line in lines if line.startswith((" ", "-")))
            after = "".join(line[1:] + "\n" for line in lines if line.startswith((" ", "+")))
            old = path.read_text(encoding="utf-8")
            assert old.count(before) == 1, f"{name} does not contain exactly once\n{before}"
            path.write_text(old.replace(before, after), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a copy of the package, its tests and its README, with the method of the page."""
    root = tmp_path_factory.mktemp("copy")
    # With the caches of compiled code; an installed package is in another folder than the tests.
    shutil.copytree(Path(oneof.__file__).parent, root / "src" / "oneof")
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root / name)
    return root, follow(PAGE.read_text(encoding="utf-8"), root)


def run(root: Path, *args: str) -> str:
    """Run a Python module in the copy and return its output."""
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    process = subprocess.run(
        [sys.executable, "-m", *args], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_the_method_of_the_page_passes_the_suites(copy: tuple[Path, list[str]]) -> None:
    """With only the edits of the page, the tests of the method, its doctest and every suite pass."""
    root, files = copy
    tests = [name for name in files if "/oracles/" not in name]
    suites = ["estimators/test_conformance.py", "estimators/test_scikit_learn.py", "persistence/test_persistence.py"]
    paths = ["tests/pages/test_readme.py", *tests, *(f"tests/{suite}" for suite in suites)]
    options = ["-q", "-p", "no:cacheprovider", "-k", "PLCentroid or plcentroid or every_method"]
    output = run(root, "pytest", *options, *paths)
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None, output
    assert int(passed[1]) > 80, output  # the suites include the method


def test_the_command_line_compares_the_method_of_the_page(copy: tuple[Path, list[str]]) -> None:
    """The command line of the copy compares the method; the tested package does not have it."""
    root, _ = copy
    lines = ["x,z,label", *(f"{i % 5},{i % 2},{'a' if i % 2 else 'b|c' if i % 3 else 'b'}" for i in range(40))]
    (root / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    output = run(
        root, "oneof.cli", "compare", "table.csv", "--labels", "label", "--method", "PLCentroid", "--folds", "2"
    )
    assert "PLCentroid" in output
    assert not hasattr(oneof, "PLCentroid")


def test_the_method_of_the_page_is_in_style(copy: tuple[Path, list[str]]) -> None:
    """The linter and the formatter accept the files of the page."""
    pytest.importorskip("ruff", reason="ruff is in the extra `typing`")
    root, files = copy
    run(root, "ruff", "check", "--no-cache", *files)
    run(root, "ruff", "format", "--check", "--no-cache", *files)
