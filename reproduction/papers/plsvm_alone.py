"""No exact label at all: figure 5 of Nguyen & Caruana (2008)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from oneof.typing import Floats
from reproduction.claims import Claim, Difference, verdict_of
from reproduction.drawing import at_counts, curve, finish, hide_unused, new_figure, shared_legend
from reproduction.experiment import Experiment, Table
from reproduction.papers.plsvm import CITATION, COUNTS, PROTOCOL, SETS, SIZES, Problem, sets_of, split, tests_of
from reproduction.papers.plsvm_levels import LOOK
from reproduction.records import Records, Result, in_common, mean_and_error
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "plsvm-alone"
ALL = "SVM-All"
METHODS = (ALL, *(f"PL-SVM, sets of {size}" for size in SIZES))
REASONABLE = 0.9
"""Share of the accuracy of SVM-All that counts as reasonable."""


def plan(
    *, draws: int, sets: tuple[str, ...] = SETS, counts: tuple[int, ...] = COUNTS, tests: int | None = None
) -> tuple[Trial, ...]:
    """Return the trials: a machine for each set, number of rows and size of candidate sets (1: true labels)."""
    return tuple(
        Trial.of(NAME, data=data, rows=count, size=size, tests=tests, draw=draw)
        for draw in range(draws)
        for count in counts
        for data in sets
        for size in (1, *SIZES)
    )


def measure(trial: Trial) -> Result:
    """Return the test accuracy of the machine, and its parameters."""
    data, count = split(trial.text("data")), trial.number("rows")
    tests = tests_of(data, None if trial["tests"] is None else trial.number("tests"))
    rows = trial.generator("data", "draw").permutation(data.train)[:count]
    problem, every = Problem(data, rows, tests), np.arange(count)
    mask = sets_of(problem.exact(every), (trial.number("size"),), trial.generator("data", "draw"))[trial.number("size")]
    lam, degree = problem.choose(every, mask, trial.generator("data", "rows", "draw"))
    return {"accuracy": problem.accuracy(every, mask, lam, degree), "lam": lam, "degree": degree}


def _size(method: str) -> int:
    return 1 if method == ALL else int(method.rsplit(" ", 1)[1])


def curves(records: Records, data: str, method: str) -> Floats:
    """Return accuracies in percent, (n_mc_samples, numbers of rows)."""
    part = records.where(data=data, size=_size(method))
    columns = [100 * part.values("accuracy", rows=count) for count in records.across("rows")]
    shortest = min(map(len, columns))
    return np.array([column[:shortest] for column in columns]).T


def _last(records: Records, data: str, method: str) -> float:
    """Return the mean accuracy with the most rows."""
    count = records.across("rows")[-1]
    return 100 * mean_and_error(records.values("accuracy", data=data, rows=count, size=_size(method)))[0]


def tabulate(records: Records) -> Table:
    """Return the mean accuracies."""
    rows: list[list[str | float | int]] = []
    for data in records.across("data"):
        for count in records.across("rows"):
            for method in METHODS:
                values = 100 * records.values("accuracy", data=data, rows=count, size=_size(method))
                rows.append([data, count, method, len(values), *mean_and_error(values)])
    return Table(("set", "rows", "machine", "draws", "accuracy %", "standard error"), rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Draw a panel a set."""
    sets, counts = records.across("data"), records.across("rows")
    columns = min(len(sets), 3)
    figure, axes = new_figure(-(-len(sets) // columns), columns, width=3.5, height=2.9)
    for ax, data in zip(axes, sets, strict=False):
        for method in METHODS:
            curve(ax, counts, curves(records, data, method), LOOK[method], method)
        finish(ax, data, "partial rows", "accuracy, %")
        at_counts(ax, counts)
    hide_unused(axes, len(sets))
    shared_legend(figure, axes[: len(sets)], columns=3)
    return {"figure-5": figure}


def _reasonable(records: Records) -> tuple[str, bool | None]:
    judged, told = [], []
    count = records.across("rows")[-1]
    for data in records.across("data"):
        ours, best = (_last(records, data, method) for method in (METHODS[1], ALL))
        judged.append(ours >= REASONABLE * best if np.isfinite(ours + best) else None)
        told.append(f"{data} {ours:.1f} for {best:.1f}" if judged[-1] is not None else f"{data} not measured")
    return f"{count} rows, sets of 2: " + "; ".join(told), verdict_of(*judged)


def _more_rows(records: Records) -> tuple[str, bool | None]:
    judged, told = [], []
    for data in records.across("data"):
        for method in METHODS[1:]:
            counts = records.across("rows")
            part = records.where(data=data, size=_size(method))
            few, many = in_common(*(part.where(rows=count) for count in (counts[0], counts[-1])))
            gain = Difference.of(100 * many.values("accuracy"), 100 * few.values("accuracy"))
            judged.append(gain.is_above if gain.known and len(counts) > 1 else None)
            if judged[-1] is not True:
                told.append(f"not {data}, {method}: {gain.points(1.0)}")
    return "; ".join(told) or "everywhere", verdict_of(*judged)


def _larger_sets(records: Records) -> tuple[str, bool | None]:
    judged, told = [], []
    for data in records.across("data"):
        means = [_last(records, data, method) for method in METHODS]
        judged.append(means[0] >= means[1] >= means[-1] if np.isfinite(means).all() else None)
        told.append(f"{data}: " + ", ".join(f"{mean:.1f}" for mean in means))
    return "true labels, then sets of 2 to 5, %: " + "; ".join(told), verdict_of(*judged)


def claims(records: Records) -> list[Claim]:
    """Judge what the paper says of partial labels alone."""
    return [
        Claim("With the most rows and sets of 2, partial labels alone reach nine tenths of the accuracy of SVM-All.",
              "partial labels alone give reasonable performance", *_reasonable(records)),
        Claim("On every set, PL-SVM is better with the most partial rows than with the fewest.",
              "figure 5, whose curves rise", *_more_rows(records)),
        Claim("On every set and with the most rows, true labels are best, sets of 2 next, and sets of 5 worse.",
              "the larger the sets, the less they tell", *_larger_sets(records)),
    ]  # fmt: skip


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Partial labels alone: figure 5",
        citation=CITATION,
        question="How far do partial labels go where no row is exactly labeled?",
        protocol=[
            "100, 200, 400 or 800 rows drawn from the training part, each with a set of 2 to 5 labels, the false ones "
            "uniform; accuracy on the test part. SVM-All has the true labels. Bands are two standard errors.",
            *PROTOCOL,
            "As there are no exact rows, a decision counts in the two folds if it lies in the row's set. 10 draws (the "
            "paper does not say how many); the quick run has one, up to 200 rows, two sets and 1,000 test rows.",
        ],
        remarks=[
            "With the first two draws alone, the gain from 100 to 800 rows was below two standard errors in two of the "
            "24 pairs, as draws of 100 rows lie far apart; with all ten it is above them everywhere.",
        ],
        datasets=SETS,
        full=plan(draws=10),
        quick=plan(draws=1, sets=("pendigits", "segment"), counts=(100, 200), tests=1000),
        minutes=(80.0, 0.6),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
