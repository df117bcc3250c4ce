"""The report is one valid page that loads nothing and escapes all text, in a file that is written atomically."""

import dataclasses
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.audit import find_label_issues
from oneof.audit.accuracy import AccuracyEstimate
from oneof.comparison import MethodResult
from oneof.comparison.results import FoldResult
from oneof.errors import InputError, MissingExtraError
from oneof.report import (
    DisputedRow,
    choose_headline,
    page,
    render_audit,
    render_report,
    statistics,
    table_preview,
    templating,
    write_report,
)
from tests.report.data import annotators, comparison, curve, result, sample

# NumPy's text arrays drop a NUL at the end of a label.
TEXT = st.characters(exclude_characters="\x00")
VOID = {"meta", "link", "br", "path", "use", "rect", "img", "hr"}


class Page(HTMLParser):
    """Elements, their attributes and their text; an error if tags do not close in order."""

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


def words_of(**changes):
    """Return the text of the page of a sample, with ordinary spaces."""
    return Page(render_report(sample(**changes))).words.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture
def without_figures(monkeypatch):
    """Draw no figures, which take most of the time of a page."""
    monkeypatch.setattr(page, "draw_figures", lambda _: [])


SHAPES = {
    "usual": {},
    "two classes": {"names": ("no", "yes"), "kinds": (1, None)},
    "26 classes": {"names": tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "n": 200},
    "50 long names": {"names": tuple(f"Acrocephalus_schoenobaenus_{k}" for k in range(50)), "n": 200},
    "exact rows": {"kinds": (1,)},
    "partial rows": {"kinds": (2,)},
    "numbers": {"names": (0, 1, 2)},
    "no truth, one method": {
        "truth": False, "comparison": comparison(result("PLKNN")), "learning_curve": None, "command": None,
    },
    "no preview": {"preview": lambda _: {}},
    "weights": {"weighted": True},
    "annotators": {"weighted": True, "annotators": annotators()},
    "100 annotators": {"weighted": True, "annotators": annotators(100)},
    "no disputed row": {"annotators": annotators(1, copies=[], disputed=[], alpha=float("nan"))},
    "weights of two classes": {"names": ("no", "yes"), "kinds": (1, 2, None), "weighted": True},
    "weights of 26 classes": {"names": tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "n": 200, "weighted": True},
    "one split, methods left out": {
        "learning_curve": None,
        "comparison": comparison(
            result("PLKNN"), result("CLPL", incomplete="left out: about 1 h estimated"), n_folds=1
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_page_is_valid_and_loads_nothing(shape):
    """Tags close, ids are unique, references resolve, tables have headers, figures have names, no URL is external."""
    html = render_report(sample(**shape))
    page = Page(html)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        assert "src" not in attributes
        href = attributes.get("href", "#top")
        assert href == "data:," or href[0] == "#"
        references = [href[1:]] if "href" in attributes and href[0] == "#" else []
        references += attributes.get("aria-labelledby", "").split()
        for value in attributes.values():
            references += re.findall(r"url\(#([^)]*)\)", value or "")
        assert set(references) <= set(ids)
    assert not page.all("script")
    assert not re.search(r"https?:|@import|url\((?!#)", html)
    assert all("scope" in attributes for attributes in page.all("th"))
    assert all(attributes["role"] == "img" and attributes["aria-labelledby"] for attributes in page.all("svg"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_every_color_of_the_figures_is_defined_in_both_modes():
    """Light and dark mode define the same variables, and they include every used variable."""
    html = render_report(sample())
    light, dark = (set(re.findall(r"(--[\w-]+):", block)) for block in re.findall(r":root \{(.*?)\}", html, re.DOTALL))
    assert light == dark
    assert set(re.findall(r"var\((--[\w-]+)\)", html)) <= light


NASTY = "<script>alert('x')</script>&amp;\"><img src=x onerror=y>"


def test_text_of_users_is_escaped():
    """Markup in labels, columns, cells, names, errors and the command is text and never an element."""
    names = (NASTY, "</svg><b>", "</style>", "{{ 7 * 7 }}")
    data = sample(
        names, title=NASTY, source=NASTY, command=NASTY, version=NASTY, date=NASTY, features=[NASTY], findings=[NASTY],
        comparison=comparison(result(NASTY), result("b", error=NASTY), result("c", incomplete=NASTY)),
        preview=lambda _: {NASTY: NASTY, "{{ 1 }}": "{% raw %}"},
        annotators=annotators(
            names=[NASTY, "$x_{y$", "{{ 8 }}"], disputed=[DisputedRow(0, NASTY, NASTY, NASTY, 0.5, NASTY)]
        ),
    )  # fmt: skip
    html = render_report(data)
    page = Page(html)
    usual = Page(render_report(sample()))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in usual.elements}
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "<script" not in html
    assert f"failed: {NASTY}" in page.words
    assert "{{ 7 * 7 }}" in page.words
    assert "49" not in re.findall(r"<bdi>(.*?)</bdi>", html)


def test_the_page_describes_the_annotators():
    """It has the accuracies by increasing value, their intervals, the agreement, copies, and the disputed rows."""
    words = words_of(weighted=True, annotators=annotators())
    assert "46 answers of 4 annotators" in words
    assert "Krippendorff's alpha is 0.42" in words
    lines = re.findall(r"worker (\d) ?\d\d ?(\d\d\.\d %) ?(\d\d\.\d %) to (\d\d+\.\d %)", words)
    assert [line[0] for line in lines] == ["3", "2", "1", "0"]
    assert lines[0][1:] == ("30.0 %", "20.0 %", "40.0 %")
    assert "may copy worker 1" in words
    assert "no better than chance" in words
    assert "b7" in words
    assert "Annotators" not in words_of()
    few = words_of(annotators=annotators(100))
    assert "Shown are the 40 annotators" in few
    assert "worker 50" not in few
    unknown = words_of(annotators=annotators(accuracy=np.full(4, np.nan)))
    assert ("Accuracies of the annotators" in words, "Accuracies of the annotators" in unknown) == (True, False)


@pytest.mark.usefixtures("without_figures")
def test_accuracies_by_class_are_shown_if_they_differ():
    """The table marks the accuracy that differs; pairs of annotators are listed by increasing kappa."""
    words = [words_of(annotators=annotators(specialist=different)) for different in (True, False)]
    assert "Accuracy by class" not in words[1]
    assert re.search(r"worker 0 ?95 % ?90 % to 100 % ?25 % ?\* ?20 % to 30 %", words[0])
    assert "differs by class" in words[0]
    for text in words:
        assert "Check the answers." in text
        pairs = re.findall(r"worker (\d) and worker (\d) ?12 ?\d\d % ?(0\.\d\d)", text)
        assert len(pairs) == 6
        assert [pair[2] for pair in pairs] == sorted(pair[2] for pair in pairs)
    many = words_of(annotators=annotators(100))
    assert "Shown are the 20 of 4,950 pairs" in many


@pytest.mark.usefixtures("without_figures")
def test_the_page_says_what_candidates_and_labels_of_answers_are():
    """With annotators, the weights are those of the answers; rows that are almost certain are not listed."""
    data = sample(weighted=True, annotators=annotators())
    words = Page(render_report(data)).words
    assert "weights by the answers alone. Label and confidence are estimated from the answers and the features" in words
    assert "by the answers alone" not in words_of(weighted=True)
    confidence = np.where(np.arange(60) == 2, 0.994, 0.996)  # row 2 is partial
    certain = dataclasses.replace(data, decisions=SimpleNamespace(labels=data.decisions.labels, confidence=confidence))
    [(_, listed)] = statistics.uncertain_rows(certain)[1]
    assert [row.number for row in listed] == [2]
    confidence[2] = 1.0
    assert statistics.uncertain_rows(certain)[1] == []
    words = Page(render_report(certain)).words.replace("\N{NO-BREAK SPACE}", " ")
    assert "Every row with several candidates or without a label has a confidence above 99.5 %" in words


@pytest.mark.usefixtures("without_figures")
def test_the_page_says_how_the_rates_were_estimated():
    """It names the number of held-out rows and the folds, and the reason for each method with missing folds."""
    words = words_of()
    assert "60 rows in 5-fold cross-validation; ± is the standard deviation over the folds" in words
    words = words_of(**SHAPES["one split, methods left out"])
    assert "60 rows held out by one split, and a model fitted on 48 other rows; ± is the binomial" in words
    assert "left out: about 1 h estimated" in words
    assert "No learning curve was measured" in words


INVISIBLE = ["\x00x", "\ud800", "\x1b[31m", "a\nb", "\u2028"]


@settings(max_examples=5, deadline=None)
@example(INVISIBLE, "".join(INVISIBLE))
@given(st.lists(st.text(TEXT, max_size=90), min_size=3, max_size=5, unique=True), st.text())
def test_any_text_gives_a_valid_page(names, cell):
    """With any characters in labels, cells, command and title the page parses, can be encoded, and has no NUL."""
    texts = {"preview": lambda _: {cell: cell}, "command": cell, "title": cell}
    html = render_report(sample(tuple(names), n=12, learning_curve=None, **texts))
    Page(html)
    html.encode("utf-8")
    assert "\x00" not in html


def test_equal_data_give_equal_pages():
    """Rendering is a function of its data and opens no pyplot figure."""
    plt.close("all")
    assert render_report(sample()) == render_report(sample())
    assert plt.get_fignums() == []


@pytest.mark.usefixtures("without_figures")
def test_the_page_has_the_numbers():
    """The page has the headline, the methods, the failed method, the command and the version; accuracy if known."""
    text = words_of()
    for part in (
        "PLKNN was selected from 3 methods", "90.0 % ± 1.2", "80.0 % ± 2.0", "85.0 % ± 3.0", "failed: it broke",
        "0.25 s", "5-fold", "oneof fit birds.csv --labels seen", "oneof 9.8.7 on 2025-11-20", "rose by 20.0 points",
        "rows 60", "exact: one label 15", "partial: one of several 30", "no label 15",
    ):  # fmt: skip
        assert part in text
    unknown = render_report(sample(truth=False, comparison=comparison(result("PLKNN"))))
    for part in ("<dt>Accuracy</dt>", "true label</th>"):
        assert part in render_report(sample())
        assert part not in unknown


def test_the_page_shows_weights():
    """The page counts the rows with weights and lists them with their shares; without weights it has no such word."""
    data = sample(weighted=True)
    page = Page(render_report(data))
    n_weighted = int(data.candidates.is_weighted.sum())
    assert f"weighted: several with weights {n_weighted}" in page.words
    assert f"{n_weighted}\xa0rows have weights" in "".join(page.text)
    row = next(i for i in np.argsort(data.decisions.confidence) if data.candidates.is_weighted[i])
    assert statistics.name_candidates(data.candidates, int(row)) in page.words
    assert "weight" not in Page(render_report(sample())).words.replace("weighted by its fraction", "")


@pytest.mark.usefixtures("without_figures")
def test_each_card_and_each_term_has_one_explanation():
    """The cards have one name each, and no term of the page is defined twice."""
    html = render_report(sample())
    cards, rest = html.split('<dl class="cards">')[1].split("</dl>", 1)
    assert all(card.count("<dt>") == 1 for card in cards.split('<div class="card')[1:])
    assert rest.count("<dt>Expected accuracy</dt>") == 1
    plain = result("PLKNN")
    plain.expected_accuracy = None
    as_headline = sample(truth=False, comparison=comparison(plain))
    assert as_headline.assessment.headline.measure == "covering rate"
    for page_html in (html, render_report(as_headline)):
        definitions = page_html.count("<dt>Covering rate</dt><dd>The fraction")
        assert definitions == page_html.count("<dt>Covering rate</dt>\n") == 1


def test_without_optional_packages(monkeypatch):
    """The page has no figures, names the extra to install, and opens the tables; without jinja2 it is an error."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    rendered = Page(render_report(sample()))
    assert not rendered.all("svg")
    assert "oneof[plots]" in rendered.words
    assert sum("open" in attributes for attributes in rendered.all("details")) == 4
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page._template.cache_clear()
    with pytest.raises(MissingExtraError, match=r"oneof\[cli\]"):
        render_report(sample())


@pytest.mark.usefixtures("without_figures")
def test_unwritable_paths_are_errors(tmp_path):
    """A missing folder, and a path that is a folder, are errors with the path; no partial file stays.

    The file is the rendered page.
    """
    with pytest.raises(InputError, match=r"absent.*cannot be written"):
        write_report(tmp_path / "absent" / "report.html", sample())
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"folder.*cannot be written"):
        write_report(tmp_path / "folder", sample())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    write_report(tmp_path / "report.html", sample())
    assert (tmp_path / "report.html").read_bytes() == render_report(sample()).encode("utf-8")


def noisy_issues(names=("finch", "sparrow"), n=60):
    """Return the issues of labels of which five are wrong."""
    truth = np.arange(n) % 2
    given = np.where(np.arange(n) < 5, 1 - truth, truth)
    proba = np.where(np.eye(2, dtype=bool)[truth], 0.95, 0.05)
    sets = CandidateSets.from_labels(np.array(names)[given])
    return find_label_issues(None, sets, proba=proba[:, np.argsort(names)])  # in the order of the classes


@pytest.mark.usefixtures("without_figures")
def test_suspected_rows_are_a_section_of_the_report():
    """The rows that are probably wrong are listed with the label proposed, and without issues there is no section."""
    issues = noisy_issues()
    assert issues.is_issue[:5].all()
    data = sample(names=("finch", "sparrow"), kinds=(1,), truth=False, issues=issues)
    words = Page(render_report(data)).words
    assert "Suspected rows" in words
    assert "more probably wrong than right" in words
    assert not re.search(r"[a-z]\.[A-Z]", words)  # a space follows each sentence
    assert "Suspected rows" not in Page(render_report(dataclasses.replace(data, issues=None))).words


def test_numbers_of_rows_have_four_significant_digits():
    """Numbers of a table are shown with four digits, large ones without decimals, and other cells as they are."""
    frame = pl.DataFrame(
        {"cell": [[0.0123456789012345], [-1.5], [3.0], [123456.789], [1e300], [float("nan")], [None]]}
    ).explode("cell")
    preview = table_preview(frame.with_columns(name=pl.lit("b12.3456789"), count=12345678), ["cell", "name", "count"])
    assert [preview(row)["cell"] for row in range(7)] == ["0.01235", "-1.5", "3", "123457", "1e+300", "nan", ""]
    assert preview(0)["name"] == "b12.3456789"
    assert preview(0)["count"] == "12345678"


def test_page_of_an_audit_is_valid_and_escapes_labels():
    """The page of an audit has the rows and the numbers, loads nothing, and shows labels as text."""
    hostile = "<script>alert(1)</script>"
    issues = noisy_issues(names=("finch", hostile))
    html = render_audit(
        issues, [{"id": hostile}] * 60, source="birds.csv", method="LOORidge", command="oneof audit", version="1",
        date="2026-01-01",
    )  # fmt: skip
    page = Page(html)
    assert not page.all("script")
    assert not [tag for tag, attributes in page.elements if "src" in attributes]
    assert hostile[:20] in page.words
    assert "Wrong sets" in page.words


# -- Statistics and texts of the report --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"truth": ["finch"]},
        {"decisions": SimpleNamespace(labels=["finch"], confidence=np.ones(60))},
        {"decisions": SimpleNamespace(labels=["finch"] * 60, confidence=np.ones(2))},
    ],
)
def test_lengths_must_agree(changes):
    """Decisions and truth must have one entry per row."""
    with pytest.raises(InputError, match="must have one entry per row"):
        dataclasses.replace(sample(), **changes)


def test_label_summary_adds_up():
    """Exact, partial and unlabeled rows sum to all rows, and the mean size is over the partial sets."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["a", "b", "c"], None, ["d"]])
    assert statistics.label_summary(y) == (5, 4, 2, 2, 1, 2.5, 0)


def test_weighted_rows_are_partial():
    """Rows with weights are partial, also if all classes are candidates; a constant row is unlabeled."""
    W = [[1.0, 0.5, 0.25], [0.1, 0.1, 0.1], [0, 2, 0], [1, 1, 0]]
    summary = statistics.label_summary(CandidateSets.from_weights(W, classes=["a", "b", "c"]))
    assert (summary.exact, summary.partial, summary.weighted, summary.unlabeled) == (1, 2, 1, 1)
    share = np.array([4, 2, 1]) / 7
    assert summary.mean_size == pytest.approx((np.exp(-(share * np.log(share)).sum()) + 2) / 2)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3).filter(any), min_size=2, max_size=12))
def test_statistics_are_continuous_at_sets(rows):
    """Weights of nearly 0 outside the sets give the numbers of the sets, except for the counts of row kinds."""
    mask = np.array(rows)
    sets = CandidateSets(mask, ["a", "b", "c"])
    y = CandidateSets.from_weights(np.where(mask, 1.0, 1e-12), classes=["a", "b", "c"])
    assert statistics.label_summary(y).unlabeled == statistics.label_summary(sets).unlabeled
    if (base := statistics.baseline(sets)) is not None:
        near = statistics.baseline(y)
        second, first = np.sort(sets.mask[~sets.is_unlabeled].sum(axis=0))[-2:]
        assert near.majority_label == base.majority_label or first == second  # equal counts differ by roundings
        assert near[:2] == pytest.approx(base[:2], abs=1e-9)
    for near, exact in zip(statistics.class_rows(y), statistics.class_rows(sets), strict=True):
        assert near[:2] == (exact[0], pytest.approx(exact[1], abs=1e-9))
    n_rows = [sum(row[1:]) for row in statistics.size_rows(y)]
    assert n_rows == [sum(row[1:]) for row in statistics.size_rows(sets)]
    truth = ["abc"[int(row.argmax())] for row in mask]
    near, exact = (statistics.compare_with_truth(c, truth, truth) for c in (y, sets))
    if sets.is_exact.sum() == 0 and exact.n_partial:  # an exact row with weights is partial
        assert near.chance_partial == pytest.approx(exact.chance_partial)


def test_the_class_of_largest_weight_is_compared_with_the_truth():
    """Its accuracy is over the rows with weights and a known truth; a tie of two counts half."""
    W = [[1, 0.5, 0], [0.5, 1, 0.1], [1, 1, 0.5], [1, 0, 0], [1, 0.9, 0]]
    y = CandidateSets.from_weights(W, classes=["a", "b", "c"])
    result = statistics.compare_with_truth(y, ["a"] * 5, ["a", "a", "b", "a", None])
    assert (result.n_weighted, result.top_weighted) == (3, 0.5)
    assert result.chance_partial == pytest.approx(np.mean([1 / 1.5, 0.5 / 1.6, 1 / 2.5]))


def test_weights_are_written_beside_the_candidates():
    """Weights are shares, the largest first; small ones are not rounded to 0."""
    W = [[0.3, 0.7, 0], [1, 1, 1], [1, 0.001, 0.2], [0, 1, 1]]
    y = CandidateSets.from_weights(W, classes=["wren", "finch", "owl"])
    assert [statistics.name_candidates(y, row) for row in range(4)] == [
        "finch 0.70, wren 0.30", "any", "wren 0.83, owl 0.17, finch <0.01", "finch, owl"
    ]  # fmt: skip


def test_baselines():
    """The majority label is in most sets; a random label covers the mean fraction of the classes."""
    y = CandidateSets.from_sets([["a"], ["a", "b"], ["b"], ["a", "c"], None], classes=["a", "b", "c", "d"])
    result = statistics.baseline(y)
    assert (result.majority_rate, result.majority_label) == (0.75, "a")
    assert result.random_rate == pytest.approx(np.mean([1, 2, 1, 2]) / 4)
    assert statistics.baseline(CandidateSets.from_sets([None, None], classes=["a", "b"])) is None


def test_known_truths_are_compared():
    """Fractions equal plain counting; missing truths are ignored, truths outside their set are never right."""
    sets = [["a", "b"], ["a", "b"], ["b", "c", "d"], None, None, ["a"], ["c", "d"], ["a"]]
    y = CandidateSets.from_sets(sets, classes=["a", "b", "c", "d", "e"])
    decided = ["a", "b", "c", "d", "e", "a", "c", "a"]
    truth = ["a", "a", "c", "d", "a", "e", None, "z"]
    result = statistics.compare_with_truth(y, decided, truth)
    assert (result.n_known, result.outside) == (7, 2)
    assert (result.n_partial, result.right_partial) == (3, pytest.approx(2 / 3))
    assert result.chance_partial == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)
    assert (result.n_unlabeled, result.right_unlabeled) == (2, 0.5)
    assert statistics.compare_with_truth(y, decided, [None] * 8) is None


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=40), st.integers(0, 12), st.randoms())
def test_least_confident_rows_are_ordered(sizes, limit, random):
    """Each kind has its lowest confidences in ascending order, no exact row is listed, and the limit is used."""
    mask = np.arange(4) < np.array(sizes)[:, None]
    confidence = np.array([random.random() for _ in sizes])
    partial, unlabeled = statistics.least_confident(CandidateSets(mask, list("abcd")), confidence, limit)
    for kind, listed in (((2, 3), partial), ((4,), unlabeled)):
        every = sorted((confidence[i], i) for i, size in enumerate(sizes) if size in kind)
        assert listed.tolist() == [i for _, i in every[: len(listed)]]
    assert len(partial) + len(unlabeled) == min(limit, sum(size > 1 for size in sizes))
    if min(sum(size in kind for size in sizes) for kind in ((2, 3), (4,))) >= limit:
        assert len(unlabeled) == limit // 2


