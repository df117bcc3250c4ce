"""The numbers of the figures equal plain counting, and the figures show these numbers without side effects."""

import itertools
import re
import sys
from importlib import resources
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from oneof.candidates import CandidateSets
from oneof.comparison import LearningCurve
from oneof.errors import LabelError, MissingExtraError
from oneof.plots import (
    counts,
    plot_class_frequencies,
    plot_cooccurrence,
    plot_decisions,
    plot_learning_curve,
    plot_set_sizes,
    plot_weights,
)
from oneof.plots.figures import draw_heatmap
from oneof.plots.style import PALETTE, clean, shorten
from oneof.plots.svg import to_svg

# NumPy's text arrays drop a NUL at the end of a label.
TEXT = st.characters(exclude_characters="\x00")
CURVE = SimpleNamespace(
    train_sizes=np.array([20, 40, 80, 200]),
    covering_rate=np.array([0.5, 0.6, 0.7, 0.75]),
    covering_rate_std=np.array([0.05, 0.04, 0.02, np.nan]),
    accuracy=np.array([0.4, 0.5, 0.6, 0.7]),
    accuracy_std=None,
)


@st.composite
def masks(draw):
    """Draw masks of 1 to 15 rows and 2 to 6 classes without an empty row."""
    n, k = draw(st.integers(1, 15)), draw(st.integers(2, 6))
    mask = draw(hnp.arrays(bool, (n, k)))
    mask[~mask.any(axis=1), 0] = True
    return mask


@st.composite
def decided_masks(draw):
    """Draw masks with the code of one candidate for each row."""
    mask = draw(masks())
    decided = [draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in mask]
    return mask, np.array(decided)


def sets_of(mask):
    return [set(np.flatnonzero(row).tolist()) for row in mask]


def labeled_sets(mask):
    return [s for s in sets_of(mask) if len(s) < mask.shape[1]]


@given(masks())
def test_set_sizes_count_rows(mask):
    """The histogram equals the sizes of Python sets, with full sets counted separately."""
    rows, weighted, n_unlabeled = counts.set_sizes(mask, np.zeros(len(mask), dtype=bool))
    sizes = [len(s) for s in sets_of(mask)]
    assert rows.tolist() == [*(sizes.count(s) for s in range(mask.shape[1])), 0]
    assert (n_unlabeled, weighted.any()) == (sizes.count(mask.shape[1]), False)


@given(masks())
def test_class_frequencies_count_members(mask):
    """A class is counted once per labeled set with it, and as exact if it is the only candidate."""
    candidate, exact = counts.class_frequencies(mask)
    labeled = labeled_sets(mask)
    for k in range(mask.shape[1]):
        assert candidate[k] == sum(k in s for s in labeled)
        assert exact[k] == sum(s == {k} for s in labeled)


