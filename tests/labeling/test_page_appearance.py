"""Appearance of the page on a screen, on a phone and for screen readers."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, N, make_rows
from tests.labeling.page_states import emulate
from tests.labeling.serving import serving

pytestmark = needs_browser
BOX = "return arguments[0].getBoundingClientRect().toJSON()"


def test_tables_and_many_labels(page: Page) -> None:
    """A row is shown next to its nearest labeled rows; the ten most probable labels have digits; `/` filters."""
    rows, truth = make_rows(N)
    classes = [f"class {chr(97 + k)}" for k in range(14)]
    table = LabelTable(pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1]}), "kind")
    with LabelingSession(rows, classes=classes, table=table, random_state=0) as session:
        for i in range(12):
            session.answer(session.question_for(i), classes[truth[i]])
        with serving(session, annotator="Ann") as server:
            page.open(server.link)
            heads = [cell.text.split("\n")[0] for cell in page.all("#item thead th")]
            assert heads[0] == "This row"
            assert set(heads[1:]) <= set(classes[:3])
            assert len(heads) == 4
            row_text = page.one("td.this").text
            assert float(row_text) == pytest.approx(rows[page.row(), 0], rel=1e-4)
            proba = session.snapshot.proba[page.row()]
            first = page.all(".candidate .label")[0].text
            assert classes.index(first) == np.argmax(proba)
            page.press("/")
            page.press(*"class n", ENTER)
            assert page.ticked() == ["class n"]
            page.settle(lambda: page.press(ENTER))
            assert session.answers.log()[-1].labels == (13,)


def test_images(page: Page, tmp_path: Path) -> None:
    """An image has an alternative text; a missing image shows a message."""
    Image = pytest.importorskip("PIL.Image")
    rows, _ = make_rows(N)
    Image.new("RGB", (30, 20), (0, 90, 0)).save(tmp_path / "green.png")
    table = LabelTable(pl.DataFrame({"file": ["green.png", "absent.png"] * (N // 2)}), "kind", "image", "file")
    begun = LabelingSession(rows, classes=CLASSES, table=table, strategy="random", random_state=0)
    with begun as session, serving(session, annotator="Ann", images=ImageFolder(tmp_path)) as server:
        page.open(server.link)
        rows_of_images = set()
        for _ in range(8):
            if page.row() % 2 == 0:
                image = page.one("#item img")
                page.until(
                    lambda image=image: page.browser.execute_script("return arguments[0].naturalWidth", image) == 30
                )
                assert image.get_attribute("alt") == f"Row {page.row()}: green.png"
            else:
                page.until(lambda: "cannot be displayed" in page.one("#item").text)
            rows_of_images.add(page.row() % 2)
            page.settle(lambda: page.press("s"))
        assert rows_of_images == {0, 1}
    page.browser.get_log("browser")  # the browser logs missing images


def test_a_phone(page: Page, noted: LabelingSession) -> None:
    """At 360 pixels no element is wider than the screen, and every button is at least 44 pixels high."""
    with serving(noted, annotator="Ann") as server:
        page.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
        )
        try:
            page.open(server.link)
            assert page.browser.execute_script("return document.documentElement.scrollWidth") == 360
            for button in page.all(".candidate, #question .actions button"):
                assert button.size["height"] >= 44
            assert page.one("#accept").rect["y"] < 740
            page.all(".candidate")[0].click()
            page.settle(page.one("#accept").click)
        finally:
            page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


HIDDEN = """
const [selectors, nLabels] = arguments, controls = [...document.querySelectorAll(selectors)];
controls.push(...[...document.querySelectorAll('.candidate')].slice(0, nLabels));
return controls.filter((control) => {
  const {left, top, width, height} = control.getBoundingClientRect();
  return !control.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}).map((control) => control.id || control.textContent);
