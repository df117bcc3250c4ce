"""Degrees of certainty on the page."""

from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.serving import serving

pytestmark = needs_browser


def test_degrees_on_the_page(page: Page, noted: LabelingSession) -> None:
    """Keys and buttons choose a degree for one question; Enter accepts without one, and a second press removes it."""
    with serving(noted, annotator="Ann") as server:
        page.open(server.link)
        page.settle(lambda: page.press("1", ENTER))
        page.settle(lambda: page.press("2", "p", ENTER))
        page.settle(lambda: page.press("3", "g", "g", "n"))
        page.press("1")
        page.all("#degrees button")[2].click()
        page.settle(lambda: page.press(ENTER))  # the focused button submits
        assert [entry.degree for entry in noted.answers.log()] == [None, "probably", None, "guess"]
        assert page.history() == ["finch (a guess)", "not wren", "owl (probably)", "finch"]
        page.settle(lambda: page.press("u"))
        assert [button.get_attribute("aria-pressed") for button in page.all("#degrees button")] == [
            "false",
            "false",
            "true",
        ]
        page.settle(lambda: page.press("y", ENTER))
        assert noted.answers.log()[-1].degree == "sure"
