"""Appearance and accessibility of the page: a screen, a phone, long texts, the rules of WCAG 2.2 AA, keys and focus."""

import importlib.util
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.labeling.content.media import ImageFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.browser import ENTER, Page, needs_browser
from tests.labeling.conftest import CLASSES, N, label, make_rows
from tests.labeling.page_states import DESKTOP, PHONE, birds, emulate, make_images, make_tables, showing, states
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
        with showing(page, session):
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


def test_a_phone(page: Page, noted: LabelingSession) -> None:
    """At 360 pixels no element is wider than the screen, and every button is at least 44 pixels high."""
    with emulate(page, width=PHONE), showing(page, noted):
        assert page.run("return document.documentElement.scrollWidth") == PHONE
        for button in page.all(".candidate, #question .actions button"):
            assert button.size["height"] >= 44
        assert page.one("#accept").rect["y"] < 740
        page.all(".candidate")[0].click()
        page.settle(page.one("#accept").click)


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
        emulate(page, width=width, height=height),
        showing(page, session),
    ):
        page.all(".candidate")[0].click()
        row, panel = (page.run(BOX, page.one(one)) for one in (".side-by-side", "#answering"))
        assert row["height"] >= 160
        assert row["bottom"] <= panel["top"]
        for position in (0, 150):
            page.run("window.scrollTo(0, arguments[0])", position)
            hidden = page.run(HIDDEN, "#degrees button, #question .actions button", n_labels)
            assert hidden == []


def test_a_low_window(page: Page, noted: LabelingSession) -> None:
    """At 740 x 360 pixels, as on a phone held horizontally, labels and buttons scroll with the row."""
    with emulate(page, width=740, height=360), showing(page, noted):
        position = "return getComputedStyle(arguments[0]).position"
        assert page.run(position, page.one("#answering")) == "static"


def test_a_selected_label_is_scrolled_into_view(page: Page) -> None:
    """A label that is selected by its name, and that of an answer that is opened again, is visible."""
    classes = [f"kind {k:02d}" for k in range(60)]
    with (
        LabelingSession(make_rows(N)[0], classes=classes, random_state=0) as session,
        emulate(page, width=1280, height=800),
        showing(page, session),
    ):
        page.press("/", *"kind 57", ENTER)
        visible = """
        const label = document.querySelector('.candidate[aria-pressed=true]');
        const list = document.querySelector('#candidates');
        const [inner, outer] = [label.getBoundingClientRect(), list.getBoundingClientRect()];
        return inner.top >= outer.top && inner.bottom <= outer.bottom && window.scrollY === 0;"""
        assert page.run(visible)
        page.settle(lambda: page.press(ENTER))
        assert page.run("return document.querySelector('#candidates').scrollTop") == 0
        page.settle(lambda: page.press("u"))
        assert page.ticked() == ["kind 57"]
        assert page.run(visible)


def test_the_quality_is_compared_with_random_labels(page: Page, noted: LabelingSession) -> None:
    """The rate stands with its interval and with the rate of random labels, which a line of the curve marks."""
    _, truth = make_rows(N)
    for _ in range(60):
        label(noted, truth, 1, annotator="Ann")
        noted.train()
    with showing(page, noted):
        estimate = noted.estimate()
        assert estimate.chance == pytest.approx(1 / 3)
        assert estimate.low > estimate.chance
        assert page.one("#interval").text == f"95% interval: {estimate.low:.0%} to {estimate.high:.0%}"
        assert page.one("#chance").text == "Better than random labels (33%)."
        assert len(page.all("#curve .chance")) == 1


def test_names_and_roles(page: Page, noted: LabelingSession) -> None:
    """Labels have a pressed state, and new content is announced; names and contrast are checked by axe-core."""
    with showing(page, noted):
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
    if not page.run("return window.axe !== undefined"):
        assert AXE is not None
        page.run((Path(str(AXE.origin)).parent / "axe.min.js").read_text())
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
    """Table rows with many labels, long texts, images, and images that cannot be displayed violate no rule."""
    with make_wide() as session, showing(page, session):
        assert violations(page) == []
        page.one("#shorten").click()
        assert violations(page) == []
    with make_tables() as session, showing(page, session, title="とり", annotator="あんな"):
        assert violations(page) == []
        page.press("1", "2")
        assert violations(page) == []
    images = ImageFolder(tmp_path)
    with make_images(tmp_path) as session, showing(page, session, "あんな", title="とり", images=images):
        seen = set()
        while len(seen) < 2:
            page.until(lambda: page.all("#item .alert") or page.one("#item img").get_property("naturalWidth"))
            if page.all("#item .alert"):
                assert "cannot be displayed" in page.one("#item").text
            else:
                assert page.one("#item img").get_attribute("alt").endswith(f"{page.row()}: みどり.png")
            if (page.row() % 2) not in seen:
                assert violations(page) == []
            seen.add(page.row() % 2)
            page.settle(lambda: page.press("s"))
    page.browser.get_log("browser")  # messages of the browser about the missing images


