"""Sessions of each kind of row, and the states of the page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.labeling.content.table import LabelTable
from oneof.labeling.http.server import LabelingServer
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page
from tests.labeling.conftest import make_rows
from tests.labeling.serving import serving

CLASSES = ["すずめ", "ふくろう", "みそさざい"]
"""Data without Latin letters, so that every Latin word on the page is a text of the page."""
PHONE, DESKTOP = 360, 1200
"""Widths of a small phone and of a screen, in pixels."""


@contextmanager
def emulate(page: Page, *, width: int = DESKTOP, height: int = 740, **features: str) -> Iterator[None]:
    """Emulate a window size and media features, such as ``prefers_color_scheme="dark"``."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})
    page.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    try:
        yield
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@contextmanager
def showing(page: Page, session: LabelingSession, annotator: str = "Ann", **options: Any) -> Iterator[LabelingServer]:
    """Serve a session, and open its page."""
    with serving(session, annotator=annotator, **options) as server:
        page.open(server.link)
        yield server


@pytest.fixture
def birds() -> Iterator[LabelingSession]:
    """Yield a session of few texts whose data have no Latin letters."""
    rows, truth = make_rows(8)
    notes = [f"{CLASSES[k]} {i}" for i, k in enumerate(truth)]
    table = LabelTable(pl.DataFrame({"きろく": notes}), "しゅるい", "text", "きろく")
    with LabelingSession(rows, classes=CLASSES, table=table, random_state=0) as session:
        yield session


def make_tables() -> LabelingSession:
    """Return a session of table rows with twelve labels, some of which are not candidates, and a fitted model."""
    rows, truth = make_rows(40)
    classes = [f"{name} {i}" for i in range(4) for name in CLASSES]
    candidates = CandidateSets.from_sets([classes if i % 2 else classes[:4] for i in range(40)], classes=classes)
    columns = {f"はば {k}": [f"{value:.3g}" for value in rows[:, k]] for k in range(3)}
    table = LabelTable(pl.DataFrame(columns | {"きろく": ["とても ながい " * 12] * 40}), "しゅるい")
    session = LabelingSession(rows, candidates, table=table, random_state=0)
    for i in range(12):
        session.answer(session.question_for(i), classes[truth[i]])
    session.train()
    return session


def make_images(folder: Path) -> LabelingSession:
    """Return a session of images, of which each second one is missing."""
    Image = pytest.importorskip("PIL.Image")
    rows, truth = make_rows(12)
    Image.new("RGB", (60, 40), (0, 90, 0)).save(folder / "みどり.png")
    table = LabelTable(pl.DataFrame({"え": ["みどり.png", "ない.png"] * 6}), "しゅるい", "image", "え")
    session = LabelingSession(rows, classes=CLASSES, table=table, strategy="random", random_state=0)
    for i in range(5):
        session.answer(session.question_for(i), CLASSES[truth[i]])
    return session


def states(page: Page, session: LabelingSession, link: str) -> Iterator[str]:
    """Bring the page of a session of eight texts into its states, and yield their names."""
    page.open(link)
    yield "first question"
    page.press(ENTER)
    page.press("1")
    yield "selected label"
    page.one("#settings-open").click()
    yield "settings"
    page.one("#settings-close").click()
    page.settle(lambda: page.press("2", ENTER))
    for kind in "dns":
        page.settle(lambda kind=kind: page.press(*("1" if kind == "n" else ""), kind))
    answer_as(session, "べら", {0: CLASSES[2], 2: CLASSES[0]})
    page.settle(lambda: page.press("1", ENTER))
    page.until(lambda: page.one("#agreement").is_displayed())
    yield "agreement"
    page.settle(lambda: page.press("u"))
    yield "undone"
    row = page.row()
    session.answer(session.question_for(row, "あんな", window="another"), CLASSES[0])
    page.press(ENTER)  # the label of the undone answer is selected
    page.until(lambda: page.one("#alert").is_displayed() and not page.busy())
    yield "conflict"
    while page.one("#question").is_displayed():
        page.settle(lambda: page.press("1", ENTER))
    yield "finished"
    page.settle(page.one("#undo-last").click)
    assert page.one("#question").is_displayed()


def answer_as(session: LabelingSession, annotator: str, labels: dict[int, Any]) -> None:
    """Answer the rows of entries of the log, by their numbers, as another annotator."""
    for number, label in labels.items():
        session.answer(session.question_for(session.answers.log()[number].row, annotator), label)
