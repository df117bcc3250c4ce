"""Options of predictions."""

from dataclasses import dataclass
from typing import ClassVar

from oneof.cli import options
from oneof.cli.tables.read_options import FileGroup


@dataclass(frozen=True)
class OutputGroup:
    """Options of the file of predictions."""

    TITLE: ClassVar[str] = "Predictions"

    out: str | None = options.option(
        "FILE", "CSV file to write, or - for standard output; by default TABLE-predictions.csv."
    )
    truth: str | None = options.option("COLUMN", "Column of true labels, for evaluation.")
    keep: options.NAMES = options.option(
        "COLUMN",
        "Copy a column of the table to the predictions, such as the name of a file. Repeat the option, or separate "
        "names by commas. Columns that identify the rows are copied without the option, unless they were dropped by "
        "`fit`.",
        (),
    )
    as_labels: bool = options.flag(
        "Add the column `labels` with the probabilities as text, such as 'finch:0.7|wren:0.3', which `fit --labels "
        "labels --weighted --kind posterior` reads."
    )


@dataclass(frozen=True)
class PredictOptions(FileGroup, options.CoverageGroup, OutputGroup):
    """Options of predictions.

    Cells that are not of the kind of their column, and features that no object of JSON lines has, are missing values,
    with a note, unless they are refused by `strict`.
    """
