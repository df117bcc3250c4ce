"""A kernel of Gaussian processes that is a matrix."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from oneof.errors import InputError
from oneof.typing import Floats, Ints
from oneof.validation import as_array


class PrecomputedKernel(Kernel):
    """Kernel between rows that are given by their numbers, read from a matrix.

    For a kernel between the vertices of a graph, with `PLGP`: rows are then the numbers of vertices, (n, 1), and new
    rows are vertices whose labels fit was not given. It has no parameters to find, and adds to and multiplies other
    kernels.

    Parameters
    ----------
    gram : ndarray or sparse matrix of shape (n, n)
        Symmetric, positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof import PLGP, diffusion_kernel
    >>> from oneof.graphs import PrecomputedKernel
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> kernel = PrecomputedKernel(10 * diffusion_kernel(path))
    >>> vertices = np.arange(5)[:, None]
    >>> PLGP(kernel, random_state=0).fit(vertices, ["a", None, None, None, "b"]).predict(vertices).tolist()[1::2]
    ['a', 'b']
    """

    def __init__(self, gram: Any) -> None:
        self.gram = gram

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the entries of the matrix for numbers of rows, and an empty derivative where one is asked for."""
        i = self._numbers(X)
        K = self._matrix()[np.ix_(i, i if Y is None else self._numbers(Y))]
        return (K, np.empty((len(i), len(i), 0))) if eval_gradient else K

    def diag(self, X: Any) -> Floats:
        """Return the diagonal entries of the matrix for the numbers in X.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
            Numbers of rows of the matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.diagonal(self._matrix())[self._numbers(X)].copy()

    def is_stationary(self) -> bool:
        """Return that this is no function of differences.

        Returns
        -------
        bool
        """
        return False

    def __repr__(self) -> str:
        return f"PrecomputedKernel(<{len(self._matrix())} rows>)"

    def _matrix(self) -> Floats:
        gram = as_array(self.gram, "the matrix of a precomputed kernel")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise InputError(f"a precomputed kernel has shape {gram.shape}: give a square matrix.")
        return gram

    def _numbers(self, X: Any) -> Ints:
        X = np.asarray(X)
        numbers = X.ravel().astype(np.int64)
        n = len(self._matrix())
        if X.shape != (len(numbers), 1) or (numbers != X[:, 0]).any() or (numbers < 0).any() or (numbers >= n).any():
            raise InputError(f"a precomputed kernel takes rows of one feature, the numbers of its rows, 0 to {n - 1}.")
        return numbers
