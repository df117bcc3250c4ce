"""Gaussian processes on controlled sets: tables II and III of Zhou, Zhang & Gu (2017)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from reproduction.claims import Claim, verdict_of
from reproduction.data import numbers
from reproduction.drawing import LOOKS, finish, hide_unused, new_figure, shared_legend
from reproduction.experiment import Experiment, Table
from reproduction.papers.plgp import (
    CITATION,
    ECOC,
    HONEST,
    METHODS,
    OURS,
    PROTOCOL,
    RIVALS,
    accuracies,
    compare_pair,
    kernels_above,
    mean_and_deviation,
    measure_fold,
    say,
)
from reproduction.records import Records, Result
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "plgp-controlled"
SETS = ("ecoli", "glass", "segment", "vehicle", "leaf", "mfeat_fourier")
SHARES, EXTRAS, FOLDS = (0.15, 0.45, 0.75), (1, 2, 3), 10
# Share of the 54 configurations that PLGP wins and loses, in percent.
NAMED = ("segment", "vehicle", "leaf")
"""Sets of ours that the paper names as those on which PLGP is ahead."""
PUBLISHED = {"PL-ECOC": (69, 19), "CLPL": (89, 4), "PL-kNN": (85, 2)}
LOOK = dict(zip(METHODS[:4], (LOOKS[0], LOOKS[1], LOOKS[2], LOOKS[3]), strict=True))


def plan(
    *,
    repeats: int = 1,
    folds: int = FOLDS,
    sets: tuple[str, ...] = SETS,
    shares: tuple[float, ...] = SHARES,
    extras: tuple[int, ...] = EXTRAS,
) -> tuple[Trial, ...]:
    """Return the trials: the first folds of each repetition, for each set and its candidates."""
    return tuple(
        Trial.of(NAME, data=data, share=share, extra=extra, repeat=repeat, fold=fold)
        for repeat in range(repeats)
        for fold in range(folds)
        for data in sets
        for share in shares
        for extra in extras
    )


def measure(trial: Trial) -> Result:
    """Return the accuracies of a fold."""
    from oneof.datasets import make_partial_labels

    X, y, mask, _ = numbers(trial.text("data"), "none")
    n_classes = mask.shape[1]
    # The same rows are partial, and the same folds taken, for all methods and all folds of a repetition.
    random = trial.generator("data", "share", "extra", "repeat")
    share = float(trial["share"] or 0.0)
    sets = make_partial_labels(
        y, fraction=share, n_distractors=trial.number("extra"), classes=range(n_classes), random_state=random
    )
    folds = np.array_split(trial.generator("data", "repeat").permutation(len(y)), FOLDS)
    return measure_fold(X, sets.mask, y, folds, trial.number("fold"), trial.generator())


def configurations(records: Records) -> list[Records]:
    """Return the records of each set, share and number of extra labels."""
    parts = [
        records.where(data=data, share=share, extra=extra)
        for data in records.across("data")
        for share in records.across("share")
        for extra in records.across("extra")
    ]
    return [part for part in parts if len(part)]


def tabulate(records: Records) -> Table:
    """Return mean accuracies and standard deviations, and below them wins, ties and losses of PLGP set by set."""
    rows: list[list[str | float | int]] = []
    for part in configurations(records):
        trial = part[0].trial
        for method in METHODS:
            values = accuracies(part, method)
            place = [trial.text("data"), f"{trial['share']}", f"{trial['extra']}"]
            rows.append([*place, method, len(values), *mean_and_deviation(values), ""])
    for data in (*records.across("data"), "all"):
        parts = configurations(records if data == "all" else records.where(data=data))
        for ours, theirs in _pairs():
            pair = compare_pair(parts, ours, theirs)
            nothing = float("nan")
            rows.append([data, "all", "all", f"{ours} against {theirs}", len(parts), nothing, nothing, say(pair)])
    columns = ("set", "share", "extra", "method", "folds", "accuracy %", "standard deviation", "wins, ties, losses")
    return Table(columns, rows)


def _pairs() -> list[tuple[str, str]]:
    honest = [(OURS + HONEST, rival + HONEST if rival == ECOC else rival) for rival in RIVALS]
    return [*((OURS, rival) for rival in RIVALS), *honest]


def draw(records: Records) -> "Mapping[str, Figure]":
    """Draw, set by set, the accuracy of each method over its configurations."""
    sets = records.across("data")
    columns = min(len(sets), 3)
    figure, axes = new_figure(-(-len(sets) // columns), columns, width=3.9, height=3.0)
    for ax, data in zip(axes, sets, strict=False):
        parts = configurations(records.where(data=data))
        at = np.arange(len(parts))
        for i, (method, look) in enumerate(LOOK.items()):
            found = np.array([mean_and_deviation(accuracies(part, method)) for part in parts])
            ax.errorbar(
                at + 0.16 * (i - 1.5), found[:, 0], yerr=np.nan_to_num(found[:, 1]), fmt=look.marker,
                color=look.color, markersize=4.5, elinewidth=1.0, label=method,
            )  # fmt: skip
        names = [f"{part[0].trial['share']:g}, {part[0].trial['extra']}" for part in parts]
        ax.set_xticks(at, names, rotation=45 if len(at) > 3 else 0)
        finish(ax, data, "share of partial rows, extra labels", "accuracy, %")
    hide_unused(axes, len(sets))
    shared_legend(figure, axes[: len(sets)], columns=4)
    return {"figure": figure}


def claims(records: Records) -> list[Claim]:
    """Judge what section IV says of the controlled sets."""
    parts, found = configurations(records), []
    for rival, (win, loss) in PUBLISHED.items():
        for ours, theirs in ((OURS, rival), (OURS + HONEST, rival + HONEST if rival == ECOC else rival)):
            pair = compare_pair(parts, ours, theirs)
            total = sum(pair)
            known = total > 0
            told = f"{say(pair)} of {total}" + (
                f": {100 * pair.win / total:.0f} and {100 * pair.loss / total:.0f} %" if known else ""
            )
            statement = (
                f"{ours} wins more than half of the configurations against {theirs}, and loses fewer than it wins."
            )
            paper = f"wins {win} %, loses {loss} %" + (" (the better kernel by test accuracy)" if ours != OURS else "")
            held = pair.win > total / 2 and pair.loss < pair.win if known else None
            found.append(Claim(statement, paper, told, held))
    return [*found, _ahead_on_named_sets(records), kernels_above(parts)]


def _ahead_on_named_sets(records: Records) -> Claim:
    judged, told = [], []
    for data in NAMED:
        parts = configurations(records.where(data=data))
        for rival in RIVALS:
            pair = compare_pair(parts, OURS, rival)
            judged.append(pair.win > pair.loss if sum(pair) else None)
            told.append(f"{data}, {rival}: {say(pair)}" if sum(pair) else f"{data}, {rival}: not measured")
    statement = f"On {', '.join(NAMED[:-1])} and {NAMED[-1]}, PLGP wins more configurations than it loses against each."
    return Claim(statement, "ahead of all others on segment, vehicle and leaf", "; ".join(told), verdict_of(*judged))


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Gaussian processes on controlled sets: tables II and III",
        citation=CITATION,
        question="How do Gaussian processes compare with other methods where the number of false labels is controlled?",
        protocol=[
            "15, 45 or 75 % of the rows get 1, 2 or 3 false labels, uniform: nine configurations of each set. The "
            "paper names segment, vehicle, leaf and a set of features among its six; ours are ecoli, glass, segment, "
            "vehicle, leaf and mfeat_fourier (that PL-ECOC is ahead on the set of features is not judged: which set it "
            "was is not in our text). Bars in the figure: one standard deviation over the folds.",
            *PROTOCOL,
            "Here it runs once. The quick run has two sets, a share of .45, one or three false labels, and two folds.",
        ],
        remarks=[
            "Three of ten folds were run, and a t-test over three folds sees large differences only: most "
            "configurations are ties. In the mean over the folds PLGP is above CLPL in 45 of the 54 "
            "configurations, above PL-kNN in 42 and above PL-ECOC in 12 (with the chosen kernel in 41, 33 and "
            "10). So against the first two it leads as in the paper, if not as often; against PL-ECOC it does "
            "not, and on segment and vehicle it is clearly behind.",
            "That is the prior variance of 1, which the kernel has as it is printed, and not the solver: on three "
            "folds of segment (two with three false labels on 75 % of the rows, one with two on 45 %), the best "
            "of three widths gives 89, 92 and 93 % with a variance of 1, 94, 95 and 95 % with 10, and 96, 97 and "
            "97 % with 100, where the best of nine settings of PL-ECOC, whose C is chosen from .1 to 100, gives "
            "95, 96 and 96 %. Test accuracies were looked at for this: it explains the gap, and is no clean "
            "estimate. PLGP outside this experiment takes its variance from the evidence.",
        ],
        datasets=SETS,
        full=plan(),
        quick=plan(folds=2, sets=("ecoli", "glass"), shares=(0.45,), extras=(1, 3)),
        minutes=(90.0, 0.9),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
