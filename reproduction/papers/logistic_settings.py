"""Settings that the paper does not give: figure 2 of Krishnapuram et al. (2004) under other features and priors."""

import warnings
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.typing import Floats, Ints
from reproduction.claims import Claim, Difference
from reproduction.data import load_arrays
from reproduction.experiment import Experiment, Table
from reproduction.papers.logistic import CITATION, draw_labeled, sparse_logistic
from reproduction.plot_style import add_color_bar, new_figure
from reproduction.records import Records, Result, mean_and_error
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "logistic-settings"
FIGURE_SETS, DEVELOPMENT = ("ionosphere", "wdbc", "pima"), ("glass", "vehicle", "segment", "satimage")
SETS = (*FIGURE_SETS, *DEVELOPMENT)
FEW, MANY = "few", "many"
MAX_ROWS = 800
SCALES = ("standard", "range", "none")
DEFAULT = "default"
SETTINGS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "graph prior alone": {"prior": "graph"},
    "sparseness prior (ARD)": {"prior": "graph+ard"},
    "EM": {"precision": "em"},
    "EM, 5 iterations": {"precision": "em", "max_iter": 5},
    "graph prior alone, EM": {"prior": "graph", "precision": "em"},
    "graph prior alone, EM, 5 iterations": {"prior": "graph", "precision": "em", "max_iter": 5},
    "10 neighbors": {"n_neighbors": 10},
    "20 neighbors": {"n_neighbors": 20},
    "binary edges": {"affinity": "binary"},
    "cosine edges": {"affinity": "cosine"},
    "mutual neighbors": {"symmetrize": "mutual"},
    "kernel features": {"features": "kernel"},
    "kernel features, graph prior alone": {"features": "kernel", "prior": "graph"},
}
SUPERVISED = {"logistic, L1, C = .1": 0.1, "logistic, L1, C = 1": 1.0, "logistic, L1, C = 10": 10.0}
REFERENCE = "logistic, L1, C = 1"
"""The purely supervised classifier of our figure 2, for two classes."""


def plan(*, draws: int, sets: tuple[str, ...] = SETS, kinds: tuple[str, ...] = (FEW, MANY)) -> tuple[Trial, ...]:
    """Return the trials."""
    return tuple(
        Trial.from_settings(NAME, data=name, labels=kind, draw=draw)
        for draw in range(draws)
        for name in sets
        for kind in kinds
    )


def number_of_labels(n_classes: int, kind: str) -> int:
    """Return the number of labeled rows: 10 or 40 for two classes, 5 or 20 for each of more."""
    return (10 if kind == FEW else 40) if n_classes == 2 else (5 if kind == FEW else 20) * n_classes


@cache
def _rows(name: str, scale: str) -> tuple[Floats, Ints]:
    X, y, _, _ = load_arrays(name, scale)
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


def measure(trial: Trial) -> Result:
    """Return the accuracy on the unlabeled rows of each setting with each scale of the features."""
    from sklearn.exceptions import ConvergenceWarning

    from oneof.estimators.graph_logistic.graph_logistic import GraphLogisticRegression

    results = {}
    for scale in SCALES:
        X, y = _rows(trial.text("data"), scale)
        n_classes = int(y.max()) + 1
        number = number_of_labels(n_classes, trial.text("labels"))
        labeled = draw_labeled(y, number, trial.generator("data", "draw"))
        labels = np.full(len(y), -1)
        labels[labeled] = y[labeled]
        hidden = labels < 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # five iterations are a setting
            for name, options in SETTINGS.items():
                decided = GraphLogisticRegression(**options).fit(X, labels).transduction_
                results[_key(scale, name)] = float(np.mean(decided[hidden] == y[hidden]))
        if n_classes == 2:
            for name, C in SUPERVISED.items():
                reference = sparse_logistic().set_params(C=C).fit(X[labeled], y[labeled])
                results[_key(scale, name)] = float(np.mean(reference.predict(X[hidden]) == y[hidden]))
    return results


def _key(scale: str, setting: str) -> str:
    return f"{scale}: {setting}"


def _names(data: str) -> list[str]:
    return [_key(scale, name) for scale in SCALES for name in (*SETTINGS, *(SUPERVISED if data in FIGURE_SETS else ()))]


def _gain(records: Records, data: str, kind: str, setting: str, other: str) -> Difference:
    part = records.where(data=data, labels=kind)
    return Difference.from_pairs(part.values(setting), part.values(other))


