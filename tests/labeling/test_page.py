"""The page in a real browser: answers, undo, reload, a killed server, a malicious page, agreement and review."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.audit import LabelIssue
from oneof.candidates import CandidateSets
from oneof.io import read_labels, read_table
from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, N, make_rows
from tests.labeling.page_states import DESKTOP, PHONE, emulate, showing
from tests.labeling.server_processes import server_processes
from tests.labeling.serving import serving
from tests.labeling.test_agreement import answer
from tests.labeling.test_page_appearance import needs_axe, violations

pytestmark = needs_browser


def test_rows_by_keyboard_and_mouse(page: Page, noted: LabelingSession) -> None:
    """The log has the given answers; progress, history and estimate are updated; the export has the candidates."""
    _, truth = make_rows(N)
    expected = {}
    with showing(page, noted, title="Birds"):
        assert page.browser.title == "Birds"
        for n in range(12):
            row = page.row()
            assert page.one("#item").text == f"<b>note</b> {row} on a {CLASSES[truth[row]]}"  # as text, not as markup
            true_label, false_label = int(truth[row]), int(truth[row] + 1) % 3
            digits = [str(k + 1) for k in (true_label, 3 - true_label - false_label, false_label)]
            if n % 4 == 0:  # the keyboard: one label
                page.settle(functools.partial(page.press, digits[0], ENTER))
                expected[row] = ("one of", (true_label,))
            elif n % 4 == 1:  # the keyboard: two, a third selected and deselected
                page.settle(functools.partial(page.press, *digits, digits[1], ENTER))
                expected[row] = ("one of", tuple(sorted((true_label, false_label))))
            elif n % 4 == 2:  # the mouse: an excluded label
                page.all(".candidate")[false_label].click()
                assert page.ticked() == [CLASSES[false_label]]
                page.settle(page.one("#reject").click)
                expected[row] = ("none of", (false_label,))
            else:
                page.all(".candidate")[true_label].click()
                page.settle(page.one("#accept").click)
                expected[row] = ("one of", (true_label,))
        assert page.answered() == f"12 of {N} rows"
        assert {entry.row: (entry.kind, entry.labels) for entry in noted.answers.log()} == expected
        assert len(page.history()) == 6
        noted.train()
        row = page.row()
        page.reload()
        assert page.row() == row
        assert len(page.history()) == 6
        assert "%" in page.one("#rate").text
        assert page.all("#curve svg")
        assert sum(float(bar.size["width"]) > 0 for bar in page.all(".candidate .bar")) >= 1
        assert "Information score" in page.one("#reason").text
        assert len(page.all("#neighbors-rows li")) == 3
        page.one("#csv").click()
        saved = page.browser.saved / "labeled.csv"
        page.until(saved.exists)
    exported = read_labels(read_table(saved, labels=["kind"]), ["kind"], classes=CLASSES)
    saved.unlink()
    assert exported == noted.candidates()


def test_every_key(page: Page, noted: LabelingSession) -> None:
    """Don't know, skip, none of these and undo have keys; Enter without a selected label writes no entry."""
    with showing(page, noted):
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
    with showing(page, noted):
        page.settle(lambda: page.press("1", ENTER))
        name = page.one("#annotator")
        name.click()
        page.run("arguments[0].select()", name)
        page.press(*"undsn 1")
        page.settle(lambda: page.press(ENTER))
        page.settle(lambda: page.press("2", ENTER))
        assert [entry.annotator for entry in noted.answers.log()] == ["Ann", "undsn 1"]
        assert page.history() == ["owl"]


def test_an_old_answer_is_changed(page: Page, noted: LabelingSession) -> None:
    """A click in the history opens the row with its answer; a new answer replaces it, and the log has both."""
    with showing(page, noted):
        row = page.row()
        page.settle(lambda: page.press("1", ENTER))
        page.settle(lambda: page.press("2", ENTER))
        page.settle(page.all("#history button")[1].click)
        assert (page.row(), page.ticked()) == (row, ["finch"])
        page.settle(lambda: page.press("1", "3", ENTER))
        assert noted.answers.current_answer(row, "Ann").labels == (2,)
        assert [entry.labels for entry in noted.answers.log()] == [(0,), (1,), (2,)]


