"""The report is one sound page that fetches nothing, escapes everything, and says what plain counting says."""

import dataclasses
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.candidates import CandidateSets
from oneof.errors import InputError, LabelError, MissingExtraError
from oneof.report import ReportData, facts, page, render_report, words, write_report

# NumPy's text arrays drop a NUL at the end of a label before anything of ours sees it.
TEXT = st.characters(exclude_characters="\x00")
VOID = {"meta", "link", "br", "path", "use", "rect", "img", "hr"}


def result(method, covering=0.9, approximated=0.8, accuracy=None, error=None):
    failed = error is not None
    return SimpleNamespace(
        method=method,
        covering_rate=None if failed else covering,
        covering_rate_std=None if failed else 0.012,
        approximated_accuracy=None if failed else approximated,
        approximated_accuracy_std=None if failed else 0.02,
        fit_seconds=None if failed else 0.25,
        accuracy=accuracy,
        accuracy_std=None if accuracy is None else 0.03,
        error=error,
    )


def curve(rates, n_rows=(50, 100, 200), std=0.01, accuracy=None):
    return SimpleNamespace(
        n_rows=np.array(n_rows),
        covering_rate=np.array(rates),
        covering_rate_std=np.full(len(rates), std),
        accuracy=accuracy,
        accuracy_std=None,
    )


def sample(names=("finch", "sparrow", "tit", "wren"), *, n=60, kinds=(1, 2, 3, None), truth=True, **changes):
    """Build a report of n rows whose sets cycle through the sizes `kinds`; None is unlabelled."""
    k = len(names)
    rng = np.random.default_rng(0)
    mask = np.zeros((n, k), dtype=bool)
    true = rng.integers(k, size=n)
    for i in range(n):
        size = kinds[i % len(kinds)] or k
        others = np.setdiff1d(np.arange(k), true[i])
        mask[i, [true[i], *rng.permutation(others)[: size - 1]]] = True
    shares = np.where(mask, rng.random((n, k)) + 0.1, 0)
    shares /= shares.sum(axis=1, keepdims=True)
    decided = shares.argmax(axis=1)
    classes = np.array(names, dtype=object)
    best = result("PLKNN", accuracy=0.85 if truth else None)
    values = {
        "title": "Birds", "source": "birds.csv", "candidates": CandidateSets(mask, classes),
        "comparison": SimpleNamespace(results=(best, result("CLPL", 0.8), result("IPAL", error="it broke")),
                                      winner="PLKNN", n_folds=5),
        "method": "PLKNN", "estimate": best, "learning_curve": curve([0.6, 0.7, 0.9]),
        "decisions": SimpleNamespace(labels=classes[decided], confidence=shares.max(axis=1)),
        "truth": classes[true] if truth else None,
        "preview": lambda row: {"wing": f"{row} mm", "song": "tsip"},
        "command": "oneof fit birds.csv --labels seen", "version": "9.8.7", "date": "2025-11-20",
    }  # fmt: skip
    return ReportData(**{**values, **changes})


