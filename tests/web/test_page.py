"""The page in a real browser: by keyboard and by mouse, undone, reloaded, killed and started again."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.prepared import Reading, find_methods, prepare
from oneof.tables import Overrides
from oneof.web.images import ImageFolder
from oneof.web.session import LabellingSession
from oneof.web.table import LabelTable
from tests.web.browser import BROWSER, BROWSERS, DRIVER, ENTER, Page
from tests.web.conftest import CLASSES, make_rows
from tests.web.nursery import nursery
from tests.web.serving import serving

pytest.importorskip("selenium.webdriver")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no browser: none of " + ", ".join(BROWSERS)),
    pytest.mark.skipif(DRIVER is None, reason="there is no chromedriver, by which tests drive the browser"),
]
N = 80


def text_table() -> LabelTable:
    _, truth = make_rows(N)
    return LabelTable(
        pl.DataFrame({"note": [f"<b>note</b> {i} on a {CLASSES[k]}" for i, k in enumerate(truth)]}),
        "kind",
        "text",
        "note",
    )


@pytest.fixture
def session() -> Iterator[LabellingSession]:
    rows, _ = make_rows(N)
    with LabellingSession(rows, classes=CLASSES, table=text_table(), background=True, random_state=0) as session:
        yield session


def test_thirty_rows_by_keyboard_and_mouse(page: Page, session: LabellingSession, tmp_path: Path) -> None:
    """What was pressed stands in the log; the progress, the history and the honest estimate follow; the export fits."""
    _, truth = make_rows(N)
    said = {}
    with serving(session, title="Birds", annotator="Ann") as server:
        page.open(server.link)
        assert page.browser.title == "Birds"
        for n in range(30):
            row = page.row()
            assert page.one("#item").text == f"<b>note</b> {row} on a {CLASSES[truth[row]]}"  # as text, not as markup
            right, other = int(truth[row]), int(truth[row] + 1) % 3
            digits = [str(k + 1) for k in (right, 3 - right - other, other)]
            if n % 3 == 0:  # the keyboard: one label
                page.settle(functools.partial(page.press, digits[0], ENTER))
                said[row] = ("one of", (right,))
            elif n % 3 == 1:  # the keyboard: two, a third ticked and unticked
                page.settle(functools.partial(page.press, *digits, digits[1], ENTER))
                said[row] = ("one of", tuple(sorted((right, other))))
            elif n % 2:  # the mouse: what it is not
                page.all(".candidate")[other].click()
                assert page.ticked() == [CLASSES[other]]
                page.settle(page.one("#reject").click)
                said[row] = ("none of", (other,))
            else:
                page.all(".candidate")[right].click()
                page.settle(page.one("#accept").click)
                said[row] = ("one of", (right,))
        assert len(said) == 30
        assert page.answered() == f"30 of {N} rows"
        assert {entry.row: (entry.kind, entry.labels) for entry in session.answers.log()} == said
        assert len(page.history()) == 6
        session.train()
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert "%" in page.one("#rate").text
        assert page.all("#curve svg")
        assert sum(float(bar.size["width"]) > 0 for bar in page.all(".candidate .bar")) >= 1
        assert "Information score" in page.one("#reason").text
        assert len(page.all("#near-rows li")) == 3
        page.one("#csv").click()
        saved = page.browser.saved / "labelled.csv"
        page.until(saved.exists)
    exported = Path(shutil.move(saved, tmp_path / "birds.csv"))
    prepared = prepare(exported, Reading(("kind",), overrides=Overrides(texts=("note",))))  # as `oneof fit` does
    assert prepared.candidates == session.candidates()
    methods, _ = find_methods(prepared, "PLKNN", 0)
    model = methods["PLKNN"].fit(prepared.frame, prepared.candidates)
    assert (model.predict(prepared.frame) == np.array(CLASSES)[truth]).mean() > 0.9


def test_every_key(page: Page, session: LabellingSession) -> None:
    """Don't know, skip, none of these and undo by their keys; Enter without a label writes nothing."""
    with serving(session, annotator="Ann") as server:
        page.open(server.link)
        page.press(ENTER)
        assert "Tick one label" in page.one("#said").text
        page.press("n")
        assert session.answers.log() == []
        first = page.row()
        page.settle(lambda: page.press("d"))
        page.settle(lambda: page.press("s"))
        page.settle(lambda: page.press("1", "2", "n"))
        assert [entry.kind for entry in session.answers.log()] == ["unknown", "skip", "none of"]
        assert page.history() == ["not finch or owl", "skipped", "don\u2019t know"]
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["finch", "owl"]  # the row is there again, as it was
        page.settle(lambda: page.press("1", ENTER))
        assert session.answers.log()[-1].labels == (1,)
        assert session.answers.log()[-1].row == session.answers.log()[2].row
        for _ in range(3):
            page.settle(lambda: page.press("u"))
        assert page.row() == first
        assert page.answered() == f"0 of {N} rows"
        assert not page.one("#undo").is_enabled()


