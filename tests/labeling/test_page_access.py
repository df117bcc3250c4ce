"""Accessibility of the page: the rules of WCAG 2.2 AA in every state, keys, focus and forced colors."""

import importlib.util
from itertools import product
from pathlib import Path

import pytest

from oneof.labeling.content.media import ImageFolder
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.page_states import DESKTOP, PHONE, birds, emulate, make_images, make_tables, states
from tests.labeling.serving import serving

pytestmark = needs_browser
__all__ = ["birds"]  # a fixture
AXE = importlib.util.find_spec("axe_playwright_python")
TAB, SPACE = "\ue004", " "
needs_axe = pytest.mark.skipif(AXE is None, reason="axe-playwright-python, which has axe-core, is not installed")
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
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page) -> list[str]:
    """Return the violations that axe-core finds, at both widths and in both color schemes."""
    script = """
    const [rules, done] = arguments;
    const named = {'label-content-name-mismatch': {enabled: true}, 'target-size': {enabled: true}};
    axe.run(document, {runOnly: rules, rules: named, resultTypes: ['violations']}).then(
      ({violations}) => done(violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html} ${n.failureSummary}`))),
      (error) => done([String(error)]));
    """
    if not page.browser.execute_script("return window.axe !== undefined"):
        assert AXE is not None
        page.browser.execute_script((Path(str(AXE.origin)).parent / "axe.min.js").read_text())
    found = []
    for width, scheme in product((DESKTOP, PHONE), ("light", "dark")):
        # A window in which all is visible: a button behind the actions, which stay at the bottom of a phone, can be
        # scrolled, but has too small a target for axe-core.
        with emulate(page, width=width, height=3000, prefers_color_scheme=scheme):
            lines = page.browser.execute_async_script(script, RULES)
        found += [f"{width} {scheme} {line}" for line in lines]
    return found


@needs_axe
def test_every_state(page: Page, birds: LabelingSession) -> None:
    """No state of the page violates a rule of axe-core."""
    with serving(birds, title="とり", annotator="あんな") as server:
        for state in states(page, birds, server.link):
            assert violations(page) == [], state


@needs_axe
def test_tables_and_images(page: Page, tmp_path: Path) -> None:
    """Table rows with many labels, images, and images that cannot be displayed violate no rule."""
    with make_tables() as session, serving(session, title="とり", annotator="あんな") as server:
        page.open(server.link)
        assert violations(page) == []
        page.press("1", "2")
        assert violations(page) == []
    with (
        make_images(tmp_path) as session,
        serving(session, title="とり", annotator="あんな", images=ImageFolder(tmp_path)) as server,
    ):
        page.open(server.link)
        seen = set()
        while len(seen) < 2:
            page.until(lambda: page.all("#item .alert") or page.one("#item img").get_property("naturalWidth"))
            if (page.row() % 2) not in seen:
                assert violations(page) == []
            seen.add(page.row() % 2)
            page.settle(lambda: page.press("s"))
    page.browser.get_log("browser")  # messages of the browser about the missing images


def test_changed_keys(page: Page, birds: LabelingSession) -> None:
    """Another key is stored, shown and used; a digit and the key of another action are rejected with a sentence."""
    with serving(birds, annotator="あんな") as server:
        page.open(server.link)
        set_key(page, "skip", "x")
        assert page.one("#settings-message").text == "Skip: key x."
        set_key(page, "skip", "n")
        assert page.one("#settings-message").text == "The key n is already used for “None of these”."
        set_key(page, "skip", "1")
        assert page.one("#settings-message").text == "Digits select labels and cannot be used here."
        assert page.one("#keys [data-action=skip]").get_property("value") == "x"
        set_key(page, "accept", "a")
        page.one("#settings-close").click()
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert page.one("#skip kbd").text == "x"
        assert page.one("#skip").get_attribute("aria-keyshortcuts") == "x"
        page.press("s")
        page.settle(lambda: page.press("x"))
        page.settle(lambda: page.press("1", "a"))
        assert [entry.kind for entry in birds.answers.log()] == ["skip", "one of"]
        page.one("#settings-open").click()
        page.one("#keys-reset").click()
        page.one("#settings-close").click()
        page.settle(lambda: page.press("s"))
        page.browser.execute_script("localStorage.clear()")


