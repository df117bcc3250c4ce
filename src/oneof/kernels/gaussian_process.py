"""Kernels of `sklearn.gaussian_process.kernels`, evaluated for rows of any array namespace and for CSR rows.

scikit-learn's own evaluation knows dense NumPy rows alone, takes a distance at a time, and returns double precision.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_numpy_array

from oneof.errors import InputError
from oneof.kernels.gram import NOT_FINITE, OVERFLOW, check_finite, check_shape
from oneof.kernels.rows import center, device_of, namespace, of_one_kind, products, squared_distances, squares
from oneof.typing import Array, FeatureMatrix, Floats

_TILE = 1024  # rows: a product of two tiles is as fast as that of all rows, and what is made on the way stays small
_PARTS: dict[str, tuple[str, ...]] = {"Sum": ("k1", "k2"), "Product": ("k1", "k2"), "Exponentiation": ("kernel",)}
_STATIONARY = ("RBF", "Matern", "RationalQuadratic", "ExpSineSquared")
_KINDS = ("ConstantKernel", "WhiteKernel", "DotProduct", *_STATIONARY, *_PARTS)


def covariance(kernel: Any, X: FeatureMatrix, Y: FeatureMatrix | None = None) -> Array:
    """Return k(x_i, y_j), (n, m), as `kernel(X, Y)` does.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Classes of one's own, and the rarer ones of scikit-learn, are called: they know dense NumPy rows alone.
    X, Y : array of any namespace that can be written to, or CSR matrix, of shape (n, d) and (m, d)
        Without Y, the rows of X with themselves: only then does a WhiteKernel add its noise.

    Returns
    -------
    array of shape (n, m)
        In the precision and on the device of the rows (NumPy for CSR); without Y it is exactly symmetric. Beside it,
        memory is taken for a few tiles only.

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
    X, Y = of_one_kind(X, Y)
    Z = X if Y is None else Y
    shape = n, m = X.shape[0], Z.shape[0]
    if not _is_evaluated_here(kernel, X):
        return _called(kernel, shape, X, Y)
    origin, complaint = center(X), _complaint(kernel, X)
    gram = namespace(X).empty(shape, dtype=X.dtype, device=device_of(X))
    for top in range(0, n, _TILE):
        here = slice(top, min(top + _TILE, n))
        for left in range(0, top + 1 if Y is None else m, _TILE):
            there = slice(left, min(left + _TILE, m))
            others = None if Y is None and left == top else Z[there, :]
            with np.errstate(all="ignore"):  # what is not finite in the end is refused
                gram[here, there] = _values(kernel, X[here, :], others, origin)
            tile = gram[here, there]
            check_finite(tile, complaint)
            if others is None:
                gram[here, there] = 0.5 * (tile + tile.T)
            elif Y is None:
                gram[there, here] = tile.T
    return gram


def variances(kernel: Any, X: FeatureMatrix) -> Array:
    """Return k(x_i, x_i), (n,), as `kernel.diag(X)` does; rows, precision and errors are those of `covariance`."""
    X, _ = of_one_kind(X, None)
    if not _is_evaluated_here(kernel, X):
        return _called(kernel.diag, (X.shape[0],), X)
    values = namespace(X).zeros(X.shape[0], dtype=X.dtype, device=device_of(X))
    with np.errstate(all="ignore"):
        values += _variances(kernel, X)
    check_finite(values, _complaint(kernel, X))
    return values


def is_psd_by_construction(kernel: Any, n_features: int) -> bool:
    """Return whether a kernel is positive semi-definite by what it is made of; if not, its Gram matrices need a look.

    It is made of scikit-learn's classes that are evaluated here, not of subclasses. ExpSineSquared is a kernel of one
    feature only: in a plane, no function of the distance is both periodic and positive semi-definite. A power is a
    kernel where its exponent is whole.
    """
    kind = _kind(kernel)
    if kind == "ConstantKernel":
        return bool(kernel.constant_value >= 0)
    if kind == "WhiteKernel":
        return bool(kernel.noise_level >= 0)
    if kind == "RationalQuadratic":
        return bool(kernel.alpha > 0)
    if kind == "ExpSineSquared":
        return n_features == 1
    if kind == "Exponentiation" and not (kernel.exponent >= 0 and float(kernel.exponent).is_integer()):
        return False
    return kind != "" and all(is_psd_by_construction(part, n_features) for part in _parts(kernel))


def _kind(kernel: Any) -> str:
    """Return the name of scikit-learn's class that a kernel is of, if that is evaluated here, else ""."""
    cls = type(kernel)  # a subclass has a module of its own, and scikit-learn's need not be imported to find out
    if cls.__module__ != "sklearn.gaussian_process.kernels" or cls.__name__ not in _KINDS:
        return ""
    return "" if cls.__name__ == "Matern" and kernel.nu not in (0.5, 1.5, 2.5, np.inf) else cls.__name__


