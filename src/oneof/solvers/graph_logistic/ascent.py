"""The way of the precisions up the evidence: all of them as one vector of logarithms, accelerated."""

import numpy as np

from oneof.solvers.graph_logistic.acceleration import Acceleration
from oneof.solvers.graph_logistic.precisions import Hyper
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import Floats


class Ascent:
    """Goes on from precisions and their plain update."""

    def __init__(self, hyper: Hyper, terms: tuple[Term, ...], start: Precisions) -> None:
        self._hyper, self._terms = hyper, terms
        self._told = {term.name: start[term.name] > 0 for term in terms}
        ends = (self._flat({name: np.full_like(start[name], end[name]) for name in start}) for end in self._ends())
        self._acceleration = Acceleration(*(np.log(end) for end in ends))
        self.plain: Precisions | None = None
        """The last plain update, where something else was tried in its place."""

    def ahead(self, current: Precisions, plain: Precisions, slopes: Precisions) -> Precisions:
        """Return the next precisions."""
        self.plain = plain
        flat = self._flat(current)
        if len(flat) == 0:
            return plain
        moved = self._acceleration.next(np.log(flat), np.log(self._flat(plain)), self._flat(slopes))
        return self._shaped(np.exp(moved))

    def taken_back(self) -> Precisions:
        """Return the plain update, as what was tried in its place has failed."""
        if self.plain is None:
            raise RuntimeError("there is nothing to take back")
        plain, self.plain = self.plain, None
        self._acceleration.take_back()
        return plain

    def _ends(self) -> tuple[dict[str, float], dict[str, float]]:
        return self._hyper.lowest, self._hyper.largest

    def _flat(self, of_terms: Precisions) -> Floats:
        return np.concatenate([np.zeros(0), *(of_terms[name][told].ravel() for name, told in self._told.items())])

    def _shaped(self, flat: Floats) -> Precisions:
        shaped, begin = {}, 0
        for term in self._terms:
            told = self._told[term.name]
            value = np.zeros(told.shape)
            value[told] = flat[begin : begin + np.count_nonzero(told)]
            shaped[term.name] = self._hyper.within(term, value)
            begin += int(np.count_nonzero(told))
        return shaped
