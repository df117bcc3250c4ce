"""What an experiment is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from oneof.errors import DataError
from reproduction.claims import Claim
from reproduction.records import Records
from reproduction.trial import Trial
from reproduction.work import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Table(NamedTuple):
    """Rows for people and for CSV: text stays text, numbers are rounded where they are written."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int]]


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper, and all it takes to make it again.

    Parameters
    ----------
    name : str
        As on the command line.
    title, citation : str
    question : str
        What the paper shows there, in our words.
    protocol : sequence of str
        What is done; what the paper leaves open and how it was decided; where ours differs.
    datasets : tuple of str
        Names for `oneof.datasets.load`.
    full, quick : sequence of Trial
    minutes : (float, float)
        What the two take on two cores.
    measure : callable
        Trial -> dict of results.
    tabulate, draw, claims : callables of Records
        The table, the pictures by name (in the order of the page) and the claims.
    remarks : sequence of str
        What was found out about claims in the full run, most of all about those that did not hold.
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
    draw: Callable[[Records], "Mapping[str, Figure]"]
    claims: Callable[[Records], Sequence[Claim]]
    remarks: Sequence[str] = ()

    def missing(self) -> list[str]:
        """Return the data sets that are not at hand and cannot be downloaded."""
        from oneof.datasets import list_datasets

        return sorted(set(self.datasets) - set(list_datasets()))

    def check_data(self) -> None:
        """Raise one error that names every data set that is missing, and the folder to put it into.

        Raises
        ------
        DataError
        """
        missing = self.missing()
        if missing:
            files = ", ".join(f"{name}.npz" for name in missing)
            raise DataError(
                f"{self.name} needs data sets that are not at hand: put {files} into a folder and name it by "
                "$ONEOF_DATA, or put them into ~/.cache/oneof; `oneof datasets` says where they come from."
            )
