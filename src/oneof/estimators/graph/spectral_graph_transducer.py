"""Spectral graph transduction."""

from typing import Any, Literal

from oneof.estimators.class_prior import check_class_prior
from oneof.estimators.graph._base import GraphClassifier
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.transducer import solve_transduction
from oneof.typing import Evidence


@estimator
class SpectralGraphTransducer(GraphClassifier):
    """Semi-supervised classifier by cuts of a neighbor graph of all rows along few and weak edges.

    The rows are connected to their nearest neighbors. With V the eigenvectors 2, ..., d + 1 of the graph Laplacian
    I - D^-1/2 W D^-1/2, the smoothest except the constant one, a class has the scores z = V w that minimize

        sum_j (rank_j w_j)^2 + C (z - gamma)^T Gamma (z - gamma)   over  ||z||^2 = n.

    In the l_+ rows labeled as the class, gamma_i is gamma_+ = sqrt(l_- / l_+) and Gamma_ii = l / (2 l_+). In the l_-
    rows labeled otherwise, gamma_i is gamma_- = -sqrt(l_+ / l_-) and Gamma_ii = l / (2 l_-). Elsewhere Gamma_ii is 0.
    The rank of the j-th eigenvector is j, unless several have one eigenvalue (see the notes). The threshold is halfway
    between the two targets. With more than two classes, each row gets the class with the largest relative score
    (z - gamma_-) / (gamma_+ - gamma_-). Every problem is solved exactly.

    Parameters
    ----------
    n_eigenvectors : int, default=80
        d, at least 1; a graph of n rows has at most n - 1. The eigenvectors that separate unconnected components of the
        graph are used even if they are more. Memory is proportional to n d; from a third of n on, to n^2.
    C : float, default=3200
        Above 0; the larger, the closer the scores are to their targets in labeled rows.
    class_prior : {"labels", "uniform"}, array-like of shape (n_classes,) or None, default="labels"
        Class sizes among the unlabeled rows, by which the thresholds of these rows are moved. An array has known sizes
        or proportions in the order of ``classes_``; "uniform" are equal ones. If they are wrong by a fraction of the
        rows, at least that fraction of the labels is wrong. "labels": the proportions in the labeled rows, each within
        an interval of one standard deviation (wider for many classes), which changes the labels no more than it must.
        It assumes that the labeled rows are a random sample. None: the thresholds of the paper.
    affinity : {"cosine", "gaussian", "binary"}, callable, array or sparse matrix, default="cosine"
        Edge weights, or the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`.
    n_neighbors : int, default=100
        Number of nearest neighbors of each row. If there are fewer rows, all are connected. A small number is better
        if classes lie along thin surfaces, and much worse if they are overlapping clusters.
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        As published, edges between mutual neighbors have twice the weight.
    max_iter : int, default=100
        Maximum number of iterations if rows have several candidates; without such rows there is one.
    tol : float, default=0.01
        Above 0: largest remaining change of the distributions of rows with several candidates, estimated from the rate
        at which the changes shrink.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Distributions of the rows of fit, 0 outside their sets: those nearest to the relative scores
        (z - gamma_-) / (gamma_+ - gamma_-) of the classes, by the weights of the row if it has any.
    n_iter_ : int
        Number of iterations.

    Warns
    -----
    UserWarning
        If components of the graph have no label: their rows get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    Eigenvectors with the same eigenvalue, such as those with eigenvalue 0 in a graph of several components, all have
    the lowest of their ranks. The published ranks increase. Any rotation of such vectors is an equivalent basis of
    their space. With separate ranks, the result would depend on the computed basis.

    A row of several candidates counts for each candidate class as q of a row of the class and 1 - q of a row of another
    class. The initial q is 1/|S|; later it is the resulting probability. For a class outside the set, it counts as a
    row of another class. In a row with weights v of the classes, the initial q is v / sum v, and the resulting
    probability of class k is v_k max(s_k - tau, 0), with s the relative scores and the tau for which the sum is 1.
    Weights below 1e-6 count as 0.

    A common factor of all features changes nothing, with two exceptions. `radius` (except for cosines) and a numeric
    `bandwidth` are in their unit, and an `affinity` function may depend on it. Different factors for single features
    change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`. The probabilities are not calibrated.

    Cosine similarities depend on the origin: features without a natural zero should be standardized first.

    References
    ----------
    Joachims (2003), Transductive learning via spectral graph partitioning, ICML. The solver: Gander, Golub & von
    Matt (1989), A constrained eigenvalue problem, Linear Algebra and its Applications 114.

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

    n_eigenvectors: Count = 80
    C: Positive = 3200.0
    _: KW_ONLY
    affinity: Any = "cosine"
    n_neighbors: int = 100
    symmetrize: Literal["union", "mutual", "sum"] = "sum"
    max_iter: Count = 100
    tol: Positive = 0.01

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        prior = check_class_prior(self.class_prior, evidence.shape[1])
        options: dict[str, Any] = {"prior": prior, "max_iter": self.max_iter, "tol": self.tol}
        return solve_transduction(affinity, evidence, n_eigenvectors=self.n_eigenvectors, C=self.C, **options)
