"""Checks of the arrays of a loaded model that compiled code follows without checks of bounds.

They are those of libsvm's support vector machines and of decision trees, at any depth of the model.
"""

from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp

CLASSIFIERS = ("c_svc", "nu_svc")


def walk_objects(root: Any) -> Iterator[Any]:
    """Yield an object and all objects that it contains, each once."""
    pending, seen = [root], set()
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, type | str | bytes | int | float):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            pending += item
        elif isinstance(item, np.ndarray) and item.dtype.hasobject:
            pending += item.ravel().tolist()
        elif isinstance(item, MethodType):
            pending.append(item.__self__)
        elif isinstance(item, partial):
            pending += [item.func, item.args, item.keywords]
        pending += getattr(item, "__dict__", {}).values()


def inconsistent_part(loaded: Any) -> str:
    """Return the kind of the first arrays in an object, at any depth, that are inconsistent; empty text without any.

    In a tree, a child must come after its parent, so that a path ends, and features must be columns of X. Splits of
    categorical features are not supported.
    """
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.svm._base import BaseLibSVM
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    checked: set[int] = set()
    trees: set[int] = set()
    try:
        for item in walk_objects(loaded):
            valid = True
            if isinstance(item, BaseLibSVM) and "support_" in vars(item):
                if not _is_valid_svm(item):
                    return "the arrays of a support vector machine"
            elif isinstance(item, BaseHistGradientBoosting) and "_predictors" in vars(item):
                predictors = [predictor for iteration in item._predictors for predictor in iteration]
                valid = all(_is_valid_predictor(predictor, item.n_features_in_) for predictor in predictors)
                valid &= item._preprocessor is None
                checked.update(map(id, predictors))
            elif isinstance(item, BaseDecisionTree) and "tree_" in vars(item):
                valid = _is_valid_tree(item.tree_, item.n_features_in_)
                checked.add(id(item.tree_))
            elif isinstance(item, BaseGradientBoosting) and "estimators_" in vars(item):
                valid = all(tree.n_features_in_ == item.n_features_in_ for tree in item.estimators_.ravel())
            elif isinstance(item, Tree | TreePredictor):
                trees.add(id(item))
            if not valid:
                return "the nodes of a decision tree"
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return "the nodes of a decision tree"
    # Trees that are not parts of an estimator have no number of features.
    return "" if trees <= checked else "the nodes of a decision tree"


def _is_valid_svm(svm: Any) -> bool:
    """Return whether the arrays of a fitted SVM have the lengths that libsvm's `set_model` assumes."""
    try:
        size, n_support = len(svm.support_), np.asarray(svm._n_support)
        n_classes = len(n_support)  # 2 for regression and one-class SVMs
        n_pairs = n_classes * (n_classes - 1) // 2
        vectors, weights, sparse = svm.support_vectors_, svm._dual_coef_, bool(svm._sparse)
        has_gram = callable(svm.kernel) or svm.kernel == "precomputed"
        empty = np.zeros(0)  # scikit-learn is removing the probabilities of these estimators
        prob_a, prob_b = getattr(svm, "_probA", empty), getattr(svm, "_probB", empty)
        has_probability = getattr(svm, "_effective_probability", getattr(svm, "probability", False))
        if svm._impl in CLASSIFIERS and (n_support.min() < 0 or n_support.sum() != size):
            return False
        if sparse != (sp.issparse(vectors) and sp.issparse(weights)) or (sparse and has_gram):
            return False
        if has_gram:  # a support vector is then a column of the Gram matrix
            valid = np.all((svm.support_ >= 0) & (svm.support_ < svm.shape_fit_[0]))
        else:
            valid = vectors.shape == (size, svm.n_features_in_)
        return bool(
            valid
            and n_classes > 1
            and (weights.nnz == (n_classes - 1) * size if sparse else weights.shape == (n_classes - 1, size))
            and svm._intercept_.shape == (n_pairs,)
            and prob_a.shape == prob_b.shape
            and prob_a.shape in (((n_pairs,),) if sparse and has_probability else ((0,), (n_pairs,)))
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        return False


def _is_valid_predictor(predictor: Any, n_features: int) -> bool:
    """Return whether the nodes of a tree of histogram gradient boosting are valid."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes = predictor.nodes
    if not isinstance(nodes, np.ndarray) or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1:
        return False
    inner = nodes["is_leaf"] == 0
    valid = _are_valid_children(nodes["left"], nodes["right"], inner)
    features = nodes["feature_idx"][inner]
    return valid and not nodes["is_categorical"].any() and bool(((features >= 0) & (features < n_features)).all())


def _is_valid_tree(tree: Any, n_features: int) -> bool:
    """Return whether the nodes of a tree of scikit-learn's `tree` module are valid."""
    if not 0 < tree.node_count <= tree.capacity or tree.n_features != n_features:
        return False
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    features = tree.feature[inner]
    return (
        _are_valid_children(left, right, inner)
        and bool(((features >= 0) & (features < n_features)).all())
        and tree.max_depth >= _depth(left, right, inner)
    )


def _are_valid_children(left: Any, right: Any, inner: Any) -> bool:
    """Return whether there is a node, and the children of inner nodes are nodes that come after them."""
    index = np.flatnonzero(inner)
    return len(inner) > 0 and all(
        bool(((side[index].astype(np.int64) > index) & (side[index].astype(np.int64) < len(inner))).all())
        for side in (left, right)
    )


def _depth(left: Any, right: Any, inner: Any) -> int:
    """Return the number of edges on the longest path, for valid children."""
    depth, level = 0, np.array([0])
    while inner[level].any():
        level = level[inner[level]]
        level = np.unique(np.concatenate([left[level], right[level]]))
        depth += 1
    return depth
