"""Selection of questions that are easier to answer than "which label?": whether the label is in a subset."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from oneof.active.queries import check_pool, get_posterior
from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.solvers.active import subset_information
from oneof.typing import Floats, Ints, Labels, Mask

_MAX_CLASSES = 8
"""Largest number of classes for which all subsets are evaluated."""
_BLOCK_SIZE = 2**20
"""Largest number of entries in the instances, or the gradients, of the rows processed together."""


class SubsetQuery(NamedTuple):
    """Questions about rows and subsets, in decreasing order of utility.

    Attributes
    ----------
    indices : ndarray of shape (batch_size,)
        Distinct rows of the pool.
    subsets : CandidateSets of length batch_size
        Subset of each question. If the label is in it, it is the row's candidate set; otherwise, the other classes are.
    utilities : ndarray of shape (batch_size,)
        The mutual information between the answer and the weights, in nats.

    Examples
    --------
    >>> from oneof import GraphLogisticRegression
    >>> from oneof.active import query_subsets
    >>> X = [[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]]
    >>> model = GraphLogisticRegression().fit(X, ["finch", None, "owl", None, "wren", None])
    >>> result = query_subsets(model, [[0.4], [1.6]])
    >>> len(result.subsets), result.indices.shape, result.utilities.shape
    (1, (1,), (1,))
    """

    indices: Ints
    subsets: CandidateSets
    utilities: Floats


def query_subsets(estimator: Any, X: Any, batch_size: int = 1, *, subsets: Any = None) -> SubsetQuery:
    """Select rows of a pool, and for each the most informative question "is the label in this subset?".

    Parameters
    ----------
    estimator : estimator or Pipeline
        A fitted estimator with a Laplace posterior of the weights, such as `GraphLogisticRegression`.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The pool: rows without a label.
    batch_size : int, default=1
        Number of rows to select, from 1 to n_samples.
    subsets : sequence of sets of classes, optional
        Allowed subsets, for example the branches of a hierarchy. By default, for up to 8 classes, all subsets, but only
        one of each complementary pair, whose questions are equivalent; for more classes, all single classes.

    Returns
    -------
    SubsetQuery
        Of rows with equal utilities, the first is selected; likewise for subsets.

    Raises
    ------
    InputError
        If the pool is empty or smaller than `batch_size`, the estimator has no posterior, or all subsets are full.
    LabelError
        If a subset is empty, or contains a label that is not a class.

    Notes
    -----
    On average, the answer adds (g g^T / (p_S (1 - p_S))) kron x x^T to the posterior precision, where p_S is the
    probability of the subset and g its gradient by the scores. For two classes its information is that of the label;
    for more classes it is lower. Questions are evaluated independently: those of a batch may be redundant.

    Examples
    --------
    The candidate sets that result from the answers:

    >>> import numpy as np
    >>> from oneof import CandidateSets
    >>> subsets = CandidateSets.from_sets([["finch", "wren"], ["finch"]], classes=["finch", "tit", "wren"])
    >>> answers = np.array([True, False])
    >>> candidates = CandidateSets(np.where(answers[:, None], subsets.mask, ~subsets.mask), subsets.classes)
    >>> [sorted(labels) for labels in candidates.to_sets()]
    [['finch', 'wren'], ['tit', 'wren']]
    """
    pool, n_rows = check_pool(X, batch_size)
    posterior, get_views, classes = get_posterior(estimator, pool)
    masks = _default_subsets(len(classes)) if subsets is None else _check_subsets(subsets, classes)
    best, utilities = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    block = max(1, _BLOCK_SIZE // max(masks.size, posterior.weights.size))
    for start in range(0, n_rows, block):
        rows = np.arange(start, min(start + block, n_rows))
        information = subset_information(posterior, get_views(rows), len(rows), masks)
        best[rows] = np.argmax(information, axis=1)
        utilities[rows] = information[np.arange(len(rows)), best[rows]]
    order = np.argsort(-utilities, kind="stable")[:batch_size]
    return SubsetQuery(order, CandidateSets(masks[best[order]], classes), utilities[order])


def _default_subsets(n_classes: int) -> Mask:
    """Return the default subsets, (n_subsets, n_classes), the smallest first."""
    if n_classes > _MAX_CLASSES:
        return np.eye(n_classes, dtype=bool)
    masks = np.array([*itertools.product((True, False), repeat=n_classes)])
    masks = masks[np.argsort(masks.sum(axis=1), kind="stable")]
    sizes = 2 * masks.sum(axis=1)
    # Of two complementary halves, the one with the first class is selected.
    return masks[(sizes > 0) & ((sizes < n_classes) | ((sizes == n_classes) & masks[:, 0]))]


def _check_subsets(subsets: Any, classes: Labels) -> Mask:
    """Return the subsets as a mask, without full ones."""
    masks = CandidateSets.from_sets(subsets, classes=classes).mask
    informative = masks[~masks.all(axis=1)]
    if not len(informative):
        raise InputError("`subsets` must have a set that excludes at least one class; got only full sets.")
    return informative
