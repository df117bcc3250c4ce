"""Labels that are shown only when they are asked for."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.labels import encode_labels, is_missing, pack_classes, sort_labels
from oneof.errors import InputError, LabelError
from oneof.typing import Ints, Labels


class Oracle:
    """A column of true labels, of which nothing is read but the rows asked for.

    Parameters
    ----------
    y : sequence of length n_samples
        Anything that gives the label of row i as ``y[i]``, or ``y.iloc[i]`` as pandas does.
    n_rows : int
        The rows of X.
    name, rows_name : str
        What errors call the two.

    Raises
    ------
    InputError
        If there is not one label for each row.
    """

    def __init__(self, y: Any, n_rows: int, name: str = "y", rows_name: str = "X") -> None:
        column = getattr(y, "iloc", y)
        if isinstance(y, CandidateSets) or len(getattr(y, "shape", (0,))) != 1 or not hasattr(column, "__getitem__"):
            raise InputError(f"{name} should be a column with the true label of each row.")
        if len(y) != n_rows:
            raise InputError(
                f"{rows_name} has {n_rows} rows, but {name} has {len(y)} labels: give one label for each row."
            )
        self._source, self._column, self._name = y, column, name
        self.rows: list[int] = []
        self.labels: list[Any] = []

    def ask(self, rows: Iterable[int]) -> None:
        """Have rows labeled.

        Raises
        ------
        LabelError
            If a row has no label to show.
        """
        for row in rows:
            label = self._read(row)
            if not isinstance(label, Hashable):
                raise LabelError(
                    f"{self._name}[{row}] is {label!r}, which is no label: give the one true label of each row."
                )
            if is_missing(label):
                raise LabelError(f"row {row} was queried, but y has no label for it: leave rows without labels out.")
            self.rows.append(int(row))
            self.labels.append(label)

    def reveal(self) -> Labels:
        """Return the labels of all rows, queried or not; a label that is not there is None."""
        labels = np.full(len(self._source), None, dtype=object)
        for row in range(len(labels)):
            labels[row] = self._read(row)
        return labels

    @property
    def classes(self) -> Labels:
        """The classes shown so far, sorted."""
        return pack_classes(sort_labels(set(self.labels)))

    def shown(self) -> Labels:
        """Return the labels shown so far, in the order of the queries."""
        return pack_classes(self.labels)

    def candidates(self, n_rows: int) -> CandidateSets:
        """Return what is known of all rows: the labels shown, over the classes shown."""
        classes = self.classes
        codes, _ = encode_labels(self.shown(), classes)
        mask = np.ones((n_rows, len(classes)), dtype=bool)
        mask[self.rows] = np.eye(len(classes), dtype=bool)[codes]
        return CandidateSets(mask, classes)

    def counts(self, n_labeled: int, classes: Labels) -> Ints:
        """Return how many rows of each class are among the first that were shown."""
        codes, _ = encode_labels(pack_classes(self.labels[:n_labeled]), classes)
        return np.bincount(codes, minlength=len(classes)).astype(np.int64)

    def _read(self, row: int) -> Any:
        label = self._column[int(row)]
        return label.item() if isinstance(label, np.generic) else label
