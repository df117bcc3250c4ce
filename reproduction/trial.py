"""One measurement of an experiment as data: its settings, its key and its random seeds; and replicates of a plan."""

import hashlib
import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from oneof.errors import InputError, InputTypeError

Setting: TypeAlias = str | int | float | bool | None
RANDOM_SETTINGS = ("repeat", "fold", "split", "draw")
"""Settings that distinguish replicates, if a trial has them."""
SEED_NAMES = {"labeled": "labelled"}  # British spelling, as published
"""Spelling of a setting's name in the hash of a seed: the published numbers were drawn with it."""


@dataclass(frozen=True)
class Trial:
    """One measurement: an experiment, and the settings that distinguish this trial from the other ones.

    Equal trials have equal hashes, keys and seeds, in whatever order they are made or run, and on any machine.

    Parameters
    ----------
    experiment : str
    settings : tuple of (name, value)
        Sorted by name; values are text, numbers, True, False or None. `Trial.from_settings` sorts and checks them.

    Examples
    --------
    >>> from reproduction import Trial
    >>> trial = Trial.from_settings("online", data="ecoli", size=2, draw=0)
    >>> trial["size"]
    2
    >>> trial == Trial.from_settings("online", draw=0, size=2, data="ecoli")
    True
    >>> wider = Trial.from_settings("online", data="ecoli", size=4, draw=0)
    >>> bool(trial.generator("data", "draw").random() == wider.generator("data", "draw").random())
    True
    """

    experiment: str
    settings: tuple[tuple[str, Setting], ...]

    @classmethod
    def from_settings(cls, experiment: str, **settings: Setting) -> "Trial":
        """Make a trial from its settings.

        Raises
        ------
        InputTypeError
            If a value is not text, a number, a bool or None.
        """
        for name, value in settings.items():
            # Exact types: a NumPy number would not be equal to itself after it was written and read.
            if type(value) not in (str, int, float, bool, type(None)):
                raise InputTypeError(
                    f"setting {name!r} must be text, a number, a bool or None; got {type(value).__name__}."
                )
        return cls(experiment, tuple(sorted(settings.items())))

    def __getitem__(self, name: str) -> Setting:
        for key, value in self.settings:
            if key == name:
                return value
        raise InputError(f"a trial of {self.experiment!r} has no setting {name!r}; its settings: {self}.")

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings)

    def text(self, name: str) -> str:
        """Return a setting as text."""
        return str(self[name])

    def number(self, name: str) -> int:
        """Return a setting that is an integer."""
        value = self[name]
        if not isinstance(value, int):
            raise InputTypeError(f"setting {name!r} must be an integer; got {value!r}.")
        return value

    @cached_property
    def key(self) -> str:
        """The key of the trial in a store: a hash of its content."""
        return _digest([self.experiment, self.settings])

    def generator(self, *shared: str) -> np.random.Generator:
        """Return a random generator whose seed is a hash of the trial's content.

        Parameters
        ----------
        *shared : str
            Names of settings. Trials with the same values of these settings draw the same numbers, so that
            comparisons between them are paired. Without names, all settings count.
        """
        values = {SEED_NAMES.get(name, name): self[name] for name in shared or dict(self.settings)}
        return np.random.default_rng(int(_digest([self.experiment, sorted(values.items())]), 16))


def _digest(content: object) -> str:
    # JSON writes a float with the fewest digits that restore it: the same text on every machine.
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def replicate_key(trial: Trial) -> tuple[Setting, ...]:
    """Return the values of the trial's random settings; trials of one replicate are compared with each other."""
    settings = dict(trial.settings)
    return tuple(settings[name] for name in RANDOM_SETTINGS if name in settings)


def list_replicates(trials: Iterable[Trial]) -> list[tuple[Setting, ...]]:
    """Return the replicates of a plan, each once, in its order."""
    return list(dict.fromkeys(map(replicate_key, trials)))


def first_replicates(trials: Sequence[Trial], number: int) -> tuple[Trial, ...]:
    """Return the trials of the first replicates, or of all if there are not more.

    Raises
    ------
    InputError
        If the number is not positive.

    Examples
    --------
    >>> from reproduction import Trial
    >>> plan = [Trial.from_settings("x", draw=draw, size=size) for draw in range(10) for size in (2, 4)]
    >>> [str(trial) for trial in first_replicates(plan, 2)]
    ['draw=0, size=2', 'draw=0, size=4', 'draw=1, size=2', 'draw=1, size=4']
    """
    if number < 1:
        raise InputError(f"the number of draws must be at least 1; got {number}.")
    selected = set(list_replicates(trials)[:number])
    return tuple(trial for trial in trials if replicate_key(trial) in selected)


def complete_replicates(trials: Sequence[Trial], done: Container[str]) -> tuple[Trial, ...]:
    """Return the trials of the first replicates, up to the first one with a key that is not in `done`."""
    incomplete = {replicate_key(trial) for trial in trials if trial.key not in done}
    number = sum(1 for _ in takewhile(lambda replicate: replicate not in incomplete, list_replicates(trials)))
    return first_replicates(trials, number) if number else ()


def format_replicates(trials: Iterable[Trial], plan: Iterable[Trial]) -> str:
    """Return a sentence on how many of the plan's draws were run; empty if all were."""
    n_run, n_planned = len(list_replicates(trials)), len(list_replicates(plan))
    return "" if n_run >= n_planned else f"Run for the first {n_run} of {n_planned} draws."
