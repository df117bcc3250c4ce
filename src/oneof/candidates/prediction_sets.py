"""Prediction sets: candidate sets that a model predicts, and that are written in full."""

from typing import Any

import numpy as np

from oneof.candidates.readers.collections import escape_labels, escaped_characters, separators_of
from oneof.candidates.readers.literals import LISTS, write_list
from oneof.candidates.sets import CandidateSets


class PredictionSets(CandidateSets):
    """Candidate sets that a model predicts.

    The set of all classes is the label of an unlabeled row, so `CandidateSets.to_strings` writes it as empty text. As a
    prediction it is a set of all classes, and is written in full.

    Examples
    --------
    >>> from oneof.candidates import CandidateSets, PredictionSets
    >>> mask, classes = [[True, False], [True, True]], ["finch", "wren"]
    >>> PredictionSets(mask, classes).to_strings(), CandidateSets(mask, classes).to_strings()
    (['finch', 'finch|wren'], ['finch', ''])
    """

    __slots__ = ()

    def __getitem__(self, rows: Any) -> Any:
        """Return the set of one row, or the prediction sets of several rows."""
        selected = super().__getitem__(rows)
        return PredictionSets(selected.mask, selected.classes) if isinstance(selected, CandidateSets) else selected

    def to_strings(self, *, separator: str = "|") -> list[str]:
        """Return text that `from_strings` reads back, as `CandidateSets.to_strings`; a full set has all classes.

        Parameters
        ----------
        separator : str, default="|"

        Returns
        -------
        list of str
        """
        if separator == LISTS:
            full = write_list(self.classes.tolist())
        else:
            labels = escape_labels(self.classes, "\\" + escaped_characters(separator))
            full = separators_of(separator)[0].join(np.array(labels, object))
        return [text or full for text in super().to_strings(separator=separator)]
