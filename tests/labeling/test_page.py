"""The page in a real browser: keyboard, mouse, undo, reload, a killed and restarted server, and a malicious page."""

import functools
import http.server
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np

from oneof.cli.tables.inputs import prepare
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, N, make_rows
from tests.labeling.server_processes import server_processes
from tests.labeling.serving import serving

pytestmark = needs_browser


def test_thirty_rows_by_keyboard_and_mouse(page: Page, noted: LabelingSession, tmp_path: Path) -> None:
    """The log has the given answers; progress, history and estimate are updated; the export can be fitted."""
    _, truth = make_rows(N)
    expected = {}
    with serving(noted, title="Birds", annotator="Ann") as server:
        page.open(server.link)
        assert page.browser.title == "Birds"
        for n in range(30):
            row = page.row()
            assert page.one("#item").text == f"<b>note</b> {row} on a {CLASSES[truth[row]]}"  # as text, not as markup
            true_label, false_label = int(truth[row]), int(truth[row] + 1) % 3
            digits = [str(k + 1) for k in (true_label, 3 - true_label - false_label, false_label)]
            if n % 3 == 0:  # the keyboard: one label
                page.settle(functools.partial(page.press, digits[0], ENTER))
                expected[row] = ("one of", (true_label,))
            elif n % 3 == 1:  # the keyboard: two, a third selected and deselected
                page.settle(functools.partial(page.press, *digits, digits[1], ENTER))
                expected[row] = ("one of", tuple(sorted((true_label, false_label))))
            elif n % 2:  # the mouse: an excluded label
                page.all(".candidate")[false_label].click()
                assert page.ticked() == [CLASSES[false_label]]
                page.settle(page.one("#reject").click)
                expected[row] = ("none of", (false_label,))
            else:
                page.all(".candidate")[true_label].click()
                page.settle(page.one("#accept").click)
                expected[row] = ("one of", (true_label,))
        assert len(expected) == 30
        assert page.answered() == f"30 of {N} rows"
        assert {entry.row: (entry.kind, entry.labels) for entry in noted.answers.log()} == expected
        assert len(page.history()) == 6
        noted.train()
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert "%" in page.one("#rate").text
        assert page.all("#curve svg")
        assert sum(float(bar.size["width"]) > 0 for bar in page.all(".candidate .bar")) >= 1
        assert "Information score" in page.one("#reason").text
        assert len(page.all("#neighbors-rows li")) == 3
        page.one("#csv").click()
        saved = page.browser.saved / "labeled.csv"
        page.until(saved.exists)
    exported = Path(shutil.move(saved, tmp_path / "birds.csv"))
    prepared = prepare(exported, ReadOptions(("kind",), text=("note",)))  # as `oneof fit` does
    assert prepared.candidates == noted.candidates()
    methods, _ = resolve_methods(prepared, "PLKNN", 0)
    model = methods["PLKNN"].fit(prepared.frame, prepared.candidates)
    assert (model.predict(prepared.frame) == np.array(CLASSES)[truth]).mean() > 0.9


def test_every_key(page: Page, noted: LabelingSession) -> None:
    """Don't know, skip, none of these and undo have keys; Enter without a selected label writes no entry."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        page.press(ENTER)
        assert "Select one or more labels" in page.one("#message").text
        page.press("n")
        assert noted.answers.log() == []
        first = page.row()
        page.settle(lambda: page.press("d"))
        page.settle(lambda: page.press("s"))
        page.settle(lambda: page.press("1", "2", "n"))
        assert [entry.kind for entry in noted.answers.log()] == ["unknown", "skip", "none of"]
        assert page.history() == ["not finch or owl", "skipped", "don\u2019t know"]
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["finch", "owl"]  # the row is open again with its selection
        page.settle(lambda: page.press("1", ENTER))
        assert noted.answers.log()[-1].labels == (1,)
        assert noted.answers.log()[-1].row == noted.answers.log()[2].row
        for _ in range(3):
            page.settle(lambda: page.press("u"))
        assert page.row() == first
        assert page.answered() == f"0 of {N} rows"
        assert not page.one("#undo").is_enabled()


def test_keys_in_fields_are_text(page: Page, noted: LabelingSession) -> None:
    """The letters of keys can be typed in a name; another name is another annotator."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        name = page.one("#annotator")
        name.click()
        page.browser.execute_script("arguments[0].select()", name)
        page.press(*"undsn 1")
        page.settle(lambda: page.press(ENTER))
        page.settle(lambda: page.press("2", ENTER))
        assert [entry.annotator for entry in noted.answers.log()] == ["Ann", "undsn 1"]
        assert page.history() == ["owl"]
        page.browser.execute_script("localStorage.clear()")


