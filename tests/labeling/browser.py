"""A real browser, and the actions of a person in it."""

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
DRIVER = shutil.which("chromedriver")
ENTER = "\ue007"
needs_browser = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("selenium") is None, reason="selenium is not installed"),
    pytest.mark.skipif(BROWSER is None, reason="no browser found among " + ", ".join(BROWSERS)),
    pytest.mark.skipif(DRIVER is None, reason="chromedriver is not installed"),
]


def open_browser(saved: Path) -> Any:
    """Start a headless browser with a download folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.saved = saved
    return driver


class Page:
    """Content of the page, and actions on it."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, link: str) -> None:
        self.browser.get(link)
        self.until(lambda: self.title() != "" and not self.busy())

    def reload(self) -> None:
        self.browser.refresh()
        self.until(lambda: self.all(".candidate"))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def until(self, holds: Callable[[], Any]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60, poll_frequency=0.02).until(lambda _: holds())

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def title(self) -> str:
        return self.one("#annotator").get_attribute("value")

    def busy(self) -> bool:
        return self.one("body").get_attribute("aria-busy") is not None

    def row(self) -> int:
        return int(self.one("#reason").text.split()[1].strip(","))

    def alert(self) -> str:
        return self.one("#alert").text

    def answered(self) -> str:
        return self.one("#progress-words").text

    def ticked(self) -> list[str]:
        return [button.find_element("css selector", ".label").text for button in self.all('[aria-pressed="true"]')]

    def history(self) -> list[str]:
        return [line.text.splitlines()[0] for line in self.all("#history li")]

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        chain = ActionChains(self.browser)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def state(self) -> tuple[bool, str]:
        """Return whether a request is running, and the last announced text."""
        script = "return [document.body.ariaBusy === 'true', document.getElementById('status').textContent]"
        return tuple(self.browser.execute_script(script))

    def settle(self, act: Callable[[], None]) -> None:
        """Do an action that sends a request, and wait for the response."""
        _, before = self.state()
        act()
        self.until(lambda: self.state() not in ((True, before), (False, before)) and not self.state()[0])