def test_keys_can_be_switched_off(page: Page, birds: LabelingSession) -> None:
    """Without shortcuts no key of the page has an effect, no key is shown, and every action remains possible."""
    with serving(birds, annotator="あんな") as server:
        page.open(server.link)
        page.one("#settings-open").click()
        page.one("#use-shortcuts").click()
        page.one("#settings-close").click()
        page.press("1", ENTER, "d", "s", "n", "u")
        assert page.ticked() == []
        assert birds.answers.log() == []
        assert not any(key.is_displayed() for key in page.all("kbd"))
        assert page.all("[aria-keyshortcuts]") == []
        page.press(TAB, TAB, SPACE)  # the text of the row, and the first label
        page.settle(page.one("#accept").click)
        assert [entry.labels for entry in birds.answers.log()] == [(0,)]
        page.browser.execute_script("localStorage.clear()")


def set_key(page: Page, action: str, key: str) -> None:
    """Type a key in the field of an action in the settings."""
    if not page.one("#settings").is_displayed():
        page.one("#settings-open").click()
    page.one(f"#keys [data-action={action}]").send_keys(key)


def test_colors_of_the_settings(page: Page, birds: LabelingSession) -> None:
    """Light and dark colors can be selected against those of the system, and are stored."""
    script = "return getComputedStyle(document.body).backgroundColor"
    with serving(birds, annotator="あんな") as server, emulate(page, prefers_color_scheme="dark"):
        page.open(server.link)
        dark = page.browser.execute_script(script)
        page.one("#settings-open").click()
        page.one("#colors [value=light]").click()
        light = page.browser.execute_script(script)
        assert light != dark
        page.browser.refresh()
        page.until(lambda: page.all(".candidate"))
        assert page.browser.execute_script(script) == light
        page.browser.execute_script("localStorage.clear()")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_focus_is_visible(page: Page, birds: LabelingSession, width: int) -> None:
    """Each control can be reached by Tab, has an outline then, and is not behind another element."""
    script = """
    const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    return [e.id || e.className || e.tagName, outlined, at !== null && (e.contains(at) || at.contains(e))];
    """
    with serving(birds, annotator="あんな") as server:
        for _ in states(page, birds, server.link):
            if page.all("#conflicts button"):
                break
        with emulate(page, width=width):
            page.one("#annotator").click()
            names = []
            for _ in range(60):
                page.press(TAB)
                name, outlined, shown = page.browser.execute_script(script)
                if name == "BODY":
                    break
                names.append(name)
                assert outlined, name
                assert shown, name
        assert len(names) > 15
        assert {"settings-open", "candidate", "unknown", "undo", "informed"} <= set(names)


def test_the_focus_is_kept(page: Page, birds: LabelingSession) -> None:
    """A control that disappears or is disabled by an answer leaves the focus to the question, not to the page."""
    focused = "return document.activeElement.id"
    with serving(birds, annotator="あんな") as server:
        page.open(server.link)
        page.one(".candidate").click()
        page.settle(lambda: page.press(ENTER))
        assert page.browser.execute_script(focused) == "question"
        page.press("1")
        page.settle(page.one("#accept").click)
        assert page.browser.execute_script(focused) == "question"
        page.settle(page.one("#skip").click)
        assert page.browser.execute_script(focused) == "skip"


def test_forced_colors_and_reduced_motion(page: Page, birds: LabelingSession) -> None:
    """With forced colors a selected label has a thicker border; with reduced motion nothing moves."""
    border = "return parseFloat(getComputedStyle(document.querySelector('[aria-pressed=true]')).borderTopWidth)"
    moving = """return [...document.querySelectorAll('*')].filter((e) => {
      const style = getComputedStyle(e);
      return style.animationName !== 'none' || !/^(0s(, )?)+$/.test(style.transitionDuration);
    }).length"""
    with make_tables() as session, serving(session, annotator="あんな") as server:
        with emulate(page, forced_colors="active"):
            page.open(server.link)
            page.press("1")
            assert page.browser.execute_script(border) >= 3
        with emulate(page, prefers_reduced_motion="no-preference"):
            assert page.browser.execute_script(moving) > 0
        with emulate(page, prefers_reduced_motion="reduce"):
            assert page.browser.execute_script(moving) == 0


def test_controls_do_not_overflow(page: Page, birds: LabelingSession) -> None:
    """At 320 pixels, as with a zoom of 400 %, no control or heading is too wide; wide tables are scrolled."""
    with emulate(page, width=320), serving(birds, title="とり", annotator="あんな") as server:
        for state in states(page, birds, server.link):
            assert page.browser.execute_script(OVERFLOWING) == [320, []], state
