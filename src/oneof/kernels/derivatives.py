"""Gram matrices of scikit-learn's kernels and their derivatives, for many hyperparameters on the same rows.

scikit-learn computes all distances again for each value of the hyperparameters, which takes nearly all of the time.
Here they are computed once.
"""

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from oneof.typing import Floats

MAX_RATIO = 1e150
"""Distances in units of the length scale are limited, so that their squares are finite."""

_NAMES = ("ConstantKernel", "RBF", "Sum", "Product")


class KernelDerivatives:
    """Evaluation of kernels on fixed rows, with the distances of the rows stored.

    Sums and products of ConstantKernel and of RBF with one length scale are evaluated here, other kernels by
    scikit-learn.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gram, gradients = KernelDerivatives(np.array([[0.0], [1.0]])).evaluate(2.0 * RBF())
    >>> gram.round(3)
    array([[2.   , 1.213],
           [1.213, 2.   ]])
    >>> gradients.shape
    (2, 2, 2)
    """

    def __init__(self, X: Floats) -> None:
        self.X = X
        self._squared_distances: Floats | None = None
        # The unit of the distances, a power of 2, so that squares of very large or small rows are in the range.
        self._unit = float(2.0 ** np.frexp(np.abs(X).max(initial=0.0))[1])

    def evaluate(self, kernel: Any) -> tuple[Floats, Floats]:
        """Return the Gram matrix, (n, n), and its derivatives by the free hyperparameters, (n, n, p).

        The derivatives are those of ``kernel(X, eval_gradient=True)``: by the logarithms, in the order of
        `kernel.theta`.
        """
        if not _is_native(kernel):
            return kernel(self.X, eval_gradient=True)
        gram, gradients = self._gram_and_gradients(kernel)
        stacked = np.empty((len(gradients), *gram.shape))
        for j, gradient in enumerate(gradients):
            stacked[j] = gradient
        return gram, np.moveaxis(stacked, 0, -1)

    def _gram_and_gradients(self, kernel: Any) -> tuple[Floats, list[Floats]]:
        kind = type(kernel).__name__
        if kind == "ConstantKernel":
            gram = np.full((len(self.X), len(self.X)), kernel.constant_value, dtype=np.float64)
            return gram, [] if kernel.hyperparameter_constant_value.fixed else [gram]
        if kind == "RBF":
            ratio = min(self._unit / float(kernel.length_scale), MAX_RATIO)
            squares = self._distances() * ratio**2
            gram = np.exp(-0.5 * squares)
            return gram, [] if kernel.hyperparameter_length_scale.fixed else [squares * gram]
        (first, first_gradients), (second, second_gradients) = (
            self._gram_and_gradients(operand) for operand in (kernel.k1, kernel.k2)
        )
        if kind == "Sum":
            return first + second, first_gradients + second_gradients
        gradients: list[Floats] = [gradient * second for gradient in first_gradients]
        gradients += [first * gradient for gradient in second_gradients]
        return first * second, gradients

    def _distances(self) -> Floats:
        """Return the squared distances of the rows, (n, n), in the unit of the rows."""
        if self._squared_distances is None:
            self._squared_distances = squareform(pdist(self.X / self._unit, metric="sqeuclidean"))
        return self._squared_distances


def _is_native(kernel: Any) -> bool:
    """Return whether `KernelDerivatives` evaluates a kernel itself; subclasses may be different kernels."""
    cls = type(kernel)
    if cls.__module__ != "sklearn.gaussian_process.kernels" or cls.__name__ not in _NAMES:
        return False
    if cls.__name__ == "RBF":
        return not kernel.anisotropic and np.ndim(kernel.length_scale) == 0
    return cls.__name__ == "ConstantKernel" or (_is_native(kernel.k1) and _is_native(kernel.k2))
