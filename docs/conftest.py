"""Doctests of pages: pages that tests/pages runs are deselected; a page that needs torch is skipped without it."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARKS = ("```console\n", "<!-- file: ")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect pages with terminal sessions or edits of the package: their examples depend on the commands."""
    pages = [item for item in items if HERE in item.path.parents]
    deselected = [item for item in pages if any(mark in item.path.read_text("utf-8") for mark in MARKS)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a page that imports torch if torch is not installed."""
    if item.path.suffix == ".md" and ">>> import torch\n" in item.path.read_text("utf-8"):
        pytest.importorskip("torch", reason="torch is not installed")