"""


@pytest.mark.parametrize(("width", "height", "n_labels"), [(390, 844, 6), (360, 740, 4), (1280, 800, 10)])
@pytest.mark.parametrize("n_classes", [3, 24, 60])
def test_the_row_and_its_answer_are_visible_together(
    page: Page, n_classes: int, width: int, height: int, n_labels: int
) -> None:
    """With any number of labels nothing covers the row, the degrees and buttons, or the first labels."""
    rows, _ = make_rows(N)
    table = LabelTable(pl.DataFrame({f"x{j}": rows[:, 0] + j for j in range(12)}), "kind")
    classes = [f"kind of bird {k:02d}" for k in range(n_classes)]
    with (
        LabelingSession(rows, classes=classes, table=table, random_state=0) as session,
        serving(session, annotator="Ann") as server,
        emulate(page, width=width, height=height),
    ):
        page.open(server.link)
        page.all(".candidate")[0].click()
        row, panel = (page.browser.execute_script(BOX, page.one(one)) for one in (".side-by-side", "#answering"))
        assert row["height"] >= 160
        assert row["bottom"] <= panel["top"]
        for position in (0, 150):
            page.browser.execute_script("window.scrollTo(0, arguments[0])", position)
            hidden = page.browser.execute_script(HIDDEN, "#degrees button, #question .actions button", n_labels)
            assert hidden == []


def test_a_low_window(page: Page, noted: LabelingSession) -> None:
    """At 740 x 360 pixels, as on a phone held horizontally, labels and buttons scroll with the row."""
    with serving(noted, annotator="Ann") as server, emulate(page, width=740, height=360):
        page.open(server.link)
        position = "return getComputedStyle(arguments[0]).position"
        assert page.browser.execute_script(position, page.one("#answering")) == "static"


def test_a_selected_label_is_scrolled_into_view(page: Page) -> None:
    """A label that is selected by its name, and that of an answer that is opened again, is visible."""
    classes = [f"kind {k:02d}" for k in range(60)]
    with (
        LabelingSession(make_rows(N)[0], classes=classes, random_state=0) as session,
        serving(session, annotator="Ann") as server,
        emulate(page, width=1280, height=800),
    ):
        page.open(server.link)
        page.press("/", *"kind 57", ENTER)
        visible = """
        const label = document.querySelector('.candidate[aria-pressed=true]');
        const list = document.querySelector('#candidates');
        const [inner, outer] = [label.getBoundingClientRect(), list.getBoundingClientRect()];
        return inner.top >= outer.top && inner.bottom <= outer.bottom && window.scrollY === 0;"""
        assert page.browser.execute_script(visible)
        page.settle(lambda: page.press(ENTER))
        assert page.browser.execute_script("return document.querySelector('#candidates').scrollTop") == 0
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["kind 57"]
        assert page.browser.execute_script(visible)


def test_the_quality_is_compared_with_random_labels(page: Page, noted: LabelingSession) -> None:
    """The rate stands with its interval and with the rate of random labels, which a line of the curve marks."""
    _, truth = make_rows(N)
    with serving(noted, annotator="Ann") as server:
        for _ in range(60):
            question = noted.ask("Ann")
            noted.answer(question, CLASSES[truth[question.row]])
            noted.train()
        page.open(server.link)
        estimate = noted.estimate()
        assert estimate.chance == pytest.approx(1 / 3)
        assert estimate.low > estimate.chance
        assert page.one("#interval").text == f"95% interval: {estimate.low:.0%} to {estimate.high:.0%}"
        assert page.one("#chance").text == "Better than random labels (33%)."
        assert len(page.all("#curve .chance")) == 1


def test_names_and_roles(page: Page, noted: LabelingSession) -> None:
    """Every control has an accessible name and a pressed state, and new content is announced."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        for control in page.all("button, input, a, progress, [role=group], [tabindex]"):
            if control.is_displayed():
                assert control.accessible_name, control.get_attribute("outerHTML")
        assert page.one("html").get_attribute("lang") == "en"
        button = page.all(".candidate")[0]
        assert (button.aria_role, button.get_attribute("aria-pressed")) == ("button", "false")
        page.press("1")
        assert page.all(".candidate")[0].get_attribute("aria-pressed") == "true"
        assert page.state() == (False, "finch?")
        page.settle(lambda: page.press(ENTER))
        status = page.one("#status")
        assert status.aria_role == "status"
        assert "Saved: finch." in status.get_attribute("textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page: Page, noted: LabelingSession, scheme: str) -> None:
    """In both color schemes text has the contrast of 4.5 to 1 that WCAG 2 requires."""
    script = """
    const selector = 'h1, h2, p, label, button, .proba, .label, a, #rate, .summary, #progress-words';
    return [...document.querySelectorAll(selector)]
      .filter((e) => e.offsetParent && e.textContent.trim()).map((e) => {
        const clear = (x) => getComputedStyle(x).backgroundColor === 'rgba(0, 0, 0, 0)' && x.parentElement;
        let on = e; while (clear(on)) on = on.parentElement;
        const numbers = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        return [e.id || e.className || e.tagName, e.disabled || e.closest(':disabled') !== null,
                numbers(getComputedStyle(e).color), numbers(getComputedStyle(on).backgroundColor)];
      });"""

    def luminance(color: list[float]) -> float:
        linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    with serving(noted, annotator="Ann") as server:
        page.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        page.press("2")
        controls = page.browser.execute_script(script)
        assert len(controls) > 20
        for name, disabled, ink, paper in controls:
            high, low = sorted([luminance(ink), luminance(paper)], reverse=True)
            assert disabled or (high + 0.05) / (low + 0.05) >= 4.5, name
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
