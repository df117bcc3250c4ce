"""The installed package, from a checkout or a wheel, is complete, and its metadata agree."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

import oneof
from tests.packaging.wheel import DATA, faults

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(oneof.__file__).parent


def installed() -> list[str]:
    """Return the files of the package with their names in a wheel."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(f"oneof/{path.relative_to(PACKAGE).as_posix()}" for path in files)


INFO = [f"oneof-0.dist-info/{name}" for name in ("METADATA", "licenses/LICENSE", "entry_points.txt")]


def test_the_package_is_complete() -> None:
    """The package contains templates, style sheets, scripts and py.typed, but neither tests nor caches."""
    assert faults([*installed(), *INFO]) == []


@pytest.mark.parametrize("lost", ["oneof/py.typed", ".css", "licenses/LICENSE"])
def test_missing_files_are_detected(lost: str) -> None:
    """A wheel with a missing or an additional file is faulty."""
    names = [*installed(), *INFO]
    assert faults([name for name in names if not name.endswith(lost)])
    for more in ("tests/__init__.py", "oneof/tests/test_a.py", "oneof/data.csv"):
        assert faults([*names, more])
    assert faults(names, {"oneof/new.html"}) == ["oneof/new.html is not in the wheel."]


def test_every_kind_of_file_is_packaged() -> None:
    """Every data file of the package matches a pattern in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["oneof"]
    endings = tuple(pattern.removeprefix("**/*") for pattern in patterns)
    assert set(DATA) < set(endings)
    assert [name for name in installed() if not name.endswith((".py", *endings))] == []


def test_the_release_files_agree() -> None:
    """Version, name and license agree in pyproject.toml, CITATION.cff, CHANGELOG.md and the installed metadata."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert oneof.__version__ == project["version"]
    assert metadata("oneof")["License-Expression"] == project["license"] == "BSD-3-Clause"
    citation = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"].strip('"') == project["version"]
    assert citation["license"] == project["license"]
    assert citation["title"].startswith(f'"{project["name"]}')
    assert citation["type"] == "software"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?(\S+?)\]? ", changes, re.MULTILINE)
    assert versions[0] == project["version"]
    assert "the oneof developers" in (ROOT / "LICENSE").read_text(encoding="utf-8")