class Page(HTMLParser):
    """Elements, their attributes and their text; fails where tags do not close in order."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID or (self.open and "svg" in self.open):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(f"{data} " if "dt" in self.open else data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join("".join(self.text).split())


SHAPES = {
    "usual": {},
    "two classes": {"names": ("no", "yes"), "kinds": (1, None)},
    "26 classes": {"names": tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "n": 200},
    "50 long names": {"names": tuple(f"Acrocephalus_schoenobaenus_{k}" for k in range(50)), "n": 200},
    "exact rows": {"kinds": (1,)},
    "partial rows": {"kinds": (2,)},
    "numbers": {"names": (0, 1, 2)},
    "no truth, one method": {"truth": False, "comparison": None, "learning_curve": None, "command": None},
    "no preview": {"preview": lambda _: {}},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_page_is_sound_and_fetches_nothing(shape):
    """Tags close, ids are unique, references resolve, tables have headers, pictures have names, nothing is external."""
    html = render_report(sample(**shape))
    found = Page(html)
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in found.elements:
        assert "src" not in attributes
        href = attributes.get("href", "#top")
        assert href == "data:," or href[0] == "#"
        references = [href[1:]] if "href" in attributes and href[0] == "#" else []
        references += attributes.get("aria-labelledby", "").split()
        for value in attributes.values():
            references += re.findall(r"url\(#([^)]*)\)", value or "")
        assert set(references) <= set(ids)
    assert not found.all("script")
    assert not re.search(r"https?:|@import|url\((?!#)", html)
    assert all("scope" in attributes for attributes in found.all("th"))
    assert all(attributes["role"] == "img" and attributes["aria-labelledby"] for attributes in found.all("svg"))
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_every_colour_of_the_pictures_is_defined_in_both_modes():
    """Light and dark mode define the same variables, and every variable used is among them."""
    html = render_report(sample())
    light, dark = (set(re.findall(r"(--[\w-]+):", block)) for block in re.findall(r":root \{(.*?)\}", html, re.DOTALL))
    assert light == dark
    assert set(re.findall(r"var\((--[\w-]+)\)", html)) <= light


NASTY = "<script>alert('x')</script>&amp;\"><img src=x onerror=y>"


def test_text_of_users_is_escaped():
    """Markup in labels, columns, cells, names, errors and the command is shown as text and is never an element."""
    names = (NASTY, "</svg><b>", "</style>", "{{ 7 * 7 }}")
    data = sample(
        names, title=NASTY, source=NASTY, method=NASTY, command=NASTY, version=NASTY, date=NASTY,
        comparison=SimpleNamespace(results=(result(NASTY), result("b", error=NASTY)), winner=NASTY, n_folds=2),
        preview=lambda _: {NASTY: NASTY, "{{ 1 }}": "{% raw %}"},
    )  # fmt: skip
    html = render_report(data)
    found = Page(html)
    usual = Page(render_report(sample()))
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in usual.elements}
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    assert "<script" not in html
    assert f"failed: {NASTY}" in found.words
    assert "{{ 7 * 7 }}" in found.words
    assert "49" not in re.findall(r"<bdi>(.*?)</bdi>", html)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.text(TEXT, max_size=90), min_size=3, max_size=5, unique=True), st.text())
def test_any_text_gives_a_sound_page_that_can_be_written(names, cell):
    """Whatever characters labels and cells hold, the page parses and can be encoded."""
    html = render_report(sample(tuple(names), n=12, preview=lambda _: {cell: cell}, learning_curve=None))
    Page(html)
    html.encode("utf-8")


@pytest.mark.parametrize("bad", ["\x00x", "\ud800", "\x1b[31m", "a\nb", "\u2028"])
def test_invisible_characters_do_no_harm(bad):
    """Control characters, lone surrogates and line breaks in labels and cells become harmless text."""
    html = render_report(sample((bad, "a", "b", "c"), preview=lambda _: {bad: bad}, command=bad, title=bad))
    Page(html)
    html.encode("utf-8")
    assert "\x00" not in html


def test_equal_data_give_equal_pages():
    """Rendering is a function of its data, and leaves no pyplot figure behind."""
    plt.close("all")
    assert render_report(sample()) == render_report(sample())
    assert plt.get_fignums() == []


def test_numbers_stand_in_the_page():
    """The headline, the methods, the failed one, the command and the version are there to be read."""
    text = Page(render_report(sample())).words.replace("\N{NO-BREAK SPACE}", " ")
    for part in (
        "PLKNN was chosen out of 3 methods", "90.0 % ± 1.2", "80.0 % ± 2.0", "85.0 % ± 3.0", "failed: it broke",
        "0.25 s", "5-fold", "oneof fit birds.csv --labels seen", "oneof 9.8.7 on 2025-11-20", "rose by 20.0 points",
        "rows 60", "exact: one label 15", "partial: one of several 30", "no label 15",
    ):  # fmt: skip
        assert part in text


def test_named_method_differs_from_the_winner():
    """Where the user named a method and others were compared, both are told."""
    text = Page(render_report(sample(method="CLPL"))).words
    assert "CLPL, the method you named; PLKNN was the best of" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_accuracy_is_shown_only_where_it_is_known():
    """Without a truth no column and no card speaks of the accuracy."""
    estimate = result("PLKNN")
    data = sample(truth=False, estimate=estimate, comparison=None)
    html = render_report(data)
    assert "<dt>Accuracy</dt>" not in html
    assert "true label</th>" not in html
    assert "<dt>Accuracy</dt>" in render_report(sample())


def test_without_matplotlib_the_numbers_stay(monkeypatch):
    """The page has no picture, says how to get them, and opens the tables instead."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = Page(render_report(sample()))
    assert not found.all("svg")
    assert "oneof[plots]" in found.words
    assert sum("open" in attributes for attributes in found.all("details")) == 4


def test_missing_jinja2_says_what_to_install(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page._template.cache_clear()
    with pytest.raises(MissingExtraError, match=r"oneof\[cli\]"):
        render_report(sample())


def test_report_replaces_a_file_at_once_or_not_at_all(tmp_path):
    """A report that fails leaves the old file and no scrap; one that succeeds is the rendered page."""
    target = tmp_path / "report.html"
    target.write_text("old")
    bad = sample()
    bad = dataclasses.replace(bad, decisions=SimpleNamespace(labels=["eagle"] * 60, confidence=np.ones(60)))
    with pytest.raises(LabelError):
        write_report(target, bad)
    assert target.read_text() == "old"
    write_report(target, sample())
    assert target.read_bytes() == render_report(sample()).encode("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_unwritable_path_is_one_sentence(tmp_path):
    """A folder that is absent, and a path that is a folder, are errors that name the path; no scrap stays."""
    with pytest.raises(InputError, match=r"absent.*cannot be written"):
        write_report(tmp_path / "absent" / "report.html", sample())
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"folder.*cannot be written"):
        write_report(tmp_path / "folder", sample())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "changes",
    [
        {"truth": ["finch"]},
        {"decisions": SimpleNamespace(labels=["finch"], confidence=np.ones(60))},
        {"decisions": SimpleNamespace(labels=["finch"] * 60, confidence=np.ones(2))},
    ],
)
def test_lengths_must_agree(changes):
    """Decisions and truth need one entry for each row."""
    with pytest.raises(InputError, match="for 60 rows"):
        dataclasses.replace(sample(), **changes)


