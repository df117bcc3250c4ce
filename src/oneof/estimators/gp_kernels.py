"""Kernels for Gaussian processes as users give them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from oneof.errors import InputError, InputTypeError
from oneof.kernels import total_variance
from oneof.solvers.laplace.hyperparameters import search_hyperparameters
from oneof.typing import FeatureMatrix, Ints, Mask


def read_kernels(kernel: Any, rows: FeatureMatrix, n_classes: int) -> list[Any]:
    """Return clones of the kernels, one or as many as there are classes; None makes one from the rows to be fitted."""
    return read_kernels_by(kernel, lambda: total_variance(rows), n_classes)


def read_kernels_by(kernel: Any, variance: Callable[[], float], n_classes: int) -> list[Any]:
    """Do as `read_kernels`, where the summed variances of the features are worked out if they are needed."""
    from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, Kernel

    if kernel is None:
        # Rounded, as the search would go elsewhere on flat evidence if sums in another order changed its last bit.
        length = float(f"{np.sqrt(variance()):.9g}") or 1.0
        return [ConstantKernel(1.0, (1e-2, 1e3)) * RBF(length, (length / 100.0, length * 100.0))]
    kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    if any(isinstance(given, CompoundKernel) for given in kernels):
        raise InputTypeError("a CompoundKernel is not possible: give a list of kernels, one for each class.")
    if not all(isinstance(given, Kernel) for given in kernels) or not kernels:
        raise InputTypeError(
            f"`kernel` must be a kernel of sklearn.gaussian_process.kernels, or a list of them; got {kernel!r}."
        )
    if isinstance(kernel, list | tuple) and len(kernels) != n_classes:
        raise InputError(
            f"kernel is a list of {len(kernels)} for {n_classes} classes: give one for each, or one for all."
        )
    return [clone(given) for given in kernels]


def drawn_rows(n_rows: int, most: int | None, random: np.random.Generator) -> Ints | None:
    """Return which rows are drawn, in their order, where there are more than are wanted."""
    if most is None or most >= n_rows:
        return None
    return np.sort(random.permutation(n_rows)[:most])


def learnt_kernels(
    kernels: list[Any],
    rows: FeatureMatrix,
    mask: Mask,
    sharpness: float,
    *,
    optimizer: Any,
    n_restarts: int,
    most_rows: int | None,
    random: np.random.Generator,
) -> list[Any]:
    """Return the kernels with the parameters that the evidence prefers, of at most so many rows, drawn at random."""
    if is_torch_array(rows):  # scikit-learn's derivatives of kernels are NumPy's
        raise InputError("the kernel's parameters cannot be found for tensors: pass optimizer=None.")
    drawn = drawn_rows(len(mask), most_rows, random)
    if drawn is not None:
        rows, mask = rows[drawn], mask[drawn]
    found = search_hyperparameters(
        np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64),
        mask,
        kernels if len(kernels) > 1 else kernels[0],
        sharpness,
        optimizer=optimizer,
        n_restarts=n_restarts,
        random=random,
    )
    if not np.isfinite(found.evidence):
        warnings.warn(
            "PLGP: the evidence could not be worked out for any parameters of the kernel, which is kept as it was: "
            "scale the features, or pass optimizer=None.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found.kernel if len(kernels) > 1 else [found.kernel]