def _parts(kernel: Any) -> list[Any]:
    return [getattr(kernel, name) for name in _PARTS.get(_kind(kernel), ())]


def _is_evaluated_here(kernel: Any, X: FeatureMatrix) -> bool:
    if _kind(kernel) == "" and not (sp.issparse(X) or is_numpy_array(X)):
        raise InputError(
            f"{type(kernel).__name__} is evaluated for NumPy rows only: give those, or a kernel made of scikit-learn's "
            "ConstantKernel, WhiteKernel, DotProduct, RBF, Matern (nu = 0.5, 1.5, 2.5 or inf), RationalQuadratic and "
            "ExpSineSquared."
        )
    return _kind(kernel) != "" and all(_is_evaluated_here(part, X) for part in _parts(kernel))


def _complaint(kernel: Any, X: FeatureMatrix) -> str:
    return OVERFLOW if is_psd_by_construction(kernel, X.shape[1]) else NOT_FINITE


def _called(function: Callable[..., Any], shape: tuple[int, ...], *rows: Any) -> Floats:
    """Return what a kernel of another kind says itself."""
    values = function(*[R.toarray() if sp.issparse(R) else R for R in rows])
    values = np.asarray(values.toarray() if sp.issparse(values) else values)
    check_shape(values, shape)
    check_finite(values, NOT_FINITE)
    return values.astype(rows[0].dtype, copy=False) if rows[0].dtype.kind == "f" else values


def _values(kernel: Any, X: FeatureMatrix, Y: FeatureMatrix | None, origin: Array | None) -> Any:
    """Return k(x_i, y_j) as an array of its own, or as a number where all are the same; without Y, of X with itself."""
    kind, xp = _kind(kernel), namespace(X)
    if kind in _PARTS:
        return _together(kernel, [_values(part, X, Y, origin) for part in _parts(kernel)])
    if kind == "ConstantKernel":
        return float(kernel.constant_value)
    if kind == "WhiteKernel":
        return float(kernel.noise_level) * xp.eye(X.shape[0], dtype=X.dtype, device=device_of(X)) if Y is None else 0.0
    if kind == "DotProduct":
        values = products(X, X if Y is None else Y)
        values += float(kernel.sigma_0) ** 2
        return values
    length = _length_scale(kernel, X.shape[1])
    if kind == "ExpSineSquared":
        angles = xp.sqrt(squared_distances(X, Y, origin, np.asarray(float(kernel.periodicity) / np.pi)))
        return xp.exp(-2.0 * (xp.sin(angles) / float(length)) ** 2)
    d2 = squared_distances(X, Y, origin, length)
    if kind == "RationalQuadratic":
        alpha = float(kernel.alpha)
        return (1.0 + d2 / (2.0 * alpha)) ** -alpha
    nu = np.inf if kind == "RBF" else float(kernel.nu)
    if nu == np.inf:
        d2 *= -0.5
        return xp.exp(d2)
    d2 *= 2.0 * nu
    t = xp.sqrt(d2)
    decay = xp.exp(-t)
    if nu != 0.5:
        decay *= 1.0 + t if nu == 1.5 else 1.0 + t + t**2 / 3.0
    return decay


def _variances(kernel: Any, X: FeatureMatrix) -> Any:
    kind = _kind(kernel)
    if kind in _PARTS:
        return _together(kernel, [_variances(part, X) for part in _parts(kernel)])
    if kind in _STATIONARY:
        return 1.0
    if kind == "DotProduct":
        return squares(X) + float(kernel.sigma_0) ** 2
    return float(kernel.constant_value if kind == "ConstantKernel" else kernel.noise_level)


def _together(kernel: Any, values: list[Any]) -> Any:
    """Return the sum, product or power of values, in the place of their first array."""
    if _kind(kernel) == "Exponentiation":
        base, exponent = values[0], float(kernel.exponent)
        # np.float64 gives infinity or NaN where a float would raise, or turn complex.
        return float(np.float64(base) ** exponent) if isinstance(base, float) else base**exponent
    one, other = reversed(values) if isinstance(values[0], float) else values
    if _kind(kernel) == "Sum":
        one += other
    else:
        one *= other
    return one


def _length_scale(kernel: Any, n_features: int) -> Floats:
    length = np.squeeze(np.asarray(kernel.length_scale, dtype=np.float64))
    if length.shape != () and (length.shape != (n_features,) or _kind(kernel) not in ("RBF", "Matern")):
        raise InputError(
            f"length_scale of {_kind(kernel)} has {length.size} values for {n_features} features: give one number, "
            "or to RBF and Matern one number for each feature."
        )
    return length
