"""Deselect the doctests of pages that tests/pages executes: terminal sessions and edits of the package."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARKS = ("```console\n", "<!-- file: ")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the doctests of these pages, which depend on the commands before them."""
    pages = [item for item in items if HERE in item.path.parents]
    deselected = [item for item in pages if any(mark in item.path.read_text("utf-8") for mark in MARKS)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]
