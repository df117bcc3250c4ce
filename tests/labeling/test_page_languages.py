"""Languages of the page in a real browser: complete, chosen by link or browser, and without overflowing controls."""

import json
import shutil
from pathlib import Path

import pytest

from oneof.labeling.http import app
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import Page, needs_browser
from tests.labeling.page_states import birds, emulate, states
from tests.labeling.serving import serving
from tests.labeling.test_strings import TABLES

pytestmark = needs_browser
__all__ = ["birds"]  # a fixture
TEXTS = """
const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const isData = element.closest('code, kbd, noscript, [translate=no], span[lang]');
  if (!isData && element.checkVisibility()) texts.push(walker.currentNode.data);
}
for (const element of document.querySelectorAll('[aria-label], [title], [alt]')) {
  if (element.closest('[translate=no]')) continue;
  for (const name of ['aria-label', 'title', 'alt']) texts.push(element.getAttribute(name) ?? '');
}
return texts.filter((text) => /[A-Za-z]{2}/.test(text.replaceAll(' or ', ' ')));  // the browser has the word of a list
"""
OVERFLOWING = """
const wide = [...document.querySelectorAll('button, a, input, h1, h2, h3, label, header *, th, .note')].filter((e) => {
  if (!e.checkVisibility() || e.matches('.summary')) return false;
  if (e.closest('.visually-hidden, .side-by-side, .wide')) return false;
  const {left, right} = e.getBoundingClientRect();
  const isCut = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline';
  return left < 0 || right > window.innerWidth + 0.5 || isCut;
});
return [document.documentElement.scrollWidth, wide.map((e) => e.id || e.outerHTML)];
"""


@pytest.fixture
def page_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Serve a copy of the page's files, and return its folder."""
    copy = tmp_path / "page"
    shutil.copytree(app._PAGE, copy)
    monkeypatch.setattr(app, "_PAGE", copy)
    return copy


def without_latin(text: str) -> str:
    """Return a text with fullwidth letters, apart from the names of its values."""
    wide, is_name = "", False
    for letter in text:
        is_name = letter == "{" or (is_name and letter != "}")
        wide += chr(ord(letter) + 0xFEE0) if letter.isascii() and letter.isalpha() and not is_name else letter
    return wide


def test_no_text_outside_the_table(page: Page, birds: LabelingSession, page_copy: Path) -> None:
    """With a table in fullwidth letters no Latin word is visible or read out in any state of the page."""
    table = {
        key: without_latin(entry) if isinstance(entry, str) else {form: without_latin(t) for form, t in entry.items()}
        for key, entry in TABLES["en"].items()
    }
    (page_copy / "strings" / "en.json").write_text(json.dumps(table))
    with serving(birds, title="とり", annotator="あんな") as server:
        for state in states(page, birds, server.link):
            assert page.browser.execute_script(TEXTS) == [], state


@pytest.mark.parametrize("language", TABLES)
def test_controls_do_not_overflow(page: Page, birds: LabelingSession, language: str) -> None:
    """At 320 pixels, as with a zoom of 400 %, no control or heading is too wide; wide tables are scrolled."""
    with emulate(page, width=320), serving(birds, title="とり", annotator="あんな") as server:
        for state in states(page, birds, f"{server.link}?lang={language}"):
            assert page.browser.execute_script(OVERFLOWING) == [320, []], state
            assert page.one("html").get_attribute("lang") == language


def test_the_language_of_the_browser(page: Page, birds: LabelingSession) -> None:
    """Without a language in the link, the first language of the browser that has a table is used."""
    agent = page.browser.execute_script("return navigator.userAgent")
    with serving(birds, annotator="あんな") as server:
        for accepted, query, language in (
            ("nl,fr-CA,en", "", "fr"),
            ("nl", "", "en"),
            ("fr", "?lang=de", "de"),
            ("fr", "?lang=xx", "fr"),
        ):
            override = {"userAgent": agent, "acceptLanguage": accepted}
            page.browser.execute_cdp_cmd("Emulation.setUserAgentOverride", override)
            page.open(server.link + query)
            assert page.one("html").get_attribute("lang") == language
            assert page.one("#ask").text == TABLES[language]["question.ask"]
        override = {"userAgent": agent, "acceptLanguage": "en"}
        page.browser.execute_cdp_cmd("Emulation.setUserAgentOverride", override)


def test_numbers_have_the_format_of_the_language(page: Page, birds: LabelingSession) -> None:
    """Plural forms, separators and percent signs are those of the language."""
    script = """
    const strings = await import('./strings.js');
    return [strings.number(1234567.891, 2), strings.percent(0.5), strings.text('question.fitted', {n: 0}),
            strings.text('question.fitted', {n: 1}), strings.text('question.fitted', {n: 1000000}),
            strings.either(['a', 'b', 'c'])];
    """
    expected = {
        "en": ["1,234,567.89", "50%", "Fitted on 0 rows.", "Fitted on 1 row.", "Fitted on 1,000,000 rows."],
        "de": ["1.234.567,89", "50 %", "Auf 0 Zeilen trainiert.", "Auf 1 Zeile trainiert."],
        "fr": ["1 234 567,89", "50 %", "Modèle ajusté sur 0 ligne.", "Modèle ajusté sur 1 ligne."],
    }
    expected["de"].append("Auf 1.000.000 Zeilen trainiert.")
    expected["fr"].append("Modèle ajusté sur 1 000 000 lignes.")
    lists = {"en": "a, b, or c", "de": "a, b oder c", "fr": "a, b ou c"}
    with serving(birds, annotator="あんな") as server:
        for language, results in expected.items():
            page.open(f"{server.link}?lang={language}")
            written = page.browser.execute_async_script(
                f"const done = arguments[0]; (async () => {{ {script} }})().then(done, (e) => done(String(e)))"
            )
            unbreakable = str.maketrans("\u00a0\u202f", "  ")  # browsers differ in the width of the space
            assert [text.translate(unbreakable) for text in written] == [*results, lists[language]]
