"""Kernels of `sklearn.gaussian_process.kernels`, evaluated for rows of any array namespace and for CSR rows.

scikit-learn's own evaluation supports only dense NumPy rows, computes one distance at a time, and returns float64.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_numpy_array

from oneof.errors import InputError
from oneof.kernels import pairwise
from oneof.kernels.pairwise import namespace, squared_distances
from oneof.typing import Array, FeatureMatrix, Floats

_TILE = 1024  # rows: large enough for fast pairwise.products, and small enough for small temporaries
_OPERANDS: dict[str, tuple[str, ...]] = {"Sum": ("k1", "k2"), "Product": ("k1", "k2"), "Exponentiation": ("kernel",)}
_STATIONARY = ("RBF", "Matern", "RationalQuadratic", "ExpSineSquared")
_NATIVE = ("ConstantKernel", "WhiteKernel", "DotProduct", *_STATIONARY, *_OPERANDS)


def covariance(kernel: Any, X: FeatureMatrix, Y: FeatureMatrix | None = None) -> Array:
    """Return k(x_i, y_j), (n, m), as `kernel(X, Y)` does.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        User-defined classes, and the rarer ones of scikit-learn, are called, with dense NumPy rows only.
    X, Y : array of any namespace that can be written to, or CSR matrix, of shape (n, d) and (m, d)
        Without Y, the rows of X with themselves; only then a WhiteKernel adds its noise.

    Returns
    -------
    array of shape (n, m)
        In the precision and on the device of the rows (NumPy for CSR); without Y it is exactly symmetric. The
        additional memory is that of a few tiles.

    Raises
    ------
    InputError
        If a value is not finite, or the kernel cannot be evaluated for such rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> covariance(2.0 * RBF(), np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 1.213],
           [1.213, 2.   ]])
    """
    X, *others = pairwise.align_types(X, *([] if Y is None else [Y]))
    Z = others[0] if others else X
    shape = n, m = X.shape[0], Z.shape[0]
    if not _is_native(kernel, X):
        return _call(kernel, shape, X, *others)
    origin = pairwise.center(X)
    gram = namespace(X).empty(shape, dtype=X.dtype, device=pairwise.stored(X).device)
    for top in range(0, n, _TILE):
        for left in range(0, top + 1 if Y is None else m, _TILE):
            block, other = slice(top, min(top + _TILE, n)), slice(left, min(left + _TILE, m))
            other_rows = None if Y is None and left == top else Z[other, :]
            with np.errstate(all="ignore"):  # the result is checked
                gram[block, other] = _values(kernel, X[block, :], other_rows, origin)
            tile = pairwise.check_finite(gram[block, other])
            if other_rows is None:
                gram[block, other] = 0.5 * (tile + tile.T)
            elif Y is None:
                gram[other, block] = tile.T
    return gram


def variances(kernel: Any, X: FeatureMatrix) -> Array:
    """Return k(x_i, x_i), (n,), as `kernel.diag(X)` does; rows, precision and errors are those of `covariance`."""
    [X] = pairwise.align_types(X)
    if not _is_native(kernel, X):
        return _call(kernel.diag, (X.shape[0],), X)
    values = namespace(X).zeros(X.shape[0], dtype=X.dtype, device=pairwise.stored(X).device)
    with np.errstate(all="ignore"):
        values += _values(kernel, X, None, None, diagonal=True)
    return pairwise.check_finite(values)


def is_psd_by_construction(kernel: Any, n_features: int) -> bool:
    """Return True if a kernel is positive semi-definite by construction; otherwise its Gram matrices must be checked.

    This requires scikit-learn's classes that are evaluated natively, not subclasses. ExpSineSquared is a kernel of one
    feature only: in a plane, no function of the distance is both periodic and positive semi-definite. A power is a
    kernel if its exponent is a non-negative integer.
    """
    conditions: dict[str, Callable[[], Any]] = {
        "": lambda: False,
        "ConstantKernel": lambda: kernel.constant_value >= 0,
        "WhiteKernel": lambda: kernel.noise_level >= 0,
        "RationalQuadratic": lambda: kernel.alpha > 0,
        "ExpSineSquared": lambda: n_features == 1,
        "Exponentiation": lambda: kernel.exponent >= 0 and float(kernel.exponent).is_integer(),
    }
    return bool(conditions.get(_kind(kernel), lambda: True)()) and all(
        is_psd_by_construction(operand, n_features) for operand in _operands(kernel)
    )


def _kind(kernel: Any) -> str:
    """Return the name of the kernel's scikit-learn class if it is evaluated natively, else ""."""
    cls = type(kernel)  # subclasses are excluded by their module, without an import of scikit-learn's kernels
    if cls.__module__ != "sklearn.gaussian_process.kernels" or cls.__name__ not in _NATIVE:
        return ""
    return "" if cls.__name__ == "Matern" and kernel.nu not in (0.5, 1.5, 2.5, np.inf) else cls.__name__