def test_uncertain_rows_count_from_zero():
    """Row i of the arrays is row i of the report, with the preview cells of row i."""
    data = sample()
    columns, groups = statistics.uncertain_rows(data)
    assert columns == ["wing", "song"]
    for _, rows in groups:
        for row in rows:
            assert row.cells == [f"{row.number} mm", "tsip"]
    listed = statistics.uncertain_rows(sample(preview=[{"wing": f"{row} mm", "song": "tsip"} for row in range(60)]))
    assert listed == (columns, groups)


@pytest.mark.parametrize(
    ("rates", "std", "text"),
    [
        ([0.5, 0.6, 0.8], 0.01, "should still help"),
        ([0.5, 0.6, 0.65], 0.10, "may help a little"),
        ([0.5, 0.8, 0.801], 0.01, "would help little"),
        ([0.5, 0.8, 0.7], 0.01, "fell by 10.0 points, more than"),
        ([0.5, 0.8, 0.7], 0.20, "within its standard deviation"),
        ([np.nan, np.nan, 0.7], 0.20, "is unknown"),
        ([0.5, np.nan, 0.7], 0.01, "Between 50 and 200"),
    ],
)
def test_the_description_of_a_curve_uses_its_last_doubling(rates, std, text):
    """The sentence depends on the sign of the change and on whether it exceeds the standard deviation."""
    assert text in templating.describe_learning_curve(curve(rates, std=std))
    shuffled = curve(rates[::-1], train_sizes=(200, 100, 50), std=std)
    assert templating.describe_learning_curve(shuffled) == templating.describe_learning_curve(curve(rates, std=std))


