"""Draws: what chance repeats in a plan; the first of them are a smaller run of the same comparison."""

from collections.abc import Container, Iterable, Sequence
from itertools import takewhile

from oneof.errors import InputError
from reproduction.trial import Setting, Trial

CHANCE = ("repeat", "fold", "split", "draw")
"""Settings that tell draws apart, where a trial has them."""


def draw_of(trial: Trial) -> tuple[Setting, ...]:
    """Return what tells the trial's draw from the others; trials of one draw are to be compared."""
    settings = dict(trial.settings)
    return tuple(settings[name] for name in CHANCE if name in settings)


def draws_of(trials: Iterable[Trial]) -> list[tuple[Setting, ...]]:
    """Return the draws of a plan, each once, in its order."""
    return list(dict.fromkeys(map(draw_of, trials)))


def first_draws(trials: Sequence[Trial], number: int) -> tuple[Trial, ...]:
    """Return the trials of the first draws, of all where there are no more.

    Raises
    ------
    InputError
        If the number is not positive.

    Examples
    --------
    >>> from reproduction import Trial
    >>> plan = [Trial.of("x", draw=draw, size=size) for draw in range(10) for size in (2, 4)]
    >>> [str(trial) for trial in first_draws(plan, 2)]
    ['draw=0, size=2', 'draw=0, size=4', 'draw=1, size=2', 'draw=1, size=4']
    """
    if number < 1:
        raise InputError(f"{number} draws are not possible: give a number from 1 on.")
    taken = set(draws_of(trials)[:number])
    return tuple(trial for trial in trials if draw_of(trial) in taken)


def whole_draws(trials: Sequence[Trial], done: Container[str]) -> tuple[Trial, ...]:
    """Return the trials of the first draws of which every trial's key is among those done."""
    lacking = {draw_of(trial) for trial in trials if trial.key not in done}
    number = sum(1 for _ in takewhile(lambda draw: draw not in lacking, draws_of(trials)))
    return first_draws(trials, number) if number else ()


def say_draws(run: Iterable[Trial], plan: Iterable[Trial]) -> str:
    """Say how many of the plan's draws were run; nothing where all were."""
    taken, planned = len(draws_of(run)), len(draws_of(plan))
    return "" if taken >= planned else f"Run for the first {taken} of {planned} draws."
