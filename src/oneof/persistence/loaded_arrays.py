"""Checks of loaded support vector machines: libsvm does not check array bounds, so the arrays must be consistent."""

from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp

CLASSIFIERS = ("c_svc", "nu_svc")


def svm_arrays_consistent(loaded: Any) -> bool:
    """Return whether the arrays of every libsvm estimator in an object, at any depth, are consistent."""
    from sklearn.svm._base import BaseLibSVM

    return all(
        _is_consistent(item)
        for item in walk_objects(loaded)
        if isinstance(item, BaseLibSVM) and "support_" in vars(item)
    )


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


def _is_consistent(svm: Any) -> bool:
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