def test_a_curve_over_several_doublings_is_described_by_each():
    """If the rows grow by more than a factor of 4, the change is per doubling, and one split has a standard error."""
    sizes = (1000, 64_000)
    rising = templating.describe_learning_curve(curve([0.5, 0.62], sizes), templating.describe_spread(1))
    assert "rose by 12.0 points (2.0 for each doubling), more than its binomial standard error" in rising
    assert "hardly changed (+1.2 points, 6.0 doublings)" in templating.describe_learning_curve(
        curve([0.5, 0.512], sizes)
    )


@given(st.floats(0, 1e5))
def test_times_are_within_their_rounding(value):
    """A formatted time, parsed again, equals the time to two significant digits."""
    formatted = templating.format_seconds(value).replace("\N{NO-BREAK SPACE}", " ")
    if value < 0.01:
        assert formatted == "< 0.01 s"
    else:
        number, unit = formatted.split()
        assert float(number.replace(",", "")) * {"s": 1, "min": 60}[unit] == pytest.approx(value, rel=0.0501)


# -- The first number of a report, with its name and meaning ---------------------------------------------------------


RESULT = MethodResult("CLPL", 0.8, 0.02, 0.7, 0.03, 1.0, None, None, None, ())
EXACT = CandidateSets.from_sets([["a"], ["b"], None])
PARTIAL = CandidateSets.from_sets([["a"], ["a", "b"], ["b", "c"]])
ESTIMATE = AccuracyEstimate(0.9, (0.85, 0.94), 0.12, (0.08, 0.17), 500)
VAGUE = ESTIMATE._replace(interval=(0.4, 0.91))


