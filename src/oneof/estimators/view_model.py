"""Linear models of several views, of which a row may lack some."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.estimators.view_features import ViewFeatures
from oneof.estimators.views import rows_with
from oneof.solvers.graph_logistic.views import shares_of_views
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask


@dataclass(frozen=True)
class ViewModel:
    """The features of each view, and the weights of all classes but the last, which has 0.

    Attributes
    ----------
    features : tuple of ViewFeatures
    weights : tuple of ndarray of shape (K - 1, p)
        In the units of the features, the constant's last.
    trust : ndarray of shape (V,)
        How much the views count in the mean, beside one another.
    names : ndarray of shape (d,) or None
        Of the columns, for errors.
    """

    features: tuple[ViewFeatures, ...]
    weights: tuple[Floats, ...]
    trust: Floats
    names: Labels | None

    def rows_with(self, rows: FeatureMatrix, place: int) -> Mask:
        """Return which rows have a view."""
        columns = self.features[place].columns
        return np.ones(rows.shape[0], dtype=bool) if columns is None else rows_with(rows, columns, self.names)

    def scores_of(self, rows: FeatureMatrix, place: int) -> tuple[Floats, Mask]:
        """Return (n, K) log-odds against the last class by one view, 0 in rows that lack it; and which rows have it."""
        weights, here = self.weights[place], self.rows_with(rows, place)
        out = np.zeros((rows.shape[0], len(weights) + 1))
        if here.any():
            out[here, :-1] = self.features[place].instances(rows if here.all() else rows[here]) @ weights.T
        return out, here

    def scores(self, rows: FeatureMatrix) -> Floats:
        """Return (n, K) log-odds against the last class: the mean of the views that a row has, 0 where it has none.

        Views count as they are trusted; where a row has only such as are not trusted at all, all that it has alike.
        """
        found = [self.scores_of(rows, place) for place in range(len(self.features))]
        share = shares_of_views(np.column_stack([here for _, here in found]), self.trust)
        return np.sum([share[:, [place]] * scores for place, (scores, _) in enumerate(found)], axis=0)

    def instances(self, rows: FeatureMatrix, place: int) -> tuple[Ints, FeatureMatrix]:
        """Return the rows that have a view, and their features in the columns of all views, (t, D)."""
        here = np.flatnonzero(self.rows_with(rows, place))
        sizes = [weights.shape[1] for weights in self.weights]
        return here, stack([self.features[place].instances(rows[here])], [place], sizes)

    def place(self, view: Any) -> int:
        """Return the number of a view, or raise where there is none."""
        if isinstance(view, bool) or not isinstance(view, int | np.integer) or not 0 <= view < len(self.features):
            raise InputError(
                f"`view` must be a number from 0 to {len(self.features) - 1}, or None for all; got {view!r}."
            )
        return int(view)


def stack(parts: list[FeatureMatrix], places: list[int], sizes: list[int]) -> FeatureMatrix:
    """Return instances in the columns of all views: those of `parts[i]` in the block `places[i]`, and 0 elsewhere."""
    if len(sizes) == 1:
        return parts[0]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if any(sp.issparse(part) for part in parts):
        moved = []
        for part, place in zip(parts, places, strict=True):
            entries = sp.coo_array(part)
            row, column = entries.coords
            shape = (part.shape[0], starts[-1])
            moved.append(sp.csr_array((entries.data, (row, column + starts[place])), shape=shape))
        return sp.csr_array(sp.vstack(moved))
    out = np.zeros((sum(len(part) for part in parts), starts[-1]))
    row = 0
    for part, place in zip(parts, places, strict=True):
        out[row : row + len(part), starts[place] : starts[place + 1]] = part
        row += len(part)
    return out
