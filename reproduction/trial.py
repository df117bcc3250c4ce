"""One piece of an experiment, as data."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from oneof.errors import InputError, InputTypeError

Setting: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Trial:
    """What is to be measured: an experiment, and the settings that tell this trial from its others.

    Equal trials have equal hashes, keys and seeds, whatever the order in which they are made or run, and on any
    machine.

    Parameters
    ----------
    experiment : str
    settings : tuple of (name, value)
        In the order of their names; values are text, numbers, True, False or None. `Trial.of` sorts and checks them.

    Examples
    --------
    >>> from reproduction import Trial
    >>> trial = Trial.of("online", data="ecoli", size=2, draw=0)
    >>> trial["size"]
    2
    >>> trial == Trial.of("online", draw=0, size=2, data="ecoli")
    True
    >>> wider = Trial.of("online", data="ecoli", size=4, draw=0)
    >>> bool(trial.generator("data", "draw").random() == wider.generator("data", "draw").random())
    True
    """

    experiment: str
    settings: tuple[tuple[str, Setting], ...]

    @classmethod
    def of(cls, experiment: str, **settings: Setting) -> "Trial":
        """Make a trial from its settings.

        Raises
        ------
        InputTypeError
            If a value is not plain data.
        """
        for name, value in settings.items():
            # Exact types: a NumPy number would not be the same data after it has been written and read.
            if type(value) not in (str, int, float, bool, type(None)):
                raise InputTypeError(
                    f"setting {name!r} is {type(value).__name__}: give text, a number, a bool or None."
                )
        return cls(experiment, tuple(sorted(settings.items())))

    def __getitem__(self, name: str) -> Setting:
        for key, value in self.settings:
            if key == name:
                return value
        raise InputError(f"trial of {self.experiment!r} has no setting {name!r}: {self}.")

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings)

    def text(self, name: str) -> str:
        """Return a setting that is text."""
        return str(self[name])

    def number(self, name: str) -> int:
        """Return a setting that is a whole number."""
        value = self[name]
        if not isinstance(value, int):
            raise InputTypeError(f"setting {name!r} is {value!r}, no whole number.")
        return value

    @cached_property
    def key(self) -> str:
        """The trial's name in a store: a hash of its content."""
        return _digest([self.experiment, self.settings])

    def generator(self, *shared: str) -> np.random.Generator:
        """Return a random generator whose seed is a hash of the trial's content.

        Parameters
        ----------
        *shared : str
            Names of settings. Trials that agree in these draw the same numbers, so that what they compare is paired;
            without names, all settings count.
        """
        named = [(name, self[name]) for name in sorted(shared)] if shared else list(self.settings)
        return np.random.default_rng(int(_digest([self.experiment, named]), 16))


def _digest(content: object) -> str:
    # JSON writes a float by the shortest digits that give it back: the same on every machine.
    written = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()[:32]
