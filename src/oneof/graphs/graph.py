"""The weighted graph of the rows of fit, and the links that new rows have to it."""

from dataclasses import dataclass, field
from typing import Literal

import scipy.sparse as sp

from oneof.graphs.neighbors import Links, Neighborhood
from oneof.graphs.weights import binary, cosine, gaussian, local_widths
from oneof.typing import FeatureMatrix, Floats


@dataclass(frozen=True)
class Weighting:
    """Which rows are linked to which, and with what weight: the parameters of `NeighborGraph` that say so, checked."""

    kind: Literal["gaussian", "cosine", "binary"]
    n_neighbors: int
    radius: float | None
    bandwidth: float | Literal["local"]

    def of_rows(self, rows: Neighborhood) -> tuple[sp.csr_array, Floats | None]:
        """Return the weights (n, n) of the links that each row has to its neighbors, and the local widths (n,)."""
        n = rows.rows.shape[0]
        links = self._links(rows)
        widths = self.widths(rows, links)
        return self._weights(links, (n, n), rows, widths, widths), widths

    def to_rows(self, rows: Neighborhood, widths: Floats | None, others: FeatureMatrix) -> sp.csr_array:
        """Return the weights (t, n) of the links that other rows have to these, whose local widths are given."""
        t = others.shape[0]
        links = self._links(rows, others)
        own = None
        if (
            widths is not None
        ):  # the typical bandwidth is that of the rows of fit: rows beside it do not change a new row's
            near = links if self.radius is None else rows.nearest(self.n_neighbors, others)
            own = local_widths(near, t, typical=float(widths.mean()))
        return self._weights(links, (t, rows.rows.shape[0]), rows, own, widths, keep_nearest=True)

    def widths(self, rows: Neighborhood, links: Links | None = None) -> Floats | None:
        """Return the local widths of rows; None where the weights take none."""
        if self.kind != "gaussian" or self.bandwidth != "local":
            return None
        if links is None or self.radius is not None:
            links = rows.nearest(self.n_neighbors)
        return local_widths(links, rows.rows.shape[0])

    def _links(self, rows: Neighborhood, others: FeatureMatrix | None = None) -> Links:
        if self.radius is None:
            return rows.nearest(self.n_neighbors, others)
        return rows.within(self.radius, others)

    def _weights(
        self,
        links: Links,
        shape: tuple[int, int],
        rows: Neighborhood,
        own: Floats | None,
        others: Floats | None,
        *,
        keep_nearest: bool = False,
    ) -> sp.csr_array:
        if self.kind == "cosine":
            return cosine(links, shape)
        if self.kind == "binary":
            return binary(links, shape)
        bandwidth = self.bandwidth if self.bandwidth == "local" else rows.in_units(self.bandwidth)
        return gaussian(links, shape, bandwidth, own, others, keep_nearest=keep_nearest)


@dataclass(frozen=True, eq=False)
class Graph:
    """Rows linked by weights.

    Attributes
    ----------
    affinity : csr_array of shape (n, n)
        float64, symmetric to the last bit, at least 0, without diagonal, stored zeros or unsorted indices.
    rows : Neighborhood
        The rows of fit.
    weighting : Weighting
        By which new rows are linked.
    widths : ndarray of shape (n,) or None
        Local widths of the rows, where known and needed.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.graphs import NeighborGraph
    >>> graph = NeighborGraph("binary", n_neighbors=1).graph(np.array([[0.0], [1.0], [5.0]]))
    >>> graph.to_new(np.array([[4.0]])).toarray()
    array([[0., 0., 1.]])
    """

    affinity: sp.csr_array
    rows: Neighborhood = field(repr=False)
    weighting: Weighting
    widths: Floats | None = field(repr=False)

    def to_new(self, X: FeatureMatrix) -> sp.csr_array:
        """Link new rows to those of fit, by the rule that linked these.

        Neighbors of a new row are sought among the rows of fit, and only from its side: there is nothing to make
        symmetric. A row of fit that is given again has itself as a neighbor. Where a graph was made of an affinity
        that was given, weights are self-tuning Gaussian weights of nearest neighbors.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (t, d)

        Returns
        -------
        csr_array of shape (t, n)
            At least 0, not normalized. Gaussian weights of a row that are all too small for the arithmetic are scaled
            up together. Rows without a neighbor, as within a radius, have no weights.

        Raises
        ------
        InputError
            If a value is not finite, or distances are too large for the arithmetic.
        """
        widths = self.widths
        if widths is None:
            widths = self.weighting.widths(self.rows)
        return self.weighting.to_rows(self.rows, widths, X)
