"""EM with unlabeled documents: the lecture's claim, on 20 Newsgroups."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints
from reproduction.claims import Claim, Difference, all_confirmed
from reproduction.data import vocabulary, without_stop_words
from reproduction.experiment import Experiment, Table
from reproduction.plot_style import LINE_STYLES, curve, label_axes, new_figure, set_log_ticks, shared_legend
from reproduction.records import Records, Result, mean_and_error, pair_records
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "text-em"
COUNTS = (20, 100, 300, 1000, 5000)
METHODS = {"naive Bayes, labels alone": 0.0, "EM, unlabeled too": 1.0}
ALONE, TOGETHER = METHODS
# Nigam et al. (2000), in percent.
PUBLISHED = {ALONE: {20: 20.0, 300: 52.0}, TOGETHER: {20: 35.0, 300: 66.0}}
FEW = 300


def plan(*, draws: int, counts: tuple[int, ...] = COUNTS) -> tuple[Trial, ...]:
    """Return the trials."""
    return tuple(
        Trial.from_settings(NAME, labeled=n, weight=weight, draw=draw)
        for draw in range(draws)
        for n in counts
        for weight in METHODS.values()
    )


@cache
def documents() -> tuple[Any, Ints, int]:
    """Return the scaled word counts without stop words, the classes, and the number of training documents."""
    from oneof.datasets import load

    data = load("news20")
    X = without_stop_words(data.X, vocabulary("news20"), stems=False)
    length, n_train = X.sum(axis=1), int(data.n_train or 0)
    X = sp.csr_array(sp.diags_array(length[:n_train].mean() / np.maximum(length, 1)) @ X)
    return X, np.searchsorted(data.classes, data.y), n_train


def measure(trial: Trial) -> Result:
    """Return the accuracy on the later documents."""
    from oneof.estimators.generative.multinomial_em import MultinomialEM

    X, y, n_train = documents()
    order = trial.generator("draw").permutation(n_train)
    # The first documents of each class in a random order: the labeled documents are nested.
    each = trial.number("labeled") // (int(y.max()) + 1)
    labeled = np.concatenate([order[y[order] == k][:each] for k in range(int(y.max()) + 1)])
    labels = np.full(n_train, -1)
    labels[labeled] = y[labeled]
    model = MultinomialEM(float(trial["weight"] or 0.0)).fit(X[:n_train], labels)
    return {"accuracy": float((model.predict(X[n_train:]) == y[n_train:]).mean())}


def tabulate(records: Records) -> Table:
    """Return the mean accuracies and the published ones."""
    rows: list[list[str | float | int]] = []
    for name, weight in METHODS.items():
        for number in records.unique_values("labeled"):
            values = 100 * records.values("accuracy", labeled=number, weight=weight)
            rows.append([name, number, len(values), *mean_and_error(values), PUBLISHED[name].get(number, float("nan"))])
    return Table(("method", "labeled documents", "draws", "accuracy %", "standard error", "published %"), rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot both curves, and the published points as hollow markers."""
    figure, axes = new_figure(1, 1, width=6.0, height=3.8)
    counts = records.unique_values("labeled")
    for (name, weight), style in zip(METHODS.items(), (LINE_STYLES[1], LINE_STYLES[0]), strict=True):
        columns = [100 * records.values("accuracy", labeled=n, weight=weight) for n in counts]
        shortest = min(map(len, columns))
        curve(axes[0], counts, np.array([column[:shortest] for column in columns]).T, style, name, band="deviation")
        points = PUBLISHED[name]
        axes[0].plot(
            list(points), list(points.values()), style.marker, color=style.color, markerfacecolor="none", markersize=10,
            linestyle="none", label=f"published, {name.split(',')[0]}",
        )  # fmt: skip
    label_axes(axes[0], "20 Newsgroups, 7,532 later documents", "labeled documents", "accuracy, %")
    set_log_ticks(axes[0], counts)
    shared_legend(figure, axes, columns=2)
    return {"figure": figure}


def _gain(records: Records, number: int) -> Difference:
    return Difference.from_pairs(*_paired(records, (number, TOGETHER), (number, ALONE)))


def _paired(records: Records, *cells: tuple[int, str]) -> list[Floats]:
    """Return the accuracies of several label counts and methods, in the draws that all of them have."""
    parts = pair_records(*(records.where(labeled=number, weight=METHODS[method]) for number, method in cells))
    return [part.values("accuracy") for part in parts]


def claims(records: Records) -> list[Claim]:
    """Check the statements of the lecture and of its source paper."""
    counts = records.unique_values("labeled")
    gains = {n: _gain(records, n) for n in counts}
    details = "; ".join(f"{n} labels: {gain.points()} points" for n, gain in gains.items())
    few = [gain for n, gain in gains.items() if n <= FEW]
    results = [
        Claim(
            f"With up to {FEW} labels, unlabeled documents raise the accuracy.",
            "EM with unlabeled documents generally improves accuracy on text: 20 to 35 % at 20 labels, 52 to 66 % "
            "at 300",
            details, all_confirmed(*(gain.is_above if gain.is_measured else None for gain in few)),
        ),
        Claim(
            "On the mean, the gain shrinks from the numbers up to 300 to the largest.",
            "unlabeled documents help most when labels are few", details,
            min(gain.mean for gain in few) > gains[counts[-1]].mean if few and counts[-1] > FEW else None,
        ),
    ]  # fmt: skip
    confirmed, words = None, "not measured"
    if {300, 1000} <= set(counts):
        together, alone = _paired(records, (300, TOGETHER), (1000, ALONE))
        gain = Difference.from_pairs(together, alone)
        if gain.is_measured:
            confirmed = gain.is_above
            words = (
                f"{100 * together.mean():.1f} % from 300 labels, {100 * alone.mean():.1f} % from 1,000 without: "
                f"{gain.points()} points"
            )
    results.append(
        Claim("300 labels with unlabeled documents do more than 1,000 without.",
              "the published curves need a third of the labels", words, confirmed)
    )  # fmt: skip
    return results


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="EM with unlabeled documents: 20 Newsgroups",
        citation="Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents "
        "using EM, Machine Learning 39; in Jebara's lecture on semi-supervised learning",
        question="How many labeled documents do the unlabeled ones replace?",
        protocol=[
            "The split by date: some of the 11,314 training documents are labeled, the same number of each class "
            "drawn at random; the others are unlabeled. Accuracy on the 7,532 later documents; 10 draws, the same for "
            "both; bands are one standard deviation.",
            "English stop words are removed, and all documents are scaled to one length, as published; smoothing 1, "
            "unlabeled documents have the weight of labeled ones (lambda = 1). The published points are for 10,000 "
            "unlabeled documents and a vocabulary of 62,258 words; ours has 32,443.",
            "The quick run has two draws, and 20, 300 and 1,000 labels.",
        ],
        datasets=("news20",),
        full=plan(draws=10),
        quick=plan(draws=2, counts=(20, 300, 1000)),
        minutes=(2.0, 0.5),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