def test_keys_in_fields_are_text(page: Page, session: LabellingSession) -> None:
    """A name may hold the letters that are keys elsewhere; another name is another annotator."""
    with serving(session, annotator="Ann") as server:
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        name = page.one("#annotator")
        name.click()
        page.browser.execute_script("arguments[0].select()", name)
        page.press(*"undsn 1")
        page.settle(lambda: page.press(ENTER))
        page.settle(lambda: page.press("2", ENTER))
        assert [entry.annotator for entry in session.answers.log()] == ["Ann", "undsn 1"]
        assert page.history() == ["owl"]
        page.browser.execute_script("localStorage.clear()")


def test_a_reload_loses_nothing(page: Page, session: LabellingSession) -> None:
    """The same question is asked again, and what was answered stands."""
    with serving(session, annotator="Ann") as server:
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        row = page.row()
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert page.row() == row
        assert page.history() == ["finch"]


def test_an_old_answer_is_changed(page: Page, session: LabellingSession) -> None:
    """A click in the history brings the row back with its answer; the new one stands, the old stays in the log."""
    with serving(session, annotator="Ann") as server:
        page.open(server.link)
        row = page.row()
        page.settle(lambda: page.press("1", ENTER))
        page.settle(lambda: page.press("2", ENTER))
        page.settle(page.all("#history button")[1].click)
        assert (page.row(), page.ticked()) == (row, ["finch"])
        page.settle(lambda: page.press("1", "3", ENTER))
        assert session.answers.standing(row, "Ann").labels == (2,)
        assert [entry.labels for entry in session.answers.log()] == [(0,), (1,), (2,)]


def test_two_windows(page: Page, session: LabellingSession) -> None:
    """Two windows of one person show different rows; of one row in both the first writes, and the second is told."""
    with serving(session, annotator="Ann") as server:
        page.open(server.link)
        first, row = page.browser.current_window_handle, page.row()
        page.browser.switch_to.new_window("tab")
        try:
            page.open(server.link)
            assert page.row() != row
            page.settle(lambda: page.press("1", ENTER))
            other = session.answers.log()[0].row
            page.settle(page.all("#history button")[0].click)  # the row again, here ...
            page.browser.switch_to.window(first)
            page.browser.refresh()
            page.until(lambda: page.all("#history button"))
            page.settle(page.all("#history button")[0].click)  # ... and there
            assert page.row() == other
            page.settle(lambda: page.press("1", "2", ENTER))
            page.browser.switch_to.window(page.browser.window_handles[-1])
            page.settle(lambda: page.press("1", "3", ENTER))
            assert "another window" in page.alert()
            assert session.answers.standing(other, "Ann").labels == (1,)
        finally:
            if len(page.browser.window_handles) > 1:
                page.browser.switch_to.window(page.browser.window_handles[-1])
                page.browser.close()
            page.browser.switch_to.window(first)


def test_killed_and_started_again(page: Page, tmp_path: Path) -> None:
    """While the server is gone the page says so; at its new link everything that was confirmed is there."""
    with nursery() as servers:
        process, link = servers.start(tmp_path / "log", N)
        page.open(link)
        for key in "123":
            page.settle(functools.partial(page.press, key, ENTER))
        servers.kill(process)
        page.press("1", ENTER)
        page.until(lambda: "does not answer" in page.alert())
        _, link = servers.start(tmp_path / "log", N)
        page.open(link)
        assert page.history() == ["wren", "owl", "finch"]
        assert page.answered() == f"3 of {N} rows"
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["wren"]
        page.browser.get("about:blank")


def test_tables_and_many_labels(page: Page) -> None:
    """A row stands beside its nearest labelled ones; of more than ten labels the likeliest have digits; `/` finds."""
    rows, truth = make_rows(N)
    classes = [f"class {chr(97 + k)}" for k in range(14)]
    table = LabelTable(pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1]}), "kind")
    with LabellingSession(rows, classes=classes, table=table, random_state=0) as session:
        for i in range(12):
            session.answer(session.look(i), classes[truth[i]])
        with serving(session, annotator="Ann") as server:
            page.open(server.link)
            heads = [cell.text.split("\n")[0] for cell in page.all("thead th")]
            assert heads[0] == "This row"
            assert set(heads[1:]) <= set(classes[:3])
            assert len(heads) == 4
            shown = page.one("td.this").text
            assert float(shown) == pytest.approx(rows[page.row(), 0], rel=1e-4)
            shares = session.learnt.shares[page.row()]
            first = page.all(".candidate .label")[0].text
            assert classes.index(first) == np.argmax(shares)
            page.press("/")
            page.press(*"class n", ENTER)
            assert page.ticked() == ["class n"]
            page.settle(lambda: page.press(ENTER))
            assert session.answers.log()[-1].labels == (13,)