def test_two_windows(page: Page, noted: LabelingSession) -> None:
    """Two windows of one person show different rows; an answer to a row that the other one has changed is an alert."""
    with showing(page, noted) as server:
        first, row = page.browser.current_window_handle, page.row()
        page.browser.switch_to.new_window("tab")
        try:
            page.open(server.link)
            assert page.row() != row
            row = page.row()
            noted.answer(noted.question_for(row, "Ann", window="another"), CLASSES[1])
            page.settle(lambda: page.press("1", ENTER))
            assert "another window" in page.alert()
            assert noted.answers.current_answer(row, "Ann").labels == (1,)
        finally:
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
            page.until(lambda: page.run("return window.results"))
            assert page.run("return window.results") == ["rejected"] * 5
            assert page.run("return [window.ran === true, image.naturalWidth]") == [False, 0]
            page.browser.switch_to.frame(0)
            assert "Which label?" not in page.browser.page_source
            page.browser.switch_to.default_content()
            page.browser.get("about:blank")  # closes its connection
            other.shutdown()
            thread.join()
        assert noted.answers.log() == []
        assert not noted._scheduler._leases
    page.browser.get_log("browser")  # messages of the browser about the rejected requests


def test_degrees_on_the_page(page: Page, noted: LabelingSession) -> None:
    """Keys and buttons choose a degree for one question; Enter accepts without one, and a second press removes it."""
    with showing(page, noted):
        page.settle(lambda: page.press("1", ENTER))
        page.settle(lambda: page.press("2", "p", ENTER))
        page.settle(lambda: page.press("3", "g", "g", "n"))
        page.press("1")
        page.all("#degrees button")[2].click()
        page.settle(lambda: page.press(ENTER))  # the focused button submits
        assert [entry.degree for entry in noted.answers.log()] == [None, "probably", None, "guess"]
        assert page.history() == ["finch (a guess)", "not wren", "owl (probably)", "finch"]
        page.settle(lambda: page.press("u"))
        pressed = [button.get_attribute("aria-pressed") for button in page.all("#degrees button")]
        assert pressed == ["false", "false", "true"]
        page.settle(lambda: page.press("y", ENTER))
        assert noted.answers.log()[-1].degree == "sure"


DASH = "\u2013"


def test_one_annotator_has_no_agreement(page: Page, noted: LabelingSession) -> None:
    """The section is shown as soon as a second annotator has answered a row; only that of the lead has accuracies."""
    with showing(page, noted) as server:
        page.settle(lambda: page.press("1", ENTER))
        assert not page.one("#agreement").is_displayed()
        row = noted.answers.log()[0].row
        answer(noted, (row + 1) % noted.n_rows, Bob="wren")
        page.settle(lambda: page.press("1", ENTER))
        page.until(lambda: page.one("#agreement").is_displayed())
        assert page.one("#agreement-words").text == "Your progress, and rows in dispute"
        assert not page.one("#statistics").is_displayed()
        assert "Bob" not in page.browser.page_source
        assert [cell.text for cell in page.all("#work tbody th, #work tbody td")][:2] == ["Ann", "2"]
        assert not page.one("#export").is_displayed()
        page.open(server.lead_link)
        page.until(lambda: page.one("#statistics").is_displayed())
        assert page.one("#agreement-words").text == "Agreement of the annotators"
        assert page.one("#export").is_displayed()
        assert "No row has answers of two annotators yet" in page.one("#alpha-words").text
        table = [cell.text for cell in page.all("#annotators th, #annotators td")]
        assert table == ["Ann", "2", DASH, "Bob", "1", DASH]
        words = page.one("#accuracy-words").text
        assert words.startswith("The accuracy of an annotator is estimated from at least 10 rows")
        assert not page.one("#weighted").is_displayed()


