"""The definition of an experiment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from oneof.datasets import list_datasets
from oneof.errors import DataError
from reproduction.claims import Claim
from reproduction.records import Records
from reproduction.runner import Measure
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Figures: TypeAlias = "Mapping[str, Figure]"
"""The figures of an experiment by name, in the order of the page."""


Rows: TypeAlias = list[list[str | float | int]]
"""Rows of a table."""


class Table(NamedTuple):
    """Rows for the page and for CSV: text stays text, numbers are rounded when they are written."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int]]


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper, with everything that is needed to reproduce it.

    Parameters
    ----------
    name : str
        The name on the command line.
    title, citation : str
    question : str
        The question that the figure or table answers.
    protocol : sequence of str
        The procedure, the choices that the paper leaves open, and the deviations from it.
    datasets : tuple of str
        Names for `oneof.datasets.load`.
    full, quick : sequence of Trial
    minutes : (float, float)
        Running times of the two on two cores.
    measure : callable
        Trial -> dict of results.
    tabulate, draw, claims : callables of Records
        The table, the figures by name (in the order of the page) and the claims.
    remarks : sequence of str
        Explanations of the full run's verdicts, most of all of claims that were not confirmed.
    """

    name: str
    title: str
    citation: str
    question: str
    protocol: Sequence[str]
    datasets: tuple[str, ...]
    full: Sequence[Trial]
    quick: Sequence[Trial]
    minutes: tuple[float, float]
    measure: Measure
    tabulate: Callable[[Records], Table]
    draw: Callable[[Records], Figures]
    claims: Callable[[Records], Sequence[Claim]]
    remarks: Sequence[str] = ()

    def missing(self) -> list[str]:
        """Return the data sets that are not available and cannot be downloaded."""
        return sorted(set(self.datasets) - set(list_datasets()))

    def to_download(self) -> list[str]:
        """Return the data sets that are not stored, but can be downloaded."""
        from oneof.datasets import dataset_info

        return [info.name for info in dataset_info() if info.name in self.datasets and not info.available]

    def check_data(self) -> None:
        """Raise one error that names every missing data set and the folder to put it into.

        Raises
        ------
        DataError
        """
        missing = self.missing()
        if missing:
            files = ", ".join(f"{name}.npz" for name in missing)
            raise DataError(
                f"{self.name} needs data sets that were not found. Put {files} into a folder and set $ONEOF_DATA to "
                "it, or put them into ~/.cache/oneof; `oneof datasets` lists their sources."
            )

    def download(self) -> None:
        """Download the data sets that are not stored, so that this does not fail in every trial.

        Raises
        ------
        DataError
            If a data set cannot be downloaded.
        """
        from oneof.datasets import load

        for name in self.to_download():
            load(name)
