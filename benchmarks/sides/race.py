"""One race: who enters it how, where the finishing line is, and what the clock said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sides.environments import PeerError
from sides.process import Side

LEAST = 0.2
"""Seconds that a measurement should take; shorter runs are repeated within it."""


SHORT = 2.0
"""Seconds below which a run may owe much to what the one before it left warm."""


@dataclass(frozen=True)
class Entrant:
    """A library's ways of running a race: every variant is tried, and the one that is first at the line is entered."""

    library: str
    runner: str
    variants: tuple[dict[str, Any], ...] = ({},)
    ladder: tuple[dict[str, Any], ...] = ({},)
    """Settings from cheap to dear: passes, sweeps, tolerances. The first that reaches the line is entered."""


@dataclass(frozen=True)
class Line:
    """Where a race ends.

    "accuracy": the best that the peer's variants come to at the top of their ladder, less `slack`; both must be there.
    "pass": the best that any of the peer's variants comes to in its one pass; ours must be there, while the peer runs
    in its fastest variant, be that less accurate.
    "objective": the lowest that any side comes to at the top of its ladder, times 1 + `slack`.
    "rows": after the rows have been seen; what was found is only told.
    """

    kind: str
    words: str
    slack: float = 0.0


@dataclass(frozen=True)
class Race:
    """Two entrants, one line."""

    discipline: str
    task: str
    make: Callable[[Path, float], None]
    ours: Entrant
    peer: Entrant
    line: Line
    asked: float = 1.0
    """How many times faster than the peer is the goal."""
    n_rows: int | None = None
    """Where rates are of interest."""


@dataclass
class Form:
    """An entrant's variant and rung that were entered, and what they found."""

    options: dict[str, Any]
    found: dict[str, float]
    reached: bool
    cpu: float
    seconds: list[tuple[float, float]] = field(default_factory=list)

    def column(self, which: int) -> np.ndarray:
        """Return the processor seconds (0) or those on the wall (1) of all rounds."""
        return np.array(self.seconds)[:, which]


class Trials:
    """The runs of one race before the clock counts, each made once."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._made: dict[str, Form | PeerError] = {}

    def form(self, side: Side, entrant: Entrant, options: dict[str, Any]) -> Form:
        """Run and judge once, and if that is short a second time, warm; raise what the library raised."""
        key = f"{entrant.library} {options}"
        if key not in self._made:
            try:
                self._made[key] = self._run(side, entrant, options)
            except PeerError as error:
                self._made[key] = error
        found = self._made[key]
        if isinstance(found, PeerError):
            raise found
        return found

    def _run(self, side: Side, entrant: Entrant, options: dict[str, Any]) -> Form:
        side.prepare(entrant.runner, self._data, options)
        first = side.run(judge=True)
        spent = side.run()["cpu"] if first["cpu"] < SHORT else first["cpu"]
        return Form(options, first["found"], True, spent)


def best_of(side: Side, entrant: Entrant, trials: Trials, kind: str) -> tuple[float, list[str]]:
    """Return the best that the variants come to at the top of the ladder, and why some did not run."""
    values, failures = [], []
    for variant in entrant.variants:
        try:
            found = trials.form(side, entrant, {**variant, **entrant.ladder[-1]}).found
            values.append(found["accuracy"] if kind == "accuracy" else -found["objective"])
        except PeerError as error:
            failures.append(f"{variant}: {error}")
    if not values:
        raise PeerError("; ".join(failures))
    return max(values), failures


def qualify(side: Side, entrant: Entrant, trials: Trials, reaches: Callable[[dict[str, float]], bool]) -> Form:
    """Return the fastest way to the line; the dearest that there is if none reaches it."""
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
            form.reached = reaches(form.found)
            if form.reached:
                break
        if form is not None:
            forms.append(form)
    if not forms:
        raise PeerError("; ".join(failures))
    there = [form for form in forms if form.reached]
    return min(there or forms, key=lambda form: form.cpu)


def run(race: Race, sides: dict[str, Side], data: Path, repeats: int) -> tuple[Form, Form]:
    """Qualify both, then let them run in turn."""
    ours, peer, trials = sides["oneof"], sides[race.peer.library], Trials(data)
    if race.line.kind == "rows":
        goal = -np.inf
    elif race.line.kind in ("accuracy", "pass"):
        goal = best_of(peer, race.peer, trials, "accuracy")[0] - race.line.slack
    else:
        best = [
            -best_of(side, entrant, trials, "objective")[0] for side, entrant in ((ours, race.ours), (peer, race.peer))
        ]
        goal = min(best) * (1 + race.line.slack)

    def reaches(found: dict[str, float]) -> bool:
        if race.line.kind == "objective":
            return found["objective"] <= goal
        return found.get("accuracy", np.inf) >= goal

    forms = []
    for side, entrant in ((ours, race.ours), (peer, race.peer)):
        free = race.line.kind == "pass" and side is peer
        form = qualify(side, entrant, trials, (lambda _: True) if free else reaches)
        side.prepare(entrant.runner, data, form.options)
        if form.cpu < SHORT:
            side.run()  # warm again, after its data have been read anew
        forms.append((side, form, max(1, min(50, round(LEAST / max(form.cpu, 1e-4))))))
    for _ in range(repeats):
        for side, form, times in forms:
            spent = side.run(times=times)
            form.seconds.append((spent["cpu"], spent["wall"]))
    return forms[0][1], forms[1][1]
