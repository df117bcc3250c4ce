"""Weights as they are written in a table, before posteriors are divided by class frequencies and a rest is spread."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneof.errors import OneofError

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.typing import Mask


@dataclass(frozen=True)
class WrittenWeights:
    """Weights in a table; a row that names no class is unlabeled, with equal weights."""

    candidates: "CandidateSets"
    is_class: "Mask"
    """(K,): False for the label of the rest."""


def read_written(
    read: "Callable[..., CandidateSets]", classes: Sequence[str] | None, rest: str | None, *, folds_case: bool
) -> WrittenWeights | None:
    """Return the weights that `read` returns without a rest; None if no row can be read without it.

    The label `rest` of the table is read as a class. `read` must leave rows unlabeled whose only weight is the rest.
    """
    import numpy as np

    from oneof.candidates.columns import fold_case

    fold: Callable[[str], str] = fold_case if folds_case else str
    names = classes if classes is None or rest is None else (*classes, rest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same as of the weights that are fitted
        try:
            written = read(classes=names, kind="likelihood", rest=False)
        except OneofError:
            return None
    is_class = [rest is None or fold(str(label)) != fold(rest) for label in written.classes.tolist()]
    return WrittenWeights(written, np.array(is_class))
