"""One race: the forms of both libraries, the target, and the alternating runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.sides import PeerError, Side

MIN_SECONDS = 0.2
"""Minimum seconds of a measurement; shorter runs are repeated."""


WARM_UP_SECONDS = 2.0
"""Seconds below which a run is repeated warm, since caches may dominate its time."""


@dataclass(frozen=True)
class Entrant:
    """A library's variants for a race: every variant is tried, and the fastest that reaches the target is timed."""

    library: str
    runner: str
    variants: tuple[dict[str, Any], ...] = ({},)
    ladder: tuple[dict[str, Any], ...] = ({},)
    """Settings from cheap to expensive: passes, sweeps, tolerances. The first that reaches the target is timed."""


@dataclass(frozen=True)
class Target:
    """The target of a race.

    "accuracy": the best accuracy of the peer's variants with their last setting, less `slack`; both must reach it.
    "pass": the best accuracy of the peer's variants in one pass; ours must reach it, while the peer runs in its
    fastest variant, even if that is less accurate.
    "objective": the lowest objective of any side with its last setting, times 1 + `slack`.
    "rows": every row is processed once; the results are only reported.
    """

    kind: str
    words: str
    slack: float = 0.0


@dataclass(frozen=True)
class Race:
    """Two entrants with one target."""

    discipline: str
    task: str
    make: Callable[[Path, float], None]
    ours: Entrant
    peer: Entrant
    target: Target
    asked: float = 1.0
    """The intended ratio of the peer's time to ours."""
    n_rows: int | None = None
    """Number of rows for rates, if they are reported."""


@dataclass
class Form:
    """The options of an entrant that are timed, and their result."""

    options: dict[str, Any]
    result: dict[str, float]
    reached: bool
    cpu: float
    seconds: list[tuple[float, float]] = field(default_factory=list)

    def column(self, which: int) -> np.ndarray:
        """Return the processor seconds (0) or the wall-clock seconds (1) of all rounds."""
        return np.array(self.seconds)[:, which]


class TrialRuns:
    """The untimed runs of one race, each made once."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._made: dict[str, Form | PeerError] = {}

    def form(self, side: Side, entrant: Entrant, options: dict[str, Any]) -> Form:
        """Run and evaluate once, and a short run a second time, warm; raise the library's error."""
        key = f"{entrant.library} {options}"
        if key not in self._made:
            try:
                self._made[key] = self._run(side, entrant, options)
            except PeerError as error:
                self._made[key] = error
        outcome = self._made[key]
        if isinstance(outcome, PeerError):
            raise outcome
        return outcome

    def _run(self, side: Side, entrant: Entrant, options: dict[str, Any]) -> Form:
        side.prepare(entrant.runner, self._data, options)
        first = side.run(evaluate=True)
        seconds = side.run()["cpu"] if first["cpu"] < WARM_UP_SECONDS else first["cpu"]
        return Form(options, first["result"], True, seconds)


def best_result(side: Side, entrant: Entrant, trials: TrialRuns, kind: str) -> tuple[float, list[str]]:
    """Return the best result of the variants with their last setting, and the errors of those that failed."""
    values, failures = [], []
    for variant in entrant.variants:
        try:
            outcome = trials.form(side, entrant, {**variant, **entrant.ladder[-1]}).result
            values.append(outcome["accuracy"] if kind == "accuracy" else -outcome["objective"])
        except PeerError as error:
            failures.append(f"{variant}: {error}")
    if not values:
        raise PeerError("; ".join(failures))
    return max(values), failures


def qualify(side: Side, entrant: Entrant, trials: TrialRuns, reaches: Callable[[dict[str, float]], bool]) -> Form:
    """Return the fastest form that reaches the target, or the fastest of the last settings if none does."""
    forms, failures = [], []
    for variant in entrant.variants:
        form = None
        for rung in entrant.ladder:
            try:
                form = trials.form(side, entrant, {**variant, **rung})
            except PeerError as error:
                failures.append(str(error))
                form = None
                break
            form.reached = reaches(form.result)
            if form.reached:
                break
        if form is not None:
            forms.append(form)
    if not forms:
        raise PeerError("; ".join(failures))
    reaching = [form for form in forms if form.reached]
    return min(reaching or forms, key=lambda form: form.cpu)


def run(race: Race, sides: dict[str, Side], data: Path, repeats: int) -> tuple[Form, Form]:
    """Choose the forms of both sides, then run them in turn."""
    ours, peer, trials = sides["oneof"], sides[race.peer.library], TrialRuns(data)
    if race.target.kind == "rows":
        goal = -np.inf
    elif race.target.kind in ("accuracy", "pass"):
        goal = best_result(peer, race.peer, trials, "accuracy")[0] - race.target.slack
    else:
        best = [
            -best_result(side, entrant, trials, "objective")[0]
            for side, entrant in ((ours, race.ours), (peer, race.peer))
        ]
        goal = min(best) * (1 + race.target.slack)

    def reaches(result: dict[str, float]) -> bool:
        if race.target.kind == "objective":
            return result["objective"] <= goal
        return result.get("accuracy", np.inf) >= goal

    forms = []
    for side, entrant in ((ours, race.ours), (peer, race.peer)):
        is_one_pass = race.target.kind == "pass" and side is peer
        form = qualify(side, entrant, trials, (lambda _: True) if is_one_pass else reaches)
        side.prepare(entrant.runner, data, form.options)
        if form.cpu < WARM_UP_SECONDS:
            side.run()  # warm again, after the data were read anew
        forms.append((side, form, max(1, min(50, round(MIN_SECONDS / max(form.cpu, 1e-4))))))
    for _ in range(repeats):
        for side, form, times in forms:
            seconds = side.run(times=times)
            form.seconds.append((seconds["cpu"], seconds["wall"]))
    return forms[0][1], forms[1][1]