def test_changed_keys(page: Page, birds: LabelingSession) -> None:
    """Another key is stored, shown and used; a digit and the key of another action are rejected with a sentence."""
    with showing(page, birds, annotator="あんな"):
        set_key(page, "skip", "x")
        assert page.one("#settings-message").text == "Skip: key x."
        set_key(page, "skip", "n")
        assert page.one("#settings-message").text == "The key n is already used for “None of these”."
        set_key(page, "skip", "1")
        assert page.one("#settings-message").text == "Digits select labels and cannot be used here."
        assert page.one("#keys [data-action=skip]").get_property("value") == "x"
        set_key(page, "accept", "a")
        page.one("#settings-close").click()
        page.reload()
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


def test_keys_can_be_switched_off(page: Page, birds: LabelingSession) -> None:
    """Without shortcuts no key of the page has an effect, no key is shown, and every action remains possible."""
    with showing(page, birds, annotator="あんな"):
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


def set_key(page: Page, action: str, key: str) -> None:
    """Type a key in the field of an action in the settings."""
    if not page.one("#settings").is_displayed():
        page.one("#settings-open").click()
    page.one(f"#keys [data-action={action}]").send_keys(key)


def test_colors_of_the_settings(page: Page, birds: LabelingSession) -> None:
    """Light and dark colors can be selected against those of the system, and are stored."""
    script = "return getComputedStyle(document.body).backgroundColor"
    with emulate(page, prefers_color_scheme="dark"), showing(page, birds, annotator="あんな"):
        dark = page.run(script)
        page.one("#settings-open").click()
        page.one("#colors [value=light]").click()
        light = page.run(script)
        assert light != dark
        page.reload()
        assert page.run(script) == light


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
                name, outlined, shown = page.run(script)
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
    with showing(page, birds, annotator="あんな"):
        page.one(".candidate").click()
        page.settle(lambda: page.press(ENTER))
        assert page.run(focused) == "question"
        page.press("1")
        page.settle(page.one("#accept").click)
        assert page.run(focused) == "question"
        page.settle(page.one("#skip").click)
        assert page.run(focused) == "skip"


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
            assert page.run(border) >= 3
        with emulate(page, prefers_reduced_motion="no-preference"):
            assert page.run(moving) > 0
        with emulate(page, prefers_reduced_motion="reduce"):
            assert page.run(moving) == 0


def test_controls_do_not_overflow(page: Page, birds: LabelingSession) -> None:
    """At 320 pixels, as with a zoom of 400 %, no control or heading is too wide; wide tables are scrolled."""
    with emulate(page, width=320), serving(birds, title="とり", annotator="あんな") as server:
        for state in states(page, birds, server.link):
            assert page.run(OVERFLOWING) == [320, []], state


N_COLUMNS = 30
LONG = "the sparrow was calling from a hedge near the road " * 20
TEXT = " ".join([LONG.strip()] * 10)
HEIGHT = "return document.querySelector(arguments[0]).getBoundingClientRect().height"
CUT = """return [...document.querySelectorAll(arguments[0])].filter((e) => {
  const [box, style] = [e.getBoundingClientRect(), getComputedStyle(e)];
  return e.scrollHeight > e.clientHeight + 1 && style.overflowY !== 'visible' && box.height > 0;
}).length"""


