"""Questions that are easier to answer than "which label?": whether the label is in a subset of the classes."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from oneof.active.posterior import known_of
from oneof.active.queries import read_pool
from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.solvers.graph_logistic.questions import question_information
from oneof.typing import Floats, Ints, Labels, Mask

_MOST_CLASSES = 8
"""Classes up to which all subsets are looked at."""
_BLOCK = 2**20
"""Numbers that the instances, or the gradients, of the rows looked at together may hold."""


class SubsetQuery(NamedTuple):
    """Questions to ask, the most wanted first.

    Attributes
    ----------
    indices : ndarray of shape (n,)
        Rows of the pool, each once.
    subsets : CandidateSets of length n
        The subset to ask about. If the label is in it, the row's candidate set is this; if not, the other classes.
    scores : ndarray of shape (n,)
        The mutual information between the answer and the weights, in nats.

    Examples
    --------
    >>> from oneof import GraphLogisticRegression
    >>> from oneof.active import query_subsets
    >>> X = [[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]]
    >>> model = GraphLogisticRegression().fit(X, ["finch", None, "owl", None, "wren", None])
    >>> asked = query_subsets(model, [[0.4], [1.6]])
    >>> len(asked.subsets), asked.indices.shape, asked.scores.shape
    (1, (1,), (1,))
    """

    indices: Ints
    subsets: CandidateSets
    scores: Floats


def query_subsets(estimator: Any, X: Any, n: int = 1, *, subsets: Any = None) -> SubsetQuery:
    """Choose rows of a pool, and for each a question "is the label in this subset?", that would tell most.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted, with a Laplace posterior of its weights, as `GraphLogisticRegression` has it.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The pool: rows without a label.
    n : int, default=1
        From 1 to n_samples.
    subsets : sequence of sets of classes, optional
        What may be asked, for example the branches of a hierarchy. By default every subset of up to 8 classes (of two
        that complete each other one, since they ask the same), and every single class of more.

    Returns
    -------
    SubsetQuery
        Ties go to the lowest index, then to the subset that comes first.

    Raises
    ------
    InputError
        If the pool is empty or smaller than `n`, the estimator has no posterior, or all subsets hold every class.
    LabelError
        If a subset is empty or holds what is no class.

    Notes
    -----
    The answer adds (g g^T / (p_S (1 - p_S))) kron x x^T to the posterior precision in the mean, where p_S is the
    probability of the subset and g its gradient by the scores. For two classes this is the information of the label;
    for more it is less. Questions are scored one by one: those of a batch may tell the same thing.

    Examples
    --------
    The candidate sets that the answers leave:

    >>> import numpy as np
    >>> from oneof import CandidateSets
    >>> asked = CandidateSets.from_sets([["finch", "wren"], ["finch"]], classes=["finch", "tit", "wren"])
    >>> answers = np.array([True, False])
    >>> left = CandidateSets(np.where(answers[:, None], asked.mask, ~asked.mask), asked.classes)
    >>> [sorted(labels) for labels in left.to_sets()]
    [['finch', 'wren'], ['tit', 'wren']]
    """
    pool, n_rows = read_pool(X, n)
    posterior, lookup, classes = known_of(estimator, pool)
    masks = _all_subsets(len(classes)) if subsets is None else _read_subsets(subsets, classes)
    best, scores = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    block = max(1, _BLOCK // max(masks.size, posterior.weights.size))
    for start in range(0, n_rows, block):
        rows = np.arange(start, min(start + block, n_rows))
        told = question_information(posterior, lookup(rows), len(rows), masks)
        best[rows] = np.argmax(told, axis=1)
        scores[rows] = told[np.arange(len(rows)), best[rows]]
    order = np.argsort(-scores, kind="stable")[:n]
    return SubsetQuery(order, CandidateSets(masks[best[order]], classes), scores[order])


def _all_subsets(n_classes: int) -> Mask:
    """Return the subsets to ask about, (n_subsets, n_classes), the smallest first."""
    if n_classes > _MOST_CLASSES:
        return np.eye(n_classes, dtype=bool)
    classes = range(n_classes)
    listed = [s for size in range(1, n_classes // 2 + 1) for s in itertools.combinations(classes, size)]
    masks = np.zeros((len(listed), n_classes), dtype=bool)
    for row, members in enumerate(listed):
        masks[row, list(members)] = True
    # Of two halves that complete each other, that with the first class.
    return masks[(2 * masks.sum(axis=1) < n_classes) | masks[:, 0]]


def _read_subsets(subsets: Any, classes: Labels) -> Mask:
    """Return the subsets as a mask, without those that ask nothing."""
    masks = CandidateSets.from_sets(subsets, classes=classes).mask
    asking = masks[~masks.all(axis=1)]
    if not len(asking):
        raise InputError("subsets holds nothing that can be asked: name a set that leaves out a class.")
    return asking
