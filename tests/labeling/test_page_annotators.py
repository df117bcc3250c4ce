"""Pairs of annotators, rows in dispute, gold rows and progress in a real browser."""

from typing import Any

import polars as pl
import pytest

from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.page_states import DESKTOP, PHONE, emulate
from tests.labeling.serving import serving
from tests.labeling.test_agreement import answer
from tests.labeling.test_page_access import needs_axe, violations

pytestmark = needs_browser


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


def test_who_differs_from_whom_and_on_what(page: Page, noted: LabelingSession) -> None:
    """The tables have the agreement of each pair, the confused labels, and the progress, with names of their cells."""
    fill(noted)
    with serving(noted, annotator="Cem") as server:
        page.open(server.lead_link)
        page.until(lambda: page.one("#pairs").is_displayed())
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


@pytest.mark.parametrize("shown", [False, True])
def test_a_second_look(page: Page, noted: LabelingSession, shown: bool) -> None:
    """A row in dispute is opened without the other answers, or with them, and the log records which."""
    fill(noted)
    before = noted.agreement()
    with serving(noted, annotator="Cem") as server:
        page.open(server.link)
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


def make_gold(**options: Any) -> LabelingSession:
    rows, truth = make_rows(80)
    table = LabelTable(pl.DataFrame({"note": [f"row {i} {CLASSES[k]}" for i, k in enumerate(truth)]}), "kind")
    gold = {row: CLASSES[truth[row]] for row in range(20)}
    settings = {"classes": CLASSES, "table": table, "gold": gold, "gold_interval": 3, "random_state": 0}
    return LabelingSession(rows, **settings, **options)


def test_gold_rows_are_not_recognizable(page: Page) -> None:
    """The page has the same texts about a gold row as about others; only the lead sees the accuracy on gold rows."""
    with make_gold(strategy="random") as session, serving(session, annotator="Ann") as server:
        page.open(server.link)
        is_gold, texts, progress = [], [], []
        for _ in range(12):
            lease = session.ask("Ann", window=page.browser.execute_script("return sessionStorage['oneof-window']"))
            is_gold.append(lease.purpose == "gold")
            progress.append(int(page.answered().split()[0]))
            texts.append("drawn at random" in page.one("#reason").text)
            page.settle(lambda: page.press("1", ENTER))
        assert 3 <= sum(is_gold) <= 5
        assert all(texts)
        assert progress == list(range(12))
        [ann] = session.progress()
        page.open(server.lead_link)
        page.until(lambda: page.one("#work").is_displayed())
        [line] = cells(page, "#work tbody")
        assert line[0:2] == ["Ann", "12"]
        assert line[-1].startswith(f"{ann.gold.rate:.0%}")
        assert f"{ann.gold.n_rows} rows" in line[-1]


@needs_axe
def test_the_page_of_the_lead_is_accessible(page: Page) -> None:
    """The tables violate no rule of axe-core, at both widths, and the page of a phone is not wider than it."""
    with make_gold() as session:
        fill(session)
        with serving(session, annotator="Ann") as server:
            for link in (server.link, server.lead_link):
                page.open(link)
                page.until(lambda: page.one("#work").is_displayed())
                assert violations(page) == []
                for width in (PHONE, DESKTOP):
                    with emulate(page, width=width):
                        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_two_links(noted: LabelingSession) -> None:
    """The link of the annotators and that of the lead have different secrets."""
    with serving(noted) as server:
        assert server.link != server.lead_link
        assert server.link.rsplit("/", 2)[0] == server.lead_link.rsplit("/", 2)[0]