def _operands(kernel: Any) -> list[Any]:
    return [getattr(kernel, name) for name in _OPERANDS.get(_kind(kernel), ())]


def _is_native(kernel: Any, X: FeatureMatrix) -> bool:
    if _kind(kernel) == "" and not (sp.issparse(X) or is_numpy_array(X)):
        raise InputError(
            f"{type(kernel).__name__} is evaluated for NumPy rows only. Pass NumPy rows, or a kernel made of "
            "scikit-learn's ConstantKernel, WhiteKernel, DotProduct, RBF, Matern (nu = 0.5, 1.5, 2.5 or inf), "
            "RationalQuadratic and ExpSineSquared."
        )
    return _kind(kernel) != "" and all(_is_native(operand, X) for operand in _operands(kernel))


def _call(function: Callable[..., Any], shape: tuple[int, ...], *rows: Any) -> Floats:
    """Return the values of a kernel that is not evaluated natively."""
    dense = [R.toarray() if sp.issparse(R) else R for R in rows]
    return pairwise.call_kernel(function, shape, rows[0].dtype, *dense)


def _values(kernel: Any, X: FeatureMatrix, Y: FeatureMatrix | None, origin: Any, *, diagonal: bool = False) -> Any:
    """Return k(x_i, y_j) as a new array, or as a number if all are equal; without Y, of X with itself.

    With `diagonal`, return k(x_i, x_i).
    """
    kind, xp = _kind(kernel), namespace(X)
    if kind in _OPERANDS:
        return _combine(kernel, *(_values(operand, X, Y, origin, diagonal=diagonal) for operand in _operands(kernel)))
    if kind == "ConstantKernel":
        return float(kernel.constant_value)
    if kind == "WhiteKernel":
        is_gram = Y is None and not diagonal
        same = xp.eye(X.shape[0], dtype=X.dtype, device=pairwise.stored(X).device) if is_gram else float(diagonal)
        return float(kernel.noise_level) * same
    if kind == "DotProduct":
        values = pairwise.squares(X) if diagonal else pairwise.products(X, X if Y is None else Y)
        return values + float(kernel.sigma_0) ** 2
    if diagonal:
        return 1.0
    length = _length_scale(kernel, X.shape[1])
    if kind == "ExpSineSquared":
        angles = xp.sqrt(squared_distances(X, Y, origin, np.asarray(float(kernel.periodicity) / np.pi)))
        return xp.exp(-2.0 * (xp.sin(angles) / float(length)) ** 2)
    d2 = squared_distances(X, Y, origin, length)
    if kind == "RationalQuadratic":
        return (1.0 + d2 / (2.0 * float(kernel.alpha))) ** -float(kernel.alpha)
    nu = np.inf if kind == "RBF" else float(kernel.nu)
    d2 *= -0.5 if nu == np.inf else 2.0 * nu
    if nu == np.inf:
        return xp.exp(d2)
    t = xp.sqrt(d2)
    decay = xp.exp(-t)
    if nu != 0.5:
        decay *= 1.0 + t if nu == 1.5 else 1.0 + t + t**2 / 3.0
    return decay


def _combine(kernel: Any, one: Any, other: Any = None) -> Any:
    """Return the sum, product or power of values."""
    if _kind(kernel) == "Exponentiation":
        # np.float64 gives infinity or NaN in cases in which a float would raise or become complex.
        exponent = float(kernel.exponent)
        return float(np.float64(one) ** exponent) if isinstance(one, float) else one**exponent
    return one + other if _kind(kernel) == "Sum" else one * other


def _length_scale(kernel: Any, n_features: int) -> Floats:
    length = np.squeeze(np.asarray(kernel.length_scale, dtype=np.float64))
    if length.shape != () and (length.shape != (n_features,) or _kind(kernel) not in ("RBF", "Matern")):
        raise InputError(
            f"length_scale of {_kind(kernel)} has {length.size} values for {n_features} features. Pass one number, "
            "or for RBF and Matern one number for each feature."
        )
    return length
