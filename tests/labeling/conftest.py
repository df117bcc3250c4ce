"""Small sessions with known true labels."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.labeling.answers.log import Entry
from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, open_browser
from tests.labeling.serving import Client, serving

CLASSES = ["finch", "owl", "wren"]
N = 80
"""Number of rows of the session in the browser."""
SECRET = b"not for everyone"
NAMES = [
    "red.png",
    "page.png",
    "../secret.png",
    "link.png",
    "drawing.svg",
    "absent.png",
    "/etc/passwd",
    "..\\secret.png",
    "%2e%2e/secret.png",
    "images/../../secret.png",
    "",
    "a\0.png",
    "x" * 5000 + ".png",
]
"""Image names; only the first two may be shown."""
EXPECTED_MESSAGES = ("409", "ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE")
"""Messages of the browser about an answered question and a killed server."""


def make_rows(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in three groups, and the codes of their groups."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return 4 * np.eye(3)[truth] + rng.normal(size=(n, 3)), truth


def label(session: LabelingSession, truth: np.ndarray, n: int, **where: Any) -> list[Any]:
    """Answer questions with the true labels."""
    questions = []
    for _ in range(n):
        question = session.ask(**where)
        assert question is not None
        questions.append(question)
        session.answer(question, CLASSES[truth[question.row]])
    return questions


def say(session: LabelingSession, row: int, name: str, labels: object, degree: str | None = None) -> Entry:
    """Answer a row for an annotator."""
    return session.answer(session.question_for(row, name), labels, degree=degree)


@pytest.fixture
def rows() -> np.ndarray:
    return make_rows()[0]


@pytest.fixture
def truth() -> np.ndarray:
    return make_rows()[1]


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    """Return a table of names and numbers."""
    return LabelTable(pl.DataFrame({"name": [f"bird {i}" for i in range(len(rows))], "x": rows[:, 0]}), "species")


@pytest.fixture
def begin(rows: np.ndarray) -> Iterator[Callable[..., LabelingSession]]:
    """Yield a function that makes sessions, which are closed at the end."""
    begun: list[LabelingSession] = []

    def make(**options: Any) -> LabelingSession:
        session = LabelingSession(rows, **({"classes": CLASSES, "random_state": 0} | options))
        begun.append(session)
        return session

    yield make
    for session in begun:
        session.close()


@pytest.fixture
def noted() -> Iterator[LabelingSession]:
    """Yield a session whose rows are shown as texts, with background training."""
    rows, truth = make_rows(N)
    notes = [f"<b>note</b> {i} on a {CLASSES[k]}" for i, k in enumerate(truth)]
    table = LabelTable(pl.DataFrame({"note": notes}), "kind", "text", "note")
    with LabelingSession(rows, classes=CLASSES, table=table, background=True, random_state=0) as session:
        yield session


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a browser for the tests of a module."""
    driver = open_browser(tmp_path_factory.mktemp("saved"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """Yield the page; at the end, check that no policy violation and no script error was logged."""
    yield Page(browser)
    browser.execute_script("try { localStorage.clear() } catch {}")
    messages = [line["message"] for line in browser.get_log("browser")]
    assert [line for line in messages if not any(expected in line for expected in EXPECTED_MESSAGES)] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of images, with a file outside it and a link to that file."""
    Image = pytest.importorskip("PIL.Image")
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.png").write_bytes(SECRET)
    images = outside / "images"
    images.mkdir()
    Image.new("RGB", (4, 4), (200, 0, 0)).save(images / "red.png")
    for name in ("drawing.svg", "page.png"):
        (images / name).write_text(
            "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/><script>alert(1)</script>"
        )
    (images / "link.png").symlink_to(outside / "secret.png")
    return images


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[LabelingSession]:
    rows, _ = make_rows()
    names = NAMES + [NAMES[0]] * (len(rows) - len(NAMES))
    table = LabelTable(pl.DataFrame({"file": [*names[:10], None, *names[11:]]}), "kind", "image", "file")
    with LabelingSession(rows, classes=CLASSES, table=table, random_state=0) as session:
        yield session


@pytest.fixture(scope="module")
def client(session: LabelingSession, folder: Path) -> Iterator[Client]:
    with serving(session, title="Birds", annotator="Ann", images=ImageFolder(folder)) as server:
        yield Client(server.link)
