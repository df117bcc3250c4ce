"""EM with unlabeled documents: the lecture's claim, on 20 Newsgroups."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints
from reproduction.claims import Claim, Difference, verdict_of
from reproduction.drawing import LOOKS, at_counts, curve, finish, new_figure, shared_legend
from reproduction.experiment import Experiment, Table
from reproduction.records import Records, Result, in_common, mean_and_error
from reproduction.text import vocabulary, without_stop_words
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
        Trial.of(NAME, labeled=n, weight=weight, draw=draw)
        for draw in range(draws)
        for n in counts
        for weight in METHODS.values()
    )


@cache
def documents() -> tuple[Any, Ints, int]:
    """Return counts without stop words, of documents of one length, their classes, and how many are to train."""
    from oneof.datasets import load

    data = load("news20")
    X = without_stop_words(data.X, vocabulary("news20"), stems=False)
    length, n_train = X.sum(axis=1), int(data.n_train or 0)
    X = sp.csr_array(sp.diags_array(length[:n_train].mean() / np.maximum(length, 1)) @ X)
    return X, np.searchsorted(data.classes, data.y), n_train


def measure(trial: Trial) -> Result:
    """Return the accuracy on the later documents."""
    from oneof.estimators.multinomial_em import MultinomialEM

    X, y, n_train = documents()
    order = trial.generator("draw").permutation(n_train)
    # The first documents of each class in a random order: those of few are among those of many.
    each = trial.number("labeled") // (int(y.max()) + 1)
    labeled = np.concatenate([order[y[order] == k][:each] for k in range(int(y.max()) + 1)])
    known = np.full(n_train, -1)
    known[labeled] = y[labeled]
    model = MultinomialEM(float(trial["weight"] or 0.0)).fit(X[:n_train], known)
    return {"accuracy": float((model.predict(X[n_train:]) == y[n_train:]).mean())}


def tabulate(records: Records) -> Table:
    """Return mean accuracies beside the published ones."""
    rows: list[list[str | float | int]] = []
    for name, weight in METHODS.items():
        for number in records.across("labeled"):
            values = 100 * records.values("accuracy", labeled=number, weight=weight)
            rows.append([name, number, len(values), *mean_and_error(values), PUBLISHED[name].get(number, float("nan"))])
    return Table(("method", "labeled documents", "draws", "accuracy %", "standard error", "published %"), rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Draw both curves, and the published points hollow."""
    figure, axes = new_figure(1, 1, width=6.0, height=3.8)
    counts = records.across("labeled")
    for (name, weight), look in zip(METHODS.items(), (LOOKS[1], LOOKS[0]), strict=True):
        columns = [100 * records.values("accuracy", labeled=n, weight=weight) for n in counts]
        shortest = min(map(len, columns))
        curve(axes[0], counts, np.array([column[:shortest] for column in columns]).T, look, name, band="deviation")
        points = PUBLISHED[name]
        axes[0].plot(
            list(points), list(points.values()), look.marker, color=look.color, markerfacecolor="none", markersize=10,
            linestyle="none", label=f"published, {name.split(',')[0]}",
        )  # fmt: skip
    finish(axes[0], "20 Newsgroups, 7,532 later documents", "labeled documents", "accuracy, %")
    at_counts(axes[0], counts)
    shared_legend(figure, axes, columns=2)
    return {"figure": figure}


def _gain(records: Records, number: int) -> Difference:
    return Difference.of(*_paired(records, (number, TOGETHER), (number, ALONE)))


def _paired(records: Records, *cells: tuple[int, str]) -> list[Floats]:
    """Return the accuracies of some numbers of labels and methods, in the draws that all of them have."""
    parts = in_common(*(records.where(labeled=number, weight=METHODS[method]) for number, method in cells))
    return [part.values("accuracy") for part in parts]


def claims(records: Records) -> list[Claim]:
    """Judge what the lecture and the paper behind it say."""
    counts = records.across("labeled")
    gains = {n: _gain(records, n) for n in counts}
    told = "; ".join(f"{n} labels: {gain.points()} points" for n, gain in gains.items())
    few = [gain for n, gain in gains.items() if n <= FEW]
    found = [
        Claim(
            f"With up to {FEW} labels, unlabeled documents raise the accuracy.",
            "EM with unlabeled documents generally improves accuracy on text: 20 to 35 % at 20 labels, 52 to 66 % "
            "at 300",
            told, verdict_of(*(gain.is_above if gain.known else None for gain in few)),
        ),
        Claim(
            "On the mean, the gain shrinks from the numbers up to 300 to the largest.",
            "unlabeled documents help most when labels are few", told,
            min(gain.mean for gain in few) > gains[counts[-1]].mean if few and counts[-1] > FEW else None,
        ),
    ]  # fmt: skip
    held, words = None, "not measured"
    if {300, 1000} <= set(counts):
        together, alone = _paired(records, (300, TOGETHER), (1000, ALONE))
        gain = Difference.of(together, alone)
        if gain.known:
            held = gain.is_above
            words = (
                f"{100 * together.mean():.1f} % from 300 labels, {100 * alone.mean():.1f} % from 1,000 without: "
                f"{gain.points()} points"
            )
    found.append(
        Claim("300 labels with unlabeled documents do more than 1,000 without.",
              "the published curves need a third of the labels", words, held)
    )  # fmt: skip
    return found


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="EM with unlabeled documents: 20 Newsgroups",
        citation="Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents "
        "using EM, Machine Learning 39; in Jebara's lecture on semi-supervised learning",
        question="How many labeled documents do unlabeled ones stand for?",
        protocol=[
            "The split by date: some of the 11,314 training documents are labeled, the same number of each class "
            "drawn at random; the others are unlabeled. Accuracy on the 7,532 later documents; 10 draws, the same for "
            "both; bands are one standard deviation.",
            "English stop words are left out, and all documents scaled to one length, as published; smoothing 1, the "
            "unlabeled documents weigh as much as the labeled ones (lambda = 1). The published points are for 10,000 "
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