def tabulate(records: Records) -> Table:
    """Return mean accuracies, and the gains over the default on standardized features."""
    rows: list[list[str | float | int]] = []
    for data in (name for name in SETS if name in records.unique_values("data")):
        for kind in records.unique_values("labels"):
            for setting in _names(data):
                scale, name = setting.split(": ")
                values = 100 * records.where(data=data, labels=kind).values(setting)
                gain = _gain(records, data, kind, setting, _key(SCALES[0], DEFAULT))
                rows.append(
                    [data, kind, scale, name, len(values), *mean_and_error(values), 100 * gain.mean, 100 * gain.error]
                )
    columns = ("data", "labels", "features", "setting", "draws", "accuracy %", "standard error",
               "gain over the default, points", "standard error")  # fmt: skip
    return Table(columns, rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot the gains over the default on standardized features, a panel for each number of labels."""
    kinds = records.unique_values("labels")
    sets = [name for name in SETS if name in records.unique_values("data")]
    figure, axes = new_figure(1, len(kinds), width=5.6, height=9.5)
    lines = [_key(scale, name) for scale in SCALES for name in (*SETTINGS, *SUPERVISED)]
    for ax, kind in zip(axes, kinds, strict=True):
        gains = [
            [
                _gain(records, data, kind, line, _key(SCALES[0], DEFAULT))
                if line in _names(data)
                else Difference(np.nan, np.nan)
                for data in sets
            ]
            for line in lines
        ]
        means = 100 * np.array([[gain.mean for gain in row] for row in gains])
        picture = ax.pcolormesh(means, cmap="PuOr", vmin=-15, vmax=15)
        ax.invert_yaxis()
        for i, row in enumerate(gains):
            for j, gain in enumerate(row):
                if gain.is_measured:
                    weight = "bold" if gain.is_above or gain.is_below else "normal"
                    dark = abs(means[i, j]) > 10
                    at = (j + 0.5, i + 0.5)
                    ax.text(*at, f"{means[i, j]:+.1f}", ha="center", va="center", fontsize=7, weight=weight,
                            color="white" if dark else "black")  # fmt: skip
        ax.set_xticks(0.5 + np.arange(len(sets)), sets, rotation=45)
        ax.set_yticks(0.5 + np.arange(len(lines)), lines if ax is axes[0] else [""] * len(lines), fontsize=7.5)
        ax.set_title(f"{kind} labels: gain over the default, points", fontsize=9, loc="left")
    add_color_bar(figure, picture, axes, "")
    return {"figure": figure}


def best_on_development(records: Records) -> str | None:
    """Return the setting with the highest mean accuracy on the development sets with few labels."""
    settings = [_key(scale, name) for scale in SCALES for name in SETTINGS]
    parts = [records.where(data=data, labels=FEW) for data in DEVELOPMENT]
    if not all(len(part.values(settings[0])) for part in parts):
        return None
    return max(settings, key=lambda setting: float(np.mean([part.values(setting).mean() for part in parts])))


def claims(records: Records) -> list[Claim]:
    """Check whether a setting makes the claim of figure 2 true, and whether the development sets choose it."""
    reference = _key(SCALES[0], REFERENCE)
    measured_sets = [data for data in FIGURE_SETS if len(records.where(data=data, labels=FEW).values(reference))]
    winners = []
    for setting in (_key(scale, name) for scale in SCALES for name in SETTINGS):
        gains = [_gain(records, data, FEW, setting, reference) for data in measured_sets]
        if gains and all(gain.is_above for gain in gains):
            winners.append(setting)
    paper = "semi-supervised above supervised, on each set"
    is_measured = len(measured_sets) == len(FIGURE_SETS)
    results = [
        Claim(
            f"With 10 labels, some setting is above the supervised classifier on each of {', '.join(FIGURE_SETS)}.",
            paper,
            ("; ".join(winners) or f"none of {len(SCALES) * len(SETTINGS)} settings")
            if is_measured
            else "not measured",
            bool(winners) if is_measured else None,
        )
    ]
    best, default = best_on_development(records), _key(SCALES[0], DEFAULT)
    if best is None:
        return [*results, Claim("The development sets prefer another setting.", "none", "not measured", None)]
    parts = [_gain(records, data, FEW, best, default) for data in DEVELOPMENT]
    error = float(np.sqrt(np.sum([part.error**2 for part in parts]))) / len(parts)
    gain = Difference(float(np.mean([part.mean for part in parts])), error)
    results.append(
        Claim(
            "The setting with the highest mean on the four development sets is above the default there.",
            "none: a search for a better default",
            f"{best}: {gain.points()} points" if gain.is_measured else "not measured",
            gain.is_above if gain.is_measured else None,
        )
    )
    if is_measured:
        by_set = {data: _gain(records, data, FEW, best, reference) for data in FIGURE_SETS}
        results.append(
            Claim(
                "With 10 labels, this setting is above the supervised classifier on each set of the figure.",
                paper,
                "; ".join(f"{data}: {gain.points()} points" for data, gain in by_set.items()),
                all(gain.is_above for gain in by_set.values()),
            )
        )
    return results


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Figure 2 under other settings",
        citation=CITATION,
        question="Which features, graph, prior and estimation of the precisions make the claims of figure 2 true?",
        protocol=[
            "14 settings of GraphLogisticRegression, each different from the default in one or two parts, with "
            "features that are standardized, scaled to -1 to 1, or raw; 20 draws of the labeled rows, the same for "
            "all. At most 800 rows of each data set; accuracy on the unlabeled rows.",
            "Few labels are 10 for the two classes of ionosphere, wdbc and pima, and 5 per class otherwise; many are "
            "four times as many. glass, vehicle, segment and satimage are development sets: a default may be chosen on "
            "them, and not on the sets of the figure. The supervised classifier has an L1 penalty, as in figure 2.",
            "The quick run has two draws of wdbc and glass with few labels.",
        ],
        remarks=[
            "Graph, neighbors and edge weights change the accuracy by a point at most. The paper's EM ends at weights "
            "of 0 with few labels, as its equations say (decision 0017). The chosen setting loses .4 points on the "
            "sets of the figure (means), so the default remains.",
        ],
        datasets=SETS,
        full=plan(draws=20),
        quick=plan(draws=2, sets=("wdbc", "glass"), kinds=(FEW,)),
        minutes=(10.0, 1.0),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
