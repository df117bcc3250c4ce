"""All experiments by name; a file is read when its experiment is asked for."""

import difflib
import importlib
from collections.abc import Iterator

from oneof.errors import InputError
from reproduction.experiment import Experiment

_HOMES: dict[str, tuple[str, str | None]] = {
    "plsvm-levels": ("plsvm_levels", None),
    "plsvm-alone": ("plsvm_alone", None),
    "plgp-controlled": ("plgp_controlled", None),
    "plgp-real": ("plgp_real", None),
    **{f"online-{data}": ("online", data) for data in ("dermatology", "ecoli", "satimage", "usps", "mnist")},
    "logistic-boundary": ("logistic_boundary", None),
    "logistic-labels": ("logistic_labels", None),
    "logistic-sensors": ("logistic_sensors", None),
    "text-transduction": ("text_transduction", None),
    "text-em": ("text_em", None),
    "benchmark": ("benchmark", None),
}
NAMES = tuple(_HOMES)


def find(name: str) -> Experiment:
    """Return an experiment.

    Raises
    ------
    InputError
        If there is none of this name.

    Examples
    --------
    >>> from reproduction import find
    >>> find("online-ecoli").title
    'Online learning, ecoli: figure 2'
    """
    if name not in _HOMES:
        close = difflib.get_close_matches(name, NAMES, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`oneof reproduce` lists them."
        raise InputError(f"there is no experiment {name!r}: {hint}")
    module, variant = _HOMES[name]
    make = importlib.import_module(f"reproduction.papers.{module}").experiment
    return make(variant) if variant is not None else make()


def listed() -> Iterator[Experiment]:
    """Return all experiments, in the order in which they are listed."""
    return map(find, NAMES)
