"""Where the claims about online learning hold, by the number of rounds and lambda: figures 1 to 5 at more of both."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask
from reproduction.claims import Z_THRESHOLD, Claim
from reproduction.data import load_arrays
from reproduction.experiment import Experiment, Table
from reproduction.papers.online import CITATION, COMPARABLE_TOL
from reproduction.papers.online_streams import (
    AVERAGE,
    MAXIMUM,
    PARTIAL,
    STREAMS,
    draw_passes,
    result_key,
    wrong_predictions,
)
from reproduction.plot_style import add_color_bar, hide_unused, label_axes, new_figure
from reproduction.records import Records, Result
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "online-regions"
ROUNDS = {"dermatology": 36_600, "ecoli": 33_600, "satimage": 44_350, "usps": 72_910, "mnist": 180_000}
"""100 passes over the rows of dermatology and ecoli, 10 over those of satimage and usps, 3 over those of mnist."""
LAMS = tuple(float(f"{10 ** (exponent / 2):.3g}") for exponent in range(-10, 3))
"""From 1e-5 to 10, two in a decade."""
N_CHECKPOINTS = 30


class Region(NamedTuple):
    """A statement of the paper about one data set and set size."""

    data: str
    size: int
    below: tuple[str, ...]
    above: tuple[str, ...]
    form: str
    """"best": the best of `below` ends below the best of `above`; "all": all of `below` do; "level": within a point."""

    @property
    def statement(self) -> str:
        """The statement in words."""
        names: dict[tuple[str, ...], str] = {AVERAGE: "Avg", MAXIMUM: "Max"}
        below = names.get(self.below, self.below[0])
        above = names.get(self.above, "other three")
        if self.form == "all":
            relation = f"both {below} are below both {above}"
        elif self.form == "level":
            relation = f"{below} is within a point of, or below, the best {above}"
        elif self.above in names:
            relation = f"the best {below} is below the best {above}"
        else:
            relation = f"{below} is below the {above}"
        return f"{self.data}, sets of {self.size}: {relation}"


def _others(method: str) -> tuple[str, ...]:
    return tuple(other for other in PARTIAL if other != method)


REGIONS = (
    *(Region("dermatology", size, AVERAGE, MAXIMUM, "best") for size in (2, 4)),
    *(Region("ecoli", size, ("Max Pegasos",), AVERAGE, "level") for size in (2, 4)),
    Region("ecoli", 6, AVERAGE, MAXIMUM, "best"),
    Region("satimage", 2, ("Max Pegasos",), _others("Max Pegasos"), "best"),
    Region("satimage", 4, AVERAGE, MAXIMUM, "best"),
    *(Region("usps", size, MAXIMUM, AVERAGE, "all") for size in (2, 4)),
    *(Region("usps", size, AVERAGE, MAXIMUM, "best") for size in (6, 8)),
    *(Region("mnist", size, MAXIMUM, AVERAGE, "all") for size in (2, 4)),
    *(Region("mnist", size, ("Avg Pegasos",), _others("Avg Pegasos"), "best") for size in (6, 8)),
)


def plan(*, draws: int, sets: tuple[str, ...] = tuple(STREAMS), passes: int | None = None) -> tuple[Trial, ...]:
    """Return the trials of each data set and set size; with `passes`, that many rounds at most."""
    return tuple(
        Trial.from_settings(NAME, data=data, size=size, draw=draw, rounds=min(passes or ROUNDS[data], ROUNDS[data]))
        for draw in range(draws)
        for data in sets
        for size in STREAMS[data].sizes
    )


def checkpoints(rounds: int) -> Ints:
    """Return the rounds after which the mean error is stored, evenly spaced on a log scale."""
    return np.unique(np.geomspace(50, rounds, N_CHECKPOINTS).round().astype(np.int64))


def measure(trial: Trial) -> Result:
    """Return for each algorithm and lambda the running fraction of wrong predictions at the checkpoints."""
    from oneof.datasets import make_partial_labels

    data, rounds, size = trial.text("data"), trial.number("rounds"), trial.number("size")
    X, y, _, n_train = load_arrays(data, STREAMS[data].scale)
    X, y = X[:n_train], y[:n_train]
    order = draw_passes(len(y), rounds, trial.generator("data", "draw"))
    sets = make_partial_labels(y, set_size=size, random_state=trial.generator("data", "draw", "size"))
    kept = checkpoints(rounds)
    results = {}
    for name in PARTIAL:
        prediction = "average" if name in AVERAGE else "max"
        for lam in LAMS if "Pegasos" in name else (None,):
            wrong = wrong_predictions(X, y, sets.mask, order, prediction, lam)
            results[result_key(name, lam)] = (np.cumsum(wrong)[kept - 1] / kept).tolist()
    return results


def differences(records: Records, region: Region) -> tuple[Floats, Mask]:
    """Return the differences of the errors by lambda and checkpoint, (n_lams, n_checkpoints), and where it holds."""
    part = records.where(data=region.data, size=region.size)
    means, holds = [], []
    for lam in LAMS:
        errors = {m: part.values(result_key(m, lam if "Pegasos" in m else None)) for m in PARTIAL}
        best = _lowest(errors, region.above)
        gaps = (
            [errors[method] - best for method in region.below]
            if region.form == "all"
            else [_lowest(errors, region.below) - best]
        )
        mean = np.max([gap.mean(axis=0) for gap in gaps], axis=0)
        error = np.max(
            [gap.std(axis=0, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0 * gap[0] for gap in gaps], axis=0
        )
        means.append(mean)
        holds.append(mean < COMPARABLE_TOL if region.form == "level" else mean < -Z_THRESHOLD * error)
    return np.array(means), np.array(holds)


def _lowest(errors: Mapping[str, Floats], methods: tuple[str, ...]) -> Floats:
    """Return the errors of the method with the lowest mean, chosen for each checkpoint."""
    stacked = np.array([errors[method] for method in methods])
    best = stacked.mean(axis=1).argmin(axis=0)
    return np.asarray(np.take_along_axis(stacked, best[None, None, :], axis=0)[0])


def _measured(records: Records) -> list[Region]:
    return [
        r for r in REGIONS if len(records.where(data=r.data, size=r.size).values(result_key("Max Perceptron", None)))
    ]


def _rounds(records: Records, data: str) -> Ints:
    return checkpoints(records.where(data=data)[0].trial.number("rounds"))


def tabulate(records: Records) -> Table:
    """Return for each statement and lambda the share of the checkpoints where it holds, and the rounds."""
    rows: list[list[str | float | int]] = []
    for region in _measured(records):
        at = _rounds(records, region.data)
        means, holds = differences(records, region)
        for lam, mean, held in zip(LAMS, means, holds, strict=True):
            where = f"{at[held].min():,} to {at[held].max():,}" if held.any() else ""
            rows.append([region.statement, f"{lam:g}", 100 * float(held.mean()), where, 100 * float(mean[-1])])
    columns = (
        "statement",
        "lambda",
        "holds at % of checkpoints",
        "rounds, first to last",
        "difference at the end, points",
    )
    return Table(columns, rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot for each data set the differences by rounds and lambda; cells where the statement holds have a dot."""
    figures = {}
    for data in STREAMS:
        regions = [region for region in _measured(records) if region.data == data]
        if not regions:
            continue
        columns = 2 if len(regions) != 3 else 3
        figure, axes = new_figure(-(-len(regions) // columns), columns, width=4.6, height=3.3)
        at = _rounds(records, data)
        for ax, region in zip(axes, regions, strict=False):
            means, holds = differences(records, region)
            picture = ax.pcolormesh(at, LAMS, 100 * means, cmap="PuOr", vmin=-15, vmax=15, shading="nearest")
            i, j = np.nonzero(holds)
            ax.plot(at[j], np.asarray(LAMS)[i], ".", color="black", markersize=3)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.axvline(STREAMS[data].rounds, color="black", linestyle=":", linewidth=1)
            subject = {"best": "best of", "all": "all of", "level": ""}[region.form] if len(region.below) > 1 else ""
            group = "Avg" if region.below == AVERAGE else "Max" if region.below == MAXIMUM else region.below[0]
            opponents = "Avg" if region.above == AVERAGE else "Max" if region.above == MAXIMUM else "the others"
            relation = "level with" if region.form == "level" else "below"
            label_axes(ax, f"sets of {region.size}: {subject} {group} {relation} {opponents}".replace("  ", " "),
                       "rounds", "lambda")  # fmt: skip
        add_color_bar(figure, picture, axes[: len(regions)], "difference of the errors, points")
        hide_unused(axes, len(regions))
        figures[data] = figure
    return figures


def claims(records: Records) -> list[Claim]:
    """Check each statement for a region of rounds and lambda: at a fifth of the cells, and also at the end of a run."""
    results = []
    for region in _measured(records):
        at = _rounds(records, region.data)
        _, holds = differences(records, region)
        share = float(holds.mean())
        lams = [f"{lam:g}" for lam, held in zip(LAMS, holds[:, -1], strict=True) if held]
        ends = f"lambda {lams[0]} to {lams[-1]}" if len(lams) > 1 else f"lambda {lams[0]}" if lams else "no lambda"
        lines = np.asarray(holds.any(axis=0))
        when = f"from round {at[lines].min():,} on" if lines.any() else "never"
        if lines.any() and not lines[-1]:
            when = f"in rounds {at[lines].min():,} to {at[lines].max():,}"
        details = f"at {100 * share:.0f} % of the cells, {when}; after {at[-1]:,} rounds at {ends}"
        results.append(Claim(f"{region.statement}.", f"figure {STREAMS[region.data].figure}", details, share >= 0.2))
    return results


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Online learning: the rounds and lambda at which the claims hold",
        citation=CITATION,
        question="The paper gives neither the rounds nor lambda. For which values does each claim hold?",
        protocol=[
            "Data, sets and algorithms as for the five figures, but up to 100 passes over dermatology and ecoli, 10 "
            "over satimage and usps, 3 over mnist, with 13 values of lambda from 1e-5 to 10 and 10 redraws.",
            "A cell is a lambda, the same for both Pegasos algorithms, and a number of rounds (30, evenly spaced on a "
            "log scale). The error is the mean up to that round. A statement holds in a cell if the difference exceeds "
            "two standard errors of the redraws ('level': if it is below a point). Cells where it holds have a dot. "
            "The dotted line is the number of rounds of our five figures.",
            "The quick run has two redraws of ecoli and at most 3,360 rounds.",
        ],
        remarks=[
            "A claim is confirmed if it holds at a fifth or more of the cells of rounds and lambda. The Avg algorithms "
            "are ahead in early rounds, the Max algorithms later, and the larger the sets, the later the change.",
        ],
        datasets=tuple(STREAMS),
        full=plan(draws=10),
        quick=plan(draws=2, sets=("ecoli",), passes=3360),
        minutes=(8.0, 0.3),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
