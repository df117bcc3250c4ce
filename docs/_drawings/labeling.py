"""Take the screenshots of docs/labeling.md: `python docs/_drawings/labeling.py`.

Needs selenium, chromium and Pillow.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image
from sklearn.datasets import load_digits, load_wine

from oneof.labeling import LabelingSession, LabelTable
from oneof.labeling.content.media import ImageFolder

DOCS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DOCS.parent))

from tests.labeling.browser import Page, open_browser  # noqa: E402 - the tests are not an installed package
from tests.labeling.serving import serving  # noqa: E402

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
N_ANSWERS = 52


def answer(session: LabelingSession, names: tuple[str, ...], truth: np.ndarray) -> None:
    """Answer questions; every sixth answer has a second label."""
    for n in range(N_ANSWERS):
        question = session.ask("Ann")
        label = int(truth[question.row])
        labels = {names[label], names[(label + 1) % len(names)]} if n % 6 == 0 else {names[label]}
        session.answer(question, labels)
    session.train()


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


def take(
    session: LabelingSession,
    file: str,
    size: dict[str, Any],
    keys: str,
    element: str | None = None,
    *,
    is_lead: bool = False,
    **options: Any,
) -> None:
    """Open the page, press keys, and take a screenshot of the window or of an element."""
    with serving(session, annotator="Ann", **options) as server, tempfile.TemporaryDirectory() as folder:
        browser = open_browser(Path(folder))
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"deviceScaleFactor": 1, **size})
        page = Page(browser)
        page.open(server.lead_link if is_lead else server.link)
        page.press(*keys)
        if element is None:
            browser.save_screenshot(str(DOCS / file))
        else:
            until(lambda: page.one(element).is_displayed())
            page.one(element).screenshot(str(DOCS / file))
        browser.quit()


def main() -> None:
    """Take all screenshots."""
    wine = load_wine()
    names = ("Barbera", "Barolo", "Grignolino")
    columns = {name.replace("_", " "): wine.data[:, j] for j, name in enumerate(wine.feature_names)}
    scaled = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    table = LabelTable(pl.DataFrame(columns), "grape")
    with LabelingSession(scaled, classes=names, table=table, random_state=0) as session:
        answer(session, names, (wine.target + 1) % 3)
        size = {"width": 1120, "height": 788, "mobile": False}
        take(session, "labeling_desktop.png", size, "23p", title="wines.csv")
    digits = load_digits()
    with tempfile.TemporaryDirectory() as folder:
        for row, image in enumerate(digits.images):
            pixels = Image.fromarray((255 - 15.9 * image).astype(np.uint8))
            pixels.resize((190, 190), Image.Resampling.BICUBIC).save(f"{folder}/{row}.png")
        files = pl.DataFrame({"file": [f"{row}.png" for row in range(len(digits.data))]})
        table = LabelTable(files, "digit", "image", "file")
        with LabelingSession(digits.data / 16, classes=DIGITS, table=table, random_state=0) as session:
            answer(session, DIGITS, digits.target)
            size = {"width": 390, "height": 844, "mobile": True}
            images = ImageFolder(Path(folder))
            take(session, "labeling_phone.png", size, "20g", title="Handwritten digits", images=images)
    disagree(table)


def disagree(table: LabelTable) -> None:
    """Take the screenshot of the agreement of four annotators, of whom one is often wrong."""
    digits, rng = load_digits(), np.random.default_rng(0)
    options = {"annotations_per_item": 2, "random_state": 0}
    with LabelingSession(digits.data / 16, classes=DIGITS, table=table, **options) as session:
        for name, accuracy in (("Ann", 0.97), ("Bob", 0.95), ("Cem", 0.75), ("Dana", 0.9)):
            for row in range(60):
                right = int(digits.target[row])
                label = right if rng.random() < accuracy else (right + 3) % 10
                session.answer(session.question_for(row, name), DIGITS[label])
        size = {"width": 1120, "height": 2400, "mobile": False}
        take(
            session, "labeling_agreement.png", size, "", element="#agreement", is_lead=True, title="Handwritten digits"
        )


if __name__ == "__main__":
    main()