def make_wide() -> LabelingSession:
    """Return a session of 30 columns, of which one has long texts; some labels are not candidates."""
    rows, truth = make_rows(20)
    columns = {"segment_identifier": [f"seg_{i}" for i in range(20)], "notes": [f"{i} {LONG}" for i in range(20)]}
    columns |= {f"mfcc_{j:02d}_mean": [f"{value:.3f}" for value in rows[:, j % 3]] for j in range(N_COLUMNS - 3)}
    columns["site"] = ["hill"] * 20
    start = CandidateSets.from_sets([CLASSES if i % 2 else CLASSES[:2] for i in range(20)], classes=CLASSES)
    session = LabelingSession(rows, start, table=LabelTable(pl.DataFrame(columns), "kind"), random_state=0)
    for row in range(10):
        session.answer(session.question_for(row), CLASSES[truth[row]])
    session.train()
    return session


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_full_text_of_a_cell(page: Page, width: int) -> None:
    """A cell has its whole text, not cut, in 30 columns; the page fits the window, and names are not broken."""
    with make_wide() as session, emulate(page, width=width), showing(page, session):
        row = page.row()
        cells = [cell.get_attribute("textContent") for cell in page.all("#item td.this")]
        assert cells[:2] == [f"seg_{row}", f"{row} {LONG}"]
        assert len(cells) == N_COLUMNS
        assert page.run(CUT, "#item .cell") == 0
        assert page.run("return document.documentElement.scrollWidth") <= width
        names = page.all("#item th[scope=row]")
        assert names[0].text == "segment_identifier"
        lines = "return arguments[0].firstChild.getClientRects().length"
        assert page.run(lines, names[0]) == 1
        readable = page.one("#item td.this").size["width"]
        assert readable >= (240 if width == DESKTOP else 120)


def test_the_table_follows_the_width(page: Page) -> None:
    """The same table has a column of names on a desktop, and a line for each name on a phone, also after a change."""
    with make_wide() as session, showing(page, session):
        n_lines = 1 + N_COLUMNS
        assert len(page.all("#item tr")) == n_lines
        with emulate(page, width=PHONE):
            page.until(lambda: len(page.all("#item tr")) == n_lines + N_COLUMNS)
            assert {cell.get_attribute("colspan") for cell in page.all("#item th[scope=row]")} == {"4"}
        page.until(lambda: len(page.all("#item tr")) == n_lines)


def test_texts_are_shortened_on_request(page: Page) -> None:
    """Texts are shown in full at first; a switch shortens them, also after a reload, and shows them again."""
    with make_wide() as session, showing(page, session):
        full = page.run(HEIGHT, "#item tbody tr:nth-child(2)")
        assert not page.one("#shorten").is_selected()
        page.one("#shorten").click()
        short = page.run(HEIGHT, "#item tbody tr:nth-child(2)")
        assert short < full / 2
        page.reload()
        assert page.one("#shorten").is_selected()
        assert page.run(HEIGHT, "#item tbody tr:nth-child(2)") == short
        page.one("#shorten").click()
        assert page.run(HEIGHT, "#item tbody tr:nth-child(2)") == full


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_long_text_and_the_buttons(page: Page, width: int) -> None:
    """A text of several screens is not cut, and the buttons of the answer are visible while it is read."""
    table = LabelTable(pl.DataFrame({"note": [TEXT] * 6}), "kind", "text", "note")
    options = {"classes": CLASSES, "table": table, "strategy": "random"}
    with LabelingSession(np.eye(6), **options) as session, emulate(page, width=width), showing(page, session):
        assert page.one("#item .text").text == TEXT
        assert page.run(CUT, "#item .text") == 0
        for position in (0, 600):
            page.run("window.scrollTo(0, arguments[0])", position)
            top, bottom = page.run(
                "const box = document.querySelector('#accept').getBoundingClientRect(); return [box.top, box.bottom]"
            )
            assert 0 < top < bottom <= 740


def test_the_key_of_the_colors(page: Page) -> None:
    """It explains exactly the colors and lines of the question: its row, neighbors, equal values, bars and dashes."""
    with make_wide() as session, showing(page, session):
        samples = [sample.get_attribute("class").split()[1] for sample in page.all("#color-key .sample")]
        has_outside = bool(page.all(".candidate.outside"))
        assert samples == ["row", "neighbor", "same", "proba"] + ["outside"] * has_outside
        color = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
        assert page.run(color, ".sample.row") == page.run(color, "#item .this")
    table = LabelTable(pl.DataFrame({"note": ["a"] * 6}), "kind", "text", "note")
    begun = LabelingSession(np.eye(6), classes=CLASSES, table=table, strategy="random")
    with begun as session, showing(page, session):
        assert not page.one("#color-key").is_displayed()
        assert not page.one("#shorten-choice").is_displayed()
