"""Support vector machines in what was loaded: libsvm does not look where it reads, so their arrays have to fit."""

from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp

CLASSIFIERS = ("c_svc", "nu_svc")


def machines_fit(loaded: Any) -> bool:
    """Tell whether every machine of libsvm in an object, however deep, has arrays as libsvm makes them."""
    from sklearn.svm._base import BaseLibSVM

    return all(_fits(part) for part in all_parts(loaded) if isinstance(part, BaseLibSVM) and "support_" in vars(part))


def all_parts(whole: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, each once."""
    waiting, seen = [whole], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type | str | bytes | int | float):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype.hasobject:
            waiting += part.ravel().tolist()
        elif isinstance(part, MethodType):
            waiting.append(part.__self__)
        elif isinstance(part, partial):
            waiting += [part.func, part.args, part.keywords]
        waiting += getattr(part, "__dict__", {}).values()


def _fits(machine: Any) -> bool:
    """Tell whether the arrays of a fitted machine have the lengths that libsvm's `set_model` takes for granted."""
    try:
        size, n_support = len(machine.support_), np.asarray(machine._n_support)
        n_classes = len(n_support)  # of regression and of one class, two stand there
        n_pairs = n_classes * (n_classes - 1) // 2
        vectors, weights, sparse = machine.support_vectors_, machine._dual_coef_, bool(machine._sparse)
        by_number = callable(machine.kernel) or machine.kernel == "precomputed"
        none = np.zeros(0)  # scikit-learn is about to give up probabilities of these machines
        prob_a, prob_b = getattr(machine, "_probA", none), getattr(machine, "_probB", none)
        asked = getattr(machine, "_effective_probability", getattr(machine, "probability", False))
        if machine._impl in CLASSIFIERS and (n_support.min() < 0 or n_support.sum() != size):
            return False
        if sparse != (sp.issparse(vectors) and sp.issparse(weights)) or (sparse and by_number):
            return False
        if by_number:  # a support vector is then a column of the kernel's matrix
            right = np.all((machine.support_ >= 0) & (machine.support_ < machine.shape_fit_[0]))
        else:
            right = vectors.shape == (size, machine.n_features_in_)
        return bool(
            right
            and n_classes > 1
            and (weights.nnz == (n_classes - 1) * size if sparse else weights.shape == (n_classes - 1, size))
            and machine._intercept_.shape == (n_pairs,)
            and prob_a.shape == prob_b.shape
            and prob_a.shape in (((n_pairs,),) if sparse and asked else ((0,), (n_pairs,)))
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        return False
