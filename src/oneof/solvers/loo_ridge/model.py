"""Functions of rows, as they are kept: of one kernel, and the average of several."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oneof.solvers.loo_ridge.left_out import Dual
from oneof.typing import FeatureMatrix, Floats

BLOCK = 2048
"""New rows whose kernel is held at a time."""


class RowKernel(Protocol):
    """A kernel of rows in the form that it has them in."""

    def mapped(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return rows in that form."""

    def gram(self, mapped: FeatureMatrix, others: FeatureMatrix | None = None) -> Floats:
        """Return k of rows in that form, (n, m); without `others`, of the rows with themselves, which may be kept."""

    def kept(self, mapped: FeatureMatrix) -> FeatureMatrix:
        """Return what has to be kept of rows in that form, for the kernel of others with them."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted function of rows."""

    kernel: RowKernel
    known: FeatureMatrix
    """Rows of fit or landmarks, in the kernel's form."""
    dual: Dual

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows, worked out in blocks."""
        found = np.empty((X.shape[0], len(self.dual.means)))
        for start in range(0, X.shape[0], BLOCK):
            mapped = self.kernel.mapped(X[start : start + BLOCK])
            found[start : start + BLOCK] = self.kernel.gram(mapped, self.known) @ self.dual.coefficients
        return found + self.dual.means


@dataclass(frozen=True)
class StackedModel:
    """The average of functions of rows."""

    models: Sequence[KernelModel]
    weights: Floats

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows."""
        return np.sum([w * model.scores(X) for model, w in zip(self.models, self.weights, strict=True)], axis=0)
