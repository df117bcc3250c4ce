"""Small sessions whose right answers are known."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from oneof.web.session import LabellingSession
from tests.web.browser import Page, open_browser

CLASSES = ["finch", "owl", "wren"]


def make_rows(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in three groups, and the code of each one's group."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return 4 * np.eye(3)[truth] + rng.normal(size=(n, 3)), truth


@pytest.fixture
def rows() -> np.ndarray:
    return make_rows()[0]


@pytest.fixture
def truth() -> np.ndarray:
    return make_rows()[1]


@pytest.fixture
def begin(rows: np.ndarray) -> Iterator[Callable[..., LabellingSession]]:
    """Begin sessions on the rows, which are closed at the end."""
    begun: list[LabellingSession] = []

    def make(**options: Any) -> LabellingSession:
        session = LabellingSession(rows, **({"classes": CLASSES, "random_state": 0} | options))
        begun.append(session)
        return session

    yield make
    for session in begun:
        session.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give a browser to the tests of a module."""
    driver = open_browser(tmp_path_factory.mktemp("saved"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """Give the page; at the end, nothing may have been refused by its policy, and no script have failed."""
    yield Page(browser)
    complaints = [line["message"] for line in browser.get_log("browser")]
    assert [line for line in complaints if "409" not in line and "ERR_CONNECTION" not in line] == []
