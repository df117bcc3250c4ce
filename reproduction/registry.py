"""The experiments by name; a module is imported when its experiment is requested."""

import difflib
import importlib
from collections.abc import Iterator

from oneof.errors import InputError
from reproduction.experiment import Experiment

_MAKERS: dict[str, tuple[str, ...]] = {
    "plsvm-levels": ("plsvm", "levels"),
    "plsvm-alone": ("plsvm", "alone"),
    "plgp-controlled": ("plgp", "controlled"),
    "plgp-real": ("plgp", "real"),
    **{
        f"online-{data}": ("online", "experiment", data)
        for data in ("dermatology", "ecoli", "satimage", "usps", "mnist")
    },
    "logistic-boundary": ("logistic", "boundary"),
    "logistic-labels": ("logistic", "labels"),
    "logistic-sensors": ("logistic", "sensors"),
    "text-transduction": ("text", "transduction"),
    "text-em": ("text", "em"),
    "benchmark": ("benchmark", "experiment"),
}
"""Module, function and arguments of the function."""
NAMES = tuple(_MAKERS)


def get_experiment(name: str) -> Experiment:
    """Return an experiment.

    Raises
    ------
    InputError
        If there is no experiment of this name.

    Examples
    --------
    >>> from reproduction import get_experiment
    >>> get_experiment("online-ecoli").title
    'Online learning, ecoli: figure 2'
    """
    if name not in _MAKERS:
        close = difflib.get_close_matches(name, NAMES, n=3)
        hint = f"Did you mean {' or '.join(close)}?" if close else "`python -m reproduction` lists them."
        raise InputError(f"there is no experiment {name!r}. {hint}")
    module, function, *args = _MAKERS[name]
    experiment: Experiment = getattr(importlib.import_module(f"reproduction.papers.{module}"), function)(*args)
    return experiment


def iter_experiments() -> Iterator[Experiment]:
    """Return all experiments, in the order of `NAMES`."""
    return map(get_experiment, NAMES)