def test_the_best_known_rate_is_the_headline():
    """The accuracy by true labels comes first, then its estimate, the expected accuracy, and the covering rate."""
    known, few = (
        replace(RESULT, accuracy=0.88, accuracy_std=0.01, expected_accuracy=0.86, folds=(FoldResult(n_true=n),))
        for n in (50, 3)
    )
    compared = replace(RESULT, expected_accuracy=0.86)
    for measured, estimate, measure, value in (
        (known, ESTIMATE, "accuracy", 0.88),
        (few, ESTIMATE, "estimated accuracy", 0.9),
        (compared, ESTIMATE, "estimated accuracy", 0.9),
        (compared, None, "expected accuracy", 0.86),
        (RESULT, None, "covering rate", 0.8),
        (compared, VAGUE, "covering rate", 0.8),
    ):
        headline = choose_headline(measured, estimate, PARTIAL)
        assert (headline.measure, headline.value) == (measure, value)
    assert choose_headline(RESULT, ESTIMATE, PARTIAL).interval == (0.85, 0.94)


@pytest.mark.parametrize("is_exact", [True, False])
def test_the_meaning_names_the_assumptions(is_exact):
    """The sentence has the errors that are not recognized, the direction of an error, and new groups; no rate."""
    candidates = EXACT if is_exact else PARTIAL
    headline = choose_headline(RESULT, ESTIMATE, candidates, is_grouped=True)
    assert "Wrong labels that the features predict are not recognized" in headline.meaning
    assert "%" not in headline.meaning
    assert headline.meaning.startswith("of rows of new groups")
    meaning = choose_headline(RESULT, None, candidates).meaning
    assert ("equal the label" in meaning) == is_exact
    assert ("lower if wrong predictions" in meaning) != is_exact
    assert "higher if labels are wrong" in meaning
    assert "too few held-out rows for an estimate" in choose_headline(RESULT, VAGUE, candidates).meaning
