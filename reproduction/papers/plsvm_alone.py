"""Partial labels without exact ones: figure 5 of Nguyen & Caruana (2008)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from oneof.typing import Floats
from reproduction.claims import Claim, Difference, all_confirmed
from reproduction.experiment import Experiment, Table
from reproduction.papers.plsvm import (
    CITATION,
    COUNTS,
    PROTOCOL,
    SETS,
    SIZES,
    Problem,
    make_nested_sets,
    split,
    test_rows,
)
from reproduction.papers.plsvm_levels import STYLES
from reproduction.plot_style import curve, hide_unused, label_axes, new_figure, set_log_ticks, shared_legend
from reproduction.records import Records, Result, mean_and_error, pair_records
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "plsvm-alone"
ALL = "SVM-All"
METHODS = (ALL, *(f"PL-SVM, sets of {size}" for size in SIZES))
REASONABLE = 0.9
"""Fraction of the accuracy of SVM-All that counts as reasonable."""


def plan(
    *, draws: int, sets: tuple[str, ...] = SETS, counts: tuple[int, ...] = COUNTS, tests: int | None = None
) -> tuple[Trial, ...]:
    """Return the trials: an SVM for each data set, number of rows and size of candidate sets (1: true labels)."""
    return tuple(
        Trial.from_settings(NAME, data=data, rows=count, size=size, tests=tests, draw=draw)
        for draw in range(draws)
        for count in counts
        for data in sets
        for size in (1, *SIZES)
    )


def measure(trial: Trial) -> Result:
    """Return the test accuracy of the SVM and its parameters."""
    data, count = split(trial.text("data")), trial.number("rows")
    tests = test_rows(data, None if trial["tests"] is None else trial.number("tests"))
    rows = trial.generator("data", "draw").permutation(data.train)[:count]
    problem, all_rows = Problem(data, rows, tests), np.arange(count)
    size = trial.number("size")
    mask = make_nested_sets(problem.exact(all_rows), (size,), trial.generator("data", "draw"))[size]
    lam, degree = problem.choose(all_rows, mask, trial.generator("data", "rows", "draw"))
    return {"accuracy": problem.accuracy(all_rows, mask, lam, degree), "lam": lam, "degree": degree}


def _size(method: str) -> int:
    return 1 if method == ALL else int(method.rsplit(" ", 1)[1])


def curves(records: Records, data: str, method: str) -> Floats:
    """Return accuracies in percent, (n_draws, numbers of rows)."""
    part = records.where(data=data, size=_size(method))
    columns = [100 * part.values("accuracy", rows=count) for count in records.unique_values("rows")]
    shortest = min(map(len, columns))
    return np.array([column[:shortest] for column in columns]).T


def _last(records: Records, data: str, method: str) -> float:
    """Return the mean accuracy with the most rows."""
    count = records.unique_values("rows")[-1]
    return 100 * mean_and_error(records.values("accuracy", data=data, rows=count, size=_size(method)))[0]


def tabulate(records: Records) -> Table:
    """Return the mean accuracies."""
    rows: list[list[str | float | int]] = []
    for data in records.unique_values("data"):
        for count in records.unique_values("rows"):
            for method in METHODS:
                values = 100 * records.values("accuracy", data=data, rows=count, size=_size(method))
                rows.append([data, count, method, len(values), *mean_and_error(values)])
    return Table(("set", "rows", "method", "draws", "accuracy %", "standard error"), rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot a panel for each data set."""
    sets, counts = records.unique_values("data"), records.unique_values("rows")
    columns = min(len(sets), 3)
    figure, axes = new_figure(-(-len(sets) // columns), columns, width=3.5, height=2.9)
    for ax, data in zip(axes, sets, strict=False):
        for method in METHODS:
            curve(ax, counts, curves(records, data, method), STYLES[method], method)
        label_axes(ax, data, "partial rows", "accuracy, %")
        set_log_ticks(ax, counts)
    hide_unused(axes, len(sets))
    shared_legend(figure, axes[: len(sets)], columns=3)
    return {"figure-5": figure}


def _check_reasonable(records: Records) -> tuple[str, bool | None]:
    verdicts, details = [], []
    count = records.unique_values("rows")[-1]
    for data in records.unique_values("data"):
        ours, best = (_last(records, data, method) for method in (METHODS[1], ALL))
        verdicts.append(ours >= REASONABLE * best if np.isfinite(ours + best) else None)
        details.append(f"{data} {ours:.1f} for {best:.1f}" if verdicts[-1] is not None else f"{data} not measured")
    return f"{count} rows, sets of 2: " + "; ".join(details), all_confirmed(*verdicts)


def _check_more_rows(records: Records) -> tuple[str, bool | None]:
    verdicts, details = [], []
    for data in records.unique_values("data"):
        for method in METHODS[1:]:
            counts = records.unique_values("rows")
            part = records.where(data=data, size=_size(method))
            few, many = pair_records(*(part.where(rows=count) for count in (counts[0], counts[-1])))
            gain = Difference.from_pairs(100 * many.values("accuracy"), 100 * few.values("accuracy"))
            verdicts.append(gain.is_above if gain.is_measured and len(counts) > 1 else None)
            if verdicts[-1] is not True:
                details.append(f"not {data}, {method}: {gain.points(1.0)}")
    return "; ".join(details) or "everywhere", all_confirmed(*verdicts)


def _check_larger_sets(records: Records) -> tuple[str, bool | None]:
    verdicts, details = [], []
    for data in records.unique_values("data"):
        means = [_last(records, data, method) for method in METHODS]
        verdicts.append(means[0] >= means[1] >= means[-1] if np.isfinite(means).all() else None)
        details.append(f"{data}: " + ", ".join(f"{mean:.1f}" for mean in means))
    return "true labels, then sets of 2 to 5, %: " + "; ".join(details), all_confirmed(*verdicts)


def claims(records: Records) -> list[Claim]:
    """Check the paper's statements about partial labels alone."""
    return [
        Claim("With the most rows and sets of 2, partial labels alone reach nine tenths of the accuracy of SVM-All.",
              "partial labels alone give reasonable performance", *_check_reasonable(records)),
        Claim("On every set, PL-SVM is better with the most partial rows than with the fewest.",
              "figure 5, whose curves rise", *_check_more_rows(records)),
        Claim("On every set and with the most rows, true labels are best, sets of 2 next, and sets of 5 worse.",
              "larger sets are less informative", *_check_larger_sets(records)),
    ]  # fmt: skip


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Partial labels alone: figure 5",
        citation=CITATION,
        question="How accurate are classifiers from partial labels without any exact label?",
        protocol=[
            "100, 200, 400 or 800 rows drawn from the training part, each with a set of 2 to 5 labels and uniform "
            "distractors; accuracy on the test part. SVM-All has the true labels. Bands are two standard errors.",
            *PROTOCOL,
            "Since there are no exact rows, the two folds use the covering rate. 10 draws (the paper does not give "
            "the number); the quick run has one, up to 200 rows, two data sets and 1,000 test rows.",
        ],
        datasets=SETS,
        full=plan(draws=10),
        quick=plan(draws=1, sets=("pendigits", "segment"), counts=(100, 200), tests=1000),
        minutes=(140.0, 0.6),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
