"""Long texts, wide tables and the key of the colors in a real browser, on a desktop and a phone."""

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, needs_browser
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.page_states import DESKTOP, PHONE, emulate
from tests.labeling.serving import serving
from tests.labeling.test_page_access import needs_axe, violations

pytestmark = needs_browser
N_COLUMNS = 30
LONG = "the sparrow was calling from a hedge near the road " * 20
TEXT = " ".join([LONG.strip()] * 10)
HEIGHT = "return document.querySelector(arguments[0]).getBoundingClientRect().height"
CUT = """return [...document.querySelectorAll(arguments[0])].filter((e) => {
  const [box, style] = [e.getBoundingClientRect(), getComputedStyle(e)];
  return e.scrollHeight > e.clientHeight + 1 && style.overflowY !== 'visible' && box.height > 0;
}).length"""


def make_wide() -> LabelingSession:
    """Return a session of 30 columns, of which one has long texts; some labels are not candidates."""
    rows, truth = make_rows(20)
    columns = {"segment_identifier": [f"seg_{i}" for i in range(20)], "notes": [f"{i} {LONG}" for i in range(20)]}
    columns |= {f"mfcc_{j:02d}_mean": [f"{value:.3f}" for value in rows[:, j % 3]] for j in range(N_COLUMNS - 3)}
    columns["site"] = ["hill"] * 20
    start = CandidateSets.from_sets([CLASSES if i % 2 else CLASSES[:2] for i in range(20)], classes=CLASSES)
    session = LabelingSession(rows, start, table=LabelTable(pl.DataFrame(columns), "kind"), random_state=0)
    for row in range(10):
        session.answer(session.question_for(row), CLASSES[truth[row]])
    session.train()
    return session


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_full_text_of_a_cell(page: Page, width: int) -> None:
    """A cell has its whole text, not cut, in 30 columns; the page fits the window, and names are not broken."""
    with make_wide() as session, serving(session, annotator="Ann") as server, emulate(page, width=width):
        page.open(server.link)
        row = page.row()
        cells = [cell.get_attribute("textContent") for cell in page.all("#item td.this")]
        assert cells[:2] == [f"seg_{row}", f"{row} {LONG}"]
        assert len(cells) == N_COLUMNS
        assert page.browser.execute_script(CUT, "#item .cell") == 0
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width
        names = page.all("#item th[scope=row]")
        assert names[0].text == "segment_identifier"
        lines = "return arguments[0].firstChild.getClientRects().length"
        assert page.browser.execute_script(lines, names[0]) == 1
        readable = page.one("#item td.this").size["width"]
        assert readable >= (240 if width == DESKTOP else 120)


def test_the_table_follows_the_width(page: Page) -> None:
    """The same table has a column of names on a desktop, and a line for each name on a phone, also after a change."""
    with make_wide() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        n_lines = 1 + N_COLUMNS
        assert len(page.all("#item tr")) == n_lines
        with emulate(page, width=PHONE):
            page.until(lambda: len(page.all("#item tr")) == n_lines + N_COLUMNS)
            assert {cell.get_attribute("colspan") for cell in page.all("#item th[scope=row]")} == {"4"}
        page.until(lambda: len(page.all("#item tr")) == n_lines)


def test_texts_are_shortened_on_request(page: Page) -> None:
    """Texts are shown in full at first; a switch shortens them, also after a reload, and shows them again."""
    with make_wide() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        full = page.browser.execute_script(HEIGHT, "#item tbody tr:nth-child(2)")
        assert not page.one("#shorten").is_selected()
        page.one("#shorten").click()
        short = page.browser.execute_script(HEIGHT, "#item tbody tr:nth-child(2)")
        assert short < full / 2
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert page.one("#shorten").is_selected()
        assert page.browser.execute_script(HEIGHT, "#item tbody tr:nth-child(2)") == short
        page.one("#shorten").click()
        assert page.browser.execute_script(HEIGHT, "#item tbody tr:nth-child(2)") == full
        page.browser.execute_script("localStorage.clear()")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_long_text_and_the_buttons(page: Page, width: int) -> None:
    """A text of several screens is not cut, and the buttons of the answer are visible while it is read."""
    table = LabelTable(pl.DataFrame({"note": [TEXT] * 6}), "kind", "text", "note")
    options = {"classes": CLASSES, "table": table, "strategy": "random"}
    with (
        LabelingSession(np.eye(6), **options) as session,
        serving(session, annotator="Ann") as server,
        emulate(page, width=width),
    ):
        page.open(server.link)
        assert page.one("#item .text").text == TEXT
        assert page.browser.execute_script(CUT, "#item .text") == 0
        for position in (0, 600):
            page.browser.execute_script("window.scrollTo(0, arguments[0])", position)
            top, bottom = page.browser.execute_script(
                "const box = document.querySelector('#accept').getBoundingClientRect(); return [box.top, box.bottom]"
            )
            assert 0 < top < bottom <= 740


def test_short_texts_have_no_switch(page: Page, noted: LabelingSession) -> None:
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        assert not page.one("#shorten-choice").is_displayed()


def test_the_key_of_the_colors(page: Page) -> None:
    """It explains exactly the colors and lines of the question: its row, neighbors, equal values, bars and dashes."""
    with make_wide() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        samples = [sample.get_attribute("class").split()[1] for sample in page.all("#color-key .sample")]
        has_outside = bool(page.all(".candidate.outside"))
        assert samples == ["row", "neighbor", "same", "proba"] + ["outside"] * has_outside
        color = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
        assert page.browser.execute_script(color, ".sample.row") == page.browser.execute_script(color, "#item .this")
    table = LabelTable(pl.DataFrame({"note": ["a"] * 6}), "kind", "text", "note")
    with (
        LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random") as session,
        serving(session, annotator="Ann") as server,
    ):
        page.open(server.link)
        assert not page.one("#color-key").is_displayed()


@needs_axe
def test_wide_tables_are_accessible(page: Page) -> None:
    """A wide table with long texts, in full and shortened, violates no rule of axe-core, at both widths."""
    with make_wide() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        assert violations(page) == []
        page.one("#shorten").click()
        assert violations(page) == []
        page.browser.execute_script("localStorage.clear()")
