"""The table of dependencies says of each why it is there, and is not stale."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def supply() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply", ROOT / "benchmarks" / "supply.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_is_in_the_table(supply: ModuleType) -> None:
    """With its bounds as pyproject.toml has them, and with a reason."""
    page = supply.PAGE.read_text(encoding="utf-8")
    for group, required in supply.declared().items():
        for line in required:
            assert f"`{line}`" in page, f"{line} of {group or 'the core'} is new: run python benchmarks/supply.py"
            if group not in supply.FOR_WORK:
                assert supply._NAME.match(line)[0] in supply.WHY


def test_every_package_of_the_core_is_imported(supply: ModuleType) -> None:
    """A dependency that no file imports need not be one."""
    for line in supply.declared()[""]:
        assert supply.importers(supply._NAME.match(line)[0])[1] > 0, line


def test_every_import_is_declared(supply: ModuleType) -> None:
    """What only comes with another package would be missing once that package no longer asks for it."""
    assert supply.undeclared() == []
