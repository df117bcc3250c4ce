"""Spectral graph transduction."""

from typing import Any, Literal, Self

from oneof.estimators._graph_base import GraphClassifier
from oneof.solvers.transducer import transduce
from oneof.validation import check_positive


class SpectralGraphTransducer(GraphClassifier):
    """Cuts of a graph of all rows, labeled and not, that separate the labels where few and weak links run.

    The rows are linked to their nearest neighbors. With V the eigenvectors 2, ..., d + 1 of the graph's Laplacian
    I - D^-1/2 W D^-1/2, the smoothest but for the constant one, a class has the scores z = V w that minimize

        sum_j (rank_j w_j)^2 + c (z - gamma)^T C (z - gamma)   over  ||z||^2 = n,

    where gamma_i is gamma_+ = sqrt(l_- / l_+) in the l_+ rows that are known to be of the class, gamma_- =
    -sqrt(l_+ / l_-) in the l_- rows that are known not to be, and C_ii = l / (2 l_+) in the former, l / (2 l_-) in the
    latter, 0 elsewhere. The rank of the j-th eigenvector is j, unless several have one eigenvalue (see the notes). The
    threshold is halfway between the two targets; of more than two classes the one is taken whose score has gone
    farthest from gamma_- to gamma_+. Every problem is solved exactly.

    Parameters
    ----------
    n_eigenvectors : int, default=80
        d, at least 1; in a graph of n rows there are n - 1 at most. The eigenvectors that tell apart parts of the graph
        without a link between them are taken even if they are more. Memory is in proportion to n d; from a third of n
        on, to n^2.
    c : float, default=3200
        Above 0; the larger, the closer the scores are to their targets in labeled rows.
    affinity : {"cosine", "gaussian", "binary"}, callable, array or sparse matrix, default="cosine"
        Weights of the links, or what gives the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`.
    n_neighbors : int, default=100
        Where there are fewer rows, all are linked. Few neighbors do better where classes lie along thin surfaces, and
        far worse where they are clouds that overlap.
    radius : float, optional
        Links within this distance, in place of the nearest neighbors.
    bandwidth : "local" or float, default="local"
        Of Gaussian weights.
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        As published, links have twice the weight where each of two rows is a neighbor of the other.
    algorithm : {"exact", "approximate"}, default="exact"
    max_iter : int, default=100
        Rounds at most, where rows have several candidates; without such rows there is one.
    tol : float, default=0.01
        Above 0. Rounds end where shares of rows with several candidates have no more than this left to change, by the
        rate at which their changes fall.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Of the rows of fit, 0 outside their sets: the distribution nearest to the parts (z - gamma_-) / (gamma_+ -
        gamma_-) of the way between the targets that the scores of the classes have gone.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the rows of fit: the class of the largest share.
    affinity_ : csr_array of shape (n_samples, n_samples)
        W.
    n_iter_ : int
        Rounds made.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Warns
    -----
    UserWarning
        If there are parts of the graph without a label: their rows have equal shares.
    ConvergenceWarning
        If the rounds ended by `max_iter`.

    Notes
    -----
    Eigenvectors of one eigenvalue, as those of eigenvalue 0 in a graph of several parts, all have the lowest of their
    ranks, where published ranks would go on. Any rotation of such vectors is as good a basis of their space, so that
    ranks of their own would make the result depend on which of them were found.

    A row of several candidates counts for each class as q of a row that is of it and as 1 - q of one that is not, where
    q is 1/|S| at first, and then the share that came out. It is known not to be of the classes outside its set.

    One factor for all features changes nothing, unless `radius` (but for cosines) or a number for `bandwidth` is given, in
    their units, or `affinity` is a function that knows them; factors of their own do.

    For rows other than those of fit, `predict` and `predict_proba` take the mean of the distributions of their nearest
    neighbors among the rows of fit, by the weights that the graph would give. A row of fit, given again, is among its
    own neighbors, but predicted is the mean: what the method decides of it is `transduction_`. Shares are no
    calibrated probabilities.

    Cosine similarities know where the origin is: features with no natural zero are best standardized first.

    References
    ----------
    Joachims (2003), Transductive learning via spectral graph partitioning, ICML. The method of solution: Gander, Golub
    & von Matt (1989), A constrained eigenvalue problem, Linear Algebra and its Applications 114.

    Examples
    --------
    >>> from oneof import SpectralGraphTransducer
    >>> X = [[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.3, 1.0], [0.2, 1.0], [0.1, 1.0]]
    >>> model = SpectralGraphTransducer(n_neighbors=2).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[2.0, 0.1], [0.1, 2.0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        n_eigenvectors: int = 80,
        c: float = 3200.0,
        *,
        affinity: Any = "cosine",
        n_neighbors: int = 100,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["sum", "union", "mutual"] = "sum",
        algorithm: Literal["exact", "approximate"] = "exact",
        max_iter: int = 100,
        tol: float = 0.01,
    ) -> None:
        self.n_eigenvectors = n_eigenvectors
        self.c = c
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.bandwidth = bandwidth
        self.symmetrize = symmetrize
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Link all rows, and label them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used, or so many eigenvectors would not fit in memory.
        """
        check_positive("n_eigenvectors", self.n_eigenvectors, integer=True)
        check_positive("c", self.c)
        candidates, graph = self._link(X, y)
        found = transduce(
            graph.affinity,
            candidates.mask,
            n_eigenvectors=self.n_eigenvectors,
            c=self.c,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return self._keep(X, y, candidates, graph, found)
