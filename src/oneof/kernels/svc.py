"""Kernels with the names and parameters of scikit-learn's SVC, and their Gram matrices k(x_i, y_j)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from oneof.kernels.pairwise import call_kernel, check_finite, scale_gamma
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice

KERNELS = ("linear", "poly", "rbf")


@dataclass(frozen=True)
class Kernel:
    """A kernel with numeric parameters."""

    name: str | Callable[[Any, Any], Any]
    """"linear": x.y; "poly": (gamma x.y + coef0)^degree; "rbf": exp(-gamma ||x - y||^2); or k(X, Y)."""
    gamma: float
    degree: int
    coef0: float

    @classmethod
    def from_rows(cls, name: Any, X: FeatureMatrix, *, gamma: Any, degree: Any, coef0: Any) -> "Kernel":
        """Check the name, and compute gamma from the training rows.

        Parameters
        ----------
        name : {"linear", "poly", "rbf"} or callable
        X : ndarray or CSR matrix of shape (n, d)
        gamma : {"scale", "auto"} or float
            1/(d Var(X)), 1/d, or a number above 0.
        degree : int
            At least 1.
        coef0 : float
            At least 0; with a negative value a polynomial is not a kernel.
        """
        if not callable(name):
            check_choice("kernel", name, (*KERNELS, "precomputed"), ", or a function")
        if not (isinstance(name, str) and name in ("poly", "rbf")):
            gamma = 1.0
        elif isinstance(gamma, str):
            gamma = scale_gamma(X) if gamma == "scale" else 1.0 / X.shape[1]
        return cls(name, float(gamma), int(degree), float(coef0))

    def gram(self, X: FeatureMatrix, Y: FeatureMatrix) -> Floats:
        """Return k(x_i, y_j), of shape (n, m), in float64.

        Raises
        ------
        InputError
            If a value is not finite, or a callable returns an array of another shape.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if callable(self.name):
                return call_kernel(self.name, (X.shape[0], Y.shape[0]), np.float64, X, Y)
            parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            gram = pairwise_kernels(X, Y, metric=self.name, filter_params=True, **parameters)
        return check_finite(gram.astype(np.float64, copy=False))
