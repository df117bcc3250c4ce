"""What to link, and by how much."""

from dataclasses import dataclass
from typing import Any, Literal

from oneof.errors import InputError
from oneof.graphs.affinity import check_affinity, symmetrized
from oneof.graphs.graph import Graph, Weighting
from oneof.graphs.neighbors import Neighborhood
from oneof.typing import FeatureMatrix
from oneof.validation import check_choice, check_positive

AFFINITIES = ("gaussian", "cosine", "binary")


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """How rows become the vertices of a weighted graph.

    Parameters
    ----------
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Weights of the links: "gaussian" as `bandwidth` says; "cosine", the cosine similarity, where neighbors too are
        those of the largest similarity, and those below 0 count as 0; "binary", 1. Or the affinity of the rows of fit,
        (n, n), as it is, or a function of the rows that returns one: then no other parameter changes the graph.
    n_neighbors : int, default=5
        Links of each row to its nearest others; duplicates are neighbors like any other. Where there are fewer rows,
        all are linked.
    radius : float, optional
        Links to all rows within this Euclidean distance (for "cosine", within a distance 1 - cos) in place of the
        nearest neighbors. Memory goes with the number of links.
    bandwidth : "local" or float, default="local"
        A number: exp(-d^2 / (2 bandwidth^2)). "local": exp(-d^2 / (s_i s_j)), s_i the distance of row i to its
        `n_neighbors`-th neighbor, where that is 0 the mean of the others'.
    symmetrize : {"union", "mutual", "sum"}, default="union"
        Rows are linked if either, or if each, is a neighbor of the other. With "sum" the former, and where each is,
        the link has twice its weight: A + A^T, as for Joachims' transducer.
    algorithm : {"exact", "approximate"}, default="exact"
        "approximate" is faster for more than some 5,000 rows of more than 5 features (for others all neighbors are
        found), and misses neighbors. Of the 10 nearest in 50 features it missed, for 20,000, 50,000 and 200,000 rows,
        1 %, 2 % and 6 % among ten wide Gaussian blobs, but 34 %, 45 % and 55 % in one: isotropic noise, where no row
        is much nearer than others; and less than 0.5 % near a surface of 6 dimensions, for the former two. Rows must be
        dense; it finds no radius, and needs the extra ``graph``.

    Raises
    ------
    InputError
        If a parameter is not possible.

    References
    ----------
    Zelnik-Manor & Perona (2004), Self-tuning spectral clustering, NeurIPS, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> rule = NeighborGraph("binary", n_neighbors=1)
    >>> rule.graph(np.array([[0.0], [1.0], [5.0]])).affinity.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    affinity: Any = "gaussian"
    n_neighbors: int = 5
    radius: float | None = None
    bandwidth: float | Literal["local"] = "local"
    symmetrize: Literal["union", "mutual", "sum"] = "union"
    algorithm: Literal["exact", "approximate"] = "exact"

    def __post_init__(self) -> None:
        if isinstance(self.affinity, str):
            check_choice("affinity", self.affinity, AFFINITIES, ", a function of the rows or a matrix")
        check_positive("n_neighbors", self.n_neighbors, integer=True)
        if self.radius is not None:
            check_positive("radius", self.radius, others=" or None")
        if not (isinstance(self.bandwidth, str) and self.bandwidth == "local"):
            check_positive("bandwidth", self.bandwidth, others=' or "local"')
        check_choice("symmetrize", self.symmetrize, ("union", "mutual", "sum"))
        check_choice("algorithm", self.algorithm, ("exact", "approximate"))
        if self.algorithm == "approximate" and self.radius is not None:
            raise InputError('algorithm="approximate" finds no radius: pass radius=None, or algorithm="exact".')

    def graph(self, X: FeatureMatrix) -> Graph:
        """Link rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d)
            Finite; float32 or float64.

        Returns
        -------
        Graph

        Raises
        ------
        InputError
            If there are no rows, a value is not finite, distances are too large for the arithmetic, or a given affinity
            cannot be used.
        MissingExtraError
            If neighbors are to be approximate, and the extra ``graph`` is not installed.
        """
        if X.shape[0] == 0:
            raise InputError("X has no rows: there is nothing to link.")
        named = isinstance(self.affinity, str)
        rows = Neighborhood(
            X, cosine=named and self.affinity == "cosine", approximate=named and self.algorithm == "approximate"
        )
        # Of new rows a given affinity says nothing: they are linked by self-tuning weights of nearest neighbors.
        weighting = Weighting(
            kind=self.affinity if named else "gaussian",
            n_neighbors=int(self.n_neighbors),
            radius=float(self.radius) if named and self.radius is not None else None,
            bandwidth=float(self.bandwidth) if named and self.bandwidth != "local" else "local",
        )
        if named:
            directed, widths = weighting.of_rows(rows)
            return Graph(symmetrized(directed, self.symmetrize), rows, weighting, widths)
        given = self.affinity(X) if callable(self.affinity) else self.affinity
        return Graph(check_affinity(given, X.shape[0]), rows, weighting, None)
