"""Every estimator on six data sets with candidate sets of their own, compared with published figures."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.typing import Ints, Mask
from reproduction.claims import Claim, Difference, all_confirmed
from reproduction.data import data_path
from reproduction.experiment import Experiment, Table
from reproduction.plot_style import BLUE, GRAY, VERMILLION, hide_unused, label_axes, new_figure, shared_legend
from reproduction.records import Records, Result, mean_and_error, pair_records
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "real-sets"
STORED, SEEDS, SAMPLE = "stored folds", "random 80 %", "random rows"
FACES = ("lost", "birdsong", "msrcv2")
TEXTS = ("italian", "ud_english_ewt", "plf_trec")
N_TRAIN, N_TEST = 1000, 2000
SHARED = (
    "LOORidge", "CLPL", "PLEM", "PLSVM", "PLECOC", "PLKNN", "IPAL", "GraphLogisticRegression", "HarmonicField",
    "LocalGlobalConsistency", "MarkovWalk", "SpectralGraphTransducer", "TransductiveSVM", "AvgPerceptron",
    "MaxPerceptron", "AvgPegasos", "MaxPegasos", "PLGP", "MultinomialEM",
)  # fmt: skip
DENSE_ONLY = ("GaussianEM", "CandidateEM")
PUBLISHED = {
    "PLSVM": (0.516, 0.356, 0.252),
    "CLPL": (0.726, 0.618, 0.383),
    "IPAL": (0.559, 0.731, 0.521),
    "PLKNN": (0.432, 0.682, 0.435),
    "PLECOC": (0.642, 0.610, 0.288),
}
"""Accuracies on `FACES`, from publications with other splits (docs/accuracy.md)."""


class Rows(NamedTuple):
    """A data set."""

    X: Any
    y: Ints
    mask: Mask
    train: Ints
    """Rows from which training rows are drawn."""
    test: Ints


@cache
def load_rows(name: str) -> Rows:
    """Return a data set; without a split, all rows are for training and test."""
    from reproduction.papers.crowds import load_votes

    if name == "plf_trec":
        votes = load_votes(name)
        n, every = votes.n_train, np.arange(len(votes.y))
        return Rows(votes.X, votes.y, votes.mask, every[:n], every[votes.first_test :])
    from oneof.datasets import load

    data = load(name)
    column = {label: k for k, label in enumerate(data.classes.tolist())}
    y = np.array([column[label] for label in data.y.tolist()], dtype=np.int64)
    every = np.arange(len(y))
    if data.n_train is None:
        return Rows(data.X, y, data.candidates.mask, every, every)
    return Rows(data.X, y, data.candidates.mask, every[: data.n_train], every[data.n_train :])


def methods_of(name: str) -> tuple[str, ...]:
    """Return the estimators for a data set; two of them require dense rows."""
    return SHARED if name in TEXTS[1:] else (*SHARED, *DENSE_ONLY)


def plan(*, draws: int, sets: tuple[str, ...] = (*FACES, *TEXTS), methods: tuple[str, ...] = ()) -> tuple[Trial, ...]:
    """Return the trials; `methods` restricts the estimators."""
    return tuple(
        Trial.from_settings(NAME, data=name, protocol=protocol, method=method, fold=fold)
        for fold in range(draws)
        for name in sets
        for protocol in ((STORED, SEEDS) if name in FACES else (SAMPLE,))
        for method in methods_of(name)
        if not methods or method in methods
    )


def split(trial: Trial, data: Rows) -> tuple[Ints, Ints]:
    """Return the training and test rows of a trial."""
    name, fold = trial.text("data"), trial.number("fold")
    if trial["protocol"] == STORED:
        with np.load(data_path(f"folds_{name}"), allow_pickle=False) as archive:
            return archive[f"train_{fold}"], archive[f"test_{fold}"]
    order = trial.generator("data", "protocol", "fold").permutation(data.train)
    if trial["protocol"] == SEEDS:
        return order[len(order) // 5 :], order[: len(order) // 5]
    train = order[:N_TRAIN]
    rest = np.setdiff1d(order, train) if len(data.test) == len(data.train) else data.test
    return train, trial.generator("data", "fold").permutation(rest)[:N_TEST]


def measure(trial: Trial) -> Result:
    """Return the accuracy on the test rows."""
    import scipy.sparse as sp

    from oneof import CandidateSets
    from oneof.comparison import default_estimators
    from oneof.comparison.methods import has_unit_rows

    data = load_rows(trial.text("data"))
    train, test = split(trial, data)
    X = data.X if sp.issparse(data.X) else np.asarray(data.X, dtype=np.float64)
    estimators = default_estimators(sparse=sp.issparse(X), scaled=has_unit_rows(X), n_rows=len(train))
    model = estimators[trial.text("method")]
    model.fit(X[train], CandidateSets(data.mask[train], range(data.mask.shape[1])))
    return {"accuracy": float(np.mean(model.predict(X[test]) == data.y[test]))}


def _cells(records: Records) -> list[tuple[str, str]]:
    return [
        (name, protocol)
        for name in (*FACES, *TEXTS)
        for protocol in (STORED, SEEDS, SAMPLE)
        if len(records.where(data=name, protocol=protocol))
    ]


def _published(name: str, method: str) -> float:
    return PUBLISHED[method][FACES.index(name)] if name in FACES and method in PUBLISHED else float("nan")


def tabulate(records: Records) -> Table:
    """Return the mean accuracies, highest first, and published figures."""
    rows: list[list[str | float | int]] = []
    for name, protocol in _cells(records):
        part = records.where(data=name, protocol=protocol)
        lines = []
        for method in part.unique_values("method"):
            values = part.values("accuracy", method=method)
            mean, error = mean_and_error(values)
            published = 100 * _published(name, method)
            lines.append([name, protocol, method, len(values), 100 * mean, 100 * error, published])
        rows += sorted(lines, key=lambda line: -np.nan_to_num(line[4]))
    return Table(("data", "protocol", "method", "folds", "accuracy %", "standard error", "published %"), rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot the mean accuracy of every estimator, a panel for each data set."""
    names = list(dict.fromkeys(name for name, _ in _cells(records)))
    columns = min(3, len(names))
    figure, axes = new_figure(-(-len(names) // columns), columns, width=4.2, height=4.8)
    styles = {STORED: (BLUE, "o"), SEEDS: (VERMILLION, "s"), SAMPLE: (VERMILLION, "s")}
    for ax, name in zip(axes, names, strict=False):
        part = records.where(data=name)
        methods = part.unique_values("method")
        means = {
            (protocol, m): 100 * mean_and_error(part.values("accuracy", protocol=protocol, method=m))[0]
            for protocol in part.unique_values("protocol")
            for m in methods
        }
        first = part.unique_values("protocol")[0]
        methods.sort(key=lambda m: np.nan_to_num(means[first, m]))
        at = range(len(methods))
        ax.plot([100 * _published(name, m) for m in methods], at, "x", color=GRAY, label="published, other splits")
        for protocol in part.unique_values("protocol"):
            color, marker = styles[protocol]
            label = protocol if protocol == STORED else "random rows"
            ax.plot([means[protocol, m] for m in methods], at, marker, color=color, label=label, alpha=0.8)
        label_axes(ax, name, "accuracy, %", "")
        ax.set_yticks(at, methods, fontsize=8)
    hide_unused(axes, len(names))
    shared_legend(figure, axes[:1], columns=3)
    return {"figure": figure}


def _gain(part: Records, method: str, other: str) -> Difference:
    pairs = pair_records(part.where(method=method), part.where(method=other), by="fold")
    return Difference.from_pairs(*(pair.values("accuracy") for pair in pairs))


def claims(records: Records) -> list[Claim]:
    """Check our expectations, and the published figures."""
    ahead, texts = [], []
    for name, protocol in _cells(records):
        part = records.where(data=name, protocol=protocol)
        means = {m: mean_and_error(part.values("accuracy", method=m))[0] for m in part.unique_values("method")}
        rival = max((m for m in means if m != "LOORidge"), key=lambda m: np.nan_to_num(means[m]), default=None)
        if rival is None or "LOORidge" not in means:
            continue
        gain = _gain(part, "LOORidge", rival)
        ahead.append(gain.is_above if gain.is_measured else None)
        texts.append(f"{name}, {protocol}: {gain.points()} points against {rival}")
    results = [
        Claim(
            "LOORidge is above every other estimator on each data set.",
            "our expectation",
            "; ".join(texts) or "not measured",
            all_confirmed(*ahead) if ahead else None,
        )
    ]
    for method in PUBLISHED:
        texts, levels = [], []
        for name in FACES:
            values = records.values("accuracy", data=name, protocol=STORED, method=method)
            if len(values):
                level, published = float(values.mean()), _published(name, method)
                texts.append(f"{name}: {100 * level:.1f} for {100 * published:.1f} %")
                levels.append(level > published - 0.03)
        statement = f"{method} is at most three points below its published figures."
        measured = "; ".join(texts) or "not measured"
        results.append(Claim(statement, "published accuracies", measured, all(levels) if levels else None))
    return results


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Every estimator on real candidate sets",
        citation="Our own comparison. Data: Cour et al. (2011), Briggs et al. (2012), Liu & Dietterich (2012), Bos et "
        "al. (2009), Silveira et al. (2014), Yu et al. (2022)",
        question="How accurate are the estimators, with the settings of oneof.comparison, on candidate sets that were "
        "not made at random?",
        protocol=[
            "Lost, BirdSong and MSRCv2: five folds stored with the data, and five random splits of 80 and 20 %. "
            "italian, ud_english_ewt and plf_trec: five draws of 1,000 training and at most 2,000 test rows, of the "
            "test part where the data have one. Accuracy against the true labels of the test rows.",
            "All estimators have the settings and scalers of oneof.comparison, the same everywhere; nothing is tuned. "
            "Some constants of LOORidge and of the online methods were set with accuracies on Lost, BirdSong and "
            "MSRCv2 in view (docs/accuracy.md). TransductiveSVM takes partial rows as unlabeled.",
            "Published figures are from other splits, and mostly with tuned parameters. The quick run has one fold of "
            "Lost and six estimators.",
        ],
        remarks=[
            "The accuracies of Lost, BirdSong and MSRCv2 were in view when the constants of LOORidge were set. The C "
            "of CLPL is 1 here, and was tuned in the paper. With features in [0, 1], PLKNN is within 2.4 points of the "
            "published figures, and so is IPAL with class masses (docs/accuracy.md).",
        ],
        datasets=(*FACES, *TEXTS),
        full=plan(draws=5),
        quick=plan(draws=1, sets=("lost",), methods=("LOORidge", "CLPL", "PLSVM", "PLKNN", "IPAL", "PLECOC")),
        minutes=(170.0, 0.3),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
