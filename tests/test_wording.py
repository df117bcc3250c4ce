"""Enumerations in messages."""

from itertools import pairwise

import pytest

from oneof.wording import enumerate_items


@pytest.mark.parametrize("conjunction", [True, False])
@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_each_item_is_written_or_counted(n: int, limit: int | None, *, conjunction: bool) -> None:
    """The items are in their order, and the number of the others is written."""
    items = [f"item{i}" for i in range(n)]
    text = enumerate_items(items, limit, conjunction=conjunction)
    shown = [item for item in items if item in text]
    assert shown == items[: n if limit is None else limit]
    assert all(text.index(a) < text.index(b) for a, b in pairwise(shown))
    assert text.endswith(f"{n - len(shown)} more") == (len(shown) < n)
    assert (" and " in text) == (len(shown) < n or (conjunction and n > 1))