def test_who_differs_from_whom_and_where(page: Page, noted: LabelingSession) -> None:
    """The lead sees alpha, accuracies, the agreement of each pair, confused labels, progress, and rows in dispute."""
    fill(noted)
    with serving(noted, annotator="Cem") as server:
        page.open(server.lead_link)
        page.until(lambda: page.one("#pairs").is_displayed())
        agreement = noted.agreement()
        assert page.one("#alpha").text == f"{agreement.alpha:.2f}"
        low, high = agreement.alpha_interval
        words = page.one("#alpha-words").text
        assert words.startswith(f"95% interval: {low:.2f} to {high:.2f}. 1 is equal")
        assert f"from 13 rows with several answers. {agreement.masi_alpha:.2f} with the MASI" in words
        lines = [line.text.split("\n") for line in page.all("#annotators tr")]
        assert lines[0][0].split()[0] == "Cem"
        assert {line[0].split()[0]: line[0].split()[1] for line in lines} == {"Ann": "13", "Bob": "13", "Cem": "12"}
        assert all("%" in " ".join(line) for line in lines)
        assert page.one("#accuracy-words").text == "The bar is the 90% interval, the mark in it the estimate."
        assert cells(page, "#pairs") == [
            ["", "Ann", "Bob", "Cem"],
            ["Ann", "·", "92% of 13 rows 100% with a common label", "83% of 12 rows"],
            ["Bob", "92% of 13 rows 100% with a common label", "·", "83% of 12 rows"],
            ["Cem", "83% of 12 rows", "83% of 12 rows", "·"],
        ]
        assert cells(page, "#confused")[1:] == [["finch", "owl", "2"], ["owl", "wren", "2"]]
        assert [line[0:2] for line in cells(page, "#work tbody")] == [["Ann", "13"], ["Bob", "13"], ["Cem", "12"]]
        assert cells(page, "#work tbody")[0][3] == "8%"
        assert not page.one("#work-gold").is_displayed()
        for selector in ("#pairs", "#confused", "#work"):
            assert page.one(f"{selector} caption").text
            assert {cell.get_attribute("scope") for cell in page.all(f"{selector} thead th")} == {"col"}
            assert {cell.get_attribute("scope") for cell in page.all(f"{selector} tbody th")} == {"row"}
        assert page.one("#conflicts-note").text.endswith("Orange answers exclude the most probable label.")
        assert page.one("#conflicts-words").text == "2 rows with answers that exclude each other"
        opinions = sorted(line.text for line in page.all("#conflicts .opinions"))
        assert opinions == ["Ann: finch · Bob: finch · Cem: owl", "Ann: wren · Bob: wren · Cem: owl"]
        assert [one.text for one in page.all("#conflicts .differs")] == ["Cem: owl", "Cem: owl"]
        assert page.one("#weighted-csv").get_attribute("href").endswith("export.csv?combination=model")
        first = agreement.conflicts[0].row
        page.settle(page.all("#conflicts button")[0].click)
        assert page.row() == first
        assert page.ticked() == ["owl"]


def test_names_and_rows_are_text(page: Page, noted: LabelingSession) -> None:
    """Names of annotators and contents of rows are not markup."""
    answer(noted, 0, **{"<i>Ann</i>": "finch", "Bob & Co": "owl"})
    with emulate(page, width=PHONE), serving(noted, annotator="Bob & Co") as server:
        page.open(server.lead_link)
        page.until(lambda: page.one("#agreement").is_displayed())
        assert {cell.text for cell in page.all("#annotators th")} == {"<i>Ann</i>", "Bob & Co"}
        assert {cell.text for cell in page.all("#pairs th, #work tbody th")} == {"<i>Ann</i>", "Bob & Co"}
        assert "<b>note</b> 0" in page.one("#conflicts").text
        assert page.run("return document.documentElement.scrollWidth") == PHONE


def fill(session: LabelingSession) -> None:
    """Let three annotators answer 12 rows; Cem differs on the rows 3 and 8, of classes 0 and 2."""
    for row in range(12):
        label = CLASSES[row % 3]
        answer(session, row, Ann=label, Bob=label, Cem="owl" if row in (3, 8) else label)
    answer(session, 20, Ann=["owl", "wren"], Bob="owl")


def cells(page: Page, selector: str) -> list[list[str]]:
    """Return the texts of the cells of each line of a table."""
    lines = page.all(f"{selector} tr")
    return [[cell.text.replace("\n", " ") for cell in line.find_elements("css selector", "td, th")] for line in lines]


@pytest.mark.parametrize("shown", [False, True])
def test_a_second_look(page: Page, noted: LabelingSession, shown: bool) -> None:
    """A row in dispute is opened without the other answers, or with them, and the log records which."""
    fill(noted)
    before = noted.agreement()
    with showing(page, noted, annotator="Cem"):
        page.until(lambda: page.one("#conflicts-words").text.startswith("2 rows with"))
        switch = page.one("#informed")
        assert not switch.is_selected()
        assert not page.all("#conflicts .opinions")
        assert "finch" not in page.one("#conflicts .entries, #conflicts").text.replace("on a finch", "")
        if shown:
            switch.click()
        page.settle(page.all("#conflicts button")[0].click)
        row = page.row()
        assert row in (3, 8)
        assert page.one("#others").is_displayed() == shown
        label = CLASSES[row % 3]
        if shown:
            assert [line.text for line in page.all("#others-answers li")] == [label, label]
        page.settle(lambda: page.press("2", str(row % 3 + 1), ENTER))
        page.until(lambda: page.one("#conflicts-words").text.startswith("1 row with"))
        assert not page.one("#others").is_displayed()
    entry = noted.answers.current_answer(row, "Cem")
    assert entry.purpose == ("informed review" if shown else "review")
    assert noted.candidates().to_sets()[row] == {label}
    assert noted.agreement().alpha == before.alpha


