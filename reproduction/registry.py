"""The experiments by name; a module is imported when its experiment is requested."""

import difflib
import importlib
from collections.abc import Iterator

from oneof.errors import InputError
from reproduction.experiment import Experiment

_MODULES: dict[str, tuple[str, str | None]] = {
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
    "crowds": ("crowds", None),
    "logistic-settings": ("logistic_settings", None),
    "real-sets": ("real_sets", None),
    "noise": ("noise", None),
    "online-regions": ("online_regions", None),
}
NAMES = tuple(_MODULES)


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
    if name not in _MODULES:
        close = difflib.get_close_matches(name, NAMES, n=3)
        hint = f"Did you mean {' or '.join(close)}?" if close else "`python -m reproduction` lists them."
        raise InputError(f"there is no experiment {name!r}. {hint}")
    module, variant = _MODULES[name]
    make = importlib.import_module(f"reproduction.papers.{module}").experiment
    return make(variant) if variant is not None else make()


def iter_experiments() -> Iterator[Experiment]:
    """Return all experiments, in the order of `NAMES`."""
    return map(get_experiment, NAMES)
