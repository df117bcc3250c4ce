"""Markov random walks between labels."""

from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.estimators.graph._base import GraphClassifier
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.diffusion.markov_walk import restriction_weights, solve_markov_walk
from oneof.typing import Evidence, FeatureMatrix, Floats


@estimator
class MarkovWalk(GraphClassifier):
    """Semi-supervised classifier by random walks on a neighbor graph that take the label of their start node.

    The rows are connected to their nearest neighbors by edge weights W. A walk takes t steps of P = D^-1 (W + I), with
    D the row sums of W + I, from a uniformly distributed start. If it ends at x, it started at i with probability
    P_0|t(i | x) = [P^t]_ix / sum_j [P^t]_jx. The start nodes have distributions theta over the classes, and p(k | x) =
    sum_i theta_ik P_0|t(i | x). EM maximizes sum_x log sum_{k in S_x} p(k | x) over theta, with the sum over the
    labeled rows x. If the candidates of row x have weights w_xk, its term is log sum_k w_xk p(k | x). On exact labels
    this is the published likelihood. Each row gets its most probable class.

    Parameters
    ----------
    n_steps : int, default=8
        t, at least 1. Labels have a reach of 2 t edges. As t increases, the distributions of all rows become alike. The
        paper chooses it by cross-validation or by margins.
    max_iter : int, default=1000
        Maximum number of EM iterations.
    tol : float, default=1e-6
        Above 0: EM stops when an iteration increases the mean log likelihood of the labeled rows by no more.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        p(k | x), restricted to the set, or multiplied by the weights, and scaled to sum to 1 in rows with several
        candidates.
    start_label_posteriors_ : ndarray of shape (n_samples, n_classes)
        theta; uniform if no walk leads to a labeled row.
    n_iter_ : int
        Number of EM iterations.

    Warns
    -----
    UserWarning
        If rows are farther from labels than walks reach, for example in components of the graph without a label: they
        get uniform distributions.
    ConvergenceWarning
        If `max_iter` is reached.

    Notes
    -----
    No label is clamped: an exact row may get another class, and so may a row with only one weight above .001. The
    weight 1 with which a walk stays at a node is the weight of an edge of length 0, as in the paper. Consider this if
    the affinity has another scale.

    A common factor of all features changes nothing, with two exceptions. `radius` and a numeric `bandwidth` are in
    their unit, and an `affinity` function may depend on it. Different factors for single features change the result.

    `predict` and `predict_proba` give each new row the mean distribution of its nearest neighbors among the rows of
    fit. The mean is weighted by the edge weights of the graph. A row of fit that is passed again is its own neighbor,
    but still gets the mean: its own label is in `transduction_`.

    References
    ----------
    Szummer & Jaakkola (2002), Partially labeled classification with Markov random walks, NIPS.

    Examples
    --------
    >>> from oneof import MarkovWalk
    >>> X = [[0.0], [1.0], [2.1], [5.0], [6.1], [7.0]]
    >>> model = MarkovWalk(n_steps=3, n_neighbors=3).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    n_steps: Count = 8
    _: KW_ONLY
    max_iter: Count = 1000
    tol: Positive = 1e-6

    def _solve(self, affinity: Any, evidence: Evidence) -> DiffusionResult:
        n_steps = int(self.n_steps)  # products of NumPy's small integers overflow
        solution = solve_markov_walk(affinity, evidence, n_steps=n_steps, tol=self.tol, max_iter=self.max_iter)
        self.start_label_posteriors_ = solution.start_posteriors
        return solution

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        del rows
        evidence = candidates.evidence
        contained = restriction_weights(evidence)  # in the fitted distributions; not all of the evidence in exact rows
        missing = np.divide(evidence, contained, out=np.zeros(contained.shape), where=contained > 0)
        return normalize_within_sets(self._final_distributions, missing)
