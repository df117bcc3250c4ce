"""Checks of loaded decision trees: compiled code follows their indices without checks of bounds."""

from typing import Any

import numpy as np

from oneof.persistence.libsvm_checks import walk_objects


def trees_consistent(loaded: Any) -> bool:
    """Return whether the nodes of every decision tree in an object, at any depth, are consistent.

    A child must come after its parent, so that a path ends, and features must be columns of X. Splits of categorical
    features are not supported.
    """
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    checked: set[int] = set()
    trees: list[Any] = []
    for item in walk_objects(loaded):
        try:
            if isinstance(item, BaseHistGradientBoosting) and "_predictors" in vars(item):
                predictors = [predictor for iteration in item._predictors for predictor in iteration]
                if item._preprocessor is not None or not all(
                    _is_valid_predictor(predictor, item.n_features_in_) for predictor in predictors
                ):
                    return False
                checked.update(map(id, predictors))
            elif isinstance(item, BaseDecisionTree) and "tree_" in vars(item):
                if not _is_valid_tree(item.tree_, item.n_features_in_):
                    return False
                checked.add(id(item.tree_))
            elif isinstance(item, BaseGradientBoosting) and "estimators_" in vars(item):
                if any(tree.n_features_in_ != item.n_features_in_ for tree in item.estimators_.ravel()):
                    return False
            elif isinstance(item, Tree | TreePredictor):
                trees.append(item)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return False
    return all(id(tree) in checked for tree in trees)  # others are not parts of an estimator


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