def test_a_reload_keeps_all_answers(page: Page, noted: LabelingSession) -> None:
    """After a reload the same question is open, and earlier answers are current."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        row = page.row()
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert page.row() == row
        assert page.history() == ["finch"]


def test_an_old_answer_is_changed(page: Page, noted: LabelingSession) -> None:
    """A click in the history opens the row with its answer; a new answer replaces it, and the log has both."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        row = page.row()
        page.settle(lambda: page.press("1", ENTER))
        page.settle(lambda: page.press("2", ENTER))
        page.settle(page.all("#history button")[1].click)
        assert (page.row(), page.ticked()) == (row, ["finch"])
        page.settle(lambda: page.press("1", "3", ENTER))
        assert noted.answers.current_answer(row, "Ann").labels == (2,)
        assert [entry.labels for entry in noted.answers.log()] == [(0,), (1,), (2,)]


def test_two_windows(page: Page, noted: LabelingSession) -> None:
    """Two windows of one person show different rows; if both answer one row, the second gets a conflict."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        first, row = page.browser.current_window_handle, page.row()
        page.browser.switch_to.new_window("tab")
        try:
            page.open(server.link)
            assert page.row() != row
            page.settle(lambda: page.press("1", ENTER))
            row_in_log = noted.answers.log()[0].row
            page.settle(page.all("#history button")[0].click)  # the row again, here ...
            page.browser.switch_to.window(first)
            page.browser.refresh()
            page.until(lambda: page.all("#history button"))
            page.settle(page.all("#history button")[0].click)  # ... and there
            assert page.row() == row_in_log
            page.settle(lambda: page.press("1", "2", ENTER))
            page.browser.switch_to.window(page.browser.window_handles[-1])
            page.settle(lambda: page.press("1", "3", ENTER))
            assert "another window" in page.alert()
            assert noted.answers.current_answer(row_in_log, "Ann").labels == (1,)
        finally:
            if len(page.browser.window_handles) > 1:
                page.browser.switch_to.window(page.browser.window_handles[-1])
                page.browser.close()
            page.browser.switch_to.window(first)


def test_killed_and_started_again(page: Page, tmp_path: Path) -> None:
    """Without a server the page shows an alert; at the new link every confirmed answer is present."""
    with server_processes() as servers:
        process, link = servers.start(tmp_path / "log", N)
        page.open(link)
        for key in "123":
            page.settle(functools.partial(page.press, key, ENTER))
        servers.kill(process)
        page.press("1", ENTER)
        page.until(lambda: "does not respond" in page.alert())
        _, link = servers.start(tmp_path / "log", N)
        page.open(link)
        assert page.history() == ["wren", "owl", "finch"]
        assert page.answered() == f"3 of {N} rows"
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["wren"]
        page.browser.get("about:blank")


class QuietFileServer(http.server.SimpleHTTPRequestHandler):
    """File server without log output."""

    def log_message(self, *_: Any) -> None:
        pass


def test_another_page_in_the_same_browser(page: Page, noted: LabelingSession, tmp_path: Path) -> None:
    """A page of another origin that has the link reads no answer, embeds no frame and writes no answer."""
    with serving(noted, annotator="Ann") as server:
        attack = (Path(__file__).parent / "attack.html").read_text().replace("LINK", server.link)
        (tmp_path / "other.html").write_text(attack)
        handler = functools.partial(QuietFileServer, directory=str(tmp_path))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            page.browser.get(f"http://127.0.0.1:{other.server_port}/other.html")
            page.until(lambda: page.browser.execute_script("return window.results"))
            assert page.browser.execute_script("return window.results") == ["rejected"] * 5
            assert page.browser.execute_script("return [window.ran === true, image.naturalWidth]") == [False, 0]
            page.browser.switch_to.frame(0)
            assert "Which label?" not in page.browser.page_source
            page.browser.switch_to.default_content()
            page.browser.get("about:blank")  # closes its connection
            other.shutdown()
            thread.join()
        assert noted.answers.log() == []
        assert not noted._scheduler._leases
    page.browser.get_log("browser")  # messages of the browser about the rejected requests