@given(masks(), st.integers(1, 4))
def test_cooccurrence_counts_sets_with_both(mask, block):
    """Each entry is the number of labeled sets with both classes, for any block size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_BLOCK_ROWS", block)
        together = counts.cooccurrence(mask)
    labeled = labeled_sets(mask)
    for a, b in itertools.product(range(mask.shape[1]), repeat=2):
        assert together[a, b] == sum({a, b} <= s for s in labeled)


@given(decided_masks())
def test_decision_confusion_is_a_fraction_of_sets(pair):
    """Entry (a, b) is the fraction of the partial sets with a that get the label b; NaN if there are none."""
    mask, decided = pair
    shares = counts.decision_confusion(mask, decided)
    n_classes = mask.shape[1]
    partial = [(s, d) for s, d in zip(sets_of(mask), decided.tolist(), strict=True) if 1 < len(s) < n_classes]
    for a in range(n_classes):
        chosen = [d for s, d in partial if a in s]
        for b in range(n_classes):
            expected = chosen.count(b) / len(chosen) if chosen else np.nan
            np.testing.assert_allclose(shares[a, b], expected)


@given(decided_masks(), st.integers(0, 8))
def test_pairs_are_the_most_frequent_and_their_outcomes_add_up(pair, limit):
    """The listed pairs are the most frequent ones, and each outcome counts its own labeled sets."""
    mask, decided = pair
    together = counts.cooccurrence(mask)
    pairs = counts.top_pairs(together, limit)
    listed = [int(together[p]) for p in pairs]
    every = sorted((int(together[a, b]) for a, b in itertools.combinations(range(mask.shape[1]), 2)), reverse=True)
    assert listed == [n for n in every if n > 0][:limit]
    for outcome in counts.pair_outcomes(mask, decided, pairs):
        both = {outcome.first, outcome.second}
        rows = zip(sets_of(mask), decided.tolist(), strict=True)
        chosen = [d for s, d in rows if both <= s and len(s) < mask.shape[1]]
        assert outcome[2:] == (len(chosen), chosen.count(outcome.first), chosen.count(outcome.second))


@given(decided_masks(), st.sampled_from([1.0, 0.999999]))
def test_counts_of_weights_are_those_of_sets_at_0_and_1(pair, factor):
    """Weights of 0 and 1 give the counts of the sets; other weights near them nearly the same."""
    mask, decided = pair
    weights = mask * np.where(np.arange(mask.shape[1]) == mask.argmax(axis=1)[:, None], 1.0, factor)
    labeled = np.where(mask.all(axis=1, keepdims=True), 1.0, weights)
    pairs = counts.top_pairs(counts.cooccurrence(mask), 4)
    for count in (
        counts.cooccurrence,
        lambda evidence: counts.class_frequencies(evidence)[0],
        lambda evidence: counts.decision_confusion(evidence, decided),
        lambda evidence: np.array(counts.pair_outcomes(evidence, decided, pairs)).reshape(-1, 5),
    ):
        np.testing.assert_allclose(count(labeled), count(mask), rtol=1e-5)
    np.testing.assert_allclose(counts.effective_sizes(labeled), mask.sum(axis=1), rtol=1e-5)


@given(hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(0, 1)))
def test_effective_sizes_lie_between_one_and_the_number_of_candidates(weights):
    """They do not depend on the factor of a row, and the histogram of the largest shares counts every row."""
    weights[~weights.any(axis=1), 0] = 1
    weights /= weights.max(axis=1, keepdims=True)
    effective = counts.effective_sizes(weights)
    assert (effective > 1 - 1e-12).all()
    assert (effective < np.count_nonzero(weights, axis=1) + 1e-9).all()
    np.testing.assert_allclose(counts.effective_sizes(weights / 3), effective)
    rows = counts.largest_shares(weights)
    assert (rows.sum(), len(rows)) == (len(weights), 10)
    share = weights.max(axis=1) / weights.sum(axis=1)
    assert rows[-1] == (1 / weights.sum(axis=1) >= 0.9).sum() or np.isclose(share, 0.9).any()


def test_weighted_rows_are_stacked_on_sets():
    """Each label is the number of rows of its bar, with and without weights."""
    y = CandidateSets.from_weights([[1, 1, 0, 0], [1, 0.9, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1], [1, 0.9, 0.9, 0.9]])
    ax = plot_set_sizes(y, ax=Figure().subplots())
    assert [bar.get_height() for bar in ax.patches] == [1, 1, 0, 0, 0, 1, 0, 1, 1]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "0", "1", "1"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["sets", "with weights"]


def test_weights_are_drawn_by_their_largest_share():
    """The bars count the rows with weights; without any there is a sentence."""
    y = CandidateSets.from_weights([[0.55, 0.45], [0.95, 0.05], [0.92, 0.08], [1, 1], [0, 1]])
    ax = plot_weights(y, ax=Figure().subplots())
    assert [bar.get_height() for bar in ax.patches] == [0] * 5 + [1, 0, 0, 0, 2]
    empty = plot_weights(CandidateSets.from_labels(["a", "b"]), ax=Figure().subplots())
    assert [text.get_text() for text in empty.texts] == ["No row has weights."]


@given(st.text(max_size=60), st.integers(4, 30))
def test_shorten_bounds_the_length_and_keeps_both_ends(text, width):
    """A short text is only cleaned; a long one is cut in the middle."""
    short, full = shorten(text, width), clean(text)
    assert len(short) <= width
    assert short == full or (full.startswith(short.split("…")[0]) and full.endswith(short.rsplit("…", 1)[1]))
    ET.fromstring(f"<a>{clean(text).translate({38: None, 60: None})}</a>")


def test_bars_are_the_counts():
    """The heights of the bars are the numbers of rows, with a separate bar for unlabeled rows."""
    y = CandidateSets.from_sets([["a"], ["a"], ["a", "b"], None, ["c"]])
    ax = plot_set_sizes(y, Figure().subplots())
    assert [patch.get_height() for patch in ax.patches] == [3, 1, 1]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "no\nlabel"]
    ax = plot_class_frequencies(y, Figure().subplots())
    widths = [patch.get_width() for patch in ax.patches]
    assert widths == [2, 0, 1, 1, 1, 0]


def test_heat_maps_show_the_matrices():
    """The cells have the cooccurrences and the fractions; zeros and the diagonal are blank, and no class is alone."""
    y = CandidateSets.from_sets([["a", "b"], ["a", "b"], ["b", "c"], None], classes=["a", "b", "c", "d"])
    mesh = plot_cooccurrence(y, Figure().subplots()).collections[0]
    assert mesh.get_array().filled(0).tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    ax = plot_decisions(y, ["a", "b", "c", "d"], Figure().subplots())
    third = 1 / 3
    expected = [[0.5, 0.5, 0], [third, third, third], [0, 0, 1]]
    np.testing.assert_allclose(ax.collections[0].get_array().filled(0), expected)
    written = [text.get_text() for text in ax.texts]
    assert written == ["50%", "50%", "33%", "33%", "33%", "100%"]


def test_many_classes_show_the_most_frequent():
    """With more than 30 classes the figures show the 30 most frequent ones, in their order."""
    names = [f"class {k:02d}" for k in range(50)]
    sets = [[names[k], names[(k + 1) % 50]] for k in range(50)] + [[names[k], names[k + 1]] for k in range(10, 39)]
    y = CandidateSets.from_sets(sets)
    for ax in (plot_cooccurrence(y, Figure().subplots()), plot_class_frequencies(y, Figure().subplots())):
        assert [tick.get_text() for tick in ax.get_yticklabels()] == names[10:40]


def test_classes_that_hardly_cooccur_are_left_out():
    """Twelve classes of one row each do not make a matrix of three frequent classes mostly empty."""
    sets = [["a", "b"], ["b", "c"], ["a", "c"]] * 100 + [[f"junk {k}", "a"] for k in range(12)]
    ax = plot_cooccurrence(CandidateSets.from_sets(sets), Figure().subplots())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]


def test_learning_curve_draws_means_and_bands():
    """Each measure has a line through the means; without a standard deviation the band has no width."""
    ax = plot_learning_curve(CURVE, Figure().subplots())
    covering, accuracy = ax.get_lines()
    np.testing.assert_array_equal(covering.get_ydata(), CURVE.covering_rate)
    np.testing.assert_array_equal(accuracy.get_ydata(), CURVE.accuracy)
    low, high = ax.collections[0].get_datalim(ax.transData).intervaly
    np.testing.assert_allclose([low, high], [0.45, 0.75])
    bottom, top = ax.get_ylim()
    assert bottom < low
    assert top > high
    alone = SimpleNamespace(**{**vars(CURVE), "accuracy": None})
    assert len(plot_learning_curve(alone, Figure().subplots()).get_lines()) == 1


@pytest.mark.parametrize("draw", [plot_cooccurrence, lambda y, ax: plot_decisions(y, ["a", "b"], ax)])
def test_empty_figures_have_a_sentence(draw):
    """Without a partial set the figure has a sentence instead of a heat map."""
    ax = draw(CandidateSets.from_sets([["a"], ["b"]]), Figure().subplots())
    assert len(ax.texts) == 1
    assert not ax.collections


def test_drawing_on_given_axes_does_not_use_pyplot():
    """Drawing on given axes opens no pyplot figure; without axes one new figure is opened."""
    y = CandidateSets.from_sets([["a", "b"], ["b", "c"], ["c"]])
    plt.close("all")
    ax = Figure().subplots()
    assert plot_set_sizes(y, ax) is ax
    assert plt.get_fignums() == []
    for draw in (plot_set_sizes, plot_class_frequencies, plot_cooccurrence):
        axes = draw(y)
        assert plt.get_fignums() == [axes.figure.number]
        plt.close("all")


def test_missing_matplotlib(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"oneof\[plots\]"):
        plot_set_sizes(CandidateSets.from_sets([["a"], ["b"]]))


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (["a"], "must have one label per row (2); got 1"),
        (["a", "z"], "'z'"),
        (["a", None], "must not have missing values; got one in row 1"),
    ],
)
def test_decisions_must_fit_the_rows(labels, what):
    """Too few labels, unknown labels and missing labels are errors."""
    with pytest.raises(LabelError, match=re.escape(what)):
        plot_decisions(CandidateSets.from_sets([["a", "b"], ["b", "c"]]), labels, Figure().subplots())


def picture(names, prefix="p"):
    y = CandidateSets(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=bool), names)
    figure = Figure(layout="constrained")
    plot_cooccurrence(y, figure.subplots())
    return to_svg(figure, prefix=prefix, title="A & B", description="<what>")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(TEXT, max_size=12), min_size=3, max_size=3, unique=True))
def test_svg_keeps_any_label_as_text(names):
    """With any labels (formulas, markup, control characters), the SVG is valid and has the cleaned labels."""
    root = ET.fromstring(picture(names))
    texts = [element.text or "" for element in root.iter("text")]
    for name in names:
        assert not shorten(name) or shorten(name) in texts


@pytest.mark.parametrize(
    "names", [["$x_{", "$a$", "\\frac"], ["小鳥", "عصفور", "🐦"], ["#1b2733", "fill: #ffffff", "b"]]
)
def test_svg_shows_labels_verbatim(names):
    """Labels that look like formulas or colors, or have no glyph in matplotlib, are shown unchanged."""
    texts = [element.text for element in ET.fromstring(picture(names)).iter("text")]
    assert [texts.count(name) for name in names] == [2, 2, 2]


def test_svg_draws_no_blank_cell():
    """Only nonzero cells are in the file: a with b and b with c, each twice."""
    assert len(re.findall(r"<path[^>]*fill: var\(--heat\)", picture(["a", "b", "c"]))) == 4
    assert not re.search(r"fill: none; stroke: var\(--paper\)", picture(["a", "b", "c"]))


def test_svg_has_unique_ids():
    """Ids have the prefix, references resolve, colors are CSS variables, and equal input gives equal output."""
    svg = picture(["a", "b", "c"], "one")
    root = ET.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(identity.startswith("one-") for identity in ids)
    used = re.findall(r'href="#([^"]+)"', svg) + re.findall(r"url\(#([^)]+)\)", svg)
    assert used
    assert set(used) <= set(ids)
    assert "http" not in svg
    assert "<style" not in svg
    assert not any(color in svg for color in PALETTE.values())
    assert picture(["a", "b", "c"], "one") == svg
    assert root.find("title").text == "A & B"


def test_several_learning_curves_have_limits_colors_and_names_of_their_own():
    """No curve is cut off by the limits of a later one."""
    ax = Figure().subplots()
    for name, high in (("first", 0.8), ("second", 0.6)):
        curve = LearningCurve((10, 100), (high - 0.1, high), (0.01, 0.01), (high - 0.2, high - 0.1), (0.01, 0.01))
        plot_learning_curve(curve, ax=ax, label=name)
    low, top = ax.get_ylim()
    assert low < 0.4
    assert top > 0.81
    assert [line.get_label() for line in ax.lines] == [
        f"{name}, {rate}" for name in ("first", "second") for rate in ("covering rate", "accuracy")
    ]
    assert len({line.get_color() for line in ax.lines}) == 2


def luminance(color):
    """Return the relative luminance of WCAG 2.2 of a color with components from 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_numbers_of_a_heat_map_are_readable_on_light_and_dark_pages():
    """Each number has a contrast of at least 4.5 to its cell, with the colors of both modes of the report."""
    css = resources.files("oneof.report").joinpath("templates", "page.css").read_text()
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in css.split("@media", 2)[:2])
    values = np.linspace(0.01, 1, 100).reshape(10, 10)
    ax = Figure().subplots()
    draw_heatmap(ax, values, range(10), top=1.0, format_value="{:.2f}".format, bar_label="")
    levels = ax.collections[0].to_rgba(values)[..., 3].ravel()
    names = {color: name for name, color in PALETTE.items()}
    texts = [names[text.get_color()] for text in ax.texts]
    assert len(texts) == 100
    for colors in (light, light | dark):
        rgb = {name: np.array(to_rgb(color)) for name, color in colors.items()}
        for level, name in zip(levels, texts, strict=True):
            cell = level * rgb["heat"] + (1 - level) * rgb["paper"]
            low, high = sorted((luminance(cell), luminance(rgb[name])))
            assert (high + 0.05) / (low + 0.05) >= 4.5
