"""Base of the support vector machines: the space of a kernel, coefficients, scores of new rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.estimators.base import LinearClassifierMixin, PrecomputedKernelMixin
from oneof.estimators.parameters import KW_ONLY, Count, estimator
from oneof.kernels import Kernel, check_gram, check_square
from oneof.kernels.nystroem import BLOCK_ROWS, inverse_root
from oneof.kernels.pairwise import scale_gamma
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory, check_random_state


@dataclass(frozen=True)
class LandmarkRows:
    """Rows whose kernel values give the features k(x, Z) R of all rows, with inner products close to the kernel."""

    chosen: Ints
    """The rows of Z, (m,)."""
    root: Floats
    """R, (m, m): the symmetric root of k(Z, Z)^-1, so that the features have similar sizes."""

    @classmethod
    def from_gram(cls, chosen: Ints, gram: Floats) -> "LandmarkRows":
        """Compute the root from k(Z, Z)."""
        root = inverse_root(gram)
        sizes = np.sqrt((root**2).sum(axis=0))
        vectors = np.divide(root, sizes, out=np.zeros_like(root), where=sizes > 0.0)
        return cls(chosen, root @ vectors.T)

    def coefficients(self, weights: Floats, n_rows: int) -> Floats:
        """Return the (n, K) coefficients of the rows that give the same scores as (K, m) weights of the features."""
        coefficients = np.zeros((n_rows, len(weights)))
        coefficients[self.chosen] = self.root @ weights.T
        return coefficients


class UsedRows(NamedTuple):
    """Rows of fit that a problem uses, in the space of a kernel."""

    indices: Ints
    space: Space
    kernel: Kernel | None
    """None if the kernel is precomputed."""
    landmarks: LandmarkRows | None = None


@estimator
class KernelSVM(PrecomputedKernelMixin, LinearClassifierMixin):
    """Base class of the kernel SVMs: ``coef_`` with the linear kernel, ``dual_coef_`` with other kernels.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. All but "linear" need
        memory for n x n numbers, unless `approximation` is "nystroem".
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the "poly" and "rbf" kernels: 1/(d Var(X)) over the rows that are used, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Constant of the "poly" kernel; at least 0.
    approximation : {None, "nystroem"}, default=None
        None uses the kernel of all pairs of rows. "nystroem" uses the linear model of `n_components` features whose
        inner products approximate the kernel: time and memory grow with the number of rows times `n_components`.
    n_components : int, default=500
        Number of landmarks of "nystroem", random rows, limited to the number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; nothing else is random.
    """

    _uses_gram_matrix = True

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Any] = "linear"
    degree: int = 3
    gamma: float | Literal["scale", "auto"] = "scale"
    coef0: float = 0.0
    approximation: Literal["nystroem"] | None = None
    n_components: Count = 500
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_precomputed() and self.approximation is not None:
            raise InputError('`approximation` must be None with kernel="precomputed"; got "nystroem".')

    def _use_rows(
        self, rows: FeatureMatrix, used: Ints, *, weight: Floats | None = None, has_constant: bool = False
    ) -> UsedRows:
        """Return the used rows in the space of the kernel, with an optional constant feature.

        Weights count in the default bandwidth, but not in the choice of the landmarks.
        """
        used_rows = rows if len(used) == rows.shape[0] else rows[used]
        kernel = None
        if self._is_precomputed():
            check_square(rows.shape)
            gram = used_rows if used_rows.shape[1] == len(used) else used_rows[:, used]
        else:
            is_counted = weight is not None and isinstance(self.gamma, str) and self.gamma == "scale"
            gamma = scale_gamma(used_rows, weight) if is_counted and self.kernel != "linear" else self.gamma
            kernel = Kernel.from_rows(self.kernel, used_rows, gamma=gamma, degree=self.degree, coef0=self.coef0)
            if kernel.name == "linear":
                used_rows = sparse_if_few(used_rows).astype(np.float64, copy=False)
                return UsedRows(used, FeatureSpace(used_rows, has_constant=has_constant), kernel)
            if self.approximation is not None:
                landmarks, features = self._nystroem_features(kernel, used_rows)
                return UsedRows(used, FeatureSpace(features, has_constant=has_constant), kernel, landmarks)
            # The matrix, and at most two of its size: the submatrix of the free rows, and its factor.
            remedy = 'set kernel="linear" or approximation="nystroem"'
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", remedy)
            gram = kernel.gram(used_rows, used_rows)
        gram = check_gram(gram, used)
        if has_constant:
            is_owned = kernel is not None and not callable(kernel.name)  # another matrix may belong to the caller
            gram = np.add(gram, 1.0, out=gram if is_owned else None)
        return UsedRows(used, KernelSpace(gram), kernel)

    def _nystroem_features(self, kernel: Kernel, rows: FeatureMatrix) -> tuple[LandmarkRows, Floats]:
        """Return random landmarks among n rows, and the (n, m) features that they give."""
        n, m = rows.shape[0], min(int(self.n_components), rows.shape[0])
        check_memory(16.0 * n * m, f"the features of {n} rows and {m} landmarks", "decrease `n_components`")
        chosen = np.sort(check_random_state(self.random_state).permutation(n)[:m])
        landmarks = LandmarkRows.from_gram(chosen, check_gram(kernel.gram(rows[chosen], rows[chosen]), chosen))
        features = np.empty((n, m))
        for start in range(0, n, BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            features[block] = kernel.gram(rows[block], rows[chosen]) @ landmarks.root
        return landmarks, features

    def _set_solution(self, used: UsedRows, weights: Floats, intercept: Floats, rows: FeatureMatrix) -> None:
        """Set the attributes of the model.

        `weights` are those of the features, (K, m), with the linear kernel or landmarks, and otherwise the coefficients
        of the used rows.
        """
        self._kernel = used.kernel
        if used.kernel is not None and used.kernel.name == "linear":
            self._set_coefficients(np.column_stack([weights, intercept]), rows.dtype)
            return
        n, landmarks = len(used.indices), used.landmarks
        self.dual_coef_ = np.zeros((rows.shape[0], len(intercept)))
        self.dual_coef_[used.indices] = weights if landmarks is None else landmarks.coefficients(weights, n)
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if used.kernel is None else rows[self._support]

    def _scores(self, rows: FeatureMatrix) -> Floats:
        if hasattr(self, "coef_"):
            return super()._scores(rows)
        if not len(self._support):  # the solution is 0: the kernel is not called without rows
            return np.tile(self.intercept_, (rows.shape[0], 1))
        gram = rows[:, self._support] if self._kernel is None else self._kernel.gram(rows, self._support_rows)
        return gram @ self.dual_coef_[self._support] + self.intercept_
