"""The agreement of several annotators in a real browser."""

import shutil
from pathlib import Path

from oneof.io import read_labels, read_table
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES
from tests.labeling.serving import serving
from tests.labeling.test_agreement import answer

pytestmark = needs_browser
DASH = "\u2013"


def test_one_annotator_has_no_agreement(page: Page, noted: LabelingSession) -> None:
    """The section is shown as soon as a second annotator has answered a row; only that of the lead has accuracies."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
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
        assert [cell.text for cell in page.all("#annotators th, #annotators td")] == [
            "Ann",
            "2",
            DASH,
            "Bob",
            "1",
            DASH,
        ]
        assert page.one("#accuracy-words").text.startswith(
            "The accuracy of an annotator is estimated from at least 10 rows"
        )
        assert not page.one("#weighted").is_displayed()


def test_who_differs_where(page: Page, noted: LabelingSession, tmp_path: Path) -> None:
    """The page has alpha, each annotator's accuracy, and the rows with conflicts, which a click opens, for the lead."""
    for row in range(12):
        label = CLASSES[row % 3]
        answer(noted, row, Ann=label, Bob=label, Cem="owl" if row in (3, 8) else label)
    answer(noted, 20, Ann=["owl", "wren"], Cem="owl")
    with serving(noted, annotator="Cem") as server:
        page.open(server.lead_link)
        page.until(lambda: page.one("#agreement").is_displayed())
        agreement = noted.agreement()
        assert page.one("#alpha").text == f"{agreement.alpha:.2f}"
        low, high = agreement.alpha_interval
        assert page.one("#alpha-words").text.startswith(f"95% interval: {low:.2f} to {high:.2f}. 1 is equal")
        assert (
            f"from 13 rows with several answers. {agreement.masi_alpha:.2f} with the MASI"
            in page.one("#alpha-words").text
        )
        lines = [line.text.split("\n") for line in page.all("#annotators tr")]
        assert lines[0][0].split()[0] == "Cem"
        assert {line[0].split()[0]: line[0].split()[1] for line in lines} == {"Ann": "13", "Bob": "12", "Cem": "13"}
        assert all("%" in " ".join(line) for line in lines)
        assert page.one("#accuracy-words").text == "The bar is the 90% interval, the mark in it the estimate."
        assert page.one("#conflicts-note").text.endswith("Orange answers exclude the most probable label.")
        assert page.one("#conflicts-words").text == "2 rows with answers that exclude each other"
        opinions = sorted(line.text for line in page.all("#conflicts .opinions"))
        assert opinions == ["Ann: finch · Bob: finch · Cem: owl", "Ann: wren · Bob: wren · Cem: owl"]
        assert [one.text for one in page.all("#conflicts .differs")] == ["Cem: owl", "Cem: owl"]
        first = agreement.conflicts[0].row
        page.settle(page.all("#conflicts button")[0].click)
        assert page.row() == first
        assert page.ticked() == ["owl"]
        digit = str(first % 3 + 1)
        page.settle(lambda: page.press("2", digit, ENTER))
        page.until(lambda: page.one("#conflicts-words").text.startswith("1 row with"))
        page.one("#weighted-csv").click()
        saved = page.browser.saved / "labeled.csv"
        page.until(saved.exists)
    weighted = read_table(Path(shutil.move(saved, tmp_path / "weighted.csv")), labels=["kind"])
    read = read_labels(weighted, ["kind"], classes=CLASSES, weighted=True, kind="likelihood")
    assert (read.weights.argmax(axis=1)[:12] == [row % 3 for row in range(12)]).all()
    assert read.is_weighted[:12].all()


def test_names_and_rows_are_text(page: Page, noted: LabelingSession) -> None:
    """Names of annotators and contents of rows are not markup."""
    answer(noted, 0, **{"<i>Ann</i>": "finch", "Bob & Co": "owl"})
    with serving(noted, annotator="Bob & Co") as server:
        page.open(server.lead_link)
        page.until(lambda: page.one("#agreement").is_displayed())
        assert {cell.text for cell in page.all("#annotators th")} == {"<i>Ann</i>", "Bob & Co"}
        assert {cell.text for cell in page.all("#pairs th, #work tbody th")} == {"<i>Ann</i>", "Bob & Co"}
        assert "<b>note</b> 0" in page.one("#conflicts").text
        page.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
        )
        try:
            assert page.browser.execute_script("return document.documentElement.scrollWidth") == 360
        finally:
            page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
