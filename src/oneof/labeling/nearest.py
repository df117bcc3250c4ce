"""Rows near another of which something is known."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from oneof.candidates import CandidateSets
from oneof.typing import FeatureMatrix, Labels


class Neighbor(NamedTuple):
    """A row near another.

    Attributes
    ----------
    row : int
    distance : float
        Euclidean, between the features that the model sees.
    labels : ndarray
        Its candidates.
    """

    row: int
    distance: float
    labels: Labels


def nearest_told(rows: FeatureMatrix, candidates: CandidateSets, row: int, n: int) -> list[Neighbor]:
    """Return the `n` nearest other rows whose sets say something; equal distances go to the lowest row."""
    told = np.flatnonzero(~candidates.is_unlabeled)
    told = told[told != row]
    if not len(told):
        return []
    distances = euclidean_distances(rows[[row]], rows[told])[0]
    order = np.argsort(distances, kind="stable")[:n]
    return [Neighbor(int(told[i]), float(distances[i]), candidates.classes[candidates.mask[told[i]]]) for i in order]
