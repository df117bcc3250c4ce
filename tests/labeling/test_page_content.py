"""Enlarged images, marked words, pinned columns and the review of labels in a real browser."""

import functools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.audit import LabelIssue
from oneof.candidates import CandidateSets
from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.page_states import emulate
from tests.labeling.serving import serving
from tests.labeling.test_page_access import needs_axe, violations

pytestmark = needs_browser
ESCAPE, TAB = "\ue00c", "\ue004"


def test_zoom_by_the_keyboard(page: Page, tmp_path: Path) -> None:
    """A key enlarges the image, plus and minus zoom, and Escape closes; no answer is written, and focus returns."""
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (400, 200), (0, 90, 0)).save(tmp_path / "a.png")
    table = LabelTable(pl.DataFrame({"file": ["a.png"] * 4}), "kind", "image", "file")
    with (
        LabelingSession(np.eye(4), classes=CLASSES, table=table, strategy="random") as session,
        serving(session, annotator="Ann", images=ImageFolder(tmp_path)) as server,
    ):
        page.open(server.link)
        page.until(lambda: page.one("#item img").get_property("naturalWidth"))
        page.press("z")
        assert page.one("#zoom").is_displayed()
        fitted = page.one("#zoom-image img").size["width"]
        assert abs(fitted - page.one("#zoom-image").size["width"]) <= 1  # the window is higher than the image
        assert not page.one("#zoom-out").is_enabled()
        page.press("+", "+")
        assert abs(page.one("#zoom-image img").size["width"] / fitted - 1.25**2) < 0.01
        assert page.one("#zoom-factor").text == "156 %"
        # The center stays in place.
        area = page.one("#zoom-image")
        middle = area.get_property("scrollLeft") + area.get_property("clientWidth") / 2
        assert abs(middle / area.get_property("scrollWidth") - 0.5) < 0.01
        before = area.get_property("scrollLeft")
        page.press("\ue014")  # the right arrow key scrolls
        page.until(lambda: area.get_property("scrollLeft") > before)
        page.press("-")
        page.press("0", "1", "d", "s")  # keys of answers have no effect in the dialog
        assert page.one("#zoom-image img").size["width"] == fitted
        page.press(ESCAPE)
        assert not page.one("#zoom").is_displayed()
        assert session.answers.log() == []
        page.one("#enlarge").click()
        page.one("#zoom-in").click()
        assert page.one("#zoom-factor").text == "125 %"
        page.one("#zoom-close").click()
        assert not page.one("#zoom").is_displayed()
        assert page.browser.execute_script("return document.activeElement.id") == "enlarge"


def test_markup_in_a_text_is_text(page: Page) -> None:
    """A text is displayed as it is, also if it has markup."""
    notes = ["<img src=x onerror=alert(1)> \U0001f426 in <i>trees</i>"] * 6
    table = LabelTable(pl.DataFrame({"note": notes}), "kind", "text", "note")
    with (
        LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random") as session,
        serving(session, annotator="Ann") as server,
    ):
        page.open(server.link)
        assert page.one("#item .text").text == notes[0]
        assert page.all("#item img, #item i") == []


def test_pinned_columns_remain_visible(page: Page) -> None:
    """Pinned columns are the first lines, and visible after scrolling to the end of a row of 60 columns."""
    columns = {f"column {j}": [f"value {j}"] * 6 for j in range(60)}
    table = LabelTable(pl.DataFrame(columns), "kind", pinned=("column 40", "column 7"))
    assert [name for name, _ in table.item(0)["cells"][:4]] == ["column 40", "column 7", "column 0", "column 1"]
    with (
        LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random") as session,
        serving(session, annotator="Ann") as server,
        emulate(page),
    ):
        page.open(server.link)
        script = """
        const area = document.querySelector('.side-by-side');
        area.scrollTop = area.scrollHeight;
        return [...area.querySelectorAll('tr')].filter((line) => {
          const [cell, box] = [line.children[1].getBoundingClientRect(), area.getBoundingClientRect()];
          const [x, y] = [cell.left + 5, (cell.top + cell.bottom) / 2];
          return y > box.top && y < box.bottom && document.elementFromPoint(x, y)?.closest('tr') === line;
        }).map((line) => line.children[0].textContent);
        """
        visible = page.browser.execute_script(script)
        assert visible[:3] == ["", "column 40", "column 7"]
        assert visible[-1] == "column 59"
        assert "column 0" not in visible


def make_review() -> LabelingSession:
    """Return a session with three flagged rows."""
    rows, truth = make_rows(12)
    names = [CLASSES[code] for code in truth]
    start = CandidateSets.from_sets([[name] for name in names], classes=CLASSES)
    table = LabelTable(pl.DataFrame({"note": [f"note {i}" for i in range(12)], "kind": names}), "kind", "text", "note")
    issues = [LabelIssue(row, [names[row]], CLASSES[(truth[row] + 1) % 3], 0.93, names[row]) for row in (5, 2, 8)]
    return LabelingSession(rows, start, table=table, queue=issues, random_state=0)


def test_review(page: Page, tmp_path: Path) -> None:
    """Labels are kept by a key, proposals taken by a button, other answers are possible; the export has the changes."""
    _, truth = make_rows(12)
    with make_review() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        assert page.row() == 5
        assert page.one("#review-current").text == CLASSES[truth[5]]
        assert page.one("#review-proposal").text == CLASSES[(truth[5] + 1) % 3]
        assert "93%" in page.one("#review-probability").text.replace("\u00a0", "")
        assert page.one("#review-words").text == "0 of 3 flagged rows checked"
        page.settle(lambda: page.press("k"))
        assert page.row() == 2
        page.settle(page.one("#take").click)
        assert page.row() == 8
        other = (truth[8] + 2) % 3
        page.settle(functools.partial(page.press, str(other + 1), ENTER))
        assert page.one("#review-words").text == "3 of 3 flagged rows checked"
        assert page.one("#review-summary").text == "1 kept, 2 changed, 0 not known."
        assert page.one("#done").is_displayed()
        page.settle(lambda: page.press("u"))
        assert page.row() == 8
        assert page.one("#review-words").text == "2 of 3 flagged rows checked"
        page.settle(lambda: page.press("t"))
        session.export(tmp_path / "out.csv")
    expected = truth.copy()
    expected[[2, 8]] = (truth[[2, 8]] + 1) % 3
    assert pl.read_csv(tmp_path / "out.csv")["kind"].to_list() == [CLASSES[code] for code in expected]


@needs_axe
def test_rules_of_accessibility(page: Page, tmp_path: Path) -> None:
    """The review, and the dialog of an enlarged image, violate no rule of axe-core."""
    with make_review() as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        assert violations(page) == []
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (40, 20), (0, 90, 0)).save(tmp_path / "a.png")
    table = LabelTable(pl.DataFrame({"file": ["a.png"] * 4}), "kind", "image", "file")
    with (
        LabelingSession(np.eye(4), classes=CLASSES, table=table, strategy="random") as session,
        serving(session, annotator="Ann", images=ImageFolder(tmp_path)) as server,
    ):
        page.open(server.link)
        page.until(lambda: page.one("#item img").get_property("naturalWidth"))
        page.press("z", "+")
        assert violations(page) == []