@needs_axe
def test_the_page_of_the_lead_is_accessible(page: Page) -> None:
    """The tables, with the accuracy on gold rows, violate no rule of axe-core, and fit a phone."""
    rows, truth = make_rows(80)
    table = LabelTable(pl.DataFrame({"note": [f"row {i} {CLASSES[k]}" for i, k in enumerate(truth)]}), "kind")
    gold = {row: CLASSES[truth[row]] for row in range(20)}
    with LabelingSession(rows, classes=CLASSES, table=table, gold=gold, gold_interval=1, random_state=0) as session:
        fill(session)
        with serving(session, annotator="Ann") as server:
            for link in (server.link, server.lead_link):
                page.open(link)
                page.until(lambda: page.one("#work").is_displayed())
                page.settle(lambda: page.press("1", ENTER))
                assert violations(page) == []
                for width in (PHONE, DESKTOP):
                    with emulate(page, width=width):
                        assert page.run("return document.documentElement.scrollWidth") <= width
            [ann, *_] = session.progress()
            gold_cell = cells(page, "#work tbody")[0][-1]
            assert gold_cell.startswith(f"{ann.gold.rate:.0%}")
            assert f"{ann.gold.n_rows} rows" in gold_cell


ESCAPE, TAB = "\ue00c", "\ue004"


def test_zoom_by_the_keyboard(page: Page, tmp_path: Path) -> None:
    """A key enlarges the image, plus and minus zoom, and Escape closes; no answer is written, and focus returns."""
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (400, 200), (0, 90, 0)).save(tmp_path / "a.png")
    table = LabelTable(pl.DataFrame({"file": ["a.png"] * 4}), "kind", "image", "file")
    begun = LabelingSession(np.eye(4), classes=CLASSES, table=table, strategy="random")
    with begun as session, showing(page, session, images=ImageFolder(tmp_path)):
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
        assert page.run("return document.activeElement.id") == "enlarge"


def test_pinned_columns_remain_visible(page: Page) -> None:
    """Pinned columns are the first lines, and visible after scrolling to the end of a row of 60 columns."""
    columns = {f"column {j}": [f"value {j}"] * 6 for j in range(60)}
    table = LabelTable(pl.DataFrame(columns), "kind", pinned=("column 40", "column 7"))
    assert [name for name, _ in table.item(0)["cells"][:4]] == ["column 40", "column 7", "column 0", "column 1"]
    begun = LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random")
    with begun as session, emulate(page), showing(page, session):
        script = """
        const area = document.querySelector('.side-by-side');
        area.scrollTop = area.scrollHeight;
        return [...area.querySelectorAll('tr')].filter((line) => {
          const [cell, box] = [line.children[1].getBoundingClientRect(), area.getBoundingClientRect()];
          const [x, y] = [cell.left + 5, (cell.top + cell.bottom) / 2];
          return y > box.top && y < box.bottom && document.elementFromPoint(x, y)?.closest('tr') === line;
        }).map((line) => line.children[0].textContent);
        """
        visible = page.run(script)
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


def test_review(page: Page) -> None:
    """Labels are kept by a key, proposals taken by a key or a button, and other answers are possible."""
    _, truth = make_rows(12)
    with make_review() as session, showing(page, session):
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
        answers = {row: session.answers.current_answer(row, "Ann").labels for row in (5, 2, 8)}
    assert answers == {5: (truth[5],), 2: ((truth[2] + 1) % 3,), 8: ((truth[8] + 1) % 3,)}


@needs_axe
def test_rules_of_accessibility(page: Page, tmp_path: Path) -> None:
    """The review, and the dialog of an enlarged image, violate no rule of axe-core."""
    with make_review() as session, showing(page, session):
        assert violations(page) == []
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (40, 20), (0, 90, 0)).save(tmp_path / "a.png")
    table = LabelTable(pl.DataFrame({"file": ["a.png"] * 4}), "kind", "image", "file")
    begun = LabelingSession(np.eye(4), classes=CLASSES, table=table, strategy="random")
    with begun as session, showing(page, session, images=ImageFolder(tmp_path)):
        page.until(lambda: page.one("#item img").get_property("naturalWidth"))
        page.press("z", "+")
        assert violations(page) == []
