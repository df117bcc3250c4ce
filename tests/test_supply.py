"""The table of dependencies has a purpose for each package, and is up to date."""

from benchmarks.reliability import supply

COMMAND = "python -m benchmarks reliability supply"


def test_every_dependency_is_in_the_table() -> None:
    """Each package is in the table with the bounds of pyproject.toml, and has a purpose."""
    page = supply.PAGE.read_text(encoding="utf-8")
    for group, required in supply.declared().items():
        for line in required:
            assert f"`{line}`" in page, f"{line} of {group or 'the core'} is new: run {COMMAND}"
            if group not in supply.DEVELOPMENT_GROUPS:
                assert supply._NAME.match(line)[0] in supply.PURPOSES


def test_every_package_of_the_core_is_imported() -> None:
    """Each core dependency is imported by at least one file."""
    for line in supply.declared()[""]:
        assert supply.importers(supply._NAME.match(line)[0])[1] > 0, line


def test_every_import_is_declared() -> None:
    """Each imported package is declared, also if another package requires it now."""
    assert supply.undeclared() == []