def test_images(page: Page, tmp_path: Path) -> None:
    """An image is shown with words for who does not see it; one that is not there is told."""
    Image = pytest.importorskip("PIL.Image")
    rows, _ = make_rows(N)
    Image.new("RGB", (30, 20), (0, 90, 0)).save(tmp_path / "green.png")
    table = LabelTable(pl.DataFrame({"file": ["green.png", "absent.png"] * (N // 2)}), "kind", "image", "file")
    begun = LabellingSession(rows, classes=CLASSES, table=table, strategy="random", random_state=0)
    with begun as session, serving(session, annotator="Ann", images=ImageFolder(tmp_path)) as server:
        page.open(server.link)
        seen = set()
        for _ in range(8):
            if page.row() % 2 == 0:
                image = page.one("#item img")
                page.until(
                    lambda image=image: page.browser.execute_script("return arguments[0].naturalWidth", image) == 30
                )
                assert image.get_attribute("alt") == f"Row {page.row()}: green.png"
            else:
                page.until(lambda: "cannot be shown" in page.one("#item").text)
            seen.add(page.row() % 2)
            page.settle(lambda: page.press("s"))
        assert seen == {0, 1}
    page.browser.get_log("browser")  # images that are not there are logged by the browser


def test_a_phone(page: Page, session: LabellingSession) -> None:
    """At 360 pixels nothing is wider than the screen, and everything that is pressed is large enough for a finger."""
    with serving(session, annotator="Ann") as server:
        page.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
        )
        try:
            page.open(server.link)
            assert page.browser.execute_script("return document.documentElement.scrollWidth") == 360
            for button in page.all(".candidate, .actions button"):
                assert button.size["height"] >= 44
            assert page.one("#accept").rect["y"] < 740
            page.all(".candidate")[0].click()
            page.settle(page.one("#accept").click)
        finally:
            page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_names_and_roles(page: Page, session: LabellingSession) -> None:
    """Every control has a name for screen readers, says whether it is pressed, and what is new is announced."""
    with serving(session, annotator="Ann") as server:
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
        assert "Written: finch." in status.get_attribute("textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page: Page, session: LabellingSession, scheme: str) -> None:
    """In either scheme text differs from what it stands on by the 4.5 to 1 that WCAG 2 asks for."""
    script = """
    return [...document.querySelectorAll('h1, h2, p, label, button, .share, .label, a, #rate, .about, #progress-words')]
      .filter((e) => e.offsetParent && e.textContent.trim()).map((e) => {
        const clear = (x) => getComputedStyle(x).backgroundColor === 'rgba(0, 0, 0, 0)' && x.parentElement;
        let on = e; while (clear(on)) on = on.parentElement;
        const numbers = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        return [e.id || e.className || e.tagName, e.disabled || e.closest(':disabled') !== null,
                numbers(getComputedStyle(e).color), numbers(getComputedStyle(on).backgroundColor)];
      });"""

    def luminance(colour: list[float]) -> float:
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return float(np.dot([0.2126, 0.7152, 0.0722], parts))

    with serving(session, annotator="Ann") as server:
        page.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        page.press("2")
        found = page.browser.execute_script(script)
        assert len(found) > 20
        for name, disabled, ink, paper in found:
            high, low = sorted([luminance(ink), luminance(paper)], reverse=True)
            assert disabled or (high + 0.05) / (low + 0.05) >= 4.5, name
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without writing of it."""

    def log_message(self, *_: Any) -> None:
        pass


def test_another_page_in_the_same_browser(page: Page, session: LabellingSession, tmp_path: Path) -> None:
    """A page of another origin, which even knows the link, reads no answer, frames nothing and writes nothing."""
    with serving(session, annotator="Ann") as server:
        attack = (Path(__file__).parent / "attack.html").read_text().replace("LINK", server.link)
        (tmp_path / "other.html").write_text(attack)
        handler = functools.partial(Quiet, directory=str(tmp_path))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            page.browser.get(f"http://127.0.0.1:{other.server_port}/other.html")
            page.until(lambda: page.browser.execute_script("return window.told"))
            assert page.browser.execute_script("return window.told") == ["rejected"] * 5
            assert page.browser.execute_script("return [window.ran === true, image.naturalWidth]") == [False, 0]
            page.browser.switch_to.frame(0)
            assert "Which label?" not in page.browser.page_source
            page.browser.switch_to.default_content()
            page.browser.get("about:blank")  # lets go of its connection
            other.shutdown()
            thread.join()
        assert session.answers.log() == []
        assert not session._asker._leases
    page.browser.get_log("browser")  # what the browser says of the refused requests