def test_supervision_adds_up():
    """Exact, partial and unlabelled rows are all rows, and the mean size is that of the partial sets."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["a", "b", "c"], None, ["d"]])
    assert facts.supervision(y) == (5, 4, 2, 2, 1, 2.5, 1)


def test_baselines_are_what_constant_and_random_answers_cover():
    """The constant answer is the label in most sets; a guess covers the mean share of the classes."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["b"], ["a", "c"], None], classes=["a", "b", "c", "d"])
    found = facts.baseline(y)
    assert (found.constant, found.answer) == (0.75, "a")
    assert found.guess == pytest.approx(np.mean([1, 2, 1, 2]) / 4)
    assert facts.baseline(CandidateSets.from_sets([None, None], classes=["a", "b"])) is None


def test_truth_is_compared_where_it_is_known():
    """Shares equal plain counting: missing truths count nowhere, truths outside their set are never right."""
    sets = [["a", "b"], ["a", "b"], ["b", "c", "d"], None, None, ["a"], ["c", "d"], ["a"]]
    y = CandidateSets.from_sets(sets, classes=["a", "b", "c", "d", "e"])
    decided = ["a", "b", "c", "d", "e", "a", "c", "a"]
    truth = ["a", "a", "c", "d", "a", "e", None, "z"]
    found = facts.compare_with_truth(y, decided, truth)
    assert (found.n_known, found.outside) == (7, 2)
    assert (found.n_partial, found.right_partial) == (3, pytest.approx(2 / 3))
    assert found.chance_partial == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert (found.n_unlabelled, found.right_unlabelled) == (2, 0.5)
    assert facts.compare_with_truth(y, decided, [None] * 8) is None


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=40), st.integers(0, 12), st.randoms())
def test_least_sure_rows_are_open_and_in_order(sizes, limit, random):
    """No exact row is listed, each kind is ascending and the lowest of its kind, and all places are used."""
    mask = np.arange(4) < np.array(sizes)[:, None]
    confidence = np.array([random.random() for _ in sizes])
    partial, unlabelled = facts.least_sure(CandidateSets(mask, list("abcd")), confidence, limit)
    for kind, listed in (((2, 3), partial), ((4,), unlabelled)):
        every = sorted((confidence[i], i) for i, size in enumerate(sizes) if size in kind)
        assert listed.tolist() == [i for _, i in every[: len(listed)]]
    assert len(partial) + len(unlabelled) == min(limit, sum(size > 1 for size in sizes))
    if min(sum(size in kind for size in sizes) for kind in ((2, 3), (4,))) >= limit:
        assert len(unlabelled) == limit // 2


def test_unsure_rows_are_counted_from_zero_and_previewed():
    """Row i of the arrays is row i of the report, with the cells that the preview gives for i."""
    data = sample()
    columns, groups = facts.unsure_rows(data)
    assert columns == ["wing", "song"]
    for _, rows in groups:
        for row in rows:
            assert row.cells == [f"{row.number} mm", "tsip"]
            assert row.label == data.decisions.labels[row.number]
    listed = facts.unsure_rows(sample(preview=[{"wing": f"{row} mm", "song": "tsip"} for row in range(60)]))
    assert listed == (columns, groups)


@pytest.mark.parametrize(
    ("rates", "std", "says"),
    [
        ([0.5, 0.6, 0.8], 0.01, "should still help"),
        ([0.5, 0.6, 0.65], 0.10, "may help a little"),
        ([0.5, 0.8, 0.801], 0.01, "would help little"),
        ([0.5, 0.8, 0.7], 0.01, "fell by 10.0 points, more than"),
        ([0.5, 0.8, 0.7], 0.20, "within its spread"),
        ([np.nan, np.nan, 0.7], 0.20, "cannot say"),
        ([0.5, np.nan, 0.7], 0.01, "Between 50 and 200"),
    ],
)
def test_curve_is_read_by_its_last_doubling(rates, std, says):
    """The sentence follows the sign of the change and whether it exceeds the spread."""
    assert says in words.read_curve(curve(rates, std=std))
    shuffled = curve(rates[::-1], n_rows=(200, 100, 50), std=std)
    assert words.read_curve(shuffled) == words.read_curve(curve(rates, std=std))


@given(st.floats(0, 1e5))
def test_times_are_within_their_rounding(value):
    """A time as written, read back, is the time to two significant digits."""
    text = words.seconds(value).replace("\N{NO-BREAK SPACE}", " ")
    if value < 0.01:
        assert text == "< 0.01 s"
    else:
        number, unit = text.split()
        assert float(number.replace(",", "")) * {"s": 1, "min": 60}[unit] == pytest.approx(value, rel=0.0501)
