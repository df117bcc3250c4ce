"""Pages that type into a terminal are run whole by tests/pages: their Python alone would lack what commands write."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the doctests of those pages out."""
    whole = [item for item in items if HERE in item.path.parents and "```console\n" in item.path.read_text("utf-8")]
    if whole:
        config.hook.pytest_deselected(items=whole)
        items[:] = [item for item in items if item not in whole]
