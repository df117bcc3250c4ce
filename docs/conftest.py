"""Pages that type into a terminal, or into a copy of the package, are run whole by tests/pages, not as doctests."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
WHOLE = ("```console\n", "<!-- file: ")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the doctests of those pages out: alone they would lack what comes before them."""
    ours = [item for item in items if HERE in item.path.parents]
    whole = [item for item in ours if any(sign in item.path.read_text("utf-8") for sign in WHOLE)]
    if whole:
        config.hook.pytest_deselected(items=whole)
        items[:] = [item for item in items if item not in whole]
